//! Signatures of webhooks: HMAC-SHA-256 over the time, a dot, and the body.
//!
//! The header is `t=SECONDS,v1=HEX`, with a `v1` for each secret while secrets are replaced.
//! Schemes of other names are left for later versions.

use std::path::Path;

use aws_lc_rs::hmac;
use zeroize::Zeroizing;

use tidegate_sitekit::{Error, Result, private_file};

/// Header with the signatures of a webhook.
pub const SIGNATURE: &str = "tidegate-signature";
/// Most bytes of the header that are read.
const LONGEST: usize = 1024;
/// Bytes of a secret.
const SHORTEST_SECRET: usize = 16;
const LONGEST_SECRET: usize = 256;
/// Most secrets of a webhook.
const MOST_SECRETS: usize = 4;
/// Most bytes of a file of secrets.
const MOST_FILE: u64 = 4096;

/// A secret that processor and merchant share for webhooks. Nothing prints it.
#[derive(Clone)]
pub struct WebhookSecret {
    key: hmac::Key,
}

impl WebhookSecret {
    /// A new secret, as text.
    pub fn generate() -> Zeroizing<String> {
        Zeroizing::new(format!("whsec_{}", tidegate_sitekit::token::new_key()))
    }

    /// Reads a secret of 16 to 256 visible characters.
    pub fn from_text(text: &str) -> Option<Self> {
        let visible = text.bytes().all(|byte| byte.is_ascii_graphic());
        let key = (SHORTEST_SECRET..=LONGEST_SECRET).contains(&text.len()) && visible;
        key.then(|| Self { key: hmac::Key::new(hmac::HMAC_SHA256, text.as_bytes()) })
    }

    fn context(&self, seconds: &str, body: &[u8]) -> hmac::Context {
        let mut context = hmac::Context::with_key(&self.key);
        for part in [seconds.as_bytes(), b".", body] {
            context.update(part);
        }
        context
    }
}

impl std::fmt::Debug for WebhookSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("WebhookSecret")
    }
}

/// Reads a file of secrets, one a line, the newest first.
///
/// # Errors
/// It is missing, can be read by others, or holds something else: errors for the operator.
pub fn read_secrets(path: &Path) -> Result<Vec<WebhookSecret>> {
    let wrong =
        |text: String| Error::Operator(format!("--webhook-secret-file {}: {text}", path.display()));
    let make = "write one with `tidegate site card --make-webhook-secret FILE`";
    let text = private_file::read_at_most(MOST_FILE, path).map_err(|reason| {
        wrong(if path.exists() { reason } else { format!("{reason}; {make}") })
    })?;
    let lines = std::str::from_utf8(&text).map_err(|_| wrong(format!("is not text; {make}")))?;
    let secrets: Option<Vec<_>> = lines.lines().map(WebhookSecret::from_text).collect();
    match secrets {
        Some(secrets) if (1..=MOST_SECRETS).contains(&secrets.len()) => Ok(secrets),
        _ => Err(wrong(format!(
            "must hold 1 to {MOST_SECRETS} secrets, each a line of 16 to 256 visible characters; {make}"
        ))),
    }
}

/// The header of a body that is sent at this time (seconds since 1970).
pub fn sign(secrets: &[WebhookSecret], seconds: i64, body: &[u8]) -> String {
    let seconds = seconds.to_string();
    secrets.iter().fold(format!("t={seconds}"), |header, secret| {
        let tag = secret.context(&seconds, body).sign();
        tag.as_ref().iter().fold(header + ",v1=", |text, byte| text + &format!("{byte:02x}"))
    })
}

/// Why a webhook is rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Rejected {
    /// The header is missing or malformed.
    #[error("its signature header cannot be read")]
    Header,
    /// No signature is by one of the secrets.
    #[error("no signature is by one of the secrets")]
    Signature,
    /// It was signed too long ago, or in the future.
    #[error("it was not signed within the tolerance of now")]
    Time,
    /// The body is signed and yet no event.
    #[error("its body is no event")]
    Body,
}

/// The time at which a body was signed by one of the secrets (seconds since 1970).
///
/// # Errors
/// [`Rejected::Header`] or [`Rejected::Signature`].
pub fn verify(secrets: &[WebhookSecret], header: &str, body: &[u8]) -> Result<i64, Rejected> {
    let (seconds, tags) = parse(header).ok_or(Rejected::Header)?;
    let mut found = false;
    // All of them, so that the time taken does not tell which one it was.
    for secret in secrets {
        let own = secret.context(seconds, body).sign();
        for tag in &tags {
            let same = aws_lc_rs::constant_time::verify_slices_are_equal(own.as_ref(), tag);
            found |= same.is_ok();
        }
    }
    if !found {
        return Err(Rejected::Signature);
    }
    seconds.parse().map_err(|_| Rejected::Header)
}

