//! What the driver costs: `cargo test --release -p tidegate-load --test load speed
//! -- --ignored --nocapture --test-threads 1`. Not part of the tests: it
//! measures, for some seconds, and asserts only that the driver is fast enough
//! on an idle machine with two processors.

use std::time::Duration;

use crate::common::http2::{Http2Server, Setup};
use crate::common::{Manner, Seen, Server, loop_of};
use bytes::Bytes;
use tidegate_load::{Arrivals, Http, Plan, Summary, report, run};

fn drive(url: &str, requests: u32, per_s: f64, http: Http) -> Summary {
    let mut plan = Plan::new(loop_of(requests, "think_cap = 1"), url);
    plan.arrivals = Some(Arrivals::poisson(per_s));
    plan.insecure = true;
    plan.http = http;
    plan.cores = vec![1];
    plan.warm_up = Duration::from_secs(1);
    plan.measure = Duration::from_secs(4);
    let summary = run(plan, &mut |_| ()).unwrap();
    println!("{}", report(&summary));
    summary
}

#[test]
#[ignore = "measures for seconds and wants the machine to itself"]
fn requests_and_handshakes_per_second_of_one_core() {
    let answer = Manner::Answer { after: Duration::ZERO };
    let site = |_: &Seen| ("200 OK", String::new(), "x".repeat(1024));
    let server = Server::with_certificate(answer, site, &rcgen::PKCS_RSA_SHA256);
    // Long sessions: nearly all is requests.
    let requests = drive(&server.url, 1000, 12.0, Http::One);
    // Sessions of one request: a full handshake each.
    let handshakes = drive(&server.url, 1, 900.0, Http::One);
    let of = |summary: &Summary| summary.driver.cpu_s;
    let per_request = of(&requests) / requests.totals.requests_ok as f64;
    let per_session = of(&handshakes) / handshakes.totals.completed as f64;
    println!("CPU per keep-alive request: {:.1} µs", per_request * 1e6);
    println!("CPU per session of one full handshake and one request: {:.1} µs", per_session * 1e6);
    assert!(per_request < 1.0 / 3000.0);
    assert!(per_session < 1.0 / 800.0);
}

#[test]
#[ignore = "measures for seconds and wants the machine to itself"]
fn requests_per_second_of_one_core_over_http2() {
    let site = |_: &Seen| http::Response::new(Bytes::from(vec![b'x'; 1024]));
    let setup = Setup { tls: true, site, after: Duration::ZERO, answers: u64::MAX };
    let server = Http2Server::start(setup);
    let requests = drive(&server.url, 1000, 12.0, Http::Two);
    let per_request = requests.driver.cpu_s / requests.totals.requests_ok as f64;
    println!("CPU per keep-alive request over HTTP/2: {:.1} µs", per_request * 1e6);
    assert!(per_request < 1.0 / 2000.0);
}
