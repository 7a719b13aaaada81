//! What every page and response promises, whoever asks: docs/brokerage-security.md lists it by
//! the numbers of OWASP ASVS.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;
use std::time::Duration;

use tidegate_brokerage::protocol::SessionToken;

use crate::browser::{Answer, Browser, between, hidden};
use crate::world::{Customer, World, buy};

/// Pages of customers who are signed in.
pub const PAGES: [&str; 7] =
    ["/main", "/portfolio", "/orders", "/orders/new", "/history", "/deposits", "/password"];

/// All pages, as a customer who is signed in has them.
fn pages(customer: &Customer) -> Vec<(&'static str, Answer)> {
    let all = ["/", "/login", "/nowhere", "/history?before=x"].into_iter().chain(PAGES);
    all.map(|path| (path, customer.get(path))).collect()
}

/// What a page points to.
fn addresses(text: &str) -> Vec<&str> {
    ["href=\"", "src=\"", "action=\""]
        .into_iter()
        .flat_map(|before| between(text, before, "\""))
        .collect()
}

#[test]
fn a_name_is_text_wherever_a_page_shows_it() {
    let world = World::new();
    world.run(
        "UPDATE customers SET name = '<script>alert(1)</script>\" onload=\"x' WHERE id = 1;
         UPDATE securities SET name = '<img src=x onerror=alert(1)>&amp' WHERE id = 1",
    );
    let customer = world.customer(1);
    for (path, page) in pages(&customer) {
        for hostile in ["<script>alert", "<img src=x", "\" onload=\"x"] {
            assert!(!page.text.contains(hostile), "{path}: {}", page.text);
        }
    }
    assert!(customer.page("/main").contains("&lt;script&gt;alert(1)&lt;/script&gt;"));
    assert!(customer.page("/orders/new").contains("&lt;img src=x onerror=alert(1)&gt;&amp;amp"));
    let answer = world.browser().post("/login", &[("user", "\"><script>"), ("password", "x")]);
    assert!(answer.text.contains("value=\"&quot;&gt;&lt;script&gt;\""), "{}", answer.text);
}

#[test]
fn a_page_points_to_this_site_alone_and_carries_no_secret_in_an_address() {
    let world = World::new();
    let customer = world.customer(1);
    customer.order(buy("ALEN", "1", "10"));
    let (_, token) = customer.cookie.split_once('=').unwrap();
    let form = customer.form().form;
    for (path, page) in pages(&customer) {
        let found = addresses(&page.text);
        assert!(found.len() > 3, "{path}: {found:?}");
        for address in found {
            let own = address.starts_with('/') && !address.starts_with("//");
            assert!(own || address == "#main", "{path}: {address}");
            assert!(!address.contains(token) && !address.contains(&form), "{path}: {address}");
        }
        // The session is for the cookie alone, and forms are sent in bodies.
        assert!(!page.text.contains(token), "{path}");
        assert_eq!(
            page.text.matches("<form ").count(),
            page.text.matches("method=\"post\"").count(),
            "{path}"
        );
    }
}

#[test]
fn scripts_show_text_as_text_and_run_none_as_code() {
    let world = World::new();
    let customer = world.customer(1);
    let page = customer.page("/main");
    let scripts = between(&page, "<script src=\"", "\"");
    assert_eq!(scripts.len(), 1, "{page}");
    assert_eq!(page.matches("<script").count(), 1, "none is written into the page");
    let script = world.browser().page(scripts[0]);
    assert!(script.contains(".textContent = "));
    for word in [
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "document.write",
        "eval(",
        "Function(",
        "setTimeout(",
        "localStorage",
        "sessionStorage",
        "paste",
    ] {
        assert!(!script.contains(word), "{word}");
    }
    for attribute in [" onclick=", " onload=", " onpaste=", " style="] {
        assert!(!page.contains(attribute), "{attribute}");
    }
}

