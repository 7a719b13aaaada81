//! From the basket to an order that is paid, also where answers are lost.

use tidegate_shop::{Build, Options, start};
use tidegate_sitekit::database::Location;

use crate::browser::{Browser, between};
use crate::postgres;
use crate::world::{ADDRESS, GOOD, World, path, wait_until};

on_both_databases![
    a_customer_orders_and_pays,
    a_basket_is_changed_line_by_line,
    a_sum_that_has_changed_is_shown_before_anything_is_ordered,
    an_order_is_seen_by_its_customer_alone,
    an_order_waits_for_a_processor_that_does_not_answer,
    whoever_pays_and_does_not_come_back_has_paid,
    an_account_keeps_the_basket_and_the_orders,
];

/// The state of the newest order.
fn state(world: &World) -> i64 {
    world.number("SELECT state FROM orders ORDER BY id DESC LIMIT 1")
}

fn a_customer_orders_and_pays(world: &World) {
    world.run("UPDATE products SET price = 2000, weight = 700 WHERE id = 3");
    let shopper = world.shopper();
    assert!(shopper.page("/basket").contains("There is nothing in it yet"));
    assert_eq!(shopper.get("/checkout").status, 409);
    shopper.take(3, 2);
    assert!(shopper.page("/checkout").contains("Where does it go?"));
    let review = shopper.post("/checkout", &ADDRESS);
    // Zone 6: 2 × 0.995 × 20 = 39.80; 5.95 + 2 × 0.90 = 7.75; 7.25 % of 47.55 = 3.447.
    for text in ["$39.80", "$7.75", "$3.45", "$51.00", "Order and pay by card"] {
        assert!(review.text.contains(text), "{text} is missing: {}", review.text);
    }
    let (page, form) = shopper.buy();
    let form = form.expect("the processor answers");
    assert_eq!(state(world), 1);
    let typed = world.type_card(&form, GOOD);
    assert_eq!(typed.status, 303, "{}", typed.text);
    let returned = shopper.get(&path(&typed.headers["location"]));
    assert_eq!((returned.status, &returned.headers["location"]), (303, &page));
    wait_until("the amount is taken", || state(world) == 3);
    let shown = shopper.page(&page);
    for text in ["Thank you, your order is paid", "Visa, ending in 4242", "$51.00", "1 Oak Street"]
    {
        assert!(shown.contains(text), "{text} is missing: {shown}");
    }
    assert!(shopper.page("/basket").contains("There is nothing in it yet"));
    let paid = "SELECT goods + shipping + tax FROM orders";
    assert_eq!(world.number(paid), 5100);
}

fn a_basket_is_changed_line_by_line(world: &World) {
    let shopper = world.shopper();
    shopper.take(3, 2);
    shopper.take(5, 1);
    shopper.take(3, 98);
    let quantity = "SELECT quantity FROM basket_lines WHERE product = 3";
    assert_eq!(world.number(quantity), 99);
    shopper.goes("/basket/lines", &[("product", "3"), ("quantity", "4")]);
    assert_eq!(world.number(quantity), 4);
    shopper.goes("/basket/lines", &[("product", "3"), ("quantity", "0")]);
    let page = shopper.page("/basket");
    assert!(page.contains("href=\"/products/5\"") && !page.contains("href=\"/products/3\""));
    world.run("UPDATE products SET stock = 0, restock = 0 WHERE id = 5");
    assert!(shopper.page("/basket").contains("There are 0 left"));
    for product in 10..59 {
        shopper.take(product, 1);
    }
    let full = shopper.post("/basket", &[("product", "99"), ("quantity", "1")]);
    assert_eq!(full.status, 409);
    assert!(full.text.contains("Your basket is full"), "{}", full.text);
    shopper.take(10, 1);
}

fn a_sum_that_has_changed_is_shown_before_anything_is_ordered(world: &World) {
    let shopper = world.shopper();
    shopper.take(3, 1);
    let form = shopper.review();
    world.run("UPDATE products SET price = price + 100 WHERE id = 3");
    let refused = shopper.order(&form);
    assert_eq!(refused.status, 409);
    assert!(refused.text.contains("The sum has changed"), "{}", refused.text);
    // The same for a postcode that costs more than the one that was shown.
    let mut moved = shopper.review();
    moved.iter_mut().find(|(name, _)| name == "postcode").unwrap().1 = "90210".into();
    assert_eq!(shopper.order(&moved).status, 409);
    assert_eq!(world.number("SELECT COUNT(*) FROM orders"), 0);
    assert_eq!(shopper.order(&shopper.review()).status, 303);
}

fn an_order_is_seen_by_its_customer_alone(world: &World) {
    let shopper = world.shopper();
    shopper.take(3, 1);
    let (page, _) = shopper.buy();
    shopper.page(&page);
    let other = world.shopper();
    other.take(4, 1);
    for path in [&page, &format!("/orders/returned?order={}", page.trim_start_matches("/orders/"))]
    {
        for answer in [other.get(path), world.browser.get(path)] {
            assert_eq!(answer.status, 404, "{path}");
            assert!(!answer.text.contains("Oak Street"));
        }
    }
    // A form of another session orders nothing.
    let stolen = shopper.get("/checkout");
    assert_eq!(stolen.status, 409, "its basket is ordered");
    shopper.take(3, 1);
    let form = shopper.review();
    let refused = other.order(&form);
    assert_eq!(refused.status, 403);
    assert!(refused.text.contains("This form cannot be used"), "{}", refused.text);
}

