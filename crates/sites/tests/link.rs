//! Links between tiers over real sockets: every way to secure one, and everything that can
//! be wrong with it.

#[allow(dead_code, reason = "the brokerage's tests use another part")]
#[path = "common/relay.rs"]
mod relay;

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::StatusCode;
use relay::{Relay, Way};
use tempfile::TempDir;
use tidegate_sites::link::authority::{self, Authority};
use tidegate_sites::link::{
    Cipher, Client, ClientSide, Deadlines, Error, Files, Handler, KeyRing, Kind, Reply, ServerSide,
    Spec, router,
};
use tidegate_sites::server::{Peers, Server, Service};

const DEADLINES: Deadlines =
    Deadlines { connect: Duration::from_millis(500), whole: Duration::from_millis(1500) };

/// Every way to secure a link.
const SPECS: [&str; 8] = [
    "none,persistent",
    "none,per-request",
    "tls,persistent,resumed",
    "tls,persistent,full",
    "tls,per-request,resumed",
    "tls,per-request,full",
    "sealed,persistent",
    "sealed,per-request",
];

/// Answers with what it was sent.
#[derive(Clone)]
struct Echo;

impl Handler for Echo {
    async fn call(&self, operation: &str, body: Bytes) -> Reply {
        let status = if operation == "fail" { StatusCode::CONFLICT } else { StatusCode::OK };
        Reply { status, body }
    }

    async fn health(&self) -> Reply {
        Reply { status: StatusCode::OK, body: Bytes::from_static(b"{\"ok\":true}") }
    }
}

/// Certificates of two tiers, and a key.
struct Keys {
    folder: TempDir,
}

impl Keys {
    fn new() -> Self {
        let folder = tempfile::tempdir().unwrap();
        authority::make(&folder.path().join("ca"), &["front", "back", "other"]).unwrap();
        KeyRing::generate("one", Cipher::Aes256Gcm)
            .and_then(|ring| ring.write(&folder.path().join("key.json")))
            .unwrap();
        Self { folder }
    }

    fn files(&self) -> Files {
        Files {
            certificates: Some(self.folder.path().join("ca")),
            keys: Some(self.folder.path().join("key.json")),
        }
    }
}

fn spec(text: &str) -> Spec {
    text.parse().unwrap()
}

fn serve(side: &ServerSide) -> Server {
    serve_at("127.0.0.1:0".parse().unwrap(), side)
}

fn serve_at(address: SocketAddr, side: &ServerSide) -> Server {
    let services = (0..2)
        .map(|_| {
            let side = side.clone();
            let make = move || Service {
                tls: side.tls(),
                peers: Peers::Tiers,
                background: None,
                router: router(&side, Echo),
            };
            Box::new(make) as Box<dyn FnOnce() -> Service + Send>
        })
        .collect();
    Server::start(address, None, services, None).unwrap()
}

fn server(text: &str, files: &Files) -> Server {
    serve(&ServerSide::new(spec(text), files, "back", "front").unwrap())
}

fn client(text: &str, files: &Files, addresses: &[SocketAddr]) -> Client {
    let side = ClientSide::new(spec(text), files, "front", "back").unwrap();
    let addresses: Vec<String> = addresses.iter().map(ToString::to_string).collect();
    Client::new(side, &addresses, DEADLINES).unwrap()
}

fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.unwrap().block_on(work)
}

async fn echo(client: &Client, text: &str) -> Result<String, Error> {
    let reply = client.call("/echo", text.into()).await?;
    assert_eq!(reply.status, StatusCode::OK);
    Ok(String::from_utf8(reply.body.into()).unwrap())
}

fn fails(client: &Client) -> Error {
    block_on(echo(client, "\"x\"")).unwrap_err()
}

#[test]
fn every_way_carries_calls_and_statuses() {
    let files = Keys::new();
    let files = files.files();
    for text in SPECS {
        let server = server(text, &files);
        let client = client(text, &files, &[server.address()]);
        block_on(async {
            for body in ["{}", "\"text\"", &"x".repeat(100_000)] {
                assert_eq!(echo(&client, body).await.unwrap(), body, "{text}");
            }
            let reply = client.call("/fail", b"{}".into()).await.unwrap();
            assert_eq!((reply.status.as_u16(), &reply.body[..]), (409, &b"{}"[..]), "{text}");
        });
        server.shutdown();
    }
}

