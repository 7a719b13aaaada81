//! What is wrong is refused with a code, a sentence and the field.

use std::io::{Read as _, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::browser::Answer;
use crate::processor::{GOOD, Running, code, payment, value};

/// The refusal has a code, a sentence, and nothing of a card number.
#[track_caller]
fn refused(answer: &Answer, status: u16, expected: &str, field: Option<&str>) {
    assert_eq!((answer.status, code(answer).as_str()), (status, expected), "{}", answer.text);
    let error = &value(answer)["error"];
    assert_eq!(error["field"].as_str(), field, "{error}");
    assert!(error["message"].as_str().is_some_and(|text| text.len() > 10), "{error}");
    assert!(!answer.text.contains(GOOD), "{error}");
    assert_eq!(answer.headers["content-type"], "application/json");
}

#[test]
fn a_body_that_is_wrong_names_its_mistake() {
    let it = Running::on_sqlite();
    let post = |body: &str| it.send("POST", "/v1/payments", "idempotency-key: k\r\n", body);
    for (body, code) in [
        ("{", "malformed_json"),
        ("", "field_missing"),
        ("null", "value_of_another_type"),
        ("[1]", "value_of_another_type"),
        (&format!("{}{{", payment("d-1")), "malformed_json"),
        ("\u{0}", "malformed_json"),
        (&"[".repeat(10_000), "value_of_another_type"),
        (&format!("{{\"x\":{}", "[".repeat(10_000)), "field_unknown"),
    ] {
        let answer = post(body);
        let field = match code {
            "field_missing" => Some("amount"),
            "field_unknown" => Some("x"),
            _ => None,
        };
        refused(&answer, 400, code, field);
    }
    let with = |change: &dyn Fn(&mut Value)| {
        let mut body = payment("d-1");
        change(&mut body);
        post(&body.to_string())
    };
    let set = |path: &'static str, to: Value| {
        with(&move |body| *body.pointer_mut(path).expect("there") = to.clone())
    };
    for (path, to, status, code) in [
        ("/amount", json!(-1), 422, "amount_too_small"),
        ("/amount", json!(0), 422, "amount_too_small"),
        ("/amount", json!(i64::MAX), 422, "amount_too_large"),
        ("/amount", json!(u64::MAX), 422, "amount_too_large"),
        ("/amount", json!(1e30), 400, "value_of_another_type"),
        ("/amount", json!(50.5), 400, "value_of_another_type"),
        ("/amount", json!("5000"), 400, "value_of_another_type"),
        ("/amount", json!(null), 400, "value_of_another_type"),
        ("/currency", json!("XYZ"), 422, "currency_unknown"),
        ("/currency", json!(840), 400, "value_of_another_type"),
        ("/reference", json!("a b"), 422, "reference_invalid"),
        ("/reference", json!("x".repeat(65)), 422, "reference_invalid"),
        ("/return_url", json!(null), 400, "value_of_another_type"),
        ("/return_url", json!([GOOD]), 400, "value_of_another_type"),
    ] {
        let field = path[1..].replace('/', ".");
        refused(&set(path, to), status, code, Some(&field));
    }
    let extra = |name: &'static str| with(&move |body| body[name] = json!(GOOD));
    refused(&extra("card"), 400, "field_unknown", Some("card"));
    refused(&extra(GOOD), 400, "field_unknown", None);
    let form = |url: &'static str| with(&move |body| body["return_url"] = json!(url));
    let field = Some("return_url");
    refused(&form("https://evil.example/paid"), 422, "return_url_not_registered", field);
    refused(&form("javascript:alert(1)"), 422, "return_url_invalid", field);
    refused(&form("http://127.0.0.1:9/paid/../x"), 422, "return_url_not_registered", field);
    // Nothing of all this was stored.
    assert_eq!(it.get("/v1/payments?reference=d-1"), json!({ "payments": [] }));
    assert!(it.events().is_empty());
    let capture = format!("/v1/payments/{}/capture", it.authorised("d-2"));
    let yes = it.post(&capture, "k2", &json!({ "final": "yes" }));
    refused(&yes, 400, "value_of_another_type", Some("final"));
    assert!(yes.text.contains("true or false"), "{}", yes.text);
}

