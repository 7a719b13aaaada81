//! Files of keys and certificates, and addresses.

use std::os::unix::fs::PermissionsExt as _;

use tidegate_sitekit::link::{Client, ClientSide, Files, ServerSide};

use crate::world::{Keys, SHORT, spec};

#[test]
fn files_that_cannot_be_used_are_named_with_the_remedy() {
    let keys = Keys::new();
    let none = Files::default();
    let complain = |text: &str, files: &Files| {
        let client = ClientSide::new(spec(text), files, "front", "back").map(drop);
        let server = ServerSide::new(spec(text), files, "front", "back").map(drop);
        let lines = [client, server].map(|result| result.unwrap_err().to_string());
        assert_eq!(lines[0], lines[1], "both ends say the same");
        lines[0].clone()
    };
    assert!(complain("tls", &none).contains("--make-ca DIR"));
    assert!(complain("sealed", &none).contains("--make-key FILE"));
    let key = keys.folder.path().join("key.json");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let line = complain("sealed", &keys.files());
    assert!(line.contains("key.json") && line.contains("chmod 600"), "{line}");
    let key = keys.folder.path().join("ca/front-key.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(complain("tls", &keys.files()).contains("chmod 600"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::copy(keys.folder.path().join("ca/back-key.pem"), &key).unwrap();
    let line = complain("tls", &keys.files());
    assert!(line.contains("front.pem and") && line.contains("--make-ca"), "{line}");
    std::fs::remove_file(keys.folder.path().join("ca/ca.pem")).unwrap();
    assert!(complain("tls", &keys.files()).contains("ca.pem"));
}

#[test]
fn an_address_without_a_port_and_no_address_at_all_are_named() {
    let side = || ClientSide::new(spec("none"), &Files::default(), "front", "back").unwrap();
    let complain = |addresses: &[&str]| {
        let addresses: Vec<String> = addresses.iter().map(|text| (*text).into()).collect();
        Client::new(side(), &addresses, SHORT).unwrap_err().to_string()
    };
    assert!(complain(&[]).contains("name the address of the back tier"));
    assert!(complain(&["localhost"]).contains("must be an address and a port"));
    assert!(complain(&["a:b"]).contains("must be an address and a port"));
}