#[test]
fn connections_persist_or_are_made_for_each_call() {
    let keys = Keys::new();
    for (text, expected) in [("none,persistent", 1), ("none,per-request", 20)] {
        let server = server(text, &keys.files());
        let relay = Relay::to(server.address());
        let client = client(text, &keys.files(), &[relay.address]);
        block_on(async {
            for _ in 0..20 {
                echo(&client, "{}").await.unwrap();
            }
        });
        assert_eq!(relay.connections(), expected, "{text}");
        server.shutdown();
    }
}

#[test]
fn many_calls_at_once_have_their_own_answers() {
    let keys = Keys::new();
    for text in ["tls,persistent", "sealed,per-request"] {
        let server = server(text, &keys.files());
        let client = client(text, &keys.files(), &[server.address()]);
        block_on(async {
            let calls: Vec<_> = (0..100)
                .map(|number| {
                    let client = client.clone();
                    tokio::spawn(async move { echo(&client, &number.to_string()).await.unwrap() })
                })
                .collect();
            for (number, call) in calls.into_iter().enumerate() {
                assert_eq!(call.await.unwrap(), number.to_string());
            }
        });
        server.shutdown();
    }
}

#[test]
fn nothing_is_readable_on_a_protected_link() {
    let keys = Keys::new();
    for (text, readable) in [("none", true), ("tls", false), ("sealed", false)] {
        let side = ServerSide::new(spec(text), &keys.files(), "back", "front").unwrap();
        let server = serve(&side);
        let relay = Relay::to(server.address());
        let known = server.address();
        server.shutdown();
        let server = serve_at(known, &side.known_as(&[relay.address.to_string()]));
        let client = client(text, &keys.files(), &[relay.address]);
        block_on(echo(&client, "\"confidential\"")).unwrap();
        let sent = relay.sent();
        let found = sent.windows(12).any(|bytes| bytes == b"confidential");
        assert_eq!(found, readable, "{text}");
        server.shutdown();
    }
}

#[test]
fn a_restarted_server_is_called_again_on_the_same_client() {
    let keys = Keys::new();
    for text in SPECS {
        let first = server(text, &keys.files());
        let address = first.address();
        let client = client(text, &keys.files(), &[address]);
        // The connections of a client live on its runtime.
        block_on(async {
            echo(&client, "{}").await.unwrap();
            tokio::task::spawn_blocking(move || first.shutdown()).await.unwrap();
            let error = echo(&client, "{}").await.unwrap_err();
            assert_eq!(error.kind, Kind::Unreachable, "{text}: {error}");
            let expected = format!("back tier at {address}: Connection refused");
            assert!(error.to_string().starts_with(&expected), "{error}");
            let side = ServerSide::new(spec(text), &keys.files(), "back", "front").unwrap();
            let second = serve_at(address, &side);
            assert_eq!(echo(&client, "{}").await.unwrap(), "{}", "{text}");
            tokio::task::spawn_blocking(move || second.shutdown()).await.unwrap();
        });
    }
}

#[test]
fn of_several_servers_all_have_calls_and_one_that_is_gone_is_passed_over() {
    let keys = Keys::new();
    let servers = [(); 3].map(|()| server("none", &keys.files()));
    let relays: Vec<Relay> = servers.iter().map(|server| Relay::to(server.address())).collect();
    let addresses: Vec<SocketAddr> = relays.iter().map(|relay| relay.address).collect();
    let client = client("none,per-request", &keys.files(), &addresses);
    block_on(async {
        for _ in 0..30 {
            echo(&client, "{}").await.unwrap();
        }
        let counts: Vec<usize> = relays.iter().map(Relay::connections).collect();
        assert_eq!(counts, [10, 10, 10]);
        relays[1].set(Way::Close);
        for _ in 0..30 {
            echo(&client, "{}").await.unwrap();
        }
        assert!(relays[1].connections() < 15, "it is avoided: {}", relays[1].connections());
    });
    for server in servers {
        server.shutdown();
    }
}

