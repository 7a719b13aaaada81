//! Deposits by card, from the form to the cash, on both databases and with a real processor.

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use serde_json::{Value, json};
use tidegate_brokerage::app;

use crate::browser::{between, hidden};
use crate::deposit_site::{DepositSite, GOOD, POOR, SLOW, signature};
use crate::postgres;
use crate::relay::{Relay, Way};
use crate::world::{World, wait_until};

fn seconds() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap().as_secs()
}

/// What no test may leave behind: a card number in a table.
fn check(site: &DepositSite) {
    site.world.check();
    for sql in [
        "SELECT COUNT(*) FROM deposits WHERE state = 3 AND NOT EXISTS (SELECT 1 FROM payments p
             WHERE p.payment = reference AND p.customer = deposits.customer
             AND p.cents = deposits.cents)",
        "SELECT COUNT(*) FROM deposits d JOIN payments p ON p.payment = d.reference
             WHERE d.state <> 3",
        "SELECT (SELECT COUNT(*) FROM deposits WHERE state < 3)
              - (SELECT COUNT(*) FROM deposit_outbox)",
    ] {
        assert_eq!(site.world.number(sql), 0, "{sql}");
    }
}

#[test]
fn a_deposit_by_card_is_a_part_of_the_cash_once_it_is_captured() {
    for database in [None, Some(postgres::new_database())] {
        let site = DepositSite::new(database);
        let customer = site.world.customer(1);
        let before = site.cash();
        let page = customer.page("/deposits");
        assert!(page.contains("You have made no deposit yet"), "{page}");
        let made = customer.deposit("250.50");
        let form = made.form.expect("the form is there at once");
        let waiting = customer.page(&made.page);
        assert!(waiting.contains("It waits for your card."), "{waiting}");
        assert_eq!(site.cash(), before);
        let paid = site.pay(&customer, &form, GOOD);
        assert!(paid.text.contains("It was paid, and is yours to spend."), "{}", paid.text);
        assert!(paid.text.contains("Mastercard, ending in 4444"), "{}", paid.text);
        assert!(!paid.headers.contains_key("refresh"), "nothing more becomes of it");
        assert_eq!(site.cash(), before + 25_050);
        // Webhooks of it come as well, and change nothing more.
        wait_until("both events were used", || {
            site.world.number("SELECT COUNT(*) FROM card_events") == 2
        });
        assert_eq!(site.cash(), before + 25_050);
        let list = customer.page("/deposits");
        assert!(list.contains("$250.50") && list.contains("It was paid"), "{list}");
        let other = site.world.customer(2);
        assert_eq!(other.get(&made.page).status, 404, "another's deposit");
        check(&site);
    }
}

#[test]
fn a_form_that_is_sent_twice_is_one_deposit() {
    for database in [None, Some(postgres::new_database())] {
        let site = DepositSite::new(database);
        let customer = site.world.customer(1);
        let page = customer.page("/deposits");
        let (form, name) = (hidden(&page, "form"), hidden(&page, "deposit"));
        let made = customer.deposit_as(&form, &name, "10");
        let again = customer.deposit_as(&form, &name, "10.00");
        assert_eq!((&again.page, &again.form), (&made.page, &made.form));
        let fields = [("form", form.as_str()), ("deposit", &name), ("amount", "11")];
        let differs = customer.post("/deposits", &fields);
        assert_eq!(differs.status, 200);
        assert!(differs.text.contains("sent before, with another amount"), "{}", differs.text);
        assert_eq!(site.world.number("SELECT COUNT(*) FROM deposits"), 1);
        let paid = site.pay(&customer, &made.form.unwrap(), GOOD);
        assert!(paid.text.contains("It was paid"), "{}", paid.text);
        let after = customer.deposit_as(&form, &name, "10");
        assert_eq!((after.page, after.form), (made.page, None), "it is paid, and stays so");
        check(&site);
    }
}

#[test]
fn a_card_that_is_declined_and_a_form_that_is_given_up_end_the_deposit_in_words() {
    let site = DepositSite::new(None);
    let customer = site.world.customer(1);
    let before = site.cash();
    let declined = customer.deposit("10.00");
    for _ in 0..5 {
        site.type_card(declined.form.as_ref().unwrap(), POOR);
    }
    site.wait_for(4);
    let page = customer.page(&declined.page);
    assert!(page.contains("its account does not hold the amount. Nothing was charged"), "{page}");
    assert!(page.contains("Make a new deposit with another card"), "{page}");
    let given_up = customer.deposit("10.00");
    assert_eq!(site.cancel(given_up.form.as_ref().unwrap()).status, 303);
    site.wait_for(5);
    let page = customer.page(&given_up.page);
    assert!(page.contains("It was cancelled at the card form. Nothing was charged"), "{page}");
    assert_eq!(site.cash(), before);
    check(&site);
}

