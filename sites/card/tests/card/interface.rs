//! The interface: payments from creation to refund, and events.

use serde_json::json;

use tidegate_card::EventKind;

use crate::processor::{GOOD, RETURN_URL, Running, card, code, payment, value};

on_both_databases![
    a_payment_is_authorised_captured_and_refunded,
    a_payment_is_captured_in_parts_and_the_rest_given_up,
    a_payment_is_found_by_the_merchants_reference,
    events_are_numbered_in_order_without_gaps,
    merchants_do_not_see_each_others_payments,
    amounts_beyond_what_is_left_are_refused,
    control_characters_name_nothing,
];

fn a_payment_is_authorised_captured_and_refunded(it: &Running) {
    let created = it.create("d-1");
    assert_eq!(created.status, 201, "{}", created.text);
    assert_eq!(created.headers["content-type"], "application/json");
    assert_eq!(value(&created)["status"], "requires_card");
    let url = value(&created)["checkout_url"].as_str().unwrap().to_owned();
    let paid = it.browser.post(&url[url.find("/checkout/").unwrap()..], &card(GOOD));
    assert_eq!(paid.status, 303, "{}", paid.text);
    let created = it.found("d-1");
    assert_eq!(created["status"], "requires_capture");
    assert_eq!(created["amount_capturable"], 5000);
    assert_eq!(created["card"]["brand"], "mastercard");
    assert_eq!(created["card"]["last4"], "4444");
    assert!(created["expires_ms"].as_i64() > created["created_ms"].as_i64());
    let path = format!("/v1/payments/{}", created["id"].as_str().unwrap());
    assert_eq!(it.get(&path), created);

    let captured = it.post(&format!("{path}/capture"), "k1", &json!({}));
    assert_eq!(captured.status, 200, "{}", captured.text);
    let captured = value(&captured);
    assert_eq!(captured["status"], "captured");
    assert_eq!(captured["captures"][0]["amount"], 5000);
    assert_eq!(captured["expires_ms"], json!(null));

    let refund = |key: &str, body| value(&it.post(&format!("{path}/refunds"), key, &body));
    let refunded = refund("k2", json!({ "amount": 1, "reference": "r-1" }));
    assert_eq!(refunded["status"], "partially_refunded");
    assert_eq!(refunded["refunds"][0]["reference"], "r-1");
    let refunded = refund("k3", json!({}));
    assert_eq!(refunded["status"], "refunded");
    assert_eq!(refunded["amount_refunded"], 5000);
    assert_eq!(refunded["refunds"].as_array().unwrap().len(), 2);
    let versions = [&created, &captured, &refunded].map(|it| it["version"].as_i64());
    assert!(versions.is_sorted() && versions[0] < versions[2], "{versions:?}");

    // Two payments with one card have one fingerprint.
    it.authorised("d-2");
    let again = it.found("d-2");
    assert_eq!(again["card"], created["card"]);
}

fn a_payment_is_captured_in_parts_and_the_rest_given_up(it: &Running) {
    let path = format!("/v1/payments/{}", it.authorised("d-1"));
    let part = json!({ "amount": 2000, "final": false, "reference": "c-1" });
    let captured = value(&it.post(&format!("{path}/capture"), "k1", &part));
    assert_eq!(captured["status"], "requires_capture");
    assert_eq!(captured["amount_capturable"], 3000);
    let last = it.post(&format!("{path}/capture"), "k2", &json!({ "amount": 1000 }));
    assert_eq!(last.status, 200, "{}", last.text);
    let last = value(&last);
    assert_eq!(last["status"], "captured");
    assert_eq!(last["amount_captured"], 3000);
    assert_eq!(
        code(&it.post(&format!("{path}/capture"), "k3", &json!({}))),
        "status_does_not_allow"
    );

    // An empty body is an empty object.
    let path = format!("/v1/payments/{}", it.authorised("d-2"));
    let answer = it.send("POST", &format!("{path}/capture"), "idempotency-key: k4\r\n", "");
    assert_eq!(value(&answer)["status"], "captured");
}

