//! A processor for one test, with the merchants `brokerage` and `shop`.

use std::time::Duration;

use serde_json::{Value, json};
use tempfile::TempDir;
use tidegate_card::{ApiKey, Event, Keys, Options, Site, start};
use tidegate_sitekit::database::{Database, Location, Record, Value as Parameter};

use crate::browser::{Answer, Browser};
use crate::postgres;

/// Where customers of the brokerage return to.
pub const RETURN_URL: &str = "http://127.0.0.1:9/paid";

/// A running processor, stopped at the end of its test.
pub struct Running {
    pub options: Options,
    pub browser: Browser,
    /// The API key of the brokerage.
    pub key: ApiKey,
    /// The API key of the shop.
    pub shop: ApiKey,
    site: Option<Site>,
    folder: TempDir,
}

impl Running {
    pub fn on_sqlite() -> Self {
        Self::with(None, |_| {})
    }

    pub fn on_postgres() -> Self {
        Self::with(Some(postgres::new_database()), |_| {})
    }

    /// A processor on this database, or on SQLite, with other options.
    pub fn with(database: Option<String>, change: impl FnOnce(&mut Options)) -> Self {
        let (folder, mut options, key, shop) = prepared();
        options.database = database;
        change(&mut options);
        let site = start(&options).expect("the processor starts");
        let browser = Browser::new(site.address());
        Self { options, browser, key, shop, site: Some(site), folder }
    }

    /// Its folder, with database and keys.
    pub fn folder(&self) -> &std::path::Path {
        self.folder.path()
    }

    /// Stops it and starts it again at the same address.
    pub fn restart(&mut self) {
        self.stop();
        self.options.listen = self.browser.address();
        self.site = Some(start(&self.options).expect("the processor starts again"));
    }

    /// Stops it; its database stays.
    pub fn stop(&mut self) {
        if let Some(site) = self.site.take() {
            site.shutdown();
        }
    }

    /// Sends a request of the brokerage.
    pub fn send(&self, method: &str, path: &str, headers: &str, body: &str) -> Answer {
        self.browser.send(&format!(
            "{method} {path} HTTP/1.1\r\nhost: card\r\nconnection: close\r\n\
             authorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n{headers}\r\n{body}",
            *self.key,
            body.len()
        ))
    }

    /// Posts JSON under an idempotency key.
    pub fn post(&self, path: &str, key: &str, body: &Value) -> Answer {
        self.send("POST", path, &format!("idempotency-key: \"{key}\"\r\n"), &body.to_string())
    }

    /// Gets JSON; any status but 200 is a failure.
    pub fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, "", "");
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        value(&answer)
    }

    /// Creates a payment and sends this card at its form; the key is that of the reference.
    pub fn pay(&self, reference: &str, number: &str) -> Answer {
        let (path, _) = self.form(reference);
        self.browser.post(&path, &card(number))
    }

    /// The same, authorised; its id.
    pub fn authorised(&self, reference: &str) -> String {
        let answer = self.pay(reference, GOOD);
        assert_eq!(answer.status, 303, "{}", answer.text);
        self.found(reference)["id"].as_str().expect("an id").to_owned()
    }

    /// The payment of this reference.
    pub fn found(&self, reference: &str) -> Value {
        self.get(&format!("/v1/payments?reference={reference}"))["payments"][0].take()
    }

    /// Creates a payment; the key is that of the reference.
    pub fn create(&self, reference: &str) -> Answer {
        self.post("/v1/payments", &format!("create-{reference}"), &payment(reference))
    }

    /// All events, in their order.
    pub fn events(&self) -> Vec<Event> {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
        runtime.expect("a runtime").block_on(events(&self.options))
    }

    /// Creates a payment for the card form; the path of the form and the payment.
    pub fn form(&self, reference: &str) -> (String, Value) {
        let answer = self.create(reference);
        assert_eq!(answer.status, 201, "{}", answer.text);
        let payment = value(&answer);
        let url = payment["checkout_url"].as_str().expect("a URL");
        let path = url.find("/checkout/").map(|at| &url[at..]).expect("a path");
        (path.to_owned(), payment)
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        self.stop();
    }
}

/// A card that is authorised, and one that no page or message mentions.
pub const GOOD: &str = "5555555555554444";
/// A card whose issuer answers late.
pub const SLOW: &str = "4000000000005043";

/// The body of a new payment of 50 dollars.
pub fn payment(reference: &str) -> Value {
    json!({
        "amount": 5000, "currency": "USD", "reference": reference,
        "description": "Deposit <1>", "return_url": format!("{RETURN_URL}?from=card"),
    })
}

/// The fields of the form with this card.
pub fn card(number: &str) -> [(&'static str, &str); 3] {
    let cvc = if number.starts_with('3') { "8765" } else { "876" };
    [("number", number), ("expiry", "12/99"), ("cvc", cvc)]
}

/// All events in the database of a processor, in their order.
pub async fn events(options: &Options) -> Vec<Event> {
    let sql = "SELECT body FROM events ORDER BY merchant, sequence";
    let bodies: Vec<String> = stored(options, sql, &[]).await;
    bodies.iter().map(|body| serde_json::from_str(body).expect("an event")).collect()
}

/// Rows of the database of a processor.
pub async fn stored<T: Record>(
    options: &Options,
    sql: &'static str,
    values: &[Parameter<'_>],
) -> Vec<T> {
    let location = match &options.database {
        Some(url) => Location::parse(url).expect("a URL"),
        None => Location::Sqlite(options.data.join("card.db")),
    };
    let database = Database::for_cores(&location, 1).remove(0);
    database.all(sql, values).await.expect("rows")
}

/// A folder with keys, options for it, and the API keys of its merchants.
pub fn prepared() -> (TempDir, Options, ApiKey, ApiKey) {
    let folder = tempfile::tempdir().expect("a folder");
    let mut keys = Keys::generate().expect("random bytes");
    let [key, shop] = ["brokerage", "shop"].map(|name| keys.add(name).expect("a key"));
    let core = tidegate_sitekit::server::available_cores()[0];
    let options = Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        data: folder.path().to_owned(),
        return_urls: vec![format!("brokerage={RETURN_URL}").parse().expect("a URL")],
        slow_card: Duration::from_millis(300),
        // Two runtimes, so that what they share is tested.
        cores: Some(vec![core, core]),
        ..Options::default()
    };
    keys.write(&options.keys_file()).expect("a file of keys");
    (folder, options, key, shop)
}

/// The JSON of an answer.
pub fn value(answer: &Answer) -> Value {
    serde_json::from_str(&answer.text).unwrap_or_else(|error| panic!("{error}: {}", answer.text))
}

/// The code of a refusal.
pub fn code(answer: &Answer) -> String {
    value(answer)["error"]["code"].as_str().expect("a code").to_owned()
}
