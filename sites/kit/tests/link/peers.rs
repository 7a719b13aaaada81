//! Links and programs that no one here wrote: junk, curl, openssl.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tidegate_sitekit::server::Server;

use crate::world::{Keys, block_on, client, echo, server};

/// Sends bytes and reads till the end.
fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    let _ = stream.write_all(bytes);
    // Nothing more comes: a server need not wait for the rest. After a whole request it may take
    // that for a client that has left.
    if !bytes.windows(17).any(|field| field == b"connection: close") {
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    String::from_utf8_lossy(&answer).into_owned()
}

#[test]
fn a_server_survives_junk_and_bounds_what_it_reads() {
    let keys = Keys::new();
    for text in ["none", "tls", "sealed"] {
        let server = server(text, &keys.files());
        for junk in [&b""[..], b"\x16\x03\x01\x00\x05hello", b"GET", &[0xff; 70_000], b"\r\n\r\n"] {
            raw(server.address(), junk);
        }
        let client = client(text, &keys.files(), &[server.address()]);
        block_on(echo(&client, "{}")).unwrap();
        server.shutdown();
    }
    let server = server("none", &keys.files());
    let large = format!(
        "POST /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{}",
        2 << 20,
        "x".repeat(2 << 20)
    );
    assert!(raw(server.address(), large.as_bytes()).starts_with("HTTP/1.1 413"));
    let get = "GET /echo HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    assert!(raw(server.address(), get.as_bytes()).starts_with("HTTP/1.1 405"));
    let path = "POST /a/b HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n";
    assert!(raw(server.address(), path.as_bytes()).starts_with("HTTP/1.1 404"));
    server.shutdown();
}

fn curl(arguments: &[&str]) -> (bool, String) {
    let output = Command::new("curl")
        .args(["--silent", "--show-error", "--max-time", "20"])
        .args(arguments)
        .output()
        .expect("curl is installed");
    let text = [output.stdout, output.stderr].concat();
    (output.status.success(), String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn curl_with_the_certificate_of_the_tier_is_served_and_no_other() {
    let keys = Keys::new();
    let server = server("tls", &keys.files());
    let port = server.address().port();
    let folder = keys.folder.path().join("ca");
    let file = |name: &str| folder.join(name).display().to_string();
    let resolve = format!("back.tier.internal:{port}:127.0.0.1");
    let url = format!("https://back.tier.internal:{port}/healthz");
    let ca = file("ca.pem");
    let call = |more: &[&str]| {
        curl(&[&["--resolve", &resolve, "--cacert", &ca], more, &[url.as_str()]].concat())
    };
    let (certificate, key) = (file("front.pem"), file("front-key.pem"));
    let with_it = ["--cert", &certificate, "--key", &key];
    assert_eq!(call(&with_it), (true, "{\"ok\":true}".into()));
    assert!(!call(&[&with_it[..], &["--tls-max", "1.2"]].concat()).0, "TLS 1.2 is not spoken");
    let (certificate, key) = (file("other.pem"), file("other-key.pem"));
    let (served, text) = call(&["--cert", &certificate, "--key", &key]);
    assert!(!served, "{text}");
    let (served, text) = call(&[]);
    assert!(!served, "{text}");
    server.shutdown();
}

#[test]
fn curl_can_call_and_read_a_link_that_is_not_protected() {
    let keys = Keys::new();
    let server = server("none", &keys.files());
    let url = format!("http://{}/echo", server.address());
    assert_eq!(curl(&["--data", "{\"a\":1}", &url]), (true, "{\"a\":1}".into()));
    server.shutdown();
}

#[test]
fn openssl_sees_a_resumed_session_where_that_is_configured_and_none_elsewhere() {
    let keys = Keys::new();
    let folder = keys.folder.path().join("ca");
    for (text, resumes) in [("tls,persistent,resumed", true), ("tls,persistent,full", false)] {
        let server = server(text, &keys.files());
        let session = keys.folder.path().join(format!("session-{resumes}"));
        let first = openssl(&server, &folder, &["-sess_out", &session.display().to_string()]);
        assert!(first.contains("Verify return code: 0 (ok)"), "{first}");
        assert_eq!(session.exists(), resumes, "{text}: a ticket");
        if resumes {
            let session = session.display().to_string();
            let second = openssl(&server, &folder, &["-sess_in", &session]);
            assert!(second.contains("Reused, TLSv1.3"), "{second}");
        }
        server.shutdown();
    }
}

/// One request by openssl, with the certificate of the front tier.
fn openssl(server: &Server, folder: &Path, more: &[&str]) -> String {
    let file = |name: &str| folder.join(name).display().to_string();
    let mut child = Command::new("openssl")
        .args(["s_client", "-connect", &server.address().to_string()])
        .args(["-servername", "back.tier.internal", "-verify_hostname", "back.tier.internal"])
        .args(["-CAfile", &file("ca.pem"), "-cert", &file("front.pem")])
        .args(["-key", &file("front-key.pem"), "-ign_eof"])
        .args(more)
        .stdin(std::process::Stdio::piped())
        .stdout(std::process::Stdio::piped())
        .stderr(std::process::Stdio::null())
        .spawn()
        .expect("openssl is installed");
    let request = b"GET /healthz HTTP/1.1\r\nhost: back\r\nconnection: close\r\n\r\n";
    child.stdin.take().unwrap().write_all(request).unwrap();
    let output = child.wait_with_output().unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}
