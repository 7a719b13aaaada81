//! A real browser: a person shops through the gate, and pages are readable in narrow
//! and wide windows, in light and dark.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;

use fantoccini::{Client, Locator};

use crate::common::browser::{
    arrive, arrive_within, browser, chromedriver, fill, follow, is_excused, look, no_browser_here,
    see, submit, text,
};
use crate::common::{PATIENCE, auction, gate};

#[test]
fn only_a_distribution_without_the_package_excuses_a_missing_browser() {
    let ubuntu = "NAME=\"Ubuntu\"\nID=ubuntu\nID_LIKE=debian\n";
    assert!(is_excused(false, ubuntu) && is_excused(false, "ID=\"ubuntu\"\n"));
    assert!(!is_excused(true, ubuntu), "where it is, it is used");
    assert!(!is_excused(false, "NAME=\"Debian GNU/Linux\"\nID=debian\n"));
    assert!(!is_excused(false, "ID=debian\nID_LIKE=ubuntu\n") && !is_excused(false, ""));
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
    let protocol = "return performance.getEntriesByType('navigation')[0].nextHopProtocol";
    assert_eq!(page.execute(protocol, Vec::new()).await.unwrap(), "h2");
    let words = page.find(Locator::Css("header [name=q]")).await.unwrap();
    words.send_keys("with").await.unwrap();
    follow(&page, "header form[action='/search'] button").await;
    arrive(&page, "Results for “with”").await;
    assert!(page.find(Locator::Css(".cards a")).await.is_ok(), "{}", text(&page).await);
    follow(&page, "a[href='/browse']").await;
    follow(&page, "a[href='/categories']").await;
    follow(&page, "main a[href^='/categories/']").await;
    follow(&page, "main a[href^='/items/']").await;
    page.wait().at_most(PATIENCE).for_element(Locator::Css("a[href$='/bid']")).await.unwrap();
    let item = page.current_url().await.unwrap().path().to_owned();
    follow(&page, &format!("a[href='{item}/bid']")).await;
    fill(&page, "nickname", "user1").await;
    fill(&page, "password", "password1").await;
    submit(&page, "/bid").await;
    submit(&page, "/bids").await;
    // Every page has a `main`: one that is found at once is that of the form.
    page.wait()
        .at_most(PATIENCE)
        .for_element(Locator::XPath("//h1[contains(., 'You lead')]"))
        .await
        .unwrap();
    let before = text(&page).await;
    page.goto(&format!("{}{item}/bids", gate.address("gate"))).await.unwrap();
    let bids = text(&page).await;
    assert!(bids.contains("user1"), "the bid is in the item's history:\n{before}\n---\n{bids}");

    page.close().await.unwrap();
    assert!(gate.metric("tidegate_handshakes_total{kind=\"full\",result=\"ok\"}") >= 1.0);
    // The browser sends a key share for the hybrid group, which the gate prefers.
    let hybrid = "tidegate_handshake_kind_admitted_total{kind=\"ecdsa-p256/X25519MLKEM768\"}";
    assert!(gate.metric(hybrid) >= 1.0);
}

/// Signs in at the open page and waits for the page whose heading begins so.
async fn sign_in(page: &Client, user: u32, heading: &str) {
    fill(page, "nickname", &format!("user{user}")).await;
    fill(page, "password", &format!("password{user}")).await;
    follow(page, "form[method=post] [type=submit]").await;
    arrive(page, heading).await;
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
    use tidegate_card::client::{Client as Merchant, Form, Key, Patience};
    use tidegate_card::{Currency, Status};
    let folder = tempfile::tempdir().unwrap();
    let data = folder.path().join("card").display().to_string();
    let made = crate::common::tidegate(&["site", "card", "--data", &data, "--make-key", "shop"]);
    let key = String::from_utf8(made.stdout).unwrap();
    let back = merchant();
    let card = crate::common::Running::tidegate(&[
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
            return_url: back.clone(),
        };
        let created = shop.create(&Key::new(reference).unwrap(), &form).await.unwrap();
        created.checkout_url
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
    page.wait().at_most(PATIENCE).for_element(mistake).await.unwrap();
    look(&page, "the card form with mistakes").await;
    pay("4000 0000 0000 9995", "123").await;
    let mistake = "//*[@id='number-mistake'][contains(., 'does not hold')]";
    see(&page, mistake, PATIENCE).await;
    pay("4242 4242 4242 4242", "123").await;
    arrive(&page, "Back with /paid?payment=pay_").await;
    assert_eq!(shop.by_reference("d-1").await.unwrap().unwrap().status, Status::RequiresCapture);
    page.goto(&url).await.unwrap();
    arrive(&page, "You have paid 1,234.56 USD").await;
    look(&page, "a payment that is paid").await;

    page.goto(&form("d-2").await).await.unwrap();
    follow(&page, ".cancel button").await;
    arrive(&page, "Back with /paid?payment=pay_").await;

    let url = form("d-3").await;
    page.goto(&url).await.unwrap();
    pay("4000 0000 0000 5043", "123").await;
    arrive_within(&page, "Waiting for your bank", PATIENCE).await;
    look(&page, "a payment that waits").await;
    page.goto(&format!("{}/checkout/chk_0", card.address("site"))).await.unwrap();
    arrive(&page, "There is no such payment").await;
    look(&page, "no payment").await;
    page.close().await.unwrap();
}
