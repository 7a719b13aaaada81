//! Sessions that are known by their cookie: behind another proxy, over plain HTTP.

use crate::common::plain::{connect_plain, cookie_gate};
use crate::common::*;
use std::io::BufReader;
use std::net::TcpStream;
use tidegate_gate::Gate;
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::labels::{Class, CookieResult};

/// One new session is admitted, and no other for a long time.
fn one_only(more: &str) -> String {
    format!("[admission]\npolicy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\n{more}\n")
}

/// An upstream that answers with the cookies that it received.
fn echoing() -> std::net::SocketAddr {
    answering(|got| ok(got.header("cookie").unwrap_or("none")))
}

/// A response to a GET with these fields.
fn get_with(connection: &mut BufReader<TcpStream>, fields: &str) -> Response {
    let request = format!("GET / HTTP/1.1\r\nHost: shop.example\r\n{fields}\r\n");
    send(connection, request.as_bytes());
    receive(connection, "GET").unwrap()
}

fn get_with_cookie(connection: &mut BufReader<TcpStream>, cookie: &str) -> Response {
    get_with(connection, &format!("Cookie: {cookie}\r\n"))
}

/// What a response sets, if anything.
fn set_cookie(response: &Response) -> Option<&str> {
    let mut lines = response.head.lines().filter_map(|line| {
        let (name, value) = line.split_once(": ")?;
        name.eq_ignore_ascii_case("set-cookie").then_some(value)
    });
    let first = lines.next();
    assert_eq!(lines.next(), None, "one at most");
    first
}

/// The cookie of a new session, as the customer sends it.
fn enter(gate: &Gate) -> String {
    let response = get_with(&mut connect_plain(gate), "");
    assert_eq!(response.code, 200);
    pair(&response)
}

fn pair(response: &Response) -> String {
    set_cookie(response).unwrap().split(';').next().unwrap().to_owned()
}

fn cookies(gate: &Gate, result: CookieResult) -> u64 {
    gate.totals().session_cookies[result]
}

#[test]
fn the_first_response_sets_a_cookie_and_the_upstream_does_not_see_it() {
    let gate = cookie_gate(echoing(), "");
    let mut connection = connect_plain(&gate);
    let first = get_with_cookie(&mut connection, "basket=7");
    assert_eq!(first.text(), "basket=7");
    let set = set_cookie(&first).unwrap();
    let (value, attributes) = set.split_once("; ").unwrap();
    assert_eq!(attributes, "Path=/; Max-Age=3600; HttpOnly; SameSite=Lax");
    assert!(value.starts_with("tidegate="), "{value}");
    let second = get_with_cookie(&mut connection, &format!("a=1; {value}; basket=7"));
    assert_eq!((second.text(), set_cookie(&second)), ("a=1; basket=7", None));
    assert_eq!(get_with_cookie(&mut connection, value).text(), "none");
    let totals = gate.totals();
    assert_eq!((totals.admitted[Class::New], totals.in_clear), (1, 1));
    assert_eq!(cookies(&gate, CookieResult::Good), 2);
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.sessions_started, snapshot.sessions_active), (1, 1));
}

#[test]
fn nobody_inside_is_refused_over_a_connection_on_which_others_are() {
    let gate = cookie_gate(hello(), &one_only(""));
    let customer = enter(&gate);
    let mut proxy = connect_plain(&gate);
    for round in 1..=3 {
        let refused = get_with(&mut proxy, "");
        assert_eq!(refused.code, 503);
        let head = refused.head.to_ascii_lowercase();
        assert!(head.contains("\r\nretry-after: 5\r\n") && !head.contains("close"), "{head}");
        assert_eq!(set_cookie(&refused), None);
        assert_eq!(get_with_cookie(&mut proxy, &customer).code, 200);
        assert_eq!(gate.totals().refused[Class::New], round);
    }
    let totals = gate.totals();
    assert_eq!((totals.admitted[Class::New], totals.upstream_responses), (1, 4));
    assert_eq!(gate.snapshot().sessions_started, 1);
}