/// The head of a response whose body may never end.
fn head(browser: &Browser, path: &str) -> Answer {
    let mut stream = TcpStream::connect(browser.address()).unwrap();
    stream.set_read_timeout(Some(Duration::from_secs(60))).unwrap();
    write!(stream, "GET {path} HTTP/1.1\r\nhost: site\r\n\r\n").unwrap();
    let mut bytes = Vec::new();
    while !bytes.ends_with(b"\r\n\r\n") {
        let mut byte = [0];
        stream.read_exact(&mut byte).unwrap();
        bytes.push(byte[0]);
    }
    let text = String::from_utf8(bytes).unwrap();
    let fields = text.lines().skip(1).filter_map(|line| line.split_once(": "));
    let headers = fields.map(|(name, value)| (name.to_lowercase(), value.to_owned())).collect();
    Answer { status: text[9..12].parse().unwrap(), headers, text: String::new() }
}

/// A response of every kind.
fn responses(world: &mut World) -> Vec<(String, Answer)> {
    let customer = world.customer(1);
    let browser = world.browser();
    let mut all: Vec<(String, Answer)> =
        pages(&customer).into_iter().map(|(path, answer)| (path.to_owned(), answer)).collect();
    let style = addresses(&customer.page("/main"))[0].to_owned();
    let long = "x".repeat(70_000);
    all.extend([
        (style.clone(), browser.get(&style)),
        ("/healthz".into(), browser.get("/healthz")),
        ("/prices".into(), head(&browser, "/prices")),
        ("no session".into(), browser.get("/orders")),
        ("no such file".into(), browser.get("/static/x")),
        ("no such method".into(), browser.send("PUT / HTTP/1.1\r\nconnection: close\r\n\r\n")),
        ("a wrong password".into(), browser.post("/login", &[("user", "x"), ("password", "y")])),
        ("too long".into(), browser.post("/login", &[("user", &long)])),
        ("signed out".into(), {
            let form = hidden(&customer.page, "form");
            customer.post("/logout", &[("form", &form)])
        }),
    ]);
    world.stop_app();
    all.push(("no application tier".into(), customer.get("/main")));
    all
}

#[test]
fn every_response_says_what_it_is_and_is_not_sniffed_framed_or_kept() {
    let mut world = World::new();
    for (what, answer) in responses(&mut world) {
        let field = |name: &str| {
            let found = answer.headers.get(name).map(String::as_str);
            found.unwrap_or_else(|| panic!("{what}: no {name} in {:?}", answer.headers))
        };
        let kind = field("content-type");
        let text = ["text/html; charset=utf-8", "text/css; charset=utf-8"].contains(&kind);
        // Both are UTF-8 by their definitions.
        let other = ["application/json", "text/event-stream"].contains(&kind);
        assert!(text || other, "{what}: {kind}");
        assert_eq!(field("x-content-type-options"), "nosniff", "{what}");
        assert_eq!(field("referrer-policy"), "same-origin", "{what}");
        assert_eq!(field("cross-origin-opener-policy"), "same-origin", "{what}");
        assert_eq!(field("cross-origin-resource-policy"), "same-origin", "{what}");
        let policy = field("content-security-policy");
        assert!(policy.starts_with("default-src 'none'"), "{what}: {policy}");
        let public = what == "/" || what.starts_with("/static/");
        if !public {
            assert_eq!(field("cache-control"), "no-store", "{what}");
        }
        if kind.starts_with("text/html") {
            for part in [
                "frame-ancestors 'none'",
                "base-uri 'none'",
                "form-action 'self'",
                "script-src 'self'",
                "style-src 'self'",
            ] {
                assert!(policy.contains(part), "{what}: {policy}");
            }
            assert!(!policy.contains("unsafe") && !policy.contains('*'), "{what}: {policy}");
        }
        // Nor what the site is made with.
        for name in ["server", "x-powered-by"] {
            assert!(!answer.headers.contains_key(name), "{what}: {name}");
        }
    }
}

