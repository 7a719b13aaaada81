//! The predicted choice compared with that of rustls for the same bytes.

use std::sync::Arc;

use crate::support::real::{Identity, P256, identity, real, some};
use crate::support::{
    CAPTURED, Draft, answer, captured, codes, hello, psk, server_name, vector8, vector16,
};
use proptest::prelude::*;
use tidegate_hello::Progress;
use tidegate_hello::negotiate::{self, Choice, Incompatible, Rules, TLS12, TLS13, choose};

fn compare(identity: &Identity, rules: &Rules<'_>, bytes: &[u8]) -> Result<(), TestCaseError> {
    let (real, _) = real(identity.server(rules), bytes);
    let hello = hello(bytes);
    let predicted = match choose(&hello, rules) {
        Ok(choice) if choice.retry => Some(choice),
        Ok(choice) => negotiate::can_sign(&hello, rules, &choice).ok().map(|()| choice),
        // Known now, though rustls finds it only in the second hello.
        Err(Incompatible::Protocol | Incompatible::PskModesMissing)
            if real.is_some_and(|real| real.retry) =>
        {
            real
        }
        Err(_) => None,
    };
    // With TLS 1.2 the group comes in a message of its own.
    let group = |choice: Choice| if choice.version == TLS12 { 0 } else { choice.group };
    let predicted = predicted.map(|choice| Choice { group: group(choice), ..choice });
    prop_assert_eq!(predicted, real, "{:?}", choose(&hello, rules));
    Ok(())
}

/// True in nine of ten cases.
fn mostly() -> impl Strategy<Value = bool> {
    prop::bool::weighted(0.9)
}

fn any_draft() -> impl Strategy<Value = Draft> {
    let lists = (
        some(&[
            0x0a0a, 0x1301, 0x1302, 0x1303, 0xc02f, 0xc030, 0xcca8, 0xc02b, 0xc02c, 0xcca9, 0xc013,
            0x009e, 0x00ff,
        ]),
        some(&[0x2a2a, 29, 23, 24, 25, 0x0100]),
        some(&[0x3a3a, 0x0403, 0x0503, 0x0804, 0x0805, 0x0401, 0x0201, 0x0807, 0x0905]),
        some(&[0x5a5a, 0x0304, 0x0303, 0x0302]),
        prop::sample::subsequence(vec![0x2a2a_u16, 29, 23], 0..=3),
    );
    let flags = (mostly(), mostly(), mostly(), mostly(), mostly(), any::<bool>(), any::<bool>());
    let rare =
        (0..12_u8, 0..12_u8, 0..8_u8, prop::sample::select(vec![0x0303_u16, 0x0302, 0x0304]));
    (lists, flags, rare).prop_map(|(lists, flags, rare)| {
        let (suites, groups, schemes, versions, shares) = lists;
        let (has_groups, has_schemes, has_versions, has_shares, modes, ems, has_psk) = flags;
        let (compression, formats, protocol, legacy_version) = rare;
        let compression =
            if compression == 0 { vec![1] } else { vec![0; 1 + usize::from(compression == 1)] };
        let mut draft = Draft { suites, compression, legacy_version, ..Draft::default() };
        let mut add = |wanted: bool, kind: u16, body: Vec<u8>| {
            if wanted {
                draft.extensions.get_or_insert_default().push((kind, body));
            }
        };
        add(has_groups, 10, vector16(&codes(&groups)));
        add(has_schemes, 13, vector16(&codes(&schemes)));
        add(has_versions, 43, vector8(&codes(&versions)));
        add(has_shares, 51, vector16(&shares.into_iter().flat_map(share).collect::<Vec<_>>()));
        add(ems, 23, vec![]);
        add(formats < 3, 11, vec![1, formats % 2]);
        add(
            protocol < 3,
            16,
            vector16(&vector8([&b"h2"[..], b"http/1.1", b"x"][usize::from(protocol % 3)])),
        );
        add(true, 0, server_name("A.example"));
        add(modes, 45, vec![1, 1]);
        add(has_psk, 41, psk(&[b"of another server"]));
        draft
    })
}

