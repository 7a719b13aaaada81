//! The life of an order.

use crate::browser::{between, hidden};
use crate::world::{Wanted, World, buy, sell, wait_until};

const OPEN: &str = "SELECT COUNT(*) FROM orders WHERE customer = 1 AND state = 0";

#[test]
fn a_form_sent_again_gives_one_order_and_tells_if_it_was_changed() {
    let world = World::new();
    let customer = world.customer(1);
    let before = world.number(OPEN);
    let form = customer.form();
    let first = customer.send(&form, buy("ALEN", "1", "10"));
    let again = customer.send(&form, buy("ALEN", "1", "10"));
    assert_eq!((first.status, &first.text), (again.status, &again.text));
    let changed = customer.send(&form, buy("ALEN", "99", "10"));
    assert!(changed.text.contains("had been sent before, with other values"), "{}", changed.text);
    assert!(changed.text.contains("1 shares of ALEN"), "{}", changed.text);
    assert_eq!(world.number(OPEN), before + 1);
    world.check();
}

#[test]
fn a_form_sent_at_once_by_many_gives_one_order() {
    for world in [World::new(), World::on_postgres()] {
        let customer = world.customer(1);
        let before = world.number(OPEN);
        let form = customer.form();
        std::thread::scope(|scope| {
            for _ in 0..8 {
                scope.spawn(|| {
                    let answer = customer.send(&form, buy("ALEN", "1", "10"));
                    assert_eq!(answer.status, 200, "{}", answer.text);
                });
            }
        });
        assert_eq!(world.number(OPEN), before + 1);
        world.check();
    }
}

#[test]
fn cash_and_shares_are_spent_once_however_many_try_at_once() {
    for world in [World::new(), World::on_postgres()] {
        let cash = world.number("SELECT available FROM accounts WHERE customer = 1");
        world.run(&format!(
            "UPDATE accounts SET available = available - {} WHERE customer = 1;
             UPDATE accounts SET available = available + {} WHERE customer = -1",
            cash - 100_000,
            cash - 100_000
        ));
        let customer = world.customer(1);
        // Enough for ten of them.
        let statuses: Vec<u16> = std::thread::scope(|scope| {
            let orders: Vec<_> = (0..16)
                .map(|_| scope.spawn(|| customer.order(buy("ALEN", "10", "10")).status))
                .collect();
            orders.into_iter().map(|order| order.join().unwrap()).collect()
        });
        let accepted = statuses.iter().filter(|status| **status == 200).count();
        assert_eq!(accepted, 10, "{statuses:?}");
        assert!(statuses.iter().all(|status| [200, 409].contains(status)));
        assert_eq!(world.number("SELECT available FROM accounts WHERE customer = 1"), 0);
        world.check();
    }
}

#[test]
fn an_order_that_waits_can_be_cancelled_once() {
    let world = World::new();
    let customer = world.customer(1);
    let placed = customer.order(buy("ALEN", "5", "10"));
    let action = between(&placed.text, "action=\"/orders/", "\"")[0].to_owned();
    let path = format!("/orders/{action}");
    let form = hidden(&placed.text, "form");
    let cancelled = customer.post(&path, &[("form", &form)]);
    assert_eq!(cancelled.status, 200, "{}", cancelled.text);
    assert!(cancelled.text.contains("Order cancelled"), "{}", cancelled.text);
    let again = customer.post(&path, &[("form", &form)]);
    assert!(again.text.contains("Order cancelled"), "the state is the same: {}", again.text);
    // Another customer has no such order.
    let other = world.customer(2);
    let form = other.form().form;
    assert_eq!(other.post(&path, &[("form", &form)]).status, 404);
    assert_eq!(other.post("/orders/x/cancel", &[("form", &form)]).status, 404);
    assert_eq!(other.post("/orders/-1/cancel", &[("form", &form)]).status, 404);
    world.check();
}

#[test]
fn an_order_that_was_carried_out_cannot_be_cancelled() {
    let world = World::new();
    let customer = world.customer(1);
    let placed = customer.order(buy("ALEN", "5", "60"));
    let number = between(&placed.text, "<dt>Order</dt><dd>", ",")[0].to_owned();
    wait_until("it is carried out", || customer.page("/history").contains("$250.00"));
    let form = customer.form().form;
    let answer = customer.post(&format!("/orders/{number}/cancel"), &[("form", &form)]);
    assert!(answer.text.contains("had ended before"), "{}", answer.text);
    world.check();
}

#[test]
fn shares_that_are_held_are_sold_and_those_that_are_not_are_refused() {
    let world = World::new();
    let customer = world.customer(1);
    customer.order(buy("ALEN", "50", "60"));
    wait_until("they are bought", || customer.page("/portfolio").contains("ALEN"));
    let sold = customer.order(sell("ALEN", "30", "45"));
    assert_eq!(sold.status, 200, "{}", sold.text);
    wait_until("they are sold", || customer.page("/history").contains("$1,500.00"));
    let refused = customer.order(sell("ALEN", "1000000", "45"));
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("you do not have so many shares"), "{}", refused.text);
    let dear = customer.order(buy("ALEN", "1000000", "900000"));
    assert_eq!(dear.status, 409);
    assert!(dear.text.contains("you do not have so much cash"), "{}", dear.text);
    world.check();
}

#[test]
fn a_market_order_takes_the_next_price() {
    let world = World::new();
    let customer = world.customer(1);
    let placed = customer.order(buy("BAFI", "10", ""));
    assert_eq!(placed.status, 200, "{}", placed.text);
    assert!(placed.text.contains("at most $22.00"), "{}", placed.text);
    wait_until("it is carried out", || customer.page("/history").contains("$200.00"));
    world.check();
}

#[test]
fn a_day_order_ends_with_its_day() {
    let world = World::new();
    let customer = world.customer(1);
    let order = Wanted { good: "day", ..buy("ALEN", "5", "10") };
    let placed = customer.order(order);
    assert!(placed.text.contains("00:00 UTC"), "{}", placed.text);
    world.run("UPDATE orders SET expires = 1 WHERE expires > 0");
    wait_until("it ends", || customer.page("/history").contains("Its day was over"));
    world.check();
}

#[test]
fn mistakes_are_told_beside_their_fields_and_what_was_filled_in_stays() {
    let world = World::new();
    let customer = world.customer(1);
    let before = world.number("SELECT COUNT(*) FROM orders");
    let answer = customer.order(buy("ALEN", "many", "cheap"));
    assert_eq!(answer.status, 422);
    for part in [
        "id=\"quantity-wrong\"",
        "id=\"limit-wrong\"",
        "aria-invalid=\"true\"",
        "value=\"many\"",
        "value=\"cheap\"",
        "<option value=\"ALEN\" selected",
    ] {
        assert!(answer.text.contains(part), "{part} is not in {}", answer.text);
    }
    // What only the application tier can tell.
    let answer = customer.order(buy("NONE", "0", "10"));
    assert_eq!(answer.status, 422);
    assert!(answer.text.contains("Security: choose one of the list"), "{}", answer.text);
    assert!(answer.text.contains("Shares: must be a whole number from 1"), "{}", answer.text);
    let answer = customer.post("/orders", &[("form", &customer.form().form)]);
    assert_eq!(answer.status, 400, "{}", answer.text);
    assert_eq!(world.number("SELECT COUNT(*) FROM orders"), before);
}