#[test]
fn over_tls_every_response_keeps_browsers_on_tls() {
    let world = World::new();
    let browser = world.browser();
    for path in ["/", "/login", "/nowhere", "/main", "/healthz", "/static/style.css", "/static/x"] {
        let over_tls = browser.get_with("x-forwarded-proto: https\r\n", path);
        let field = over_tls.headers.get("strict-transport-security");
        let seconds = field.and_then(|field| field.strip_prefix("max-age=")).unwrap_or_default();
        assert!(seconds.parse::<u64>().is_ok_and(|age| age >= 31_536_000), "{path}: {field:?}");
        let clear = browser.get(path);
        assert!(!clear.headers.contains_key("strict-transport-security"), "{path}");
    }
}

#[test]
fn other_sites_may_neither_read_a_response_nor_ask_whether_they_may() {
    let world = World::new();
    let customer = world.customer(1);
    let origin = "origin: https://evil.example\r\n";
    let mut answers = vec![
        world.browser().get_with(&format!("{origin}cookie: {}\r\n", customer.cookie), "/main"),
        world.browser().get_with(origin, "/healthz"),
    ];
    for path in ["/orders", "/login", "/password", "/main"] {
        let asked = world.browser().send(&format!(
            "OPTIONS {path} HTTP/1.1\r\nhost: site\r\nconnection: close\r\n{origin}\
             access-control-request-method: POST\r\n\
             access-control-request-headers: content-type\r\n\r\n"
        ));
        assert_eq!(asked.status, 405, "{path}");
        answers.push(asked);
    }
    for answer in answers {
        let allowed = answer.headers.keys().find(|name| name.starts_with("access-control"));
        assert_eq!(allowed, None);
    }
}

#[test]
fn nothing_is_changed_by_a_request_that_only_reads() {
    let world = World::new();
    let customer = world.customer(1);
    customer.order(buy("ALEN", "1", "10"));
    let page = customer.page("/orders");
    let number = between(&page, "action=\"/orders/", "/cancel")[0].to_owned();
    let open = world.number("SELECT COUNT(*) FROM orders WHERE state = 0");
    let form = hidden(&page, "form");
    for (path, status) in [
        (format!("/logout?form={form}"), 405),
        (format!("/orders/{number}/cancel?form={form}"), 405),
        (format!("/orders?form={form}&order=order-by-get&symbol=ALEN&side=buy&quantity=1"), 200),
        ("/login?user=customer2&password=password2".to_owned(), 200),
        (format!("/password?form={form}&password=password1&new=other-password-9"), 200),
    ] {
        let answer = customer.get(&path);
        assert_eq!(answer.status, status, "{path}");
        assert!(!answer.headers.contains_key("set-cookie"), "{path}");
    }
    assert_eq!(customer.get("/main").status, 200);
    assert_eq!(world.number("SELECT COUNT(*) FROM orders WHERE state = 0"), open);
    world.customer(1);
}

#[test]
fn files_are_those_of_the_program_alone() {
    let world = World::new();
    for path in [
        "/.git/HEAD",
        "/.git/config",
        "/static/",
        "/static",
        "/static/../Cargo.toml",
        "/static/..%2f..%2fCargo.toml",
        "/static/%2e%2e/%2e%2e/.git/HEAD",
        "/static//etc/passwd",
        "/static/style.css%00.svg",
        "/data/brokerage.db",
        "/brokerage.db",
        "/Cargo.toml",
    ] {
        let answer = world.browser().get(path);
        assert_eq!(answer.status, 404, "{path}: {}", answer.text);
        assert!(answer.text.contains("There is no such page"), "{path}");
    }
}

#[test]
fn every_sign_in_has_a_session_of_its_own_and_ends_the_one_before() {
    let world = World::new();
    let before = world.customer(1);
    let again = world.browser().post_with(
        &format!("cookie: {}\r\n", before.cookie),
        "/login",
        &[("user", "customer1"), ("password", "password1")],
    );
    assert_eq!(again.status, 200, "{}", again.text);
    let cookie = again.headers["set-cookie"].split(';').next().unwrap().to_owned();
    assert_ne!(cookie, before.cookie);
    assert_eq!(before.get("/main").status, 401, "the session before has ended");
    let after = Customer { cookie, ..before.clone() };
    assert_eq!(after.get("/main").status, 200);
    // A sign-in that fails ends nothing.
    let failed = world.browser().post_with(
        &format!("cookie: {}\r\n", after.cookie),
        "/login",
        &[("user", "customer1"), ("password", "wrong")],
    );
    assert_eq!(failed.status, 401);
    assert_eq!(after.get("/main").status, 200);
    // A session that somebody else chose is not taken over.
    let chosen = format!("session={}", "A".repeat(43));
    let fixed = world.browser().post_with(
        &format!("cookie: {chosen}\r\n"),
        "/login",
        &[("user", "customer2"), ("password", "password2")],
    );
    assert!(!fixed.headers["set-cookie"].contains(&chosen), "{:?}", fixed.headers);
}

