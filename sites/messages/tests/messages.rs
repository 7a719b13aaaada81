//! The message service over HTTP and HTTPS.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};

use tidegate_messages::{
    self, Channel, Format, Keys, Message, Operation, Options, PATH, Party, Refused, Scene, Site,
    Tls, TlsVersion, Wire, now_ms,
};

/// A running service with the client's end.
struct Running {
    site: Site,
    client: Channel,
    host: String,
}

fn start(format: Format, tls: Option<Tls>) -> Running {
    let folder = tempfile::tempdir().unwrap();
    let (client, server) = Keys::generate().unwrap();
    let file = folder.path().join("server.json");
    server.write(&file).unwrap();
    let keys = (format != Format::None).then_some(file);
    let listen = "127.0.0.1:0".parse().unwrap();
    let site =
        tidegate_messages::start(&Options { listen, format, keys, tls, cores: None }).unwrap();
    let client = match format {
        Format::None => Channel::unprotected(Party::Client),
        _ => Channel::new(format, client).unwrap(),
    };
    Running { host: site.address().to_string(), site, client }
}

impl Running {
    fn scene(&self) -> Scene<'_> {
        Scene::Request { method: "POST", authority: &self.host, path: PATH }
    }

    fn request(&self, now: u64) -> (Message, Wire) {
        let message = Message::request(Operation::Echo, "hello".into(), now).unwrap();
        let wire = self.client.protect(&message, &self.scene()).unwrap();
        (message, wire)
    }

    fn send(&self, wire: &Wire) -> String {
        exchange(self.site.address(), &self.text(wire, ""))
    }

    fn text(&self, wire: &Wire, more: &str) -> Vec<u8> {
        let mut text =
            format!("POST {PATH} HTTP/1.1\r\nhost: {}\r\nconnection: close\r\n", self.host);
        for (name, value) in &wire.headers {
            text += &format!("{name}: {}\r\n", value.to_str().unwrap());
        }
        text += &format!("content-length: {}\r\n{more}\r\n", wire.body.len());
        [text.as_bytes(), &wire.body].concat()
    }
}

fn exchange(address: SocketAddr, request: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(request).unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    String::from_utf8_lossy(&response).into_owned()
}

/// Without the Date field.
fn undated(response: &str) -> String {
    response.lines().filter(|line| !line.starts_with("date:")).collect::<Vec<_>>().join("\n")
}

#[test]
fn every_format_is_served_and_each_message_once() {
    for format in Format::ALL {
        let running = start(format, None);
        let (_, wire) = running.request(now_ms());
        let answer = running.send(&wire);
        assert!(answer.starts_with("HTTP/1.1 200"), "{format}: {answer}");
        let again = running.send(&wire);
        let counters = running.site.counters();
        if format == Format::None {
            assert!(again.contains("\"counter\":2"), "{again}");
        } else {
            assert!(again.starts_with("HTTP/1.1 400"), "{format}: {again}");
            assert_eq!(counters.refused(), [(Refused::Replayed, 1)], "on whichever core");
            assert_eq!(counters.answered(), 1);
        }
        running.site.shutdown();
    }
}

#[test]
fn the_sender_of_a_refused_message_is_not_told_why() {
    for format in [Format::Jose, Format::Xml] {
        one_answer_for_every_reason(format);
    }
}

fn one_answer_for_every_reason(format: Format) {
    let (running, others) = (start(format, None), start(format, None));
    let (_, good) = running.request(now_ms());
    let stranger = others.request(now_ms()).1;
    let stale = running.request(now_ms() - 600_000).1;
    let mut untyped = good.clone();
    untyped.headers.clear();
    let responses = [
        running.send(&stranger),
        running.send(&stale),
        running.send(&untyped),
        running.send(&Wire { body: "{}".into(), ..good.clone() }),
        exchange(running.site.address(), &running.text(&good, "content-encoding: gzip\r\n")),
    ];
    for response in &responses {
        assert!(response.starts_with("HTTP/1.1 400") && response.ends_with("refused\n"));
        assert_eq!(undated(response), undated(&responses[0]));
    }
    let mut reasons: Vec<_> = running.site.counters().refused();
    reasons.sort_by_key(|(reason, _)| reason.label());
    let expected = [
        Refused::Compressed,
        Refused::Decryption,
        Refused::Malformed,
        Refused::MediaType,
        Refused::Stale,
    ];
    assert_eq!(reasons, expected.map(|reason| (reason, 1)));
}

#[test]
fn a_compressed_message_is_refused_in_every_format() {
    for format in Format::ALL {
        let running = start(format, None);
        let (_, good) = running.request(now_ms());
        let encodings = ["gzip", "deflate", "br", "zstd", "identity"];
        for encoding in encodings {
            let text = running.text(&good, &format!("content-encoding: {encoding}\r\n"));
            let answer = exchange(running.site.address(), &text);
            assert!(answer.starts_with("HTTP/1.1 400"), "{format}, {encoding}: {answer}");
            assert!(answer.ends_with("refused\n"), "{format}, {encoding}: {answer}");
        }
        let expected = [(Refused::Compressed, encodings.len() as u64)];
        assert_eq!(running.site.counters().refused(), expected, "{format}");
        // Nothing of it was remembered: the same message is accepted as it was meant.
        assert!(running.send(&good).starts_with("HTTP/1.1 200"), "{format}");
        running.site.shutdown();
    }
}

#[test]
fn a_body_that_is_announced_or_grows_too_large_is_refused() {
    let running = start(Format::Cose, None);
    let head = format!("POST {PATH} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n");
    let announced = format!("{head}content-length: 1000000000000\r\n\r\n");
    let answer = exchange(running.site.address(), announced.as_bytes());
    assert!(answer.starts_with("HTTP/1.1 400") && answer.ends_with("refused\n"), "{answer}");
    let mut stream = TcpStream::connect(running.site.address()).unwrap();
    stream.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let chunk = [b"10000\r\n".as_slice(), &[b'A'; 0x10000], b"\r\n"].concat();
    // The service stops reading; what it does not read may break the connection.
    for _ in 0..65 {
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    let _ = stream.read(&mut [0; 1024]);
    assert_eq!(running.site.counters().refused(), [(Refused::TooLarge, 2)]);
}

#[test]
fn over_tls_the_service_has_an_address_of_its_own_scheme() {
    let tls = Tls { version: TlsVersion::V13, files: None, resumption: true, clients: None };
    let running = start(Format::None, Some(tls));
    assert!(running.site.url().starts_with("https://127.0.0.1:"));
    let mut stream = TcpStream::connect(running.site.address()).unwrap();
    stream.write_all(b"GET /healthz HTTP/1.1\r\nhost: x\r\n\r\n").unwrap();
    let mut response = Vec::new();
    stream.read_to_end(&mut response).unwrap();
    assert!(!response.starts_with(b"HTTP"), "plain HTTP is not served on the port of TLS");
}

#[test]
fn options_that_do_not_fit_together_say_what_to_do() {
    let listen = "127.0.0.1:0".parse().unwrap();
    let none = Options { listen, format: Format::Cose, keys: None, tls: None, cores: None };
    let error = tidegate_messages::start(&none).unwrap_err().to_string();
    assert!(error.contains("--make-keys"), "{error}");
    let needless = Options { format: Format::None, keys: Some("x".into()), ..none };
    let error = tidegate_messages::start(&needless).unwrap_err().to_string();
    assert!(error.contains("leave it out"), "{error}");
}
