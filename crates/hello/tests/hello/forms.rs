//! Constructed hellos: reassembly, caps, and one malformation at a time.

use crate::support::{
    Draft, answer, codes, hello, message, psk, record, server_name, vector8, vector16,
};
use tidegate_hello::{Ech, Fault, Field, Limits, Malformed, OtherProtocol, Progress, Reader};

fn malformed(bytes: &[u8]) -> Malformed {
    match answer(bytes) {
        Progress::Malformed(malformed) => malformed,
        other => panic!("not malformed: {other:?}"),
    }
}

fn with_limits(limits: Limits, bytes: &[u8]) -> Progress {
    Reader::new(limits).push(bytes)
}

fn fault(kind: u16, fault: Fault) -> Malformed {
    Malformed::Field { field: Field::Extension(kind), fault }
}

#[test]
fn a_hello_split_over_records_is_the_same_hello() {
    let draft = Draft::default().with(0, server_name("a.example")).with(43, [2, 3, 4]);
    let whole = hello(&draft.record());
    for size in [4, 5, 17, 64] {
        let spread = hello(&draft.records(size));
        assert_eq!(spread.records(), draft.message().len().div_ceil(size));
        assert_eq!(spread.length(), whole.length());
        assert_eq!(spread.server_name(), Some("a.example"));
    }
}

#[test]
fn bytes_after_the_hello_are_kept_and_not_read() {
    let draft = Draft::default();
    let bytes = [draft.record(), record(20, &[1]), b"whatever".to_vec()].concat();
    let mut reader = Reader::new(Limits::default());
    assert_eq!(reader.push(&bytes), Progress::Complete(hello(&draft.record())));
    assert_eq!(reader.raw(), bytes);
    assert_eq!(reader.push(b"more"), Progress::Complete(hello(&draft.record())));
    assert_eq!(reader.into_raw(), [&bytes[..], b"more"].concat());
}

#[test]
fn another_record_in_place_of_the_hello_is_malformed() {
    for kind in [20, 21, 23] {
        assert_eq!(malformed(&record(kind, &[1])), Malformed::UnexpectedRecord(kind));
    }
    let half = record(22, &Draft::default().message()[..20]);
    let then = [half, record(20, &[1])].concat();
    assert_eq!(malformed(&then), Malformed::UnexpectedRecord(20));
}

#[test]
fn records_of_a_wrong_form_are_malformed() {
    assert_eq!(malformed(&[22, 3, 1, 0, 0]), Malformed::EmptyRecord);
    assert_eq!(malformed(&[22, 3, 1, 0x40, 1]), Malformed::RecordTooLong(16385));
    let half = record(22, &Draft::default().message()[..20]);
    let then = [&half[..], &[22, 2, 0]].concat();
    assert_eq!(malformed(&then), Malformed::RecordVersion(0x0200));
}

#[test]
fn another_message_in_place_of_or_after_the_hello_is_malformed() {
    assert_eq!(malformed(&record(22, &message(2, &[0; 40]))), Malformed::NotClientHello(2));
    let two = [Draft::default().message(), message(1, &[])].concat();
    assert_eq!(malformed(&record(22, &two)), Malformed::MoreThanOneMessage);
    assert_eq!(malformed(&record(22, &two)[..9]), Malformed::MoreThanOneMessage, "at the header");
    let one_byte_more = [Draft::default().message(), vec![1]].concat();
    assert_eq!(malformed(&record(22, &one_byte_more)), Malformed::MoreThanOneMessage);
}

#[test]
fn the_cap_on_bytes_is_exact() {
    let bytes = Draft::default().record();
    let limits = |bytes| Limits { bytes, ..Limits::default() };
    assert!(matches!(with_limits(limits(bytes.len()), &bytes), Progress::Complete(_)));
    let limit = bytes.len() - 1;
    let too_long = Progress::Malformed(Malformed::TooLong { limit });
    assert_eq!(with_limits(limits(limit), &bytes), too_long);
    assert_eq!(with_limits(limits(limit), &bytes[..9]), too_long, "known from the header");
}

