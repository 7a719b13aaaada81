//! The prediction for hellos that are compatible and for others;
//! `rustls_choice.rs` and `rustls_resume.rs` compare it with rustls itself.

use crate::support::{Draft, codes, hello, psk, server_name, vector8, vector16};
use tidegate_hello::ClientHello;
use tidegate_hello::negotiate::{
    Choice, Incompatible, Obstacle, Resumption, Rules, Session, TLS12, TLS13, can_sign, choose,
    resume, server_name_hash, tickets,
};

/// A client for both versions with a share for X25519.
fn modern() -> Draft {
    Draft { suites: vec![0x1303, 0x1301, 0xc02f, 0xc02b], ..Draft::default() }
        .with(0, server_name("a.example"))
        .with(10, vector16(&codes(&[24, 29])))
        .with(13, vector16(&codes(&[0x0804, 0x0403])))
        .with(23, [])
        .with(35, b"tls12 ticket".to_vec())
        .with(43, vector8(&codes(&[TLS12, TLS13])))
        .with(45, [1, 1])
        .with(51, vector16(&[&[0, 24][..], &vector16(&[4; 97])].concat()))
}

fn chosen(draft: &Draft, rules: &Rules<'_>) -> Result<Choice, Incompatible> {
    choose(&hello(&draft.record()), rules)
}

#[test]
fn suite_and_group_follow_the_clients_order() {
    let choice = Choice { version: TLS13, suite: 0x1303, group: 24, retry: false };
    assert_eq!(chosen(&modern(), &Rules::RSA), Ok(choice));
    let tls12 = Rules { tls13: false, ..Rules::RSA };
    let choice = Choice { version: TLS12, suite: 0xc02f, group: 24, retry: false };
    assert_eq!(chosen(&modern(), &tls12), Ok(choice));
    let ecdsa = Rules { tls13: false, ..Rules::ECDSA_P256 };
    assert_eq!(chosen(&modern(), &ecdsa), Ok(Choice { suite: 0xc02b, ..choice }));
}

#[test]
fn a_server_with_an_order_of_its_own_takes_its_first_group_with_a_share_else_its_first() {
    let own = |groups: &'static [u16]| Rules {
        tls13_groups: groups,
        tls12_groups: groups,
        own_group_order: true,
        ..Rules::RSA
    };
    // The client supports 24 and 29, and sent a share for 24.
    let group = |groups, tls13| {
        let choice = chosen(&modern(), &Rules { tls13, ..own(groups) });
        choice.map(|choice| (choice.group, choice.retry))
    };
    assert_eq!(group(&[0x11ec, 29, 24], true), Ok((24, false)));
    assert_eq!(group(&[0x11ec, 29, 23], true), Ok((29, true)));
    assert_eq!(group(&[0x11ec], true), Err(Incompatible::Group));
    // With TLS 1.2 there are no shares.
    assert_eq!(group(&[29, 24], false), Ok((29, false)));
}

#[test]
fn a_share_for_another_group_causes_a_hello_retry_request() {
    let draft = modern().without(10).with(10, vector16(&codes(&[29, 24])));
    let choice = Choice { version: TLS13, suite: 0x1303, group: 29, retry: true };
    assert_eq!(chosen(&draft, &Rules::RSA), Ok(choice));
}

