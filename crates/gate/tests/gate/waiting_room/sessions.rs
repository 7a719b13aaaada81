//! Who is in the waiting room and who is in a session: tickets, cookies, what each request costs.

use super::*;
use tidegate_gate::telemetry::labels::TicketResult;

#[test]
fn where_there_is_no_room_any_more_the_ticket_of_somebody_who_waits_admits_nobody() {
    let upstream = hello();
    let config = |refuse| {
        let admission = room(0.01, "").replace("\"page\"", refuse);
        config_of(&format!("url = \"http://{upstream}\""), &admission)
    };
    let gate = Gate::start(config("\"page\"")).unwrap();
    let mut inside = Customer::new();
    assert_eq!(inside.visit(&gate).response.code, 200);
    until("the gate is full", || gate.snapshot().sessions_active == 0);
    let mut customer = Customer::new();
    assert!(customer.visit(&gate).waits());
    assert!(gate.reload(|| Ok(config("\"reset\""))));
    until("new connections are reset", || Customer::new().get(&gate, "/", "*/*").is_err());
    let started = gate.snapshot().sessions_started;
    assert!(customer.get(&gate, "/", "*/*").is_err(), "without a decision nobody comes in");
    assert_eq!(gate.snapshot().sessions_started, started);
    assert_eq!(gate.totals().tickets[TicketResult::Unfit], 1);
    assert_eq!(inside.visit(&gate).response.code, 200);
}

/// CPU time that was spent on this, in nanoseconds.
fn spent_on(gate: &Gate, bucket: Bucket) -> u64 {
    gate.totals().cpu_ns[bucket]
}

#[test]
fn behind_a_proxy_pages_use_the_share_of_the_processors_and_strangers_not_all_of_it() {
    let share = 0.002;
    let more = room(0.01, "").replace("room_share = 0.5", &format!("room_share = {share}"));
    let gate = cookie_gate(hello(), &more);
    let (mut inside, mut proxy) = (Customer::new(), connect_plain(&gate));
    assert_eq!(inside.ask(&mut proxy, "/", "text/html").unwrap().code, 200);
    let begun = Instant::now();
    let mut waits = Customer::new();
    assert_eq!(waits.ask(&mut proxy, "/", "text/html").unwrap().code, 503);
    for _ in 0..500 {
        assert_eq!(Customer::new().ask(&mut proxy, "/", "text/html").unwrap().code, 503);
    }
    let visits = gate.totals().room_visits;
    assert!(visits[RoomVisit::Page] > 0 && visits[RoomVisit::Beyond] > 0, "{visits:?}");
    let page = waits.ask(&mut proxy, "/", "text/html").unwrap();
    let line = field(&page, "tidegate-waiting-room").unwrap();
    assert!(line.starts_with("line"), "a part is reserved for those who have a place: {line}");
    // The share of a second may be used at once, and the last page may exceed it.
    let most = (begun.elapsed() + Duration::from_secs(1)).mul_f64(share);
    let spent = Duration::from_nanos(spent_on(&gate, Bucket::Room));
    assert!(!spent.is_zero() && spent < most + Duration::from_millis(2), "{spent:?} {most:?}");
    assert_eq!(inside.ask(&mut proxy, "/", "text/html").unwrap().code, 200);
}

#[test]
fn behind_a_proxy_pages_make_requests_look_no_dearer() {
    let gate = cookie_gate(hello(), &room(0.01, ""));
    let (mut inside, mut proxy) = (Customer::new(), connect_plain(&gate));
    assert_eq!(inside.ask(&mut proxy, "/", "text/html").unwrap().code, 200);
    let spent = || [Bucket::RequestNew, Bucket::Room].map(|bucket| spent_on(&gate, bucket));
    let before = spent();
    for _ in 0..100 {
        assert_eq!(Customer::new().ask(&mut proxy, "/", "text/html").unwrap().code, 503);
    }
    let [requests, room] = spent();
    assert!((requests - before[0]) * 4 < room - before[1], "{requests} {room} {before:?}");
}

#[test]
fn what_never_waits_is_charged_to_requests() {
    let (gate, _) = full("never_wait_paths = [\"/health\"]");
    let mut monitor = Customer::new();
    let mut connection = connect(&gate, &monitor.tls);
    let mut check = || monitor.ask(&mut connection, "/health", "*/*").unwrap().code;
    assert_eq!(check(), 200);
    let (room, requests) = (spent_on(&gate, Bucket::Room), spent_on(&gate, Bucket::RequestNew));
    assert!((0..20).all(|_| check() == 200));
    assert_eq!(spent_on(&gate, Bucket::Room), room);
    until("they are charged", || spent_on(&gate, Bucket::RequestNew) > requests);
}

#[test]
fn the_upstream_never_sees_the_cookies_of_a_customer_from_the_room() {
    let upstream = answering(|got| ok(got.header("cookie").unwrap_or("none")));
    for set in ["clear", "off"] {
        let gate = gate(upstream, &room(5.0, &format!("session_cookie = \"{set}\"")));
        let mut customer = Customer::new();
        until("somebody waits", || {
            customer = Customer::new();
            customer.visit(&gate).waits()
        });
        until("they are admitted", || !customer.visit(&gate).waits());
        // A browser that has not stored yet that the place was used.
        customer
            .cookies
            .extend([("basket".into(), "7".into()), ("tidegate-place".into(), "x".into())]);
        assert!(customer.cookies.iter().any(|(name, _)| name == "tidegate"));
        let seen = customer.visit(&gate);
        assert_eq!((seen.kind, seen.response.text()), (HandshakeKind::Resumed, "basket=7"));
    }
}