fn an_order_waits_for_a_processor_that_does_not_answer(world: &World) {
    let shopper = world.shopper();
    shopper.take(3, 1);
    let review = shopper.review();
    world.stop_processor();
    let answer = shopper.order(&review);
    assert_eq!(answer.status, 303, "{}", answer.text);
    let page = answer.headers["location"].clone();
    assert!(shopper.page(&page).contains("Your order is placed"));
    assert_eq!(state(world), 0);
    world.start_processor();
    // The queue asks again by itself.
    wait_until("there is a card form", || state(world) == 1);
    let shown = shopper.page(&page);
    let form = format!("http{}", between(&shown, "<a class=\"button\" href=\"http", "\"")[0]);
    assert_eq!(world.type_card(&form, GOOD).status, 303);
    // The answer that the card is authorised is lost with the processor, and so is the capture.
    world.stop_processor();
    let order = page.trim_start_matches("/orders/").trim_end_matches("?pay").to_owned();
    shopper.get(&format!("/orders/returned?order={order}"));
    assert_eq!(state(world), 1);
    world.start_processor();
    world.run("UPDATE payment_queue SET next = 0 WHERE state = 0");
    wait_until("the order is paid", || state(world) == 3);
    assert_eq!(world.number("SELECT COUNT(*) FROM payment_queue WHERE state = 0"), 0);
}

fn whoever_pays_and_does_not_come_back_has_paid(world: &World) {
    let shopper = world.shopper();
    shopper.take(3, 1);
    let (_, form) = shopper.buy();
    assert_eq!(world.type_card(&form.expect("a form"), GOOD).status, 303);
    // What is due in ten minutes is due now.
    world.run("UPDATE payment_queue SET next = 0 WHERE state = 0");
    wait_until("the order is paid", || state(world) == 3);
}

fn an_account_keeps_the_basket_and_the_orders(world: &World) {
    let shopper = world.shopper();
    shopper.take(3, 1);
    let auth = crate::browser::hidden(&shopper.page("/account/register"), "auth");
    let fields = |password: &'static str, auth: &'static str| {
        [&ADDRESS[..], &[("password", password), ("auth", auth)]].concat()
    };
    let auth: &'static str = auth.leak();
    let short = shopper.post("/account/register", &fields("short", auth));
    assert_eq!(short.status, 422);
    assert!(short.text.contains("8 to 128 characters") && short.text.contains("1 Oak Street"));
    assert_eq!(shopper.goes("/account/register", &fields("long enough", auth)), "/account");
    assert!(shopper.page("/account").contains("Hello, Ann Example"));
    assert!(shopper.page("/checkout").contains("value=\"1 Oak Street\""), "the address is known");
    let (page, _) = shopper.buy();
    assert_eq!(shopper.goes("/account/sign-out", &[]), "/account");
    assert!(shopper.page("/account").contains("No account yet?"));
    assert_eq!(shopper.get(&page).status, 404);
    let wrong = [("email", "ann@example.com"), ("password", "something else")];
    assert_eq!(shopper.post("/account/sign-in", &wrong).status, 403);
    let right = [("email", "ann@example.com"), ("password", "long enough")];
    assert_eq!(shopper.goes("/account/sign-in", &right), "/account");
    assert!(shopper.page("/account").contains(&format!("href=\"{page}\"")));
    shopper.page(&page);
    let taken = world.shopper();
    let auth = crate::browser::hidden(&taken.page("/account/register"), "auth").leak();
    assert_eq!(taken.post("/account/register", &fields("long enough", auth)).status, 409);
    assert_eq!(world.number("SELECT COUNT(*) FROM customers WHERE email = 'ann@example.com'"), 1);
}

#[test]
fn two_processes_on_one_database_sell_one_stock() {
    let mut world = World::new(Some(postgres::new_database()), Build::Cached);
    let options = Options { listen: "127.0.0.1:0".parse().unwrap(), ..world.options.clone() };
    let second = start(&options).unwrap();
    let shopper = world.shopper();
    shopper.take(3, 1);
    let form = shopper.review();
    let fields: Vec<(&str, &str)> = form.iter().map(|(name, value)| (&**name, &**value)).collect();
    // A form of the one process is accepted by the other, once.
    let cookie = format!("cookie: {}\r\n", shopper.cookie());
    let placed = Browser::new(second.address()).post_with(&cookie, "/orders", &fields);
    assert_eq!(placed.status, 303, "{}", placed.text);
    assert_eq!(shopper.order(&form).headers["location"], placed.headers["location"]);
    second.shutdown();
    // Orders outlive a restart, and so do sessions.
    world.restart();
    let page = placed.headers["location"].split('?').next().unwrap();
    assert!(shopper.page(page).contains("Springfield"));
    assert!(matches!(world.location(), Location::Postgres(_)));
}