fn a_payment_is_found_by_the_merchants_reference(it: &Running) {
    assert_eq!(it.get("/v1/payments?reference=d-1"), json!({ "payments": [] }));
    let id = it.authorised("d-1");
    let found = it.get("/v1/payments?reference=d-1");
    assert_eq!(found["payments"][0]["id"], id.as_str());
    // The reference names one payment for ever, whatever the idempotency key.
    let again = it.post("/v1/payments", "another key", &payment("d-1"));
    assert_eq!((again.status, code(&again).as_str()), (400, "idempotency_key_invalid"));
    let again = it.post("/v1/payments", "another-key", &payment("d-1"));
    assert_eq!((again.status, code(&again).as_str()), (409, "reference_exists"));
    // So do the references of captures and refunds.
    let capture = |key: &str| {
        let body = json!({ "amount": 1, "final": false, "reference": "c-1" });
        it.post(&format!("/v1/payments/{id}/capture"), key, &body)
    };
    assert_eq!(capture("k1").status, 200);
    assert_eq!(code(&capture("k2")), "reference_exists");
    let refund = json!({ "reference": "c-1" });
    assert_eq!(it.post(&format!("/v1/payments/{id}/refunds"), "k3", &refund).status, 200);
}

fn events_are_numbered_in_order_without_gaps(it: &Running) {
    for number in 0..3 {
        let id = it.authorised(&format!("d-{number}"));
        it.post(&format!("/v1/payments/{id}/capture"), &format!("c-{number}"), &json!({}));
    }
    let (path, _) = it.form("d-4");
    assert_eq!(it.browser.post(&format!("{path}/cancel"), &[]).status, 303);
    let events = it.events();
    let numbers: Vec<i64> = events.iter().map(|event| event.sequence).collect();
    assert_eq!(numbers, [1, 2, 3, 4, 5, 6, 7]);
    assert_eq!((events[5].kind, events[6].kind), (EventKind::Captured, EventKind::Cancelled));
    assert_eq!(events[0].payment.status.name(), "requires_capture");
}

fn merchants_do_not_see_each_others_payments(it: &Running) {
    let id = it.authorised("d-1");
    let shop = |method: &str, path: &str| {
        it.browser.send(&format!(
            "{method} {path} HTTP/1.1\r\nhost: card\r\nconnection: close\r\n\
             authorization: Bearer {}\r\nidempotency-key: k\r\ncontent-length: 0\r\n\r\n",
            *it.shop
        ))
    };
    assert_eq!(shop("GET", &format!("/v1/payments/{id}")).status, 404);
    assert_eq!(shop("POST", &format!("/v1/payments/{id}/capture")).status, 404);
    assert_eq!(value(&shop("GET", "/v1/payments?reference=d-1")), json!({ "payments": [] }));
    // Return URLs belong to a merchant too.
    let body =
        json!({ "amount": 1, "currency": "USD", "reference": "x", "return_url": RETURN_URL });
    let text = body.to_string();
    let answer = it.browser.send(&format!(
        "POST /v1/payments HTTP/1.1\r\nhost: card\r\nconnection: close\r\n\
         authorization: Bearer {}\r\nidempotency-key: k2\r\ncontent-type: application/json\r\n\
         content-length: {}\r\n\r\n{text}",
        *it.shop,
        text.len()
    ));
    assert_eq!(code(&answer), "return_url_not_registered");
}

fn amounts_beyond_what_is_left_are_refused(it: &Running) {
    let path = format!("/v1/payments/{}", it.authorised("d-1"));
    let too_much = it.post(&format!("{path}/capture"), "k1", &json!({ "amount": 5001 }));
    assert_eq!((too_much.status, code(&too_much).as_str()), (422, "amount_too_large"));
    assert!(too_much.text.contains("At most 50.00 USD"), "{}", too_much.text);
    assert_eq!(value(&too_much)["error"]["field"], "amount");
    let early = it.post(&format!("{path}/refunds"), "k2", &json!({}));
    assert_eq!((early.status, code(&early).as_str()), (409, "status_does_not_allow"));
    assert_eq!(it.get(&path)["amount_captured"], 0);
    let unknown = it.post("/v1/payments/pay_0/capture", "k3", &json!({}));
    assert_eq!((unknown.status, code(&unknown).as_str()), (404, "payment_not_found"));
}

// PostgreSQL takes no text with a zero byte.
fn control_characters_name_nothing(it: &Running) {
    for (method, path, expected) in [
        ("GET", "/v1/payments/%00", "payment_not_found"),
        ("GET", "/v1/payments/pay_%0A", "payment_not_found"),
        ("POST", "/v1/payments/%00/capture", "payment_not_found"),
        ("POST", "/v1/payments/%00/refunds", "payment_not_found"),
    ] {
        let header = format!("idempotency-key: \"{path}\"\r\n");
        let answer = it.send(method, path, &header, "");
        assert_eq!((answer.status, code(&answer).as_str()), (404, expected), "{path}");
    }
    assert_eq!(it.get("/v1/payments?reference=%00"), json!({ "payments": [] }));
}