#[test]
fn headers_that_are_wrong_name_their_mistake() {
    let it = Running::on_sqlite();
    let body = payment("d-1").to_string();
    let post = |headers: &str| it.send("POST", "/v1/payments", headers, &body);
    let key = Some("Idempotency-Key");
    refused(&post(""), 400, "idempotency_key_missing", key);
    refused(
        &post("idempotency-key: a\r\nidempotency-key: b\r\n"),
        400,
        "idempotency_key_invalid",
        key,
    );
    let long = format!("idempotency-key: {}\r\n", "k".repeat(256));
    refused(&post(&long), 400, "idempotency_key_invalid", key);
    refused(&post("idempotency-key: \"a\r\n"), 400, "idempotency_key_invalid", key);
    let coded = "idempotency-key: k\r\ncontent-encoding: gzip\r\n";
    refused(&post(coded), 415, "body_encoded", None);
    let typed = it.browser.send(&format!(
        "POST /v1/payments HTTP/1.1\r\nhost: card\r\nconnection: close\r\n\
         authorization: Bearer {}\r\nidempotency-key: k\r\ncontent-type: text/plain\r\n\
         content-length: {}\r\n\r\n{body}",
        *it.key,
        body.len()
    ));
    refused(&typed, 415, "body_of_another_type", None);
    refused(&it.send("GET", "/v1/nothing", "", ""), 404, "not_found", None);
    refused(&it.send("DELETE", "/v1/payments", "", ""), 405, "method_not_allowed", None);
    refused(&it.send("GET", "/v1/payments", "", ""), 400, "reference_missing", Some("reference"));
    refused(
        &it.send("GET", "/v1/payments?x=1", "", ""),
        400,
        "reference_missing",
        Some("reference"),
    );
    refused(&it.send("GET", "/v1/payments/%FF", "", ""), 404, "not_found", None);
    refused(&it.send("GET", "/v1/payments/x", "", ""), 404, "payment_not_found", None);
    assert_eq!(it.create("d-1").status, 201);
}

#[test]
fn bodies_that_are_too_large_are_refused_however_they_arrive() {
    let it = Running::on_sqlite();
    let head = format!(
        "POST /v1/payments HTTP/1.1\r\nhost: card\r\nconnection: close\r\n\
         authorization: Bearer {}\r\nidempotency-key: k\r\ncontent-type: application/json\r\n",
        *it.key
    );
    let large = "x".repeat(17 * 1024);
    let announced =
        it.browser.send(&format!("{head}content-length: {}\r\n\r\n{large}", large.len()));
    refused(&announced, 413, "body_too_large", None);
    let mut stream = TcpStream::connect(it.browser.address()).unwrap();
    stream.write_all(format!("{head}transfer-encoding: chunked\r\n\r\n").as_bytes()).unwrap();
    let chunk = [b"1000\r\n".as_slice(), &[b'['; 0x1000], b"\r\n"].concat();
    // The processor stops reading; what it does not read may break the connection.
    for _ in 0..64 {
        if stream.write_all(&chunk).is_err() {
            break;
        }
    }
    let mut answer = Vec::new();
    let _ = stream.read_to_end(&mut answer);
    let answer = String::from_utf8_lossy(&answer);
    assert!(answer.is_empty() || answer.starts_with("HTTP/1.1 413"), "{answer}");
    assert!(it.events().is_empty());
}

#[test]
fn wrong_keys_are_limited_and_right_ones_never() {
    let it = Running::on_sqlite();
    let with = |authorization: &str| {
        it.browser.send(&format!(
            "GET /v1/payments?reference=d-1 HTTP/1.1\r\nhost: card\r\nconnection: close\r\n{authorization}\r\n"
        ))
    };
    for authorization in [
        String::new(),
        "authorization: Bearer\r\n".into(),
        "authorization: Basic c2s6\r\n".into(),
        format!("authorization: Bearer {}\r\n", "x".repeat(300)),
        format!("authorization: Bearer {0}\r\nauthorization: Bearer {0}\r\n", *it.key),
    ] {
        let answer = with(&authorization);
        refused(&answer, 401, "unauthenticated", None);
        assert!(answer.headers["www-authenticate"].starts_with("Bearer"));
    }
    for _ in 0..5 {
        refused(&with("authorization: Bearer sk_test_guess\r\n"), 401, "wrong_api_key", None);
    }
    for _ in 0..3 {
        let answer = with("authorization: Bearer sk_test_guess\r\n");
        refused(&answer, 429, "too_many_wrong_keys", None);
        let wait: u64 = answer.headers["retry-after"].parse().unwrap();
        assert!((1..=30).contains(&wait), "{wait}");
    }
    for _ in 0..20 {
        assert_eq!(with(&format!("authorization: Bearer {}\r\n", *it.key)).status, 200);
    }
}