#[test]
fn a_hello_that_claims_16_mib_is_refused_at_its_header() {
    let claim = [&[22, 3, 1, 0x40, 0], &[1, 0xff, 0xff, 0xff][..]].concat();
    assert_eq!(malformed(&claim), Malformed::TooLong { limit: 16 * 1024 });
}

#[test]
fn a_hello_in_any_number_of_records_is_read_within_the_cap_on_bytes_and_can_be_joined() {
    let draft = Draft::of(crate::support::captured("chromium-new"));
    let behind = b"\x14\x03\x03\0\x01\x01";
    for size in [1, 7, 12, 50, 700, 1 << 14] {
        let bytes = [&draft.records(size)[..], behind].concat();
        let mut reader = Reader::new(Limits::default());
        let Progress::Complete(hello) = reader.push(&bytes) else { panic!("records of {size}") };
        assert_eq!(hello.records(), draft.message().len().div_ceil(size));
        assert_eq!(reader.into_joined(&hello), [&draft.record()[..], behind].concat(), "{size}");
        let limit = hello.records() * 5 + hello.length() - 1;
        let limits = Limits { bytes: limit, ..Limits::default() };
        let too_long = Progress::Malformed(Malformed::TooLong { limit });
        assert_eq!(with_limits(limits, &bytes), too_long);
    }
}

#[test]
fn a_hello_longer_than_a_record_is_joined_into_several() {
    let limits = Limits { bytes: 64 * 1024, ..Limits::default() };
    let draft = Draft::default().with(0xfe00, vec![7; 40_000]);
    let mut reader = Reader::new(limits);
    let Progress::Complete(hello) = reader.push(&draft.records(900)) else { panic!("not read") };
    assert_eq!(reader.into_joined(&hello), draft.records(1 << 14));
}

#[test]
fn the_cap_on_extensions_is_exact() {
    for (limit, most) in [(10, 10), (1000, 128)] {
        let limits = Limits { extensions: limit, ..Limits::default() };
        let many = |count: usize| {
            (0..count).fold(Draft::default(), |draft, kind| draft.with(1000 + kind as u16, []))
        };
        assert!(matches!(with_limits(limits, &many(most).record()), Progress::Complete(_)));
        let too_many = Progress::Malformed(Malformed::TooManyExtensions { limit: most });
        assert_eq!(with_limits(limits, &many(most + 1).record()), too_many);
    }
}

#[test]
fn identities_beyond_the_cap_are_counted_and_not_kept() {
    let identities: Vec<&[u8]> = vec![b"one", b"two", b"three", b"four", b"five", b"six"];
    let bytes = Draft::default().with(45, [1, 1]).with(41, psk(&identities)).record();
    for cap in [0, 1, 4, 6, 9] {
        let limits = Limits { identities: cap, ..Limits::default() };
        let Progress::Complete(hello) = with_limits(limits, &bytes) else { panic!("{cap}") };
        assert_eq!(hello.psk_offered(), 6);
        let kept: Vec<&[u8]> = hello.psk_identities().collect();
        assert_eq!(kept, identities[..cap.min(6)]);
    }
}

#[test]
fn pre_shared_keys_come_last_and_each_has_a_binder() {
    let first = Draft::default().with(41, psk(&[b"one"])).with(45, [1, 1]);
    assert_eq!(malformed(&first.record()), Malformed::PreSharedKeyNotLast);
    let mut body = psk(&[b"one", b"two"]);
    body.truncate(body.len() - 33);
    let end = body.len() - 33 - 2;
    body[end + 1] = 33;
    let counts = Fault::BinderCount { identities: 2, binders: 1 };
    assert_eq!(malformed(&Draft::default().with(41, body).record()), fault(41, counts));
    let none = [vector16(&[]), vector16(&[])].concat();
    assert_eq!(malformed(&Draft::default().with(41, none).record()), fault(41, Fault::Empty));
}

#[test]
fn a_duplicate_extension_is_malformed_known_or_not() {
    for kind in [0x2a2a, 23, 35, 63, 64, 17613] {
        let twice = Draft::default().with(kind, []).with(17, []).with(kind, []);
        let expected = Malformed::DuplicateExtension(Field::Extension(kind));
        assert_eq!(malformed(&twice.record()), expected);
    }
}

