//! Files that the gate serves in place of the upstream.

use crate::common::files::*;
use crate::common::plain::{clear_gate, connect_plain};
use crate::common::*;
use std::fs;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::unix::fs::symlink;
use std::process::Command;
use tidegate_gate::telemetry::labels::{End, Tier};

#[test]
fn files_are_served_and_everything_else_goes_to_the_upstream() {
    let root = directory(&["index.html", "products/1.html", "products/index.html", "app.js"]);
    let gate = tier(&root, "");
    for (path, text) in [
        ("/", "<index.html>"),
        ("/products", "<products/index.html>"),
        ("/products/", "<products/index.html>"),
        ("/products/1", "<products/1.html>"),
        ("/products/1.html", "<products/1.html>"),
        ("/app.js", "<app.js>"),
        ("/products/2", "upstream GET /products/2 HTTP/1.1"),
        ("/products/1?a=b", "upstream GET /products/1?a=b HTTP/1.1"),
        ("/products/1?", "upstream GET /products/1? HTTP/1.1"),
    ] {
        let response = ask(&gate, "GET", path, &[]);
        assert_eq!((response.code, response.text()), (200, text), "{path}");
    }
    for method in ["POST", "PUT", "DELETE", "OPTIONS"] {
        let response = ask(&gate, method, "/products/1", &["Content-Length: 0"]);
        assert_eq!(response.text(), format!("upstream {method} /products/1 HTTP/1.1"));
    }
    let totals = gate.totals();
    assert_eq!((totals.tiers[Tier::Static], totals.tiers[Tier::Upstream]), (6, 7));
    assert_eq!(totals.upstream_responses, 7);
}

#[test]
fn a_file_is_described_as_a_web_server_does() {
    let root = directory(&["a.html", "b.svg"]);
    let gate = tier(&root, "cache_control = \"max-age=60\"");
    let get = ask(&gate, "GET", "/a", &[]);
    assert_eq!(field(&get, "content-type"), Some("text/html; charset=utf-8"));
    assert_eq!(field(&get, "content-length"), Some("8"));
    assert_eq!(field(&get, "cache-control"), Some("max-age=60"));
    assert_eq!(field(&get, "accept-ranges"), Some("bytes"));
    assert_eq!(field(&get, "vary"), None);
    assert!(field(&get, "date").is_some() && field(&get, "last-modified").is_some());
    assert_eq!(field(&ask(&gate, "GET", "/b.svg", &[]), "content-type"), Some("image/svg+xml"));
    let head = ask(&gate, "HEAD", "/a", &[]);
    let same = |name| assert_eq!(field(&head, name), field(&get, name), "{name}");
    ["content-type", "content-length", "etag", "last-modified", "cache-control"]
        .into_iter()
        .for_each(same);
    let etag = field(&get, "etag").unwrap();
    let again = ask(&gate, "GET", "/a", &[&format!("If-None-Match: {etag}")]);
    assert_eq!((again.code, field(&again, "etag")), (304, Some(etag)));
    assert_eq!(field(&again, "cache-control"), Some("max-age=60"));
    let since = field(&get, "last-modified").unwrap();
    let again = ask(&gate, "HEAD", "/a", &[&format!("If-Modified-Since: {since}")]);
    assert_eq!(again.code, 304);
    assert_eq!(ask(&gate, "GET", "/a", &["If-Match: \"other\""]).code, 412);
}

#[test]
fn a_range_of_a_small_and_of_a_large_file_is_served() {
    let root = directory(&["small.txt"]);
    let large: Vec<u8> = (0..3_000_000_u32).map(|at| (at % 251) as u8).collect();
    fs::write(root.path().join("large.bin"), &large).unwrap();
    let gate = tier(&root, "");
    let part = ask(&gate, "GET", "/small.txt", &["Range: bytes=1-5"]);
    assert_eq!((part.code, part.text()), (206, "small"));
    assert_eq!(field(&part, "content-range"), Some("bytes 1-5/11"));
    let part = ask(&gate, "GET", "/large.bin", &["Range: bytes=1000000-1999999"]);
    assert_eq!(part.code, 206);
    assert!(part.body == large[1_000_000..2_000_000], "other bytes");
    let part = ask(&gate, "GET", "/large.bin", &["Range: bytes=-5"]);
    assert_eq!(part.body, large[large.len() - 5..]);
    let none = ask(&gate, "GET", "/large.bin", &["Range: bytes=3000000-"]);
    assert_eq!((none.code, field(&none, "content-range")), (416, Some("bytes */3000000")));
    let several = ask(&gate, "GET", "/small.txt", &["Range: bytes=0-1,4-5"]);
    assert_eq!((several.code, several.text()), (200, "<small.txt>"));
    let whole = ask(&gate, "GET", "/large.bin", &[]);
    assert!(whole.code == 200 && whole.body == large);
    let etag = field(&whole, "etag").unwrap().to_owned();
    let resumed = ["Range: bytes=2999990-", &format!("If-Range: {etag}")];
    assert_eq!(ask(&gate, "GET", "/large.bin", &resumed).body, large[2_999_990..]);
    let changed = ["Range: bytes=2999990-", "If-Range: \"other\""];
    assert_eq!(ask(&gate, "GET", "/large.bin", &changed).code, 200);
}

