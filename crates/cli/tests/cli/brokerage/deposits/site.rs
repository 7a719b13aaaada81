//! A brokerage and its card processor, to be killed, cut off and looked into.

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tidegate_card::Status;
use tidegate_card::client::{Client, Patience};
use tidegate_sitekit::database::Location;

use crate::common::tiers::{Customer, Page, Tier, counts, location};
use crate::common::{Running, Text, private, tidegate, wait_until};
use crate::relay::Relay;

/// A card that is authorised.
pub const GOOD: &str = "5555555555554444";
/// A card whose account is empty.
pub const POOR: &str = "4000000000009995";

pub const PAID: &str = "It was paid, and is yours to spend.";

/// Cash of all customers, and deposits that are paid.
pub const CASH: &str =
    "SELECT CAST(SUM(available + reserved) AS BIGINT) FROM accounts WHERE customer > 0";
pub const DEPOSITS: &str = "SELECT COUNT(*) FROM deposits";
pub const PAID_IN: &str = "SELECT COUNT(*) FROM deposits WHERE state = 3";

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Data,
    App,
    Web,
    Processor,
}

pub const PARTS: [Part; 4] = [Part::Data, Part::App, Part::Web, Part::Processor];

/// A brokerage and its processor, each process at an address that it keeps.
pub struct Site {
    pub folder: TempDir,
    addresses: [SocketAddr; 4],
    /// From the application tier to the processor.
    pub relay: Relay,
    tiers: [Option<Tier>; 3],
    pub processor: Option<Running>,
    database: Option<String>,
}

impl Drop for Site {
    /// A test that fails shows what was logged.
    fn drop(&mut self) {
        if std::thread::panicking() {
            for name in ["data", "app", "web", "card"] {
                let log = std::fs::read_to_string(self.file(&format!("{name}.log")));
                eprintln!("{name}: {}", log.unwrap_or_default());
            }
        }
    }
}

impl Site {
    pub fn new() -> Self {
        Self::on(None)
    }