#[test]
fn customers_see_and_change_what_is_theirs_alone() {
    let world = World::new();
    let (one, two) = (world.customer(1), world.customer(2));
    let placed = one.order(buy("ALEN", "7", "12.34"));
    let number = between(&placed.text, "action=\"/orders/", "/cancel")[0].to_owned();
    assert!(one.page("/orders").contains(&format!("/orders/{number}/cancel")));
    assert!(!two.page("/orders").contains(&format!("/orders/{number}/cancel")));
    let form = two.form().form;
    assert_eq!(two.post(&format!("/orders/{number}/cancel"), &[("form", &form)]).status, 404);
    let theirs = "SELECT COUNT(*) FROM orders WHERE customer = 2 AND state <> 0";
    let whole = two.page(&format!("/history?before={number}0"));
    let rows = whole.matches("<tr>").count() as i64 - 1;
    assert_eq!(rows, world.number(theirs).min(20), "a number of another's order shows nothing");
    assert_eq!(world.number("SELECT state FROM orders WHERE limit_cents = 1234"), 0);
}

#[test]
fn the_tiers_behind_check_the_session_themselves_and_tell_no_more_than_pages_need() {
    let world = World::new();
    let customer = world.customer(1);
    let (_, token) = customer.cookie.split_once('=').unwrap();
    let key = |token: String| SessionToken::try_from(token).unwrap().key().as_str().to_owned();
    let (own, none) = (key(token.into()), key("A".repeat(43)));
    let call = |address, operation: &str, session: &str| {
        let body = format!("{{\"session\":\"{session}\"}}");
        Browser::new(address).send(&format!(
            "POST /{operation} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    let (app, data) =
        (world.app.as_ref().unwrap().address(), world.data.as_ref().unwrap().address());
    for (address, operations) in [
        (app, &["overview", "portfolio", "open-orders", "order-entry"][..]),
        (data, &["read-overview", "read-holdings", "read-securities", "read-account"]),
    ] {
        for operation in operations {
            assert_eq!(call(address, operation, &none).status, 401, "{operation}");
            assert_eq!(call(address, operation, &own).status, 200, "{operation}");
        }
    }
    let overview: serde_json::Value =
        serde_json::from_str(&call(app, "overview", &own).text).unwrap();
    let mut names: Vec<&String> = overview.as_object().unwrap().keys().collect();
    names.sort();
    assert_eq!(names, ["available", "name", "open_orders", "reserved", "shares_worth", "user"]);
    for (path, page) in pages(&customer) {
        for secret in ["$argon2", "$quick$", "password1"] {
            // The form to sign in says which passwords a population has.
            assert!(path == "/login" || !page.text.contains(secret), "{path}: {secret}");
        }
    }
}

#[test]
fn signing_out_clears_what_the_browser_keeps() {
    let world = World::new();
    let customer = world.customer(1);
    let form = hidden(&customer.page, "form");
    let out = customer.post("/logout", &[("form", &form)]);
    assert_eq!(out.status, 200, "{}", out.text);
    assert_eq!(out.headers["clear-site-data"], "\"cache\", \"storage\"");
    assert!(out.headers["set-cookie"].contains("Max-Age=0"), "{:?}", out.headers);
    assert!(!out.text.contains("customer1"), "{}", out.text);
    let before = world.customer(1);
    assert_eq!(before.get("/main").headers["cache-control"], "no-store");
}