#[test]
fn a_compressed_form_is_chosen_by_what_the_client_accepts() {
    let root = directory(&["a.css", "a.css.br", "a.css.gz", "b.css"]);
    let gate = tier(&root, "");
    for (accepted, text, coding) in [
        ("br, gzip", "<a.css.br>", Some("br")),
        ("gzip", "<a.css.gz>", Some("gzip")),
        ("br;q=0.1, gzip", "<a.css.gz>", Some("gzip")),
        ("deflate", "<a.css>", None),
    ] {
        let response = ask(&gate, "GET", "/a.css", &[&format!("Accept-Encoding: {accepted}")]);
        assert_eq!(response.text(), text, "{accepted}");
        assert_eq!(field(&response, "content-encoding"), coding);
        assert_eq!(field(&response, "content-type"), Some("text/css; charset=utf-8"));
        assert_eq!(field(&response, "vary"), Some("accept-encoding"));
    }
    let plain = ask(&gate, "GET", "/b.css", &["Accept-Encoding: br"]);
    assert_eq!((plain.text(), field(&plain, "vary")), ("<b.css>", None));
    // A part is of the form that is chosen.
    let part = ["Accept-Encoding: br", "Range: bytes=1-3"];
    assert_eq!(ask(&gate, "GET", "/a.css", &part).text(), "a.c");
    let etag = |accepted| {
        let response = ask(&gate, "GET", "/a.css", &[accepted]);
        field(&response, "etag").unwrap().to_owned()
    };
    assert_ne!(etag("Accept-Encoding: br"), etag("Accept-Encoding: gzip"));
}

#[test]
fn a_cookie_chooses_the_variant_where_there_is_one() {
    let root = directory(&["a.html", "b.html", "@zone=2/a.html", "@zone=2/c.html"]);
    let gate = tier(&root, "variant_cookie = \"zone\"");
    for (path, cookie, text) in [
        ("/a", "zone=2", "<@zone=2/a.html>"),
        ("/a", "session=1; zone=2", "<@zone=2/a.html>"),
        ("/a", "zone=3", "upstream GET /a HTTP/1.1"),
        ("/a", "other=2", "<a.html>"),
        ("/b", "zone=2", "<b.html>"),
        ("/c", "zone=2", "<@zone=2/c.html>"),
        ("/c", "zone=3", "upstream GET /c HTTP/1.1"),
        ("/a", "zone=../@zone=2", "<a.html>"),
        ("/@zone=2/a", "zone=2", "upstream GET /@zone=2/a HTTP/1.1"),
    ] {
        let response = ask(&gate, "GET", path, &[&format!("Cookie: {cookie}")]);
        assert_eq!(response.text(), text, "{path} {cookie}");
        if !text.starts_with("upstream") {
            assert_eq!(field(&response, "vary"), Some("cookie"));
        }
    }
}

