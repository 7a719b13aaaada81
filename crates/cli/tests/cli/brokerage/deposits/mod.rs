//! Deposits while processes are killed, and answers lost, late or forged.

mod site;
mod start;

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use site::{
    CASH, DEPOSITS, GOOD, PAID, PAID_IN, PARTS, POOR, Part, Site, contents, form, has,
    wait_for_page,
};

use crate::common::tiers::Customer;
use crate::common::{Over, PATIENCE, Running, Text, curl, in_time, private};
use crate::postgres;
use crate::relay::Way;

#[test]
fn a_deposit_is_paid_in_once_and_leaves_no_card_number_and_no_key_behind() {
    for database in [None, Some(postgres::new_database())] {
        let site = Site::on(database);
        let [before] = site.counts([CASH]);
        let customer = site.customer(1);
        let token = form(&customer);
        let page = customer.deposit(&token, "deposit-0001", "125.50");
        assert_eq!(page.status, 200, "{}", page.text);
        let card_form = page.card_form().expect("the card form is there at once");
        assert_eq!(
            customer.deposit(&token, "deposit-0001", "125.50").card_form(),
            page.card_form()
        );
        let paid = customer.type_card(&card_form, GOOD);
        assert!(paid.text.contains(PAID), "{}", paid.text);
        // Declined, until no other card may be tried.
        let page = customer.deposit(&token, "deposit-0002", "10");
        for _ in 0..5 {
            customer.type_card(&page.card_form().unwrap(), POOR);
        }
        wait_for_page(&customer, "/deposits", "its account does not hold the amount");
        // Junk in place of a card, at the wrong place.
        let junk = format!("form={token}&deposit=deposit-0003&amount={GOOD}");
        assert_eq!(customer.post("/deposits", &junk).status, 422);
        let junk = format!("form={token}&deposit={GOOD}&amount=10");
        assert_eq!(customer.post("/deposits", &junk).status, 400);
        assert_eq!(customer.order(&token, GOOD, "buy", 1, "1.00").status, 400);
        assert_eq!(customer.get(&format!("/deposits/{GOOD}")).status, 404);
        assert_eq!(site.counts([CASH, DEPOSITS, PAID_IN]), [before + 12_550, 2, 1]);
        site.check_processor();
        let secrets = ["card-key", "webhook-secret"]
            .map(|name| std::fs::read_to_string(site.file(name)).unwrap().trim().to_owned());
        for (path, bytes) in contents(site.folder.path()) {
            for number in [GOOD, POOR] {
                assert!(!has(&bytes, number), "{number} is in {}", path.display());
            }
            let own = ["card-key", "webhook-secret"].iter().any(|name| path.ends_with(name));
            for secret in &secrets {
                assert!(own || !has(&bytes, secret), "a secret is in {}", path.display());
            }
        }
    }
}

#[test]
fn processes_that_are_killed_at_any_time_lose_and_double_no_deposit() {
    const CUSTOMERS: usize = 3;
    const KILLS: usize = 2 * PARTS.len();
    for database in [None, Some(postgres::new_database())] {
        let mut site = Site::on(database);
        let [before] = site.counts([CASH]);
        let customers: Vec<Customer> =
            (1..=CUSTOMERS).map(|number| site.customer(number)).collect();
        let forms: Vec<String> = customers.iter().map(form).collect();
        let over = AtomicBool::new(false);
        let deposits: usize = std::thread::scope(|scope| {
            // Customers pay in for as long as processes are killed, however fast these are.
            let paying: Vec<_> = customers
                .iter()
                .zip(&forms)
                .enumerate()
                .map(|(number, (customer, form))| {
                    let over = &over;
                    scope.spawn(move || {
                        let mut made = 0;
                        while made == 0 || !over.load(Ordering::Relaxed) {
                            pay_in(customer, form, &format!("deposit-{number}-{made:04}"), "7.00");
                            made += 1;
                        }
                        made
                    })
                })
                .collect();
            let over = Over(&over);
            for kill in 0..KILLS {
                // Somewhere else each time.
                std::thread::sleep(Duration::from_millis(60 + 37 * kill as u64));
                let part = PARTS[kill % PARTS.len()];
                site.kill(part);
                std::thread::sleep(Duration::from_millis(20 * (kill as u64 % 3)));
                site.start(part);
            }
            drop(over);
            paying.into_iter().map(|paying| paying.join().unwrap()).sum()
        });
        let all = i64::try_from(deposits).unwrap();
        site.wait_for_paid(all);
        assert_eq!(site.counts([CASH, DEPOSITS]), [before + all * 700, all]);
        site.check_processor();
    }
}

