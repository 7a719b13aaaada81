//! Customers with a client certificate, and servers that request one.

use std::path::Path;
use std::time::Duration;

use crate::common::loop_of;
use crate::common::openssl::{SServer, certificate};
use tidegate_load::{Arrivals, ClientCertificate, Error, Plan, Scenario, Summary, run};

fn visit(server: &SServer, certificate: Option<ClientCertificate>) -> Result<Summary, Error> {
    let mut plan = Plan::new(loop_of(1, ""), &server.url);
    plan.arrivals = Some(Arrivals::even(100.0));
    plan.insecure = true;
    plan.warm_up = Duration::ZERO;
    plan.measure = Duration::from_secs(60);
    plan.max_sessions = Some(3);
    plan.certificate = certificate;
    run(plan, &mut |_| ())
}

fn own(folder: &Path) -> ClientCertificate {
    let (certificate, key) = certificate(folder, "customer");
    ClientCertificate::load(&certificate, Some(&key)).unwrap()
}

#[test]
fn a_customer_with_a_certificate_is_served_and_authenticated() {
    let folder = tempfile::tempdir().unwrap();
    for version in ["-tls1_2", "-tls1_3"] {
        // Must show one; any will do.
        let server = SServer::with_page(&["-Verify", "1", version]);
        let summary = visit(&server, Some(own(folder.path()))).unwrap();
        assert_eq!(summary.totals.completed, 3, "{version}: {:?}", summary.totals);
        // Its own name is its issuer's.
        assert!(server.said("depth=0 CN").len() >= 4, "{version}: the probe and three customers");
    }
}

#[test]
fn without_a_certificate_the_run_does_not_begin_and_reports_why() {
    for version in ["-tls1_2", "-tls1_3"] {
        let server = SServer::with_page(&["-Verify", "1", version]);
        let error = visit(&server, None).unwrap_err();
        let text = error.to_string();
        assert!(text.contains("received fatal alert"), "{version}: {text}");
        assert!(text.contains("it requests a client certificate"), "{version}: {text}");
        assert_eq!(error.exit_code(), 3);
    }
}

#[test]
fn a_certificate_that_the_server_does_not_trust_is_reported_likewise() {
    let folder = tempfile::tempdir().unwrap();
    let server = SServer::with_page(&["-Verify", "1", "-verify_return_error", "-tls1_3"]);
    let text = visit(&server, Some(own(folder.path()))).unwrap_err().to_string();
    assert!(text.contains("give one that it accepts"), "{text}");
}

#[test]
fn a_server_that_does_not_insist_serves_those_without() {
    for version in ["-tls1_2", "-tls1_3"] {
        let server = SServer::with_page(&["-verify", "1", version]);
        let summary = visit(&server, None).unwrap();
        assert_eq!(summary.totals.completed, 3, "{version}: {:?}", summary.totals);
    }
}

#[test]
fn a_scenario_names_files_beside_its_own() {
    let folder = tempfile::tempdir().unwrap();
    let expected = own(folder.path());
    certificate(folder.path(), "other");
    let scenario = |key: &str| {
        let text = format!(
            "[session]\nstart = \"Home\"\n[pages]\nHome = {{ path = \"/\" }}\n[transitions]\n\
             Home = {{ End = 1 }}\n[tls]\ncertificate = \"customer.pem\"\nkey = \"{key}\"\n"
        );
        let file = folder.path().join("shop.toml");
        std::fs::write(&file, text).unwrap();
        Scenario::from_file(&file)
    };
    let read = scenario("customer.key").unwrap();
    assert_eq!(read.tls().certificate, Some(expected));
    let text = scenario("other.key").unwrap_err().to_string();
    assert!(
        text.contains("shop.toml:9: tls.key = \"other.key\": ")
            && text.contains("is not the key of"),
        "{text}"
    );
}