fn parse(header: &str) -> Option<(&str, Vec<[u8; 32]>)> {
    if header.len() > LONGEST {
        return None;
    }
    let (mut time, mut tags) = (None, Vec::new());
    for part in header.split(',') {
        match part.split_once('=')? {
            ("t", _) if time.is_some() => return None,
            ("t", text) => time = Some(text),
            ("v1", text) => tags.push(from_hex(text)?),
            _ => {}
        }
    }
    let time = time.filter(|text| !text.is_empty() && text.bytes().all(|b| b.is_ascii_digit()))?;
    Some((time, tags))
}

fn from_hex(text: &str) -> Option<[u8; 32]> {
    let mut bytes = [0; 32];
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    for (place, byte) in bytes.iter_mut().enumerate() {
        *byte = u8::from_str_radix(&text[2 * place..2 * place + 2], 16).ok()?;
    }
    Some(bytes)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn secret(text: &str) -> WebhookSecret {
        WebhookSecret::from_text(text).unwrap()
    }

    #[test]
    fn a_signature_is_that_of_the_definition() {
        // echo -n '1492774577.{}' | openssl dgst -sha256 -hmac 0123456789abcdef
        let header = sign(&[secret("0123456789abcdef")], 1_492_774_577, b"{}");
        let expected =
            "t=1492774577,v1=a4cc39f639ea03fafe07ed6a5c3ddcfbb9f914e6f83a470ab126a187ae668b45";
        assert_eq!(header, expected);
    }

    #[test]
    fn any_of_several_secrets_verifies_on_both_sides() {
        let (old, new) = (secret("the-old-secret-1"), secret("the-new-secret-2"));
        let other = secret("another-secret-3");
        let both = [old.clone(), new.clone()];
        let header = sign(&both, 100, b"body");
        for own in [&both[..], &both[..1], &both[1..], &[other.clone(), new.clone()]] {
            assert_eq!(verify(own, &header, b"body"), Ok(100));
        }
        assert_eq!(verify(&[other], &header, b"body"), Err(Rejected::Signature));
        assert_eq!(verify(&[], &header, b"body"), Err(Rejected::Signature));
        assert_eq!(verify(&both, &sign(&[new], 100, b"body"), b"body"), Ok(100));
    }

    #[test]
    fn another_body_time_or_header_is_rejected() {
        let secrets = [secret("0123456789abcdef")];
        let header = sign(&secrets, 100, b"body");
        assert_eq!(verify(&secrets, &header, b"bodY"), Err(Rejected::Signature));
        let later = header.replace("t=100", "t=101");
        assert_eq!(verify(&secrets, &later, b"body"), Err(Rejected::Signature));
        let tag = header.split_once(",").unwrap().1;
        for bad in [
            "",
            "t=100",
            tag,
            &format!("t=,{tag}"),
            &format!("t=-1,{tag}"),
            &format!("t=1e2,{tag}"),
            &format!("t=100,t=100,{tag}"),
            &format!("t=100,{tag}0"),
            &format!("t=100,{}", tag.replace("v1=", "v1=+")),
            &format!("t=100 {tag}"),
            &format!("t=100{}", ",v1=00".repeat(300)),
        ] {
            let expected = if bad == "t=100" { Rejected::Signature } else { Rejected::Header };
            assert_eq!(verify(&secrets, bad, b"body"), Err(expected), "{bad}");
        }
        // A scheme of a later version is not looked at.
        assert_eq!(verify(&secrets, &format!("{header},v2=xyz"), b"body"), Ok(100));
    }

    #[test]
    fn a_secret_is_long_and_visible_and_is_not_shown() {
        for text in ["short", "0123456789abcde ", "0123456789abcdeä", &"x".repeat(257)] {
            assert!(WebhookSecret::from_text(text).is_none(), "{text}");
        }
        let new = WebhookSecret::generate();
        assert_eq!(format!("{:?}", secret(&new)), "WebhookSecret");
        assert_ne!(*new, *WebhookSecret::generate());
    }

    proptest! {
        #[test]
        fn junk_never_verifies_and_never_panics(header in "\\PC{0,200}") {
            prop_assert!(verify(&[secret("0123456789abcdef")], &header, b"body").is_err());
        }
    }
}
