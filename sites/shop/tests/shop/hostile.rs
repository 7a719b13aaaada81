//! Requests that no form of the shop sends.

use crate::world::World;

on_both_databases![
    unknown_addresses_get_an_error_page,
    junk_in_forms_is_refused_and_changes_nothing,
    bodies_are_limited_and_must_be_forms,
    a_form_of_another_site_is_refused,
    passwords_are_not_guessed_for_long,
];

fn unknown_addresses_get_an_error_page(world: &World) {
    for path in [
        "/departments/0",
        "/departments/garden'--",
        "/departments/%00",
        "/departments/%ff",
        "/sets/none",
        "/sets/none/2",
        "/sets/rakes/0",
        "/sets/rakes/-1",
        "/sets/rakes/999999999999999999999",
        "/sets/rakes/9223372036854775807",
        "/sets/rakes/99",
        "/products/0",
        "/products/-1",
        "/products/9223372036854775807",
        "/products/99999999999999999999",
        "/products/1%20OR%201=1",
        "/orders/1",
        "/orders/x",
        "/orders/returned?order=x",
        "/orders/returned",
        "/search?q=a&page=0",
        "/search?q=a&page=99999",
        "/static/../Cargo.toml",
        "/static/pictures/99-1.svg",
        "/sitemaps/0.xml",
        "/sitemaps/x",
        "/nowhere",
    ] {
        let answer = world.browser.get(path);
        assert!([400, 404].contains(&answer.status), "{path}: {}", answer.status);
        assert!(answer.text.contains("There is no such") || answer.status == 400, "{path}");
    }
    let delete = "DELETE /basket HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n";
    assert_eq!(world.browser.send(delete).status, 405);
    let long = format!("/search?q={}", "a".repeat(200));
    assert_eq!(world.browser.get(&long).status, 400);
    for cookie in ["zone=%00", "session=x", "session=\"; DROP TABLE orders", "=;;=", "zone=99"] {
        let answer = world.browser.get_with(&format!("cookie: {cookie}\r\n"), "/basket");
        assert_eq!(answer.status, 200, "{cookie}");
    }
}

fn junk_in_forms_is_refused_and_changes_nothing(world: &World) {
    let shopper = world.shopper();
    shopper.take(3, 1);
    for (product, quantity) in
        [("3", "0"), ("3", "-1"), ("3", "100"), ("3", "x"), ("x", "1"), ("", ""), ("0", "1")]
    {
        let answer = shopper.post("/basket", &[("product", product), ("quantity", quantity)]);
        assert_eq!(answer.status, 422, "{product} {quantity}");
    }
    assert_eq!(shopper.post("/basket", &[("product", "501"), ("quantity", "1")]).status, 404);
    let lines: Vec<(i64, i64)> = world.query("SELECT product, quantity FROM basket_lines");
    assert_eq!(lines, [(3, 1)]);
    for (name, value, says) in [
        ("email", "no address", "must look like name@example.com"),
        ("email", "", "Mail address: is missing"),
        ("name", "", "Name: is missing"),
        ("name", "a\0b", "must not hold control characters"),
        ("street", "one\ntwo", "must be one line"),
        ("city", "", "City: is missing"),
        ("postcode", "1234", "five digits"),
        ("postcode", "'; DROP TABLE orders; --", "five digits"),
    ] {
        let mut fields = crate::world::ADDRESS;
        fields.iter_mut().find(|(field, _)| *field == name).unwrap().1 = value;
        let answer = shopper.post("/checkout", &fields);
        assert_eq!(answer.status, 422, "{name} {value:?}");
        assert!(answer.text.contains(says), "{says} is missing: {}", answer.text);
    }
    let mut fields = crate::world::ADDRESS;
    fields[1].1 = "<script>alert(1)</script>";
    let answer = shopper.post("/checkout", &fields);
    assert!(answer.status == 200 && !answer.text.contains("<script>"), "{}", answer.text);
    // A form that was not issued, or for something else.
    let forms = [
        String::new(),
        "2.1.1.1.9999999999.AAAA".into(),
        crate::browser::hidden(&shopper.page("/account/register"), "auth"),
    ];
    for auth in forms {
        let mut fields = shopper.review();
        fields[0].1 = auth;
        assert_eq!(shopper.order(&fields).status, 403);
    }
    let mut raised = shopper.review();
    // The sum is signed: another one in front of the same signature is none.
    let parts: Vec<&str> = raised[0].1.split('.').collect();
    let forged = [&parts[..2], &["1"], &parts[3..]].concat().join(".");
    raised[0].1 = forged;
    assert_eq!(shopper.order(&raised).status, 403);
    assert_eq!(world.number("SELECT COUNT(*) FROM orders"), 0);
}

fn bodies_are_limited_and_must_be_forms(world: &World) {
    let long = "x".repeat(70_000);
    for path in ["/basket", "/zone", "/checkout", "/orders", "/account/sign-in"] {
        assert_eq!(world.browser.post(path, &[("name", &long)]).status, 413, "{path}");
        let json = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-type: application/json\r\ncontent-length: 2\r\n\r\n{{}}"
        );
        assert_eq!(world.browser.send(&json).status, 415, "{path}");
    }
}

fn a_form_of_another_site_is_refused(world: &World) {
    for more in ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n"] {
        for path in ["/basket", "/zone", "/orders", "/account/sign-in", "/account/sign-out"] {
            let answer =
                world.browser.post_with(more, path, &[("product", "1"), ("quantity", "1")]);
            assert_eq!(answer.status, 403, "{path}: {}", answer.text);
        }
        assert_eq!(world.browser.get_with(more, "/").status, 200, "a link");
    }
    assert_eq!(world.number("SELECT COUNT(*) FROM sessions"), 0);
}

fn passwords_are_not_guessed_for_long(world: &World) {
    let guess = |password: &str| {
        let fields = [("email", "user3@example.com"), ("password", password)];
        world.browser.post("/account/sign-in", &fields).status
    };
    let answers: Vec<u16> = (0..8).map(|number| guess(&format!("guess{number}"))).collect();
    assert_eq!(answers[..5], [403; 5]);
    assert_eq!(answers[6..], [429; 2]);
}
