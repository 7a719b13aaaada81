//! Compressed responses are accepted, counted, and decoded where a page needs them.

use std::io::{BufRead, BufReader, Write};
use std::net::{TcpListener, TcpStream};
use std::time::Duration;

use crate::common::Seen;
use crate::common::http2::{Http2Server, Setup};
use bytes::Bytes;
use http::Response;
use tidegate_load::{Arrivals, Plan, Scenario, Summary, run};

const PAGE: &str = "<a href=/items/7>seven</a><input name=csrf value=t1>";

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::best());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// The body of a path, and its coding. What is long is full of the same.
fn site(path: &str) -> (Vec<u8>, &'static str) {
    match path {
        "/" => (gzip(PAGE), "gzip"),
        "/long" => (gzip(&(PAGE.to_owned() + &"x".repeat(4 << 20))), "gzip"),
        "/zstd" => (zstd::stream::encode_all(PAGE.as_bytes(), 1).unwrap(), "zstd"),
        "/broken" => (PAGE.as_bytes().to_vec(), "br"),
        "/other" => (PAGE.as_bytes().to_vec(), "deflate"),
        _ => (b"plain".to_vec(), "identity"),
    }
}

/// Serves the site in clear text, compressed for those who accept it.
fn start() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for tcp in listener.incoming().map_while(Result::ok) {
            std::thread::spawn(move || serve(&tcp));
        }
    });
    url
}

fn serve(tcp: &TcpStream) {
    let mut reader = BufReader::new(tcp);
    loop {
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            if !reader.read_line(&mut head).is_ok_and(|length| length > 0) {
                return;
            }
        }
        let accepts = head.contains("\r\nAccept-Encoding: gzip, br, zstd\r\n");
        let path = head.split(' ').nth(1).unwrap();
        let (body, coding) =
            if accepts { site(path) } else { (PAGE.as_bytes().to_vec(), "identity") };
        let length = body.len();
        let answer = format!(
            "HTTP/1.1 200 OK\r\nContent-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n"
        );
        let _ = (&mut &*tcp).write_all(&[answer.as_bytes(), &body].concat());
    }
}

/// A session that requests a page, and a link on it.
fn visit(url: &str, path: &str, more: &str, compressed: bool) -> Summary {
    let text = format!(
        "[session]\nsteps = [\"Home\", \"Item\"]\nthink = \"0s\"\n[connections]\n\
         accept_encoding = {compressed}\n{more}\n[pages.Home]\npath = \"{path}\"\n\
         extract = {{ csrf = {{ css = \"input\", attribute = \"value\" }} }}\n\
         [pages.Item]\nlink = \"/items/{{item}}\"\nheaders = {{ X-Token = \"{{csrf}}\" }}\n"
    );
    let mut plan = Plan::new(Scenario::from_toml(&text, "shop.toml").unwrap(), url);
    plan.arrivals = Some(Arrivals::even(20.0));
    plan.warm_up = Duration::ZERO;
    plan.measure = Duration::from_secs(60);
    plan.max_sessions = Some(2);
    run(plan, &mut |_| ()).unwrap()
}

#[test]
fn links_and_values_are_found_in_compressed_pages() {
    let url = start();
    for path in ["/", "/long", "/zstd"] {
        let totals = visit(&url, path, "", true).totals;
        assert_eq!((totals.completed, totals.encoded_responses), (2, 2), "{path}: {totals:?}");
        let decoded = if path == "/long" { 256 * 1024 } else { PAGE.len() as u64 };
        assert_eq!(totals.decoded_bytes, 2 * decoded, "{path}");
        if path == "/long" {
            assert!(totals.received_bytes < decoded, "{totals:?}");
        }
    }
    let totals = visit(&url, "/", "", false).totals;
    assert_eq!((totals.completed, totals.encoded_responses, totals.decoded_bytes), (2, 0, 0));
}

#[test]
fn a_page_that_cannot_be_decoded_fails_the_session() {
    let url = start();
    for path in ["/broken", "/other"] {
        let totals = visit(&url, path, "", true).totals;
        assert_eq!(totals.failed_by_kind["decoding"], 2, "{path}: {totals:?}");
        assert_eq!((totals.requests_ok, totals.requests_failed), (0, 2));
    }
}

#[test]
fn http2_has_the_same_codings() {
    fn answer(seen: &Seen) -> Response<Bytes> {
        let (body, coding) = site(&seen.path);
        Response::builder().header("content-encoding", coding).body(body.into()).unwrap()
    }
    let after = Duration::ZERO;
    let server = Http2Server::start(Setup { tls: false, site: answer, after, answers: 1000 });
    let totals = visit(&server.url, "/zstd", "http = \"2\"", true).totals;
    assert_eq!((totals.completed, totals.encoded_responses), (2, 2), "{totals:?}");
}
