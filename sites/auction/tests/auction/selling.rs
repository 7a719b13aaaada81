//! Offering an item.

use crate::browser::{between, hidden};
use crate::database::TestSite;

on_both_databases![an_item_is_listed_in_three_steps, mistakes_in_an_offer_are_reported_at_once];

fn an_item_is_listed_in_three_steps(site: &TestSite) {
    let before = site.number("SELECT items FROM active_counts WHERE region = 0 AND category = 14");
    let page = site.browser.sign_in("/sell", 7, &[]);
    assert_eq!(between(&page, "name=\"category\" value=\"", "\"").len(), 20);
    let auth = hidden(&page, "auth");
    let form = site.browser.done("/sell/form", &[("auth", &auth), ("category", "14")]);
    assert_eq!(hidden(&form, "category"), "14");
    let auth = hidden(&form, "auth");
    let page = site.browser.done(
        "/items",
        &[
            ("auth", &auth),
            ("category", "14"),
            ("name", "Camera <script>alert(1)</script>"),
            ("description", "It's \"old\"; DROP TABLE items;--\r\n\r\nStill works."),
            ("initial_price", "12.5"),
            ("reserve_price", ""),
            ("buy_now", "99.99"),
            ("duration", "3"),
            ("quantity", "2"),
        ],
    );
    let item = between(&page, "href=\"/items/", "\"")[0].to_owned();
    assert!(page.contains("is listed") && page.contains("$12.50") && page.contains("$99.99"));
    let shown = site.browser.page(&format!("/items/{item}"));
    assert!(shown.contains("&lt;script&gt;") && !shown.contains("<script"));
    assert!(shown.contains("DROP TABLE items;--") && shown.contains("user7"));
    let after = site.number("SELECT items FROM active_counts WHERE region = 0 AND category = 14");
    assert_eq!(after, before + 1);
    assert!(site.browser.sign_in("/me", 7, &[]).contains(&format!("/items/{item}\"")));
}

fn mistakes_in_an_offer_are_reported_at_once(site: &TestSite) {
    let items = site.number("SELECT COUNT(*) FROM items");
    let auth = site.browser.token("/sell", 7, &[]);
    let answer = site.browser.post(
        "/items",
        &[
            ("auth", &auth),
            ("category", "21"),
            ("name", "x"),
            ("description", ""),
            ("initial_price", "12.505"),
            ("reserve_price", "-1"),
            ("buy_now", "1e9"),
            ("duration", "8"),
            ("quantity", "0"),
        ],
    );
    assert_eq!(answer.status, 422);
    assert_eq!(between(&answer.text, "<li>", ":").len(), 8, "{}", answer.text);
    assert_eq!(site.number("SELECT COUNT(*) FROM items"), items);
}
