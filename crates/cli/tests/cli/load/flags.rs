//! Flags of `tidegate load` as users of other load generators write them.

use std::process::Output;

use serde_json::Value;

use crate::common::upstream::Upstream;
use crate::common::{Text, tidegate};

/// A run of a page with these flags, and its result.
fn load(url: &str, flags: &[&str]) -> (Output, Value) {
    let folder = tempfile::tempdir().unwrap();
    let json = folder.path().join("summary.json").display().to_string();
    let output = tidegate(&[&["load", url, "--plain", "--json", &json], flags].concat());
    let text = std::fs::read_to_string(json).unwrap_or_else(|_| "null".to_owned());
    (output, serde_json::from_str(&text).unwrap())
}

fn mistake(args: &[&str]) -> String {
    let output = tidegate(args);
    let text = output.stderr_text();
    assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
    text
}

#[test]
fn a_url_with_connections_and_duration_just_works() {
    let upstream = Upstream::start();
    let page = format!("{}/items/7", upstream.url);
    let (output, summary) = load(&page, &["-c", "3", "-d", "500ms", "--warm-up", "0"]);
    assert_eq!(output.status.code(), Some(0), "{}{}", output.stdout_text(), output.stderr_text());
    assert_eq!(
        (&summary["measured_s"], &summary["totals"]["requests_failed"]),
        (&0.5.into(), &0.into())
    );
    assert!(summary["totals"]["requests_ok"].as_u64() > Some(3), "{summary:#}");
    assert!(output.stdout_text().contains("closed: 3 customers"), "{}", output.stdout_text());
    assert!(upstream.requests().iter().all(|line| line == "GET /items/7 HTTP/1.1"));
}

#[test]
fn a_number_of_requests_is_sent_exactly_and_ends_the_run() {
    let upstream = Upstream::start();
    for threads in ["1", "2"] {
        let before = upstream.requests().len();
        let (output, summary) = load(&upstream.url, &["-n", "25", "-c", "4", "-t", threads]);
        let text = output.stdout_text();
        assert_eq!(output.status.code(), Some(0), "{text}{}", output.stderr_text());
        assert_eq!(summary["totals"]["requests_ok"], 25, "{threads}: {text}");
        assert_eq!(upstream.requests().len(), before + 25, "{threads}");
        assert!(text.contains("run: until 25 sessions are over"), "{text}");
    }
}

#[test]
fn requests_time_out_after_the_time_that_is_given() {
    let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}", silent.local_addr().unwrap());
    let (output, summary) = load(&url, &["-n", "2", "-c", "2", "--timeout", "50ms"]);
    assert_eq!(output.status.code(), Some(3), "nothing was answered");
    assert_eq!(summary["patience_ms"], 50.0);
    assert_eq!(summary["totals"]["abandoned"], 2, "{}", output.stdout_text());
}

#[test]
fn header_fields_method_and_body_are_sent_as_given() {
    let upstream = Upstream::start();
    let body = "{\"name\": \"{customer}\"}";
    let flags = [
        "-n",
        "1",
        "-c",
        "1",
        "-X",
        "put",
        "--data",
        body,
        "-H",
        "X-Token: {a}",
        "-H",
        "Content-Type: application/json",
    ];
    let (output, summary) = load(&upstream.url, &flags);
    assert_eq!(summary["totals"]["requests_ok"], 1, "{}", output.stderr_text());
    let request = upstream.whole_requests().pop().unwrap();
    assert!(request.starts_with("PUT / HTTP/1.1\r\n"), "{request}");
    for line in ["X-Token: {a}\r\n", "Content-Type: application/json\r\n", "Content-Length: 22\r\n"]
    {
        assert!(request.contains(line), "{request}");
    }
    assert!(request.ends_with(body), "{request}");

    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "a=1&b=2").unwrap();
    let data = format!("@{}", file.path().display());
    let (output, _) = load(&upstream.url, &["-n", "1", "-c", "1", "--data", &data]);
    let request = upstream.whole_requests().pop().unwrap();
    assert!(request.starts_with("POST / HTTP/1.1\r\n"), "{request}{}", output.stderr_text());
    assert!(request.ends_with("\r\n\r\na=1&b=2"), "{request}");
}

