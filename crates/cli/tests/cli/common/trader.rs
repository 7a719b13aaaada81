//! The brokerage in a browser, with a feed of prices that is the same in every run.

use std::fmt::Write as _;
use std::time::{Duration, Instant};

use fantoccini::{Client, Locator};
use tempfile::TempDir;
use tidegate_sitekit::database::Location;

use super::PATIENCE;
use super::browser::{Driver, arrive, browser, chromedriver, fill, follow, submit};
use super::tiers::Tier;

/// The brokerage with a feed that is the same in every run, and a browser.
pub struct World {
    pub page: Client,
    pub site: Tier,
    pub folder: TempDir,
    _driver: Driver,
}

impl World {
    pub async fn new() -> Self {
        Self::with_feed(&prices()).await
    }

    pub async fn with_feed(lines: &str) -> Self {
        Self::start(lines, &[]).await
    }

    /// With a card processor beside it.
    pub async fn with_card() -> Self {
        Self::start(&prices(), &["--card", "--card-listen", "127.0.0.1:0"]).await
    }

    async fn start(lines: &str, more: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name).display().to_string();
        let (data, feed) = (path("data"), path("feed.csv"));
        std::fs::write(&feed, lines).unwrap();
        let fixed = ["--listen", "127.0.0.1:0", "--customers", "10", "--password-cost", "light"];
        let files = ["--data", &data, "--feed", &feed, "--feed-interval", "300"];
        let args = [&fixed[..], &files, more].concat();
        let site = Tier::start(folder.path(), "all", &args);
        let driver = chromedriver();
        let page = browser(&driver, &folder.path().join("profile")).await;
        Self { page, site, folder, _driver: driver }
    }

    pub async fn open(&self, path: &str) {
        self.page.goto(&format!("{}{path}", self.site.address)).await.unwrap();
    }

    /// Signs in as this synthetic customer.
    pub async fn sign_in(&self, number: u32) {
        self.open("/login").await;
        fill(&self.page, "user", &format!("customer{number}")).await;
        fill(&self.page, "password", &format!("password{number}")).await;
        submit(&self.page, "/login").await;
        arrive(&self.page, "Welcome").await;
    }

    /// Sends an order of ten shares of ALEN, at a limit or without one at the market, and waits
    /// for the page whose heading begins so.
    pub async fn order(&self, side: &str, limit: &str, heading: &str) {
        let page = &self.page;
        self.open("/orders/new").await;
        follow(page, &format!("#side-{side}")).await;
        let kind = if limit.is_empty() { "market" } else { "limit" };
        follow(page, &format!("#kind-{kind}")).await;
        let symbol = page.find(Locator::Css("#symbol")).await.unwrap();
        symbol.select_by_value("ALEN").await.unwrap();
        fill(page, "quantity", "10").await;
        if !limit.is_empty() {
            fill(page, "limit", limit).await;
        }
        submit(page, "/orders").await;
        arrive(page, heading).await;
    }

    /// Begins a deposit, and waits until the card processor asks for the card.
    pub async fn deposit(&self, amount: &str) {
        self.open("/deposits").await;
        fill(&self.page, "amount", amount).await;
        submit(&self.page, "/deposits").await;
        arrive(&self.page, &format!("Pay {amount}")).await;
    }

    /// Fills in the form of the card processor, and sends it.
    pub async fn type_card(&self, number: &str) {
        for (name, value) in [("number", number), ("expiry", "12/99"), ("cvc", "876")] {
            fill(&self.page, name, value).await;
        }
        follow(&self.page, "form:not(.cancel) [type=submit]").await;
    }

    /// The customer's cash in cents, with what is reserved for orders.
    pub async fn cash(&self) -> i64 {
        self.open("/portfolio").await;
        let script = "return document.querySelector('#total').dataset.cash";
        let cash = self.page.execute(script, Vec::new()).await.unwrap();
        cash.as_str().unwrap().parse().unwrap()
    }

    /// The newest orders of the history.
    pub async fn history(&self) -> Vec<String> {
        self.open("/history").await;
        let script =
            "return [...document.querySelectorAll('tbody tr')].map((row) => row.innerText)";
        let rows = self.page.execute(script, Vec::new()).await.unwrap();
        serde_json::from_value(rows).unwrap()
    }

    /// Waits until the newest order of the history is this one.
    pub async fn filled(&self, order: &str) -> String {
        let begun = Instant::now();
        loop {
            let newest =
                self.history().await.remove(0).split_whitespace().collect::<Vec<_>>().join(" ");
            if newest.contains(order) {
                return newest;
            }
            assert!(begun.elapsed() < PATIENCE, "{order} is not filled: {newest}");
            tokio::time::sleep(Duration::from_millis(100)).await;
        }
    }

    /// How many shares of ALEN the portfolio shows.
    pub async fn shares(&self) -> i64 {
        self.open("/portfolio").await;
        let script = "return document.querySelector('[data-symbol=ALEN]')?.dataset.shares ?? '0'";
        let shares = self.page.execute(script, Vec::new()).await.unwrap();
        shares.as_str().unwrap().parse().unwrap()
    }

    /// Changes the database past the tiers.
    pub async fn run(&self, sql: &str) {
        let location = Location::Sqlite(self.folder.path().join("data/brokerage.db"));
        let mut connection = location.connect().await.unwrap();
        connection.script(sql.into()).await.unwrap();
        connection.close().await;
    }
}

/// A feed of ALEN alone, from 50.00 to 54.99 and again from 50.00, a cent at each tick.
fn prices() -> String {
    let mut lines = String::from("tick,symbol,price\n");
    for tick in 0..20_000 {
        writeln!(lines, "{},ALEN,{}.{:02}", tick + 1, 50 + tick / 100 % 5, tick % 100).unwrap();
    }
    lines
}
