//! The brokerage's protected links and open ports, attacked: junk, wrong keys and
//! certificates, messages sent again or altered.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use rand::{RngExt as _, SeedableRng as _, rngs::StdRng};
use tidegate_sitekit::database::Location;
use tidegate_sitekit::link::authority::Authority;

use crate::common::tiers::{Customer, Tier, counts};
use crate::common::{PATIENCE, Text, tidegate, wait_until};
use crate::relay::{Relay, Way};

const LIGHT: [&str; 4] = ["--password-cost", "light", "--listen", "127.0.0.1:0"];

fn text(path: &Path) -> String {
    path.display().to_string()
}

/// Runs a command of `site brokerage` that makes files.
fn make(args: &[&str]) {
    let output = tidegate(&[&["site", "brokerage"], args].concat());
    assert_eq!(output.status.code(), Some(0), "{}", output.stderr_text());
}

fn tier(folder: &Path, name: &str, args: &[&str]) -> Tier {
    Tier::start(
        folder,
        name,
        &[&["--tier", &name[..name.find('-').unwrap_or(name.len())]], &LIGHT[..], args].concat(),
    )
}

/// Sends bytes to a port and returns what comes back until the other end closes. What is no
/// whole request ends there: a server need not wait for the rest.
fn throw(address: &str, bytes: &[u8]) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    // One that refuses early may close before all is written.
    let _ = stream.write_all(bytes);
    if !bytes.windows(4).any(|end| end == b"\r\n\r\n") {
        let _ = stream.shutdown(std::net::Shutdown::Write);
    }
    let mut answer = Vec::new();
    match stream.read_to_end(&mut answer) {
        Err(error) if error.kind() == std::io::ErrorKind::WouldBlock => {
            panic!("{address} neither answers nor closes")
        }
        _ => String::from_utf8_lossy(&answer).into_owned(),
    }
}

/// A call with this body.
fn post(path: &str, kind: &str, body: &[u8]) -> Vec<u8> {
    let head = format!(
        "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\n\
         content-length: {}\r\n\r\n",
        body.len()
    );
    [head.as_bytes(), body].concat()
}

/// A body in chunks that never ends; returns how much was taken.
fn endless(address: &str) -> usize {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_write_timeout(Some(PATIENCE)).unwrap();
    let head = "POST /sign-in HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    let chunk = [&b"10000\r\n"[..], &[b' '; 0x10000], b"\r\n"].concat();
    let mut sent = stream.write(head.as_bytes()).unwrap();
    while sent < 64 << 20 {
        match stream.write(&chunk) {
            Ok(length) if length > 0 => sent += length,
            _ => return sent,
        }
    }
    sent
}