/// Makes a deposit and pays it, as a customer does who tries again until the page says that it
/// is done.
fn pay_in(customer: &Customer, form: &str, name: &str, amount: &str) {
    let deadline = Instant::now() + 2 * PATIENCE;
    let mut card_form = None;
    loop {
        assert!(Instant::now() < deadline, "{name} is never paid");
        let page = customer.deposit(form, name, amount);
        if page.text.contains(PAID) {
            return;
        }
        card_form = page.card_form().or(card_form);
        if let Some(form) = &card_form
            && customer.type_card(form, GOOD).text.contains(PAID)
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn a_processor_that_never_answers_is_told_in_time_and_its_answer_is_found_later() {
    let site = Site::new();
    let [before] = site.counts([CASH]);
    let customer = site.customer(1);
    let token = form(&customer);
    site.relay.set(Way::Silence);
    // curl gives up after half a minute.
    let page = customer.deposit(&token, "deposit-0001", "50");
    assert!(page.text.contains("The card processor does not answer"), "{}", page.text);
    assert!(page.text.contains("nothing was charged"), "{}", page.text);
    assert!(page.text.contains("tries again by itself"), "{}", page.text);
    // Other pages do not wait for it.
    for path in ["/main", "/deposits", "/deposits/1", "/orders"] {
        in_time("a page comes at once", Duration::from_secs(3), || {
            assert_eq!(customer.get(path).status, 200, "{path}");
        });
    }
    site.logged("app", "no answer within");
    assert!(site.log("app").contains(&format!("card processor at http://{}", site.relay.address)));
    site.relay.set(Way::Pass);
    let page = wait_for_page(&customer, "/deposits/1", "Type your card");
    // Silent again when the customer has paid: the money is taken, and taken once.
    site.relay.set_now(Way::Silence);
    let page = customer.type_card(&page.card_form().unwrap(), GOOD);
    assert_eq!(page.status, 200, "{}", page.text);
    let page = wait_for_page(&customer, "/deposits/1", "The card is authorised");
    assert!(!page.text.contains(PAID), "{}", page.text);
    let page = wait_for_page(&customer, "/deposits/1", "Do not pay again");
    assert!(page.text.contains("takes the amount once"), "{}", page.text);
    site.relay.set(Way::Pass);
    site.wait_for_paid(1);
    assert_eq!(site.counts([CASH, DEPOSITS]), [before + 5000, 1]);
    site.check_processor();
}

#[test]
fn whatever_becomes_of_the_processors_answers_a_deposit_is_taken_once() {
    let site = Site::new();
    let [before] = site.counts([CASH]);
    let customer = site.customer(1);
    let token = form(&customer);
    let ways = [Way::Close, Way::LoseAnswer, Way::CutAnswer, Way::ResetAnswer, Way::Junk];
    for (at, way) in (1..).zip(ways) {
        let (name, path) = (format!("deposit-{at:04}"), format!("/deposits/{at}"));
        // Lost when the payment is created,
        site.relay.set_now(way);
        let page = customer.deposit(&token, &name, "30");
        assert!(page.text.contains("does not answer"), "{way:?}: {}", page.text);
        site.relay.set(Way::Pass);
        let page = wait_for_page(&customer, &path, "Type your card");
        // and when it is captured.
        site.relay.set_now(way);
        customer.type_card(&page.card_form().unwrap(), GOOD);
        wait_for_page(&customer, &path, "The card is authorised");
        std::thread::sleep(Duration::from_millis(300));
        site.relay.set(Way::Pass);
        site.wait_for_paid(at);
    }
    assert_eq!(site.counts([CASH, DEPOSITS]), [before + 5 * 3000, 5]);
    site.check_processor();
}

#[test]
fn a_processor_that_is_killed_before_its_answer_and_started_again_takes_a_deposit_once() {
    let mut site = Site::new();
    let [before] = site.counts([CASH]);
    let customer = site.customer(1);
    let token = form(&customer);
    let page = customer.deposit(&token, "deposit-0001", "40");
    // It authorises, and neither page nor webhook nor capture comes through.
    site.relay.set(Way::Close);
    site.kill(Part::Web);
    let fields = format!("number={GOOD}&expiry=12%2F99&cvc=876");
    let card_form = page.card_form().unwrap();
    let status = ["--output", "/dev/null", "--write-out", "%{http_code}", "--data", &fields];
    let answer = curl(&[&status[..], &[&card_form]].concat()).stdout_text();
    assert_eq!(answer, "303");
    site.kill(Part::Processor);
    site.relay.set(Way::Pass);
    site.start(Part::Web);
    let page = customer.get("/deposits/1");
    assert!(page.text.contains("Nothing was charged"), "{}", page.text);
    site.start(Part::Processor);
    site.wait_for_paid(1);
    assert_eq!(site.counts([CASH]), [before + 4000]);
    site.check_processor();
}

#[test]
fn forged_webhooks_are_refused_and_logged_in_few_lines() {
    let site = Site::new();
    let [before] = site.counts([CASH]);
    let customer = site.customer(1);
    customer.deposit(&form(&customer), "deposit-0001", "20");
    let url = format!("{}/card-events", site.url());
    let forged = "Tidegate-Signature: t=1,v1=0000000000000000000000000000000000000000000000000000000000000000";
    let begun = Instant::now();
    for at in 0..40 {
        let body = format!("{{\"card\":\"{GOOD}\",\"n\":{at}}}");
        let status = ["--output", "/dev/null", "--write-out", "%{http_code}"];
        let request = ["--header", forged, "--data", &body, &url];
        assert_eq!(curl(&[&status[..], &request].concat()).stdout_text(), "400");
    }
    let log = site.log("web");
    let lines = log.lines().filter(|line| line.contains("a webhook is rejected")).count();
    // At most one in a second.
    let most = begun.elapsed().as_secs() as usize + 1;
    assert!((1..=most).contains(&lines), "{lines} of at most {most}: {log}");
    assert!(log.contains("no signature is by one of the secrets") && !log.contains(GOOD), "{log}");
    assert_eq!(site.counts([CASH, PAID_IN]), [before, 0]);
}

#[test]
fn a_key_that_the_processor_does_not_know_is_named_and_deposits_wait_for_the_right_one() {
    let mut site = Site::new();
    let right = std::fs::read_to_string(site.file("card-key")).unwrap();
    site.kill(Part::App);
    private(&site.file("card-key"), "sk_test_of_somebody_else\n");
    site.start(Part::App);
    let customer = site.customer(1);
    let page = customer.deposit(&form(&customer), "deposit-0001", "20");
    assert!(page.text.contains("nothing was charged"), "{}", page.text);
    site.logged("app", "wrong_api_key");
    assert!(!site.log("app").contains("sk_test_of"), "{}", site.log("app"));
    site.kill(Part::App);
    private(&site.file("card-key"), &right);
    site.start(Part::App);
    wait_for_page(&customer, "/deposits/1", "Type your card");
}

#[test]
fn a_return_url_that_is_not_registered_ends_the_deposit_and_is_named() {
    let mut site = Site::new();
    site.kill(Part::Processor);
    let (card, listen) = (site.path("card"), site.address(Part::Processor));
    let args = ["site", "card", "--data", &card, "--listen", &listen];
    site.processor = Some(Running::tidegate(&args));
    let customer = site.customer(1);
    let page = customer.deposit(&form(&customer), "deposit-0001", "20");
    assert!(page.text.contains("The card processor does not take this deposit"), "{}", page.text);
    assert!(page.text.contains("Nothing was charged"), "{}", page.text);
    site.logged("app", "return_url_not_registered");
    assert_eq!(site.counts([DEPOSITS, PAID_IN]), [1, 0]);
}
