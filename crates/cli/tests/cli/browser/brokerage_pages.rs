//! The brokerage's pages in a real browser: every one of them is readable and accessible, in
//! narrow and wide windows, in light and dark.

use std::path::Path;

use aws_lc_rs::digest::{SHA256, digest};

use crate::common::PATIENCE;
use crate::common::browser::{
    AXE, arrive, browser, chromedriver, fill, follow, look, no_browser_here, roles, see, show,
    submit, violations,
};
use crate::common::tiers::Tier;
use crate::common::trader::World;

/// SHA-256 of the file `axe.min.js` of the package axe-core 4.14.1.
const AXE_SHA_256: &str = "29348999450cdf2849a8e70b7912fc2da85a849da39c0d0d5394f51d4a9ed95c";

#[tokio::test]
async fn tables_are_tables_for_screen_readers_in_narrow_windows_too() {
    if no_browser_here() {
        return;
    }
    let world = World::new().await;
    let page = &world.page;
    world.sign_in(1).await;
    for path in ["/portfolio", "/orders", "/history"] {
        world.open(path).await;
        see(page, "//table", PATIENCE).await;
        let mut found = Vec::new();
        for width in [1280, 390] {
            show(page, width, "light").await;
            let all = roles(page).await;
            let roles = ["table", "row", "columnheader", "rowheader", "cell", "caption"];
            found.push(roles.map(|role| (role, all.get(role).copied().unwrap_or(0))));
        }
        assert_eq!(found[0], found[1], "{path}");
        assert!(found[0][..5].iter().all(|(_, count)| *count > 0), "{path}: {:?}", found[0]);
    }
    page.clone().close().await.unwrap();
}

#[tokio::test]
async fn pages_for_everybody_fit_are_readable_and_accessible() {
    if no_browser_here() {
        return;
    }
    let world = World::new().await;
    let page = &world.page;
    for path in ["/", "/login", "/nowhere", "/main"] {
        world.open(path).await;
        look(page, path).await;
    }
    world.open("/login").await;
    submit(page, "/login").await;
    see(page, "//*[@role='alert']", PATIENCE).await;
    look(page, "signing in without a name").await;
    fill(page, "user", "customer1").await;
    fill(page, "password", "x").await;
    submit(page, "/login").await;
    see(page, "//*[@role='alert'][contains(., 'do not belong together')]", PATIENCE).await;
    look(page, "signing in with a wrong password").await;

    // Nothing listens there: the application tier cannot be reached.
    let nowhere = tidegate_lab::free_address().unwrap().to_string();
    let args = ["--tier", "web", "--listen", "127.0.0.1:0", "--next", &nowhere];
    let web = Tier::start(world.folder.path(), "web", &args);
    page.goto(&format!("{}/login", web.address)).await.unwrap();
    fill(page, "user", "customer1").await;
    fill(page, "password", "password1").await;
    submit(page, "/login").await;
    arrive(page, "The brokerage is not available").await;
    look(page, "an outage").await;
    page.clone().close().await.unwrap();
}

