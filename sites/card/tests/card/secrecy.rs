//! No card number is kept or sent: not in the database, not in answers, not in webhooks.

use std::io::{Read as _, Write as _};
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt as _;
use std::sync::{Arc, Mutex};

use serde_json::json;
use tidegate_card::TEST_CARDS;

use crate::processor::{RETURN_URL, Running};

#[test]
fn no_number_is_in_the_database_in_answers_or_in_webhooks() {
    let webhooks: Arc<Mutex<Vec<u8>>> = Arc::default();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("brokerage=http://{}/", listener.local_addr().unwrap());
    let kept = Arc::clone(&webhooks);
    std::thread::spawn(move || {
        for stream in listener.incoming().map_while(Result::ok) {
            let kept = Arc::clone(&kept);
            std::thread::spawn(move || receive(stream, &kept));
        }
    });
    let mut it = Running::with(None, |options| {
        let file = options.data.join("secrets");
        std::fs::write(&file, "a-secret-of-the-brokerage").unwrap();
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o600)).unwrap();
        options.webhooks = vec![url.parse().unwrap()];
        options.webhook_secret_files = vec![file];
        options.slow_card = std::time::Duration::from_millis(50);
    });
    let mut answers = String::new();
    for card in &TEST_CARDS {
        let number = card.number;
        let (path, _) = it.form(&format!("f-{}", &number[10..]));
        let cvc = if number.starts_with('3') { "8765" } else { "876" };
        let spaced = format!("{} {}", &number[..4], &number[4..]);
        for (number, expiry) in [(number, number), (&spaced, "13/99"), (number, "12/99")] {
            let fields = [("number", number), ("expiry", expiry), ("cvc", cvc)];
            answers += &it.browser.post(&path, &fields).text;
            answers += &it.browser.get(&path).text;
        }
        // Where no number belongs.
        for body in [
            json!({ "amount": 1, "currency": "USD", "reference": number, "card": number }),
            json!({ "amount": number, "currency": number, "reference": "x" }),
            json!({ number: 1 }),
            json!({ "amount": 1, "currency": "USD", "reference": number, "return_url": RETURN_URL }),
            json!({
                "amount": 1, "currency": "USD", "reference": "y", "return_url": RETURN_URL,
                "description": format!("paid by {spaced}"),
            }),
            json!({
                "amount": 1, "currency": "USD", "reference": "z",
                "return_url": format!("{RETURN_URL}?card={number}"),
            }),
            json!(number),
        ] {
            answers += &it.post("/v1/payments", &format!("k-{}", &number[12..]), &body).text;
            answers += &it.post("/v1/payments", number, &body).text;
        }
    }
    let delivered = || webhooks.lock().unwrap().windows(8).filter(|it| it == b"sequence").count();
    let events = it.events().len();
    let begun = std::time::Instant::now();
    while delivered() < events {
        assert!(begun.elapsed().as_secs() < 60, "{} of {events}", delivered());
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    it.stop();

    let mut stored = Vec::new();
    for file in std::fs::read_dir(it.folder()).unwrap().flatten() {
        stored.extend(std::fs::read(file.path()).unwrap());
    }
    assert!(contains(&stored, "insufficient_funds"), "the database is looked at");
    let webhooks = webhooks.lock().unwrap();
    assert!(contains(&webhooks, "payment.authorised"), "webhooks are looked at");
    for card in &TEST_CARDS {
        for number in [card.number.to_owned(), grouped(card.number)] {
            for (place, text) in [
                ("database", &stored[..]),
                ("webhooks", &webhooks),
                ("answers", answers.as_bytes()),
            ] {
                assert!(!contains(text, &number), "{number} is in the {place}");
            }
        }
    }
}

fn receive(mut stream: std::net::TcpStream, kept: &Mutex<Vec<u8>>) {
    let mut part = [0; 4096];
    while let Ok(count @ 1..) = stream.read(&mut part) {
        let mut kept = kept.lock().unwrap();
        kept.extend(&part[..count]);
        if kept.ends_with(b"}") {
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n");
        }
    }
}

fn contains(text: &[u8], wanted: &str) -> bool {
    text.windows(wanted.len()).any(|part| part == wanted.as_bytes())
}

/// In groups of four digits, as people write it.
fn grouped(number: &str) -> String {
    let groups: Vec<_> =
        number.as_bytes().chunks(4).map(|group| std::str::from_utf8(group).unwrap()).collect();
    groups.join(" ")
}
