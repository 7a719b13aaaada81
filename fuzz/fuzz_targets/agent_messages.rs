//! Passes bytes to the readers of an agent's datagrams, as they are and with the right signature.
//! They must not panic, nothing without the signature is read, and what is read is in range and
//! is the same when it is written and read again.
//!
//! Run from the repository's root: `cargo +nightly fuzz run --features gate agent_messages`

#![no_main]

use libfuzzer_sys::fuzz_target;
use tidegate_agent::{Query, Reading, SIZE, Secret};

fuzz_target!(|bytes: &[u8]| {
    let secret = Secret::new(&[7; 32]).unwrap();
    assert!(Query::read(bytes, &secret).is_none() && Reading::read(bytes, &secret).is_none());
    let mut datagram = [0; SIZE];
    let length = bytes.len().min(SIZE);
    datagram[..length].copy_from_slice(&bytes[..length]);
    for kind in [*b"TGQ1", *b"TGA1"] {
        datagram[..4].copy_from_slice(&kind);
        secret.sign(&mut datagram);
        if let Some(query) = Query::read(&datagram, &secret) {
            assert_eq!(Query::read(&query.datagram(&secret), &secret), Some(query));
        }
        if let Some((nonce, reading)) = Reading::read(&datagram, &secret) {
            assert!(reading.capacity_cpus >= 0.0 && reading.capacity_cpus.is_finite());
            assert!(reading.idle.is_none_or(|idle| (0.0..=1.0).contains(&idle)));
            assert!(!reading.note.contains(char::is_control));
            let again = reading.datagram(Query { nonce }, &secret);
            let (_, again) = Reading::read(&again, &secret).unwrap();
            // A note whose bytes were not UTF-8 may have become longer, and is cut.
            assert!(reading.note.starts_with(&again.note));
            assert_eq!(again, Reading { note: again.note.clone(), ..reading });
        }
    }
});
