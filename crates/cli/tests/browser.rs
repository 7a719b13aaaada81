//! A person shops in a real browser, through the gate.

mod common;

use std::io::Write;
use std::path::Path;
use std::process::Command;
use std::time::Duration;

use common::{Running, auction, gate};
use fantoccini::{Client, ClientBuilder, Locator};

fn chromedriver() -> Running {
    Running::other(Command::new("chromedriver").arg("--port=0"), |line| {
        let port = line.split("successfully on port ").nth(1)?.trim_end_matches('.');
        port.parse::<u16>().ok().map(|port| format!("http://127.0.0.1:{port}"))
    })
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

async fn browser(driver: &Running, profile: &Path) -> Client {
    let args = [
        "--headless".to_owned(),
        "--no-sandbox".to_owned(),
        "--disable-gpu".to_owned(),
        "--disable-dev-shm-usage".to_owned(),
        "--disable-background-networking".to_owned(),
        "--ignore-certificate-errors".to_owned(),
        "--window-size=1200,900".to_owned(),
        format!("--user-data-dir={}", profile.display()),
    ];
    let capabilities =
        serde_json::json!({ "goog:chromeOptions": { "args": args }, "acceptInsecureCerts": true });
    let capabilities = capabilities.as_object().cloned().unwrap();
    let mut builder = ClientBuilder::rustls().expect("TLS for the driver's connection");
    builder.capabilities(capabilities);
    builder.connect(driver.address("address")).await.expect("Chromium starts")
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
