//! The card form.

use serde_json::json;

use crate::browser::Answer;
use crate::processor::{GOOD, RETURN_URL, Running, SLOW, code, value};

on_both_databases![
    a_customer_pays_and_goes_back_to_the_merchant,
    mistakes_stand_beside_their_fields_and_no_number_is_shown_again,
    a_form_that_is_sent_again_pays_once,
    a_form_of_another_site_is_refused,
    a_declined_card_can_be_replaced_five_times,
    a_customer_can_cancel,
    a_slow_issuer_is_waited_for,
];

fn fields<'a>(number: &'a str, expiry: &'a str, cvc: &'a str) -> [(&'static str, &'a str); 3] {
    [("number", number), ("expiry", expiry), ("cvc", cvc)]
}

fn pay(it: &Running, path: &str, number: &str) -> Answer {
    it.browser.post(path, &fields(number, "12/99", "876"))
}

/// The answer leads back to the merchant with the payment and its reference.
#[track_caller]
fn leads_back(answer: &Answer, payment: &serde_json::Value) {
    let expected = format!(
        "{RETURN_URL}?from=card&payment={}&reference={}",
        payment["id"].as_str().unwrap(),
        payment["reference"].as_str().unwrap()
    );
    assert_eq!((answer.status, &answer.headers["location"]), (303, &expected), "{}", answer.text);
}

fn status(it: &Running, payment: &serde_json::Value) -> String {
    let found = it.get(&format!("/v1/payments/{}", payment["id"].as_str().unwrap()));
    found["status"].as_str().unwrap().to_owned()
}

fn a_form_of_another_site_is_refused(it: &Running) {
    let (path, payment) = it.form("d-1");
    let card = fields(GOOD, "12/99", "876");
    for more in ["Sec-Fetch-Site: cross-site\r\n", "Origin: https://evil.example\r\n"] {
        for (path, fields) in [(path.clone(), &card[..]), (format!("{path}/cancel"), &[])] {
            let answer = it.browser.post_with(more, &path, fields);
            assert_eq!(answer.status, 403, "{}", answer.text);
            assert!(answer.text.contains("from a page of another site"), "{}", answer.text);
        }
        // A customer arrives from the merchant.
        assert_eq!(it.browser.get_with(more, &path).status, 200);
    }
    assert_eq!(status(it, &payment), "requires_card");
    let own = "Sec-Fetch-Site: same-origin\r\n";
    leads_back(&it.browser.post_with(own, &path, &card), &payment);
}

fn a_customer_pays_and_goes_back_to_the_merchant(it: &Running) {
    let (path, payment) = it.form("d-1");
    assert_eq!(payment["status"], "requires_card");
    let page = it.browser.get(&path);
    assert_eq!(page.status, 200);
    for expected in
        ["Pay 50.00 USD", "brokerage", "Deposit &lt;1&gt;", "autocomplete=\"cc-number\""]
    {
        assert!(page.text.contains(expected), "{expected}: {}", page.text);
    }
    let policy = &page.headers["content-security-policy"];
    assert!(policy.starts_with(
        "default-src 'none'; style-src 'self'; form-action 'self' http://127.0.0.1:9;"
    ));
    assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("script"), "{policy}");
    assert_eq!(page.headers["referrer-policy"], "same-origin");
    assert_eq!(page.headers["cache-control"], "no-store");
    assert!(!page.text.contains("<script"));

    let paid = pay(it, &path, "5555 5555 5555 4444");
    leads_back(&paid, &payment);
    assert_eq!(paid.headers["referrer-policy"], "no-referrer");
    let found = it.get(&format!("/v1/payments/{}", payment["id"].as_str().unwrap()));
    assert_eq!(found["status"], "requires_capture");
    assert_eq!(found["card"]["last4"], "4444");
    let after = it.browser.get(&path);
    assert!(after.text.contains("You have paid 50.00 USD"), "{}", after.text);
    assert!(after.text.contains("ends in 4444") && after.text.contains(RETURN_URL));
    assert_eq!(it.browser.get("/static/card.css").status, 200);
}

fn mistakes_stand_beside_their_fields_and_no_number_is_shown_again(it: &Running) {
    let (path, payment) = it.form("d-1");
    for (sent, wrong) in [
        (fields("", "", ""), &["number", "expiry", "cvc"][..]),
        (fields("5555555555554445", "12/99", "876"), &["number"]),
        (fields(GOOD, "13/99", "876"), &["expiry"]),
        (fields(GOOD, "12/99", "87"), &["cvc"]),
        (fields(GOOD, "04/20", "876"), &["expiry"]),
        (fields("4111111111111111", "12/99", "876"), &["number"]),
    ] {
        let page = it.browser.post(&path, &sent);
        assert_eq!(page.status, 422, "{}", page.text);
        for field in ["number", "expiry", "cvc"] {
            let marked = page.text.contains(&format!("id=\"{field}-mistake\""));
            assert_eq!(marked, wrong.contains(&field), "{field} of {sent:?}: {}", page.text);
        }
        assert!(page.text.contains("<title>Error: Pay 50.00 USD"), "{}", page.text);
        assert!(page.text.contains("role=\"alert\"") && page.text.contains("aria-invalid"));
        let shown = [GOOD, "5555555555554445", "4111111111111111"];
        assert!(!shown.iter().any(|number| page.text.contains(number)), "{}", page.text);
        assert!(!page.text.contains("value=\"876\""), "{}", page.text);
        if sent[1].1 == "12/99" {
            assert!(page.text.contains("value=\"12/99\""), "{}", page.text);
        }
    }
    // A form that cannot be read is an empty one.
    let junk = it.browser.post(&path, &[("number", &"5".repeat(5000))]);
    assert_eq!(junk.status, 422);
    for path in ["/checkout/chk_0", "/checkout/x", "/checkout/%FF", "/checkout/%00"] {
        let answer = it.browser.get(path);
        assert_eq!(answer.status, 404);
        assert!(answer.text.contains("There is no such payment"), "{}", answer.text);
        assert_eq!(it.browser.post(path, &[]).status, 404);
    }
    // The payment of an id has no form under it.
    let id = payment["id"].as_str().unwrap();
    assert_eq!(it.browser.get(&format!("/checkout/{id}")).status, 404);
    // This card fails at the first attempt of a payment.
    let (path, payment) = it.form("d-2");
    let failed = pay(it, &path, "4000000000000119");
    assert_eq!(failed.status, 422);
    assert!(failed.text.contains("Nothing was charged: send the card again"), "{}", failed.text);
    leads_back(&pay(it, &path, "4000000000000119"), &payment);
}

