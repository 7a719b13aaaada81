//! Faults between the brokerage's processes and on their ports: a page comes within its
//! deadline and says what to do, nothing is lost or done twice, and the log names the cause
//! without repeating it.
//!
//! docs/brokerage-security.md has a table of them. What ends processes at random moments is in
//! `crashes`.

use std::net::SocketAddr;
use std::path::Path;
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidegate_sitekit::database::Location;

use crate::common::tiers::{Customer, Page, Tier, counts, location};
use crate::common::{in_time, wait_until, with_small_files};
use crate::postgres;
use crate::relay::{Relay, Way};

/// Three tiers, with a relay before the application tier and one before the data tier.
struct Site {
    folder: TempDir,
    web: Option<Tier>,
    app: Option<Tier>,
    data: Option<Tier>,
    /// From web to app, and from app to data.
    relays: [Relay; 2],
    addresses: [String; 3],
    database: Option<String>,
    /// More arguments of the application tier.
    app_args: Vec<String>,
}

/// Less than the deadline of any call between tiers.
const AT_ONCE: Duration = Duration::from_secs(3);

/// Prices that do not change, so that orders below them wait.
const CONSTANT: &str = "tick,symbol,price\n1,ALEN,50.00\n1000000,ALEN,50.00\n";

impl Site {
    fn new() -> Self {
        Self::with(None, CONSTANT, &[])
    }

    fn with(database: Option<String>, feed: &str, app_args: &[&str]) -> Self {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("feed.csv"), feed).unwrap();
        let addresses: [SocketAddr; 3] = [(); 3].map(|()| tidegate_lab::free_address().unwrap());
        let relays = [Relay::to(addresses[1]), Relay::to(addresses[2])];
        let app_args = app_args.iter().map(ToString::to_string).collect();
        let addresses = addresses.map(|address| address.to_string());
        let (web, app, data) = (None, None, None);
        let mut site = Self { folder, web, app, data, relays, addresses, database, app_args };
        site.start_data(u64::MAX);
        site.start_app();
        site.start_web();
        site
    }

    fn start_data(&mut self, largest_file: u64) {
        let folder = self.folder.path().join("data").display().to_string();
        let mut args = vec!["--tier", "data", "--listen", &self.addresses[2], "--data", &folder];
        args.extend(["--customers", "10", "--password-cost", "light"]);
        args.extend(["--app-data", "none,per-request"]);
        if let Some(url) = &self.database {
            args.extend(["--database", url]);
        }
        self.data = Some(Tier::start_as(self.folder.path(), "data", &args, |command| {
            if largest_file < u64::MAX {
                with_small_files(command, largest_file);
            }
        }));
    }

    fn start_app(&mut self) {
        let feed = self.folder.path().join("feed.csv").display().to_string();
        let next = self.relays[1].address.to_string();
        let mut args = vec!["--tier", "app", "--listen", &self.addresses[1], "--next", &next];
        args.extend(["--password-cost", "light", "--feed", &feed, "--feed-interval", "3600000"]);
        args.extend(["--app-data", "none,per-request"]);
        args.extend(self.app_args.iter().map(String::as_str));
        self.app = Some(Tier::start(self.folder.path(), "app", &args));
    }

    fn start_web(&mut self) {
        let next = self.relays[0].address.to_string();
        let args = ["--tier", "web", "--listen", &self.addresses[0], "--next", &next];
        self.web = Some(Tier::start(self.folder.path(), "web", &args));
    }

    fn customer(&self, number: usize) -> Customer {
        let site = format!("http://{}", self.addresses[0]);
        Customer::sign_in(&site, self.folder.path(), number)
    }

    fn log(&self, tier: &str) -> String {
        std::fs::read_to_string(self.folder.path().join(format!("{tier}.log"))).unwrap()
    }

    /// Waits until the log of a tier names a cause, and checks that it does not repeat it.
    fn logged(&self, tier: &str, cause: &str) {
        wait_until(&format!("the log of {tier} names {cause:?}"), || {
            self.log(tier).contains(cause)
        });
        let lines = self.log(tier).lines().filter(|line| line.contains(cause)).count();
        assert!(lines <= 6, "{lines} lines: {}", self.log(tier));
    }

    /// Orders of this name, once the books were checked.
    fn orders(&self) -> i64 {
        let location = location(self.folder.path(), self.database.as_deref());
        let [orders] =
            counts(&location, ["SELECT COUNT(*) FROM orders WHERE client_id LIKE 'order-%'"]);
        orders
    }
}

/// A page that says that a part is missing, and what to do.
fn unavailable(page: &Page) {
    assert_eq!(page.status, 503, "{}", page.text);
    assert!(page.text.contains("cannot be reached or does not answer"), "{}", page.text);
    let advice = ["Nothing was changed. Wait a moment", "look at your orders before you decide"];
    assert!(advice.iter().any(|advice| page.text.contains(advice)), "{}", page.text);
}

