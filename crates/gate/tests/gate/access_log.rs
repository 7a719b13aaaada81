//! What the access log says, and what it never says.

use crate::common::files::directory;
use crate::common::plain::{clear_gate, connect_plain};
use crate::common::*;
use serde_json::Value;
use std::io::Write;
use std::path::Path;
use std::sync::Mutex;
use tidegate_gate::config::Config;
use tidegate_gate::telemetry::labels::Class;

fn table(file: &Path, more: &str) -> String {
    format!("[access_log]\nfile = {:?}\n{more}\n", file.display().to_string())
}

/// The lines of a gate that has ended.
fn lines(gate: tidegate_gate::Gate, file: &Path) -> Vec<Value> {
    counted(&gate, "all connections are over", |totals| totals.open == 0);
    drop(gate);
    let text = std::fs::read_to_string(file).unwrap();
    text.lines().map(|line| serde_json::from_str(line).unwrap()).collect()
}

#[test]
fn the_whole_body_of_a_request_is_counted() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let gate = gate(answering(|_| ok("hello")), &table(&file, ""));
    let mut connection = connect(&gate, &any_client());
    let lengths = [1, 1000, 40_000, 100_000];
    for length in lengths {
        let head = format!("POST / HTTP/1.1\r\nHost: shop\r\nContent-Length: {length}\r\n\r\n");
        send(&mut connection, &[head.as_bytes(), &vec![b'x'; length]].concat());
        assert_eq!(receive(&mut connection, "POST").unwrap().code, 200);
    }
    let head = "POST / HTTP/1.1\r\nHost: shop\r\nTransfer-Encoding: chunked\r\n\r\n";
    send(&mut connection, format!("{head}5\r\nhello\r\n0\r\n\r\n").as_bytes());
    assert_eq!(receive(&mut connection, "POST").unwrap().code, 200);
    drop(connection);
    let received: Vec<_> =
        lines(gate, &file).iter().map(|line| line["bytes_received"].as_u64().unwrap()).collect();
    assert_eq!(received, [1, 1000, 40_000, 100_000, 5]);
}

#[test]
fn an_exchange_is_told_with_its_phases_session_and_identifiers() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let got = std::sync::Arc::new(Mutex::new(Vec::new()));
    let upstream = answering({
        let got = got.clone();
        move |request| {
            got.lock().unwrap().push(request);
            ok("hello")
        }
    });
    let gate = gate(upstream, &table(&file, ""));
    let client = any_client();
    for _ in 0..2 {
        let mut connection = connect(&gate, &client);
        for path in ["/a?token=secret", "/b"] {
            let request = format!(
                "GET {path} HTTP/1.1\r\nHost: shop.example\r\nCookie: sid=secret\r\n\
                 Authorization: Bearer secret\r\nX_Request_ID: forged\r\nx-request-id: forged\r\n\
                 Referer: https://shop.example/s?q=secret\r\nUser-Agent: Mozilla \"5\"\r\n\r\n"
            );
            send(&mut connection, request.as_bytes());
            assert_eq!(receive(&mut connection, "GET").unwrap().text(), "hello");
        }
        drop(connection);
        counted(&gate, "the connection is over", |totals| totals.open == 0);
    }
    let (lines, got) = (lines(gate, &file), got.lock().unwrap());
    assert_eq!(lines.len(), 4);
    assert!(!std::fs::read_to_string(&file).unwrap().contains("secret"));
    for (line, got) in lines.iter().zip(got.iter()) {
        assert_eq!(line["client"], "127.0.0.1");
        assert_eq!((&line["method"], &line["host"]), (&"GET".into(), &"shop.example".into()));
        assert_eq!(line["referer"], "https://shop.example/s");
        assert_eq!((&line["status"], &line["complete"]), (&200.into(), &true.into()));
        assert_eq!((&line["bytes_sent"], &line["bytes_received"]), (&5.into(), &0.into()));
        assert_eq!(
            (&line["verdict"], &line["answered_by"]),
            (&"admitted".into(), &"upstream".into())
        );
        assert_eq!(line["request_id"].as_str(), got.header("x-request-id"), "one identifier");
        assert_eq!(got.header("x_request_id"), None);
        assert_eq!(line["traceparent"].as_str(), got.header("traceparent"));
        let phase = |name: &str| line[name].as_f64();
        let (upstream, response) = (phase("upstream_ms").unwrap(), phase("response_ms").unwrap());
        assert!(
            upstream > 0.0 && upstream + response <= phase("total_ms").unwrap() + 0.002,
            "{line}"
        );
    }
    let of = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("path"), ["/a", "/b", "/a", "/b"]);
    assert_eq!(of("class"), ["new", "new", "returning", "returning"]);
    assert!(
        of("session").iter().all(|session| session.is_string() && *session == of("session")[0])
    );
    let handshakes = of("handshake_ms");
    assert!(handshakes[0].is_f64() && handshakes[2].is_f64(), "the first exchange tells of it");
    assert!(handshakes[1].is_null() && handshakes[3].is_null());
}