fn a_form_that_is_sent_again_pays_once(it: &Running) {
    let (path, payment) = it.form("d-1");
    let answers: Vec<Answer> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..8).map(|_| scope.spawn(|| pay(it, &path, GOOD))).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for answer in &answers {
        leads_back(answer, &payment);
    }
    assert_eq!(it.events().len(), 1);
}

fn a_declined_card_can_be_replaced_five_times(it: &Running) {
    let (path, payment) = it.form("d-1");
    let poor = pay(it, &path, "4000000000009995");
    assert_eq!(poor.status, 422);
    assert!(poor.text.contains("does not hold the amount"), "{}", poor.text);
    let wrong = pay(it, &path, "4000000000000127");
    assert!(wrong.text.contains("id=\"cvc-mistake\""), "{}", wrong.text);
    assert_eq!(status(it, &payment), "requires_card");
    leads_back(&pay(it, &path, GOOD), &payment);

    let (path, payment) = it.form("d-2");
    for _ in 0..4 {
        assert_eq!(pay(it, &path, "4000000000009979").status, 422);
    }
    let last = pay(it, &path, "4000000000009979");
    assert_eq!(last.status, 200);
    assert!(last.text.contains("No other card can be tried"), "{}", last.text);
    assert!(!last.text.contains("stolen"), "{}", last.text);
    assert!(pay(it, &path, GOOD).text.contains("No other card can be tried"));
    assert_eq!(status(it, &payment), "declined");
}

fn a_customer_can_cancel(it: &Running) {
    let (path, payment) = it.form("d-1");
    let cancel = format!("{path}/cancel");
    leads_back(&it.browser.post(&cancel, &[]), &payment);
    let found = it.get(&format!("/v1/payments/{}", payment["id"].as_str().unwrap()));
    assert_eq!(
        (&found["status"], &found["cancellation"]),
        (&json!("cancelled"), &json!("customer"))
    );
    assert!(it.browser.get(&path).text.contains("This payment was cancelled"));
    leads_back(&pay(it, &path, GOOD), &payment);
    assert_eq!(status(it, &payment), "cancelled");
    // Who has paid cannot cancel.
    let (path, payment) = it.form("d-2");
    leads_back(&pay(it, &path, GOOD), &payment);
    leads_back(&it.browser.post(&format!("{path}/cancel"), &[]), &payment);
    assert_eq!(status(it, &payment), "requires_capture");
}

fn a_slow_issuer_is_waited_for(it: &Running) {
    let (path, payment) = it.form("d-1");
    leads_back(&pay(it, &path, SLOW), &payment);
    assert_eq!(status(it, &payment), "requires_capture");
}

#[test]
fn a_slow_issuer_is_not_waited_for_in_vain() {
    let it = Running::with(None, |options| options.slow_card = std::time::Duration::from_secs(600));
    let (path, payment) = it.form("d-1");
    let begun = std::time::Instant::now();
    std::thread::scope(|scope| {
        let first = scope.spawn(|| pay(&it, &path, SLOW));
        while status(&it, &payment) == "requires_card" {}
        let early = it.post(
            &format!("/v1/payments/{}/capture", payment["id"].as_str().unwrap()),
            "k",
            &json!({}),
        );
        assert_eq!(code(&early), "status_does_not_allow");
        let page = first.join().unwrap();
        assert_eq!(page.status, 200);
        assert!(page.text.contains("Waiting for your bank"), "{}", page.text);
        assert!(page.text.contains(&format!("href=\"{path}\"")), "{}", page.text);
    });
    assert!((19..500).contains(&begun.elapsed().as_secs()), "{:?}", begun.elapsed());
}

#[test]
fn nobody_is_sent_to_an_address_that_is_no_longer_registered() {
    let mut it = Running::on_sqlite();
    let (path, payment) = it.form("d-1");
    it.options.return_urls.clear();
    it.restart();
    let paid = pay(&it, &path, GOOD);
    assert_eq!((paid.status, paid.headers.get("location")), (200, None));
    assert!(paid.text.contains("You have paid") && !paid.text.contains(RETURN_URL));
    assert!(paid.headers["content-security-policy"].contains("form-action 'self';"));
    assert_eq!(status(&it, &payment), "requires_capture");
    let refused = it.post(
        "/v1/payments",
        "k",
        &json!({ "amount": 1, "currency": "USD", "reference": "d-2", "return_url": RETURN_URL }),
    );
    assert_eq!(value(&refused)["error"]["code"], "return_url_not_registered");
}
