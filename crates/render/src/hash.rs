//! SHA-256 of contents and names.

use aws_lc_rs::digest::{SHA256, digest};

/// The hash of bytes, in hexadecimal.
pub fn of(bytes: &[u8]) -> String {
    digest(&SHA256, bytes).as_ref().iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The first eight digits of the hash of a text.
pub fn short(text: &str) -> String {
    of(text.as_bytes())[..8].to_owned()
}