#[test]
fn a_wrong_length_is_named_with_its_field() {
    let record_of = |body: &[u8]| record(22, &message(1, body));
    let field = |field, fault| Malformed::Field { field, fault };
    let (start, id) = ([&[3, 3][..], &[0; 32]].concat(), [&[3, 3][..], &[0; 32], &[0]].concat());
    let suites = [&id[..], &[0, 2, 0x13, 1]].concat();
    let methods = [&suites[..], &[1, 0]].concat();
    let cases: [(Vec<u8>, Field, Fault); 11] = [
        (vec![3], Field::LegacyVersion, Fault::Truncated),
        (vec![3, 3, 0], Field::Random, Fault::Truncated),
        (start.clone(), Field::SessionId, Fault::Truncated),
        ([&start[..], &[33], &[0; 40]].concat(), Field::SessionId, Fault::TooLong),
        ([&id[..], &[0, 0]].concat(), Field::CipherSuites, Fault::Empty),
        ([&id[..], &[0, 3, 1, 2, 3]].concat(), Field::CipherSuites, Fault::Truncated),
        ([&id[..], &[0, 4, 1, 2, 3]].concat(), Field::CipherSuites, Fault::Truncated),
        ([&suites[..], &[0]].concat(), Field::CompressionMethods, Fault::Empty),
        ([&methods[..], &[0, 5, 0]].concat(), Field::Extensions, Fault::Truncated),
        ([&methods[..], &[0, 0, 9]].concat(), Field::Extensions, Fault::TrailingBytes),
        ([&methods[..], &[0, 3, 0, 43, 0]].concat(), Field::Extension(43), Fault::Truncated),
    ];
    for (body, part, wrong) in cases {
        assert_eq!(malformed(&record_of(&body)), field(part, wrong), "{body:02x?}");
    }
}

#[test]
fn an_extension_of_a_wrong_form_is_named() {
    let cases: &[(u16, &[u8], Fault)] = &[
        (0, &[], Fault::Truncated),
        (0, &[0, 0], Fault::Empty),
        (0, &[0, 4, 0, 0, 1, 0], Fault::NotAllowed),
        (0, &[0, 8, 0, 0, 1, b'a', 0, 0, 1, b'a'], Fault::NotAllowed),
        (10, &[0, 0], Fault::Empty),
        (10, &[0, 3, 0, 23, 0], Fault::Truncated),
        (11, &[0], Fault::Empty),
        (13, &[0, 2, 4, 3, 0], Fault::TrailingBytes),
        (16, &[0, 1, 0], Fault::Empty),
        (16, &[0, 3, 5, b'h', b'2'], Fault::Truncated),
        (23, &[0], Fault::TrailingBytes),
        (42, &[0], Fault::TrailingBytes),
        (43, &[0], Fault::Empty),
        (43, &[3, 3, 4, 3], Fault::Truncated),
        (45, &[0], Fault::Empty),
        (51, &[0, 4, 0, 29, 0, 0], Fault::Empty),
        (51, &[0, 5, 0, 29, 0, 2, 1], Fault::Truncated),
        (0xfe0d, &[], Fault::Truncated),
        (0xfe0d, &[2], Fault::NotAllowed),
        (0xfe0d, &[0, 0, 1, 0, 1, 7, 0, 0, 0, 0], Fault::Empty),
    ];
    for (kind, body, wrong) in cases {
        let bytes = Draft::default().with(*kind, *body).record();
        assert_eq!(malformed(&bytes), fault(*kind, *wrong), "{kind} {body:02x?}");
    }
}

#[test]
fn an_old_hello_without_extensions_is_a_hello() {
    let draft = Draft { extensions: None, legacy_version: 0x0301, ..Draft::default() };
    let hello = hello(&draft.record());
    assert!(!hello.offers_tls12() && !hello.offers_tls13());
    assert_eq!((hello.extensions(), hello.server_name(), hello.ticket()), (0, None, None));
}

