//! The brokerage's tiers as processes, each with its log, and a customer who uses them.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use tidegate_sitekit::database::{Connection, Location};

use super::{Running, Text, curl};

/// A tier that runs.
pub struct Tier {
    running: Running,
    /// Where it listens.
    pub address: String,
    log: PathBuf,
}

impl Tier {
    /// Starts `tidegate site brokerage` with these arguments, and waits until it is ready.
    pub fn start(folder: &Path, name: &str, args: &[&str]) -> Self {
        Self::start_as(folder, name, args, |_| ())
    }

    /// The same, as a process that was prepared.
    pub fn start_as(
        folder: &Path,
        name: &str,
        args: &[&str],
        prepare: impl FnOnce(&mut Command),
    ) -> Self {
        let log = folder.join(format!("{name}.log"));
        let stderr = File::options().create(true).append(true).open(&log).expect("a log");
        let mut command = Command::new(env!("CARGO_BIN_EXE_tidegate"));
        command.args(["site", "brokerage"]).args(args);
        prepare(&mut command);
        let running = Running::announced(&mut command, stderr).unwrap_or_else(|| {
            panic!("{name} ended: {}", std::fs::read_to_string(&log).unwrap_or_default())
        });
        let address = running.last_address().to_owned();
        Self { running, address, log }
    }

    /// What it has logged so far.
    pub fn log(&self) -> String {
        std::fs::read_to_string(&self.log).expect("a log")
    }

    /// Ends it as a crash does: nothing of it runs any more.
    pub fn kill(self) {
        self.running.kill();
    }

    /// Sends SIGTERM, and returns its exit code.
    pub fn end(self) -> Option<i32> {
        self.running.end()
    }

    /// Its exit code once it has ended.
    pub fn wait(&mut self) -> Option<i32> {
        self.running.wait()
    }

    /// Its process id.
    pub fn id(&self) -> u32 {
        self.running.id()
    }
}

/// Where the brokerage has its database: at a URL, or in a file of its folder.
pub fn location(folder: &Path, url: Option<&str>) -> Location {
    match url {
        Some(url) => Location::parse(url).expect("a database's URL"),
        None => Location::Sqlite(folder.join("data/brokerage.db")),
    }
}

/// A page with its status.
#[derive(Debug)]
pub struct Page {
    pub status: u16,
    pub text: String,
}

impl Page {
    /// The card form that the page of a deposit leads to.
    pub fn card_form(&self) -> Option<String> {
        let (_, rest) = self.text.split_once("<a class=\"button\" href=\"http")?;
        Some(format!("http{}", rest.split_once('"')?.0))
    }
}

/// A customer with the cookies of a browser, by curl.
#[derive(Clone)]
pub struct Customer {
    site: String,
    cookies: PathBuf,
}

impl Customer {
    /// Signs in. A site that is not available gives a customer who is not signed in.
    pub fn sign_in(site: &str, folder: &Path, number: usize) -> Self {
        let cookies = folder.join(format!("cookies-{number}"));
        let customer = Self { site: site.to_owned(), cookies };
        let fields = format!("user=customer{number}&password=password{number}");
        customer.post("/login", &fields);
        customer
    }

    fn request(&self, path: &str, more: &[&str]) -> Page {
        self.request_url(&format!("{}{path}", self.site), more)
    }

    fn request_url(&self, url: &str, more: &[&str]) -> Page {
        let cookies = self.cookies.display().to_string();
        let fixed =
            ["--cookie", &cookies, "--cookie-jar", &cookies, "--write-out", "\n%{http_code}", url];
        let text = curl(&[&fixed, more].concat()).stdout_text();
        let (text, status) = text.rsplit_once('\n').unwrap_or(("", "0"));
        Page { status: status.parse().unwrap_or(0), text: text.to_owned() }
    }

    pub fn get(&self, path: &str) -> Page {
        self.request(path, &[])
    }

    pub fn post(&self, path: &str, fields: &str) -> Page {
        self.request(path, &["--data", fields])
    }

    /// Sends a form, and follows where the answers lead, from site to site as a browser does.
    pub fn post_and_follow(&self, url: &str, fields: &str) -> Page {
        self.request_url(url, &["--location", "--data", fields])
    }

