//! What the hellos of real clients claim. How they were taken: captured/README.md.

mod support;

use support::{CAPTURED, captured, hello};
use tidegate_hello::{ClientHello, Ech, is_grease};

#[test]
fn every_captured_hello_is_read_to_its_last_byte() {
    for (name, bytes) in CAPTURED {
        let hello = hello(bytes);
        assert_eq!((hello.length() + 5, hello.records()), (bytes.len(), 1), "{name}");
        assert_eq!(hello.legacy_version(), 0x0303, "{name}");
        assert_eq!(hello.random().len(), 32, "{name}");
        assert_eq!(hello.compression_methods(), [0], "{name}");
        assert!(hello.extended_master_secret(), "{name}");
        assert!(!hello.early_data(), "{name}");
        assert!(hello.point_formats().contains(&0), "{name}");
    }
}

#[test]
fn openssl_tls12_without_a_session() {
    let hello = hello(captured("openssl-tls12-new"));
    assert!(hello.supported_versions().is_empty());
    assert!(hello.offers_tls12() && !hello.offers_tls13());
    assert_eq!(hello.server_name(), Some("shop.example"), "in lower case");
    assert_eq!(hello.session_id(), []);
    assert_eq!(hello.ticket(), Some(&[][..]));
    assert_eq!(hello.cipher_suites().len(), 28);
    assert_eq!(hello.supported_groups().to_vec(), [29, 23, 30, 25, 24]);
    assert_eq!(hello.signature_schemes().len(), 20);
    assert!(!hello.has_key_shares() && hello.psk_modes().is_empty());
    assert_eq!(hello.extensions(), 7);
}

#[test]
fn openssl_tls12_with_a_ticket() {
    let hello = hello(captured("openssl-tls12-ticket"));
    assert_eq!(hello.ticket().map(<[u8]>::len), Some(176));
    assert_eq!(hello.session_id().len(), 32, "made up by the client, to see a resumption");
    assert_eq!(hello.psk_offered(), 0);
}

#[test]
fn openssl_tls12_without_tickets() {
    let first = hello(captured("openssl-tls12-no-ticket"));
    assert_eq!((first.ticket(), first.session_id(), first.server_name()), (None, &[][..], None));
    let second = hello(captured("openssl-tls12-session-id"));
    assert_eq!((second.ticket(), second.session_id().len()), (None, 32));
}

#[test]
fn openssl_tls13_without_and_with_a_session() {
    let first = hello(captured("openssl-tls13-new"));
    assert_eq!(first.supported_versions().to_vec(), [0x0304]);
    assert!(first.offers_tls13() && !first.offers_tls12());
    assert_eq!(first.cipher_suites().to_vec(), [0x1302, 0x1303, 0x1301, 0x00ff]);
    assert_eq!(first.key_share_groups().collect::<Vec<_>>(), [29]);
    assert!(first.offers_psk_dhe_ke());
    assert_eq!(first.psk_offered(), 0);
    resumes(&hello(captured("openssl-tls13-psk")), &first, 208);
}

#[test]
fn curl_offers_both_versions_and_http2() {
    let hello = hello(captured("curl-new"));
    assert_eq!(hello.supported_versions().to_vec(), [0x0304, 0x0303, 0x0302, 0x0301]);
    assert_eq!(hello.alpn().collect::<Vec<_>>(), [&b"h2"[..], b"http/1.1"]);
    assert_eq!(hello.server_name(), Some("localhost"));
    assert_eq!(hello.ticket(), None, "curl without a session asks for no TLS 1.2 ticket");
    assert_eq!(hello.ech(), None);
}

#[test]
fn curl_by_address_names_no_server() {
    let hello = hello(captured("curl-tls12-address"));
    assert_eq!(hello.server_name(), None);
    assert_eq!(hello.alpn().collect::<Vec<_>>(), [b"http/1.1"]);
    assert!(hello.offers_tls12() && !hello.offers_tls13());
}