#[test]
fn a_cookie_that_the_gate_did_not_make_admits_nobody() {
    let gate = cookie_gate(hello(), &one_only(""));
    let other = cookie_gate(hello(), "");
    let (customer, foreign) = (enter(&gate), enter(&other));
    let mut changed = customer.clone().into_bytes();
    let last = changed.len() - 20;
    changed[last] = if changed[last] == b'A' { b'B' } else { b'A' };
    let changed = String::from_utf8(changed).unwrap();
    let long = format!("tidegate={}", "A".repeat(8_000));
    let others = ["tidegate", "tidegate=", "tidegate=x", "tidegate=\"\"", "tidegate=%41"];
    let mut proxy = connect_plain(&gate);
    for forged in [&foreign, &changed, &long, &format!("{customer}A")] {
        assert_eq!(get_with_cookie(&mut proxy, forged).code, 503, "{forged}");
    }
    for forged in others {
        assert_eq!(get_with_cookie(&mut proxy, forged).code, 503, "{forged}");
    }
    assert_eq!(cookies(&gate, CookieResult::Foreign), 9);
    assert_eq!(get_with_cookie(&mut proxy, &customer).code, 200);
}

#[test]
fn a_second_cookie_of_the_name_does_not_hide_the_customers_own() {
    let gate = cookie_gate(hello(), &one_only(""));
    let customer = enter(&gate);
    let forged = format!("tidegate={}", "A".repeat(82));
    let mut proxy = connect_plain(&gate);
    for both in [format!("{customer}; {forged}"), format!("{forged}; {customer}")] {
        assert_eq!(get_with_cookie(&mut proxy, &both).code, 200);
    }
    let third = format!("{forged}; {forged}; {customer}");
    assert_eq!(get_with_cookie(&mut proxy, &third).code, 503, "what is opened has a bound");
}

/// A test that waits sends more requests than a customer.
const OFTEN: &str = "cookie_rate = 100000.0\ncookie_burst = 1000000\n";

fn with_lifetime(seconds: u64, admission: &str) -> Gate {
    let core = a_core();
    let more = format!(
        "{admission}[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\ncores = \"{core}\"\n"
    );
    gate_with(hello(), &more, move |config: &mut Config| {
        config.tls.ticket_lifetime = std::time::Duration::from_secs(seconds);
    })
}

#[test]
fn a_cookie_is_renewed_while_the_customer_stays() {
    let gate = with_lifetime(8, &format!("[admission]\npolicy = \"off\"\n{OFTEN}"));
    let (customer, mut proxy) = (enter(&gate), connect_plain(&gate));
    let mut renewed = None;
    until("a response renews it", || {
        let response = get_with_cookie(&mut proxy, &customer);
        renewed = set_cookie(&response).map(|_| pair(&response));
        renewed.is_some()
    });
    let renewed = renewed.unwrap();
    assert_ne!(renewed, customer);
    assert_eq!(set_cookie(&get_with_cookie(&mut proxy, &renewed)), None);
    assert_eq!(gate.snapshot().sessions_started, 1, "the session is the same");
}

#[test]
fn a_cookie_expires() {
    let gate = with_lifetime(1, &one_only(OFTEN));
    let (customer, mut proxy) = (enter(&gate), connect_plain(&gate));
    until("it is not accepted", || get_with_cookie(&mut proxy, &customer).code == 503);
    assert!(cookies(&gate, CookieResult::Expired) >= 1);
}

#[test]
fn a_cookie_shared_by_bots_has_the_rate_of_one_session() {
    let gate = cookie_gate(hello(), &one_only("cookie_rate = 0.1\ncookie_burst = 5"));
    let shared = enter(&gate);
    let mut bots: Vec<_> = (0..4).map(|_| connect_plain(&gate)).collect();
    let codes: Vec<_> = (0..12).map(|n| get_with_cookie(&mut bots[n % 4], &shared).code).collect();
    assert_eq!(codes.iter().filter(|code| **code == 200).count(), 4, "{codes:?}");
    assert_eq!(cookies(&gate, CookieResult::OverRate), 8);
}