#[test]
fn whatever_a_server_does_a_call_ends_within_its_deadline_with_the_cause() {
    let keys = Keys::new();
    let server = server("none", &keys.files());
    for text in ["none,persistent", "none,per-request"] {
        for (way, kind, expected) in [
            (Way::Close, Kind::NoAnswer, "the connection broke before the answer"),
            (Way::LoseAnswer, Kind::NoAnswer, "the connection broke before the answer"),
            (Way::Junk, Kind::NoAnswer, "the connection broke before the answer"),
            (Way::Silence, Kind::NoAnswer, "did not answer within 1500 ms"),
        ] {
            let relay = Relay::to(server.address());
            relay.set(way);
            let client = client(text, &keys.files(), &[relay.address]);
            let begin = Instant::now();
            let error = fails(&client);
            assert!(begin.elapsed() < DEADLINES.whole + Duration::from_secs(5), "{way:?}");
            assert_eq!(error.kind, kind, "{way:?}: {error}");
            assert!(error.to_string().contains(expected), "{way:?}: {error}");
            assert!(error.kind.may_be_done());
            relay.set(Way::Pass);
            block_on(echo(&client, "{}")).unwrap();
        }
    }
    server.shutdown();
}

#[test]
fn an_address_that_takes_no_connection_is_told_after_the_deadline_for_it() {
    let keys = Keys::new();
    // A listener whose queue is full takes no further connection.
    let listener =
        socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    listener.bind(&"127.0.0.1:0".parse::<SocketAddr>().unwrap().into()).unwrap();
    listener.listen(0).unwrap();
    let address = listener.local_addr().unwrap().as_socket().unwrap();
    let _filling: Vec<_> = (0..8)
        .filter_map(|_| TcpStream::connect_timeout(&address, Duration::from_millis(50)).ok())
        .collect();
    let error = fails(&client("none", &keys.files(), &[address]));
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    assert!(error.to_string().contains("no connection within 500 ms"), "{error}");
}

#[test]
fn both_ends_must_be_configured_alike_and_the_error_says_so() {
    let keys = Keys::new();
    for (of_server, of_client, kinds, expected) in [
        ("tls", "none", &[Kind::NoAnswer, Kind::Unusable][..], ""),
        ("none", "tls", &[Kind::Unreachable][..], "is the link `tls` on both sides?"),
        ("sealed", "none", &[Kind::Refused][..], "its log names the reason"),
        ("none", "sealed", &[Kind::Unusable][..], "the link configured otherwise?"),
        ("sealed", "tls", &[Kind::Unreachable][..], "is the link `tls` on both sides?"),
        ("tls", "sealed", &[Kind::NoAnswer, Kind::Unusable][..], ""),
    ] {
        let server = server(of_server, &keys.files());
        let error = fails(&client(of_client, &keys.files(), &[server.address()]));
        assert!(kinds.contains(&error.kind), "{of_server} {of_client}: {error:?}");
        assert!(error.to_string().contains(expected), "{of_server} {of_client}: {error}");
        server.shutdown();
    }
}