#[test]
fn junk_on_any_port_is_bounded_told_and_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| text(&folder.path().join(name));
    make(&["--make-ca", &path("ca")]);
    make(&["--make-key", &path("key.json")]);
    let (ca, key, data_folder) = (path("ca"), path("key.json"), path("data"));
    let tls = ["--app-data", "tls", "--certificates", &ca];
    let data = tier(
        folder.path(),
        "data",
        &[&tls[..], &["--data", &data_folder, "--customers", "10"]].concat(),
    );
    let sealed = ["--web-app", "sealed", "--web-app-key", &key];
    let app = tier(
        folder.path(),
        "app",
        &[&tls[..], &sealed, &["--next", &data.address, "--feed-interval", "3600000"]].concat(),
    );
    let web = tier(
        folder.path(),
        "web",
        &[&sealed[..], &["--next", &app.address, "--security", "tls"]].concat(),
    );
    let site = web.address.trim_start_matches("https://");

    let customer = Customer::sign_in(&web.address, folder.path(), 1);
    let form = customer.form().unwrap();
    let mut random = StdRng::seed_from_u64(7);
    let noise: Vec<u8> = (0..4096).map(|_| random.random()).collect();
    let hello = [&b"\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03"[..], &noise[..505]].concat();
    let long = format!("GET /{} HTTP/1.1\r\nhost: x\r\n\r\n", "a".repeat(100_000));
    let field = format!("GET / HTTP/1.1\r\nhost: x\r\nx: {}\r\n\r\n", "a".repeat(100_000));
    let junk: Vec<Vec<u8>> = vec![
        Vec::new(),
        b"junk\r\n\r\n".to_vec(),
        noise.clone(),
        hello,
        b"GET / HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n".to_vec(),
        b"GET / HTT".to_vec(),
        long.into_bytes(),
        field.into_bytes(),
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".to_vec(),
        post("/sign-in", "application/json", b"{\"user\":5}"),
        post("/sign-in", "application/json", &noise),
        post("/sign-in", "application/vnd.tidegate.sealed", &noise),
        post("/sign-in", "application/vnd.tidegate.sealed", b"\x01\x20"),
    ];
    let begun = Instant::now();
    for address in [site, &app.address, &data.address] {
        for bytes in &junk {
            let answer = throw(address, bytes);
            for secret in ["panicked", "src/", "hyper", "rustls", "0.1."] {
                assert!(!answer.contains(secret), "{address}: {answer}");
            }
        }
        let taken = endless(address);
        assert!(taken < 16 << 20, "{address} took {taken} bytes");
    }
    // A crowd that says nothing takes no place from customers.
    let idle: Vec<TcpStream> = [site, &app.address, &data.address]
        .into_iter()
        .flat_map(|address| (0..50).map(move |_| TcpStream::connect(address).unwrap()))
        .collect();
    for address in [&app.address, &data.address] {
        for _ in 0..300 {
            throw(address, b"junk\r\n\r\n");
        }
    }
    assert_eq!(customer.get("/main").status, 200);
    assert_eq!(customer.order(&form, "order-0001", "buy", 1, "1.00").status, 200);
    drop(idle);
    for (tier, causes) in [
        (&web, &["a TLS handshake failed"][..]),
        (&app, &["what arrived is not HTTP", "is not a sealed message"]),
        (&data, &["a TLS handshake failed"]),
    ] {
        let log = tier.log();
        for cause in causes {
            assert!(log.contains(cause), "{cause} is not in {log}");
        }
        assert!(log.lines().count() < 60, "{} lines: {log}", log.lines().count());
        assert!(!log.contains("panicked"), "{log}");
        assert!(!log.contains(&"a".repeat(50)), "what strangers send is not in it: {log}");
    }
    // Of what anybody can send there is a line of each kind in a minute.
    let most = 1 + begun.elapsed().as_secs() as usize / 60;
    let lines = web.log().matches("a TLS handshake failed").count();
    assert!((1..=most).contains(&lines), "{lines} of at most {most}: {}", web.log());
    assert_eq!((web.end(), app.end(), data.end()), (Some(0), Some(0), Some(0)));
    let location = Location::Sqlite(folder.path().join("data/brokerage.db"));
    let sql = "SELECT COUNT(*) FROM orders WHERE client_id = 'order-0001'";
    assert_eq!(counts(&location, [sql]), [1]);
}

#[test]
fn junk_in_calls_that_are_not_protected_is_told_by_its_kind() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = tidegate_lab::free_address().unwrap().to_string();
    let app = tier(folder.path(), "app", &["--next", &nowhere, "--feed-interval", "3600000"]);
    for (bytes, answer) in [
        (post("/sign-in", "application/json", b"{\"user\":5}"), "HTTP/1.1 400"),
        (post("/sign-in", "application/json", b"not json"), "HTTP/1.1 400"),
        (post("/nothing", "application/json", b"{}"), "HTTP/1.1 404"),
        (post("/sign-in", "application/json", &vec![b' '; 2 << 20]), "HTTP/1.1 413"),
    ] {
        for _ in 0..20 {
            let found = throw(&app.address, &bytes);
            assert!(found.starts_with(answer), "{answer}: {found}");
        }
    }
    let log = app.log();
    assert!(log.contains("The request of sign-in is not of its schema"), "{log}");
    assert!(log.contains("a call is longer than 1 MiB"), "{log}");
    assert!(log.lines().count() < 30, "{log}");
    let web = tier(folder.path(), "web", &["--next", &app.address]);
    for _ in 0..20 {
        throw(web.address.trim_start_matches("http://"), b"junk\r\n\r\n");
    }
    wait_until("the web tier tells", || web.log().contains("what arrived is not HTTP"));
    assert_eq!(web.log().matches("what arrived is not HTTP").count(), 1, "{}", web.log());
}