#[test]
fn a_session_has_a_most_of_requests_at_once() {
    let (upstream, requested, go) = answering_on_request();
    // Three requests of a burst of two: the rate has to grant one of them between the first and
    // the last, which are several round trips apart, and that takes it 10 µs.
    let gate = cookie_gate(upstream, &one_only("cookie_burst = 2\ncookie_rate = 100000"));
    let customer = enter(&gate);
    let long = format!("GET /long HTTP/1.1\r\nHost: a\r\nCookie: {customer}\r\n\r\n");
    counted(&gate, "the first response is over", |totals| totals.in_requests == 0);
    let mut both = [connect_plain(&gate), connect_plain(&gate)];
    for busy in &mut both {
        send(busy, long.as_bytes());
        comes_to_the_upstream(&gate, &requested);
    }
    assert_eq!(get_with_cookie(&mut connect_plain(&gate), &customer).code, 503);
    assert_eq!(cookies(&gate, CookieResult::OverRequests), 1);
    both.iter().for_each(|_| go.send(()).unwrap());
    for busy in &mut both {
        assert_eq!(receive(busy, "GET").unwrap().text(), "hello");
    }
    until("one may follow", || get_with_cookie(&mut connect_plain(&gate), &customer).code == 200);
}

#[test]
fn the_cookie_is_secure_where_a_trusted_proxy_says_https() {
    let secure = |gate: &Gate, fields: &str| {
        let response = get_with(&mut connect_plain(gate), fields);
        set_cookie(&response).unwrap().ends_with("; Secure")
    };
    const HTTPS: &str = "X-Forwarded-Proto: https\r\n";
    let trusting = gate(
        hello(),
        &format!(
            "forwarded = \"append\"\n[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\n\
             cores = \"{}\"\n",
            a_core()
        ),
    );
    assert!(secure(&trusting, HTTPS));
    assert!(!secure(&trusting, "") && !secure(&trusting, "X-Forwarded-Proto: http\r\n"));
    assert!(!secure(&cookie_gate(hello(), ""), HTTPS), "what a customer says is not believed");
}

#[test]
fn no_cookie_is_set_on_what_a_shared_cache_may_keep() {
    let upstream = answering(|got| {
        let control = got.header("x-control").unwrap_or("private").to_owned();
        format!("HTTP/1.1 200 OK\r\nCache-Control: {control}\r\nContent-Length: 2\r\n\r\nhi")
    });
    let gate = cookie_gate(upstream, "");
    let mut connection = connect_plain(&gate);
    for (control, set) in [("public, max-age=60", false), ("s-maxage=5", false), ("no-cache", true)]
    {
        let response = get_with(&mut connection, &format!("X-Control: {control}\r\n"));
        assert_eq!(set_cookie(&response).is_some(), set, "{control}");
        assert!(response.head.contains(&format!("Cache-Control: {control}\r\n")), "untouched");
    }
}

#[test]
fn a_customer_keeps_their_session_where_the_upstream_fails() {
    let gate = cookie_gate("127.0.0.1:1".parse().unwrap(), &one_only(""));
    let mut proxy = connect_plain(&gate);
    let failed = get_with(&mut proxy, "");
    assert_eq!(failed.code, 502);
    let customer = pair(&failed);
    assert_eq!(get_with(&mut proxy, "").code, 503);
    assert_eq!(get_with_cookie(&mut proxy, &customer).code, 502, "admitted again");
}

#[test]
fn requests_of_new_sessions_wait_until_the_budget_admits_them() {
    let gate = cookie_gate(
        hello(),
        "[admission]\npolicy = \"static\"\nrate = 20.0\nhold_time = \"20s\"\n",
    );
    let request = b"POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 2\r\n\r\nhi";
    let mut customers: Vec<_> = (0..6).map(|_| connect_plain(&gate)).collect();
    customers.iter_mut().for_each(|customer| send(customer, request));
    for customer in &mut customers {
        assert_eq!(receive(customer, "POST").unwrap().text(), "hello");
    }
    let totals = gate.totals();
    assert!(totals.held[Class::New] >= 4, "{totals:?}");
    assert_eq!((totals.hold_admitted, totals.in_clear), (totals.held[Class::New], 6));
    assert_eq!((totals.holding, totals.holding_bytes, totals.starting), (0, 0, 0));
}

