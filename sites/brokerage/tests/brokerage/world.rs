//! The three tiers for one test, in this process, with a small population.

use std::fs;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidegate_brokerage::app::{self, Source};
use tidegate_brokerage::web::{self, Stub};
use tidegate_brokerage::{LinkOptions, Running, data};
use tidegate_card::client::CardOptions;
use tidegate_sitekit::database::Location;
use tidegate_sitekit::link::Files;
use tidegate_sitekit::password::PasswordCost;

use crate::browser::{Answer, Browser, hidden};
use crate::postgres;

/// Time between two ticks of the feed.
pub const TICK: Duration = Duration::from_millis(20);
/// Longest wait for anything.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a world differs from the usual one.
#[derive(Clone, Default)]
pub struct Setup {
    /// URL of the database.
    pub database: Option<String>,
    /// Lines of the feed after its head; none: constant prices for ten minutes.
    pub feed: Option<String>,
    /// The links: from web to app, and from app to data.
    pub links: Option<[&'static str; 2]>,
    /// Files of the links.
    pub files: Files,
    /// Where the web tier listens; none: at any free port.
    pub listen: Option<SocketAddr>,
    /// The card processor.
    pub card: Option<CardOptions>,
    /// The file of its webhooks' secrets.
    pub webhook_secrets: Option<PathBuf>,
}

/// Three running tiers.
pub struct World {
    pub web: Option<Running>,
    pub app: Option<Running>,
    pub data: Option<Running>,
    pub web_options: web::Options,
    pub app_options: app::Options,
    pub data_options: data::Options,
    pub location: Location,
    pub folder: TempDir,
}

impl World {
    pub fn new() -> Self {
        Self::with(Setup::default())
    }

    pub fn on_postgres() -> Self {
        Self::with(Setup { database: Some(postgres::new_database()), ..Setup::default() })
    }

    pub fn with(setup: Setup) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let [web_app, app_data] = setup.links.unwrap_or(["none,per-request", "none"]);
        let link = |text: &str| LinkOptions {
            spec: text.parse().expect("a link"),
            files: setup.files.clone(),
        };
        let listen: SocketAddr = "127.0.0.1:0".parse().expect("an address");
        let core = tidegate_sitekit::server::available_cores()[0];
        // Two runtimes, so that what they share is tested.
        let cores = Some(vec![core, core]);
        let data_options = data::Options {
            listen,
            database: setup.database,
            data: folder.path().join("data"),
            customers: Some(10),
            seed: Some(1),
            password_cost: PasswordCost::LIGHT,
            full_hashes: false,
            link: link(app_data),
            known_as: Vec::new(),
            cores: cores.clone(),
        };
        let (data, prepared) = data::start(data_options.clone()).expect("the data tier starts");
        let app_options = app::Options {
            listen,
            next: vec![data.address().to_string()],
            front: link(web_app),
            back: link(app_data),
            known_as: Vec::new(),
            card: setup.card,
            password_cost: PasswordCost::LIGHT,
            feed: Source::File(write_feed(folder.path(), setup.feed.as_deref())),
            interval: TICK,
            cores: cores.clone(),
        };
        let app = app::start(app_options.clone()).expect("the application tier starts");
        let web_options = web::Options {
            listen: setup.listen.unwrap_or(listen),
            next: vec![app.address().to_string()],
            link: link(web_app),
            tls: None,
            trusted_proxies: Vec::new(),
            measured_pages: false,
            webhook_secrets: setup.webhook_secrets,
            stub: Stub::InProcess,
            cores,
        };
        let web = web::start(web_options.clone()).expect("the web tier starts");
        let location = prepared.location;
        let [web, app, data] = [web, app, data].map(Some);
        let world =
            Self { web, app, data, web_options, app_options, data_options, location, folder };
        wait_until("prices have come", || world.number("SELECT tick FROM feed") > 0);
        world
    }

    pub fn browser(&self) -> Browser {
        Browser::new(self.web.as_ref().expect("it runs").address())
    }

    /// Signs in as this synthetic customer.
    pub fn customer(&self, number: i64) -> Customer {
        Customer::sign_in(self.browser(), number)
    }

    /// The one number that a query gives, past the tiers.
    pub fn number(&self, sql: &'static str) -> i64 {
        block_on(async {
            let mut connection = self.location.connect().await.expect("the database opens");
            let found = connection.first::<i64>(sql, &[]).await.expect("the query is right");
            connection.close().await;
            found.expect("a row")
        })
    }

    /// The one text that a query gives, past the tiers.
    pub fn text(&self, sql: &'static str) -> String {
        block_on(async {
            let mut connection = self.location.connect().await.expect("the database opens");
            let found = connection.first::<String>(sql, &[]).await.expect("the query is right");
            connection.close().await;
            found.expect("a row")
        })
    }

    /// Runs a script, past the tiers.
    pub fn run(&self, sql: &str) {
        block_on(async {
            let mut connection = self.location.connect().await.expect("the database opens");
            connection.script(sql.into()).await.expect("the script is right");
            connection.close().await;
        });
    }

    pub fn stop_app(&mut self) {
        self.app.take().expect("it runs").shutdown();
    }

    pub fn stop_data(&mut self) {
        self.data.take().expect("it runs").shutdown();
    }

