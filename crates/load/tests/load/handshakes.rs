//! A set share of full and resumed handshakes.

use std::sync::Arc;
use std::time::Duration;

use crate::common::openssl::SServer;
use crate::common::{Manner, Server, Tickets, loop_of, plan, server_config};
use tidegate_load::{Plan, Summary, TicketsOf, TlsVersions, run};

const AT_ONCE: Manner = Manner::Answer { after: Duration::ZERO };

fn summary(plan: Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

/// Sessions of one request: a connection each, by customers who come once.
fn strangers(server: &Server, sessions: u64, share: f64) -> Plan {
    let mut plan = plan(loop_of(1, ""), server, 400.0, sessions);
    plan.full_share = Some(share);
    plan
}

#[test]
fn exactly_the_configured_share_is_full() {
    for tls in [TlsVersions::Only13, TlsVersions::Only12] {
        let server = Server::start(AT_ONCE);
        let mut plan = strangers(&server, 500, 0.3);
        plan.tls = tls;
        let summary = summary(plan);
        let totals = &summary.totals;
        assert_eq!((totals.completed, totals.resumption_declined), (500, 0), "{totals:?}");
        // The first ones have no ticket to resume from; that is made good.
        assert_eq!((totals.full_ok, totals.resumed_ok), (150, 350), "{tls:?} {totals:?}");
        assert_eq!((summary.full_share_asked, summary.full_handshake_share), (Some(0.3), 0.3));
        let text = tidegate_load::report(&summary).replace("\n                ", " ");
        assert!(text.contains("30.0 % full (30.0 % requested)"), "{text}");
    }
}

#[test]
fn all_or_none_can_be_full() {
    let server = Server::start(AT_ONCE);
    let totals = summary(strangers(&server, 100, 1.0)).totals;
    assert_eq!((totals.full_ok, totals.resumed_ok), (100, 0));
    let totals = summary(strangers(&server, 200, 0.0)).totals;
    // Connections made before the first ticket arrives cannot resume: how many depends on the
    // machine's speed.
    assert_eq!(totals.full_ok, totals.resumption_without_ticket);
    assert!(totals.resumed_ok > 0 && totals.resumption_declined == 0, "{totals:?}");
}

#[test]
fn with_their_own_tickets_strangers_cannot_resume_and_that_is_told() {
    let server = Server::start(AT_ONCE);
    let mut plan = strangers(&server, 100, 0.3);
    plan.tickets = Some(TicketsOf::Customer);
    let summary = summary(plan);
    let totals = &summary.totals;
    assert_eq!((totals.full_ok, totals.resumed_ok), (100, 0));
    // What is owed turns later full ones into resumed ones, for which there is
    // no ticket either.
    assert!(totals.resumption_without_ticket >= 70, "{totals:?}");
    let text = tidegate_load::report(&summary);
    assert!(text.contains("without a ticket"), "{text}");
}

#[test]
fn without_a_share_tickets_of_all_are_used_whenever_there_is_one() {
    let server = Server::start(AT_ONCE);
    let mut plan = plan(loop_of(1, ""), &server, 200.0, 100);
    plan.tickets = Some(TicketsOf::All);
    let totals = summary(plan).totals;
    assert_eq!(totals.full_ok + totals.resumed_ok, 100);
    assert!(totals.resumed_ok >= 80, "{totals:?}");
    assert_eq!((totals.resumption_without_ticket, totals.resumption_declined), (0, 0));
}

#[test]
fn a_server_that_declines_tickets_is_told() {
    let server = Server::without_resumption();
    let mut plan = strangers(&server, 100, 0.3);
    plan.tls = TlsVersions::Only13;
    let summary = summary(plan);
    let totals = &summary.totals;
    assert_eq!((totals.full_ok, totals.resumed_ok), (100, 0), "{totals:?}");
    assert!(totals.resumption_declined >= 60, "{totals:?}");
    let text = tidegate_load::report(&summary);
    assert!(text.contains("declined by the server"), "{text}");
}

#[test]
fn a_share_that_cannot_be_is_refused_before_the_run() {
    let server = Server::start(AT_ONCE);
    let error = |plan: Plan| run(plan, &mut |_| ()).unwrap_err().to_string();
    assert!(error(strangers(&server, 1, 30.0)).contains("30 must be 0 to 1"));
    let mut clear = strangers(&server, 1, 0.3);
    clear.target = clear.target.replace("https", "http");
    assert!(error(clear).contains("has no TLS handshakes"));
    let mut forged = strangers(&server, 1, 0.3);
    forged.forged_tickets = true;
    assert!(error(forged).contains("customers with forged tickets have no others"));
}

#[test]
fn one_ticket_of_tls_1_3_is_brought_by_all_connections() {
    for (share, full) in [(None, 0), (Some(0.3), 30)] {
        let tickets = Tickets::new(true);
        let mut config = (*server_config(&rcgen::PKCS_ECDSA_P256_SHA256)).clone();
        config.ticketer = tickets.clone();
        config.send_tls13_tickets = 2;
        let page = |_: &crate::common::Seen| ("200 OK", String::new(), "page".to_owned());
        let server = Server::with_config(AT_ONCE, page, Arc::new(config));
        let mut plan = plan(loop_of(1, ""), &server, 200.0, 100);
        plan.tickets = Some(TicketsOf::One);
        plan.full_share = share;
        let totals = summary(plan).totals;
        assert_eq!((totals.full_ok, totals.resumed_ok), (full, 100 - full), "{totals:?}");
        assert_eq!((totals.resumption_without_ticket, totals.resumption_declined), (0, 0));
        assert_eq!(tickets.came.lock().unwrap().len(), 1);
    }
}

#[test]
fn openssl_takes_one_ticket_from_all_with_every_suite() {
    for suite in
        ["TLS_AES_128_GCM_SHA256", "TLS_AES_256_GCM_SHA384", "TLS_CHACHA20_POLY1305_SHA256"]
    {
        let server = SServer::with_page(&["-tls1_3", "-ciphersuites", suite]);
        let mut plan = Plan::new(loop_of(1, ""), &server.url);
        plan.arrivals = Some(tidegate_load::Arrivals::even(100.0));
        plan.insecure = true;
        plan.warm_up = Duration::ZERO;
        plan.measure = Duration::from_secs(60);
        plan.max_sessions = Some(10);
        plan.tickets = Some(TicketsOf::One);
        let totals = summary(plan).totals;
        assert_eq!((totals.full_ok, totals.resumed_ok), (0, 10), "{suite}: {totals:?}");
    }
}

#[test]
fn without_tls_1_3_a_single_ticket_is_an_error_before_the_run() {
    let server = SServer::with_page(&["-tls1_2"]);
    let mut plan = Plan::new(loop_of(1, ""), &server.url);
    plan.arrivals = Some(tidegate_load::Arrivals::even(100.0));
    plan.insecure = true;
    plan.tickets = Some(TicketsOf::One);
    let text = run(plan.clone(), &mut |_| ()).unwrap_err().to_string();
    assert!(text.contains("chose TLS 1.2"), "{text}");
    plan.tls = TlsVersions::Only12;
    let text = run(plan, &mut |_| ()).unwrap_err().to_string();
    assert!(text.contains("offer TLS 1.3"), "{text}");
}
