//! The gate before nginx, met by curl and openssl: programs that no one here
//! wrote decide whether it speaks their protocols.

use std::io::{BufRead, BufReader, ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Output, Stdio};

use crate::common::upstream::Upstream;
use crate::common::{Running, Text, curl, gate, wait_until};

/// nginx in the foreground on a free port, serving `folder`.
fn nginx(folder: &Path) -> Running {
    let free = tidegate_lab::free_address().unwrap();
    let home = folder.display();
    let text = format!(
        "daemon off; master_process off; pid {home}/pid; error_log stderr warn;\n\
         events {{ worker_connections 256; }}\n\
         http {{ access_log off; client_body_temp_path {home}/a; proxy_temp_path {home}/b;\n\
         fastcgi_temp_path {home}/c; uwsgi_temp_path {home}/d; scgi_temp_path {home}/e;\n\
         server {{ listen {free}; root {home};\n\
         location /headers {{ return 200 \"$http_host|$http_x_forwarded_for|$http_x_forwarded_proto|$http_connection|$http_x_hop\"; }}\n\
         location /gone {{ return 444; }} }} }}\n"
    );
    std::fs::write(folder.join("nginx.conf"), text).unwrap();
    std::fs::write(folder.join("index.html"), "hello from nginx\n").unwrap();
    std::fs::write(folder.join("large"), vec![b'x'; 3_000_000]).unwrap();
    let mut command = Command::new("nginx");
    command.arg("-p").arg(folder).arg("-c").arg(folder.join("nginx.conf"));
    command.args(["-e", "stderr"]);
    Running::silent(&mut command, &free.to_string())
}

/// Dropped in this order: the processes that use the folder end before it.
struct Setting {
    gate: Running,
    _nginx: Running,
    folder: tempfile::TempDir,
}

fn setting(more: &[&str]) -> Setting {
    let folder = tempfile::tempdir().unwrap();
    // nginx started by root drops to a user that cannot enter the folder.
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))
        .unwrap();
    let nginx = nginx(folder.path());
    let upstream = format!("http://{}", nginx.address("address"));
    Setting { gate: gate(&upstream, more), folder, _nginx: nginx }
}

impl Setting {
    fn url(&self, path: &str) -> String {
        format!("{}{path}", self.gate.address("gate"))
    }

    fn address(&self) -> String {
        self.gate.address("gate").trim_start_matches("https://").to_owned()
    }

    fn connections(&self, class: &str, verdict: &str) -> f64 {
        self.gate.metric(&format!(
            "tidegate_connections_total{{class=\"{class}\",verdict=\"{verdict}\"}}"
        ))
    }

    fn handshakes(&self, kind: &str) -> f64 {
        self.gate.metric(&format!("tidegate_handshakes_total{{kind=\"{kind}\",result=\"ok\"}}"))
    }

    /// One request by openssl, with its own options.
    fn s_client(&self, options: &[&str]) -> Output {
        let mut child = Command::new("openssl")
            .args(["s_client", "-connect", &self.address(), "-servername", "localhost", "-ign_eof"])
            .args(options)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("openssl is installed");
        let request = b"GET / HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
        let _ = child.stdin.as_mut().unwrap().write_all(request);
        child.wait_with_output().unwrap()
    }

    fn session_file(&self) -> String {
        self.folder.path().join("session.pem").display().to_string()
    }
}

#[test]
fn curl_gets_the_page_and_keeps_its_connection() {
    let setting = setting(&[]);
    let page = curl(&[&setting.url("/"), &setting.url("/"), "--write-out", "%{num_connects} "]);
    assert_eq!(page.stdout_text(), "hello from nginx\n1 hello from nginx\n0 ");
    assert_eq!(setting.connections("new", "admitted"), 1.0);
}

