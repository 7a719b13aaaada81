//! COSE messages that only the other party itself could send.

use coset::iana::Algorithm;
use coset::{
    CborSerializable, CoseEncrypt0, CoseSign1, CoseSign1Builder, Header, HeaderBuilder,
    iana::HeaderParameter,
};

use super::{Ends, again, gzip, request};
use crate::formats::cose::{Cose, direction};
use crate::{Format, Message, Party, Refused};

fn content(message: &Message) -> Vec<u8> {
    let mut content = Vec::new();
    ciborium::into_writer(message, &mut content).unwrap();
    content
}

fn es256() -> Header {
    HeaderBuilder::new().algorithm(Algorithm::ES256).build()
}

fn sign(ends: &Ends, header: Header, content: Vec<u8>) -> CoseSign1 {
    let sign = |bytes: &[u8]| ends.forger.sign(bytes).unwrap();
    CoseSign1Builder::new()
        .protected(header)
        .payload(content)
        .create_signature(direction(Party::Client), sign)
        .build()
}

fn encrypted(ends: &Ends, signed: &[u8]) -> Vec<u8> {
    let cose = Cose::new(again(&ends.forger)).unwrap();
    cose.seal_signed(signed).unwrap()
}

fn sealed(ends: &Ends, signed: CoseSign1) -> Vec<u8> {
    encrypted(ends, &signed.to_vec().unwrap())
}

#[test]
fn signed_headers_are_accepted_in_one_form_only() {
    let ends = Ends::new(Format::Cose);
    let good = sign(&ends, es256(), content(&request()));
    assert!(ends.forged(sealed(&ends, good)).is_ok(), "right otherwise");
    let builder = || HeaderBuilder::new().algorithm(Algorithm::ES256);
    for (header, expected) in [
        (HeaderBuilder::new().build(), Refused::Algorithm),
        (HeaderBuilder::new().algorithm(Algorithm::ES384).build(), Refused::Algorithm),
        (HeaderBuilder::new().algorithm(Algorithm::HMAC_256_256).build(), Refused::Algorithm),
        (builder().add_critical(HeaderParameter::ContentType).build(), Refused::Critical),
        (builder().key_id(b"server".to_vec()).build(), Refused::Malformed),
    ] {
        let text = format!("{header:?}");
        let signed = sign(&ends, header, content(&request()));
        assert_eq!(ends.forged(sealed(&ends, signed)), Err(expected), "{text}");
    }
    for (header, expected) in [
        (HeaderBuilder::new().algorithm(Algorithm::ES384).build(), Refused::Algorithm),
        (HeaderBuilder::new().key_id(b"x".to_vec()).build(), Refused::Malformed),
    ] {
        let mut signed = sign(&ends, es256(), content(&request()));
        signed.unprotected = header;
        assert_eq!(ends.forged(sealed(&ends, signed)), Err(expected));
    }
}

#[test]
fn a_signature_over_other_content_is_refused() {
    let ends = Ends::new(Format::Cose);
    let mut swapped = sign(&ends, es256(), content(&request()));
    swapped.payload = Some(content(&request()));
    assert_eq!(ends.forged(sealed(&ends, swapped)), Err(Refused::Signature));
    let mut unsigned = sign(&ends, es256(), content(&request()));
    unsigned.signature.clear();
    assert_eq!(ends.forged(sealed(&ends, unsigned)), Err(Refused::Signature));
    let mut detached = sign(&ends, es256(), content(&request()));
    detached.payload = None;
    assert!(ends.forged(sealed(&ends, detached)).is_err());
}

