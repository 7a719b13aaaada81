//! The card processor as a process: killed at any time, with its log, its flags, and the
//! examples of its documentation.

use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use crate::common::{Over, PATIENCE, Running, Text, curl, tidegate};
use tidegate_card::client::{Client, Error, Form, Key, Patience};
use tidegate_card::{Currency, Payment, TEST_CARDS};
use tidegate_sitekit::backoff::Backoff;
use tidegate_sitekit::database::{Database, Location};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

/// Makes a key of the merchant `shop` in this folder.
fn make_key(folder: &Path) -> String {
    let data = folder.display().to_string();
    let made = tidegate(&["site", "card", "--data", &data, "--make-key", "shop"]);
    assert!(made.status.success(), "{}", made.stderr_text());
    made.stdout_text().trim().to_owned()
}

fn start(folder: &Path, more: &[&str]) -> Running {
    let data = folder.display().to_string();
    let mut args = vec!["site", "card", "--data", &data, "--log", "warn"];
    args.extend_from_slice(more);
    Running::tidegate(&args)
}

const RETURN_URL: &str = "http://127.0.0.1:9/paid";

fn new(reference: &str) -> Form {
    Form {
        amount: 1000,
        currency: Currency::USD,
        reference: reference.into(),
        description: String::new(),
        return_url: RETURN_URL.into(),
    }
}

/// Sends a card at the form of a payment; the status, where there is an answer.
async fn pay(payment: &Payment, number: &str) -> Option<String> {
    let url = url::Url::parse(&payment.checkout_url).unwrap();
    let mut stream =
        tokio::net::TcpStream::connect(&*url.socket_addrs(|| None).unwrap()).await.ok()?;
    let body = format!("number={number}&expiry=12%2F99&cvc=876");
    let request = format!(
        "POST {} HTTP/1.1\r\nhost: card\r\nconnection: close\r\n\
         content-type: application/x-www-form-urlencoded\r\ncontent-length: {}\r\n\r\n{body}",
        url.path(),
        body.len()
    );
    stream.write_all(request.as_bytes()).await.ok()?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.ok()?;
    Some(answer.split(' ').nth(1)?.to_owned())
}

