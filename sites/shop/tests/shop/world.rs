//! A shop for one test with its card processor, browsers with cookies, and a look behind the
//! pages.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidegate_card::Keys;
use tidegate_card::client::CardOptions;
use tidegate_shop::{Build, Options, RETURNED, Site, Size, start};
use tidegate_sitekit::database::{Connection, Location, Record};
use tidegate_sitekit::password::PasswordCost;

use crate::browser::{Answer, Browser, between, hidden};
use crate::postgres;

/// Cards that are authorised and declined.
pub const GOOD: &str = "4242424242424242";
pub const POOR: &str = "4000000000009995";

/// A running shop and its card processor, which end with their test.
pub struct World {
    pub options: Options,
    pub browser: Browser,
    location: Location,
    site: Option<Site>,
    pub processor: RefCell<Option<tidegate_card::Site>>,
    card: tidegate_card::Options,
    _folder: TempDir,
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

impl World {
    pub fn on_sqlite() -> Self {
        Self::new(None, Build::Baseline)
    }

    pub fn on_postgres() -> Self {
        Self::new(Some(postgres::new_database()), Build::Baseline)
    }

    pub fn new(database: Option<String>, build: Build) -> Self {
        let folder = tempfile::tempdir().expect("a folder");
        let (shop, processor) = (free(), free());
        let core = tidegate_sitekit::server::available_cores()[0];
        let card = tidegate_card::Options {
            listen: processor,
            data: folder.path().join("card"),
            return_urls: vec![format!("http://{shop}{RETURNED}").parse().expect("a URL")],
            cores: Some(vec![core]),
            ..tidegate_card::Options::default()
        };
        fs::create_dir_all(&card.data).expect("a folder");
        let mut keys = Keys::generate().expect("randomness");
        let key = keys.add("shop").expect("a name");
        keys.write(&card.keys_file()).expect("a folder that can be written");
        let options = Options {
            listen: shop,
            database,
            build,
            card: Some(CardOptions {
                url: format!("http://{processor}"),
                key_file: private(&folder.path().join("key"), &key),
                ca: None,
                public_url: format!("http://{shop}"),
            }),
            // What is kept is that of a core.
            cores: Some(vec![core; if build == Build::Baseline { 2 } else { 1 }]),
            ..options(folder.path())
        };
        let running = tidegate_card::start(&card).expect("the processor starts");
        let site = start(&options).expect("the shop starts");
        Self {
            browser: Browser::new(site.address()),
            location: site.prepared().location.clone(),
            site: Some(site),
            processor: RefCell::new(Some(running)),
            options,
            card,
            _folder: folder,
        }
    }

    /// Stops the card processor.
    pub fn stop_processor(&self) {
        self.processor.take().expect("it runs").shutdown();
    }

    /// Starts it again.
    pub fn start_processor(&self) {
        let running = tidegate_card::start(&self.card).expect("the processor starts");
        *self.processor.borrow_mut() = Some(running);
    }

    /// Stops the shop, and starts it again.
    pub fn restart(&mut self) {
        self.site.take().expect("it runs").shutdown();
        self.site = Some(start(&self.options).expect("the shop starts"));
    }

    pub fn location(&self) -> &Location {
        &self.location
    }

    /// All rows of a query, past the shop.
    pub fn query<R: Record>(&self, sql: &'static str) -> Vec<R> {
        block_on(async {
            let mut connection = self.location.connect().await.expect("the database opens");
            let rows = connection.all(sql, &[]).await.expect("the query is right");
            connection.close().await;
            rows
        })
    }

    /// The one number that a query gives.
    pub fn number(&self, sql: &'static str) -> i64 {
        self.query(sql)[0]
    }

    /// Runs a script, past the shop.
    pub fn run(&self, sql: &str) {
        block_on(async {
            let mut connection: Connection =
                self.location.connect().await.expect("the database opens");
            connection.script(sql.into()).await.expect("the script is right");
            connection.close().await;
        });
    }

    /// A browser without cookies.
    pub fn shopper(&self) -> Shopper {
        Shopper { browser: self.browser, cookies: RefCell::default() }
    }

    /// Types a card into a card form; where the customer is sent then.
    pub fn type_card(&self, form: &str, number: &str) -> Answer {
        let fields = [("number", number), ("expiry", "12/99"), ("cvc", "123")];
        Browser::new(self.card.listen).post(&path(form), &fields)
    }

    /// Cancels at a card form.
    pub fn cancel(&self, form: &str) {
        let answer = Browser::new(self.card.listen).post(&format!("{}/cancel", path(form)), &[]);
        assert_eq!(answer.status, 303, "{}", answer.text);
    }

