//! Deposits by card through real processes: three tiers and a card processor, with a relay
//! between the two. Whatever is killed, cut off or silent, a deposit is taken once and credited
//! once, a page says what happened, and no card number or key is left behind.

mod common;
#[allow(dead_code, reason = "the sites' tests use another part")]
#[path = "../../sites/tests/common/postgres.rs"]
mod postgres;
#[allow(dead_code, reason = "the tests of links use another part")]
#[path = "../../sites/tests/common/relay.rs"]
mod relay;

use std::fs::File;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::tiers::{Customer, Page, Tier, counts};
use common::{PATIENCE, Running, Text, curl, tidegate, wait_until};
use relay::{Relay, Way};
use tempfile::TempDir;
use tidegate_sites::card::Status;
use tidegate_sites::card::client::{Client, Patience};
use tidegate_sites::database::Location;

/// A card that is authorised.
const GOOD: &str = "5555555555554444";
/// A card whose account is empty.
const POOR: &str = "4000000000009995";

const PAID: &str = "It was paid, and is yours to spend.";

/// Cash of all customers, and deposits that are paid.
const CASH: &str =
    "SELECT CAST(SUM(available + reserved) AS BIGINT) FROM accounts WHERE customer > 0";
const DEPOSITS: &str = "SELECT COUNT(*) FROM deposits";
const PAID_IN: &str = "SELECT COUNT(*) FROM deposits WHERE state = 3";

/// What runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Data,
    App,
    Web,
    Processor,
}

const PARTS: [Part; 4] = [Part::Data, Part::App, Part::Web, Part::Processor];

/// A brokerage and its processor, each process at an address that it keeps.
struct Site {
    folder: TempDir,
    addresses: [SocketAddr; 4],
    /// From the application tier to the processor.
    relay: Relay,
    tiers: [Option<Tier>; 3],
    processor: Option<Running>,
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
    fn new() -> Self {
        Self::on(None)
    }