#[test]
fn a_certificate_must_be_of_the_ca_and_name_the_tier() {
    let (keys, others) = (Keys::new(), Keys::new());
    // One that the same CA made for another tier, in place of the right one.
    let swap = |keys: &Keys, tier: &str| {
        let folder = keys.folder.path().join("ca");
        for end in [".pem", "-key.pem"] {
            std::fs::rename(
                folder.join(format!("other{end}")),
                folder.join(format!("{tier}{end}")),
            )
            .unwrap();
        }
    };
    let serving = server("tls", &keys.files());
    let stranger = fails(&client("tls", &others.files(), &[serving.address()]));
    assert_eq!(stranger.kind, Kind::Unreachable, "{stranger}");
    assert!(stranger.to_string().contains("invalid peer certificate"), "{stranger}");

    let good = client("tls", &keys.files(), &[serving.address()]);
    block_on(echo(&good, "{}")).unwrap();
    let impostor = Keys::new();
    // The impostor has the CA of the server, and a certificate of it for another tier.
    let from = keys.folder.path().join("ca");
    for file in ["ca.pem", "other.pem", "other-key.pem"] {
        std::fs::copy(from.join(file), impostor.folder.path().join("ca").join(file)).unwrap();
    }
    swap(&impostor, "front");
    let error = fails(&client("tls", &impostor.files(), &[serving.address()]));
    assert_eq!(error.kind, Kind::Refused, "{error}");
    assert!(error.to_string().contains("refuses this tier's certificate"), "{error}");
    serving.shutdown();

    swap(&keys, "back");
    let impostor = server("tls", &keys.files());
    let error = fails(&client("tls", &keys.files(), &[impostor.address()]));
    assert_eq!(error.kind, Kind::Unreachable, "{error}");
    assert!(error.to_string().contains("back.tier.internal"), "{error}");
    impostor.shutdown();
}

#[test]
fn an_expired_certificate_is_refused_at_both_ends() {
    let folder = tempfile::tempdir().unwrap();
    let day = 86_400;
    let now = i64::try_from(
        std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap().as_secs(),
    )
    .unwrap();
    let ca = Authority::new(now).unwrap();
    let write = |tier: &str, from: i64, until: i64| {
        let issued = ca.issue(tier, from, until).unwrap();
        std::fs::write(folder.path().join(format!("{tier}.pem")), issued.certificate).unwrap();
        let key = folder.path().join(format!("{tier}-key.pem"));
        std::fs::write(&key, issued.key).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    };
    std::fs::write(folder.path().join("ca.pem"), ca.certificate()).unwrap();
    let files = Files { certificates: Some(folder.path().into()), keys: None };
    write("back", now - day, now + day);
    write("front", now - 2 * day, now - day);
    let serving = server("tls", &files);
    let error = fails(&client("tls", &files, &[serving.address()]));
    assert_eq!(error.kind, Kind::Refused, "{error}");
    serving.shutdown();

    write("front", now - day, now + day);
    write("back", now - 2 * day, now - day);
    let serving = server("tls", &files);
    let error = fails(&client("tls", &files, &[serving.address()]));
    assert_eq!(error.kind, Kind::Unreachable);
    assert!(error.to_string().contains("expired"), "{error}");
    assert!(error.to_string().contains("--make-ca"), "{error}");
    serving.shutdown();
}

#[test]
fn a_key_of_the_same_name_but_another_secret_is_refused() {
    let (keys, others) = (Keys::new(), Keys::new());
    let server = server("sealed", &keys.files());
    let error = fails(&client("sealed", &others.files(), &[server.address()]));
    assert_eq!(error.kind, Kind::Refused, "{error}");
    assert!(error.to_string().contains("refuses the message; its log names the reason"));
    server.shutdown();
}

#[test]
fn a_sealed_message_that_is_altered_relayed_or_replayed_is_refused() {
    let keys = Keys::new();
    let side = ServerSide::new(spec("sealed"), &keys.files(), "back", "front").unwrap();
    let server = serve(&side);
    let address = server.address();
    let relay = Relay::to(address);
    let client = client("sealed,per-request", &keys.files(), &[relay.address]);
    let relayed = fails(&client);
    assert_eq!(relayed.kind, Kind::Refused, "it was sent to another address: {relayed}");
    server.shutdown();

    let server = serve_at(address, &side.known_as(&[relay.address.to_string()]));
    relay.set(Way::Alter);
    assert_eq!(fails(&client).kind, Kind::Refused);
    relay.set(Way::Pass);
    let before = relay.sent().len();
    block_on(echo(&client, "{}")).unwrap();
    let recorded = relay.sent().split_off(before);
    for _ in 0..2 {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.write_all(&recorded).unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).unwrap();
        assert!(answer.starts_with("HTTP/1.1 403"), "{answer}");
        assert!(answer.ends_with("\r\n\r\nrefused\n"), "nobody is told why: {answer}");
    }
    server.shutdown();
}