#[test]
fn no_path_gets_what_is_outside_or_hidden() {
    let outer = tempfile::tempdir().unwrap();
    write(outer.path(), "secret.html", "secret");
    let root = tempfile::tempdir_in(outer.path()).unwrap();
    for name in ["a.html", ".git/config", "sub/.env", "@zone=2/a.html", "sub/b.html"] {
        write(root.path(), name, "inside");
    }
    symlink("../secret.html", root.path().join("link.html")).unwrap();
    symlink(outer.path(), root.path().join("out")).unwrap();
    symlink("a.html", root.path().join("inner.html")).unwrap();
    let gate = tier(&root, "variant_cookie = \"zone\"");
    for path in [
        "/../secret.html",
        "/sub/../../secret.html",
        "/%2e%2e/secret.html",
        "/..%2fsecret.html",
        "/%2e%2e%2fsecret.html",
        "/..%5csecret.html",
        "/link",
        "/link.html",
        "/out/secret.html",
        "/.git/config",
        "/%2egit/config",
        "/sub/.env",
        "/@zone=2/a",
        "/%40zone=2/a",
        "/a.html%00",
        "/a%00.html",
        "//a.html",
        "/sub//b.html",
        "/./a.html",
        "/sub/./b",
        "/a.html/",
        "/sub%2fb",
        "/a%",
        "/%ff%fe",
        "/sub",
        &format!("/{}", "a".repeat(300)),
        &format!("/{}a", "a/".repeat(1500)),
    ] {
        let response = ask(&gate, "GET", path, &[]);
        assert_eq!(response.text(), format!("upstream GET {path} HTTP/1.1"));
    }
    for path in ["/a", "/inner", "/sub/b"] {
        assert_eq!(ask(&gate, "GET", path, &[]).text(), "inside", "{path}");
    }
    assert_eq!(gate.totals().file_errors, 0);
}

#[test]
fn a_file_that_cannot_be_read_is_for_the_upstream_and_told_to_the_operator() {
    let root = directory(&["a.html"]);
    // A link to itself in the directory's place is no directory and no absence.
    let gate = tier(&root, "");
    fs::rename(root.path(), root.path().with_extension("away")).unwrap();
    fs::write(root.path(), "no directory").unwrap();
    let response = ask(&gate, "GET", "/a", &[]);
    assert_eq!(response.text(), "upstream GET /a HTTP/1.1");
    counted(&gate, "an error", |totals| totals.file_errors == 1);
    assert!(gate.snapshot().upstream_failures.is_empty());
    fs::remove_file(root.path()).unwrap();
    fs::rename(root.path().with_extension("away"), root.path()).unwrap();
    until("it is found again", || ask(&gate, "GET", "/a", &[]).text() == "<a.html>");
}

#[test]
fn a_malformed_request_gets_an_error_and_no_file() {
    let root = directory(&["a.html"]);
    let gate = tier(&root, "");
    let mut connection = connect_plain(&gate);
    send(&mut connection, b"GET /a HTTP/1.1\r\n\r\n");
    assert_eq!(receive(&mut connection, "GET").unwrap().code, 400, "no Host");
    assert_eq!(ask(&gate, "GET", "/a", &["Upgrade: websocket"]).code, 400);
}

#[test]
fn a_get_with_a_body_goes_to_the_upstream_with_it() {
    let root = directory(&["a.html"]);
    let upstream = answering(|got| ok(&String::from_utf8(got.body).unwrap()));
    let route = format!("[[routes]]\npath = \"/\"\ndirectory = \"{}\"\n", root.path().display());
    let gate = clear_gate(upstream, &route);
    let mut connection = connect_plain(&gate);
    for _ in 0..2 {
        send(&mut connection, b"GET /a HTTP/1.1\r\nHost: a\r\nContent-Length: 4\r\n\r\nbody");
        assert_eq!(receive(&mut connection, "GET").unwrap().text(), "body");
        assert_eq!(ask_on(&mut connection, "GET", "/a", &[]).text(), "<a.html>");
    }
}

#[test]
fn requests_in_a_row_and_at_once_on_one_connection_are_answered_in_order() {
    let root = directory(&["a.html", "b.html", "empty.txt"]);
    fs::write(root.path().join("empty.txt"), "").unwrap();
    fs::write(root.path().join("large.bin"), vec![b'x'; 700_000]).unwrap();
    let gate = tier(&root, "");
    let mut connection = connect_plain(&gate);
    let paths = ["/a", "/large.bin", "/none", "/empty.txt", "/b", "/a"];
    let requests: String =
        paths.iter().map(|path| format!("GET {path} HTTP/1.1\r\nHost: a\r\n\r\n")).collect();
    send(&mut connection, requests.as_bytes());
    let lengths = paths.map(|_| receive(&mut connection, "GET").unwrap().body.len());
    assert_eq!(lengths, [8, 700_000, "upstream GET /none HTTP/1.1".len(), 0, 8, 8]);
    for path in paths {
        assert_eq!(ask_on(&mut connection, "HEAD", path, &[]).code, 200);
    }
    assert_eq!(gate.totals().accepted, 1);
}

