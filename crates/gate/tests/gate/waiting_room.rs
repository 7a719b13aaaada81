//! The waiting room: customers who are not admitted get a page with a place in the line, and are
//! admitted from it in the order in which they came.

use crate::common::plain::{connect_plain, cookie_gate};
use crate::common::*;
use rustls::{ClientConfig, HandshakeKind};
use std::io::{BufReader, Read, Write};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_gate::Gate;
use tidegate_gate::telemetry::labels::{Bucket, Class, RoomVisit};

mod sessions;

/// So many new sessions a second are admitted; the others wait in the room.
pub fn room(per_second: f64, more: &str) -> String {
    format!(
        "[admission]\nrefuse = \"page\"\npolicy = \"static\"\nrate = {per_second}\n\
         hold_time = \"0s\"\nroom_share = 0.5\n{more}\n"
    )
}

/// A customer with a browser: their cookies and tickets.
pub struct Customer {
    tls: Arc<ClientConfig>,
    cookies: Vec<(String, String)>,
}

/// An answer, and the kind of the handshake before it.
pub struct Seen {
    pub response: Response,
    pub kind: HandshakeKind,
}

impl Seen {
    pub fn field(&self, name: &str) -> Option<&str> {
        field(&self.response, name)
    }

    pub fn waits(&self) -> bool {
        self.field("tidegate-waiting-room").is_some()
    }

    pub fn refresh(&self) -> u64 {
        self.field("refresh").unwrap().parse().unwrap()
    }

    pub fn place(&self) -> u64 {
        let field = self.field("tidegate-waiting-room").unwrap();
        let place = field.split(", ").find_map(|part| part.strip_prefix("place="));
        place.unwrap().parse().unwrap()
    }
}

fn field<'r>(response: &'r Response, name: &str) -> Option<&'r str> {
    response.head.lines().find_map(|line| {
        let (key, value) = line.split_once(": ")?;
        key.eq_ignore_ascii_case(name).then_some(value)
    })
}

impl Customer {
    pub fn new() -> Self {
        Self { tls: any_client(), cookies: Vec::new() }
    }