/// A folder with certificates for all tiers of which one is no longer valid.
fn certificates(folder: &Path, expired: &str) {
    std::fs::create_dir_all(folder).unwrap();
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs().cast_signed();
    let day = 86_400;
    let ca = Authority::new(now).unwrap();
    std::fs::write(folder.join("ca.pem"), ca.certificate()).unwrap();
    for tier in ["web", "app", "data"] {
        let until = if tier == expired { now - day } else { now + day };
        let issued = ca.issue(tier, now - 2 * day, until).unwrap();
        std::fs::write(folder.join(format!("{tier}.pem")), issued.certificate).unwrap();
        let key = folder.join(format!("{tier}-key.pem"));
        std::fs::write(&key, issued.key).unwrap();
        std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o600)).unwrap();
    }
}

#[test]
fn a_wrong_or_expired_certificate_is_named_at_both_ends_and_pages_say_that_nothing_was_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    certificates(&path("one"), "");
    certificates(&path("two"), "");
    certificates(&path("old-data"), "data");
    certificates(&path("old-app"), "app");
    for (name, of_data, of_app, in_app, in_data) in [
        ("ca", "one", "two", "invalid peer certificate", "a TLS handshake failed"),
        ("data", "old-data", "old-data", "expired", "a TLS handshake failed"),
        ("app", "old-app", "old-app", "refuses this tier's certificate", "expired"),
    ] {
        let (of_data, of_app) = (text(&path(of_data)), text(&path(of_app)));
        let (data_name, app_name) = (format!("data-{name}"), format!("app-{name}"));
        let store = text(&path(&format!("store-{name}")));
        let data = tier(
            folder.path(),
            &data_name,
            &[
                "--app-data",
                "tls",
                "--certificates",
                &of_data,
                "--data",
                &store,
                "--customers",
                "10",
            ],
        );
        let app = tier(
            folder.path(),
            &app_name,
            &[
                "--app-data",
                "tls",
                "--certificates",
                &of_app,
                "--next",
                &data.address,
                "--feed-interval",
                "50",
            ],
        );
        let web = tier(folder.path(), &format!("web-{name}"), &["--next", &app.address]);
        let customer = Customer::sign_in(&web.address, folder.path(), 1);
        let page = customer.post("/login", "user=customer1&password=password1");
        assert_eq!(page.status, 503, "{name}: {}", page.text);
        assert!(page.text.contains("Nothing was changed"), "{name}: {}", page.text);
        wait_until(&format!("both logs name the cause: {in_app}, {in_data}"), || {
            app.log().contains(in_app) && data.log().contains(in_data)
        });
        // The feed tries again with each tick, twenty times in a second.
        std::thread::sleep(Duration::from_secs(1));
        for tier in [&app, &data] {
            assert!(tier.log().lines().count() < 20, "{}", tier.log());
        }
        assert_eq!((web.end(), app.end(), data.end()), (Some(0), Some(0), Some(0)));
    }
}

#[test]
fn files_of_keys_that_others_can_read_are_refused_at_the_start() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    certificates(&path("ca"), "");
    make(&["--make-key", &text(&path("key.json"))]);
    let (ca, key) = (text(&path("ca")), text(&path("key.json")));
    for file in [path("ca/app-key.pem"), path("key.json")] {
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o644)).unwrap();
    }
    for link in [
        &["--app-data", "tls", "--certificates", &ca][..],
        &["--app-data", "sealed", "--app-data-key", &key],
    ] {
        let args =
            [&["site", "brokerage", "--tier", "app", "--next", "127.0.0.1:9"], &LIGHT[..], link];
        let output = tidegate(&args.concat());
        let told = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{told}");
        assert!(told.contains("others may read it") && told.contains("chmod 600"), "{told}");
    }
    // The key of the certificate for browsers: its group may read it, and nobody else.
    let (certificate, key) = (text(&path("ca/web.pem")), text(&path("ca/web-key.pem")));
    let tier = ["site", "brokerage", "--tier", "web", "--next", "127.0.0.1:9", "--security", "tls"];
    let files = ["--listen", "127.0.0.1:0", "--certificate", &certificate, "--key", &key];
    std::fs::set_permissions(&key, std::fs::Permissions::from_mode(0o644)).unwrap();
    let output = tidegate(&[&tier[..], &files].concat());
    let told = output.stderr_text();
    assert_eq!(output.status.code(), Some(2), "{told}");
    assert!(told.contains("--key") && told.contains("chmod 600"), "{told}");
}