#[test]
fn an_incompatible_hello_has_its_reason() {
    let versions = |versions: &[u16]| modern().without(43).with(43, vector8(&codes(versions)));
    let share = [&[0, 24][..], &vector16(&[4; 97])].concat();
    let twice = vector16(&[&share[..], &share].concat());
    let tls12 = || modern().without(43);
    let cases = [
        (versions(&[0x0302, 0x1a1a]), Incompatible::Version),
        (Draft { legacy_version: 0x0302, ..tls12() }, Incompatible::Version),
        (Draft { compression: vec![1], ..modern() }, Incompatible::Compression),
        (Draft { compression: vec![0, 1], ..modern() }, Incompatible::Compression),
        (modern().without(13), Incompatible::SignatureSchemesMissing),
        (modern().without(10), Incompatible::Group),
        (Draft { suites: vec![0x1304, 0xc02f], ..modern() }, Incompatible::Suite),
        (modern().without(51), Incompatible::KeyShareMissing),
        (modern().without(51).with(51, twice), Incompatible::KeyShareTwice),
        (modern().without(45).with(41, psk(&[b"one"])), Incompatible::PskModesMissing),
        (tls12().without(23), Incompatible::ExtendedMasterSecret),
        (tls12().with(11, [1, 1]), Incompatible::PointFormat),
        (modern().with(16, vector16(&vector8(b"h2"))), Incompatible::Protocol),
    ];
    let rules = Rules { require_ems: true, alpn: &[b"http/1.1"], ..Rules::RSA };
    assert!(chosen(&modern(), &rules).is_ok() && chosen(&tls12(), &rules).is_ok());
    for (draft, why) in cases {
        assert_eq!(chosen(&draft, &rules), Err(why));
    }
}

#[test]
fn pkcs1_signatures_are_valid_with_tls12_only() {
    let hello = hello(&modern().without(13).with(13, vector16(&codes(&[0x0401]))).record());
    let choice = choose(&hello, &Rules::RSA).expect("compatible");
    let refused = Err(Incompatible::SignatureScheme);
    assert_eq!(can_sign(&hello, &Rules::RSA, &choice), refused);
    assert_eq!(can_sign(&hello, &Rules::RSA, &Choice { version: TLS12, ..choice }), Ok(()));
}

#[test]
fn only_the_tickets_of_the_chosen_version_are_opened() {
    let hello = hello(&modern().with(41, psk(&[b"one", b"two"])).record());
    let choice = choose(&hello, &Rules::RSA).expect("compatible");
    assert_eq!(tickets(&hello, &choice).collect::<Vec<_>>(), [b"one", b"two"]);
    let tls12 = choose(&hello, &Rules { tls13: false, ..Rules::RSA }).expect("compatible");
    assert_eq!(tickets(&hello, &tls12).collect::<Vec<_>>(), [b"tls12 ticket"]);
}

#[test]
fn a_session_resumes_only_if_all_its_parameters_match() {
    let fits = Session {
        suite: 0x1303,
        server_name: server_name_hash(Some("a.example")),
        extended_master_secret: false,
    };
    let original = hello(&modern().record());
    assert_eq!(outcome(&original, &fits), Resumption::Resumed);
    let other_suite = Session { suite: 0x1301, ..fits };
    assert_eq!(outcome(&original, &other_suite), Resumption::Full(Obstacle::Suite));
    let nameless = Session { server_name: server_name_hash(None), ..fits };
    assert_eq!(outcome(&original, &nameless), Resumption::Full(Obstacle::ServerName));
    let only_psk_ke = hello(&modern().without(45).with(45, [1, 0]).record());
    assert_eq!(outcome(&only_psk_ke, &fits), Resumption::Full(Obstacle::PskMode));
}

#[test]
fn the_extended_master_secret_must_not_change() {
    let with = hello(&modern().without(43).record());
    let without = hello(&modern().without(43).without(23).record());
    let old = Session {
        suite: 0xc02f,
        server_name: server_name_hash(Some("a.example")),
        extended_master_secret: false,
    };
    let new = Session { extended_master_secret: true, ..old };
    assert_eq!(outcome(&with, &new), Resumption::Resumed);
    assert_eq!(outcome(&without, &old), Resumption::Resumed);
    assert_eq!(outcome(&with, &old), Resumption::Full(Obstacle::ExtendedMasterSecret));
    assert_eq!(outcome(&without, &new), Resumption::Alert);
}

fn outcome(hello: &ClientHello, session: &Session) -> Resumption {
    resume(hello, &choose(hello, &Rules::RSA).expect("compatible"), session)
}
