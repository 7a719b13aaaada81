//! Assets of a page are requested at the same time, over several connections or streams.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::time::Duration;

use crate::common::http2::{Raw, go_away, ok};
use crate::common::{Manner, Seen, Server, plan};
use tidegate_load::{Arrivals, Plan, Scenario, Summary, run};

/// What a server saw of its connections.
#[derive(Default)]
struct Counts {
    /// Connections that have had a request and are open.
    open: usize,
    most: usize,
    /// Assets requested so far.
    assets: usize,
}

/// A server in clear text. It answers no asset before so many have been requested.
struct Together {
    url: String,
    seen: Arc<(Mutex<Counts>, Condvar)>,
}

impl Together {
    fn start(together: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!("http://{}", listener.local_addr().unwrap());
        let seen = Arc::<(Mutex<Counts>, Condvar)>::default();
        let all = seen.clone();
        std::thread::spawn(move || {
            for tcp in listener.incoming().map_while(Result::ok) {
                let seen = all.clone();
                std::thread::spawn(move || serve(&tcp, &seen, together));
            }
        });
        Self { url, seen }
    }

    fn most(&self) -> (usize, usize) {
        let counts = self.seen.0.lock().unwrap();
        (counts.most, counts.assets)
    }
}

fn serve(tcp: &TcpStream, (counts, arrived): &(Mutex<Counts>, Condvar), together: usize) {
    let mut reader = BufReader::new(tcp);
    let mut requests = 0;
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !reader.read_line(&mut head).is_ok_and(|length| length > 0) {
                counts.lock().unwrap().open -= usize::from(requests > 0);
                return;
            }
        }
        let mut now = counts.lock().unwrap();
        now.open += usize::from(requests == 0);
        now.most = now.most.max(now.open);
        requests += 1;
        if head.contains(" /asset") {
            now.assets += 1;
            arrived.notify_all();
            drop(arrived.wait_while(now, |now| now.assets < together).unwrap());
        } else {
            drop(now);
        }
        let _ = (&mut &*tcp).write_all(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok");
    }
}

/// A page with so many assets, and how often a session requests it.
fn gallery(visits: usize, assets: usize, more: &str) -> Scenario {
    let assets: Vec<String> = (0..assets).map(|n| format!("\"/asset/{n}.png\"")).collect();
    let text = format!(
        "[session]\nsteps = [{{ page = \"Home\", repeat = {visits} }}]\nthink = \"0s\"\n{more}\n\
         [pages]\nHome = {{ path = \"/\", assets = [{}] }}\n",
        assets.join(", ")
    );
    Scenario::from_toml(&text, "gallery.toml").unwrap()
}

fn one_customer(scenario: Scenario, url: &str) -> Summary {
    let mut plan = Plan::new(scenario, url);
    plan.arrivals = Some(Arrivals::even(20.0));
    plan.warm_up = Duration::ZERO;
    plan.measure = Duration::from_secs(60);
    plan.max_sessions = Some(1);
    run(plan, &mut |_| ()).unwrap()
}

#[test]
fn a_customer_has_six_connections_at_most_and_uses_all_of_them() {
    let server = Together::start(6);
    let summary = one_customer(gallery(2, 20, ""), &server.url);
    assert_eq!(server.most(), (6, 40));
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.requests_ok, totals.assets_ok), (1, 42, 40));
    let page = &summary.pages["Home"];
    let (assets, load) = (page.assets.unwrap(), page.page_load.unwrap());
    assert_eq!((page.ok, page.response.count, load.count), (2, 2, 2));
    assert_eq!((assets.ok, assets.failed, assets.response.count), (40, 0, 40));
    assert_eq!(summary.response.count, 2, "response times are those of documents");
    assert!(load.max_ms >= page.response.max_ms && load.max_ms >= assets.response.max_ms);
}

#[test]
fn the_number_of_connections_can_be_set() {
    let server = Together::start(2);
    let summary = one_customer(gallery(2, 9, "[connections]\nparallel = 2"), &server.url);
    assert_eq!((summary.totals.completed, server.most()), (1, (2, 18)));
}

#[test]
fn a_cached_asset_is_requested_once_in_a_session() {
    let server = Together::start(1);
    let summary = one_customer(gallery(2, 5, "assets_cached = true"), &server.url);
    assert_eq!((summary.totals.completed, server.most().1), (1, 5));
    assert_eq!(summary.pages["Home"].page_load.unwrap().count, 2);
}