#[test]
fn an_altered_answer_is_not_believed() {
    let keys = Keys::new();
    let server = server("sealed", &keys.files());
    let recorded = {
        // What an answer to another request looks like.
        let client = client("sealed", &keys.files(), &[server.address()]);
        block_on(echo(&client, "{}")).unwrap();
        b"HTTP/1.1 200 OK\r\ncontent-type: application/vnd.tidegate.sealed\r\n\
          content-length: 60\r\n\r\n"
            .iter()
            .copied()
            .chain([1, 3, b'o', b'n', b'e'])
            .chain([7; 55])
            .collect::<Vec<u8>>()
    };
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        let _ = stream.read(&mut [0; 4096]);
        let _ = stream.write_all(&recorded);
    });
    let error = fails(&client("sealed", &keys.files(), &[address]));
    assert_eq!(error.kind, Kind::Unusable, "{error}");
    assert!(error.to_string().contains("its answer does not open"), "{error}");
    server.shutdown();
}

#[test]
fn an_answer_that_is_too_long_or_of_no_tier_is_refused() {
    let keys = Keys::new();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for answer in [
            "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\ncontent-length: 2\r\n\r\nhi",
            "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\ncontent-length: 99000000\r\n\r\n{",
        ] {
            let (mut stream, _) = listener.accept().unwrap();
            let _ = stream.read(&mut [0; 4096]);
            let _ = stream.write_all(answer.as_bytes());
            if answer.contains("json") {
                while stream.write_all(&[b' '; 65536]).is_ok() {}
            }
        }
    });
    let client = client("none,per-request", &keys.files(), &[address]);
    let error = fails(&client);
    assert_eq!(error.kind, Kind::Unusable, "{error}");
    assert!(error.to_string().contains("text/html"), "{error}");
    let error = fails(&client);
    assert!(error.to_string().contains("longer than 4 MiB"), "{error}");
}

/// Sends bytes and reads till the end.
fn raw(address: SocketAddr, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(30))).unwrap();
    let _ = stream.write_all(bytes);
    // Nothing more comes: a server need not wait for the rest.
    let _ = stream.shutdown(std::net::Shutdown::Write);
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

#[test]
fn files_that_cannot_be_used_are_named_with_the_remedy() {
    let keys = Keys::new();
    let none = Files::default();
    let complain = |text: &str, files: &Files| {
        let client = ClientSide::new(spec(text), files, "front", "back").map(drop);
        let server = ServerSide::new(spec(text), files, "front", "back").map(drop);
        let lines = [client, server].map(|result| result.unwrap_err().to_string());
        assert_eq!(lines[0], lines[1], "both ends say the same");
        lines[0].clone()
    };
    assert!(complain("tls", &none).contains("--make-ca DIR"));
    assert!(complain("sealed", &none).contains("--make-key FILE"));
    let key = keys.folder.path().join("key.json");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o640)).unwrap();
    let line = complain("sealed", &keys.files());
    assert!(line.contains("key.json") && line.contains("chmod 600"), "{line}");
    let key = keys.folder.path().join("ca/front-key.pem");
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(complain("tls", &keys.files()).contains("chmod 600"));
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::copy(keys.folder.path().join("ca/back-key.pem"), &key).unwrap();
    let line = complain("tls", &keys.files());
    assert!(line.contains("front.pem and") && line.contains("--make-ca"), "{line}");
    std::fs::remove_file(keys.folder.path().join("ca/ca.pem")).unwrap();
    assert!(complain("tls", &keys.files()).contains("ca.pem"));
}

#[test]
fn an_address_without_a_port_and_no_address_at_all_are_named() {
    let side = || ClientSide::new(spec("none"), &Files::default(), "front", "back").unwrap();
    let complain = |addresses: &[&str]| {
        let addresses: Vec<String> = addresses.iter().map(|text| (*text).into()).collect();
        Client::new(side(), &addresses, DEADLINES).unwrap_err().to_string()
    };
    assert!(complain(&[]).contains("name the address of the back tier"));
    assert!(complain(&["localhost"]).contains("must be an address and a port"));
    assert!(complain(&["a:b"]).contains("must be an address and a port"));
}
