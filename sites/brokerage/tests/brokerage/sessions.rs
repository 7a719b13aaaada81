//! Signing in and out.

use std::sync::Barrier;
use std::time::Instant;

use crate::browser::{Browser, hidden};
use crate::world::{Customer, World};

/// A login at this address of a customer, as a proxy of this machine names it.
fn login(browser: &Browser, from: &str, user: &str, password: &str) -> crate::browser::Answer {
    let body = format!("user={user}&password={password}");
    browser.send(&format!(
        "POST /login HTTP/1.1\r\nhost: site\r\nconnection: close\r\nx-forwarded-for: {from}\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ))
}

#[test]
fn a_wrong_password_and_an_unknown_user_have_the_same_answer() {
    let world = World::new();
    let browser = world.browser();
    let answers = [("customer1", "wrong"), ("nobody", "password1"), ("nobody", "x")]
        .map(|(user, password)| login(&browser, "192.0.2.9", user, password));
    for answer in &answers {
        assert_eq!(answer.status, 401);
        assert!(!answer.headers.contains_key("set-cookie"));
        let text = |answer: &crate::browser::Answer| {
            answer.text.replace("customer1", "USER").replace("nobody", "USER")
        };
        assert_eq!(text(answer), text(&answers[0]));
    }
}

#[test]
fn guesses_are_limited_and_the_owner_is_not() {
    let world = World::new();
    let browser = world.browser();
    for _ in 0..5 {
        assert_eq!(login(&browser, "192.0.2.1", "customer1", "wrong").status, 401);
    }
    for password in ["wrong", "password1"] {
        let answer = login(&browser, "192.0.2.1", "customer1", password);
        assert_eq!(answer.status, 429, "{}", answer.text);
        let wait: u64 = answer.headers["retry-after"].parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
    }
    assert_eq!(login(&browser, "192.0.2.2", "customer1", "password1").status, 200);
}

#[test]
fn guesses_sent_at_once_are_limited_as_well() {
    let world = World::new();
    let browser = world.browser();
    let (begun, barrier) = (Instant::now(), Barrier::new(30));
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let guess = || {
            barrier.wait();
            login(&browser, "192.0.2.1", "customer1", "wrong").status
        };
        let guesses: Vec<_> = (0..30).map(|_| scope.spawn(guess)).collect();
        guesses.into_iter().map(|guess| guess.join().unwrap()).collect()
    });
    let looked_at = statuses.iter().filter(|status| **status == 401).count() as u64;
    let refilled = begun.elapsed().as_secs() / 30;
    assert!((5..=5 + refilled).contains(&looked_at), "{statuses:?}");
}

#[test]
fn a_session_ends_when_the_customer_signs_out() {
    let world = World::new();
    let customer = world.customer(1);
    let form = hidden(&customer.page, "form");
    let other = Customer::sign_in(world.browser(), 1);
    let out = customer.post("/logout", &[("form", &form)]);
    assert_eq!(out.status, 200, "{}", out.text);
    assert!(out.headers["set-cookie"].contains("Max-Age=0"));
    let after = customer.get("/main");
    assert_eq!(after.status, 401);
    assert!(after.text.contains("Please sign in") && after.text.contains("action=\"/login\""));
    assert_eq!(other.get("/main").status, 200, "another session of the same customer stays");
}

#[test]
fn a_session_outlives_a_restart_of_every_tier() {
    let mut world = World::new();
    let customer = world.customer(1);
    world.stop_data();
    world.restart_data();
    world.stop_app();
    world.restart_app();
    let app = world.app.as_ref().unwrap().address();
    world.restart_web(&[app]);
    let customer = Customer { browser: world.browser(), ..customer };
    customer.page("/main");
    assert_eq!(customer.order(crate::world::buy("ALEN", "1", "10")).status, 200);
}

#[test]
fn a_cookie_is_for_this_site_alone_and_over_tls_for_tls_alone() {
    let world = World::new();
    let plain = world.browser().post("/login", &[("user", "customer1"), ("password", "password1")]);
    let cookie = &plain.headers["set-cookie"];
    assert!(
        cookie.starts_with("session=") && cookie.contains("HttpOnly; SameSite=Lax"),
        "{cookie}"
    );
    let body = "user=customer1&password=password1";
    let secure = world.browser().send(&format!(
        "POST /login HTTP/1.1\r\nhost: site\r\nconnection: close\r\nx-forwarded-proto: https\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    ));
    let cookie = &secure.headers["set-cookie"];
    assert!(cookie.starts_with("__Host-session=") && cookie.contains("; Secure"), "{cookie}");
}

#[test]
fn pages_of_customers_need_a_session() {
    let world = World::new();
    for path in ["/main", "/portfolio", "/orders", "/orders/new", "/history"] {
        let answer = world.browser().get(path);
        assert_eq!(answer.status, 401, "{path}");
        assert!(answer.text.contains("Please sign in"), "{path}");
    }
    let forged = Customer {
        browser: world.browser(),
        cookie: format!("session={}", "A".repeat(43)),
        page: String::new(),
    };
    assert_eq!(forged.get("/main").status, 401);
    assert_eq!(forged.post("/orders", &[]).status, 403, "its forms are not even looked at");
}
