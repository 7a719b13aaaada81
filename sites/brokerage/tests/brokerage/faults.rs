//! Tiers that are gone, silent or broken: pages say what happened, and nothing hangs.

use crate::browser::{Answer, between};
use crate::relay::{Relay, Way};
use crate::world::{Form, World, buy, wait_until};

/// The fields of the form in a page that an order was not confirmed by.
fn resent(page: &str) -> Form {
    Form {
        form: crate::browser::hidden(page, "form"),
        order: crate::browser::hidden(page, "order"),
    }
}

fn unavailable(answer: &Answer) {
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert!(answer.text.contains("cannot be reached or does not answer"), "{}", answer.text);
    assert!(answer.headers.contains_key("retry-after"));
    for secret in ["127.0.0.1", "tier", "refused", "SQLite"] {
        assert!(!answer.text.contains(secret), "{secret} is for the log: {}", answer.text);
    }
}

#[test]
fn without_the_application_tier_pages_say_so_and_then_work_again() {
    let mut world = World::new();
    let customer = world.customer(1);
    let form = customer.form();
    world.stop_app();
    for path in ["/main", "/portfolio", "/orders", "/history", "/orders/new"] {
        unavailable(&customer.get(path));
    }
    let login = [("user", "customer1"), ("password", "password1")];
    unavailable(&world.browser().post("/login", &login));
    let page = customer.send(&form, buy("ALEN", "1", "10"));
    assert_eq!(page.status, 503);
    assert!(page.text.contains("It was not accepted."), "{}", page.text);
    assert_eq!(world.browser().get("/").status, 200, "the front page needs no other tier");
    let health = world.browser().get("/healthz");
    assert_eq!(health.status, 503);
    assert_eq!(health.text, r#"{"tier":"web","ok":false,"next":{"tier":"app","ok":false}}"#);
    world.restart_app();
    assert_eq!(customer.send(&resent(&page.text), buy("ALEN", "1", "10")).status, 200);
    world.check();
}

#[test]
fn without_the_data_tier_pages_say_so_and_then_work_again() {
    let mut world = World::new();
    let customer = world.customer(1);
    let form = customer.form();
    world.stop_data();
    for path in ["/main", "/orders", "/orders/new"] {
        unavailable(&customer.get(path));
    }
    assert_eq!(customer.send(&form, buy("ALEN", "1", "60")).status, 503);
    let health = world.browser().get("/healthz");
    assert_eq!(
        health.text,
        r#"{"tier":"web","ok":false,"next":{"tier":"app","ok":false,"next":{"tier":"data","ok":false}}}"#
    );
    world.restart_data();
    assert_eq!(customer.send(&form, buy("ALEN", "1", "60")).status, 200);
    wait_until("prices move again and the order is carried out", || {
        customer.page("/history").contains("$50.00")
    });
    let health = world.browser().get("/healthz");
    assert_eq!(
        health.text,
        r#"{"tier":"web","ok":true,"next":{"tier":"app","ok":true,"next":{"tier":"data","ok":true}}}"#
    );
    world.check();
}

#[test]
fn whatever_happens_between_the_tiers_a_page_comes_and_an_order_is_accepted_once() {
    let mut world = World::new();
    let app = world.app.as_ref().unwrap().address();
    let relay = Relay::to(app);
    world.restart_web(&[relay.address]);
    let customer = world.customer(1);
    let open = "SELECT COUNT(*) FROM orders WHERE customer = 1 AND state = 0";
    for (way, accepted) in
        [(Way::Close, 0), (Way::Junk, 0), (Way::LoseAnswer, 1), (Way::Silence, 0)]
    {
        relay.set(Way::Pass);
        let form = customer.form();
        let before = world.number(open);
        relay.set(way);
        let answer = customer.send(&form, buy("ALEN", "1", "10"));
        assert_eq!(answer.status, 503, "{way:?}");
        assert!(answer.text.contains("not certain whether it was accepted"), "{}", answer.text);
        assert_eq!(world.number(open), before + accepted, "{way:?}");
        unavailable(&customer.get("/orders"));
        relay.set(Way::Pass);
        for _ in 0..2 {
            let again = customer.send(&resent(&answer.text), buy("ALEN", "1", "10"));
            assert_eq!(again.status, 200, "{way:?}: {}", again.text);
        }
        assert_eq!(world.number(open), before + 1, "{way:?}");
    }
    world.check();
}

#[test]
fn a_database_that_is_locked_is_waited_for_and_then_told() {
    let world = World::new();
    let customer = world.customer(1);
    let form = customer.form();
    let location = world.location.clone();
    let answer = crate::world::block_on(async {
        let mut other = location.connect().await.unwrap();
        other.script("BEGIN IMMEDIATE".into()).await.unwrap();
        let customer = customer.clone();
        let answer = tokio::task::spawn_blocking(move || {
            (customer.send(&form, buy("ALEN", "1", "10")), form)
        });
        let (answer, form) = answer.await.unwrap();
        other.script("COMMIT".into()).await.unwrap();
        other.close().await;
        assert_eq!(answer.status, 503, "{}", answer.text);
        assert!(answer.text.contains("Send the same order again"), "{}", answer.text);
        form
    });
    assert_eq!(customer.send(&answer, buy("ALEN", "1", "10")).status, 200);
    world.check();
}

#[test]
fn tiers_in_a_mixed_order_of_starts_find_each_other() {
    let mut world = World::new();
    let customer = world.customer(1);
    world.stop_data();
    world.stop_app();
    world.restart_app();
    unavailable(&customer.get("/main"));
    world.restart_data();
    wait_until("pages come", || customer.get("/main").status == 200);
    let page = customer.page("/orders");
    assert!(!between(&page, "<tbody>", "</tbody>").is_empty());
}
