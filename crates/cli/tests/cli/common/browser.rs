//! A real browser, driven over WebDriver, and what is looked at in its pages.

use std::collections::BTreeMap;
use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use fantoccini::wd::WebDriverCompatibleCommand;
use fantoccini::{Client, ClientBuilder, Locator};
use serde_json::{Value, json};
use tidegate_lab::{Launch, Process};

use super::PATIENCE;

/// WebDriver's server. It ends with the browsers that it has started.
pub struct Driver {
    address: String,
    _process: Process,
}

/// Starts it, again if it ends before it listens: rarely it does on a busy machine.
pub fn chromedriver() -> Driver {
    let mut said = String::new();
    for _ in 0..5 {
        let command = Launch::new("chromedriver", Command::new("chromedriver"));
        let mut process = command.args(["--port=0"]).piped().start().unwrap_or_else(|error| {
            panic!("{error:#}; scripts/bootstrap test installs chromium and chromedriver")
        });
        let mut lines = BufReader::new(process.take_stdout().expect("piped")).lines();
        for line in lines.by_ref().map_while(Result::ok) {
            let port = line.split("successfully on port ").nth(1);
            if let Some(port) = port.and_then(|it| it.trim_end_matches('.').parse::<u16>().ok()) {
                // What it writes later is read as well: a full pipe would stop it.
                std::thread::spawn(move || lines.for_each(drop));
                return Driver { address: format!("http://127.0.0.1:{port}"), _process: process };
            }
            said += &format!("{line}\n");
        }
    }
    panic!("chromedriver does not say where it listens; it says:\n{said}");
}

/// Whether the browser is missing for a reason that no one can help here:
/// Ubuntu has Chromium as a snap only, which scripts/bootstrap does not
/// install. Everywhere else a missing browser is a failure.
pub fn is_excused(in_path: bool, os_release: &str) -> bool {
    !in_path && os_release.lines().any(|line| line.replace('"', "") == "ID=ubuntu")
}

pub fn no_browser_here() -> bool {
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

pub async fn browser(driver: &Driver, profile: &Path) -> Client {
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
    let capabilities = json!({
        "goog:chromeOptions": { "args": args },
        "acceptInsecureCerts": true,
        "timeouts": { "script": PATIENCE.as_millis() as u64 },
    });
    let capabilities = capabilities.as_object().cloned().unwrap();
    let mut builder = ClientBuilder::rustls().expect("TLS for the driver's connection");
    builder.capabilities(capabilities);
    builder.connect(&driver.address).await.expect("Chromium starts")
}

pub async fn follow(page: &Client, css: &str) {
    let link = page.wait().at_most(PATIENCE).for_element(Locator::Css(css)).await;
    link.unwrap_or_else(|error| panic!("{css}: {error}")).click().await.unwrap();
}

pub async fn fill(page: &Client, name: &str, value: &str) {
    let css = format!("form[method=post] [name={name}]");
    let field = page.wait().at_most(PATIENCE).for_element(Locator::Css(&css)).await;
    let field = field.unwrap_or_else(|error| panic!("{css}: {error}"));
    field.clear().await.unwrap();
    field.send_keys(value).await.unwrap();
}

pub async fn submit(page: &Client, action: &str) {
    follow(page, &format!("form[method=post][action$='{action}'] [type=submit]")).await;
}

pub async fn text(page: &Client) -> String {
    // In one command: an element found first may be of a page that is just being replaced.
    let text = page.execute("return document.body.innerText", Vec::new()).await.unwrap();
    text.as_str().expect("a page has text").to_owned()
}

/// A command of Chromium's own protocol.
#[derive(Debug)]
struct DevTools(&'static str, Value);

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

/// Sends a command of Chromium's own protocol.
async fn devtools(page: &Client, command: &'static str, values: Value) -> Value {
    page.issue_cmd(DevTools(command, values)).await.expect("Chromium knows the command")
}

/// How many elements of each role a screen reader finds in the open page.
pub async fn roles(page: &Client) -> BTreeMap<String, usize> {
    let tree = devtools(page, "Accessibility.getFullAXTree", json!({})).await;
    let nodes = tree["nodes"].as_array().expect("a tree");
    let mut roles = BTreeMap::new();
    for node in nodes.iter().filter(|node| node["ignored"] == false) {
        let role = node["role"]["value"].as_str().unwrap_or_default();
        *roles.entry(role.to_owned()).or_default() += 1;
    }
    roles
}

/// The faults of the page as it is shown: a list of texts.
const FAULTS: &str = include_str!("../browser/faults.js");

/// axe-core 4.14.1; its licence is beside it.
pub const AXE: &str = include_str!("../browser/axe-core/axe.min.js");
/// Runs it: a list of texts.
const RUN_AXE: &str = include_str!("../browser/axe.js");

/// What axe-core finds wrong with the open page.
pub async fn violations(page: &Client) -> Value {
    let here = page.execute("return typeof axe === 'object'", Vec::new()).await.unwrap();
    if here != json!(true) {
        page.execute(AXE, Vec::new()).await.expect("axe-core is read");
    }
    page.execute_async(RUN_AXE, Vec::new()).await.expect("axe-core runs")
}

/// Widths of windows, in pixels, and the scheme in which axe-core looks at the page in them: it takes
/// a third of a second each time, and what depends on the width alone is among the other faults.
const WIDTHS: [(u32, Option<&str>); 5] =
    [(390, Some("light")), (600, None), (800, None), (1000, None), (1280, Some("dark"))];

/// Looks at the open page in every size and scheme.
pub async fn look(page: &Client, name: &str) {
    for (width, axe_looks_in) in WIDTHS {
        for scheme in ["light", "dark"] {
            show(page, width, scheme).await;
            let faults = page.execute(FAULTS, vec![json!(scheme)]).await.unwrap();
            assert_eq!(faults, json!([]), "{name}, {width} px wide, {scheme}");
            if axe_looks_in == Some(scheme) {
                let violations = violations(page).await;
                assert_eq!(violations, json!([]), "{name}, {width} px wide, {scheme}");
            }
        }
    }
}

/// Makes the window so wide, and the scheme this one.
pub async fn show(page: &Client, width: u32, scheme: &str) {
    let size = json!({ "width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false });
    devtools(page, "Emulation.setDeviceMetricsOverride", size).await;
    // Without transitions: colours between two schemes are not looked at.
    let media = json!([
        { "name": "prefers-color-scheme", "value": scheme },
        { "name": "prefers-reduced-motion", "value": "reduce" },
    ]);
    devtools(page, "Emulation.setEmulatedMedia", json!({ "features": media })).await;
}

pub async fn arrive(page: &Client, heading: &str) {
    arrive_within(page, heading, PATIENCE).await;
}

pub async fn arrive_within(page: &Client, heading: &str, patience: Duration) {
    see(page, &format!("//h1[starts-with(., '{heading}')]"), patience).await;
}

pub async fn see(page: &Client, path: &str, patience: Duration) {
    let begun = Instant::now();
    // A page that is being left answers with an error.
    while let Err(error) = page.find(Locator::XPath(path)).await {
        assert!(begun.elapsed() < patience, "{path}: {error}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}
