//! Cipher suites and key exchange groups that customers offer, and what is reported
//! of what was agreed.

use std::sync::Arc;
use std::time::Duration;

use crate::common::openssl::SServer;
use crate::common::{Manner, Server, loop_of, plan, server_config};
use tidegate_load::result::figures::Negotiated;
use tidegate_load::{KeyExchangeGroup, Plan, Suite, Summary, TicketsOf, TlsVersions, run};
use tokio_rustls::rustls::ServerConfig;
use tokio_rustls::rustls::crypto::aws_lc_rs::{default_provider, kx_group};

const AT_ONCE: Manner = Manner::Answer { after: Duration::ZERO };

fn visits(url: &str, sessions: u64) -> Plan {
    let scenario = loop_of(1, "");
    let mut plan = Plan::new(scenario, url);
    plan.arrivals = Some(tidegate_load::Arrivals::even(100.0));
    plan.insecure = true;
    plan.warm_up = Duration::ZERO;
    plan.measure = Duration::from_secs(60);
    plan.max_sessions = Some(sessions);
    plan
}

fn choose(plan: &mut Plan, suites: &[&str], groups: &[&str]) {
    plan.suites = suites.iter().map(|name| Suite::parse(name).unwrap()).collect();
    plan.groups = groups.iter().map(|name| KeyExchangeGroup::parse(name).unwrap()).collect();
}

fn summary(plan: Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

/// One combination, with full handshakes only.
fn agreed(
    version: &'static str,
    suite: &'static str,
    group: &'static str,
    full: u64,
) -> Negotiated {
    Negotiated {
        version: version.into(),
        suite: suite.into(),
        group: Some(group.into()),
        full,
        resumed: 0,
    }
}

#[test]
fn openssl_sees_just_what_is_listed_in_its_order() {
    let server = SServer::that_tells(&[]);
    let mut plan = visits(&server.url, 1);
    let suites = ["TLS_CHACHA20_POLY1305_SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384"];
    choose(&mut plan, &suites, &["P-384", "X25519"]);
    let summary = summary(plan);
    let offered = "TLS_CHACHA20_POLY1305_SHA256:ECDHE-ECDSA-AES256-GCM-SHA384";
    for list in server.said("Client cipher list:") {
        let without_signal = list.trim_end_matches(":TLS_EMPTY_RENEGOTIATION_INFO_SCSV");
        assert_eq!(without_signal, offered);
    }
    let groups = server.said("Supported groups:")[0].to_lowercase();
    assert_eq!(groups, "secp384r1:x25519");
    assert_eq!(server.said("Ciphersuite:")[0], "TLS_CHACHA20_POLY1305_SHA256");
    // It answers no request, but the handshake was made.
    assert_eq!(summary.tls, [agreed("1.3", "TLS_CHACHA20_POLY1305_SHA256", "secp384r1", 1)]);
}

#[test]
fn a_server_of_one_suite_and_group_is_visited_with_those() {
    for (options, version, suite, group) in [
        (
            ["-tls1_3", "-ciphersuites", "TLS_AES_256_GCM_SHA384", "-groups", "P-384"],
            "1.3",
            "TLS_AES_256_GCM_SHA384",
            "secp384r1",
        ),
        (
            ["-tls1_2", "-cipher", "ECDHE-ECDSA-CHACHA20-POLY1305", "-groups", "P-256"],
            "1.2",
            "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256",
            "secp256r1",
        ),
    ] {
        let server = SServer::with_page(&options);
        let mut plan = visits(&server.url, 3);
        choose(&mut plan, &[suite], &[group]);
        let summary = summary(plan);
        assert_eq!(summary.totals.completed, 3, "{:?}", summary.totals);
        assert_eq!(summary.tls, [agreed(version, suite, group, 3)]);
        let text = tidegate_load::report(&summary).replace("\n                ", " ");
        let line = format!("tls             {version} {suite} {group} (full 3, resumed 0)\n");
        assert!(text.contains(&line), "{text}");
        let json = serde_json::to_value(&summary).unwrap();
        assert_eq!(
            json["tls"],
            serde_json::json!([
                { "version": version, "suite": suite, "group": group, "full": 3, "resumed": 0 }
            ])
        );
    }
}

#[test]
fn a_server_without_any_of_the_suites_is_reported_before_the_run() {
    let server = SServer::with_page(&["-ciphersuites", "TLS_AES_128_GCM_SHA256", "-tls1_3"]);
    let mut plan = visits(&server.url, 1);
    choose(&mut plan, &["TLS_AES_256_GCM_SHA384"], &[]);
    let error = run(plan, &mut |_| ()).unwrap_err();
    let text = error.to_string();
    assert!(text.contains("HandshakeFailure"), "{text}");
    assert!(text.contains("TLS versions, cipher suites and groups it supports"), "{text}");
    assert_eq!(error.exit_code(), 3);
}

#[test]
fn a_hybrid_group_after_quantum_computers_is_agreed_on() {
    let mut provider = default_provider();
    provider.kx_groups = vec![kx_group::X25519MLKEM768];
    let any = server_config(&rcgen::PKCS_ECDSA_P256_SHA256);
    let mut config = ServerConfig::builder_with_provider(Arc::new(provider))
        .with_safe_default_protocol_versions()
        .unwrap()
        .with_no_client_auth()
        .with_cert_resolver(any.cert_resolver.clone());
    config.send_tls13_tickets = 1;
    let site: crate::common::Site = |_| ("200 OK", String::new(), String::new());
    let server = Server::with_config(AT_ONCE, site, config.into());
    let mut only = visits(&server.url, 5);
    choose(&mut only, &["TLS_AES_128_GCM_SHA256"], &["X25519MLKEM768"]);
    let expected = [agreed("1.3", "TLS_AES_128_GCM_SHA256", "X25519MLKEM768", 5)];
    assert_eq!(summary(only).tls, expected);
    // Among the groups that are offered of themselves it is the last.
    let any = visits(&server.url, 5);
    assert_eq!(summary(any).tls, expected);
}

#[test]
fn full_and_resumed_handshakes_are_counted_apart_and_each_combination_by_itself() {
    let server = Server::start(AT_ONCE);
    for (tls, group) in [(TlsVersions::Only13, Some("x25519")), (TlsVersions::Only12, None)] {
        let mut plan = plan(loop_of(1, ""), &server, 200.0, 100);
        plan.tls = tls;
        plan.full_share = Some(0.3);
        plan.tickets = Some(TicketsOf::All);
        let summary = summary(plan);
        let full = summary.tls.iter().map(|it| it.full).sum::<u64>();
        let resumed = summary.tls.iter().map(|it| it.resumed).sum::<u64>();
        assert_eq!((full, resumed), (summary.totals.full_ok, summary.totals.resumed_ok));
        // TLS 1.2 resumes without a group, so it has two lines.
        let most = &summary.tls[0];
        assert_eq!((most.group.as_deref(), most.resumed), (group, resumed), "{:?}", summary.tls);
        assert_eq!(summary.tls.len(), if group.is_some() { 1 } else { 2 });
    }
}

#[test]
fn versions_and_suites_that_exclude_each_other_are_reported_before_the_run() {
    let mut plan = visits("https://127.0.0.1:1", 1);
    plan.tls = TlsVersions::Only13;
    choose(&mut plan, &["ECDHE-RSA-AES128-GCM-SHA256"], &[]);
    let error = run(plan, &mut |_| ()).unwrap_err();
    assert_eq!(
        error.to_string(),
        "suites: none is of TLS 1.3, and no other version is offered; list a suite of that \
         version, or offer another"
    );
    assert_eq!(error.exit_code(), 2);
}
