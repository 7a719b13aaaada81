//! The brokerage in a real browser: a person buys, sells, cancels and watches prices, with a
//! mouse or with the keyboard alone.

use std::time::{Duration, Instant};

use fantoccini::{Client, Locator};
use serde_json::json;

use crate::common::PATIENCE;
use crate::common::browser::{arrive, fill, follow, no_browser_here, see, submit};
use crate::common::trader::World;

#[tokio::test]
async fn a_customer_buys_sells_cancels_and_sees_their_history() {
    if no_browser_here() {
        return;
    }
    let world = World::new().await;
    let page = &world.page;
    world.open("/").await;
    follow(page, "a[href='/login']").await;
    fill(page, "user", "customer1").await;
    fill(page, "password", "not the one").await;
    submit(page, "/login").await;
    see(page, "//*[@role='alert'][contains(., 'do not belong together')]", PATIENCE).await;
    let user = page.find(Locator::Css("#user")).await.unwrap().prop("value").await.unwrap();
    assert_eq!(user.as_deref(), Some("customer1"), "what was typed is still there");
    fill(page, "password", "password1").await;
    submit(page, "/login").await;
    arrive(page, "Welcome").await;

    let before = world.shares().await;
    world.order("buy", "60.00", "Your order is accepted").await;
    let bought = world.filled("Buy ALEN 10").await;
    assert!(bought.contains("$5") && bought.ends_with("Filled"), "{bought}");
    assert_eq!(world.shares().await, before + 10);
    world.order("sell", "", "Your order is accepted").await;
    let sold = world.filled("Sell ALEN 10").await;
    assert!(sold.ends_with("Filled"), "{sold}");
    assert_eq!(world.shares().await, before);

    world.order("buy", "1.00", "Your order is accepted").await;
    world.open("/orders").await;
    let first = "//tbody/tr[1][contains(., 'ALEN')][contains(., '$1.00')]";
    see(page, first, PATIENCE).await;
    follow(page, "tbody tr:first-child [type=submit]").await;
    arrive(page, "Order cancelled").await;
    assert!(world.history().await[0].contains("Cancelled"));
    follow(page, "form[action='/logout'] [type=submit]").await;
    arrive(page, "Signed out").await;
    world.open("/portfolio").await;
    arrive(page, "Sign in").await;
    page.clone().close().await.unwrap();
}

#[tokio::test]
async fn a_customer_pays_in_by_card_and_spends_it() {
    if no_browser_here() {
        return;
    }
    let world = World::with_card().await;
    let page = &world.page;
    world.sign_in(1).await;
    world.run("UPDATE accounts SET available = 0 WHERE customer = 1").await;
    let before = world.cash().await;
    world.order("buy", "60.00", "Your order was not accepted").await;

    world.deposit("650.00").await;
    world.type_card("4000000000009995").await;
    see(page, "//*[@role='alert']", PATIENCE).await;
    world.type_card("5555555555554444").await;
    arrive(page, "Your deposit is paid in").await;
    assert_eq!(world.cash().await, before + 65_000);
    world.open("/deposits").await;
    see(page, "//tbody/tr[1][contains(., '$650.00')][contains(., 'It was paid')]", PATIENCE).await;
    world.order("buy", "60.00", "Your order is accepted").await;
    world.filled("Buy ALEN 10").await;

    world.deposit("10.00").await;
    follow(page, "form.cancel [type=submit]").await;
    arrive(page, "Your deposit was given up").await;
    world.open("/deposits").await;
    see(page, "//tbody/tr[1][contains(., 'Nothing was charged')]", PATIENCE).await;
    page.clone().close().await.unwrap();
}

/// What elements of the open page say, and the newest price of the first.
async fn texts<const N: usize>(page: &Client, elements: [&str; N]) -> [String; N] {
    let script = "return arguments[0].map((css) => document.querySelector(css).textContent)";
    let texts = page.execute(script, vec![json!(elements.as_slice())]).await.unwrap();
    serde_json::from_value::<Vec<String>>(texts).unwrap().try_into().unwrap()
}

/// An amount as a page shows it, in cents.
fn cents(text: &str) -> i64 {
    let amount = text.split_whitespace().next().unwrap();
    let digits: i64 = amount.replace(|c: char| !c.is_ascii_digit(), "").parse().unwrap();
    if amount.starts_with(['-', '−']) { -digits } else { digits }
}

