//! A real browser: a person shops through the gate, and pages are readable in narrow
//! and wide windows, in light and dark.

mod common;

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use common::{auction, gate};
use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::json;
use tidegate_lab::{Launch, Process};

/// WebDriver's server. It ends with the browsers that it has started.
struct Driver {
    address: String,
    _process: Process,
}

fn chromedriver() -> Driver {
    let command = Launch::new("chromedriver", Command::new("chromedriver"));
    let mut process = command.args(["--port=0"]).piped().start().unwrap_or_else(|error| {
        panic!("{error:#}; scripts/bootstrap test installs chromium and chromedriver")
    });
    let mut lines = BufReader::new(process.take_stdout().expect("piped")).lines();
    let port = lines.by_ref().map_while(Result::ok).find_map(|line| {
        let port = line.split("successfully on port ").nth(1)?.trim_end_matches('.');
        port.parse::<u16>().ok()
    });
    let port = port.expect("chromedriver says where it listens");
    // What it writes later is read as well: a full pipe would stop it.
    std::thread::spawn(move || lines.for_each(drop));
    Driver { address: format!("http://127.0.0.1:{port}"), _process: process }
}

/// Whether the browser is missing for a reason that no one can help here:
/// Ubuntu has Chromium as a snap only, which scripts/bootstrap does not
/// install. Everywhere else a missing browser is a failure.
fn is_excused(in_path: bool, os_release: &str) -> bool {
    !in_path && os_release.lines().any(|line| line.replace('"', "") == "ID=ubuntu")
}

fn no_browser_here() -> bool {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&path).any(|folder| folder.join("chromedriver").is_file());
    let os_release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
    let excused = is_excused(in_path, &os_release);
    if excused {
        // Not by a macro of the standard library, whose lines a test that
        // passes keeps to itself.
        let line = "\nSKIPPED: no test with a browser: Ubuntu packages Chromium as a snap only; \
                    it runs once chromium and chromedriver are in PATH\n";
        let _ = std::io::stderr().write_all(line.as_bytes());
    }
    excused
}

#[test]
fn only_a_distribution_without_the_package_excuses_a_missing_browser() {
    let ubuntu = "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n";
    assert!(is_excused(false, ubuntu) && is_excused(false, "ID=\"ubuntu\"\n"));
    assert!(!is_excused(true, ubuntu), "where it is, it is used");
    assert!(!is_excused(false, "NAME=\"Debian GNU/Linux\"\nID=debian\n"));
    assert!(!is_excused(false, "ID=debian\nID_LIKE=ubuntu\n") && !is_excused(false, ""));
}

async fn browser(driver: &Driver, profile: &Path) -> Client {
    let args = [
        "--headless".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--disable-background-networking".to_owned(),
        "--disable-component-update".to_owned(),
        "--disable-quic".to_owned(),
        "--disable-sync".to_owned(),
        "--no-first-run".to_owned(),
        "--ignore-certificate-errors".to_owned(),
        "--window-size=1200,900".to_owned(),
        format!("--user-data-dir={}", profile.display()),
    ];
    let capabilities =
        json!({ "goog:chromeOptions": { "args": args }, "acceptInsecureCerts": true });
    let capabilities = capabilities.as_object().cloned().unwrap();
    let mut builder = ClientBuilder::rustls().expect("TLS for the driver's connection");
    builder.capabilities(capabilities);
    builder.connect(&driver.address).await.expect("Chromium starts")
}

async fn follow(page: &Client, css: &str) {
    let link = page.wait().at_most(Duration::from_secs(20)).for_element(Locator::Css(css)).await;
    link.unwrap_or_else(|error| panic!("{css}: {error}")).click().await.unwrap();
}

async fn fill(page: &Client, name: &str, value: &str) {
    let css = format!("form[method=post] [name={name}]");
    let field = page.wait().at_most(Duration::from_secs(20)).for_element(Locator::Css(&css)).await;
    let field = field.unwrap_or_else(|error| panic!("{css}: {error}"));
    field.clear().await.unwrap();
    field.send_keys(value).await.unwrap();
}

async fn submit(page: &Client, action: &str) {
    follow(page, &format!("form[method=post][action$='{action}'] [type=submit]")).await;
}

async fn text(page: &Client) -> String {
    // In one command: an element found first may be of a page that is just being replaced.
    let text = page.execute("return document.body.innerText", Vec::new()).await.unwrap();
    text.as_str().expect("a page has text").to_owned()
}