    /// Goods that are in stock or ordered and not cancelled: what no order may change.
    pub fn goods(&self) -> i64 {
        self.number(
            "SELECT (SELECT CAST(SUM(stock) AS BIGINT) FROM products) +
             (SELECT CAST(COALESCE(SUM(l.quantity), 0) AS BIGINT) FROM order_lines l
              JOIN orders o ON o.id = l.order_id WHERE o.state <> 4)",
        )
    }
}

impl Drop for World {
    fn drop(&mut self) {
        if let Some(site) = self.site.take() {
            site.shutdown();
        }
        if let Some(processor) = self.processor.take() {
            processor.shutdown();
        }
    }
}

/// A browser with cookies.
pub struct Shopper {
    browser: Browser,
    cookies: RefCell<BTreeMap<String, String>>,
}

/// An address that goods can be sent to.
pub const ADDRESS: [(&str, &str); 5] = [
    ("email", "ann@example.com"),
    ("name", "Ann Example"),
    ("street", "1 Oak Street"),
    ("city", "Springfield"),
    ("postcode", "60601"),
];

impl Shopper {
    /// Its cookies, as a request has them.
    pub fn cookie(&self) -> String {
        let cookies = self.cookies.borrow();
        let all = cookies.iter().map(|(name, value)| format!("{name}={value}"));
        all.collect::<Vec<_>>().join("; ")
    }

    fn head(&self) -> String {
        let cookie = self.cookie();
        if cookie.is_empty() { cookie } else { format!("cookie: {cookie}\r\n") }
    }

    fn keep(&self, answer: Answer) -> Answer {
        if let Some(cookie) = answer.headers.get("set-cookie") {
            let (name, rest) = cookie.split_once('=').expect("a name");
            let value = rest.split(';').next().unwrap_or_default();
            self.cookies.borrow_mut().insert(name.into(), value.into());
        }
        answer
    }

    pub fn get(&self, path: &str) -> Answer {
        self.keep(self.browser.get_with(&self.head(), path))
    }

    pub fn page(&self, path: &str) -> String {
        let answer = self.get(path);
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        answer.text
    }

    pub fn post(&self, path: &str, fields: &[(&str, &str)]) -> Answer {
        self.keep(self.browser.post_with(&self.head(), path, fields))
    }

    /// Posts a form that leads to another page; its address.
    pub fn goes(&self, path: &str, fields: &[(&str, &str)]) -> String {
        let answer = self.post(path, fields);
        assert_eq!(answer.status, 303, "{path}: {}", answer.text);
        answer.headers["location"].clone()
    }

    /// Puts pieces of a product into the basket.
    pub fn take(&self, product: i64, quantity: i64) {
        let (product, quantity) = (product.to_string(), quantity.to_string());
        let to = self.goes("/basket", &[("product", &product), ("quantity", &quantity)]);
        assert_eq!(to, "/basket");
    }

    /// The fields of the form that orders the basket.
    pub fn review(&self) -> Vec<(String, String)> {
        let answer = self.post("/checkout", &ADDRESS);
        assert_eq!(answer.status, 200, "{}", answer.text);
        let names = ["auth", "email", "name", "street", "city", "postcode"];
        names.map(|name| (name.to_owned(), hidden(&answer.text, name))).into()
    }

    /// Sends these fields as an order.
    pub fn order(&self, fields: &[(String, String)]) -> Answer {
        let fields: Vec<(&str, &str)> =
            fields.iter().map(|(name, value)| (name.as_str(), value.as_str())).collect();
        self.post("/orders", &fields)
    }

    /// Orders the basket: the page of the order, and the URL of the card form.
    pub fn buy(&self) -> (String, Option<String>) {
        let answer = self.order(&self.review());
        assert_eq!(answer.status, 303, "{}", answer.text);
        let to = answer.headers["location"].clone();
        let page = self.get(&to);
        assert_eq!(page.status, 200, "{}", page.text);
        let form = between(&page.text, "<a class=\"button\" href=\"http", "\"");
        let form = form.first().map(|rest| format!("http{rest}"));
        if let Some(form) = &form {
            assert_eq!(page.headers["refresh"], format!("0; url={form}"));
        }
        (to.split('?').next().expect("a path").to_owned(), form)
    }
}

/// The path of a URL.
pub fn path(url: &str) -> String {
    let (_, rest) = url.split_once("://").unwrap_or(("", url));
    rest.find('/').map_or("/".into(), |at| rest[at..].to_owned())
}

/// Waits until something holds, within a minute.
pub fn wait_until(what: &str, holds: impl Fn() -> bool) {
    let begun = Instant::now();
    while !holds() {
        assert!(begun.elapsed() < Duration::from_secs(60), "not within a minute: {what}");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn block_on<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    runtime.expect("a runtime").block_on(work)
}

fn private(path: &Path, text: &str) -> std::path::PathBuf {
    fs::write(path, text).expect("written");
    fs::set_permissions(path, fs::Permissions::from_mode(0o600)).expect("its own file");
    path.to_owned()
}

/// Options of a small shop in this folder, with two runtimes, so that what they share is tested.
pub fn options(folder: &Path) -> Options {
    let core = tidegate_sitekit::server::available_cores()[0];
    Options {
        listen: "127.0.0.1:0".parse().expect("an address"),
        data: folder.to_owned(),
        size: Some(Size::Small),
        password_cost: PasswordCost::LIGHT,
        cores: Some(vec![core, core]),
        ..Options::default()
    }
}