#[test]
fn sealed_messages_that_are_altered_cut_or_sent_again_are_refused_and_done_once() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| text(&folder.path().join(name));
    make(&["--make-key", &path("key.json")]);
    let (key, store) = (path("key.json"), path("data"));
    let data = tier(folder.path(), "data", &["--data", &store, "--customers", "10"]);
    let address = tidegate_lab::free_address().unwrap();
    let relay = Relay::to(address);
    let (listen, known_as) = (address.to_string(), relay.address.to_string());
    let start = || {
        let args = ["--tier", "app", "--listen", &listen, "--password-cost", "light"];
        let sealed = ["--web-app", "sealed,per-request", "--web-app-key", &key];
        let more = ["--known-as", &known_as, "--next", &data.address, "--feed-interval", "3600000"];
        Tier::start(folder.path(), "app", &[&args[..], &sealed, &more].concat())
    };
    let app = start();
    let sealed = ["--web-app", "sealed,per-request", "--web-app-key", &key];
    let web = tier(folder.path(), "web", &[&sealed[..], &["--next", &known_as]].concat());
    let customer = Customer::sign_in(&web.address, folder.path(), 1);
    let form = customer.form().unwrap();
    let before = relay.sent().len();
    assert_eq!(customer.order(&form, "order-0001", "buy", 1, "1.00").status, 200);
    let recorded = relay.sent().split_off(before);

    relay.set(Way::Alter);
    let page = customer.order(&form, "order-0002", "buy", 1, "1.00");
    assert_eq!(page.status, 503, "{}", page.text);
    assert!(page.text.contains("It was not accepted."), "{}", page.text);
    relay.set(Way::Pass);
    wait_until("the log names it", || app.log().contains("it does not open: altered"));
    let named = "refuses the message; its log names the reason";
    wait_until("the other log names it", || web.log().contains(named));

    // Between two lines of refused messages is a second.
    let pause = || std::thread::sleep(Duration::from_millis(1100));
    let refused = |bytes: &[u8], cause: &str| {
        pause();
        let answer = throw(&listen, bytes);
        assert!(answer.starts_with("HTTP/1.1 403"), "{cause}: {answer}");
        assert!(answer.ends_with("\r\n\r\nrefused\n"), "nobody is told why: {answer}");
        wait_until(cause, || app_log(folder.path()).contains(cause));
    };
    refused(&recorded, "it was received before");
    let head = recorded.windows(4).position(|end| end == b"\r\n\r\n").unwrap() + 4;
    let path_of = "/create-order";
    let kind = "application/vnd.tidegate.sealed";
    refused(&post(path_of, kind, &recorded[head..head + 30]), "it is not a sealed message");
    let other = post("/cancel-order", kind, &recorded[head..]);
    refused(&other, "a message to /cancel-order is refused: it does not open");
    app.kill();
    let app = start();
    refused(&recorded, "it is from before this process started");
    drop((web, app, data));
    let location = Location::Sqlite(folder.path().join("data/brokerage.db"));
    let sql = "SELECT COUNT(*) FROM orders WHERE client_id LIKE 'order-000%'";
    assert_eq!(counts(&location, [sql]), [1]);
}

fn app_log(folder: &Path) -> String {
    std::fs::read_to_string(folder.join("app.log")).unwrap()
}

#[test]
fn a_key_of_the_same_name_with_another_secret_is_told_and_nothing_is_done() {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    for file in ["here.json", "there.json"] {
        make(&["--make-key", &text(&path(file))]);
    }
    let read = |file: &str| -> serde_json::Value {
        serde_json::from_slice(&std::fs::read(path(file)).unwrap()).unwrap()
    };
    let (here, mut there) = (read("here.json"), read("there.json"));
    there["keys"][0]["name"] = here["keys"][0]["name"].clone();
    std::fs::write(path("there.json"), there.to_string()).unwrap();
    let nowhere = tidegate_lab::free_address().unwrap().to_string();
    let (here, there) = (text(&path("here.json")), text(&path("there.json")));
    let app = tier(
        folder.path(),
        "app",
        &["--web-app", "sealed", "--web-app-key", &here, "--next", &nowhere],
    );
    let web = tier(
        folder.path(),
        "web",
        &["--web-app", "sealed", "--web-app-key", &there, "--next", &app.address],
    );
    let customer = Customer::sign_in(&web.address, folder.path(), 1);
    let page = customer.post("/login", "user=customer1&password=password1");
    assert_eq!(page.status, 503, "{}", page.text);
    assert!(page.text.contains("Nothing was changed"), "{}", page.text);
    wait_until("the log names it", || app.log().contains("of another key of the same name"));
}
