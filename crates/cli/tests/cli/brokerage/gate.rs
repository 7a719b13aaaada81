//! The brokerage behind the gate, which is its firewall: HTTPS on both sides, customers by
//! their own addresses, and refusals that the brokerage never sees.

use std::path::Path;

use tidegate_sitekit::database::Location;

use crate::common::tiers::{Customer, Tier, counts};
use crate::common::{Running, Text, curl, private};

/// The brokerage with TLS, and a gate before it with TLS of its own.
struct Both {
    folder: tempfile::TempDir,
    site: Tier,
    gate: Running,
}

impl Both {
    /// `admission` is the gate's table of that name.
    fn start(admission: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data").display().to_string();
        let (certificate, key) = certificate(folder.path());
        let site = Tier::start(
            folder.path(),
            "all",
            &[
                "--listen",
                "127.0.0.1:0",
                "--data",
                &data,
                "--customers",
                "10",
                "--password-cost",
                "light",
                "--security",
                "modern",
                "--certificate",
                &certificate,
                "--key",
                &key,
            ],
        );
        let config = folder.path().join("gate.toml");
        // As docs/brokerage.md has it, with free ports.
        let text = format!(
            "[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\n\
             [upstream]\nurl = \"{}\"\nca = \"site.pem\"\n\
             [admission]\n{admission}\n\
             [admin]\naddress = \"127.0.0.1:0\"\n[log]\nlevel = \"warn\"\n",
            site.address
        );
        std::fs::write(&config, text).unwrap();
        let gate = Running::tidegate(&["gate", "--config", &config.display().to_string()]);
        Self { folder, site, gate }
    }

    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.gate.address("gate"))
    }

    /// The status of a sign-in through the gate from an address of this machine.
    fn sign_in(&self, from: &str, password: &str, more: &[&str]) -> String {
        let fields = format!("user=customer1&password={password}");
        let fixed = ["--interface", from, "--output", "/dev/null", "--write-out", "%{http_code}"];
        let url = self.url("/login");
        curl(&[&fixed[..], &["--data", &fields, &url], more].concat()).stdout_text()
    }
}

/// A certificate of the site for 127.0.0.1, which is its own authority.
fn certificate(folder: &Path) -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["127.0.0.1".to_owned()]).unwrap();
    let path = |name: &str| folder.join(name).display().to_string();
    std::fs::write(path("site.pem"), made.cert.pem()).unwrap();
    private(Path::new(&path("site-key.pem")), &made.signing_key.serialize_pem());
    (path("site.pem"), path("site-key.pem"))
}

#[test]
fn a_customer_signs_in_and_orders_through_the_gate_with_tls_on_both_sides() {
    let both = Both::start("policy = \"off\"");
    let customer = Customer::sign_in(both.gate.address("gate"), both.folder.path(), 1);
    let form = customer.form().unwrap();
    assert_eq!(customer.order(&form, "order-0001", "buy", 1, "1.00").status, 200);
    assert_eq!(customer.order(&form, "order-0001", "buy", 1, "1.00").status, 200);
    let fields = ["--include", "--data", "user=customer2&password=password2"];
    let head = curl(&[&fields[..], &[&both.url("/login")]].concat()).stdout_text();
    let lower = head.to_lowercase();
    assert!(head.contains("__Host-session=") && head.contains("; Secure"), "{head}");
    for field in [
        "strict-transport-security: max-age=31536000",
        "content-security-policy: default-src 'none'; script-src 'self'",
        "x-content-type-options: nosniff",
        "cache-control: no-store",
    ] {
        assert!(lower.contains(field), "{field} is not in {head}");
    }
    // A page of another site cannot send a form through it.
    let foreign = ["--header", "Origin: https://elsewhere.example", "--data", "user=a&password=b"];
    let answer = curl(&[&foreign[..], &["--include", &both.url("/login")]].concat()).stdout_text();
    assert!(answer.starts_with("HTTP/2 403"), "{answer}");
    let Both { folder, site, gate } = both;
    drop(gate);
    assert_eq!(site.end(), Some(0));
    let location = Location::Sqlite(folder.path().join("data/brokerage.db"));
    let sql = "SELECT COUNT(*) FROM orders WHERE client_id = 'order-0001'";
    assert_eq!(counts(&location, [sql]), [1]);
}

#[test]
fn guesses_are_counted_by_the_customers_address_whatever_they_claim() {
    let both = Both::start("policy = \"off\"");
    // Who comes from one address cannot claim others.
    for number in 0..5 {
        let claim = format!("X-Forwarded-For: 192.0.2.{number}");
        assert_eq!(both.sign_in("127.0.0.2", "wrong", &["--header", &claim]), "401");
    }
    let claim = ["--header", "X-Forwarded-For: 192.0.2.99"];
    assert_eq!(both.sign_in("127.0.0.2", "password1", &claim), "429");
    assert_eq!(both.sign_in("127.0.0.3", "password1", &[]), "200", "the owner, from elsewhere");
}

#[test]
fn whom_the_gate_refuses_gets_the_gates_answer_and_the_brokerage_sees_nothing() {
    let refuse = "policy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\nrefuse = \"alert\"";
    let both = Both::start(refuse);
    let admitted = curl(&["--output", "/dev/null", &both.url("/login")]);
    assert_eq!(admitted.status.code(), Some(0), "{}", admitted.stderr_text());
    let refused = curl(&["--output", "/dev/null", &both.url("/login")]);
    assert_eq!(refused.status.code(), Some(35), "a TLS alert: {}", refused.stderr_text());
    let clear = both.gate.address("clear");
    let answer = curl(&["--include", &format!("{clear}/login")]).stdout_text();
    assert!(answer.starts_with("HTTP/1.1 503"), "{answer}");
    assert!(answer.contains("The site is full at the moment."), "the gate's: {answer}");
    assert!(!answer.contains("Breakwater"), "{answer}");
    let log = both.site.log();
    assert!(!log.contains("ERROR"), "{log}");
    let name = "tidegate_connections_total{class=\"new\",verdict=\"refused\"}";
    assert!(both.gate.metric(name) >= 2.0);
}
