//! The brokerage over TLS as browsers reach it, and what its log tells of who signs in.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::path::Path;
use std::process::{Command, Stdio};

use tidegate_sitekit::link::authority::Authority;

use crate::common::tiers::{Customer, Tier};
use crate::common::{Text, curl, private, tidegate, wait_until};

fn all(folder: &Path, more: &[&str]) -> Tier {
    let data = folder.join("data").display().to_string();
    let fixed = ["--listen", "127.0.0.1:0", "--customers", "10", "--password-cost", "light"];
    Tier::start(folder, "all", &[&fixed[..], &["--data", &data], more].concat())
}

/// A TLS handshake by openssl with these options: whether it succeeds, and what it says.
fn handshake(address: &str, options: &[&str]) -> (bool, String) {
    let output = Command::new("openssl")
        .args(["s_client", "-connect", address, "-servername", "localhost"])
        .args(options)
        .stdin(Stdio::null())
        .output()
        .unwrap_or_else(|error| panic!("openssl: {error}; scripts/bootstrap test installs it"));
    (output.status.success(), output.stdout_text() + &output.stderr_text())
}

/// What a server answers to a ClientHello of a TLS version as old as this one.
fn old_hello(address: &str, version: [u8; 2]) -> Vec<u8> {
    // One suite (RSA with AES-128-CBC and SHA-1), no compression, no extension.
    let body = [&version[..], &[7; 32], &[0, 0, 2, 0x00, 0x2f, 1, 0]].concat();
    let length = u8::try_from(body.len()).unwrap();
    let record = [&[0x16, 3, 1, 0, length + 4, 1, 0, 0, length], &body[..]].concat();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.write_all(&record).unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    answer
}

#[test]
fn browsers_are_offered_tls_1_3_and_1_2_with_authenticated_ciphers_and_nothing_older() {
    let folder = tempfile::tempdir().unwrap();
    let site = all(folder.path(), &["--security", "modern"]);
    let address = site.address.trim_start_matches("https://");
    let (done, text) = handshake(address, &[]);
    assert!(done && text.contains("New, TLSv1.3"), "the newest is preferred: {text}");
    let (done, text) = handshake(address, &["-tls1_2"]);
    assert!(done && text.contains("New, TLSv1.2"), "{text}");
    // TLS 1.1, 1.0 and SSL 3: a fatal alert, protocol_version or handshake_failure.
    for version in [[3, 2], [3, 1], [3, 0]] {
        let answer = old_hello(address, version);
        assert_eq!(answer.first(), Some(&21), "{version:?}: {answer:?}");
        assert!(answer.get(5) == Some(&2) && [40, 70].contains(&answer[6]), "{answer:?}");
    }
    // Ciphers with CBC, without forward secrecy, or without encryption.
    for ciphers in ["ECDHE-ECDSA-AES128-SHA:ECDHE-RSA-AES128-SHA256", "AES128-GCM-SHA256", "NULL"] {
        let weak = format!("{ciphers}:@SECLEVEL=0");
        let (done, text) = handshake(address, &["-tls1_2", "-cipher", &weak]);
        assert!(!done, "{ciphers}: {text}");
        assert!(text.contains("alert"), "the server refuses it: {text}");
    }
}

#[test]
fn a_port_with_tls_answers_nothing_in_the_clear_and_sends_browsers_there_for_a_year() {
    let folder = tempfile::tempdir().unwrap();
    let site = all(folder.path(), &["--security", "tls"]);
    let address = site.address.trim_start_matches("https://").to_owned();
    let mut stream = TcpStream::connect(&address).unwrap();
    stream.write_all(b"GET /login HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").unwrap();
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let text = String::from_utf8_lossy(&answer);
    assert!(!text.contains("HTTP/1.1") && !text.contains("html"), "{text}");
    for path in ["/", "/login", "/nowhere", "/healthz", "/static/style.css"] {
        let head = curl(&["--include", &format!("{}{path}", site.address)]).stdout_text();
        let lower = head.to_lowercase();
        assert!(lower.contains("strict-transport-security: max-age=31536000"), "{path}: {head}");
    }
    let fields = ["--include", "--data", "user=customer1&password=password1"];
    let head = curl(&[&fields[..], &[&format!("{}/login", site.address)]].concat()).stdout_text();
    assert!(head.contains("__Host-session=") && head.contains("; Secure"), "{head}");
}

#[test]
fn flags_of_tls_without_tls_are_a_mistake_and_not_plain_http() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let (certificate, key, data) = (file("shop.pem"), file("shop-key.pem"), file("data"));
    let named = ["--certificate", &certificate, "--key", &key];
    // Nothing listens at --next, and no tier is started.
    let web = ["--tier", "web", "--next", "127.0.0.1:1"];
    for (flags, told) in [(&named[..], "--certificate"), (&["--tls", "1.3"], "--tls")] {
        for tiers in [&[][..], &web] {
            let fixed = ["site", "brokerage", "--listen", "127.0.0.1:0", "--data", &data];
            let output = tidegate(&[&fixed[..], tiers, flags].concat());
            let error = output.stderr_text();
            assert_eq!(output.status.code(), Some(2), "{error}");
            assert!(error.contains(told) && error.contains("add --security tls"), "{error}");
        }
    }
    assert!(!folder.path().join("data").exists());
}