    /// Beyond the room's share of the processors they are reset, and try again.
    pub fn visit(&mut self, gate: &Gate) -> Seen {
        if self.cookies.is_empty() {
            a_moment_later();
        }
        let begun = Instant::now();
        loop {
            match self.get(gate, "/", "text/html") {
                Ok(seen) => return seen,
                Err(error) => assert!(begun.elapsed() < PATIENCE, "{error}"),
            }
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    pub fn get(&mut self, gate: &Gate, path: &str, accept: &str) -> std::io::Result<Seen> {
        let mut connection = connect(gate, &self.tls);
        let response = self.ask(&mut connection, path, accept)?;
        Ok(Seen { response, kind: kind(&connection) })
    }

    fn ask(
        &mut self,
        connection: &mut BufReader<impl Read + Write>,
        path: &str,
        accept: &str,
    ) -> std::io::Result<Response> {
        let cookies: Vec<_> =
            self.cookies.iter().map(|(name, it)| format!("{name}={it}")).collect();
        let request = format!(
            "GET {path} HTTP/1.1\r\nHost: localhost\r\nAccept: {accept}\r\nCookie: {}\r\n\r\n",
            cookies.join("; ")
        );
        connection.get_mut().write_all(request.as_bytes())?;
        connection.get_mut().flush()?;
        let response = receive(connection, "GET")?;
        for line in response.head.lines() {
            let Some(set) =
                line.to_ascii_lowercase().starts_with("set-cookie: ").then(|| &line[12..])
            else {
                continue;
            };
            let (name, value) = set.split(';').next().unwrap().split_once('=').unwrap();
            self.cookies.retain(|(known, _)| known != name);
            if !value.is_empty() {
                self.cookies.push((name.into(), value.into()));
            }
        }
        Ok(response)
    }
}

/// Places go by the millisecond, and the room's clock may be set back by ten of them: who comes after
/// this comes later.
pub fn a_moment_later() {
    std::thread::sleep(Duration::from_millis(12));
}

/// A gate whose budget is used up by one customer, and that customer.
pub fn full(more: &str) -> (Gate, Customer) {
    let gate = gate(hello(), &room(0.01, more));
    let mut inside = Customer::new();
    assert_eq!(inside.visit(&gate).response.code, 200);
    until("their connection is closed", || gate.snapshot().sessions_active == 0);
    (gate, inside)
}

#[test]
fn a_stranger_who_is_refused_gets_a_place_and_keeps_it() {
    let (gate, mut inside) = full("");
    let mut customer = Customer::new();
    let first = customer.visit(&gate);
    assert_eq!((first.response.code, first.kind), (503, HandshakeKind::Full));
    assert_eq!(first.field("cache-control"), Some("no-store"));
    assert!(first.field("refresh").is_some() && first.field("retry-after").is_some());
    assert_eq!(first.field("connection"), Some("close"));
    assert!(first.response.text().contains("You are in line"));
    assert_eq!(first.place(), 1);
    let others: Vec<_> = (0..3).map(|_| Customer::new().visit(&gate)).collect();
    assert!(others.iter().all(Seen::waits));
    let second = customer.visit(&gate);
    assert_eq!(second.kind, HandshakeKind::Resumed, "a refresh costs no full handshake");
    assert_eq!(second.place(), 1);
    counted(&gate, "four places, five pages", |totals| {
        totals.room_visits[RoomVisit::Page] == 5 && totals.refused[Class::New] == 4
    });
    let again = inside.visit(&gate);
    assert_eq!((again.response.code, again.kind), (200, HandshakeKind::Resumed));
}

#[test]
fn the_line_is_admitted_in_the_order_of_arrival_and_each_once() {
    let gate = gate(hello(), &room(4.0, ""));
    let mut first = Customer::new();
    let mut customers: Vec<Customer> = Vec::new();
    while customers.len() < 30 {
        let mut customer = Customer::new();
        if customer.visit(&gate).waits() {
            customers.push(customer);
        }
    }
    assert!(first.visit(&gate).waits(), "who comes later waits too");
    let started = gate.snapshot().sessions_started;
    let mut admitted = Vec::new();
    let begun = Instant::now();
    while admitted.len() < customers.len() {
        assert!(begun.elapsed() < PATIENCE, "{admitted:?} {:?}", gate.totals());
        // Who asks more often than `session_rate` meanwhile is new again afterwards.
        std::thread::sleep(Duration::from_millis(50));
        // All ask at the same time, the last first.
        for (at, customer) in customers.iter_mut().enumerate().rev() {
            if !admitted.contains(&at) && !customer.visit(&gate).waits() {
                admitted.push(at);
            }
        }
    }
    assert_eq!(gate.snapshot().sessions_started - started, 30);
    // Called are those of 2.5 s and three more; whoever asks first of them enters. How late one comes
    // depends on when they ask, and here the last ask first.
    let early = admitted.iter().enumerate().map(|(at, came)| came.saturating_sub(at)).max();
    assert!(early <= Some(15), "nobody enters before they are called: {admitted:?}");
    for customer in &mut customers {
        let again = customer.visit(&gate);
        assert_eq!((again.response.code, again.kind), (200, HandshakeKind::Resumed));
    }
    assert_eq!(
        gate.snapshot().sessions_started - started,
        30,
        "their tickets are those of sessions now"
    );
}

#[test]
fn behind_a_proxy_a_place_is_kept_by_the_cookie_alone() {
    let gate = cookie_gate(hello(), &room(0.01, ""));
    let (mut inside, mut customer) = (Customer::new(), Customer::new());
    let mut proxy = connect_plain(&gate);
    assert_eq!(inside.ask(&mut proxy, "/", "text/html").unwrap().code, 200);
    let first = customer.ask(&mut proxy, "/", "text/html").unwrap();
    let second = customer.ask(&mut proxy, "/", "text/html").unwrap();
    for page in [&first, &second] {
        assert_eq!(page.code, 503);
        assert!(field(page, "tidegate-waiting-room").unwrap().contains("place=1,"), "{page:?}");
        assert_eq!(field(page, "connection"), None, "the proxy's connection stays");
    }
    assert_eq!(inside.ask(&mut proxy, "/", "text/html").unwrap().code, 200);
    assert_eq!(gate.totals().refused[Class::New], 1, "one visit is one refusal");
}

#[test]
fn programs_get_json_and_images_a_line_of_text() {
    let (gate, _) = full("");
    let mut program = Customer::new();
    let seen = program.get(&gate, "/api", "application/json").unwrap();
    assert!(seen.response.text().contains("\"place\":1"), "{}", seen.response.text());
    assert!(seen.field("content-type").unwrap().starts_with("application/json"));
    let seen = program.get(&gate, "/cat.png", "image/avif,*/*;q=0.8").unwrap();
    assert!(seen.field("content-type").unwrap().starts_with("text/plain"));
    assert_eq!(seen.place(), 1);
}

#[test]
fn some_paths_and_addresses_never_wait() {
    let (gate, _) = full("never_wait_paths = [\"/callback/\", \"/health\"]");
    let mut payment = Customer::new();
    let mut get = |path| payment.get(&gate, path, "*/*").unwrap().response.code;
    assert_eq!((get("/callback/7"), get("/health"), get("/callbacks")), (200, 200, 503));
    drop(gate);
    let (gate, _) = full("never_wait_from = [\"127.0.0.1\"]");
    assert!((0..5).all(|_| Customer::new().visit(&gate).response.code == 200));
    assert_eq!(gate.totals().room_visits[RoomVisit::Page], 0);
}

#[test]
fn a_forged_or_copied_cookie_gives_no_place_that_its_holder_did_not_have() {
    let (gate, _) = full("");
    let mut first = Customer::new();
    first.visit(&gate);
    let mut second = Customer::new();
    second.visit(&gate);
    let name = first.cookies[0].0.clone();
    // Changed by one character: no place, so the end of the line.
    let mut forged = first.cookies[0].1.clone().into_bytes();
    forged[40] = if forged[40] == b'A' { b'B' } else { b'A' };
    let mut forger = Customer::new();
    forger.cookies = vec![(name.clone(), String::from_utf8(forged).unwrap())];
    a_moment_later();
    assert_eq!(forger.visit(&gate).place(), 3);
    // Copied: the same place, and not one more.
    let mut thief = Customer::new();
    thief.cookies = first.cookies.clone();
    assert_eq!(thief.visit(&gate).place(), 1);
    assert_eq!(second.visit(&gate).place(), 2);
}

#[test]
fn a_place_that_was_used_is_worth_nothing_to_others() {
    let gate = gate(hello(), &room(2.0, ""));
    let mut customers: Vec<_> = (0..20).map(|_| Customer::new()).collect();
    let waits: Vec<_> = customers.iter_mut().map(|it| it.visit(&gate).waits()).collect();
    let first = waits.iter().position(|waits| *waits).unwrap();
    let customer = &mut customers[first];
    let place = customer.cookies.clone();
    until("they are admitted", || {
        std::thread::sleep(Duration::from_millis(50));
        !customer.visit(&gate).waits()
    });
    let mut other = Customer::new();
    other.cookies = place;
    let replayed = other.visit(&gate);
    assert!(replayed.waits() && replayed.place() > 1, "the end of the line");
}

#[test]
fn beyond_the_rooms_share_of_the_processors_strangers_are_reset() {
    let gate = gate(hello(), &room(0.01, "").replace("room_share = 0.5", "room_share = 0.001"));
    let mut inside = Customer::new();
    assert_eq!(inside.get(&gate, "/", "text/html").unwrap().response.code, 200);
    // The share is a millisecond at once, which one handshake uses up.
    let pages = (0..50).filter(|_| Customer::new().get(&gate, "/", "text/html").is_ok()).count();
    assert!(pages < 25, "{pages}");
    counted(&gate, "resets", |totals| totals.room_visits[RoomVisit::Beyond] > 20);
    assert_eq!(inside.visit(&gate).response.code, 200, "who is inside does not notice");
}

#[test]
fn who_waits_is_no_work_of_the_service() {
    let (gate, _) = full("");
    let before = gate.totals().requests[Class::New];
    let mut customer = Customer::new();
    (0..5).for_each(|_| drop(customer.visit(&gate).response));
    let totals = gate.totals();
    assert_eq!(totals.requests[Class::New], before);
    let timed: u64 = totals.durations.values().iter().sum();
    assert_eq!(timed, 1, "the page is as fast as it is whatever the service does");
    assert_eq!(totals.handshakes_by_class[Class::New], 1, "of the customer inside");
    assert_eq!(gate.snapshot().sessions_active, 0, "who was inside has closed");
    let thinking: u64 = totals.think_times.thinking.iter().sum();
    assert!(thinking <= 1, "{thinking}");
}

#[test]
fn the_service_closes_the_line_ends_sessions_and_customers_do_not_see_its_fields() {
    let upstream = answering(|got| {
        let field = match &got.line {
            line if line.contains("/sold-out") => "Tidegate-Queue: closed\r\n",
            line if line.contains("/again") => "Tidegate-Queue: open\r\n",
            line if line.contains("/paid") => "Tidegate-Session: end\r\n",
            _ => "",
        };
        format!("HTTP/1.1 200 OK\r\n{field}Content-Length: 2\r\n\r\nok")
    });
    let gate = gate(upstream, &room(1000.0, ""));
    let mut inside = Customer::new();
    let mut connection = connect(&gate, &inside.tls);
    let mut get = |path| inside.ask(&mut connection, path, "text/html").unwrap();
    let response = get("/sold-out");
    assert!(!response.head.to_ascii_lowercase().contains("tidegate-queue"), "{}", response.head);
    let mut other = Customer::new();
    let seen = other.visit(&gate);
    assert_eq!(seen.response.code, 503);
    assert!(seen.response.text().contains("The line is closed"));
    assert_eq!(get("/").code, 200, "who is inside stays");
    get("/again");
    until("the line moves", || other.visit(&gate).response.code == 200);
    until("their connections are closed", || gate.snapshot().sessions_active == 1);
    get("/paid");
    assert_eq!(gate.snapshot().sessions_active, 0, "the place is free at once");
    assert_eq!(get("/thanks").code, 200);
}

#[test]
fn one_visit_is_one_refusal_however_many_connections_the_browser_opens() {
    let (gate, _) = full("browser_connections = 5");
    // Nobody waits yet: both connections that the browser opens at first ask for admission.
    let mut customer = Customer::new();
    let mut first = connect(&gate, &customer.tls);
    let _unused = shaken(connect(&gate, &any_client()));
    assert_eq!(customer.ask(&mut first, "/", "text/html").unwrap().code, 503);
    let refused = || gate.totals().refused[Class::New];
    assert_eq!(refused(), 1);
    // What it asks for beside the page, over connections for which it has no ticket.
    for path in ["/favicon.ico", "/again"] {
        customer.tls = any_client();
        let seen = customer.get(&gate, path, "*/*").unwrap();
        assert_eq!((seen.place(), seen.kind), (1, HandshakeKind::Full));
    }
    assert_eq!(refused(), 1);
    // Somebody waits by now: who comes is counted with their first page.
    let _unused = shaken(connect(&gate, &any_client()));
    assert_eq!(refused(), 1);
    assert_eq!(Customer::new().visit(&gate).place(), 2);
    assert_eq!(refused(), 2);
}

#[test]
fn a_connection_from_before_the_admission_is_of_the_customer_who_was_admitted() {
    let upstream = hello();
    let config = |rate| {
        config_of(&format!("url = \"http://{upstream}\""), &room(rate, "browser_connections = 5"))
    };
    let gate = Gate::start(config(0.01)).unwrap();
    assert_eq!(Customer::new().visit(&gate).response.code, 200);
    until("the gate is full", || gate.snapshot().sessions_active == 0);
    let mut customer = Customer::new();
    let mut idle = shaken(connect(&gate, &any_client()));
    assert!(customer.visit(&gate).waits());
    assert!(gate.reload(|| Ok(config(1000.0))));
    let mut open = None;
    until("they are admitted", || {
        let mut connection = connect(&gate, &customer.tls);
        let code = customer.ask(&mut connection, "/", "text/html").map(|it| it.code);
        open = Some(connection);
        matches!(code, Ok(200))
    });
    let started = gate.snapshot().sessions_started;
    // The browser sends its first request before it has stored the cookie.
    let mut browser = Customer::new();
    assert_eq!(browser.ask(&mut idle, "/0.png", "*/*").unwrap().code, 200);
    assert_eq!(gate.snapshot().sessions_started, started);
    assert!(!browser.cookies.is_empty(), "a later connection is known by it");
    drop(open);
}

#[test]
fn the_next_gate_knows_which_places_were_used() {
    let upstream = hello();
    let config = |rate| config_of(&format!("url = \"http://{upstream}\""), &room(rate, ""));
    let before = Gate::start(config(5.0)).unwrap();
    let mut first = Customer::new();
    until("somebody waits", || {
        first = Customer::new();
        first.visit(&before).waits()
    });
    let used = first.cookies.clone();
    let mut second = Customer::new();
    assert!(second.visit(&before).waits());
    until("the first one is admitted", || !first.visit(&before).waits());
    let after = crate::handover::replace(&before, config(0.01));
    // Who comes first takes what the next gate may admit at once.
    Customer::new().visit(&after);
    until("somebody waits", || Customer::new().visit(&after).waits());
    let mut thief = Customer { tls: any_client(), cookies: used };
    a_moment_later();
    let (replayed, kept) = (thief.visit(&after), second.visit(&after));
    assert!(replayed.place() > kept.place(), "{} {}", replayed.place(), kept.place());
}

#[test]
fn a_flood_of_strangers_uses_no_more_than_the_share_of_the_processors() {
    let share = 0.02;
    let gate = gate(
        hello(),
        &room(0.01, "").replace("room_share = 0.5", &format!("room_share = {share}")),
    );
    let spent = || Duration::from_nanos(gate.totals().cpu_ns[Bucket::Room]);
    let begun = Instant::now();
    until("some are reset", || {
        let _ = Customer::new().get(&gate, "/", "text/html");
        gate.totals().room_visits[RoomVisit::Beyond] > 10
    });
    // The share of a second may be used at once, and the last visit may exceed it.
    let most = (begun.elapsed() + Duration::from_secs(1)).mul_f64(share);
    assert!(spent() < most + Duration::from_millis(50), "{:?} {most:?}", spent());
}

/// A connection whose handshake is over.
fn shaken(mut connection: Connection) -> Connection {
    let stream = connection.get_mut();
    while stream.conn.is_handshaking() {
        stream.conn.complete_io(&mut stream.sock).unwrap();
    }
    connection
}

#[test]
fn the_access_log_tells_who_was_refused_with_a_page_and_who_came_in() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let log = format!("[access_log]\nfile = {:?}\n", file.display().to_string());
    let gate = gate(hello(), &room(5.0, &log));
    let mut customer = Customer::new();
    until("somebody waits", || {
        customer = Customer::new();
        customer.visit(&gate).waits()
    });
    until("they come in", || !customer.visit(&gate).waits());
    counted(&gate, "all connections are over", |totals| totals.open == 0);
    drop(gate);
    let lines = std::fs::read_to_string(&file).unwrap();
    let lines: Vec<serde_json::Value> =
        lines.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    let mut pages = lines.iter().filter(|line| line["status"] == 503).peekable();
    assert!(pages.peek().is_some() && pages.all(|line| line["verdict"] == "refused"), "{lines:?}");
    let last = lines.last().unwrap();
    assert_eq!((&last["verdict"], &last["status"]), (&"admitted".into(), &200.into()));
    assert!(last["session"].is_string(), "{last}");
}