#[test]
fn assets_that_do_not_come_in_time_end_the_session() {
    // The server waits for more assets than there are.
    let server = Together::start(9);
    let summary = one_customer(gallery(2, 8, "patience = \"300ms\""), &server.url);
    let totals = &summary.totals;
    assert_eq!((totals.abandoned, totals.requests_ok), (1, 1), "{totals:?}");
    assert_eq!((totals.assets_failed, totals.abandoned_by_stage["first_byte"]), (6, 1));
    assert_eq!(summary.pages["Home"].page_load.unwrap().count, 0);
}

#[test]
fn a_customer_who_hammers_requests_the_page_again() {
    let server = Together::start(100);
    let more = "patience = \"300ms\"\nimpatience = { hammer = { attempts = 3 } }";
    let summary = one_customer(gallery(1, 2, more), &server.url);
    let totals = &summary.totals;
    assert_eq!((totals.abandoned, totals.requests_reloaded), (1, 2), "{totals:?}");
    assert_eq!((totals.requests_ok, totals.assets_failed), (3, 6));
    assert_eq!(summary.response.count, 3, "the document came each time");
}

#[test]
fn an_asset_may_have_a_value_of_its_page() {
    fn site(seen: &Seen) -> (&'static str, String, String) {
        match seen.path.as_str() {
            "/" => ("200 OK", String::new(), "<link data-v=7>".to_owned()),
            "/asset/7.css" => ("200 OK", String::new(), String::new()),
            other => panic!("{other}"),
        }
    }
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, site);
    let text = "[session]\nsteps = [\"Home\"]\n[pages.Home]\npath = \"/\"\n\
                extract = { v = { css = \"link\", attribute = \"data-v\" } }\n\
                assets = [\"/asset/{v}.css\"]\n";
    let scenario = Scenario::from_toml(text, "shop.toml").unwrap();
    let totals = run(plan(scenario, &server, 50.0, 2), &mut |_| ()).unwrap().totals;
    assert_eq!((totals.completed, totals.assets_ok, totals.requests_failed), (2, 2, 0));
}

#[test]
fn over_http2_assets_are_streams_of_one_connection() {
    // It answers no asset before all of them have been requested.
    let server = Raw::start(|tcp, number, stream| {
        let answers = match number {
            0 => ok(stream),
            8 => (0..8).flat_map(|n| ok(stream - 2 * n)).collect(),
            _ => Vec::new(),
        };
        tcp.write_all(&answers).unwrap();
        true
    });
    let scenario = gallery(1, 8, "[connections]\nhttp = \"2\"");
    let summary = one_customer(scenario, &server.url);
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.requests_ok, totals.assets_ok), (1, 9, 8), "{totals:?}");
    assert_eq!(totals.retries, 0);
}

#[test]
fn assets_that_a_closing_connection_did_not_take_are_requested_on_another() {
    static REQUESTS: AtomicU32 = AtomicU32::new(0);
    // The first connection ends after the document, without the assets that have come.
    let server = Raw::start(|tcp, _, stream| {
        if REQUESTS.fetch_add(1, Ordering::Relaxed) == 1 {
            tcp.write_all(&go_away(stream - 2, 0)).unwrap();
            return false;
        }
        tcp.write_all(&ok(stream)).unwrap();
        true
    });
    let scenario = gallery(1, 3, "[connections]\nhttp = \"2\"");
    let summary = one_customer(scenario, &server.url);
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.assets_ok), (1, 3), "{totals:?}");
}

/// Without the second asset.
fn shop(seen: &Seen) -> (&'static str, String, String) {
    match seen.path.as_str() {
        "/asset/1.png" => ("404 Not Found", String::new(), String::new()),
        _ => ("200 OK", "Set-Cookie: a=1\r\n".to_owned(), "ok".to_owned()),
    }
}

#[test]
fn an_asset_that_fails_is_counted_and_the_session_goes_on() {
    let server = Server::with_site(Manner::Answer { after: Duration::ZERO }, shop);
    let summary = run(plan(gallery(2, 7, ""), &server, 50.0, 3), &mut |_| ()).unwrap();
    let totals = &summary.totals;
    assert_eq!((totals.completed, totals.assets_ok, totals.assets_failed), (3, 36, 6));
    assert_eq!((totals.requests_ok, totals.requests_failed), (42, 6));
    assert_eq!(totals.responses_by_class["4xx"], 6);
    let page = &summary.pages["Home"];
    assert_eq!((page.ok, page.failed, page.assets.unwrap().failed), (6, 0, 6));
    // The six connections of a customer belong to one session of TLS.
    let handshakes = totals.full_ok + totals.resumed_ok;
    assert_eq!(handshakes, 18, "{totals:?}");
    assert!(totals.resumed_ok >= 3, "{totals:?}");
    assert!(server.seen().iter().skip(7).any(|seen| seen.cookie == "a=1"));
}