#[test]
fn browsers_see_the_certificate_that_the_operator_names() {
    let folder = tempfile::tempdir().unwrap();
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH).unwrap();
    let now = now.as_secs().cast_signed();
    let authority = Authority::new(now).unwrap();
    let issued = authority.issue("shop", now - 3600, now + 3600).unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (ca, certificate, key) = (path("ca.pem"), path("shop.pem"), path("shop-key.pem"));
    std::fs::write(&ca, authority.certificate()).unwrap();
    std::fs::write(&certificate, issued.certificate).unwrap();
    private(Path::new(&key), &issued.key);
    let site =
        all(folder.path(), &["--security", "tls", "--certificate", &certificate, "--key", &key]);
    let address = site.address.trim_start_matches("https://").to_owned();
    let port = address.rsplit_once(':').unwrap().1;
    let url = format!("https://shop.tier.internal:{port}/");
    let to = format!("shop.tier.internal:{port}:127.0.0.1");
    // Without --insecure: the chain and the name are checked.
    let fetch = |ca: &str| {
        Command::new("curl")
            .args(["--silent", "--max-time", "20", "--resolve", &to, "--cacert", ca])
            .args(["--output", "/dev/null", "--write-out", "%{http_code}", &url])
            .output()
            .unwrap()
    };
    assert_eq!(fetch(&ca).stdout_text(), "200");
    let other = path("other.pem");
    std::fs::write(&other, Authority::new(now).unwrap().certificate()).unwrap();
    assert_eq!(fetch(&other).status.code(), Some(60), "another authority's is not accepted");
}

#[test]
fn the_log_tells_who_signed_in_and_who_did_not_and_holds_no_secret() {
    let folder = tempfile::tempdir().unwrap();
    let app_at = tidegate_lab::free_address().unwrap().to_string();
    let store = folder.path().join("data").display().to_string();
    let light = ["--password-cost", "light"];
    let data_args =
        ["--tier", "data", "--listen", "127.0.0.1:0", "--data", &store, "--customers", "10"];
    let data = Tier::start(folder.path(), "data", &[&data_args[..], &light].concat());
    let app_args = ["--tier", "app", "--listen", &app_at, "--next", &data.address];
    let app = Tier::start(folder.path(), "app", &[&app_args[..], &light].concat());
    let web = Tier::start(
        folder.path(),
        "web",
        &["--tier", "web", "--listen", "127.0.0.1:0", "--next", &app_at],
    );
    let url = format!("{}/login", web.address);
    let login = |user: &str, password: &str| {
        let fields = format!("user={user}&password={password}");
        let from = ["--header", "X-Forwarded-For: 192.0.2.9"];
        curl(&[&from[..], &["--output", "/dev/null", "--data", &fields, &url]].concat());
    };
    // A password in the field of the name, which happens.
    login("tr0ubadour+%22%3B", "x");
    wait_until("the log tells of a name that nobody has", || {
        app.log().contains("a password was wrong client=192.0.2.9 user=\"(nobody has this name)\"")
    });
    std::thread::sleep(std::time::Duration::from_millis(1100));
    login("customer1", "hunter2hunter2");
    wait_until("the log tells of a wrong password", || {
        app.log().contains("a password was wrong client=192.0.2.9 user=\"customer1\"")
    });
    for _ in 0..200 {
        login("customer1", "hunter2hunter2");
    }
    wait_until("the log tells of a guesser", || {
        app.log().contains("an attempt to sign in is refused: too many failed client=192.0.2.9")
    });
    let customer = Customer::sign_in(&web.address, folder.path(), 2);
    wait_until("the log tells of a customer", || {
        app.log().contains("a customer has signed in client=127.0.0.1")
    });
    let form = customer.form().unwrap();
    let fields = format!("form={form}&password=password2&new=gravel+teapot+nineteen");
    assert_eq!(customer.post("/password", &fields).status, 200);
    wait_until("the log tells of the change", || {
        app.log().contains("a password was changed; the customer's other sessions ended")
    });
    assert_eq!(customer.post("/logout", "form=x").status, 403);
    wait_until("the log tells of a form", || {
        web.log().contains("a form of another session is refused")
    });
    let cookies = std::fs::read_to_string(folder.path().join("cookies-2")).unwrap();
    let session = cookies.split_whitespace().last().unwrap();
    assert_eq!(session.len(), 43, "{cookies}");
    for log in [app.log(), web.log(), data.log()] {
        for secret in ["hunter2", "tr0ubadour", "password1", "teapot", session, &form] {
            assert!(!log.contains(secret), "{secret} is in {log}");
        }
        assert!(log.lines().count() < 60, "{} lines: {log}", log.lines().count());
    }
}