#[test]
fn curl_gets_the_page_in_clear_where_that_is_asked_for() {
    let setting = setting(&["--clear", "127.0.0.1:0"]);
    let url = format!("{}/headers", setting.gate.address("clear"));
    assert!(url.starts_with("http://127.0.0.1:"), "{url}");
    // It keeps the cookie of its session.
    let page = curl(&["--cookie", "", &url, &url, "--write-out", "%{num_connects}"]).stdout_text();
    let host = url.trim_start_matches("http://").trim_end_matches("/headers");
    let seen = format!("{host}|127.0.0.1|http||");
    assert_eq!(page, format!("{seen}1{seen}0"));
    assert_eq!(setting.gate.status()["clear_address"], host);
    assert_eq!((setting.connections("new", "admitted"), setting.handshakes("full")), (1.0, 0.0));
}

#[test]
fn a_large_body_arrives_whole_both_ways() {
    let setting = setting(&[]);
    let large =
        curl(&[&setting.url("/large"), "--output", "/dev/null", "--write-out", "%{size_download}"]);
    assert_eq!(large.stdout_text(), "3000000");
    let file = setting.folder.path().join("large").display().to_string();
    // nginx does not allow POST on files: what counts is that its answer comes through. By HTTP/2
    // curl 7.88 takes the end of an upload that was answered early (RFC 9113, section 8.1) for an
    // error.
    let posted = curl(&[
        "--http1.1",
        "--data-binary",
        &format!("@{file}"),
        &setting.url("/"),
        "--output",
        "/dev/null",
        "--write-out",
        "%{http_code}",
    ]);
    assert!(["405", "413"].contains(&posted.stdout_text().as_str()), "{}", posted.stdout_text());
}

#[test]
fn forwarding_headers_are_the_gates_own_and_hop_by_hop_ones_stay_behind() {
    let setting = setting(&[]);
    let headers = curl(&[
        "--http1.1",
        "--header",
        "X-Forwarded-For: 6.6.6.6",
        "--header",
        "Connection: x-hop",
        "--header",
        "X-Hop: secret",
        "--header",
        "Host: shop.example",
        &setting.url("/headers"),
    ]);
    let text = headers.stdout_text();
    let fields: Vec<_> = text.split('|').collect();
    assert_eq!(fields[..3], ["shop.example", "127.0.0.1", "https"], "{text}");
    assert!(["", "keep-alive"].contains(&fields[3]), "{text}");
    assert_eq!(fields[4], "", "a header that Connection names goes no further: {text}");
}

#[test]
fn openssl_resumes_in_tls_1_3_and_1_2_and_counts_as_returning() {
    for version in ["-tls1_3", "-tls1_2"] {
        let setting = setting(&[]);
        let file = setting.session_file();
        let first = setting.s_client(&[version, "-sess_out", &file]);
        assert!(
            first.stdout_text().contains("hello from nginx"),
            "{version}: {}",
            first.stderr_text()
        );
        assert!(first.stdout_text().contains("New, TLS"), "{version}");
        let second = setting.s_client(&[version, "-sess_in", &file]);
        assert!(
            second.stdout_text().contains("Reused, TLS"),
            "{version}: {}",
            second.stdout_text()
        );
        assert!(second.stdout_text().contains("hello from nginx"), "{version}");
        assert_eq!(setting.connections("returning", "admitted"), 1.0, "{version}");
        assert_eq!(
            (setting.handshakes("full"), setting.handshakes("resumed")),
            (1.0, 1.0),
            "{version}"
        );
    }
}

#[test]
fn a_ticket_of_another_gate_is_new_and_meets_no_error() {
    for version in ["-tls1_3", "-tls1_2"] {
        let (ours, foreign) = (setting(&[]), setting(&[]));
        let file = foreign.session_file();
        foreign.s_client(&[version, "-sess_out", &file]);
        let second = ours.s_client(&[version, "-sess_in", &file]);
        assert!(second.stdout_text().contains("New, TLS"), "{version}: {}", second.stderr_text());
        assert!(second.stdout_text().contains("hello from nginx"), "{version}");
        assert_eq!(ours.connections("new", "admitted"), 1.0, "{version}");
        assert_eq!(ours.connections("returning", "admitted"), 0.0, "{version}");
    }
}