#[test]
fn a_slow_reader_of_a_large_file_is_cut_and_blames_nobody() {
    let root = directory(&[]);
    fs::write(root.path().join("large.bin"), vec![b'x'; 16 << 20]).unwrap();
    let limits = "[limits]\nbody_progress_deadline = \"60s\"\ndownload_pause = \"400ms\"\n";
    let gate = tier_with(&root, "", limits);
    let mut connection = connect_plain(&gate);
    send(&mut connection, b"GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    receive_head(&mut connection).unwrap();
    counted(&gate, "cut", |totals| totals.ends[End::BodyDeadline] == 1);
    assert!(connection.read_to_end(&mut Vec::new()).is_err(), "a cut, not an end");
    let totals = gate.totals();
    assert_eq!((totals.file_errors, totals.upstream_faults.values().iter().sum::<u64>()), (0, 0));
}

#[test]
fn files_are_served_without_memory_for_them() {
    let root = directory(&["a.html", "a.html.br"]);
    let gate = tier_with(&root, "", "[static]\ncache_bytes = \"0B\"\n");
    for _ in 0..3 {
        assert_eq!(ask(&gate, "GET", "/a", &[]).text(), "<a.html>");
        let compressed = ask(&gate, "GET", "/a", &["Accept-Encoding: br"]);
        assert_eq!(compressed.text(), "<a.html.br>");
    }
}

#[test]
fn curl_resumes_decompresses_and_revalidates() {
    if Command::new("curl").arg("--version").output().is_err() {
        eprintln!("skipped: curl is not installed");
        return;
    }
    let root = directory(&["page.html"]);
    let page = "a page\n".repeat(1000);
    fs::write(root.path().join("page.html"), &page).unwrap();
    let gzip = Command::new("gzip").arg("-k").arg(root.path().join("page.html")).status();
    let compressed = gzip.is_ok_and(|status| status.success());
    fs::write(root.path().join("large.bin"), vec![b'y'; 1_000_000]).unwrap();
    let gate = tier(&root, "");
    let curl = |path: &str, arguments: &[&str]| {
        let url = format!("http://{}{path}", gate.clear_address().unwrap());
        let output = Command::new("curl").args(["-sS"]).args(arguments).arg(url).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        output.stdout
    };
    if compressed {
        let head = String::from_utf8(curl("/page", &["--compressed", "-I"])).unwrap();
        assert!(head.to_lowercase().contains("content-encoding: gzip"), "{head}");
        assert_eq!(curl("/page", &["--compressed"]), page.as_bytes());
    }
    let part = root.path().join("../curl-part");
    let part = part.to_str().unwrap();
    fs::write(part, vec![b'y'; 400_000]).unwrap();
    curl("/large.bin", &["-C", "-", "-o", part]);
    assert_eq!(fs::read(part).unwrap(), vec![b'y'; 1_000_000]);
    fs::remove_file(part).unwrap();
    let etags = root.path().join("etag");
    let etags = etags.to_str().unwrap();
    curl("/page", &["--etag-save", etags]);
    let again = ["--etag-compare", etags, "-w", "%{http_code}"];
    assert_eq!(curl("/page", &again), b"304");
}

#[test]
fn the_gate_counts_and_shows_what_answers() {
    let root = directory(&["a.html"]);
    let gate = tier_with(&root, "", "[admin]\naddress = \"127.0.0.1:0\"\n");
    ask(&gate, "GET", "/a", &[]);
    ask(&gate, "GET", "/b", &[]);
    let snapshot = gate.snapshot();
    assert_eq!(snapshot.request_tiers, [("static", 1), ("upstream", 1)]);
    assert_eq!(snapshot.routes[0].path, "/");
    assert_eq!(snapshot.routes[0].directory, Some(root.path().display().to_string()));
    let mut admin = TcpStream::connect(gate.admin_address().unwrap()).unwrap();
    admin.write_all(b"GET /metrics HTTP/1.0\r\n\r\n").unwrap();
    let mut metrics = String::new();
    admin.read_to_string(&mut metrics).unwrap();
    assert!(metrics.contains("\ntidegate_tier_requests_total{tier=\"static\"} 1\n"), "{metrics}");
}