#[test]
fn a_customer_who_leaves_the_queue_is_counted_and_a_drain_refuses_the_others() {
    let gate = cookie_gate(hello(), &one_only("").replace("\"0s\"", "\"20s\""));
    enter(&gate);
    let mut leaving = connect_plain(&gate);
    send(&mut leaving, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    counted(&gate, "held", |totals| totals.holding == 1 && totals.held[Class::New] == 1);
    assert_eq!(gate.totals().at_upstream, 0, "it is not with the upstream");
    drop(leaving);
    let mut waiting = connect_plain(&gate);
    send(&mut waiting, b"GET / HTTP/1.1\r\nHost: a\r\n\r\n");
    counted(&gate, "left", |totals| totals.hold_left == 1 && totals.holding == 1);
    gate.drain();
    assert_eq!(receive(&mut waiting, "GET").unwrap().code, 503);
}

#[test]
fn a_restart_with_the_same_key_file_knows_the_customers() {
    let folder = tempfile::tempdir().unwrap();
    let keys = folder.path().join("keys");
    let start = || {
        let tls = format!("[tls]\nticket_keys = {:?}\n", keys.display().to_string());
        cookie_gate(hello(), &format!("{tls}{}", one_only("")))
    };
    let before = start();
    let customer = enter(&before);
    before.close();
    before.join().unwrap();
    let after = start();
    let mut proxy = connect_plain(&after);
    assert_eq!(get_with_cookie(&mut proxy, &customer).code, 200);
    assert_eq!(get_with(&mut proxy, "").code, 200, "the budget is unused");
    assert_eq!(get_with(&mut proxy, "").code, 503);
}

#[test]
fn the_cookie_has_the_configured_name() {
    let gate = cookie_gate(
        echoing(),
        "[admission]\npolicy = \"off\"\nsession_cookie_name = \"__gate-7\"\n",
    );
    let cookie = enter(&gate);
    assert!(cookie.starts_with("__gate-7="), "{cookie}");
    let both = format!("{cookie}; tidegate=mine");
    assert_eq!(get_with_cookie(&mut connect_plain(&gate), &both).text(), "tidegate=mine");
}

/// A gate that sets cookies over TLS as well.
fn everywhere(more: &str) -> Gate {
    gate(echoing(), &format!("[admission]\nsession_cookie = \"all\"\n{more}"))
}

#[test]
fn over_tls_a_session_goes_on_whose_tls_does_not_resume() {
    let gate = everywhere("policy = \"off\"\n");
    let mut first = connect(&gate, &any_client());
    let response = get(&mut first, "/").unwrap();
    let set = set_cookie(&response).unwrap();
    assert!(set.ends_with("; HttpOnly; SameSite=Lax; Secure"), "{set}");
    let cookie = pair(&response);
    assert_eq!(set_cookie(&get(&mut first, "/").unwrap()), None, "once for a connection");
    // Another client, without the ticket.
    let mut second = connect(&gate, &any_client());
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: x=1; {cookie}\r\n\r\n");
    send(&mut second, request.as_bytes());
    let response = receive(&mut second, "GET").unwrap();
    assert_eq!((response.text(), set_cookie(&response)), ("x=1", None));
    assert_eq!(kind(&second), rustls::HandshakeKind::Full);
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.sessions_started, snapshot.sessions_active), (2, 1), "one goes on");
    assert_eq!(cookies(&gate, CookieResult::Good), 1);
    drop((first, second));
    until("it ends with its last connection", || gate.snapshot().sessions_active == 0);
}

#[test]
fn over_tls_a_forged_cookie_changes_nothing() {
    let gate = everywhere("policy = \"off\"\n");
    let mut connection = connect(&gate, &any_client());
    let forged = "tidegate=".to_owned() + &"A".repeat(82);
    let request = format!("GET / HTTP/1.1\r\nHost: a\r\nCookie: {forged}\r\n\r\n");
    send(&mut connection, request.as_bytes());
    let response = receive(&mut connection, "GET").unwrap();
    assert_eq!(response.text(), "none");
    assert_ne!(pair(&response), forged);
    assert_eq!(cookies(&gate, CookieResult::Foreign), 1);
    assert_eq!(gate.snapshot().sessions_active, 1);
}

