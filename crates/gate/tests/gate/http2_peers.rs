//! HTTP/2 and old HTTP with the programs of others: h2spec, curl, nghttp, h2load and ab.
//! `scripts/bootstrap test` installs them; a test is skipped where its program is missing.

use crate::common::*;
use crate::manners::read_head;
use std::path::Path;
use std::process::Command;
use tidegate_gate::Gate;

/// Runs a program, with the gate's URL as the last argument; what it prints. None without it.
fn run(program: impl AsRef<Path>, gate: &Gate, arguments: &[&str]) -> Option<String> {
    let url = format!("https://localhost:{}/", gate.address().port());
    run_with(program, &[arguments, &[&url]].concat())
}

fn run_with(program: impl AsRef<Path>, arguments: &[&str]) -> Option<String> {
    let program = program.as_ref();
    match Command::new(program).args(arguments).output() {
        Ok(output) => Some(String::from_utf8_lossy(&output.stdout).into_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => {
            let program = program.display();
            eprintln!("SKIPPED: no {program}; `scripts/bootstrap test` installs it");
            None
        }
        Err(error) => panic!("{error}"),
    }
}

/// An upstream that reads each body as far as it comes, and answers.
fn reading() -> std::net::SocketAddr {
    upstream(|mut reader| {
        use std::io::{BufRead, Read, Write};
        loop {
            let mut head = String::new();
            while !head.ends_with("\r\n\r\n") {
                if reader.read_line(&mut head).unwrap_or(0) == 0 {
                    return;
                }
            }
            let head = head.to_ascii_lowercase();
            if head.contains("\r\ntransfer-encoding:") {
                let mut line = String::new();
                while line != "0\r\n" {
                    line.clear();
                    if reader.read_line(&mut line).unwrap_or(0) == 0 {
                        return;
                    }
                }
                let _ = reader.read_line(&mut line);
            } else if let Some((_, rest)) = head.split_once("\r\ncontent-length: ") {
                let length = rest.split("\r\n").next().unwrap().parse().unwrap();
                if reader.read_exact(&mut vec![0; length]).is_err() {
                    return;
                }
            }
            if reader.get_mut().write_all(ok("hello").as_bytes()).is_err() {
                return;
            }
        }
    })
}

#[test]
fn all_cases_of_h2spec_pass() {
    let gate = gate(reading(), "");
    let program = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/h2spec/h2spec");
    let port = gate.address().port().to_string();
    let arguments = ["-h", "127.0.0.1", "-p", &port, "-t", "-k", "-P", "/", "-o", "5"];
    let Some(output) = run_with(program, &arguments) else { return };
    assert!(output.contains("145 tests, 145 passed, 0 skipped, 0 failed"), "{output}");
}

#[test]
fn curl_uses_http2_and_uploads_when_it_is_asked_to() {
    let gate = gate(reading(), "");
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), vec![b'x'; 3_000_000]).unwrap();
    let upload = format!("@{}", file.path().display());
    let format = ["-sk", "--http2", "-w", " %{http_version} %{http_code}"];
    let Some(got) = run("curl", &gate, &format) else { return };
    assert_eq!(got, "hello 2 200");
    let post = [&format[..], &["-H", "Expect: 100-continue", "--data-binary", &upload]].concat();
    assert_eq!(run("curl", &gate, &post).unwrap(), "hello 2 200");
    let old = ["-sk", "--http1.1", "-w", " %{http_version} %{http_code}"];
    assert_eq!(run("curl", &gate, &old).unwrap(), "hello 1.1 200");
}

#[test]
fn an_early_answer_reaches_curl_whatever_it_still_sends() {
    let early = upstream(|mut reader| {
        use std::io::Write;
        read_head(&mut reader);
        let answer = "HTTP/1.1 413 Content Too Large\r\nContent-Length: 3\r\n\
                      Connection: close\r\n\r\nbig";
        reader.get_mut().write_all(answer.as_bytes()).unwrap();
    });
    let gate = gate(early, "");
    for bytes in [100_000, 30_000_000] {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), vec![b'x'; bytes]).unwrap();
        let upload = format!("@{}", file.path().display());
        let post = ["-sk", "--http2", "-w", " %{http_code}", "-H", "Expect:", "--data-binary"];
        let Some(got) = run("curl", &gate, &[&post[..], &[&upload]].concat()) else { return };
        assert_eq!(got, "big 413", "{bytes} bytes");
    }
    counted(&gate, "nothing stays open", |totals| totals.open == 0);
}

#[test]
fn curl_is_served_where_it_offers_http_1_0_alone() {
    let gate = gate(answering(|_| ok("hello")), "");
    let old = ["-sk", "--http1.0", "-w", " %{http_code}"];
    let Some(got) = run("curl", &gate, &old) else { return };
    assert_eq!(got, "hello 200");
}

#[test]
fn nghttp_and_h2load_are_served() {
    let gate = gate(reading(), "");
    if let Some(got) = run("nghttp", &gate, &["-v", "--no-verify-peer"]) {
        assert!(got.contains(":status: 200") && got.contains("hello"), "{got}");
    }
    if let Some(got) = run("h2load", &gate, &["-n", "2000", "-c", "4", "-m", "50"]) {
        assert!(got.contains("2000 succeeded, 0 failed, 0 errored"), "{got}");
        assert!(got.contains("Application protocol: h2"), "{got}");
    }
}

#[test]
fn ab_completes_all_requests_over_kept_connections() {
    let answer = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\n\r\n";
    let gate = gate(answering(move |_| answer.to_owned()), "");
    let Some(got) = run("ab", &gate, &["-k", "-n", "20", "-c", "3"]) else { return };
    assert!(got.contains("Complete requests:      20"), "{got}");
    assert!(got.contains("Failed requests:        0"), "{got}");
}