/// A valid key share: any 32 bytes for X25519, the base
/// point for P-256, one byte for GREASE.
fn share(group: u16) -> Vec<u8> {
    const BASE: &str = "046b17d1f2e12c4247f8bce6e563a440f277037d812deb33a0f4a13945d898c2964fe342e2\
                        fe1a7f9b8ee7eb4a7c0f9e162bce33576b315ececbb6406837bf51f5";
    let key = match group {
        29 => vec![5; 32],
        23 => (0..BASE.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&BASE[at..at + 2], 16).expect("hexadecimal"))
            .collect(),
        _ => vec![0],
    };
    [group.to_be_bytes().to_vec(), vector16(&key)].concat()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1500))]

    #[test]
    fn rustls_chooses_as_predicted(
        draft in any_draft(),
        key in 0..4_usize,
        (tls12, tls13) in prop::sample::select(vec![(true, true), (true, true), (true, false), (false, true)]),
        require_ems in any::<bool>(),
        http in any::<bool>(),
    ) {
        let alpn: &[&[u8]] = if http { &[b"http/1.1"] } else { &[] };
        let rules = Rules { tls12, tls13, require_ems, alpn, ..identity(key).rules };
        compare(identity(key), &rules, &draft.record())?;
    }

    #[test]
    fn rustls_accepts_every_hello_whose_unusable_name_is_hidden(
        name in prop::collection::vec(any::<u8>(), 1..260),
        size in 40..2_000_usize,
    ) {
        let list = vector16(&[&[0], &vector16(&name)[..]].concat());
        let draft = Draft::of(captured("curl-new")).without(0).with(0, list);
        let mut bytes = draft.records(size);
        let server = || P256.server(&Rules::ECDSA_P256);
        match answer(&bytes) {
            Progress::Complete(hello) => {
                let unusable = hello.unusable_name();
                prop_assert_eq!(unusable.is_none(), real(server(), &bytes).0.is_some());
                unusable.iter().for_each(|name| name.hide(&mut bytes));
                prop_assert!(real(server(), &bytes).0.is_some());
            }
            _ => prop_assert!(name.len() > 255 || name.contains(&0)),
        }
    }

    #[test]
    fn a_hello_that_rustls_accepts_is_read_as_rustls_reads_it(
        index in 0..CAPTURED.len(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 1..3),
    ) {
        let mut bytes = CAPTURED[index].1.to_vec();
        for (place, value) in changes {
            let place = place.index(bytes.len());
            bytes[place] = value;
        }
        let server = P256.server(&Rules::ECDSA_P256);
        // rustls answers only once it has the whole message.
        if let Progress::NeedsMore = answer(&bytes) {
            return Ok(());
        }
        let mut acceptor = rustls::server::Acceptor::default();
        acceptor.read_tls(&mut &bytes[..]).expect("memory");
        if let Ok(Some(accepted)) = acceptor.accept() {
            let theirs = accepted.client_hello();
            let Progress::Complete(ours) = answer(&bytes) else {
                return Err(TestCaseError::fail(format!("{:?}", answer(&bytes))));
            };
            prop_assert_eq!(theirs.server_name(), ours.server_name());
            let suites: Vec<u16> = theirs.cipher_suites().iter().map(|suite| (*suite).into()).collect();
            prop_assert_eq!(suites, ours.cipher_suites().to_vec());
            let alpn: Option<Vec<&[u8]>> = theirs.alpn().map(Iterator::collect);
            prop_assert_eq!(alpn.unwrap_or_default(), ours.alpn().collect::<Vec<_>>());
            if accepted.into_connection(Arc::new(server)).is_ok() {
                compare(&P256, &Rules::ECDSA_P256, &bytes)?;
            }
        }
    }
}

#[test]
fn the_prediction_is_right_for_real_clients() {
    for (name, bytes) in CAPTURED {
        for key in 0..4 {
            let rules = identity(key).rules;
            compare(identity(key), &rules, bytes).unwrap_or_else(|error| panic!("{name}: {error}"));
        }
        let choice = choose(&hello(bytes), &Rules::ECDSA_P256).expect("a real client");
        assert_eq!(choice.version == TLS13, hello(bytes).offers_tls13(), "{name}");
    }
}
