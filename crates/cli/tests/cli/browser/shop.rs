//! The shop in a real browser: a person chooses a zone, buys and pays, and pages are readable in
//! narrow and wide windows, in light and dark.

use fantoccini::Locator;

use crate::common::browser::{
    arrive, browser, chromedriver, fill, follow, look, no_browser_here, submit, text,
};
use crate::common::shop;

#[tokio::test]
async fn a_person_buys_and_pays_and_every_page_is_readable() {
    if no_browser_here() {
        return;
    }
    let folder = tempfile::tempdir().unwrap();
    let site = shop(&folder.path().join("shop"), &[]);
    let driver = chromedriver();
    let page = browser(&driver, &folder.path().join("profile")).await;
    let open = async |path: &str| {
        page.goto(&format!("{}{path}", site.address("site"))).await.unwrap();
    };
    for path in [
        "/",
        "/departments/garden",
        "/sets/rakes",
        "/products/3",
        "/zone",
        "/search",
        "/search?q=oak",
        "/search?q=absent",
        "/basket",
        "/account",
        "/account/register",
        "/nowhere",
    ] {
        open(path).await;
        look(&page, path).await;
    }

    open("/products/3").await;
    fill(&page, "postcode", "90210").await;
    submit(&page, "/zone").await;
    page.wait()
        .for_element(Locator::XPath("//*[contains(@class, 'price')][contains(., 'California')]"))
        .await
        .unwrap();
    submit(&page, "/basket").await;
    arrive(&page, "Your basket").await;
    look(&page, "a basket").await;
    follow(&page, "a[href='/checkout']").await;
    arrive(&page, "Checkout").await;
    look(&page, "the checkout").await;
    submit(&page, "/checkout").await;
    arrive(&page, "Please correct the form").await;
    look(&page, "a checkout with mistakes").await;
    for (name, value) in [
        ("email", "ann@example.com"),
        ("name", "Ann Example"),
        ("street", "1 Oak Street"),
        ("city", "Springfield"),
        ("postcode", "60601"),
    ] {
        fill(&page, name, value).await;
    }
    submit(&page, "/checkout").await;
    arrive(&page, "Your order").await;
    look(&page, "the sum").await;
    submit(&page, "/orders").await;
    // The page of the order leads to the card form by itself.
    fill(&page, "number", "4242 4242 4242 4242").await;
    fill(&page, "expiry", "12/99").await;
    fill(&page, "cvc", "123").await;
    follow(&page, "form[method=post] [type=submit]").await;
    arrive(&page, "Thank you, your order is paid").await;
    look(&page, "an order that is paid").await;
    assert!(text(&page).await.contains("Visa, ending in 4242"));

    open("/account").await;
    fill(&page, "email", "user1@example.com").await;
    fill(&page, "password", "password1").await;
    submit(&page, "/account/sign-in").await;
    arrive(&page, "Hello, ").await;
    look(&page, "an account").await;
    page.close().await.unwrap();
}