    /// Starts the application tier again where it was.
    pub fn restart_app(&mut self) {
        let address = self.web_options.next[0].parse().expect("an address");
        let options = app::Options { listen: address, ..self.app_options.clone() };
        self.app = Some(app::start(options).expect("it starts again"));
    }

    /// Starts the data tier again where it was.
    pub fn restart_data(&mut self) {
        let address = self.app_options.next[0].parse().expect("an address");
        let options = data::Options { listen: address, ..self.data_options.clone() };
        self.data = Some(data::start(options).expect("it starts again").0);
    }

    /// Starts the web tier again, calling these addresses.
    pub fn restart_web(&mut self, next: &[SocketAddr]) {
        if let Some(web) = self.web.take() {
            web.shutdown();
        }
        let next = next.iter().map(ToString::to_string).collect();
        let options = web::Options { next, ..self.web_options.clone() };
        self.web = Some(web::start(options).expect("it starts again"));
    }

    /// What must hold whatever has happened: cash and shares add up.
    pub fn check(&self) {
        for sql in [
            "SELECT CAST(SUM(available + reserved) AS BIGINT) FROM accounts",
            "SELECT CAST(COALESCE(SUM(available + reserved), 0) AS BIGINT) FROM holdings",
            "SELECT CAST(SUM(a.reserved) - (SELECT COALESCE(SUM(quantity * limit_cents), 0)
                 FROM orders WHERE state = 0 AND side = 1) AS BIGINT)
             FROM accounts a WHERE a.customer > 0",
            "SELECT COUNT(*) FROM orders o WHERE state = 1
                 AND NOT EXISTS (SELECT 1 FROM executions WHERE order_id = o.id)",
        ] {
            assert_eq!(self.number(sql), 0, "{sql}");
        }
    }
}

impl Drop for World {
    fn drop(&mut self) {
        for tier in [self.web.take(), self.app.take(), self.data.take()].into_iter().flatten() {
            tier.shutdown();
        }
    }
}

fn write_feed(folder: &Path, lines: Option<&str>) -> std::path::PathBuf {
    let path = folder.join("feed.csv");
    let constant = "1,ALEN,50.00\n1,BAFI,20.00\n30000,ALEN,50.00\n";
    fs::write(&path, format!("tick,symbol,price\n{}", lines.unwrap_or(constant))).expect("written");
    path
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

/// Polls until it holds; a test that waits for what never comes fails with its name.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let deadline = Instant::now() + PATIENCE;
    while !holds() {
        assert!(Instant::now() < deadline, "waited in vain until {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// A customer with the cookie of a session.
#[derive(Clone)]
pub struct Customer {
    pub browser: Browser,
    pub cookie: String,
    /// The page that followed signing in.
    pub page: String,
}

impl Customer {
    pub fn sign_in(browser: Browser, number: i64) -> Self {
        let (user, password) = (format!("customer{number}"), format!("password{number}"));
        let answer = browser.post("/login", &[("user", &user), ("password", &password)]);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let cookie = answer.headers["set-cookie"].split(';').next().expect("a cookie").to_owned();
        Self { browser, cookie, page: answer.text }
    }

    pub fn get(&self, path: &str) -> Answer {
        self.browser.get_with(&self.header(), path)
    }

    /// Gets a page; any status but 200 is a failure.
    pub fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.text
    }

    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.browser.post_with(&self.header(), path, fields)
    }

    /// The header field of the cookie.
    fn header(&self) -> String {
        format!("cookie: {}\r\n", self.cookie)
    }

    /// The form of a new order: what it carries for the session, and the order's name.
    pub fn form(&self) -> Form {
        let page = self.page("/orders/new");
        Form { form: hidden(&page, "form"), order: hidden(&page, "order") }
    }

    /// Sends an order with a form of its own.
    pub fn order(&self, order: Wanted<'_>) -> Answer {
        self.send(&self.form(), order)
    }

    pub fn send(&self, form: &Form, order: Wanted<'_>) -> Answer {
        let Wanted { side, symbol, quantity, limit, good } = order;
        let kind = if limit.is_empty() { "market" } else { "limit" };
        self.post(
            "/orders",
            &[
                ("form", &form.form),
                ("order", &form.order),
                ("side", side),
                ("symbol", symbol),
                ("kind", kind),
                ("quantity", quantity),
                ("limit", limit),
                ("good", good),
            ],
        )
    }
}

/// The hidden fields of a form.
#[derive(Clone, Debug)]
pub struct Form {
    pub form: String,
    pub order: String,
}

/// An order to give. Without a limit it is a market order.
#[derive(Clone, Copy)]
pub struct Wanted<'a> {
    pub side: &'a str,
    pub symbol: &'a str,
    pub quantity: &'a str,
    pub limit: &'a str,
    pub good: &'a str,
}

/// An order to buy at a limit, good until it is cancelled.
pub fn buy<'a>(symbol: &'a str, quantity: &'a str, limit: &'a str) -> Wanted<'a> {
    Wanted { side: "buy", symbol, quantity, limit, good: "cancel" }
}

/// An order to sell at a limit, good until it is cancelled.
pub fn sell<'a>(symbol: &'a str, quantity: &'a str, limit: &'a str) -> Wanted<'a> {
    Wanted { side: "sell", ..buy(symbol, quantity, limit) }
}