#[test]
fn a_ticket_used_for_another_name_or_suite_is_new_and_meets_no_error() {
    let setting = setting(&[]);
    let file = setting.session_file();
    setting.s_client(&["-tls1_3", "-ciphersuites", "TLS_AES_128_GCM_SHA256", "-sess_out", &file]);
    let other_name = setting.s_client(&["-tls1_3", "-sess_in", &file, "-servername", "elsewhere"]);
    assert!(other_name.stdout_text().contains("hello from nginx"), "{}", other_name.stderr_text());
    let other_suite = setting.s_client(&[
        "-tls1_3",
        "-sess_in",
        &file,
        "-ciphersuites",
        "TLS_AES_256_GCM_SHA384",
    ]);
    assert!(
        other_suite.stdout_text().contains("hello from nginx"),
        "{}",
        other_suite.stderr_text()
    );
    assert_eq!(setting.handshakes("full"), 3.0);
    assert_eq!(setting.connections("returning", "admitted"), 0.0);
}

#[test]
fn a_newcomer_who_is_not_admitted_sees_the_waiting_room_and_one_inside_gets_in() {
    let setting = setting(&["--policy", "static", "--rate", "0.01"]);
    let file = setting.session_file();
    let first = setting.s_client(&["-tls1_3", "-sess_out", &file]);
    assert!(first.stdout_text().contains("hello from nginx"), "the first is within the rate");
    let waits = curl(&[&setting.url("/"), "--max-time", "20", "--include"]);
    let page = waits.stdout_text();
    assert!(page.starts_with("HTTP/1.1 503") || page.starts_with("HTTP/2 503"), "{page}");
    assert!(page.to_lowercase().contains("\nrefresh: "), "{page}");
    let again = setting.s_client(&["-tls1_3", "-sess_in", &file]);
    assert!(again.stdout_text().contains("Reused, TLS"), "{}", again.stdout_text());
    let turned_away = || setting.connections("new", "refused") + setting.connections("new", "held");
    assert!(turned_away() >= 1.0);
    assert_eq!(setting.connections("returning", "admitted"), 1.0);
}

#[test]
fn a_gate_without_a_certificate_says_that_it_made_one() {
    let mut gate = Command::new(env!("CARGO_BIN_EXE_tidegate"))
        .args(["gate", "--upstream", "http://127.0.0.1:1", "--listen", "127.0.0.1:0"])
        .args(["--admin", "off"])
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut said = BufReader::new(gate.stderr.take().unwrap()).lines().map_while(Result::ok);
    assert!(said.any(|line| line.contains("self-signed") && line.contains("127.0.0.1")));
    gate.kill().unwrap();
    gate.wait().unwrap();
}

#[test]
fn http_in_clear_on_the_tls_port_gets_a_readable_400() {
    let setting = setting(&[]);
    let answer = curl(&["--include", &format!("http://{}/", setting.address())]).stdout_text();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    assert!(answer.to_lowercase().contains("https"), "it says what to do: {answer}");
}

