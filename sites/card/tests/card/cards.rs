//! What each test card does.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::processor::{GOOD, Running, SLOW, code, payment, value};

on_both_databases![
    cards_that_decline_say_why,
    an_issuer_that_fails_once_is_asked_again_under_the_same_key,
    a_slow_card_is_answered_late_and_meanwhile_repetitions_wait,
    a_slow_payment_is_settled_although_nobody_waits_for_it,
];

fn cards_that_decline_say_why(it: &Running) {
    for (number, expected) in [
        ("4000000000000002", "generic_decline"),
        ("4000000000009995", "insufficient_funds"),
        ("4000000000000069", "expired_card"),
        ("4000000000009979", "stolen_card"),
        ("4000000000000127", "incorrect_cvc"),
    ] {
        let answer = it.pay(&format!("d-{expected}"), number);
        assert_eq!((answer.status, code(&answer).as_str()), (402, "card_declined"), "{number}");
        let answer = value(&answer);
        assert_eq!(answer["error"]["decline_code"], expected);
        assert_eq!(answer["payment"]["status"], "declined");
        assert_eq!(answer["payment"]["decline_code"], expected);
        // It has ended.
        let path = format!("/v1/payments/{}/capture", answer["payment"]["id"].as_str().unwrap());
        let captured = it.post(&path, &format!("c-{expected}"), &json!({}));
        assert_eq!(code(&captured), "status_does_not_allow");
    }
    let mut right = payment("d-right", "4000000000000127");
    right["card"]["cvc"] = json!("123");
    assert_eq!(it.post("/v1/payments", "right", &right).status, 201);
    let mut expired = payment("d-past", GOOD);
    expired["card"]["exp_year"] = json!(2020);
    let answer = it.post("/v1/payments", "past", &expired);
    assert_eq!(value(&answer)["error"]["decline_code"], "expired_card");
    let real = it.pay("d-real", "4111111111111111");
    assert_eq!((real.status, code(&real).as_str()), (422, "test_cards_only"));
}

fn an_issuer_that_fails_once_is_asked_again_under_the_same_key(it: &Running) {
    let failed = it.pay("d-1", "4000000000000119");
    assert_eq!((failed.status, code(&failed).as_str()), (500, "processing_error"));
    assert_eq!(failed.headers.get("idempotent-replayed"), None);
    assert_eq!(it.get("/v1/payments?reference=d-1"), json!({ "payments": [] }));
    let again = it.pay("d-1", "4000000000000119");
    assert_eq!(again.status, 201, "{}", again.text);
    assert_eq!(again.headers["idempotent-replayed"], "false");
    let replayed = it.pay("d-1", "4000000000000119");
    assert_eq!(replayed.headers["idempotent-replayed"], "true");
    assert_eq!(replayed.text, again.text);
}

fn a_slow_card_is_answered_late_and_meanwhile_repetitions_wait(it: &Running) {
    let late = Duration::from_millis(300);
    // Until the repetition was answered before the payment can have been, which a machine that is
    // short of time may not manage at first.
    let met = (1..=20).any(|number| {
        let reference = format!("d-{number}");
        let begun = Instant::now();
        std::thread::scope(|scope| {
            let first = scope.spawn(|| it.pay(&reference, SLOW));
            // The payment is there long before its answer.
            let found = loop {
                let found = it.get(&format!("/v1/payments?reference={reference}"));
                if found["payments"][0]["id"].is_string() {
                    break found;
                }
            };
            let second = it.pay(&reference, SLOW);
            let met = begun.elapsed() < late;
            if met {
                assert_eq!(found["payments"][0]["status"], "processing");
                assert_eq!((second.status, code(&second).as_str()), (409, "request_under_way"));
                assert_eq!(second.headers["retry-after"], "1");
            }
            let first = first.join().unwrap();
            assert!(begun.elapsed() >= late);
            assert_eq!(first.status, 201, "{}", first.text);
            assert_eq!(value(&first)["status"], "requires_capture");
            assert_eq!(it.pay(&reference, SLOW).text, first.text);
            met
        })
    });
    assert!(met, "no repetition came before the answer");
}

fn a_slow_payment_is_settled_although_nobody_waits_for_it(it: &Running) {
    use std::io::Write as _;
    let body = payment("d-1", SLOW).to_string();
    let mut stream = std::net::TcpStream::connect(it.browser.address()).unwrap();
    let request = format!(
        "POST /v1/payments HTTP/1.1\r\nhost: card\r\nauthorization: Bearer {}\r\n\
         idempotency-key: create-d-1\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        *it.key,
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let status = || it.get("/v1/payments?reference=d-1")["payments"][0]["status"].clone();
    while status().is_null() {}
    drop(stream);
    let begun = Instant::now();
    while status() != "requires_capture" {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", status());
        std::thread::sleep(Duration::from_millis(20));
    }
    // The answer that nobody heard is that of the key.
    let answer = it.pay("d-1", SLOW);
    assert_eq!((answer.status, answer.headers["idempotent-replayed"].as_str()), (201, "true"));
}

#[test]
fn the_documentation_has_every_test_card() {
    let text = include_str!("../../../../docs/card.md");
    let table: String =
        text.split("## Test cards").nth(1).unwrap().split("\n## ").next().unwrap().into();
    let digits: String = table.chars().filter(|it| *it != ' ').collect();
    for card in &tidegate_card::TEST_CARDS {
        assert!(digits.contains(&format!("|{}|", card.number)), "{}", card.number);
    }
    let rows = table.lines().filter(|line| line.starts_with("| ")).skip(2);
    assert_eq!(rows.count(), tidegate_card::TEST_CARDS.len());
}