    /// Makes a deposit of this name; its page.
    pub fn deposit(&self, form: &str, name: &str, amount: &str) -> Page {
        let fields = format!("form={form}&deposit={name}&amount={amount}");
        self.post_and_follow(&format!("{}/deposits", self.site), &fields)
    }

    /// Types a card into a card form and comes back; the page that is seen then.
    pub fn type_card(&self, form: &str, number: &str) -> Page {
        self.post_and_follow(form, &format!("number={number}&expiry=12%2F99&cvc=876"))
    }

    /// Sends an order of this name to buy or sell at a limit.
    pub fn order(&self, form: &str, name: &str, side: &str, quantity: usize, limit: &str) -> Page {
        let fields = format!(
            "form={form}&order={name}&side={side}&symbol=ALEN&kind=limit&quantity={quantity}\
             &limit={limit}&good=cancel"
        );
        self.post("/orders", &fields)
    }

    /// What the forms of the session carry, once the site is available.
    pub fn form(&self) -> Option<String> {
        let page = self.get("/orders/new");
        let (_, rest) = page.text.split_once("name=\"form\" value=\"")?;
        Some(rest.split_once('"')?.0.to_owned())
    }
}

/// What must be zero whatever has happened: cash and shares add up, and nothing is there
/// twice.
const BOOKS: [(&str, &str); 9] = [
    ("all cash", "SELECT CAST(SUM(available + reserved) AS BIGINT) FROM accounts"),
    (
        "all shares",
        "SELECT CAST(SUM(ABS(total)) AS BIGINT) FROM (SELECT SUM(available + reserved) AS total
             FROM holdings GROUP BY security) sums",
    ),
    (
        "accounts beside the ledger",
        "SELECT COUNT(*) FROM accounts a WHERE a.available <> (
             SELECT COALESCE(SUM(CASE WHEN to_account = a.customer * 2 THEN cents ELSE -cents END), 0)
             FROM ledger WHERE to_account = a.customer * 2 OR from_account = a.customer * 2)",
    ),
    (
        "reserved cash beside open orders",
        "SELECT COUNT(*) FROM accounts a
             WHERE a.customer > 0 AND a.reserved <> (SELECT COALESCE(SUM(quantity * limit_cents), 0)
             FROM orders o WHERE o.customer = a.customer AND state = 0 AND side = 1)",
    ),
    (
        "filled orders beside executions",
        "SELECT (SELECT COUNT(*) FROM orders WHERE state = 1) - (SELECT COUNT(*) FROM executions)",
    ),
    (
        "deposits that are paid and not credited",
        "SELECT COUNT(*) FROM deposits d WHERE state = 3 AND NOT EXISTS (SELECT 1 FROM payments p
             WHERE p.payment = d.reference AND p.customer = d.customer AND p.cents = d.cents)",
    ),
    (
        "deposits that are credited and not paid",
        "SELECT COUNT(*) FROM deposits d JOIN payments p ON p.payment = d.reference
             WHERE d.state <> 3",
    ),
    (
        "open deposits beside the outbox",
        "SELECT (SELECT COUNT(*) FROM deposits WHERE state < 3)
              - (SELECT COUNT(*) FROM deposit_outbox)",
    ),
    (
        "holdings beside executions",
        "SELECT COUNT(*) FROM holdings h WHERE h.customer > 0
             AND h.available + h.reserved <> (SELECT COALESCE(SUM(
                 CASE WHEN side = 1 THEN quantity ELSE -quantity END), 0)
             FROM executions e WHERE e.customer = h.customer AND e.security = h.security)",
    ),
];

/// The one number that a query gives.
pub async fn number(connection: &mut Connection, sql: &'static str) -> i64 {
    connection.first::<i64>(sql, &[]).await.unwrap().unwrap()
}

/// Checks that cash and shares add up. Nobody may trade meanwhile.
pub async fn check_books(connection: &mut Connection) {
    for (what, sql) in BOOKS {
        assert_eq!(number(connection, sql).await, 0, "{what}");
    }
}

/// The numbers that queries give past the tiers, once cash and shares were checked.
pub fn counts<const N: usize>(location: &Location, queries: [&'static str; N]) -> [i64; N] {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = location.connect().await.unwrap();
        check_books(&mut connection).await;
        let mut found = [0; N];
        for (at, sql) in queries.into_iter().enumerate() {
            found[at] = number(&mut connection, sql).await;
        }
        connection.close().await;
        found
    })
}