/// Does all for one payment, each step until its outcome is certain.
async fn to_the_end(client: &Client, reference: String) -> Payment {
    let key = |step: &str| Key::new(&format!("{step}|{reference}")).unwrap();
    let begun = Instant::now();
    let in_time = || assert!(begun.elapsed() < 2 * PATIENCE, "{reference} waits in vain");
    let payment = loop {
        in_time();
        match client.create(&key("create"), &new(&reference)).await {
            Ok(payment) => break payment,
            Err(Error::Unknown(_)) => {}
            Err(error) => panic!("{error}"),
        }
    };
    // A form that is sent again pays once, and leads back then as well.
    while pay(&payment, "5555555555554444").await.as_deref() != Some("303") {
        in_time();
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    for (step, refund) in [("capture", false), ("refund", true)] {
        loop {
            in_time();
            let answer = if refund {
                client.refund(&key(step), &payment.id, Some(400), Some("r")).await
            } else {
                client.capture(&key(step), &payment.id, None, Some("c"), true).await
            };
            match answer {
                Ok(_) => break,
                Err(Error::Unknown(_)) => {}
                Err(error) => panic!("{error}"),
            }
        }
    }
    client.payment(&payment.id).await.unwrap()
}

#[test]
fn a_processor_that_is_killed_at_any_time_takes_every_payment_once() {
    const CUSTOMERS: usize = 8;
    const KILLS: u64 = 8;
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(folder.path());
    let listen = tidegate_lab::free_address().unwrap().to_string();
    let args = ["--listen", &listen, "--return-url", RETURN_URL];
    let mut running = start(folder.path(), &args);
    let patience = Patience {
        attempt: Duration::from_secs(5),
        call: Duration::from_secs(5),
        backoff: Backoff { first: Duration::from_millis(5), longest: Duration::from_millis(50) },
    };
    let client = Client::new(running.address("site"), &key, None, patience).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    let over = Arc::new(AtomicBool::new(false));
    // Customers pay for as long as the processor is killed, however fast it is.
    let mut customers = tokio::task::JoinSet::new();
    for customer in 0..CUSTOMERS {
        let (client, over) = (client.clone(), Arc::clone(&over));
        let paying = async move {
            let mut payments = Vec::new();
            while payments.is_empty() || !over.load(Ordering::Relaxed) {
                let reference = format!("d-{customer}-{}", payments.len());
                payments.push(to_the_end(&client, reference).await);
            }
            payments
        };
        customers.spawn_on(paying, runtime.handle());
    }
    let (payments, running) = std::thread::scope(|scope| {
        let customers = scope.spawn(|| runtime.block_on(customers.join_all()).concat());
        let over = Over(&over);
        for kill in 0..KILLS {
            // Long enough to be somewhere else each time.
            std::thread::sleep(Duration::from_millis(30 + 17 * kill));
            running.kill();
            running = start(folder.path(), &args);
        }
        drop(over);
        (customers.join().unwrap(), running)
    });
    for payment in &payments {
        assert_eq!((payment.captures.len(), payment.refunds.len()), (1, 1), "{payment:?}");
        assert_eq!((payment.amount_captured, payment.amount_refunded), (1000, 400));
    }
    let database = Location::Sqlite(folder.path().join("card.db"));
    let database = Database::for_cores(&database, 1).remove(0);
    let numbers = "SELECT sequence FROM events ORDER BY sequence";
    let numbers: Vec<i64> = runtime.block_on(database.all(numbers, &[])).unwrap();
    assert_eq!(numbers.len(), 3 * payments.len());
    assert!(numbers.iter().zip(1..).all(|(found, number)| *found == number));
    assert_eq!(running.end(), Some(0));
}

#[test]
fn no_card_number_is_in_the_log_at_any_level() {
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(folder.path());
    let log = folder.path().join("log");
    let data = folder.path().display().to_string();
    let running = Running::tidegate_logging(
        &[
            "site",
            "card",
            "--data",
            &data,
            "--listen",
            "127.0.0.1:0",
            "--log",
            "trace",
            "--slow-card-seconds",
            "0.01",
            "--return-url",
            "http://127.0.0.1:9/paid",
        ],
        std::fs::File::create(&log).unwrap(),
    );
    let url = running.address("site");
    for card in &TEST_CARDS {
        let number = card.number;
        let name = &number[11..];
        let authorization = format!("Authorization: Bearer {key}");
        let post = |body: &str, idempotency_key: &str| {
            let idempotency = format!("Idempotency-Key: {idempotency_key}");
            let json = "Content-Type: application/json";
            let to = format!("{url}/v1/payments");
            let headers = ["-H", &authorization, "-H", &idempotency, "-H", json];
            curl(&[&headers[..], &["-d", body, &to]].concat()).stdout_text()
        };
        post(&format!("{{\"amount\": \"{number}\", \"{number}\": {number}"), "a");
        let form = post(
            &format!(
                "{{\"amount\": 1, \"currency\": \"USD\", \"reference\": \"f-{name}\", \
                 \"return_url\": \"http://127.0.0.1:9/paid\"}}"
            ),
            &format!("f-{name}"),
        );
        let form: Payment = serde_json::from_str(&form).expect(&form);
        let fields = format!("number={number}&expiry=12%2F99&cvc=876");
        curl(&["-d", &fields, &form.checkout_url]);
    }
    assert_eq!(running.end(), Some(0));
    let log = std::fs::read_to_string(&log).unwrap();
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log has all levels: {log}");
    for card in &TEST_CARDS {
        assert!(!log.contains(card.number), "{}", card.number);
    }
    assert!(!log.contains(&key), "nor the API key");
}

#[test]
fn the_examples_of_the_documentation_work() {
    let folder = tempfile::tempdir().unwrap();
    let key = make_key(folder.path());
    let running = start(
        folder.path(),
        &["--listen", "127.0.0.1:0", "--return-url", "http://127.0.0.1:8080/paid"],
    );
    let text = include_str!("../../../../docs/card.md");
    let example = text
        .split("<!-- begin of the example that is tested -->\n```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the example is there");
    let example = example.replace("http://127.0.0.1:8090", running.address("site"));
    let output = Command::new("bash").args(["-euc", &example]).env("KEY", key).output().unwrap();
    let text = output.stdout_text();
    assert!(output.status.success(), "{text}{}", output.stderr_text());
    // One answer after another, without anything between them.
    let answers: Vec<serde_json::Value> = serde_json::Deserializer::from_str(&text)
        .into_iter()
        .collect::<Result<_, _>>()
        .unwrap_or_else(|error| panic!("{error}: {text}"));
    let status = |at: usize| answers[at]["status"].as_str().unwrap_or("none");
    assert_eq!(answers.len(), 5, "{text}");
    assert_eq!(status(0), "requires_card");
    assert_eq!(answers[1]["payments"][0]["id"], answers[0]["id"]);
    assert_eq!((status(2), status(3)), ("requires_capture", "captured"));
    assert_eq!((status(4), &answers[4]["amount_refunded"]), ("partially_refunded", &500.into()));
}

#[test]
fn flags_that_are_wrong_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().display().to_string();
    let refused = |args: &[&str], says: &[&str]| {
        let output = tidegate(&[&["site", "card", "--data", &data], args].concat());
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        for word in says {
            assert!(text.contains(word), "{args:?} does not say `{word}`:\n{text}");
        }
    };
    refused(&[], &["card-keys.json", "--make-key NAME"]);
    refused(&["--make-key", "Not A Name"], &["small letters"]);
    make_key(folder.path());
    refused(&["--listen", "0.0.0.0:0"], &["in the clear", "--tls"]);
    refused(&["--slow-card-seconds", "3601"], &["0 to 3600"]);
    refused(&["--return-url", "http://shop.example/"], &["--return-url", "https"]);
    refused(&["--webhook", "https://shop.example/"], &["--webhook-secret-file"]);
    refused(&["--log", "=="], &["--log"]);
    let secret = folder.path().join("secret").display().to_string();
    let made = tidegate(&["site", "card", "--make-webhook-secret", &secret]);
    assert!(made.status.success(), "{}", made.stderr_text());
    let again = tidegate(&["site", "card", "--make-webhook-secret", &secret]);
    assert_eq!(again.status.code(), Some(2), "{}", again.stderr_text());
    // Whoever takes the last key of a merchant away takes the merchant away.
    for _ in 0..3 {
        make_key(folder.path());
    }
    refused(&["--make-key", "shop"], &["4 keys already"]);
}
