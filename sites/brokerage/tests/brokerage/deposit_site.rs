//! A brokerage with a card processor, which takes deposits.

use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use aws_lc_rs::hmac;
use tidegate_card::client::CardOptions;
use tidegate_card::{Keys, Limits, Site, WebhookSecret};
use tidegate_sitekit::backoff::Backoff;

use crate::browser::{Answer, Browser, between, hidden};
use crate::world::{Customer, Setup, World, wait_until};

/// A card that is authorised, one that is declined, and one whose issuer is slow.
pub const GOOD: &str = "5555555555554444";
pub const POOR: &str = "4000000000009995";
pub const SLOW: &str = "4000000000005043";

/// A brokerage and its processor.
pub struct DepositSite {
    pub world: World,
    pub processor: Option<Site>,
    options: tidegate_card::Options,
    secret: String,
    _folder: tempfile::TempDir,
}

/// An address that is free now, and that nobody gets who asks for any: its port is below those
/// that Linux gives away.
fn free() -> SocketAddr {
    const PORTS: u32 = 22_000;
    static TURN: AtomicU32 = AtomicU32::new(0);
    let next = |_| {
        let turn = (std::process::id() * 101 + TURN.fetch_add(1, Ordering::Relaxed)) % PORTS;
        let address = SocketAddr::from(([127, 0, 0, 1], 10_000 + turn as u16));
        TcpListener::bind(address).is_ok().then_some(address)
    };
    (0..PORTS).find_map(next).expect("a port is free")
}

/// Writes a file that its owner alone can read.
pub fn private(path: &Path, text: &str) -> PathBuf {
    fs::write(path, text).unwrap();
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).unwrap();
    path.to_owned()
}

impl DepositSite {
    pub fn new(database: Option<String>) -> Self {
        Self::with(database, true)
    }

    /// With a processor that tells the brokerage of what happens, or does not.
    pub fn with(database: Option<String>, tells: bool) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let (web, processor) = (free(), free());
        let mut keys = Keys::generate().unwrap();
        let key = keys.add("brokerage").unwrap();
        let secret = WebhookSecret::generate().to_string();
        let secrets = private(&folder.path().join("secret"), &format!("{secret}\n"));
        let mut options = tidegate_card::Options {
            listen: processor,
            data: folder.path().join("card"),
            return_urls: vec![format!("http://{web}/deposits/returned").parse().unwrap()],
            slow_card: Duration::from_millis(300),
            cores: Some(vec![tidegate_sitekit::server::available_cores()[0]]),
            limits: Limits {
                webhook_backoff: Backoff {
                    first: Duration::from_millis(50),
                    longest: Duration::from_millis(200),
                },
                ..Limits::default()
            },
            ..tidegate_card::Options::default()
        };
        if tells {
            options.webhooks = vec![format!("http://{web}/card-events").parse().unwrap()];
            options.webhook_secret_files = vec![secrets.clone()];
        }
        fs::create_dir_all(&options.data).unwrap();
        keys.write(&options.keys_file()).unwrap();
        let world = World::with(Setup {
            database,
            listen: Some(web),
            card: Some(CardOptions {
                url: format!("http://{processor}"),
                key_file: private(&folder.path().join("key"), &key),
                ca: None,
                public_url: format!("http://{web}"),
            }),
            webhook_secrets: Some(secrets),
            ..Setup::default()
        });
        let mut site = Self { world, processor: None, options, secret, _folder: folder };
        site.start();
        site
    }

    pub fn start(&mut self) {
        self.processor = Some(tidegate_card::start(&self.options).expect("the processor starts"));
    }

    pub fn stop(&mut self) {
        self.processor.take().expect("it runs").shutdown();
    }

    /// Types a card into the form of a deposit, and comes back; the page that is seen then.
    pub fn pay(&self, customer: &Customer, form: &str, number: &str) -> Answer {
        let answer = self.type_card(form, number);
        assert_eq!(answer.status, 303, "{}", answer.text);
        let returned = path(&answer.headers["location"]);
        let answer = customer.get(&returned);
        assert_eq!(answer.status, 303, "{}", answer.text);
        customer.get(&answer.headers["location"])
    }

    pub fn type_card(&self, form: &str, number: &str) -> Answer {
        let fields = [("number", number), ("expiry", "12/99"), ("cvc", "876")];
        Browser::new(self.options.listen).post(&path(form), &fields)
    }

    pub fn cancel(&self, form: &str) -> Answer {
        Browser::new(self.options.listen).post(&format!("{}/cancel", path(form)), &[])
    }

    /// Sends a webhook, signed with this secret at this time, seconds since 1970.
    pub fn tell(&self, secret: &str, seconds: u64, body: &str) -> Answer {
        self.send(&signature(secret, seconds, body), body)
    }

    /// The same with these header fields.
    pub fn send(&self, fields: &str, body: &str) -> Answer {
        self.world.browser().send(&format!(
            "POST /card-events HTTP/1.1\r\nhost: x\r\nconnection: close\r\n{fields}\
             content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
            body.len()
        ))
    }

    pub fn secret(&self) -> &str {
        &self.secret
    }

    /// Cash of the first customer.
    pub fn cash(&self) -> i64 {
        self.world.number("SELECT available FROM accounts WHERE customer = 1")
    }

    /// Waits until the newest deposit is in this state.
    pub fn wait_for(&self, state: i64) {
        let sql = "SELECT COALESCE((SELECT state FROM deposits ORDER BY id DESC LIMIT 1), -1)";
        wait_until(&format!("the deposit is in state {state}"), || self.world.number(sql) == state);
    }
}

impl Drop for DepositSite {
    fn drop(&mut self) {
        if let Some(processor) = self.processor.take() {
            processor.shutdown();
        }
    }
}

/// The header field that signs a body.
pub fn signature(secret: &str, seconds: u64, body: &str) -> String {
    let key = hmac::Key::new(hmac::HMAC_SHA256, secret.as_bytes());
    let tag = hmac::sign(&key, format!("{seconds}.{body}").as_bytes());
    let hex: String = tag.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    format!("tidegate-signature: t={seconds},v1={hex}\r\n")
}

/// The path of a URL.
fn path(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    rest.find('/').map_or("/".into(), |at| rest[at..].to_owned())
}

/// A deposit as its page shows it.
pub struct Made {
    /// The path of its page.
    pub page: String,
    /// The URL of the card form, if there is one.
    pub form: Option<String>,
}

impl Customer {
    /// Makes a deposit with the form of the page.
    pub fn deposit(&self, amount: &str) -> Made {
        let page = self.page("/deposits");
        let (form, name) = (hidden(&page, "form"), hidden(&page, "deposit"));
        self.deposit_as(&form, &name, amount)
    }

    /// Sends the form of a deposit with this name.
    pub fn deposit_as(&self, form: &str, name: &str, amount: &str) -> Made {
        let fields = [("form", form), ("deposit", name), ("amount", amount)];
        let answer = self.post("/deposits", &fields);
        assert_eq!(answer.status, 303, "{}", answer.text);
        let page = answer.headers["location"].clone();
        let shown = self.get(&page);
        assert_eq!(shown.status, 200, "{}", shown.text);
        let form = between(&shown.text, "<a class=\"button\" href=\"http", "\"");
        let form = form.first().map(|rest| format!("http{rest}"));
        if let Some(form) = &form {
            assert_eq!(shown.headers["refresh"], format!("0; url={form}"));
        }
        Made { page: page.split('?').next().unwrap().to_owned(), form }
    }
}