#[test]
fn a_server_name_that_is_an_address_counts_as_absent() {
    let hello = |name| hello(&Draft::default().with(0, server_name(name)).record());
    assert_eq!(hello("127.0.0.1").server_name(), None);
    assert_eq!(hello("Shop.EXAMPLE").server_name(), Some("shop.example"));
}

#[test]
fn an_unusable_server_name_counts_as_absent_and_can_be_hidden_in_any_records() {
    let draft =
        Draft::default().with(43, [2, 3, 4]).with(0x0a0a, []).with(0, server_name("A:8443"));
    let plain = hello(&draft.record());
    let name = plain.unusable_name().unwrap();
    assert_eq!((plain.server_name(), name.stand_in), (None, 0x1a1a), "the first is used");
    assert_eq!(draft.message()[name.at..name.at + 9], *b"\0\0\0\x0b\0\x09\0\0\x06");
    for size in [1 << 14, 50, 7, 5] {
        let mut raw = draft.records(size);
        assert_eq!(hello(&raw).unusable_name(), Some(name));
        name.hide(&mut raw);
        let hidden = hello(&raw);
        assert_eq!((hidden.server_name(), hidden.unusable_name()), (None, None));
        assert_eq!(hidden.extensions(), plain.extensions());
    }
    assert_eq!(hello(&Draft::default().with(0, server_name("a.b")).record()).unusable_name(), None);
}

#[test]
fn an_unusable_server_name_among_all_grease_values_is_malformed() {
    let grease = (0..16).map(|high| 0x0a0a + 0x1010 * high);
    let draft = grease.fold(Draft::default(), |draft, kind| draft.with(kind, []));
    assert_eq!(malformed(&draft.with(0, server_name("a:1")).record()), fault(0, Fault::NotAllowed));
}

#[test]
fn both_types_of_ech_are_distinguished() {
    let outer = [&[0, 0, 1, 0, 1, 7][..], &vector16(&[]), &vector16(&[1, 2])].concat();
    assert_eq!(hello(&Draft::default().with(0xfe0d, outer).record()).ech(), Some(Ech::Outer));
    assert_eq!(hello(&Draft::default().with(0xfe0d, [1]).record()).ech(), Some(Ech::Inner));
}

#[test]
fn grease_everywhere_changes_no_claim() {
    let draft = Draft { suites: vec![0x0a0a, 0x1301], ..Draft::default() }
        .with(0x1a1a, [])
        .with(10, vector16(&codes(&[0x2a2a, 29])))
        .with(13, vector16(&codes(&[0x3a3a, 0x0403])))
        .with(16, vector16(&[vector8(&[0x4a, 0x4a]), vector8(b"h2")].concat()))
        .with(43, vector8(&codes(&[0x5a5a, 0x0304])))
        .with(45, [2, 0x0b, 1])
        .with(51, vector16(&[0x6a, 0x6a, 0, 1, 0]))
        .with(0x7a7a, [0]);
    let hello = hello(&draft.record());
    assert!(hello.greases() && hello.offers_tls13() && hello.offers_psk_dhe_ke());
    assert_eq!(hello.key_share_groups().collect::<Vec<_>>(), [0x6a6a]);
    assert_eq!(hello.alpn().last(), Some(&b"h2"[..]));
}

#[test]
fn other_protocols_are_recognised_at_their_first_bytes() {
    assert_eq!(answer(b"GET "), Progress::NotTls(OtherProtocol::PlainHttp));
    assert_eq!(answer(b"GE"), Progress::NeedsMore);
    assert_eq!(answer(b"GEX"), Progress::NotTls(OtherProtocol::Unknown));
    assert_eq!(answer(b"SSH-2.0-x"), Progress::NotTls(OtherProtocol::Ssh));
    assert_eq!(answer(&[0x80, 0x2e, 1, 0, 2]), Progress::NotTls(OtherProtocol::SslV2));
    assert_eq!(answer(&[0]), Progress::NotTls(OtherProtocol::Unknown));
    assert_eq!(answer(&[22, 4]), Progress::NotTls(OtherProtocol::Unknown));
}
