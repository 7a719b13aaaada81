//! Requests that no form of the site sends.

use crate::browser::hidden;
use crate::world::{World, buy};

#[test]
fn a_form_of_another_session_or_site_is_refused() {
    let world = World::new();
    let (one, two) = (world.customer(1), world.customer(2));
    let orders = world.number("SELECT COUNT(*) FROM orders");
    let mut form = one.form();
    form.form = two.form().form;
    for form in [form.clone(), crate::world::Form { form: String::new(), ..form }] {
        let answer = one.send(&form, buy("ALEN", "1", "10"));
        assert_eq!(answer.status, 403);
        assert!(answer.text.contains("This form cannot be used"), "{}", answer.text);
    }
    assert_eq!(one.post("/logout", &[("form", "x")]).status, 403);
    let body = "user=customer1&password=password1";
    for from in ["origin: http://evil.example", "origin: null", "sec-fetch-site: cross-site"] {
        let answer = world.browser().send(&format!(
            "POST /login HTTP/1.1\r\nhost: site\r\nconnection: close\r\n{from}\r\n\
             content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(answer.status, 403, "{from}");
        assert!(!answer.headers.contains_key("set-cookie"));
    }
    assert_eq!(world.number("SELECT COUNT(*) FROM orders"), orders);
}

#[test]
fn unknown_addresses_and_methods_have_a_page() {
    let world = World::new();
    let customer = world.customer(1);
    for path in ["/nowhere", "/orders/1", "/static/../Cargo.toml", "/static/x", "/main/x"] {
        let answer = customer.get(path);
        assert!([404, 405].contains(&answer.status), "{path}: {}", answer.status);
        assert!(answer.text.contains("</html>"), "{path}");
    }
    for path in ["/history?before=x", "/history?before=-1", "/history?before=99999999999999999999"]
    {
        assert_eq!(customer.get(path).status, 400, "{path}");
    }
    for request in ["DELETE /main", "PUT /orders", "POST /", "POST /static/style.css"] {
        let text = format!(
            "{request} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 0\r\n\r\n"
        );
        let answer = world.browser().send(&text);
        assert_eq!(answer.status, 405, "{request}: {}", answer.text);
    }
}

#[test]
fn text_that_looks_like_sql_or_html_is_text() {
    let world = World::new();
    let customer = world.customer(1);
    for user in
        ["' OR '1'='1", "customer1'--", "\"; DROP TABLE customers", "<script>alert(1)</script>"]
    {
        let answer = world.browser().post("/login", &[("user", user), ("password", "password1")]);
        assert!([401, 429].contains(&answer.status), "{user}");
        assert!(!answer.text.contains("<script>alert"), "{}", answer.text);
    }
    let answer = customer.order(buy("' OR 1=1", "<b>1</b>", "\"><script>"));
    assert_eq!(answer.status, 422);
    assert!(!answer.text.contains("<b>1") && !answer.text.contains("\"><script>"));
    assert_eq!(world.number("SELECT COUNT(*) FROM customers"), 10);
    world.check();
}

// PostgreSQL takes no text with a zero byte.
#[test]
fn control_characters_are_text_that_nothing_has() {
    for world in [World::new(), World::on_postgres()] {
        let customer = world.customer(1);
        for symbol in ["\0", "ALEN\0"] {
            let answer = customer.order(buy(symbol, "1", "10"));
            assert_eq!(answer.status, 422, "{}", answer.text);
            assert!(answer.text.contains("id=\"symbol-wrong\""), "{}", answer.text);
            assert!(answer.text.contains("Security: choose one of the list"), "{}", answer.text);
        }
        let login = [("user", "customer1\0"), ("password", "password1")];
        let answer = world.browser().post("/login", &login);
        assert_eq!(answer.status, 422, "{}", answer.text);
        let app = crate::browser::Browser::new(world.app.as_ref().unwrap().address());
        for (operation, body, status) in [
            ("credit", r#"{"user":"customer1\u0000","payment":"pay-1","amount":5}"#, 404),
            (
                "sign-in",
                r#"{"user":"customer1\u0000","password":"p","client":"127.0.0.1","replaces":null}"#,
                401,
            ),
        ] {
            let answer = app.send(&format!(
                "POST /{operation} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ));
            assert_eq!(answer.status, status, "{operation}: {}", answer.text);
        }
    }
}

#[test]
fn numbers_out_of_every_range_are_refused_and_nothing_overflows() {
    let world = World::new();
    let customer = world.customer(1);
    for quantity in ["-1", "0", "1.5", "1e3", "9223372036854775807", "9223372036854775808", "１"] {
        assert_eq!(customer.order(buy("ALEN", quantity, "10")).status, 422, "{quantity}");
    }
    for limit in ["-1", "0", "0.00", "0.001", "1000000.01", "9223372036854775807", "NaN", "1,5"] {
        assert_eq!(customer.order(buy("ALEN", "1", limit)).status, 422, "{limit}");
    }
    world.check();
}

#[test]
fn bodies_are_limited_and_must_be_forms() {
    let world = World::new();
    let long = "x".repeat(70_000);
    assert_eq!(world.browser().post("/login", &[("user", &long)]).status, 413);
    let json = "POST /login HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{}";
    assert_eq!(world.browser().send(json).status, 415);
    let answer = world.browser().post("/login", &[("user", ""), ("password", "")]);
    assert_eq!(answer.status, 422, "{}", answer.text);
}

#[test]
fn every_page_is_strict_about_what_it_loads_and_is_not_cached() {
    let world = World::new();
    let customer = world.customer(1);
    for path in ["/main", "/orders/new", "/login", "/nowhere"] {
        let answer = customer.get(path);
        let policy = &answer.headers["content-security-policy"];
        assert!(policy.starts_with("default-src 'none'; script-src 'self'"), "{path}: {policy}");
        assert!(!policy.contains("unsafe"), "{path}: {policy}");
        assert_eq!(answer.headers["cache-control"], "no-store", "{path}");
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
        assert!(!answer.text.contains("style=\"") && !answer.text.contains("<script>"), "{path}");
    }
    assert!(world.browser().get("/").headers["cache-control"].contains("max-age"));
}

#[test]
fn the_tiers_behind_refuse_what_is_no_operation_or_not_of_its_schema() {
    let world = World::new();
    let app = world.app.as_ref().unwrap().address();
    let data = world.data.as_ref().unwrap().address();
    for (address, operation, body, status, expected) in [
        (app, "nothing", "{}", 404, "There is no operation"),
        (app, "overview", "{}", 400, "missing field"),
        (app, "overview", "{\"session\":\"x\"}", 400, "32 bytes in base64"),
        (app, "quotes", "{\"a\":1}", 400, "unknown field"),
        (data, "place-order", "[]", 400, "not of its schema"),
        (data, "execute", "not json", 400, "not of its schema"),
        (data, "credentials", "{\"user\":5}", 400, "invalid type"),
    ] {
        let browser = crate::browser::Browser::new(address);
        let answer = browser.send(&format!(
            "POST /{operation} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ));
        assert_eq!(answer.status, status, "{operation}: {}", answer.text);
        assert!(answer.text.contains(expected), "{operation}: {}", answer.text);
    }
    let page = hidden(&world.customer(1).page("/orders/new"), "order");
    // Four groups of eight digits.
    assert_eq!(page.len(), 35);
}