#[tokio::test]
async fn a_customers_pages_fit_are_readable_and_accessible() {
    if no_browser_here() {
        return;
    }
    let world = World::new().await;
    let page = &world.page;
    world.sign_in(1).await;
    look(page, "the main page").await;
    for path in ["/portfolio", "/orders", "/history", "/orders/new", "/password"] {
        world.open(path).await;
        look(page, path).await;
    }
    world.open("/history?before=x").await;
    look(page, "an address that is none").await;
    world.open("/history?before=1").await;
    look(page, "an empty page of the history").await;

    world.order("buy", "1.00", "Your order is accepted").await;
    look(page, "an order that waits").await;
    follow(page, "main form[action$='/cancel'] [type=submit]").await;
    arrive(page, "Order cancelled").await;
    look(page, "an order that was cancelled").await;
    world.run("UPDATE accounts SET available = 0 WHERE customer = 1").await;
    world.order("buy", "1.00", "Your order was not accepted").await;
    look(page, "an order that was rejected").await;
    world.open("/orders/new").await;
    fill(page, "quantity", "0").await;
    fill(page, "limit", "1.234").await;
    submit(page, "/orders").await;
    arrive(page, "Please correct the order").await;
    look(page, "an order with mistakes").await;

    world.open("/password").await;
    fill(page, "password", "password1").await;
    fill(page, "new", "password2").await;
    submit(page, "/password").await;
    see(page, "//*[@role='alert']", PATIENCE).await;
    look(page, "a password that is refused").await;
    fill(page, "password", "password1").await;
    fill(page, "new", "gravel teapot nineteen").await;
    submit(page, "/password").await;
    arrive(page, "Password changed").await;
    look(page, "a password that was changed").await;

    world
        .run("DELETE FROM holdings WHERE customer = 1; DELETE FROM orders WHERE customer = 1")
        .await;
    for path in ["/portfolio", "/orders", "/history"] {
        world.open(path).await;
        look(page, &format!("{path} of a customer who has nothing")).await;
    }
    follow(page, "form[action='/logout'] [type=submit]").await;
    arrive(page, "Signed out").await;
    look(page, "signed out").await;
    page.clone().close().await.unwrap();
}

#[tokio::test]
async fn pages_of_deposits_fit_are_readable_and_accessible() {
    if no_browser_here() {
        return;
    }
    let world = World::with_card().await;
    let page = &world.page;
    world.sign_in(1).await;
    world.open("/deposits").await;
    look(page, "deposits of a customer who has made none").await;
    fill(page, "amount", "a lot").await;
    submit(page, "/deposits").await;
    see(page, "//*[@role='alert']", PATIENCE).await;
    look(page, "a deposit with a mistake").await;
    world.deposit("650.00").await;
    look(page, "the form of the card").await;
    // It does not look again by itself.
    world.open("/deposits/1?look=30").await;
    arrive(page, "Your deposit waits for your card").await;
    look(page, "a deposit that waits for the card").await;
    follow(page, "main a[rel=noreferrer]").await;
    world.type_card("5555555555554444").await;
    arrive(page, "Your deposit is paid in").await;
    look(page, "a deposit that is paid").await;
    world.deposit("10.00").await;
    follow(page, "form.cancel [type=submit]").await;
    arrive(page, "Your deposit was given up").await;
    look(page, "a deposit that was given up").await;
    world.open("/deposits").await;
    look(page, "a list of deposits").await;
    page.clone().close().await.unwrap();

    let world = World::new().await;
    world.sign_in(1).await;
    world.open("/deposits").await;
    look(&world.page, "a brokerage without a card processor").await;
    world.page.clone().close().await.unwrap();
}

#[tokio::test]
async fn axe_core_finds_what_is_wrong_with_a_page() {
    if no_browser_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let driver = chromedriver();
    let page = browser(&driver, &folder.path().join("profile")).await;
    let wrong = "data:text/html,<title>x</title><p style='color:%23999'>grey</p><img src=x><input>";
    page.goto(wrong).await.unwrap();
    show(&page, 1280, "light").await;
    let found = violations(&page).await.to_string();
    for rule in ["html-has-lang", "image-alt", "label", "color-contrast", "landmark-one-main"] {
        assert!(found.contains(&format!("\"{rule}: ")), "{rule} is not in {found}");
    }
    page.close().await.unwrap();
}

#[test]
fn the_copy_of_axe_core_is_the_published_one() {
    let sum = digest(&SHA256, AXE.as_bytes());
    let sum: String = sum.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    assert_eq!(sum, AXE_SHA_256);
    assert!(AXE.starts_with("/*! axe v4.14.1\n"));
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/browser/axe-core");
    let read = |name: &str| std::fs::read_to_string(folder.join(name)).unwrap();
    assert!(read("README.md").contains("4.14.1"));
    assert!(read("LICENSE").starts_with("Mozilla Public License, version 2.0"));
}
