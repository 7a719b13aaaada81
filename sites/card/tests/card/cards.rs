//! What each test card does.

use std::time::{Duration, Instant};

use serde_json::json;

use crate::processor::{GOOD, Running, SLOW, card, code};

on_both_databases![
    cards_that_decline_say_why,
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
        let reference = format!("d-{expected}");
        let (path, payment) = it.form(&reference);
        for _ in 0..5 {
            let answer = it.browser.post(&path, &card(number));
            assert!([422, 200].contains(&answer.status), "{number}: {}", answer.text);
            assert_eq!(it.found(&reference)["decline_code"], expected);
        }
        // It has ended.
        assert_eq!(it.found(&reference)["status"], "declined");
        let path = format!("/v1/payments/{}/capture", payment["id"].as_str().unwrap());
        let captured = it.post(&path, &format!("c-{expected}"), &json!({}));
        assert_eq!(code(&captured), "status_does_not_allow");
    }
    let (path, _) = it.form("d-right");
    let right = [("number", "4000000000000127"), ("expiry", "12/99"), ("cvc", "123")];
    assert_eq!(it.browser.post(&path, &right).status, 303);
    let (path, _) = it.form("d-past");
    let expired = [("number", GOOD), ("expiry", "12/20"), ("cvc", "876")];
    assert_eq!(it.browser.post(&path, &expired).status, 422);
    assert_eq!(it.found("d-past")["decline_code"], "expired_card");
    let real = it.pay("d-real", "4111111111111111");
    assert_eq!((real.status, it.found("d-real")["status"].as_str()), (422, Some("requires_card")));
}

fn a_slow_payment_is_settled_although_nobody_waits_for_it(it: &Running) {
    use std::io::Write as _;
    let (path, _) = it.form("d-1");
    let body = format!("number={SLOW}&expiry=12%2F99&cvc=876");
    let mut stream = std::net::TcpStream::connect(it.browser.address()).unwrap();
    let request = format!(
        "POST {path} HTTP/1.1\r\nhost: card\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    stream.write_all(request.as_bytes()).unwrap();
    let status = || it.found("d-1")["status"].clone();
    while status() == "requires_card" {}
    drop(stream);
    let begun = Instant::now();
    while status() != "requires_capture" {
        assert!(begun.elapsed() < Duration::from_secs(60), "{}", status());
        std::thread::sleep(Duration::from_millis(20));
    }
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