    pub fn on(database: Option<String>) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let addresses = [(); 4].map(|()| tidegate_lab::free_address().unwrap());
        let relay = Relay::to(addresses[Part::Processor as usize]);
        let mut site =
            Self { folder, addresses, relay, tiers: [None, None, None], processor: None, database };
        std::fs::write(site.path("feed.csv"), "tick,symbol,price\n1,ALEN,50.00\n").unwrap();
        let card = site.path("card");
        let made = tidegate(&["site", "card", "--data", &card, "--make-key", "brokerage"]);
        private(&site.file("card-key"), &made.stdout_text());
        let secret = site.path("webhook-secret");
        let made = tidegate(&["site", "card", "--make-webhook-secret", &secret]);
        assert!(made.status.success(), "{}", made.stderr_text());
        PARTS.iter().for_each(|part| site.start(*part));
        site
    }

    pub fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    pub fn path(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    pub fn address(&self, part: Part) -> String {
        self.addresses[part as usize].to_string()
    }

    pub fn url(&self) -> String {
        format!("http://{}", self.address(Part::Web))
    }

    pub fn start(&mut self, part: Part) {
        let listen = self.address(part);
        let mut args: Vec<String> = ["--listen", &listen].map(str::to_owned).into();
        let mut add = |more: &[&str]| args.extend(more.iter().map(ToString::to_string));
        let name = match part {
            Part::Data => {
                add(&["--data", &self.path("data"), "--customers", "10"]);
                if let Some(url) = &self.database {
                    add(&["--database", url]);
                }
                "data"
            }
            Part::App => {
                add(&["--next", &self.address(Part::Data), "--feed", &self.path("feed.csv")]);
                let url = format!("http://{}", self.relay.address);
                add(&["--card-processor", &url, "--card-key-file", &self.path("card-key")]);
                add(&["--public-url", &self.url(), "--feed-interval", "3600000"]);
                "app"
            }
            Part::Web => {
                add(&["--next", &self.address(Part::App)]);
                add(&["--webhook-secret-file", &self.path("webhook-secret")]);
                "web"
            }
            Part::Processor => {
                add(&["--data", &self.path("card"), "--webhook"]);
                add(&[&format!("{}/card-events", self.url()), "--webhook-secret-file"]);
                add(&[&self.path("webhook-secret"), "--return-url"]);
                add(&[&format!("{}/deposits/returned", self.url())]);
                let log = File::options().create(true).append(true).open(self.file("card.log"));
                let args: Vec<&str> =
                    ["site", "card"].into_iter().chain(args.iter().map(String::as_str)).collect();
                self.processor = Some(Running::tidegate_logging(&args, log.unwrap()));
                return;
            }
        };
        add(&["--tier", name, "--password-cost", "light"]);
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        self.tiers[part as usize] = Some(Tier::start(self.folder.path(), name, &args));
    }

    pub fn kill(&mut self, part: Part) {
        match part {
            Part::Processor => self.processor.take().expect("it runs").kill(),
            tier => self.tiers[tier as usize].take().expect("it runs").kill(),
        }
    }

    pub fn customer(&self, number: usize) -> Customer {
        Customer::sign_in(&self.url(), self.folder.path(), number)
    }

    pub fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(&format!("{name}.log"))).unwrap()
    }

    /// Waits until a log names a cause, and checks that it does not repeat it.
    pub fn logged(&self, name: &str, cause: &str) {
        wait_until(&format!("the log of {name} names {cause:?}"), || {
            self.log(name).contains(cause)
        });
        let lines = self.log(name).lines().filter(|line| line.contains(cause)).count();
        assert!(lines <= 4, "{lines} lines: {}", self.log(name));
    }

    pub fn location(&self) -> Location {
        location(self.folder.path(), self.database.as_deref())
    }

    /// The numbers that queries give, once the books were checked.
    pub fn counts<const N: usize>(&self, queries: [&'static str; N]) -> [i64; N] {
        counts(&self.location(), queries)
    }

    /// Waits until so many deposits are paid.
    pub fn wait_for_paid(&self, number: i64) {
        wait_until(&format!("{number} deposits are paid"), || self.counts([PAID_IN]) == [number]);
    }

    /// Every deposit of the brokerage has one payment at the processor, captured once if it is
    /// paid and never if it is not; and the processor has no others.
    pub fn check_processor(&self) {
        let key = std::fs::read_to_string(self.file("card-key")).unwrap();
        let url = format!("http://{}", self.address(Part::Processor));
        let client = Client::new(&url, key.trim(), None, Patience::default()).unwrap();
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = self.location().connect().await.unwrap();
            let sql = "SELECT cents * 10 + state, reference FROM deposits";
            let deposits: Vec<(i64, String)> = connection.all(sql, &[]).await.unwrap();
            connection.close().await;
            for (packed, reference) in &deposits {
                let (cents, paid) = (packed / 10, packed % 10 == 3);
                let payment = client.by_reference(reference).await.unwrap().unwrap();
                assert_eq!(payment.amount, cents);
                assert_eq!(payment.status == Status::Captured, paid, "{payment:?}");
                assert_eq!(payment.captures.len(), usize::from(paid), "{payment:?}");
                assert_eq!(payment.amount_captured, if paid { cents } else { 0 });
            }
            let card = Location::Sqlite(self.file("card/card.db"));
            let mut connection = card.connect().await.unwrap();
            let sql = "SELECT COUNT(*) FROM payments";
            let payments: Option<i64> = connection.first(sql, &[]).await.unwrap();
            connection.close().await;
            assert_eq!(payments, i64::try_from(deposits.len()).ok());
        });
    }
}

/// What the forms of a customer's session carry.
pub fn form(customer: &Customer) -> String {
    customer.form().expect("the site is available")
}

/// Looks at a page until it says this.
pub fn wait_for_page(customer: &Customer, path: &str, says: &str) -> Page {
    wait_until(&format!("{path} says {says:?}"), || customer.get(path).text.contains(says));
    customer.get(path)
}

/// All bytes of all files below a folder.
pub fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
    let mut all = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            all.extend(contents(&path));
        } else {
            let bytes = std::fs::read(&path).unwrap_or_default();
            all.push((path, bytes));
        }
    }
    all
}

pub fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}