#[test]
fn junk_and_half_a_hello_neither_hang_nor_harm() {
    let setting = setting(&[]);
    for junk in [
        &b"SSH-2.0-OpenSSH_9.2\r\n"[..],
        &[0x80, 0x2e, 1, 0, 2],
        &[0xff; 64],
        &[22, 3, 1, 0, 5, 1, 0, 0, 1, 0],
        // Announces 512 bytes and sends two of them.
        &[22, 3, 1, 2, 0, 1, 0],
    ] {
        let mut stream = TcpStream::connect(setting.address()).unwrap();
        stream.write_all(junk).unwrap();
        stream.set_read_timeout(Some(crate::common::PATIENCE)).unwrap();
        // An alert, a close or a reset: whatever it is, it comes.
        if let Err(error) = stream.read_to_end(&mut Vec::new()) {
            let reset = matches!(error.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe);
            assert!(reset, "{junk:?} hangs: {error}");
        }
    }
    let ended = |reason| {
        setting.gate.metric(&format!("tidegate_connections_ended_total{{reason=\"{reason}\"}}"))
    };
    wait_until("each is counted by its reason", || {
        ["not_tls", "malformed_hello", "hello_deadline"].map(ended) == [3.0, 1.0, 1.0]
    });
    assert_eq!(curl(&[&setting.url("/")]).stdout_text(), "hello from nginx\n");
}

#[test]
fn an_upstream_that_is_down_or_hangs_up_gives_502_with_a_page() {
    // A port of the system's choice could be another test's by then.
    let down = gate("http://127.0.0.1:1", &[]);
    let answer = curl(&["--include", down.address("gate")]).stdout_text();
    assert!(answer.starts_with("HTTP/2 502 "), "{answer}");
    assert!(answer.contains("<html"), "a page for people: {answer}");
    let setting = setting(&[]);
    let answer = curl(&["--include", &setting.url("/gone")]).stdout_text();
    assert!(answer.starts_with("HTTP/2 502 "), "{answer}");
}

#[test]
fn both_lengths_at_once_are_refused_before_the_upstream_sees_them() {
    let upstream = Upstream::start();
    let gate = gate(&upstream.url, &[]);
    let url = |path| format!("{}{path}", gate.address("gate"));
    let both = ["--header", "Content-Length: 5", "--header", "Transfer-Encoding: chunked"];
    let post = ["--include", "--http1.1", "--data", "hello"];
    let answer = curl(&[&post[..], &both, &[&url("/both")]].concat()).stdout_text();
    assert!(answer.starts_with("HTTP/1.1 400 "), "{answer}");
    // Each alone is fine, and shows that the upstream notes what it gets.
    for one in both.chunks(2) {
        let answer = curl(&[&post[..], one, &[&url("/one")]].concat()).stdout_text();
        assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    }
    assert_eq!(upstream.requests(), ["POST /one HTTP/1.1", "POST /one HTTP/1.1"]);
}

#[test]
fn sigterm_drains_and_exits_with_0() {
    let setting = setting(&[]);
    assert_eq!(curl(&[&setting.url("/")]).stdout_text(), "hello from nginx\n");
    assert_eq!(setting.gate.end(), Some(0));
}

#[test]
fn a_service_told_to_stop_as_soon_as_it_is_ready_ends_well() {
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(crate::common::auction(folder.path()).end(), Some(0));
    for _ in 0..5 {
        assert_eq!(gate("http://127.0.0.1:1", &[]).end(), Some(0));
        // The database is there by now, so this takes no time.
        assert_eq!(crate::common::auction(folder.path()).end(), Some(0));
    }
}

#[test]
fn status_and_metrics_tell_what_happened() {
    let setting = setting(&[]);
    curl(&[&setting.url("/")]);
    wait_until("the request is counted", || {
        setting.gate.metric("tidegate_requests_total{code=\"200\"}") == 1.0
    });
    let status = setting.gate.status();
    assert_eq!(status["control"]["policy"], "tide", "{status}");
    let metrics = curl(&[&format!("{}/metrics", setting.gate.address("admin"))]).stdout_text();
    for name in [
        "tidegate_connections_total",
        "tidegate_handshakes_total",
        "tidegate_sessions_active",
        "tidegate_cost_seconds",
        "tidegate_capacity_cpus",
        "tidegate_new_sessions_budget",
        "tidegate_requests_total",
        "tidegate_request_duration_seconds",
    ] {
        assert!(metrics.contains(name), "{name} is missing");
    }
}