    fn on(database: Option<String>) -> Self {
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

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn path(&self, name: &str) -> String {
        self.file(name).display().to_string()
    }

    fn address(&self, part: Part) -> String {
        self.addresses[part as usize].to_string()
    }

    fn url(&self) -> String {
        format!("http://{}", self.address(Part::Web))
    }

    fn start(&mut self, part: Part) {
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

    fn kill(&mut self, part: Part) {
        match part {
            Part::Processor => self.processor.take().expect("it runs").kill(),
            tier => self.tiers[tier as usize].take().expect("it runs").kill(),
        }
    }

    fn customer(&self, number: usize) -> Customer {
        Customer::sign_in(&self.url(), self.folder.path(), number)
    }

    fn log(&self, name: &str) -> String {
        std::fs::read_to_string(self.file(&format!("{name}.log"))).unwrap()
    }

    /// Waits until a log names a cause, and checks that it does not repeat it.
    fn logged(&self, name: &str, cause: &str) {
        wait_until(&format!("the log of {name} names {cause:?}"), || {
            self.log(name).contains(cause)
        });
        let lines = self.log(name).lines().filter(|line| line.contains(cause)).count();
        assert!(lines <= 4, "{lines} lines: {}", self.log(name));
    }

    fn location(&self) -> Location {
        match &self.database {
            Some(url) => Location::parse(url).unwrap(),
            None => Location::Sqlite(self.file("data/brokerage.db")),
        }
    }

    /// The numbers that queries give, once the books were checked.
    fn counts<const N: usize>(&self, queries: [&'static str; N]) -> [i64; N] {
        counts(&self.location(), queries)
    }

    /// Waits until so many deposits are paid.
    fn wait_for_paid(&self, number: i64) {
        wait_until(&format!("{number} deposits are paid"), || self.counts([PAID_IN]) == [number]);
    }

    /// Every deposit of the brokerage has one payment at the processor, captured once if it is
    /// paid and never if it is not; and the processor has no others.
    fn check_processor(&self) {
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

/// Writes a file that its owner alone can read.
fn private(file: &Path, text: &str) {
    use std::io::Write as _;
    use std::os::unix::fs::OpenOptionsExt as _;
    let open = File::options().create(true).truncate(true).write(true).mode(0o600).open(file);
    open.unwrap().write_all(text.as_bytes()).unwrap();
}

/// What the forms of a customer's session carry.
fn form(customer: &Customer) -> String {
    customer.form().expect("the site is available")
}

/// Looks at a page until it says this.
fn wait_for_page(customer: &Customer, path: &str, says: &str) -> Page {
    wait_until(&format!("{path} says {says:?}"), || customer.get(path).text.contains(says));
    customer.get(path)
}

/// All bytes of all files below a folder.
fn contents(folder: &Path) -> Vec<(PathBuf, Vec<u8>)> {
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

fn has(bytes: &[u8], text: &str) -> bool {
    bytes.windows(text.len()).any(|window| window == text.as_bytes())
}

#[test]
fn a_deposit_is_paid_in_once_and_leaves_no_card_number_and_no_key_behind() {
    for database in [None, Some(postgres::new_database())] {
        let site = Site::on(database);
        let [before] = site.counts([CASH]);
        let customer = site.customer(1);
        let token = form(&customer);
        let page = customer.deposit(&token, "deposit-0001", "125.50");
        assert_eq!(page.status, 200, "{}", page.text);
        let card_form = page.card_form().expect("the card form is there at once");
        assert_eq!(
            customer.deposit(&token, "deposit-0001", "125.50").card_form(),
            page.card_form()
        );
        let paid = customer.type_card(&card_form, GOOD);
        assert!(paid.text.contains(PAID), "{}", paid.text);
        // Declined, until no other card may be tried.
        let page = customer.deposit(&token, "deposit-0002", "10");
        for _ in 0..5 {
            customer.type_card(&page.card_form().unwrap(), POOR);
        }
        wait_for_page(&customer, "/deposits", "its account does not hold the amount");
        // Junk in place of a card, at the wrong place.
        let junk = format!("form={token}&deposit=deposit-0003&amount={GOOD}");
        assert_eq!(customer.post("/deposits", &junk).status, 422);
        assert_eq!(customer.get(&format!("/deposits/{GOOD}")).status, 404);
        assert_eq!(site.counts([CASH, DEPOSITS, PAID_IN]), [before + 12_550, 2, 1]);
        site.check_processor();
        let secrets = ["card-key", "webhook-secret"]
            .map(|name| std::fs::read_to_string(site.file(name)).unwrap().trim().to_owned());
        for (path, bytes) in contents(site.folder.path()) {
            for number in [GOOD, POOR] {
                assert!(!has(&bytes, number), "{number} is in {}", path.display());
            }
            let own = ["card-key", "webhook-secret"].iter().any(|name| path.ends_with(name));
            for secret in &secrets {
                assert!(own || !has(&bytes, secret), "a secret is in {}", path.display());
            }
        }
    }
}

#[test]
fn processes_that_are_killed_at_any_time_lose_and_double_no_deposit() {
    const CUSTOMERS: usize = 3;
    const EACH: usize = 5;
    for database in [None, Some(postgres::new_database())] {
        let mut site = Site::on(database);
        let [before] = site.counts([CASH]);
        let customers: Vec<Customer> =
            (1..=CUSTOMERS).map(|number| site.customer(number)).collect();
        let forms: Vec<String> = customers.iter().map(form).collect();
        std::thread::scope(|scope| {
            let mut threads = Vec::new();
            for (number, (customer, form)) in customers.iter().zip(&forms).enumerate() {
                threads.push(scope.spawn(move || {
                    for at in 0..EACH {
                        pay_in(customer, form, &format!("deposit-{number}-{at:04}"), "7.00");
                    }
                }));
            }
            let mut kills = 0;
            while threads.iter().any(|thread| !thread.is_finished()) && kills < 12 {
                // Somewhere else each time.
                std::thread::sleep(Duration::from_millis(60 + 37 * kills));
                let part = PARTS[usize::try_from(kills).unwrap() % PARTS.len()];
                site.kill(part);
                std::thread::sleep(Duration::from_millis(20 * (kills % 3)));
                site.start(part);
                kills += 1;
            }
            assert!(kills >= 4, "{kills}");
        });
        let all = i64::try_from(CUSTOMERS * EACH).unwrap();
        site.wait_for_paid(all);
        assert_eq!(site.counts([CASH, DEPOSITS]), [before + all * 700, all]);
        site.check_processor();
    }
}

/// Makes a deposit and pays it, as a customer does who tries again until the page says that it
/// is done.
fn pay_in(customer: &Customer, form: &str, name: &str, amount: &str) {
    let deadline = Instant::now() + 2 * PATIENCE;
    let mut card_form = None;
    loop {
        assert!(Instant::now() < deadline, "{name} is never paid");
        let page = customer.deposit(form, name, amount);
        if page.text.contains(PAID) {
            return;
        }
        card_form = page.card_form().or(card_form);
        if let Some(form) = &card_form
            && customer.type_card(form, GOOD).text.contains(PAID)
        {
            return;
        }
        std::thread::sleep(Duration::from_millis(30));
    }
}

#[test]
fn a_processor_that_never_answers_is_told_in_time_and_its_answer_is_found_later() {
    let site = Site::new();
    let [before] = site.counts([CASH]);
    let customer = site.customer(1);
    let token = form(&customer);
    site.relay.set(Way::Silence);
    let begin = Instant::now();
    let page = customer.deposit(&token, "deposit-0001", "50");
    assert!(begin.elapsed() < Duration::from_secs(6), "{:?}", begin.elapsed());
    assert!(page.text.contains("The card processor does not answer"), "{}", page.text);
    assert!(page.text.contains("nothing was charged"), "{}", page.text);
    assert!(page.text.contains("tries again by itself"), "{}", page.text);
    // Other pages do not wait for it.
    let begin = Instant::now();
    for path in ["/main", "/deposits", "/deposits/1", "/orders"] {
        assert_eq!(customer.get(path).status, 200, "{path}");
    }
    assert!(begin.elapsed() < Duration::from_secs(3), "{:?}", begin.elapsed());
    site.logged("app", "no answer within");
    assert!(site.log("app").contains(&format!("card processor at http://{}", site.relay.address)));
    site.relay.set(Way::Pass);
    let page = wait_for_page(&customer, "/deposits/1", "Type your card");
    // Silent again when the customer has paid: the money is taken, and taken once.
    site.relay.set_now(Way::Silence);
    let begin = Instant::now();
    let page = customer.type_card(&page.card_form().unwrap(), GOOD);
    assert_eq!(page.status, 200, "{}", page.text);
    assert!(begin.elapsed() < Duration::from_secs(10), "{:?}", begin.elapsed());
    let page = wait_for_page(&customer, "/deposits/1", "The card is authorised");
    assert!(!page.text.contains(PAID), "{}", page.text);
    let page = wait_for_page(&customer, "/deposits/1", "Do not pay again");
    assert!(page.text.contains("takes the amount once"), "{}", page.text);
    site.relay.set(Way::Pass);
    site.wait_for_paid(1);
    assert_eq!(site.counts([CASH, DEPOSITS]), [before + 5000, 1]);
    site.check_processor();
}

#[test]
fn whatever_becomes_of_the_processors_answers_a_deposit_is_taken_once() {
    let site = Site::new();
    let [before] = site.counts([CASH]);
    let customer = site.customer(1);
    let token = form(&customer);
    let ways = [Way::Close, Way::LoseAnswer, Way::CutAnswer, Way::ResetAnswer, Way::Junk];
    for (at, way) in (1..).zip(ways) {
        let (name, path) = (format!("deposit-{at:04}"), format!("/deposits/{at}"));
        // Lost when the payment is created,
        site.relay.set_now(way);
        let page = customer.deposit(&token, &name, "30");
        assert!(page.text.contains("does not answer"), "{way:?}: {}", page.text);
        site.relay.set(Way::Pass);
        let page = wait_for_page(&customer, &path, "Type your card");
        // and when it is captured.
        site.relay.set_now(way);
        customer.type_card(&page.card_form().unwrap(), GOOD);
        wait_for_page(&customer, &path, "The card is authorised");
        std::thread::sleep(Duration::from_millis(300));
        site.relay.set(Way::Pass);
        site.wait_for_paid(at);
    }
    assert_eq!(site.counts([CASH, DEPOSITS]), [before + 5 * 3000, 5]);
    site.check_processor();
}

#[test]
fn a_processor_that_is_killed_before_its_answer_and_started_again_takes_a_deposit_once() {
    let mut site = Site::new();
    let [before] = site.counts([CASH]);
    let customer = site.customer(1);
    let token = form(&customer);
    let page = customer.deposit(&token, "deposit-0001", "40");
    // It authorises, and neither page nor webhook nor capture comes through.
    site.relay.set(Way::Close);
    site.kill(Part::Web);
    let fields = format!("number={GOOD}&expiry=12%2F99&cvc=876");
    let card_form = page.card_form().unwrap();
    let status = ["--output", "/dev/null", "--write-out", "%{http_code}", "--data", &fields];
    let answer = curl(&[&status[..], &[&card_form]].concat()).stdout_text();
    assert_eq!(answer, "303");
    site.kill(Part::Processor);
    site.relay.set(Way::Pass);
    site.start(Part::Web);
    let page = customer.get("/deposits/1");
    assert!(page.text.contains("Nothing was charged"), "{}", page.text);
    site.start(Part::Processor);
    site.wait_for_paid(1);
    assert_eq!(site.counts([CASH]), [before + 4000]);
    site.check_processor();
}

#[test]
fn forged_webhooks_are_refused_and_logged_in_few_lines() {
    let site = Site::new();
    let [before] = site.counts([CASH]);
    let customer = site.customer(1);
    customer.deposit(&form(&customer), "deposit-0001", "20");
    let url = format!("{}/card-events", site.url());
    let forged = "Tidegate-Signature: t=1,v1=0000000000000000000000000000000000000000000000000000000000000000";
    for at in 0..40 {
        let body = format!("{{\"card\":\"{GOOD}\",\"n\":{at}}}");
        let status = ["--output", "/dev/null", "--write-out", "%{http_code}"];
        let request = ["--header", forged, "--data", &body, &url];
        assert_eq!(curl(&[&status[..], &request].concat()).stdout_text(), "400");
    }
    let log = site.log("web");
    let lines = log.lines().filter(|line| line.contains("a webhook is rejected")).count();
    assert!((1..=10).contains(&lines), "{lines}: {log}");
    assert!(log.contains("no signature is by one of the secrets") && !log.contains(GOOD), "{log}");
    assert_eq!(site.counts([CASH, PAID_IN]), [before, 0]);
}

#[test]
fn a_key_that_the_processor_does_not_know_is_named_and_deposits_wait_for_the_right_one() {
    let mut site = Site::new();
    let right = std::fs::read_to_string(site.file("card-key")).unwrap();
    site.kill(Part::App);
    private(&site.file("card-key"), "sk_test_of_somebody_else\n");
    site.start(Part::App);
    let customer = site.customer(1);
    let page = customer.deposit(&form(&customer), "deposit-0001", "20");
    assert!(page.text.contains("nothing was charged"), "{}", page.text);
    site.logged("app", "wrong_api_key");
    assert!(!site.log("app").contains("sk_test_of"), "{}", site.log("app"));
    site.kill(Part::App);
    private(&site.file("card-key"), &right);
    site.start(Part::App);
    wait_for_page(&customer, "/deposits/1", "Type your card");
}

#[test]
fn a_return_url_that_is_not_registered_ends_the_deposit_and_is_named() {
    let mut site = Site::new();
    site.kill(Part::Processor);
    let (card, listen) = (site.path("card"), site.address(Part::Processor));
    let args = ["site", "card", "--data", &card, "--listen", &listen];
    site.processor = Some(Running::tidegate(&args));
    let customer = site.customer(1);
    let page = customer.deposit(&form(&customer), "deposit-0001", "20");
    assert!(page.text.contains("The card processor does not take this deposit"), "{}", page.text);
    assert!(page.text.contains("Nothing was charged"), "{}", page.text);
    site.logged("app", "return_url_not_registered");
    assert_eq!(site.counts([DEPOSITS, PAID_IN]), [1, 0]);
}

/// Starts all tiers with `--card`.
fn all(folder: &Path, more: &[&str]) -> Tier {
    let data = folder.join("data").display().to_string();
    let fixed = ["--listen", "127.0.0.1:0", "--data", &data, "--customers", "10"];
    let card = ["--password-cost", "light", "--card", "--card-listen", "127.0.0.1:0"];
    Tier::start(folder, "all", &[&fixed[..], &card, more].concat())
}

#[test]
fn one_command_starts_a_brokerage_with_its_processor() {
    let folder = tempfile::tempdir().unwrap();
    for (at, security) in ["none", "modern"].into_iter().enumerate() {
        for stub in ["in-process", "cgi"] {
            let site = all(folder.path(), &["--security", security, "--stub", stub]);
            let customer = Customer::sign_in(&site.address, folder.path(), 1);
            let name = format!("deposit-{security}-{stub}");
            let page = customer.deposit(&form(&customer), &name, "12.34");
            let card_form = page.card_form().unwrap_or_else(|| panic!("{}", page.text));
            assert_eq!(card_form.starts_with("https:"), security == "modern", "{card_form}");
            let paid = customer.type_card(&card_form, GOOD);
            assert!(paid.text.contains(PAID), "{security} {stub}: {}\n{}", paid.text, site.log());
            // Webhooks have come too.
            let location = Location::Sqlite(folder.path().join("data/brokerage.db"));
            let events = i64::try_from(2 * (2 * at + usize::from(stub == "cgi") + 1)).unwrap();
            wait_until("webhooks have come", || {
                counts(&location, ["SELECT COUNT(*) FROM card_events"]) == [events]
            });
            assert_eq!(site.end(), Some(0));
        }
    }
}

#[test]
fn flags_of_the_processor_that_are_wrong_say_what_to_do() {
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("data").display().to_string();
    let key = folder.path().join("key").display().to_string();
    private(Path::new(&key), "sk_1\n");
    let refused = |args: &[&str], says: &str| {
        let fixed = ["site", "brokerage", "--data", &data, "--customers", "10"];
        let light = ["--password-cost", "light"];
        let output = tidegate(&[&fixed[..], &light, args].concat());
        let text = output.stderr_text();
        assert_eq!(output.status.code(), Some(2), "{args:?}: {text}");
        assert!(text.contains(says), "{args:?} does not say {says}:\n{text}");
    };
    refused(&["--card", "--tier", "web"], "--card-processor");
    refused(&["--card", "--listen", "0.0.0.0:0"], "--public-url");
    refused(&["--card", "--card-listen", "0.0.0.0:8090"], "tidegate site card");
    refused(&["--card", "--public-url", "http://broker.example"], "https");
    refused(&["--card", "--card-processor", "https://x"], "cannot be used with");
    refused(&["--card-processor", "https://x"], "--card-key-file");
    let app = ["--tier", "app", "--listen", "127.0.0.1:0", "--next", "127.0.0.1:9"];
    let app = |url: &str, file: &str, public: &str, says: &str| {
        let card = ["--card-processor", url, "--card-key-file", file, "--public-url", public];
        refused(&[&app[..], &card].concat(), says);
    };
    let (good, public) = ("https://card.example", "https://broker.example");
    app("http://card.example", &key, public, "must be an https URL");
    app(good, "/does/not/exist", public, "--make-key");
    app(good, &key, "http://broker.example", "--public-url");
    let web = ["--tier", "web", "--listen", "127.0.0.1:0", "--next", "127.0.0.1:9"];
    let missing = ["--webhook-secret-file", "/does/not/exist"];
    refused(&[&web[..], &missing].concat(), "--make-webhook-secret");
}

#[test]
fn the_example_of_the_documentation_works() {
    let text = include_str!("../../../docs/brokerage.md");
    let example = text
        .split("<!-- begin of the example that is tested -->\n```sh\n")
        .nth(1)
        .and_then(|rest| rest.split("```").next())
        .expect("the example is there");
    let folder = tempfile::tempdir().unwrap();
    let [site, card] = [(); 2].map(|()| tidegate_lab::free_address().unwrap().to_string());
    let example = example
        .replace("\\\n", " ")
        .replace("127.0.0.1:8080", &site)
        .replace("127.0.0.1:8090", &card)
        .replace("tidegate site", &format!("{} site", env!("CARGO_BIN_EXE_tidegate")))
        .replace(" site brokerage", " site brokerage --customers 10 --password-cost light")
        .replace(" site brokerage", &format!(" site brokerage --listen {site}"))
        .replace(" site card --return", &format!(" site card --listen {card} --return"));
    let mut running = Vec::new();
    for line in example.lines().filter(|line| !line.starts_with('#') && !line.is_empty()) {
        let mut bash = std::process::Command::new("bash");
        bash.current_dir(folder.path());
        match line.strip_suffix(" &") {
            Some(service) => {
                bash.args(["-euc", &format!("exec {service}")]);
                running
                    .push(Running::announced(&mut bash, std::process::Stdio::inherit()).unwrap());
            }
            None => {
                let output = bash.args(["-euc", line]).output().unwrap();
                assert!(output.status.success(), "{line}: {}", output.stderr_text());
            }
        }
    }
    assert_eq!(running.len(), 2);
    let customer = Customer::sign_in(&format!("http://{site}"), folder.path(), 1);
    let page = customer.deposit(&form(&customer), "deposit-0001", "50");
    let paid = customer.type_card(&page.card_form().unwrap(), GOOD);
    assert!(paid.text.contains(PAID), "{}", paid.text);
}