#[tokio::test]
async fn a_person_browses_logs_in_and_bids_in_chromium() {
    if no_browser_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = auction(&folder.path().join("site"));
    let gate = gate(site.address("site"), &[]);
    let driver = chromedriver();
    let page = browser(&driver, &folder.path().join("profile")).await;

    page.goto(gate.address("gate")).await.unwrap();
    let words = page.find(Locator::Css("header [name=q]")).await.unwrap();
    words.send_keys("with").await.unwrap();
    follow(&page, "header form[action='/search'] button").await;
    arrive(&page, "Results for “with”").await;
    assert!(page.find(Locator::Css(".cards a")).await.is_ok(), "{}", text(&page).await);
    follow(&page, "a[href='/browse']").await;
    follow(&page, "a[href='/categories']").await;
    follow(&page, "main a[href^='/categories/']").await;
    follow(&page, "main a[href^='/items/']").await;
    page.wait()
        .at_most(Duration::from_secs(20))
        .for_element(Locator::Css("a[href$='/bid']"))
        .await
        .unwrap();
    let item = page.current_url().await.unwrap().path().to_owned();
    follow(&page, &format!("a[href='{item}/bid']")).await;
    fill(&page, "nickname", "user1").await;
    fill(&page, "password", "password1").await;
    submit(&page, "/bid").await;
    submit(&page, "/bids").await;
    // Every page has a `main`: one that is found at once is that of the form.
    page.wait()
        .at_most(Duration::from_secs(20))
        .for_element(Locator::XPath("//h1[contains(., 'You lead')]"))
        .await
        .unwrap();
    let before = text(&page).await;
    page.goto(&format!("{}{item}/bids", gate.address("gate"))).await.unwrap();
    let bids = text(&page).await;
    assert!(bids.contains("user1"), "the bid is in the item's history:\n{before}\n---\n{bids}");

    page.close().await.unwrap();
    assert!(gate.metric("tidegate_handshakes_total{kind=\"full\",result=\"ok\"}") >= 1.0);
}

/// A command of Chromium's own protocol.
#[derive(Debug)]
struct DevTools(&'static str, serde_json::Value);

impl WebDriverCompatibleCommand for DevTools {
    fn endpoint(
        &self,
        base: &url::Url,
        session: Option<&str>,
    ) -> Result<url::Url, url::ParseError> {
        base.join(&format!("session/{}/goog/cdp/execute", session.unwrap_or_default()))
    }

    fn method_and_body(&self, _: &url::Url) -> (http::Method, Option<String>) {
        let body = json!({ "cmd": self.0, "params": self.1 });
        (http::Method::POST, Some(body.to_string()))
    }
}

/// The faults of the page as it is shown: a list of texts.
const FAULTS: &str = include_str!("browser/faults.js");

/// Looks at the open page in every size and scheme.
async fn look(page: &Client, name: &str) {
    for width in [390, 600, 800, 1000, 1280] {
        for scheme in ["light", "dark"] {
            let size =
                json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
            let command = DevTools("Emulation.setDeviceMetricsOverride", size);
            page.issue_cmd(command).await.unwrap();
            // Without transitions: colours between two schemes are not looked at.
            let media = json!([
                { "name": "prefers-color-scheme", "value": scheme },
                { "name": "prefers-reduced-motion", "value": "reduce" },
            ]);
            let command = DevTools("Emulation.setEmulatedMedia", json!({ "features": media }));
            page.issue_cmd(command).await.unwrap();
            let faults = page.execute(FAULTS, vec![json!(scheme)]).await.unwrap();
            assert_eq!(faults, json!([]), "{name}, {width} px wide, {scheme}");
        }
    }
}

/// Signs in at the open page and waits for the page whose heading begins so.
async fn sign_in(page: &Client, user: u32, heading: &str) {
    fill(page, "nickname", &format!("user{user}")).await;
    fill(page, "password", &format!("password{user}")).await;
    follow(page, "form[method=post] [type=submit]").await;
    arrive(page, heading).await;
}

async fn arrive(page: &Client, heading: &str) {
    arrive_within(page, heading, Duration::from_secs(20)).await;
}

async fn arrive_within(page: &Client, heading: &str, patience: Duration) {
    see(page, &format!("//h1[starts-with(., '{heading}')]"), patience).await;
}

async fn see(page: &Client, path: &str, patience: Duration) {
    let begun = Instant::now();
    // A page that is being left answers with an error.
    while let Err(error) = page.find(Locator::XPath(path)).await {
        assert!(begun.elapsed() < patience, "{path}: {error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn pages_fit_and_are_readable_at_every_width_in_light_and_dark() {
    if no_browser_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = auction(&folder.path().join("site"));
    let driver = chromedriver();
    let page = browser(&driver, &folder.path().join("profile")).await;
    let open = async |path: &str| {
        page.goto(&format!("{}{path}", site.address("site"))).await.unwrap();
    };

    open("/categories/6").await;
    let first = page.find(Locator::Css(".cards a")).await.unwrap();
    let item = first.attr("href").await.unwrap().unwrap();
    let comment = format!("/users/3/comment?item={}", item.trim_start_matches("/items/"));
    for path in [
        "/",
        "/browse",
        "/categories",
        "/categories/6",
        "/regions",
        "/regions/1",
        "/regions/1/categories/1",
        &item,
        &format!("{item}/bids"),
        &format!("{item}/bid"),
        "/users/3",
        &comment,
        "/register",
        "/sell",
        "/me",
        "/search",
        "/search?q=with&category=6",
        "/search?q=%22absent%22",
        "/nowhere",
    ] {
        open(path).await;
        look(&page, path).await;
    }

    open(&format!("{item}/bid")).await;
    sign_in(&page, 1, "Place your bid").await;
    look(&page, "the form of a bid").await;
    submit(&page, "/bids").await;
    arrive(&page, "You lead").await;
    look(&page, "the answer to a bid").await;
    open(&comment).await;
    sign_in(&page, 1, "Comment on").await;
    look(&page, "the form of a comment").await;
    open("/sell").await;
    sign_in(&page, 1, "Choose a category").await;
    look(&page, "the choice of a category").await;
    follow(&page, ".picks button").await;
    arrive(&page, "Describe your item").await;
    look(&page, "the form of an item").await;
    open("/me").await;
    sign_in(&page, 1, "Hello, user1").await;
    look(&page, "a person's own page").await;
    page.close().await.unwrap();
}

/// A merchant's page for customers who come back.
fn merchant() -> String {
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/paid", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for mut stream in listener.incoming().map_while(Result::ok) {
            let mut line = String::new();
            let _ = BufReader::new(&stream).read_line(&mut line);
            let path = line.split(' ').nth(1).unwrap_or_default();
            let page = format!("<!doctype html><title>Shop</title><h1>Back with {path}</h1>");
            let head = "HTTP/1.1 200 OK\r\ncontent-type: text/html\r\nconnection: close\r\n";
            let length = page.len();
            let _ = write!(stream, "{head}content-length: {length}\r\n\r\n{page}");
        }
    });
    url
}

