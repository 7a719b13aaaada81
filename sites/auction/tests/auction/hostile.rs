//! Requests that no form of the site sends.

use crate::browser::Browser;
use crate::database::TestSite;

on_both_databases![
    unknown_numbers_get_an_error_page,
    a_token_is_valid_for_its_purpose_only,
    text_that_looks_like_sql_is_stored_as_text,
    bodies_are_limited_and_must_be_forms,
    a_form_of_another_site_is_refused,
];

fn a_form_of_another_site_is_refused(site: &TestSite) {
    let fields = [("nickname", "user9"), ("password", "password9")];
    for more in ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n"] {
        for path in ["/me", "/sell", "/register", "/items/1/bid"] {
            let answer = site.browser.post_with(more, path, &fields);
            assert_eq!(answer.status, 403, "{path}: {}", answer.text);
            assert!(answer.text.contains("from a page of another site"), "{}", answer.text);
        }
        assert_eq!(site.browser.get_with(more, "/").status, 200, "a link");
    }
    let own = "Sec-Fetch-Site: same-origin\r\nOrigin: http://site\r\n";
    assert_eq!(site.browser.post_with(own, "/me", &fields).status, 200);
}

fn unknown_numbers_get_an_error_page(site: &TestSite) {
    for path in [
        "/categories/0",
        "/categories/21",
        "/categories/x",
        "/categories/7?page=999999999",
        "/categories/7?page=9223372036854775807",
        "/categories/99999999999999999999",
        "/regions/63",
        "/regions/1/categories/21",
        "/items/-1",
        "/items/9223372036854775807",
        "/items/1%20OR%201=1",
        "/users/x",
        "/users/1/comment?item=x",
        "/static/../Cargo.toml",
        "/static/pictures/99-1.svg",
        "/nowhere",
    ] {
        let answer = site.browser.get(path);
        assert_eq!(answer.status, 404, "{path}");
        assert!(
            answer.text.contains("There is no such") && answer.text.contains("</html>"),
            "{path}"
        );
    }
    for path in ["/categories/7?page=0", "/categories/7?page=-1", "/categories/7?page=x"] {
        assert_eq!(site.browser.get(path).status, 400, "{path}");
    }
    let answer = site.browser.send("DELETE /me HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n");
    assert_eq!(answer.status, 405);
}

fn a_token_is_valid_for_its_purpose_only(site: &TestSite) {
    let items: Vec<i64> = site.query("SELECT id FROM items WHERE seller <> 9 ORDER BY id LIMIT 2");
    let (one, two) = (items[0], items[1]);
    let to_bid = site.browser.token(&format!("/items/{one}/bid"), 9, &[]);
    let to_sell = site.browser.token("/sell", 9, &[]);
    // Another person's number in front of the same signature.
    let forged = to_bid.replacen(".9.", ".8.", 1);
    let bid = |item: i64, auth: &str| {
        let fields = [("auth", auth), ("bid", "900000"), ("max_bid", "900000"), ("quantity", "1")];
        site.browser.post(&format!("/items/{item}/bids"), &fields).status
    };
    for (item, auth) in [
        (two, to_bid.as_str()),
        (one, &to_sell),
        (one, &forged),
        (one, ""),
        (one, "1.9.1.0.9999999999.AAAA"),
    ] {
        assert_eq!(bid(item, auth), 403, "{auth}");
    }
    assert_eq!(bid(one, &to_bid), 200);
    for path in [
        format!("/items/{one}/purchases"),
        "/users/3/comments".into(),
        "/items".into(),
        "/sell/form".into(),
    ] {
        assert_eq!(site.browser.post(&path, &[("auth", &to_bid)]).status, 403, "{path}");
    }
}

fn text_that_looks_like_sql_is_stored_as_text(site: &TestSite) {
    let users = site.number("SELECT COUNT(*) FROM users");
    for nickname in ["' OR '1'='1", "user1'--", "\"; DROP TABLE users"] {
        let answer = site.browser.post("/me", &[("nickname", nickname), ("password", "password1")]);
        assert_eq!(answer.status, 403, "{nickname}");
    }
    let answer = site.browser.post("/me", &[("nickname", "user1\0"), ("password", "password1\0")]);
    assert_eq!(answer.status, 422);
    assert_eq!(site.number("SELECT COUNT(*) FROM users"), users);
}

fn bodies_are_limited_and_must_be_forms(site: &TestSite) {
    let long = "x".repeat(70_000);
    assert_eq!(site.browser.post("/me", &[("nickname", &long)]).status, 413);
    let request = |browser: &Browser, kind: &str, body: &str| {
        browser.send(&format!(
            "POST /me HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: {kind}\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    };
    assert_eq!(request(&site.browser, "application/json", "{}").status, 415);
    let form = "application/x-www-form-urlencoded";
    assert_eq!(request(&site.browser, form, "%ff%fe=%00&&&=&=").status, 422);
    assert_eq!(request(&site.browser, form, "").status, 422);
    let both = "POST /me HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: 3\r\ntransfer-encoding: chunked\r\n\r\n0\r\n\r\n";
    assert!(site.browser.send(both).status >= 400);
}