#[test]
fn amounts_are_refused_beside_their_field_and_nothing_is_stored() {
    let site = DepositSite::new(None);
    let customer = site.world.customer(1);
    let page = customer.page("/deposits");
    let (form, name) = (hidden(&page, "form"), hidden(&page, "deposit"));
    for amount in ["", "0", "0.99", "10000.01", "1e3", "-5", "12,50", "1.005", "999999999999999999"]
    {
        let fields = [("form", form.as_str()), ("deposit", &name), ("amount", amount)];
        let answer = customer.post("/deposits", &fields);
        assert_eq!(answer.status, 422, "{amount}");
        let wrong = "id=\"amount-wrong\"><span class=\"unseen\">Error: </span>Amount: must be";
        assert!(answer.text.contains(wrong), "{}", answer.text);
        assert_eq!(hidden(&answer.text, "deposit"), name, "the same form");
        assert!(answer.text.contains(&format!("value=\"{amount}\"")), "{}", answer.text);
    }
    for name in ["bad name", GOOD, "5555-5555-5555-4444"] {
        let fields = [("form", form.as_str()), ("deposit", name), ("amount", "10")];
        let answer = customer.post("/deposits", &fields);
        assert_eq!(answer.status, 400, "{name}");
        assert!(!answer.text.contains(name), "{}", answer.text);
    }
    assert_eq!(customer.post("/deposits", &[("deposit", &name), ("amount", "10")]).status, 403);
    for path in ["/deposits/0", "/deposits/x", "/deposits/99", "/deposits/returned?deposit=-1"] {
        assert_eq!(customer.get(path).status, 404, "{path}");
    }
    assert_eq!(customer.get("/deposits?before=x").status, 400);
    assert_eq!(site.world.number("SELECT COUNT(*) FROM deposits"), 0);
}

#[test]
fn without_a_processor_the_page_says_so_and_takes_nothing() {
    let world = World::new();
    let customer = world.customer(1);
    let page = customer.page("/deposits");
    assert!(page.contains("Deposits by card are not set up"), "{page}");
    let form = hidden(&customer.page, "form");
    let fields = [("form", form.as_str()), ("deposit", "deposit-1"), ("amount", "10")];
    let answer = customer.post("/deposits", &fields);
    assert_eq!(answer.status, 404, "{}", answer.text);
    assert!(answer.text.contains("Deposits by card are not set up"), "{}", answer.text);
    let event = world.browser().post("/card-events", &[]);
    assert_eq!(event.status, 404, "{}", event.text);
    assert_eq!(world.number("SELECT COUNT(*) FROM deposits"), 0);
}

#[test]
fn a_processor_that_is_gone_is_told_and_asked_again_when_it_is_back() {
    let mut site = DepositSite::new(None);
    site.stop();
    let customer = site.world.customer(1);
    let before = site.cash();
    let made = customer.deposit("75");
    assert_eq!(made.form, None);
    let page = customer.get(&made.page);
    assert!(page.text.contains("The card processor does not answer"), "{}", page.text);
    assert!(page.text.contains("nothing was charged"), "{}", page.text);
    assert!(page.text.contains("tries again by itself"), "{}", page.text);
    assert!(page.headers["refresh"].contains(&made.page), "{:?}", page.headers);
    site.start();
    site.wait_for(1);
    let page = customer.page(&made.page);
    let form = between(&page, "<a class=\"button\" href=\"", "\"")[0].to_owned();
    let paid = site.pay(&customer, &form, GOOD);
    assert!(paid.text.contains("It was paid"), "{}", paid.text);
    assert_eq!(site.cash(), before + 7500);
    check(&site);
}

#[test]
fn a_deposit_is_paid_in_though_no_webhook_arrives_and_the_customer_does_not_come_back() {
    let site = DepositSite::with(None, false);
    let customer = site.world.customer(1);
    let before = site.cash();
    let made = customer.deposit("20");
    // Slow, so that even the page of the form does not see the end.
    assert_eq!(site.type_card(made.form.as_ref().unwrap(), SLOW).status, 303);
    site.world.run("UPDATE deposit_outbox SET due_ms = 0");
    site.wait_for(3);
    assert_eq!(site.cash(), before + 2000);
    check(&site);
}

#[test]
fn a_webhook_alone_pays_a_deposit_in() {
    let site = DepositSite::new(None);
    let customer = site.world.customer(1);
    let before = site.cash();
    let made = customer.deposit("20");
    // No look at the processor comes in between.
    site.world.run("UPDATE deposit_outbox SET due_ms = 9000000000000");
    assert_eq!(site.type_card(made.form.as_ref().unwrap(), GOOD).status, 303);
    site.wait_for(3);
    assert_eq!(site.cash(), before + 2000);
    check(&site);
}

/// An event of a captured payment of 20 dollars.
fn captured(id: &str, reference: &str, version: i64) -> Value {
    json!({
        "id": id, "sequence": 9, "type": "payment.captured", "created_ms": 1,
        "payment": {
            "id": "pay_1", "reference": reference, "amount": 2000, "currency": "USD",
            "status": "captured", "amount_capturable": 0, "amount_captured": 2000,
            "amount_refunded": 0, "capture": "manual", "captures": [], "refunds": [],
            "version": version, "created_ms": 1,
        },
    })
}

