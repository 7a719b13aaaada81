//! What is refused, in the caller's format, and that nothing was changed by it.

use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;

use tidegate_sitekit::link::authority::{self, Authority};
use tidegate_sitekit::tls::{Clients, Tls, TlsVersion};
use tidegate_sitekit::when;

use crate::world::{Answer, World, envelope};

const ORDER: &str = r#"{"reference": "a", "lines": [{"item": 7, "quantity": 2}]}"#;

#[test]
fn mistakes_in_json_are_named_with_their_field() {
    let world = World::new();
    let long = format!(r#"{{"subject": "{}", "most": 1}}"#, "x".repeat(20_000));
    let many: Vec<String> = (0..51).map(|it| (it % 9 + 1).to_string()).collect();
    let many = format!(r#"{{"items": [{}]}}"#, many.join(","));
    let deep = "[".repeat(10_000);
    for (service, body, status, code) in [
        ("order-status", "{", 400, "malformed_json"),
        ("order-status", deep.as_str(), 400, "value_of_another_type"),
        ("order-status", "{}", 400, "field_missing"),
        ("order-status", r#"{"order": "1"}"#, 400, "value_of_another_type"),
        ("order-status", r#"{"order": 1.5}"#, 400, "value_of_another_type"),
        ("order-status", r#"{"order": -1}"#, 422, "value_out_of_range"),
        ("order-status", r#"{"order": 1, "order": 2}"#, 400, "field_repeated"),
        ("order-status", r#"{"order": 1, "more": 2}"#, 400, "field_unknown"),
        ("order-status", r#"{"order": 9999}"#, 404, "order_unknown"),
        ("new-products", r#"{"subject": "x", "most": 1}"#, 422, "value_out_of_range"),
        ("new-products", long.as_str(), 413, "body_too_large"),
        ("product-detail", r#"{"items": []}"#, 422, "value_out_of_range"),
        ("product-detail", many.as_str(), 422, "value_out_of_range"),
        ("product-detail", r#"{"items": [1, 9999]}"#, 404, "item_unknown"),
        (
            "create-order",
            r#"{"reference": "b", "lines": [{"item": 9999, "quantity": 1}]}"#,
            404,
            "item_unknown",
        ),
        (
            "create-order",
            r#"{"reference": "b", "lines": [{"item": 1, "quantity": 0}]}"#,
            422,
            "value_out_of_range",
        ),
        (
            "create-order",
            r#"{"reference": "\u0000", "lines": [{"item": 1, "quantity": 1}]}"#,
            422,
            "value_out_of_range",
        ),
        ("change-item", r#"{"item": 4, "price": 100, "picture": 1}"#, 403, "item_of_another"),
        ("nothing", "{}", 404, "path_unknown"),
    ] {
        let answer = world.ask(service, body);
        assert_eq!((answer.status, answer.code().as_str()), (status, code), "{service} {answer:?}");
    }
    let last = world.ask("order-status", r#"{"order": 0}"#).json();
    assert_eq!(last["reference"], "first", "no order was placed");
}

#[test]
fn a_replayed_order_is_placed_once_and_its_name_is_no_other_orders() {
    let world = World::new();
    let first = world.ask("create-order", ORDER).json();
    assert_eq!(world.ask("create-order", ORDER).json()["order"], first["order"]);
    let by_soap = "<CreateOrder><reference>a</reference><lines><item>7</item><quantity>2</quantity></lines></CreateOrder>";
    let again = world.send(&envelope(by_soap));
    assert!(again.body.contains(&format!("<b:order>{}</b:order>", first["order"])), "{again:?}");
    let other = world.ask("create-order", &ORDER.replace("\"quantity\": 2", "\"quantity\": 3"));
    assert_eq!((other.status, other.code().as_str()), (409, "reference_used"));
}

#[test]
fn bad_envelopes_are_answered_with_a_fault() {
    let world = World::new();
    let status = "<OrderStatus><order>0</order></OrderStatus>";
    assert_eq!(world.send(&envelope(status)).status, 200);
    let bomb = format!(
        "<!DOCTYPE b [<!ENTITY a \"{}\"><!ENTITY c \"&a;&a;&a;&a;\">]>{}",
        "x".repeat(1000),
        envelope("<OrderStatus><order>&c;</order></OrderStatus>")
    );
    let external = format!(
        "<!DOCTYPE b [<!ENTITY a SYSTEM \"file:///etc/passwd\">]>{}",
        envelope("<NewProducts><subject>&a;</subject><most>1</most></NewProducts>")
    );
    let deep = format!("{}{}", "<a>".repeat(2500), "</a>".repeat(2500));
    let wide =
        envelope(&format!("<ProductDetail>{}</ProductDetail>", "<items>1</items>".repeat(2100)));
    let large = envelope(&"x".repeat(70_000));
    let soap_1_1 = envelope(status).replace(
        "http://www.w3.org/2003/05/soap-envelope",
        "http://schemas.xmlsoap.org/soap/envelope/",
    );
    let header = envelope(status).replace(
        "<e:Body>",
        "<e:Header><x xmlns=\"urn:x\" e:mustUnderstand=\"true\"/></e:Header><e:Body>",
    );
    for (body, fault, code) in [
        (bomb.as_str(), "Sender", "malformed_xml"),
        (&external, "Sender", "malformed_xml"),
        (&deep, "Sender", "malformed_xml"),
        (&wide, "Sender", "malformed_xml"),
        (&large, "Sender", "body_too_large"),
        (&soap_1_1, "VersionMismatch", "not_soap_1_2"),
        (&header, "MustUnderstand", "header_not_understood"),
        ("", "Sender", "malformed_xml"),
        ("{}", "Sender", "malformed_xml"),
        (&envelope(""), "Sender", "malformed_envelope"),
        (&envelope(&status.repeat(2)), "Sender", "malformed_envelope"),
        (&envelope("<Nothing/>"), "Sender", "service_unknown"),
        (&envelope("<OrderStatus/>"), "Sender", "field_missing"),
        (
            &envelope("<OrderStatus><order>x</order></OrderStatus>"),
            "Sender",
            "value_of_another_type",
        ),
        (
            &envelope("<OrderStatus><order>0</order><order>1</order></OrderStatus>"),
            "Sender",
            "field_repeated",
        ),
        (&envelope("<OrderStatus><x>0</x></OrderStatus>"), "Sender", "field_unknown"),
        (&envelope("<OrderStatus>y<order>0</order></OrderStatus>"), "Sender", "malformed_xml"),
        (
            &envelope("<OrderStatus><order><a/></order></OrderStatus>"),
            "Sender",
            "value_of_another_type",
        ),
        (&envelope("<OrderStatus><?pi?><order>0</order></OrderStatus>"), "Sender", "malformed_xml"),
    ] {
        let answer = world.send(body);
        assert_eq!(answer.code(), code, "{answer:?}");
        assert!(answer.body.contains(&format!("<env:Value>env:{fault}</env:Value>")), "{answer:?}");
        assert!((400..500).contains(&answer.status), "{answer:?}");
        assert!(!answer.body.contains("root:"), "{answer:?}");
    }
    let json = world.curl("/soap", &["--header", "Content-Type: application/json", "--data", "{}"]);
    assert_eq!((json.status, json.code().as_str()), (415, "body_of_another_type"));
}

#[test]
fn callers_without_a_token_are_told_how_to_get_one() {
    let world = World::new();
    let path = "/services/order-status";
    let json = "Content-Type: application/json";
    for header in [
        "X: y",
        "Authorization: Bearer token999",
        "Authorization: Basic dG9rZW4z",
        "Authorization: Bearer",
    ] {
        let answer = world.curl(path, &["-H", header, "-H", json, "--data", "{\"order\": 0}"]);
        assert_eq!((answer.status, answer.code().as_str()), (401, "caller_unknown"), "{header}");
    }
    let new = r#"{"name": "New", "street": "1 Quay", "city": "Port", "postcode": "1", "country": "Atlantis", "payment_method": "invoice", "payment_reference": "x"}"#;
    let new = world.curl("/services/new-customer", &["-H", json, "--data", new]).json();
    let header = format!("Authorization: Bearer {}", new["token"].as_str().unwrap());
    let answer = world.curl(path, &["-H", &header, "-H", json, "--data", "{\"order\": 0}"]);
    assert_eq!((answer.status, answer.code().as_str()), (404, "order_unknown"));
}

/// What business 3 is answered, whose certificate is in a folder, about its last order.
fn status(world: &World, folder: &Path, name: &str) -> Answer {
    let file = |name: String| folder.join(name).display().to_string();
    let (certificate, key) = (file(format!("{name}.pem")), file(format!("{name}-key.pem")));
    let identity = ["--insecure", "--cert", &certificate, "--key", &key];
    let json = ["-H", "Content-Type: application/json", "--data", "{\"order\": 0}"];
    world.curl("/services/order-status", &[&identity[..], &json].concat())
}

#[test]
fn a_business_whose_certificate_has_expired_or_is_revoked_is_told_so_in_its_own_format() {
    let folder = tempfile::tempdir().unwrap();
    let (now, day) = (when::now(), when::DAY);
    let authority = Authority::new(now).unwrap();
    let write = |name: &str, text: &str| {
        let file = folder.path().join(name);
        std::fs::write(&file, text).unwrap();
        // A site reads no key that others can read, and curl any.
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        file
    };
    let issue = |name: &str, from, until| {
        let issued = authority.issue("business-3", from, until).unwrap();
        write(&format!("{name}.pem"), &issued.certificate);
        write(&format!("{name}-key.pem"), &issued.key);
        issued
    };
    issue("good", now - day / 2, now + day);
    issue("expired", now - day, now - 60);
    issue("early", now + day, now + 2 * day);
    let lost = issue("lost", now - day / 2, now + day);
    let ca = write("ca.pem", &authority.certificate());
    let revoked = Some(write("crl.pem", &authority.revoke(&[&lost], now).unwrap()));
    let clients = Some(Clients { ca, revoked, required: true, told: true });
    let world = World::with(|_| {
        Some(Tls { version: TlsVersion::Both, files: None, resumption: true, clients })
    });
    assert_eq!(status(&world, folder.path(), "good").status, 200);
    for (name, code) in [
        ("expired", "certificate_expired"),
        ("early", "certificate_not_yet_valid"),
        ("lost", "certificate_revoked"),
    ] {
        let answer = status(&world, folder.path(), name);
        assert_eq!((answer.status, answer.code().as_str()), (401, code), "{answer:?}");
        // The service that asks for no business refuses it as well.
        let file = |end: &str| folder.path().join(format!("{name}{end}")).display().to_string();
        let (certificate, key) = (file(".pem"), file("-key.pem"));
        let customer = envelope(
            "<NewCustomer><name>N</name><street>1 Quay</street><city>P</city><postcode>1</postcode>\
             <country>Atlantis</country><payment_method>invoice</payment_method>\
             <payment_reference>x</payment_reference></NewCustomer>",
        );
        let answer = world.curl(
            "/soap",
            &[
                "--insecure",
                "--cert",
                &certificate,
                "--key",
                &key,
                "-H",
                "Content-Type: application/soap+xml",
                "--data",
                &customer,
            ],
        );
        assert!(answer.body.contains("env:Sender") && answer.code() == code, "{answer:?}");
    }
}

#[test]
fn a_business_is_known_by_its_certificate_and_strangers_are_refused() {
    let certificates = tempfile::tempdir().unwrap();
    let strangers = tempfile::tempdir().unwrap();
    authority::make(certificates.path(), &["business-3", "business-99"]).unwrap();
    authority::make(strangers.path(), &["business-3"]).unwrap();
    let ca = certificates.path().join("ca.pem");
    std::fs::set_permissions(&ca, std::fs::Permissions::from_mode(0o644)).unwrap();
    let world = World::with(|_| {
        let clients = Some(Clients { ca, revoked: None, required: true, told: true });
        Some(Tls { version: TlsVersion::V13, files: None, resumption: true, clients })
    });
    let ask = |folder: &tempfile::TempDir, name: &str| status(&world, folder.path(), name);
    let known = ask(&certificates, "business-3");
    assert_eq!((known.status, &known.json()["order"]), (200, &3.into()));
    let unknown = ask(&certificates, "business-99");
    assert_eq!((unknown.status, unknown.code().as_str()), (401, "caller_unknown"));
    assert_eq!(ask(&strangers, "business-3").status, 0, "the handshake fails");
    let without = world.curl("/services/order-status", &["--insecure", "--data", "{}"]);
    assert_eq!(without.status, 0, "the handshake fails");
}