#[tokio::test]
async fn a_customer_pays_by_card_and_the_form_is_readable_and_needs_no_script() {
    if no_browser_here() {
        return;
    }
    use tidegate_sites::card::client::{Client as Merchant, Form, Key, Patience};
    use tidegate_sites::card::{Capturing, Currency, Status};
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("card").display().to_string();
    let made = common::tidegate(&["site", "card", "--data", &data, "--make-key", "shop"]);
    let key = String::from_utf8(made.stdout).unwrap();
    let back = merchant();
    let card = common::Running::tidegate(&[
        "site",
        "card",
        "--data",
        &data,
        "--listen",
        "127.0.0.1:0",
        "--return-url",
        &back,
        "--tls",
        "1.3",
        "--slow-card-seconds",
        "3600",
        "--log",
        "warn",
    ]);
    let certificate = card.address("certificate").to_owned();
    let shop = Merchant::new(
        card.address("site"),
        key.trim(),
        Some(Path::new(&certificate)),
        Patience::default(),
    )
    .unwrap();
    let form = async |reference: &str| {
        let form = Form {
            amount: 123_456,
            currency: Currency::USD,
            reference: reference.into(),
            description: "A description that is as long as they may become, with many words".into(),
            capture: Capturing::Automatic,
            return_url: back.clone(),
        };
        let created = shop.create(&Key::new(reference).unwrap(), &form).await.unwrap();
        created.checkout_url.unwrap()
    };
    let driver = chromedriver();
    let page = browser(&driver, &folder.path().join("profile")).await;
    let pay = async |number: &str, cvc: &str| {
        fill(&page, "number", number).await;
        fill(&page, "expiry", "12/99").await;
        fill(&page, "cvc", cvc).await;
        follow(&page, "form[method=post] [type=submit]").await;
    };

    let url = form("d-1").await;
    page.goto(&url).await.unwrap();
    look(&page, "the card form").await;
    let focused = page.active_element().await.unwrap().attr("name").await.unwrap();
    assert_eq!(focused.as_deref(), Some("number"));
    follow(&page, "form[method=post] [type=submit]").await;
    let mistake = Locator::Css("#cvc-mistake");
    page.wait().at_most(Duration::from_secs(20)).for_element(mistake).await.unwrap();
    look(&page, "the card form with mistakes").await;
    pay("4000 0000 0000 9995", "123").await;
    let mistake = "//*[@id='number-mistake'][contains(., 'does not hold')]";
    see(&page, mistake, Duration::from_secs(20)).await;
    pay("4242 4242 4242 4242", "123").await;
    arrive(&page, "Back with /paid?payment=pay_").await;
    assert_eq!(shop.by_reference("d-1").await.unwrap().unwrap().status, Status::Captured);
    page.goto(&url).await.unwrap();
    arrive(&page, "You have paid 1,234.56 USD").await;
    look(&page, "a payment that is paid").await;

    page.goto(&form("d-2").await).await.unwrap();
    follow(&page, ".cancel button").await;
    arrive(&page, "Back with /paid?payment=pay_").await;

    let url = form("d-3").await;
    page.goto(&url).await.unwrap();
    pay("4000 0000 0000 5043", "123").await;
    arrive_within(&page, "Waiting for your bank", Duration::from_secs(60)).await;
    look(&page, "a payment that waits").await;
    page.goto(&format!("{}/checkout/chk_0", card.address("site"))).await.unwrap();
    arrive(&page, "There is no such payment").await;
    look(&page, "no payment").await;
    page.close().await.unwrap();
}
