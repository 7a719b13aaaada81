//! The operator's page in a real browser: at rest, in a crowd, with a dead upstream, and while it
//! is read.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use fantoccini::Client;
use serde_json::{Value, json};

use crate::common::browser::{browser, chromedriver, look, no_browser_here, roles, see, text};
use crate::common::upstream::Upstream;
use crate::common::{Over, PATIENCE, Running, curl, gate};

/// Waits until the page says so of the state.
async fn state(page: &Client, words: &str) {
    see(page, &format!("//b[@role='status'][contains(., '{words}')]"), PATIENCE).await;
}

/// Waits until an event has arrived after this moment.
async fn updated(page: &Client) {
    let as_of = async || {
        let text = "return document.getElementById('as-of').textContent";
        page.execute(text, Vec::new()).await.unwrap()
    };
    let before = as_of().await;
    let begun = std::time::Instant::now();
    while as_of().await == before {
        assert!(begun.elapsed() < PATIENCE, "no event arrives");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

/// Looks at the page as it is now, without events that change it meanwhile.
async fn look_at(page: &Client, name: &str) {
    script(page, "window.dispatchEvent(new Event('pagehide'))").await;
    look(page, name).await;
    script(page, "window.dispatchEvent(new Event('pageshow'))").await;
}

async fn script(page: &Client, text: &str) -> Value {
    page.execute(text, Vec::new()).await.unwrap()
}

#[tokio::test]
async fn the_operators_page_is_readable_at_rest_in_a_crowd_and_with_a_dead_upstream() {
    if no_browser_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("site").display().to_string();
    // Other tests listen at 127.0.0.1: none of them gets the port of the dead site.
    let listen = ["site", "auction", "--listen", "127.0.0.7:0", "--data", &data];
    let small = ["--scale", "0.001", "--password-cost", "light"];
    let site = Running::tidegate(&[&listen[..], &small].concat());
    // Of those who are there at the same time one is admitted: each other one waits for all of the
    // hold time, and is refused.
    let gate = gate(site.address("site"), &["--policy", "static", "--rate", "0.1"]);
    let driver = chromedriver();
    let page = browser(&driver, &folder.path().join("profile")).await;
    let admin = gate.address("admin");

    page.goto(admin).await.unwrap();
    state(&page, "No customers at present").await;
    look_at(&page, "at rest").await;
    page.goto(&format!("{admin}/?span=hour")).await.unwrap();
    look_at(&page, "the last hour").await;

    page.goto(admin).await.unwrap();
    let over = Arc::new(AtomicBool::new(false));
    let crowd = Over(&over);
    for _ in 0..2 {
        let (over, address) = (over.clone(), gate.address("gate").to_owned());
        std::thread::spawn(move || {
            while !over.load(Ordering::Relaxed) {
                curl(&["--output", "/dev/null", &address]);
            }
        });
    }
    state(&page, "The service is full").await;
    see(&page, "//li[contains(., 'had to wait: limit of 0.1 new')]", PATIENCE).await;
    look_at(&page, "in a crowd").await;
    drop(crowd);

    site.kill();
    state(&page, "The upstream cannot be reached").await;
    see(&page, "//td[contains(., 'cannot be reached: ')]", PATIENCE).await;
    see(&page, "//td[contains(., '✗ cannot be reached')]", PATIENCE).await;
    look_at(&page, "with a dead upstream").await;
    page.close().await.unwrap();
}

#[tokio::test]
async fn a_page_that_is_read_stays_as_it_is_but_for_what_is_different() {
    if no_browser_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let gate = gate(&Upstream::start().url, &[]);
    let driver = chromedriver();
    let page = browser(&driver, &folder.path().join("profile")).await;
    page.goto(gate.address("admin")).await.unwrap();
    updated(&page).await;
    let said = "new MutationObserver(all => window.said = (window.said || 0) + all.length)\
        .observe(document.querySelector('#state [role=status]'), {subtree: true, childList: true, characterData: true});";
    let mark = "const table = document.querySelector('#numbers .scroll'); table.focus(); table.mine = true;\
        document.querySelector('details').open = true;";
    script(&page, &format!("{said}{mark}")).await;
    // Also the figures, which change every three seconds.
    for _ in 0..5 {
        updated(&page).await;
    }
    let kept = "return [document.activeElement.mine === true, document.querySelector('details').open,\
        document.getElementById('live').textContent, window.said || 0]";
    assert_eq!(script(&page, kept).await, json!([true, true, "", 0]));
    assert!(text(&page).await.contains("No customers at present"));

    let roles = roles(&page).await;
    let count = |role: &str| roles.get(role).copied().unwrap_or_default();
    assert!(count("table") >= 4 && count("image") + count("img") >= 6, "{roles:?}");
    // The state; the line about lost events is there when it has something to say.
    assert_eq!(count("status"), 1, "what a screen reader says by itself: {roles:?}");

    gate.kill();
    see(&page, "//p[@id='live'][contains(., 'This page shows the past')]", PATIENCE).await;
    look(&page, "a page that is not kept up to date").await;
    page.close().await.unwrap();
}

#[test]
fn the_page_shows_the_last_hour_without_a_script() {
    let gate = gate(&Upstream::start().url, &[]);
    assert_eq!(gate.metric("tidegate_sessions_active"), 0.0);
    let page = String::from_utf8(curl(&["--fail", gate.address("admin")]).stdout).unwrap();
    let (before, _) = page.split_once("<script").expect("its script is at the end");
    for part in ["No customers at present", "<svg", "Upstreams", "Costs, as learned"] {
        assert!(before.contains(part), "{part} is missing in\n{before}");
    }
}
