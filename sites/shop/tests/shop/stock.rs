//! Many buyers of the last pieces at once: none is sold twice, and none is lost.

use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, Ordering};

use tidegate_sitekit::database::Location;

use crate::world::{POOR, Shopper, World, block_on};

on_both_databases![
    no_piece_is_sold_twice_among_many_buyers,
    a_basket_is_ordered_once_however_many_of_its_forms_are_sent,
    goods_of_an_order_that_is_cancelled_are_in_stock_again_once,
    suppliers_fill_up_what_runs_out,
];

const BUYERS: i64 = 24;

fn no_piece_is_sold_twice_among_many_buyers(world: &World) {
    // Two products in every basket, so that orders that lock both in different order would wait
    // for each other.
    world.run("UPDATE products SET stock = 40, restock = 0 WHERE id IN (1, 2)");
    let shoppers: Vec<Shopper> = (0..BUYERS).map(|_| world.shopper()).collect();
    let mut forms = Vec::new();
    for (at, shopper) in (0..).zip(&shoppers) {
        shopper.take(1, at % 3 + 1);
        shopper.take(2, 1);
        forms.push(shopper.review());
    }
    let (sold, barrier) = (AtomicI64::new(0), Barrier::new(shoppers.len()));
    let address = world.browser;
    let cookies: Vec<String> = shoppers.iter().map(Shopper::cookie).collect();
    std::thread::scope(|scope| {
        for ((at, form), cookie) in (0..).zip(&forms).zip(&cookies) {
            let (sold, barrier) = (&sold, &barrier);
            scope.spawn(move || {
                let fields: Vec<(&str, &str)> =
                    form.iter().map(|(name, value)| (&**name, &**value)).collect();
                barrier.wait();
                let answer =
                    address.post_with(&format!("cookie: {cookie}\r\n"), "/orders", &fields);
                match answer.status {
                    303 => sold.fetch_add(at % 3 + 1, Ordering::Relaxed),
                    409 => {
                        assert!(answer.text.contains("sold out"), "{}", answer.text);
                        0
                    }
                    other => panic!("answered {other}: {}", answer.text),
                };
            });
        }
    });
    let sold = sold.into_inner();
    let left = world.number("SELECT stock FROM products WHERE id = 1");
    assert_eq!(left + sold, 40);
    // 48 were wanted: all but a last few are sold.
    assert!((0..3).contains(&left), "{left} left");
    let ordered = "SELECT CAST(SUM(quantity) AS BIGINT) FROM order_lines WHERE product = 1";
    assert_eq!(world.number(ordered), sold);
    let orders = world.number("SELECT COUNT(*) FROM orders");
    assert_eq!(world.number("SELECT stock FROM products WHERE id = 2"), 40 - orders);
    assert_eq!(world.number("SELECT COUNT(*) FROM used_forms"), orders);
}

fn a_basket_is_ordered_once_however_many_of_its_forms_are_sent(world: &World) {
    let goods = world.goods();
    let shopper = world.shopper();
    shopper.take(4, 2);
    // Two windows with a form each, and each is sent twice.
    let (one, two) = (shopper.review(), shopper.review());
    let first = shopper.order(&one);
    assert_eq!(first.status, 303, "{}", first.text);
    let again = shopper.order(&one);
    assert_eq!(again.headers["location"], first.headers["location"]);
    let other = shopper.order(&two);
    assert_eq!(other.status, 409);
    assert!(other.text.contains("Your basket is empty"), "{}", other.text);
    // With another address it is the same order still, and the page says so.
    let mut changed = one.clone();
    changed.iter_mut().find(|(name, _)| name == "city").unwrap().1 = "Elsewhere".into();
    let differs = shopper.order(&changed).headers["location"].clone();
    assert!(differs.ends_with("?again"), "{differs}");
    assert!(shopper.page(&differs).contains("with another address"));
    assert_eq!(world.number("SELECT COUNT(*) FROM orders"), 1);
    assert_eq!(world.goods(), goods);
}

fn goods_of_an_order_that_is_cancelled_are_in_stock_again_once(world: &World) {
    let (goods, stock) = (world.goods(), "SELECT stock FROM products WHERE id = 4");
    let before = world.number(stock);
    let shopper = world.shopper();
    shopper.take(4, 3);
    let (page, form) = shopper.buy();
    let form = form.expect("the processor answers");
    assert_eq!(world.number(stock), before - 3);
    assert_eq!(world.type_card(&form, POOR).status, 422, "another card may be typed");
    world.cancel(&form);
    let order = page.trim_start_matches("/orders/");
    for _ in 0..3 {
        shopper.get(&format!("/orders/returned?order={order}"));
    }
    let shown = shopper.page(&page);
    assert!(shown.contains("Nothing was charged") && shown.contains("is cancelled"), "{shown}");
    assert_eq!((world.number(stock), world.goods()), (before, goods));
}

fn suppliers_fill_up_what_runs_out(world: &World) {
    world.run("UPDATE products SET stock = 0 WHERE id = 9");
    crate::world::wait_until("it was delivered", || {
        world.number("SELECT stock - restock FROM products WHERE id = 9") == 0
    });
}

#[test]
fn pages_are_served_while_another_process_holds_the_write_lock() {
    let world = World::on_sqlite();
    let shopper = world.shopper();
    shopper.take(4, 1);
    let form = shopper.review();
    let Location::Sqlite(file) = world.location().clone() else { panic!("SQLite") };
    std::thread::scope(|scope| {
        let mut other = block_on(Location::Sqlite(file).connect()).expect("the database opens");
        block_on(other.script("BEGIN IMMEDIATE".into())).expect("the lock is free");
        let (cookie, browser) = (shopper.cookie(), world.browser);
        let order = scope.spawn(move || {
            let fields: Vec<(&str, &str)> =
                form.iter().map(|(name, value)| (&**name, &**value)).collect();
            browser.post_with(&format!("cookie: {cookie}\r\n"), "/orders", &fields).status
        });
        // Enough of them that both runtimes have theirs while the order waits.
        for _ in 0..40 {
            world.browser.page("/products/4");
        }
        assert!(!order.is_finished());
        block_on(other.script("COMMIT".into())).expect("it is committed");
        assert_eq!(order.join().expect("no panic"), 303);
    });
}