/// An order that waits for its price.
fn order(customer: &Customer, form: &str, name: &str) -> Page {
    customer.order(form, name, "buy", 1, "10.00")
}

#[test]
fn a_tier_that_is_gone_is_named_once_and_serves_again_when_it_is_back() {
    let mut site = Site::new();
    let customer = site.customer(1);
    let form = customer.form().unwrap();
    // What a relay cannot reach it closes: gone are the tiers behind it.
    for (at, gone) in ["data", "app"].into_iter().enumerate() {
        let tier = if gone == "data" { &mut site.data } else { &mut site.app };
        tier.take().unwrap().kill();
        let name = format!("order-gone-{at}");
        let told = || unavailable(&customer.get("/main"));
        (0..30).for_each(|_| told());
        in_time("the customer sees the fault at once", AT_ONCE, told);
        let page = order(&customer, &form, &name);
        assert_eq!(page.status, 503, "{}", page.text);
        assert!(page.text.contains("Send the same order again"), "{}", page.text);
        let caller = if gone == "data" { "app" } else { "web" };
        let at = &site.relays[if gone == "data" { 1 } else { 0 }].address;
        let cause = format!("cause=\"{gone} tier at {at}: the connection broke");
        site.logged(caller, &cause);
        if gone == "data" {
            site.start_data(u64::MAX)
        } else {
            site.start_app()
        }
        wait_until("pages come again", || customer.get("/main").status == 200);
        for _ in 0..2 {
            let again = order(&customer, &form, &name);
            assert_eq!(again.status, 200, "{}", again.text);
        }
    }
    site.web.take().unwrap().kill();
    assert_eq!(customer.get("/main").status, 0, "nothing answers");
    site.start_web();
    assert_eq!(customer.get("/main").status, 200, "the session is not the web tier's");
    assert_eq!(site.orders(), 2);
}

#[test]
fn a_tier_that_does_not_run_is_told_with_its_address_and_a_question() {
    let folder = tempfile::tempdir().unwrap();
    let nowhere = tidegate_lab::free_address().unwrap().to_string();
    let args = ["--tier", "web", "--listen", "127.0.0.1:0", "--next", &nowhere];
    let web = Tier::start(folder.path(), "web", &args);
    let customer = Customer::sign_in(&web.address, folder.path(), 1);
    unavailable(&customer.post("/login", "user=customer1&password=password1"));
    let log = web.log();
    let expected = format!("app tier at {nowhere}: Connection refused");
    assert!(log.contains(&expected) && log.contains("is it running there?"), "{log}");
}

#[test]
fn whatever_becomes_of_an_answer_the_page_says_so_and_the_order_is_accepted_once() {
    let site = Site::new();
    let customer = site.customer(1);
    let form = customer.form().unwrap();
    let mut orders = 0;
    for (link, caller) in ["web", "app"].into_iter().enumerate() {
        for (way, cause) in [
            (Way::Close, "the connection broke before the answer"),
            (Way::LoseAnswer, "the connection broke before the answer"),
            (Way::CutAnswer, "the connection broke within the answer"),
            (Way::ResetAnswer, "the connection broke"),
            (Way::Junk, "invalid HTTP"),
        ] {
            let name = format!("order-{link}-{way:?}");
            site.relays[link].set(way);
            let page = order(&customer, &form, &name);
            assert_eq!(page.status, 503, "{link} {way:?}: {}", page.text);
            assert!(page.text.contains("not certain whether it was accepted"), "{}", page.text);
            in_time("the customer sees the fault at once", AT_ONCE, || {
                unavailable(&customer.get("/orders"))
            });
            site.logged(caller, cause);
            site.relays[link].set(Way::Pass);
            for _ in 0..2 {
                let again = order(&customer, &form, &name);
                assert_eq!(again.status, 200, "{link} {way:?}: {}", again.text);
            }
            orders += 1;
        }
        // A slow one is waited for.
        site.relays[link].set(Way::Late);
        assert_eq!(customer.get("/main").status, 200);
        site.relays[link].set(Way::Pass);
    }
    assert_eq!(site.orders(), orders);
}

/// A link that takes a request and says nothing.
fn silent(link: usize, caller: &str, seconds: u64) {
    let site = Site::new();
    let customer = site.customer(1);
    let form = customer.form().unwrap();
    site.relays[link].set(Way::Silence);
    let begin = Instant::now();
    let page = order(&customer, &form, "order-silence");
    let took = begin.elapsed();
    assert_eq!(page.status, 503, "{}", page.text);
    assert!(page.text.contains("not certain whether it was accepted"), "{}", page.text);
    // The log tells that it was not much later, and curl gives up after half a minute.
    assert!(took >= Duration::from_secs(seconds), "{took:?}");
    site.logged(caller, &format!("did not answer within {seconds} s"));
    site.relays[link].set(Way::Pass);
    assert_eq!(order(&customer, &form, "order-silence").status, 200);
    assert_eq!(site.orders(), 1);
}

