//! Passes bytes to the ClientHello reader in one piece, in pieces and byte by
//! byte. It must not panic, must give the same result each time and stay within
//! its caps, and every claim must be readable.
//!
//! `scripts/fuzz` seeds it with the captured hellos. To run it alone, from
//! the repository's root (the first folder, for new inputs, must exist:
//! `mkdir -p fuzz/corpus/hello_reader`):
//! `cargo +nightly fuzz run hello_reader fuzz/corpus/hello_reader crates/hello/tests/hello/captured`

#![no_main]

use std::hint::black_box;

use libfuzzer_sys::fuzz_target;
use tidegate_hello::negotiate::{self, Resumption, Rules, Session};
use tidegate_hello::{ClientHello, Limits, Progress, Reader};

const SMALL: Limits = Limits { bytes: 3000, extensions: 24, identities: 2 };

fuzz_target!(|bytes: &[u8]| {
    let whole = Reader::new(SMALL).push(bytes);
    let piece = usize::from(bytes.last().copied().unwrap_or(0)) * 4 + 2;
    assert_eq!(in_pieces(bytes, piece), whole);
    assert_eq!(in_pieces(bytes, 1), whole);
    match whole {
        Progress::Complete(hello) => read(&hello),
        Progress::Malformed(malformed) => drop(black_box(malformed.to_string())),
        Progress::NotTls(_) => assert!(bytes[0] != 22 || bytes[1] != 3),
        Progress::NeedsMore => assert!(bytes.len() < SMALL.bytes),
    }
});

fn in_pieces(bytes: &[u8], piece: usize) -> Progress {
    let mut reader = Reader::new(SMALL);
    let mut last = Progress::NeedsMore;
    for piece in bytes.chunks(piece) {
        last = reader.push(piece);
        if last != Progress::NeedsMore {
            break;
        }
    }
    assert!(reader.into_raw().capacity() <= SMALL.bytes + piece);
    last
}

fn read(hello: &ClientHello) {
    assert!(hello.length() < SMALL.bytes);
    assert!(hello.extensions() <= SMALL.extensions && hello.session_id().len() <= 32);
    assert_eq!(hello.psk_identities().count(), hello.psk_offered().min(SMALL.identities));
    assert!(hello.psk_identities().chain(hello.alpn()).all(|item| !item.is_empty()));
    assert!(hello.server_name().is_none_or(|name| name.is_ascii() && !name.is_empty()));
    black_box(format!("{hello:?}"));
    for rules in [Rules::RSA, Rules::ECDSA_P256] {
        let Ok(choice) = negotiate::choose(hello, &rules) else { continue };
        assert!(hello.cipher_suites().contains(choice.suite));
        assert!(hello.supported_groups().contains(choice.group));
        let session = Session {
            suite: choice.suite,
            server_name: negotiate::server_name_hash(hello.server_name()),
            extended_master_secret: hello.extended_master_secret()
                && choice.version == negotiate::TLS12,
        };
        let resumes = negotiate::resume(hello, &choice, &session) == Resumption::Resumed;
        assert_eq!(resumes, choice.version == negotiate::TLS12 || hello.offers_psk_dhe_ke());
        black_box(negotiate::tickets(hello, &choice).map(<[u8]>::len).sum::<usize>());
    }
}
