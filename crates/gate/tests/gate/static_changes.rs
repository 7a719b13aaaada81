//! Files that change while the gate serves them.

use crate::common::files::*;
use crate::common::plain::{clear_gate, connect_plain};
use crate::common::*;
use std::fs;
use std::io::Read;
use std::os::unix::fs::symlink;
use std::time::Duration;
use tidegate_gate::telemetry::labels::End;

#[test]
fn a_file_that_changes_comes_and_goes_is_found_again() {
    let root = directory(&["a.html"]);
    let gate = tier_with(&root, "", "[static]\ncheck_interval = \"10ms\"\n");
    let text = |path: &str| ask(&gate, "GET", path, &[]).text().to_owned();
    let becomes = |path: &str, expected: &str| until(expected, || text(path) == expected);
    assert_eq!(text("/a"), "<a.html>");
    write(root.path(), "new", "changed");
    fs::rename(root.path().join("new"), root.path().join("a.html")).unwrap();
    becomes("/a", "changed");
    fs::remove_file(root.path().join("a.html")).unwrap();
    becomes("/a", "upstream GET /a HTTP/1.1");
    write(root.path(), "a/index.html", "an index");
    becomes("/a", "an index");
    write(root.path(), "a.html", "a page");
    becomes("/a", "a page");
    write(root.path(), "a.html.br", "compressed");
    until("the compressed form is found", || {
        ask(&gate, "GET", "/a", &["Accept-Encoding: br"]).text() == "compressed"
    });
    fs::remove_file(root.path().join("a.html.br")).unwrap();
    until("the compressed form is gone", || {
        ask(&gate, "GET", "/a", &["Accept-Encoding: br"]).text() == "a page"
    });
}

#[test]
fn nothing_breaks_while_the_directory_is_swapped() {
    let outer = tempfile::tempdir().unwrap();
    let large = |letter: u8| vec![letter; 600_000];
    for (name, letter) in [("one", b'1'), ("two", b'2')] {
        fs::create_dir(outer.path().join(name)).unwrap();
        fs::write(outer.path().join(name).join("large.bin"), large(letter)).unwrap();
        fs::write(outer.path().join(name).join("small.txt"), [letter; 100]).unwrap();
    }
    let current = outer.path().join("current");
    symlink("one", &current).unwrap();
    let route = format!(
        "[[routes]]\npath = \"/\"\ndirectory = \"{}\"\n[static]\ncheck_interval = \"0s\"\n",
        current.display()
    );
    let gate = clear_gate(hello(), &route);
    let stop = std::sync::atomic::AtomicBool::new(false);
    std::thread::scope(|scope| {
        scope.spawn(|| {
            let mut number = 0;
            while !stop.load(std::sync::atomic::Ordering::Relaxed) {
                number += 1;
                let next = outer.path().join("next");
                symlink(["one", "two"][number % 2], &next).unwrap();
                fs::rename(&next, &current).unwrap();
                std::thread::sleep(Duration::from_millis(1));
            }
        });
        let mut connection = connect_plain(&gate);
        let mut seen = [0; 2];
        let begun = std::time::Instant::now();
        while seen.iter().any(|times| *times < 10) {
            assert!(begun.elapsed() < PATIENCE, "{seen:?}");
            for (path, length) in [("/large.bin", 600_000), ("/small.txt", 100)] {
                let response = ask_on(&mut connection, "GET", path, &[]);
                let letter = response.body[0];
                assert_eq!(response.body.len(), length);
                assert!(response.body.iter().all(|byte| *byte == letter), "a mixture");
                seen[usize::from(letter - b'1')] += 1;
            }
        }
        stop.store(true, std::sync::atomic::Ordering::Relaxed);
    });
}

#[test]
fn a_file_that_shrinks_while_it_is_sent_breaks_the_response_off() {
    let root = directory(&[]);
    let path = root.path().join("large.bin");
    fs::write(&path, vec![b'x'; 64 << 20]).unwrap();
    let gate = tier(&root, "");
    let mut connection = connect_plain(&gate);
    send(&mut connection, b"GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    receive_head(&mut connection).unwrap();
    fs::File::options().write(true).open(&path).unwrap().set_len(1).unwrap();
    let mut body = Vec::new();
    let _ = connection.read_to_end(&mut body);
    assert!(body.len() < 64 << 20);
    counted(&gate, "truncated", |totals| totals.ends[End::Truncated] == 1);
    assert_eq!(gate.totals().file_errors, 1);
}

#[test]
fn returning_customers_get_files_over_tls_and_a_reload_breaks_no_response_off() {
    let root = directory(&["a.html"]);
    let large = vec![b'z'; 8 << 20];
    fs::write(root.path().join("large.bin"), &large).unwrap();
    let upstream = hello();
    let route = format!("[[routes]]\npath = \"/\"\ndirectory = \"{}\"\n", root.path().display());
    let gate = gate(upstream, &route);
    let config = any_client();
    assert_eq!(get(&mut connect(&gate, &config), "/a").unwrap().text(), "<a.html>");
    let mut connection = connect(&gate, &config);
    send(&mut connection, b"GET /large.bin HTTP/1.1\r\nHost: a\r\n\r\n");
    receive_head(&mut connection).unwrap();
    assert_eq!(kind(&connection), rustls::HandshakeKind::Resumed);
    // The response waits for the customer while the route and the file go away.
    let without = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\ncores = \"{}\"\n[admin]\naddress = \"off\"\n\
         [admission]\npolicy = \"off\"\n[upstream]\nurl = \"http://{upstream}\"\nprocesses = \"none\"\n",
        a_core()
    );
    assert!(gate.reload(|| tidegate_gate::config::Config::from_toml(&without, "test.toml")));
    until("the route is gone", || {
        get(&mut connect(&gate, &config), "/a").unwrap().text() == "hello"
    });
    fs::remove_file(root.path().join("large.bin")).unwrap();
    let mut body = vec![0; large.len()];
    connection.read_exact(&mut body).unwrap();
    assert!(body == large, "other bytes");
    assert_eq!(get(&mut connection, "/a").unwrap().text(), "<a.html>", "it keeps its routes");
}
