//! Idempotency keys: carried out once, whatever happens.

use std::sync::Barrier;

use serde_json::json;

use crate::processor::{Running, code, payment};

on_both_databases![
    a_repetition_has_the_answer_of_the_first,
    a_key_is_of_one_request_only,
    requests_at_once_with_one_key_are_one,
    requests_at_once_with_different_keys_never_take_too_much,
    a_refusal_is_an_answer_too,
];

fn a_repetition_has_the_answer_of_the_first(it: &Running) {
    let created = it.create("d-1");
    assert_eq!(created.headers["idempotent-replayed"], "false");
    let path = format!("/v1/payments/{}/capture", it.authorised("d-1"));
    let captured = it.post(&path, "k1", &json!({ "amount": 10, "final": false }));
    // Although the payment has changed meanwhile.
    for _ in 0..3 {
        let again = it.create("d-1");
        assert_eq!((again.status, &again.text), (created.status, &created.text));
        assert_eq!(again.headers["idempotent-replayed"], "true");
        let again = it.post(&path, "k1", &json!({ "amount": 10, "final": false }));
        assert_eq!((again.status, &again.text), (200, &captured.text));
    }
    assert_eq!(it.get(path.trim_end_matches("/capture"))["amount_captured"], 10);
    // With and without quotes it is the same key.
    let body = json!({ "amount": 10, "final": false }).to_string();
    let bare = it.send("POST", &path, "idempotency-key: k1\r\n", &body);
    assert_eq!(bare.text, captured.text);
}

fn a_key_is_of_one_request_only(it: &Running) {
    let id = it.authorised("d-1");
    let capture = format!("/v1/payments/{id}/capture");
    assert_eq!(it.post(&capture, "k", &json!({ "amount": 10, "final": false })).status, 200);
    for (path, body) in [
        (capture.clone(), json!({ "amount": 11, "final": false })),
        (format!("/v1/payments/{id}/refunds"), json!({ "amount": 10, "final": false })),
        (format!("/v1/payments/{id}/refunds"), json!({ "amount": 10 })),
    ] {
        let answer = it.post(&path, "k", &body);
        let expected = if body.get("final").is_some() && path.ends_with("refunds") {
            // A mistake in itself is told before the key is looked at.
            (400, "field_unknown")
        } else {
            (422, "idempotency_key_reused")
        };
        assert_eq!((answer.status, code(&answer).as_str()), expected, "{path} {body}");
    }
    assert_eq!(it.get(&format!("/v1/payments/{id}"))["amount_captured"], 10);
}

fn requests_at_once_with_one_key_are_one(it: &Running) {
    let id = it.authorised("d-1");
    let barrier = Barrier::new(16);
    let answers: Vec<_> = std::thread::scope(|scope| {
        let capture = || {
            barrier.wait();
            let body = json!({ "amount": 100, "final": false });
            it.post(&format!("/v1/payments/{id}/capture"), "k", &body)
        };
        let all: Vec<_> = (0..16).map(|_| scope.spawn(capture)).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    for answer in &answers {
        assert_eq!((answer.status, &answer.text), (200, &answers[0].text));
    }
    let first = answers.iter().filter(|it| it.headers["idempotent-replayed"] == "false");
    assert_eq!(first.count(), 1);
    assert_eq!(it.get(&format!("/v1/payments/{id}"))["amount_captured"], 100);
    assert_eq!(it.events().len(), 2);
}

fn requests_at_once_with_different_keys_never_take_too_much(it: &Running) {
    let id = it.authorised("d-1");
    let barrier = Barrier::new(16);
    let capture = |number: usize| {
        barrier.wait();
        let body = json!({ "amount": 1500, "final": false });
        it.post(&format!("/v1/payments/{id}/capture"), &format!("k{number}"), &body).status
    };
    let capture = &capture;
    let statuses: Vec<u16> = std::thread::scope(|scope| {
        let all: Vec<_> = (0..16).map(|number| scope.spawn(move || capture(number))).collect();
        all.into_iter().map(|it| it.join().unwrap()).collect()
    });
    assert_eq!(statuses.iter().filter(|status| **status == 200).count(), 3, "{statuses:?}");
    assert_eq!(it.get(&format!("/v1/payments/{id}"))["amount_captured"], 4500);
}

fn a_refusal_is_an_answer_too(it: &Running) {
    let id = it.authorised("d-1");
    let refund = format!("/v1/payments/{id}/refunds");
    let early = it.post(&refund, "k", &json!({}));
    assert_eq!(early.status, 409);
    assert_eq!(it.post(&format!("/v1/payments/{id}/capture"), "c", &json!({})).status, 200);
    let again = it.post(&refund, "k", &json!({}));
    assert_eq!((again.status, &again.text), (409, &early.text));
    assert_eq!(it.post(&refund, "k2", &json!({})).status, 200);
    // A request that is wrong in itself says nothing about its key.
    let mut wrong = payment("d-2");
    wrong["amount"] = json!(0);
    let answer = it.post("/v1/payments", "create-d-2", &wrong);
    assert_eq!((answer.status, answer.headers.get("idempotent-replayed")), (422, None));
    assert_eq!(it.create("d-2").status, 201);
}