#[test]
fn content_with_repeated_unknown_or_further_parts_is_refused() {
    let ends = Ends::new(Format::Cose);
    let good = content(&request());
    // A map of seven pairs becomes one of eight.
    assert_eq!(good[0], 0xa7);
    let with = |pair: &[u8]| [&[0xa8], &good[1..], pair].concat();
    for bad in [
        with(b"\x66sender\x66client"),
        with(b"\x65other\x01"),
        [good.as_slice(), b"\x00"].concat(),
        vec![0x81; 100_000],
        b"\xbf".to_vec(),
        Vec::new(),
    ] {
        let signed = sign(&ends, es256(), bad);
        assert_eq!(ends.forged(sealed(&ends, signed)), Err(Refused::Malformed));
    }
}

#[test]
fn encrypted_headers_are_accepted_in_one_form_only() {
    let ends = Ends::new(Format::Cose);
    let text = sealed(&ends, sign(&ends, es256(), content(&request())));
    let altered = |change: &dyn Fn(&mut CoseEncrypt0)| {
        let mut encrypted = CoseEncrypt0::from_slice(&text).unwrap();
        encrypted.protected.original_data = None;
        change(&mut encrypted);
        ends.forged(encrypted.to_vec().unwrap())
    };
    let protected = |header: HeaderBuilder| {
        let header = header.build();
        altered(&|it| it.protected.header = header.clone())
    };
    let gcm = |algorithm| HeaderBuilder::new().algorithm(algorithm);
    assert!(protected(gcm(Algorithm::A256GCM)).is_ok(), "right otherwise");
    assert_eq!(protected(gcm(Algorithm::A128GCM)), Err(Refused::Algorithm));
    assert_eq!(protected(gcm(Algorithm::Direct)), Err(Refused::Algorithm));
    assert_eq!(protected(HeaderBuilder::new()), Err(Refused::Algorithm));
    let critical = gcm(Algorithm::A256GCM).add_critical(HeaderParameter::Kid);
    assert_eq!(protected(critical), Err(Refused::Critical));
    let unprotected = altered(&|it| {
        it.unprotected.alg = gcm(Algorithm::A128GCM).build().alg;
    });
    assert_eq!(unprotected, Err(Refused::Algorithm));
    assert_eq!(altered(&|it| it.unprotected.iv.clear()), Err(Refused::Malformed));
    assert_eq!(altered(&|it| it.ciphertext = None), Err(Refused::Malformed));
}

#[test]
fn a_message_that_is_compressed_anywhere_is_refused() {
    let ends = Ends::new(Format::Cose);
    let content = content(&request());
    // COSE has no compression: what is compressed is no message, and a header of one's own that
    // announces it is one too many.
    let inside = sign(&ends, es256(), gzip(&content));
    assert_eq!(ends.forged(sealed(&ends, inside)), Err(Refused::Malformed));
    let signed = sign(&ends, es256(), content.clone()).to_vec().unwrap();
    assert!(ends.forged(encrypted(&ends, &signed)).is_ok(), "right otherwise");
    assert_eq!(ends.forged(encrypted(&ends, &gzip(&signed))), Err(Refused::Malformed));
    let outside = gzip(&sealed(&ends, sign(&ends, es256(), content.clone())));
    assert_eq!(ends.forged(outside), Err(Refused::Malformed));
    let builder = HeaderBuilder::new().algorithm(Algorithm::ES256);
    let announced = builder.text_value("zip".into(), "DEF".to_owned().into()).build();
    let announced = sign(&ends, announced, gzip(&content));
    assert_eq!(ends.forged(sealed(&ends, announced)), Err(Refused::Malformed));
}

#[test]
fn bytes_that_are_no_cose_are_refused() {
    let ends = Ends::new(Format::Cose);
    // Repeated labels in the protected header, arrays without end, lengths of exabytes.
    let repeated = b"\x83\x46\xa2\x01\x03\x01\x03\xa0\x41\x00".to_vec();
    let long = b"\x83\x5b\xff\xff\xff\xff\xff\xff\xff\xff".to_vec();
    for bad in [repeated, long, vec![0x9f; 100_000], vec![0x81; 100_000], b"{}".to_vec()] {
        assert_eq!(ends.forged(bad), Err(Refused::Malformed));
    }
}