#[test]
fn a_data_tier_that_says_nothing_is_given_up_after_its_deadline() {
    silent(1, "app", 6);
}

#[test]
fn an_application_tier_that_says_nothing_is_given_up_after_its_deadline() {
    silent(0, "web", 8);
}

#[test]
fn a_feed_that_stops_is_told_once_and_orders_wait() {
    let feed = "tick,symbol,price\n1,ALEN,50.00\n3,ALEN,50.05\n";
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("feed.csv"), feed).unwrap();
    let path = |name: &str| folder.path().join(name).display().to_string();
    let (data, feed) = (path("data"), path("feed.csv"));
    let mut args = vec!["--listen", "127.0.0.1:0", "--data", &data, "--customers", "10"];
    args.extend(["--password-cost", "light", "--feed", &feed, "--feed-interval", "20"]);
    let site = Tier::start(folder.path(), "all", &args);
    let customer = Customer::sign_in(&site.address, folder.path(), 1);
    let form = customer.form().unwrap();
    let stopped = "price feed has stopped";
    wait_until("the page says so", || customer.get("/orders/new").text.contains(stopped));
    // At the price of the last tick, which is gone: the next one would carry it out.
    let page = customer.order(&form, "order-waits", "buy", 1, "60.00");
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(page.text.contains(stopped), "{}", page.text);
    std::thread::sleep(Duration::from_millis(200));
    assert!(customer.get("/orders").text.contains("$60.00"), "it waits");
    assert_eq!(site.log().matches("the feed has ended").count(), 1, "{}", site.log());
    assert_eq!(site.end(), Some(0));
    let location = Location::Sqlite(Path::new(&data).join("brokerage.db"));
    let sql = "SELECT COUNT(*) FROM orders WHERE client_id = 'order-waits' AND state = 0";
    assert_eq!(counts(&location, [sql]), [1]);
}

#[test]
fn a_full_disk_is_told_and_the_same_order_is_accepted_when_there_is_room() {
    let mut site = Site::new();
    let customer = site.customer(1);
    let form = customer.form().unwrap();
    site.data.take().unwrap().end();
    site.start_data(64 * 1024);
    wait_until("pages come again", || customer.get("/main").status == 200);
    let mut accepted = 0;
    let refused = loop {
        let name = format!("order-full-{accepted:03}");
        let page = order(&customer, &form, &name);
        if page.status != 200 {
            assert_eq!(page.status, 503, "{}", page.text);
            assert!(page.text.contains("Send the same order again"), "{}", page.text);
            break name;
        }
        accepted += 1;
        assert!(accepted < 200, "the disk never fills");
    };
    site.logged("data", "disk");
    site.logged("web", "disk");
    assert_eq!(customer.get("/orders").status, 200, "what is there can be read");
    site.data.take().unwrap().kill();
    site.start_data(u64::MAX);
    wait_until("pages come again", || customer.get("/main").status == 200);
    assert_eq!(order(&customer, &form, &refused).status, 200);
    assert_eq!(site.orders(), accepted + 1);
}

/// Runs statements on the server's own database, each by itself.
fn administer(url: &str, statements: &[String]) {
    let (before, rest) = url.rsplit_once('/').unwrap();
    // The socket's folder has slashes too.
    let (before, rest) = match before.split_once("/auction") {
        Some((before, _)) => (before, url.split_once("/auction").unwrap().1),
        None => (before, rest),
    };
    let (_, query) = rest.split_once('?').unwrap();
    let location = Location::parse(&format!("{before}/postgres?{query}")).unwrap();
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = location.connect().await.unwrap();
        for statement in statements {
            connection.script(statement.clone()).await.unwrap();
        }
        connection.close().await;
    });
}

#[test]
fn a_database_that_is_gone_is_told_and_found_again_when_it_is_back() {
    let url = postgres::new_database();
    let name = url.split_once("@localhost/").unwrap().1.split_once('?').unwrap().0.to_owned();
    let site = Site::with(Some(url.clone()), CONSTANT, &[]);
    let customer = site.customer(1);
    let form = customer.form().unwrap();
    administer(
        &url,
        &[
            format!("ALTER DATABASE {name} ALLOW_CONNECTIONS false"),
            format!(
                "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = '{name}'"
            ),
        ],
    );
    let told = || unavailable(&customer.get("/main"));
    (0..10).for_each(|_| told());
    in_time("the customer sees the fault at once", AT_ONCE, told);
    let page = order(&customer, &form, "order-gone");
    assert_eq!(page.status, 503, "{}", page.text);
    site.logged("data", "not currently accepting connections");
    site.logged("web", "not currently accepting connections");
    administer(&url, &[format!("ALTER DATABASE {name} ALLOW_CONNECTIONS true")]);
    wait_until("pages come again", || customer.get("/main").status == 200);
    assert_eq!(order(&customer, &form, "order-gone").status, 200);
    assert_eq!(site.orders(), 1);
}