#[test]
fn chromium_greases_and_brings_a_post_quantum_share() {
    let first = hello(captured("chromium-new"));
    assert!(first.greases());
    let versions = first.supported_versions().to_vec();
    assert!(is_grease(versions[0]));
    assert_eq!(versions[1..], [0x0304, 0x0303]);
    let shares: Vec<u16> = first.key_share_groups().collect();
    assert!(is_grease(shares[0]));
    assert_eq!(shares[1..], [0x11ec, 29]);
    assert!(is_grease(first.cipher_suites().to_vec()[0]));
    assert_eq!(first.cipher_suites().to_vec()[1..4], [0x1301, 0x1302, 0x1303]);
    assert_eq!(first.ech(), Some(Ech::Outer));
    assert_eq!(first.server_name(), Some("localhost"));
    assert_eq!(first.alpn().collect::<Vec<_>>(), [&b"h2"[..], b"http/1.1"]);
    assert_eq!((first.ticket(), first.psk_offered()), (Some(&[][..]), 0));
    assert_eq!(first.extensions(), 19);
}

#[test]
fn chromium_shows_its_ticket_on_a_later_connection() {
    let hello = hello(captured("chromium-psk"));
    assert_eq!(hello.psk_identities().map(<[u8]>::len).collect::<Vec<_>>(), [192]);
    assert_eq!((hello.psk_offered(), hello.psk_modes()), (1, &[1][..]));
    assert_eq!(hello.ech(), Some(Ech::Outer));
}

#[test]
fn go_without_and_with_a_session() {
    let first = hello(captured("go-new"));
    assert_eq!(first.supported_versions().to_vec(), [0x0304, 0x0303]);
    assert_eq!(first.key_share_groups().collect::<Vec<_>>(), [0x11ec, 29]);
    assert_eq!(first.supported_groups().to_vec(), [0x11ec, 0x11eb, 0x11ed, 29, 23, 24, 25]);
    assert_eq!(first.alpn().count(), 0);
    resumes(&hello(captured("go-psk")), &first, 192);
}

#[test]
fn go_tls12_says_so_in_the_extension() {
    let first = hello(captured("go-tls12-new"));
    assert_eq!(first.supported_versions().to_vec(), [0x0303]);
    assert!(first.offers_tls12() && !first.offers_tls13());
    assert_eq!(first.ticket(), Some(&[][..]));
    let second = hello(captured("go-tls12-ticket"));
    assert_eq!(second.ticket().map(<[u8]>::len), Some(176));
}

#[test]
fn java_without_and_with_a_session() {
    let first = hello(captured("java-new"));
    assert_eq!(first.supported_versions().to_vec(), [0x0304, 0x0303]);
    assert_eq!(first.key_share_groups().collect::<Vec<_>>(), [29, 23]);
    assert_eq!(first.server_name(), Some("shop.example"));
    assert_eq!(first.cipher_suites().len(), 37);
    resumes(&hello(captured("java-psk")), &first, 208);
}

#[test]
fn python_without_and_with_a_session() {
    let first = hello(captured("python-new"));
    assert_eq!(first.supported_versions().to_vec(), [0x0304, 0x0303]);
    assert_eq!(first.alpn().collect::<Vec<_>>(), [b"http/1.1"]);
    assert_eq!(first.cipher_suites().len(), 18);
    resumes(&hello(captured("python-psk")), &first, 208);
}

/// The same client as before, which now shows one TLS 1.3 ticket.
fn resumes(second: &ClientHello, first: &ClientHello, ticket: usize) {
    assert_eq!(first.psk_offered(), 0);
    assert_eq!(second.psk_offered(), 1);
    assert_eq!(second.psk_identities().map(<[u8]>::len).collect::<Vec<_>>(), [ticket]);
    assert!(second.offers_psk_dhe_ke());
    assert_eq!(second.cipher_suites(), first.cipher_suites());
    assert_eq!(second.server_name(), first.server_name());
}
