//! From http to https, and the challenges of ACME on the way.

use crate::common::*;
use std::io::BufReader;
use std::net::{SocketAddr, TcpStream};
use tidegate_gate::Gate;

fn redirecting(more: &str) -> Gate {
    let core = a_core();
    let listen = format!(
        "[listen]\naddress = \"127.0.0.1:0\"\nredirect = \"127.0.0.1:0\"\ncores = \"{core}\"\n{more}"
    );
    gate(hello(), &listen)
}

/// One request, and whether the connection closes after the response.
fn ask(gate: &Gate, request: &str) -> Response {
    let socket = TcpStream::connect(gate.redirect_address().unwrap()).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut connection = BufReader::new(socket);
    send(&mut connection, request.as_bytes());
    receive(&mut connection, request.split(' ').next().unwrap()).unwrap()
}

fn location(response: &Response) -> &str {
    response.head.lines().find_map(|line| line.strip_prefix("location: ")).unwrap_or_default()
}

#[test]
fn every_request_is_led_to_https_with_its_method() {
    let gate = redirecting("");
    let port = gate.address().port();
    for method in ["GET", "HEAD", "POST", "DELETE"] {
        let response =
            ask(&gate, &format!("{method} /a?b HTTP/1.1\r\nHost: shop.example:80\r\n\r\n"));
        assert_eq!(response.code, 308);
        assert_eq!(location(&response), format!("https://shop.example:{port}/a?b"));
        assert!(response.head.contains("connection: close"));
    }
    let challenge = "GET /.well-known/acme-challenge/x HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(ask(&gate, challenge).code, 308, "without a key they are led on as well");
    assert_eq!(ask(&gate, "GET / HTTP/1.0\r\n\r\n").code, 400);
    assert_eq!(ask(&gate, "GET / HTTP/1.1\r\nHost: a/b\r\n\r\n").code, 400);
    assert_eq!(gate.totals().accepted, 0, "no customer of the gate");
}

#[test]
fn challenges_are_answered_from_a_folder_out_of_which_no_name_leads() {
    let webroot = tempfile::tempdir().unwrap();
    let folder = webroot.path().join(".well-known/acme-challenge");
    std::fs::create_dir_all(&folder).unwrap();
    std::fs::write(folder.join("token-1_A"), "token-1_A.thumbprint").unwrap();
    std::fs::write(webroot.path().join("secret"), "secret").unwrap();
    std::os::unix::fs::symlink("/etc/passwd", folder.join("link")).unwrap();
    let gate = redirecting(&format!("acme_webroot = {:?}\n", webroot.path().display().to_string()));
    let get = |token: &str| {
        let path = format!("/.well-known/acme-challenge/{token}");
        ask(&gate, &format!("GET {path} HTTP/1.1\r\nHost: shop.example\r\n\r\n"))
    };
    let answer = get("token-1_A");
    assert_eq!((answer.code, answer.text()), (200, "token-1_A.thumbprint"));
    for other in ["none", "", "../../secret", "..%2f..%2fsecret", "link", "a/b", "token-1_A/"] {
        assert_eq!(get(other).code, 404, "{other}");
    }
    let post = "POST /.well-known/acme-challenge/token-1_A HTTP/1.1\r\nHost: a\r\n\r\n";
    assert_eq!(ask(&gate, post).code, 405);
    assert_eq!(ask(&gate, "GET /other HTTP/1.1\r\nHost: a\r\n\r\n").code, 308);
}

#[test]
fn challenges_may_be_answered_by_another_service() {
    let service = answering(|got| {
        assert_eq!(got.header("host"), Some("shop.example"));
        ok(&format!("answer to {}", got.line))
    });
    let with =
        |address: SocketAddr| redirecting(&format!("acme_upstream = \"http://{address}\"\n"));
    let request = "GET /.well-known/acme-challenge/t1 HTTP/1.1\r\nHost: shop.example\r\n\r\n";
    let answer = ask(&with(service), request);
    assert_eq!(answer.text(), "answer to GET /.well-known/acme-challenge/t1 HTTP/1.1");
    assert_eq!(ask(&with("127.0.0.1:1".parse().unwrap()), request).code, 502);
}

#[test]
fn silent_connections_keep_nobody_from_the_redirect() {
    let gate = redirecting("");
    let address = gate.redirect_address().unwrap();
    let _silent: Vec<_> = (0..50).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(ask(&gate, "GET / HTTP/1.1\r\nHost: a\r\n\r\n").code, 308);
}