#[test]
fn sessions_that_are_refused_have_a_line_each() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("access.log");
    let admission = "[admission]\npolicy = \"static\"\nrate = 0.01\nhold_time = \"0s\"\n";
    let gate = gate(hello(), &(table(&file, "") + admission));
    get(&mut connect(&gate, &any_client()), "/").unwrap();
    for _ in 0..3 {
        get(&mut connect(&gate, &any_client()), "/").unwrap_err();
    }
    assert_eq!(gate.totals().refused[Class::New], 3);
    let lines = lines(gate, &file);
    let refused: Vec<_> = lines.iter().filter(|line| line["verdict"] == "refused").collect();
    assert_eq!((lines.len(), refused.len()), (4, 3));
    for line in refused {
        assert_eq!((&line["reason"], &line["class"]), (&"refused".into(), &"new".into()));
        assert!(line["queue_ms"].is_f64() && line["path"].is_null() && line["session"].is_null());
    }
}

#[test]
fn what_the_gate_answers_itself_and_what_breaks_off_is_told_as_such() {
    let folder = tempfile::tempdir().unwrap();
    let (root, file) = (directory(&["page.html"]), folder.path().join("access.log"));
    // It breaks off in the middle.
    let upstream = upstream(|mut reader| {
        read_request(&mut reader);
        let cut = b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nshort";
        reader.get_mut().write_all(cut).unwrap();
    });
    let routes = format!(
        "[[routes]]\npath = \"/files/\"\ndirectory = {:?}\n[[routes]]\npath = \"/none/\"\n\
         url = \"http://127.0.0.1:1\"\n",
        root.path().display().to_string()
    );
    std::fs::create_dir(root.path().join("files")).unwrap();
    std::fs::write(root.path().join("files/page.html"), "<page>").unwrap();
    let gate = clear_gate(upstream, &(table(&file, "queries = true") + &routes));
    for (request, code) in [
        ("GET /files/page HTTP/1.1\r\nHost: a\r\n\r\n", Some(200)),
        ("GET /none/x?q=1 HTTP/1.1\r\nHost: a\r\n\r\n", Some(502)),
        ("GET /a b HTTP/1.1\r\nHost: a\r\n\r\n", Some(400)),
        ("GET /cut HTTP/1.1\r\nHost: a\r\n\r\n", None),
    ] {
        let mut connection = connect_plain(&gate);
        send(&mut connection, request.as_bytes());
        let response = receive(&mut connection, "GET");
        assert_eq!(response.ok().map(|response| response.code), code, "{request}");
        drop(connection);
        counted(&gate, "the connection is over", |totals| totals.open == 0);
    }
    let lines = lines(gate, &file);
    let of = |key: &str| lines.iter().map(|line| line[key].clone()).collect::<Vec<_>>();
    assert_eq!(of("answered_by"), ["static", "gate", "gate", "upstream"]);
    assert_eq!(of("route")[..2], ["/files", "/none"]);
    assert_eq!(of("status"), [200, 502, 400, 200]);
    assert_eq!(of("complete"), [true, true, true, false]);
    assert_eq!(
        of("upstream_error"),
        [Value::Null, "connect".into(), Value::Null, "truncated".into()]
    );
    assert_eq!(
        of("path"),
        ["/files/page".into(), "/none/x?q=1".into(), Value::Null, "/cut".into()]
    );
    assert!(of("session").iter().all(Value::is_null), "nobody returns over plain HTTP");
}

#[test]
fn a_reload_switches_the_log_on_opens_its_file_again_and_switches_it_off() {
    let folder = tempfile::tempdir().unwrap();
    let (file, moved) = (folder.path().join("access.log"), folder.path().join("access.log.1"));
    let gate = gate(hello(), "");
    let ask = |path: &str| {
        get(&mut connect(&gate, &any_client()), path).unwrap();
    };
    let has = |file: &Path, path: &str| {
        std::fs::read_to_string(file).is_ok_and(|text| text.contains(&format!("\"{path}\"")))
    };
    let reload = |to: Option<&Path>| {
        let mut config = (*gate.config()).clone();
        config.access_log.file = to.map(Path::to_owned);
        assert!(gate.reload(|| Ok(config)));
    };
    ask("/before");
    reload(Some(&file));
    until("new connections are logged", || {
        ask("/on");
        has(&file, "/on")
    });
    assert!(!has(&file, "/before"));

    std::fs::rename(&file, &moved).unwrap();
    // The file is opened again also where the configuration has become wrong.
    assert!(!gate.reload(|| Config::from_toml("[upstream]\nurl = 1", "wrong.toml")));
    until("lines go to the new file", || {
        ask("/again");
        has(&file, "/again")
    });

    reload(None);
    until("the log is off", || {
        let before = gate.totals().log_lines;
        ask("/off");
        gate.totals().log_lines == before && gate.totals().open == 0
    });
    assert_eq!(gate.totals().log_dropped, 0, "what is not wanted is not dropped");
}