#[test]
fn over_tls_no_cookie_is_set_by_default_and_the_upstream_sees_none_of_plain_http() {
    let gate = gate(echoing(), "");
    let mut connection = connect(&gate, &any_client());
    send(&mut connection, b"GET / HTTP/1.1\r\nHost: a\r\nCookie: tidegate=x\r\n\r\n");
    let response = receive(&mut connection, "GET").unwrap();
    assert_eq!((response.text(), set_cookie(&response)), ("none", None));
}

#[test]
fn the_access_log_has_class_verdict_and_session_of_each_request() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let log = format!("[access_log]\nfile = {:?}\n", file.display().to_string());
    let gate = cookie_gate(hello(), &format!("{log}{}", one_only("")));
    let mut proxy = connect_plain(&gate);
    let cookie = pair(&get_with(&mut proxy, ""));
    get_with(&mut proxy, "");
    get_with_cookie(&mut proxy, &cookie);
    let lines = || -> Vec<serde_json::Value> {
        let text = std::fs::read_to_string(&file).unwrap_or_default();
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
    };
    until("all lines are there", || lines().len() == 3);
    let lines = lines();
    let of = |line: usize, key: &str| lines[line][key].clone();
    assert_eq!((of(0, "class"), of(0, "verdict")), ("new".into(), "admitted".into()));
    assert_eq!((of(1, "class"), of(1, "verdict")), ("new".into(), "refused".into()));
    assert_eq!((of(1, "status"), of(1, "reason")), (503.into(), "refused".into()));
    assert_eq!((of(2, "class"), of(2, "verdict")), ("returning".into(), "admitted".into()));
    assert_eq!(of(0, "session"), of(2, "session"));
    assert!(of(0, "session").is_string() && of(1, "session").is_null());
}

#[test]
fn over_http2_one_response_sets_the_cookie_and_streams_know_the_session() {
    let gate = everywhere("policy = \"off\"\n");
    http2::run(async {
        let sender = http2::connect_http2(&gate).await;
        let (head, _) = http2::exchange(&sender, http2::request("GET", "/")).await.unwrap();
        let set = head.headers()["set-cookie"].to_str().unwrap();
        let cookie = set.split(';').next().unwrap().to_owned();
        let (head, _) = http2::exchange(&sender, http2::request("GET", "/")).await.unwrap();
        assert!(!head.headers().contains_key("set-cookie"), "once for a connection");

        let other = http2::connect_http2(&gate).await;
        let get = http2::request("GET", "/").header("cookie", cookie).header("cookie", "x=1");
        let (head, body) = http2::exchange(&other, get).await.unwrap();
        assert!(!head.headers().contains_key("set-cookie"));
        assert_eq!(body, b"x=1");
    });
    assert_eq!(cookies(&gate, CookieResult::Good), 1);
}

#[test]
fn with_the_default_policy_nobody_is_refused_below_the_capacity() {
    let gate = cookie_gate(hello(), "[admission]\npolicy = \"tide\"\n");
    let mut proxy = connect_plain(&gate);
    for _ in 0..30 {
        let first = get_with(&mut proxy, "");
        assert_eq!(first.code, 200);
        let cookie = pair(&first);
        for _ in 0..4 {
            assert_eq!(get_with_cookie(&mut proxy, &cookie).code, 200);
        }
    }
    let snapshot = gate.snapshot();
    assert_eq!((snapshot.sessions_started, snapshot.sessions_active), (30, 30));
    let totals = gate.totals();
    assert_eq!((totals.admitted[Class::New] + totals.hold_admitted, totals.in_clear), (30, 30));
}

#[test]
fn a_reload_switches_cookies_off_for_new_connections() {
    let gate = cookie_gate(hello(), "");
    let mut before = connect_plain(&gate);
    let cookie = pair(&get_with(&mut before, ""));
    let mut next = (*gate.config()).clone();
    next.admission.session_cookie = tidegate_gate::config::SessionCookie::Off;
    assert!(gate.reload(|| Ok(next)));
    until("a new connection gets no cookie", || {
        set_cookie(&get_with(&mut connect_plain(&gate), "")).is_none()
    });
    assert_eq!(set_cookie(&get_with_cookie(&mut before, &cookie)), None, "it is known");
    assert!(set_cookie(&get_with(&mut before, "")).is_some(), "a connection keeps its settings");
}
