//! An overload behind Debian's nginx: who is inside stays inside.

use crate::common::peers::{self, NGINX_FILES, nginx};
use crate::common::*;
use std::io::{BufRead, BufReader};
use std::net::{SocketAddr, TcpStream};
use std::sync::Barrier;
use tidegate_gate::telemetry::labels::{Class, CookieResult};

/// nginx as an operator configures it before the gate, with few connections to it.
fn before(gate: SocketAddr) -> Option<peers::Proxy> {
    nginx(&format!(
        "http {{ {NGINX_FILES} upstream gate {{ server {gate}; keepalive 4; }}\n\
         server {{ listen LISTEN; location / {{ proxy_pass http://gate; proxy_http_version 1.1;\n\
         proxy_set_header Connection \"\"; proxy_set_header Host $host;\n\
         proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;\n\
         proxy_set_header X-Forwarded-Proto https; }} }} }}"
    ))
}

const REQUESTS: usize = 12;

/// A customer who enters, and if admitted goes on. The status of each request.
fn visit(proxy: SocketAddr, keeps_cookies: bool) -> Vec<u16> {
    let mut cookie = None;
    let mut codes = Vec::new();
    for _ in 0..REQUESTS {
        let socket = TcpStream::connect(proxy).unwrap();
        socket.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut connection = BufReader::new(socket);
        let field = cookie.as_ref().map(|cookie| format!("Cookie: {cookie}\r\n"));
        let field = field.unwrap_or_default();
        let request = format!("GET / HTTP/1.1\r\nHost: shop.example\r\n{field}\r\n");
        send(&mut connection, request.as_bytes());
        let response = receive(&mut connection, "GET").unwrap();
        codes.push(response.code);
        let set = response.head.lines().find_map(|line| {
            let (name, value) = line.split_once(": ")?;
            name.eq_ignore_ascii_case("set-cookie").then_some(value)
        });
        if let (Some(set), true) = (set, keeps_cookies) {
            assert!(set.ends_with("; Secure"), "{set}");
            cookie = set.split(';').next().map(str::to_owned);
        }
        if codes == [503] {
            break;
        }
    }
    codes
}

#[test]
fn nobody_inside_is_refused_behind_nginx() {
    let upstream = upstream(|mut reader| {
        while let Some(got) = read_request(&mut reader) {
            assert_eq!(got.header("cookie"), None, "the gate's cookie is not the upstream's");
            assert_eq!(got.header("x-forwarded-proto"), Some("https"));
            if std::io::Write::write_all(reader.get_mut(), ok("hello").as_bytes()).is_err() {
                return;
            }
        }
        let _ = reader.fill_buf();
    });
    let core = a_core();
    let gate = gate(
        upstream,
        &format!(
            "forwarded = \"append\"\n[admission]\npolicy = \"static\"\nrate = 3.0\n\
             hold_time = \"0s\"\n[listen]\naddress = \"127.0.0.1:0\"\nclear = \"127.0.0.1:0\"\n\
             cores = \"{core}\"\n"
        ),
    );
    let Some(nginx) = before(gate.clear_address().unwrap()) else { return };
    let proxy = nginx.address;
    const CUSTOMERS: usize = 40;
    let begin = Barrier::new(CUSTOMERS);
    let visits: Vec<Vec<u16>> = std::thread::scope(|scope| {
        let customers: Vec<_> = (0..CUSTOMERS)
            .map(|_| {
                scope.spawn(|| {
                    begin.wait();
                    visit(proxy, true)
                })
            })
            .collect();
        customers.into_iter().map(|customer| customer.join().unwrap()).collect()
    });
    let (admitted, refused): (Vec<_>, Vec<_>) = visits.iter().partition(|codes| codes[0] == 200);
    assert!(!admitted.is_empty() && refused.len() > CUSTOMERS / 2, "{visits:?}");
    for codes in &admitted {
        assert_eq!(**codes, [200; REQUESTS], "nobody inside is refused");
    }
    let totals = gate.totals();
    assert_eq!(totals.admitted[Class::New], admitted.len() as u64);
    assert_eq!(totals.refused[Class::New], refused.len() as u64);
    let inside = (admitted.len() * (REQUESTS - 1)) as u64;
    assert_eq!(totals.session_cookies[CookieResult::Good], inside);
    assert_eq!(gate.snapshot().sessions_started, admitted.len() as u64);

    // Who keeps no cookies begins a session with each request.
    let without = visit(proxy, false);
    assert!(without.contains(&503), "{without:?}");
}