#[test]
fn beyond_the_share_a_page_without_a_place_asks_again_and_the_place_is_kept() {
    let more = room(0.01, "").replace("room_share = 0.5", "room_share = 0.01");
    let gate = cookie_gate(hello(), &more);
    let mut proxy = connect_plain(&gate);
    assert_eq!(Customer::new().ask(&mut proxy, "/", "text/html").unwrap().code, 200);
    let mut customer = Customer::new();
    assert_eq!(customer.ask(&mut proxy, "/", "text/html").unwrap().code, 503);
    let mut refresh = || {
        let page = customer.ask(&mut proxy, "/", "text/html").unwrap();
        let field = |name| field(&page, name).unwrap().to_owned();
        assert_eq!((page.code, field("refresh")), (503, field("retry-after")));
        field("tidegate-waiting-room")
    };
    // Their own pages use it up.
    until("the share is used up", || refresh().starts_with("full, refresh=1"));
    until("there is some share again", || refresh().starts_with("line, place=1,"));
    until("a program gets the same answer as JSON", || {
        let answer = customer.ask(&mut proxy, "/", "application/json").unwrap();
        answer.text().contains(r#""reason":"full""#)
    });
}

#[test]
fn a_connection_that_joins_a_session_leaves_the_room_with_its_ticket() {
    let (gate, mut inside) = full("session_cookie = \"all\"");
    // A connection of the same browser without a ticket, at a full gate.
    inside.tls = any_client();
    let seen = inside.visit(&gate);
    assert_eq!((seen.response.code, seen.kind), (200, HandshakeKind::Full));
    until("their connections are closed", || gate.snapshot().sessions_active == 0);
    inside.cookies.clear();
    let mut again = connect(&gate, &inside.tls);
    assert_eq!(inside.ask(&mut again, "/", "text/html").unwrap().code, 200);
    let (totals, snapshot) = (gate.totals(), gate.snapshot());
    assert_eq!(totals.handshakes_by_class[Class::Returning], 1, "it is not in the room");
    assert_eq!((snapshot.sessions_started, snapshot.sessions_active), (1, 1), "it is the same");
}

/// An upstream that keeps sessions with the basket, and ends them when it is paid.
fn shop() -> std::net::SocketAddr {
    answering(|got| {
        let field = match &got.line {
            line if line.contains("/basket") => "Tidegate-Session: keep=3600\r\n",
            line if line.contains("/paid") => "Tidegate-Session: end\r\n",
            _ => "",
        };
        format!("HTTP/1.1 200 OK\r\n{field}Content-Length: 2\r\n\r\nok")
    })
}

#[test]
fn a_session_that_the_service_keeps_counts_when_its_customer_has_closed() {
    let gate = gate(shop(), &room(1000.0, ""));
    let mut customer = Customer::new();
    let mut visit = |path| {
        assert_eq!(customer.get(&gate, path, "text/html").unwrap().response.code, 200);
        counted(&gate, "their connection is closed", |totals| totals.open == 0);
        gate.snapshot().sessions_active
    };
    assert_eq!([visit("/"), visit("/basket"), visit("/")], [0, 1, 1]);
    assert_eq!([visit("/paid"), visit("/thanks")], [0, 0]);
}

#[test]
fn behind_a_proxy_a_session_that_the_service_has_ended_stays_ended() {
    let gate = cookie_gate(shop(), &room(1000.0, ""));
    let (mut customer, mut proxy) = (Customer::new(), connect_plain(&gate));
    let mut visit = |path| {
        assert_eq!(customer.ask(&mut proxy, path, "text/html").unwrap().code, 200);
        gate.snapshot().sessions_active
    };
    assert_eq!([visit("/"), visit("/paid"), visit("/thanks.png")], [1, 0, 0]);
}

#[test]
fn a_connection_has_one_place_however_many_streams_ask_without_a_cookie() {
    let (gate, _) = full("");
    http2::run(async {
        let sender = http2::connect_http2(&gate).await;
        let mut asked = Vec::new();
        for _ in 0..10 {
            asked.push(http2::begin(&sender, http2::request("GET", "/"), true).await.0);
        }
        for response in asked {
            let page = response.await.unwrap();
            let field = page.headers()["tidegate-waiting-room"].to_str().unwrap().to_owned();
            assert!(field.starts_with("line, place=1,"), "{field}");
        }
    });
}

#[test]
fn who_was_queued_before_there_was_a_room_is_not_let_in_by_it() {
    let upstream = hello();
    let config = |refuse| {
        let more = room(0.01, "session_cookie = \"off\"").replace("\"page\"", refuse);
        let more = more.replace("hold_time = \"0s\"", "hold_time = \"2s\"");
        config_of(&format!("url = \"http://{upstream}\""), &more)
    };
    let gate = Gate::start(config("\"reset\"")).unwrap();
    assert_eq!(Customer::new().visit(&gate).response.code, 200);
    std::thread::scope(|scope| {
        let queued = scope.spawn(|| Customer::new().get(&gate, "/", "*/*").is_err());
        counted(&gate, "held", |totals| totals.holding == 1);
        assert!(gate.reload(|| Ok(config("\"page\""))));
        assert!(queued.join().unwrap(), "its connection knows no room");
    });
    assert!(Customer::new().visit(&gate).waits());
}