#[test]
fn webhooks_that_are_forged_old_or_sent_again_change_nothing() {
    for database in [None, Some(postgres::new_database())] {
        let site = DepositSite::new(database);
        let customer = site.world.customer(1);
        let before = site.cash();
        customer.deposit("20");
        let reference = site.world.text("SELECT reference FROM deposits");
        let body = captured("evt_1", &reference, 9).to_string();
        let now = seconds();
        let (own, other) = (site.secret(), "another-secret-0123");
        for (what, answer) in [
            ("another secret", site.tell(other, now, &body)),
            ("long ago", site.tell(own, now - 302, &body)),
            ("not yet", site.tell(own, now + 330, &body)),
            ("no signature", site.send("", &body)),
            ("no event", site.tell(own, now, "{}")),
            ("another body", site.send(&signature(own, now, "{}"), &body)),
            ("too long", site.tell(own, now, &" ".repeat(140_000))),
            ("two signatures", {
                let both = signature(own, now, &body) + &signature(other, now, &body);
                site.send(&both, &body)
            }),
        ] {
            assert_eq!(answer.status, 400, "{what}: {}", answer.text);
            assert!(answer.headers["content-type"].contains("json"), "{what}");
        }
        assert_eq!(site.cash(), before);
        let amount = body.replace("\"amount\":2000", "\"amount\":2001");
        assert_eq!(site.tell(own, now, &amount).status, 409, "not that of the deposit");
        for hostile in [captured("evt_\0", &reference, 9), captured("evt_4", "d\0", 9)] {
            let answer = site.tell(own, now, &hostile.to_string());
            assert_eq!(answer.status, 422, "PostgreSQL takes no such text: {}", answer.text);
        }
        let euro = body.replace("USD", "EUR");
        assert_eq!(site.tell(own, now, &euro).status, 200, "of another site, so not ours");
        assert_eq!(site.cash(), before);
        // The processor itself would say so: used once, however often it comes.
        for _ in 0..3 {
            assert_eq!(site.tell(own, now, &body).status, 200);
            assert_eq!(site.cash(), before + 2000);
        }
        let next = captured("evt_2", &reference, 10).to_string();
        assert_eq!(site.tell(own, now, &next).status, 200);
        let foreign = captured("evt_3", "of-somebody-else", 1).to_string();
        assert_eq!(site.tell(own, now, &foreign).status, 200);
        assert_eq!(site.cash(), before + 2000);
        check(&site);
    }
}

#[test]
fn an_event_comes_again_while_a_tier_is_gone() {
    let mut site = DepositSite::new(None);
    let customer = site.world.customer(1);
    let before = site.cash();
    let made = customer.deposit("20");
    site.world.stop_app();
    let body = captured("evt_1", "x", 1).to_string();
    let answer = site.tell(site.secret(), seconds(), &body);
    assert_eq!(answer.status, 503, "{}", answer.text);
    assert_eq!(site.type_card(made.form.as_ref().unwrap(), GOOD).status, 303);
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(site.cash(), before);
    site.world.restart_app();
    site.wait_for(3);
    assert_eq!(site.cash(), before + 2000);
    check(&site);
}

#[test]
fn customers_who_ask_over_and_over_are_16_calls_of_the_processor_at_once() {
    const ASKING: usize = 48;
    let mut site = DepositSite::new(None);
    let customer = site.world.customer(1);
    let made = customer.deposit("20");
    // A processor that takes calls and says nothing: each lasts for its whole deadline.
    let silent = Relay::to(site.world.web.as_ref().unwrap().address());
    silent.set(Way::Silence);
    site.world.stop_app();
    site.world.app_options.card.as_mut().unwrap().url = format!("http://{}", silent.address);
    site.world.restart_app();
    let returned = made.page.replace("/deposits/", "/deposits/returned?deposit=");
    let mut most = 0;
    std::thread::scope(|scope| {
        let asking: Vec<_> = (0..ASKING)
            .map(|_| scope.spawn(|| assert_eq!(customer.get(&returned).status, 303)))
            .collect();
        while asking.iter().any(|thread| !thread.is_finished()) {
            most = most.max(silent.open());
            std::thread::sleep(Duration::from_millis(2));
        }
    });
    // One may be the worker's, and all may still be open when the next are opened: without the
    // limit they would be 48.
    assert!((2..=2 * 16 + 1).contains(&most), "{most}");
    let page = customer.page(&made.page);
    assert!(page.contains("It waits for your card."), "what is known: {page}");
}

#[test]
fn two_application_servers_take_a_deposit_once() {
    let mut site = DepositSite::new(None);
    let other = app::start(site.world.app_options.clone()).unwrap();
    let own = site.world.app.as_ref().unwrap().address();
    site.world.restart_web(&[own, other.address()]);
    let before = site.cash();
    let customer = site.world.customer(1);
    for _ in 0..4 {
        let made = customer.deposit("5");
        let form = made.form.expect("the form is there at once");
        assert!(site.pay(&customer, &form, GOOD).text.contains("It was paid"));
    }
    assert_eq!(site.cash(), before + 2000);
    check(&site);
    other.shutdown();
}