#[test]
fn the_bytes_of_a_file_and_given_cookies_are_sent_as_they_are() {
    let upstream = Upstream::start();
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), b"\x1f\x8b\0\xff\n").unwrap();
    let data = format!("@{}", file.path().display());
    let cookies = ["-H", "Cookie: sid=a", "-H", "Cookie: lang=en"];
    let flags = [&["-n", "1", "-c", "1", "--data", &data][..], &cookies].concat();
    let (output, summary) = load(&upstream.url, &flags);
    assert_eq!(summary["totals"]["requests_ok"], 1, "{}", output.stderr_text());
    let request = upstream.whole_requests().pop().unwrap();
    assert_eq!(request.matches("Cookie:").count(), 1, "{request}");
    for line in
        ["Cookie: sid=a; lang=en\r\n", "Content-Length: 5\r\n", "application/octet-stream\r\n"]
    {
        assert!(request.contains(line), "{request}");
    }
}

#[test]
fn a_rate_may_be_given_per_minute_and_the_older_flag_says_what_replaces_it() {
    let upstream = Upstream::start();
    let (output, summary) = load(&upstream.url, &["-r", "6000/m", "-n", "10"]);
    assert_eq!(summary["totals"]["requests_ok"], 10, "{}", output.stderr_text());
    let (output, summary) = load(&upstream.url, &["--requests", "100", "-n", "10"]);
    assert_eq!(summary["totals"]["requests_ok"], 10, "{}", output.stderr_text());
    assert!(output.stderr_text().contains("--requests is deprecated"), "{}", output.stderr_text());
}

#[test]
fn compressed_responses_are_accepted_on_request() {
    for (flags, accepts) in [(&["-n", "3", "--compressed"][..], true), (&["-n", "3"], false)] {
        let upstream = Upstream::start();
        let (output, summary) = load(&upstream.url, flags);
        assert_eq!(summary["totals"]["requests_ok"], 3, "{}", output.stderr_text());
        let requests = upstream.whole_requests();
        let accepting =
            requests.iter().filter(|head| head.contains("Accept-Encoding: gzip, br, zstd\r\n"));
        assert_eq!(accepting.count() >= 3, accepts, "{requests:?}");
    }
}

#[test]
fn a_service_that_is_missing_or_unclear_is_answered_with_what_to_write() {
    for (args, remedy) in [
        (&["load"][..], "tidegate load https://HOST[:PORT]/PATH"),
        (&["load", "auction-buyers"], "tidegate load auction-buyers --target https://HOST"),
        (&["load", "127.0.0.1:8660"], "write http://127.0.0.1:8660 or https://127.0.0.1:8660"),
        (&["load", "auction-buyers", "--target", "127.0.0.1:8660"], "write http://127.0.0.1:8660"),
        (&["load", "http://a", "--target", "http://b"], "give one of them"),
        (&["load", "no-such-scenario"], "tidegate load --list"),
        (&["load", "auction-buyers", "--target", "http://a", "-X", "POST"], "for each page"),
        (&["load", "http://a", "-H", "Host: b"], "is set from the URL"),
        (&["load", "http://a", "-H", "Cookie: b"], "such as 'Cookie: sid=1; lang=en'"),
        (&["load", "http://a", "--data", "@-", "--drivers", "2"], "give --data @FILE"),
        (&["load", "http://a", "-d", "soon"], "such as 30s"),
        (&["load", "http://a", "-r", "5/day"], "such as 50"),
        (&["load", "http://a", "-X", "FETCH"], "GET, HEAD, POST"),
        (&["load", "http://a", "--data", "@/no/such/file"], "--data @/no/such/file"),
        (&["gate"], "--upstream"),
    ] {
        let text = mistake(args);
        assert!(text.contains(remedy), "{args:?}: {text}");
    }
}