#[tokio::test]
async fn prices_move_while_a_page_is_open_and_what_is_said_aloud_is_when_they_stop() {
    if no_browser_here() {
        return;
    }
    let world = World::new().await;
    world.sign_in(1).await;
    world.order("buy", "60.00", "Your order is accepted").await;
    world.filled("Buy ALEN 10").await;
    world.open("/portfolio").await;
    let page = &world.page;
    page.execute("window.loadedOnce = true", Vec::new()).await.unwrap();
    let row = "[data-symbol=ALEN]";
    let [price, worth, gain] =
        ["[data-price]", ".worth", ".gain"].map(|cell| format!("{row} {cell}"));
    let watched = [&price, &worth, &gain, "#worth", "#gain", "#total", "#as-of", "#feed-state"];
    let mut seen = vec![texts(page, watched).await];
    let begun = Instant::now();
    while seen.len() < 4 {
        let now = texts(page, watched).await;
        if seen.last().unwrap()[0] != now[0] {
            assert!(now[6].starts_with("Live prices, "), "{now:?}");
            assert_eq!(now[7], "", "what moves with each price is not said aloud");
            seen.push(now);
        }
        assert!(begun.elapsed() < PATIENCE, "{seen:?}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let once = page.execute("return window.loadedOnce", Vec::new()).await.unwrap();
    assert_eq!(once, json!(true), "the page was not loaded again");
    // By as much as the price of a share has moved, so many times, everything else has.
    let (first, last) = (&seen[1], &seen[3]);
    let script = "return document.querySelector(arguments[0]).dataset.shares";
    let shares = page.execute(script, vec![json!(row)]).await.unwrap();
    let shares: i64 = shares.as_str().unwrap().parse().unwrap();
    let moved = (cents(&last[0]) - cents(&first[0])) * shares;
    assert_ne!(moved, 0);
    for at in 1..6 {
        assert_eq!(
            cents(&last[at]) - cents(&first[at]),
            moved,
            "{}: {first:?} {last:?}",
            watched[at]
        );
    }

    let World { page, site, .. } = world;
    site.kill();
    see(&page, "//*[@id='feed-state'][contains(., 'connection is lost')]", PATIENCE).await;
    let [as_of] = texts(&page, ["#as-of"]).await;
    assert!(as_of.starts_with("Prices as of ") && as_of.ends_with(" UTC."), "{as_of}");
    page.close().await.unwrap();
}

#[tokio::test]
async fn pages_that_nobody_sees_keep_no_further_page_from_loading() {
    if no_browser_here() {
        return;
    }
    let world = World::new().await;
    let page = &world.page;
    world.sign_in(1).await;
    world.open("/portfolio").await;
    let live = "//*[@id='as-of'][starts-with(., 'Live prices')]";
    see(page, live, PATIENCE).await;
    let first = page.window().await.unwrap();
    // As if another tab were in front: without a display all of them are visible.
    let hidden =
        "Object.defineProperty(document, 'hidden', { value: arguments[0], configurable: true });
        document.dispatchEvent(new Event('visibilitychange'))";
    // Over HTTP/1.1 a browser has six connections to a site.
    for _ in 0..8 {
        page.execute(hidden, vec![json!(true)]).await.unwrap();
        let next = page.new_window(true).await.unwrap();
        page.switch_to_window(next.handle).await.unwrap();
        world.open("/portfolio").await;
        see(page, live, PATIENCE).await;
    }
    // A page that is seen again follows the prices again.
    page.execute(hidden, vec![json!(true)]).await.unwrap();
    page.switch_to_window(first).await.unwrap();
    let [before] = texts(page, ["#as-of"]).await;
    page.execute(hidden, vec![json!(false)]).await.unwrap();
    let begun = Instant::now();
    while texts(page, ["#as-of"]).await[0] == before {
        assert!(begun.elapsed() < PATIENCE, "it does not follow prices again: {before}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    page.clone().close().await.unwrap();
}

#[tokio::test]
async fn a_feed_that_stops_is_told_on_the_open_page() {
    if no_browser_here() {
        return;
    }
    // Longer each time: on a machine that is short of time the feed may stop before the page is
    // there.
    for ticks in [40, 160, 640] {
        let line = |tick| format!("{tick},ALEN,50.{:02}\n", tick % 100);
        let world = World::with_feed(&(1..ticks).map(line).collect::<String>()).await;
        let page = &world.page;
        world.sign_in(1).await;
        world.open("/orders").await;
        let begun = Instant::now();
        let live = loop {
            let [as_of, state] = texts(page, ["#as-of", "#feed-state"]).await;
            if as_of.starts_with("Live prices") || state.contains("feed has stopped") {
                break as_of.starts_with("Live prices");
            }
            assert!(begun.elapsed() < PATIENCE, "neither live nor stopped: {as_of} {state}");
            tokio::time::sleep(Duration::from_millis(20)).await;
        };
        if live {
            let stopped = "//*[@id='feed-state'][contains(., 'feed has stopped')]";
            see(page, stopped, 4 * PATIENCE).await;
        }
        page.clone().close().await.unwrap();
        if live {
            return;
        }
    }
    panic!("no page was there before its feed stopped");
}

#[tokio::test]
async fn the_form_of_an_order_says_what_it_may_cost_at_the_price_of_the_moment() {
    if no_browser_here() {
        return;
    }
    let world = World::new().await;
    let page = &world.page;
    world.sign_in(1).await;
    world.open("/orders/new?side=buy&symbol=ALEN").await;
    fill(page, "quantity", "10").await;
    fill(page, "limit", "60.5").await;
    let told = "//*[@id='estimate']/*[contains(., 'costs at most $605.00 at your limit.')]";
    see(page, told, PATIENCE).await;
    fill(page, "quantity", "999999").await;
    let told = "//*[@id='estimate']/*[contains(., 'more than you have to spend')]";
    see(page, told, PATIENCE).await;
    fill(page, "quantity", "100").await;
    follow(page, "#kind-market").await;
    let limit = page.find(Locator::Css("#limit")).await.unwrap();
    assert!(!limit.is_enabled().await.unwrap(), "a market order has no limit");
    see(page, "//*[@id='estimate']/*[contains(., 'costs about $5,')]", PATIENCE).await;
    let [before] = texts(page, ["#estimate p"]).await;
    let begun = Instant::now();
    while texts(page, ["#estimate p"]).await[0] == before {
        assert!(begun.elapsed() < PATIENCE, "it does not follow the price: {before}");
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    page.clone().close().await.unwrap();
}

/// Presses Tab until the focused element is this one. Each one on the way shows its focus.
async fn tab_to(page: &Client, css: &str) {
    let mut way = Vec::new();
    for _ in 0..60 {
        page.active_element().await.unwrap().send_keys("\u{e004}").await.unwrap();
        let script = "const at = document.activeElement;
            const style = getComputedStyle(at);
            const ring = style.outlineStyle !== 'none' && parseFloat(style.outlineWidth) >= 2;
            const box = at.getBoundingClientRect();
            const seen = box.width > 0 && box.right > 0 && box.left < innerWidth && box.bottom > 0 && box.top < innerHeight;
            return [at.outerHTML.slice(0, 80), at.matches(arguments[0]), at === document.body || (ring && seen)]";
        let found = page.execute(script, vec![json!(css)]).await.unwrap();
        assert_eq!(found[2], true, "the focus cannot be seen: {}", found[0]);
        if found[1] == true {
            return;
        }
        way.push(found[0].to_string());
    }
    panic!("Tab never reaches {css}: {way:?}");
}

/// Types into the focused element.
async fn press(page: &Client, keys: &str) {
    page.active_element().await.unwrap().send_keys(keys).await.unwrap();
}

const ENTER: &str = "\u{e007}";
const SPACE: &str = " ";
const DOWN: &str = "\u{e015}";

#[tokio::test]
async fn a_customer_trades_with_the_keyboard_alone() {
    if no_browser_here() {
        return;
    }
    let world = World::new().await;
    let page = &world.page;
    world.open("/").await;
    tab_to(page, ".skip").await;
    press(page, ENTER).await;
    tab_to(page, "main a[href='/login']").await;
    press(page, ENTER).await;
    arrive(page, "Sign in").await;
    tab_to(page, "#user").await;
    press(page, "customer1").await;
    tab_to(page, "#password").await;
    press(page, &format!("password1{ENTER}")).await;
    arrive(page, "Welcome").await;

    tab_to(page, "nav a[href='/orders/new']").await;
    press(page, ENTER).await;
    arrive(page, "New order").await;
    tab_to(page, "#side-buy").await;
    tab_to(page, "#symbol").await;
    press(page, "ALEN").await;
    tab_to(page, "#quantity").await;
    press(page, "ten").await;
    tab_to(page, "main button").await;
    press(page, ENTER).await;
    arrive(page, "Please correct the order").await;
    // What is wrong stands beside the field, and belongs to it.
    let script = "return arguments[0].map((id) => {
        const field = document.getElementById(id);
        const ids = field.getAttribute('aria-describedby').split(' ');
        return [field.getAttribute('aria-invalid'), document.getElementById(ids[0]).textContent.trim()];
    })";
    let told = page.execute(script, vec![json!(["quantity", "limit"])]).await.unwrap();
    assert_eq!(told[0][0], "true", "{told}");
    assert!(told[0][1].as_str().unwrap().contains("whole number from 1 to 1,000,000"), "{told}");
    tab_to(page, "#quantity").await;
    press(page, "\u{e009}a\u{e009}10").await;
    tab_to(page, "#kind-limit").await;
    press(page, DOWN).await;
    tab_to(page, "#good-cancel").await;
    press(page, DOWN).await;
    press(page, SPACE).await;
    tab_to(page, "main button").await;
    press(page, SPACE).await;
    arrive(page, "Your order is accepted").await;
    world.filled("Buy ALEN 10").await;

    tab_to(page, "nav a[href='/orders']").await;
    press(page, ENTER).await;
    arrive(page, "Open orders").await;
    tab_to(page, "tbody button").await;
    press(page, ENTER).await;
    arrive(page, "Order cancelled").await;
    tab_to(page, "form[action='/logout'] button").await;
    press(page, ENTER).await;
    arrive(page, "Signed out").await;
    page.clone().close().await.unwrap();
}
