//! Accounts, comments, and a person's own page.

use crate::browser::hidden;
use crate::database::TestSite;

on_both_databases![
    a_registered_user_can_sign_in,
    a_nickname_belongs_to_one_person,
    a_wrong_password_and_an_unknown_name_look_the_same,
    a_comment_is_stored_and_counts,
    a_users_own_page_shows_their_trades,
];

const ANN: [(&str, &str); 6] = [
    ("firstname", "Ann"),
    ("lastname", "Lee"),
    ("nickname", "ann.lee"),
    ("email", "ann@example.com"),
    ("password", "correct horse"),
    ("region", "3"),
];

fn a_registered_user_can_sign_in(site: &TestSite) {
    let page = site.browser.register(&ANN).text;
    assert!(page.contains("Welcome, Ann"));
    let stored: Vec<String> = site.query("SELECT password FROM users WHERE nickname = 'ann.lee'");
    assert!(stored[0].starts_with("$argon2id$"), "{stored:?}");
    let page = site.browser.done("/me", &[("nickname", "ann.lee"), ("password", "correct horse")]);
    assert!(page.contains("Hello, ann.lee") && page.contains("Ending soon elsewhere"));
}

fn a_nickname_belongs_to_one_person(site: &TestSite) {
    assert_eq!(site.browser.register(&ANN).status, 200);
    let again = site.browser.register(&ANN);
    assert_eq!(again.status, 409);
    assert!(again.text.contains("choose another nickname"));
    assert_eq!(site.number("SELECT COUNT(*) FROM users WHERE nickname = 'ann.lee'"), 1);
}

fn a_wrong_password_and_an_unknown_name_look_the_same(site: &TestSite) {
    let wrong = site.browser.post("/me", &[("nickname", "user1"), ("password", "password2")]);
    let unknown = site.browser.post("/me", &[("nickname", "nobody"), ("password", "password2")]);
    assert_eq!((wrong.status, unknown.status), (403, 403));
    assert_eq!(wrong.text, unknown.text);
}

fn a_comment_is_stored_and_counts(site: &TestSite) {
    let (item, seller) =
        site.query::<(i64, i64)>("SELECT id, seller FROM items ORDER BY id LIMIT 1")[0];
    let writer = seller % 500 + 1;
    let before = site.query::<(i64, i64)>("SELECT id, rating FROM users ORDER BY id");
    let form = site.browser.page(&format!("/users/{seller}/comment?item={item}"));
    let item = hidden(&form, "item");
    let path = format!("/users/{seller}/comment");
    let auth = site.browser.token(&path, writer, &[("item", &item)]);
    let store = format!("/users/{seller}/comments");
    let fields = [
        ("auth", auth.as_str()),
        ("item", &item),
        ("rating", "-3"),
        ("comment", "Late,\r\n<b>but</b> fine"),
    ];
    let page = site.browser.done(&store, &fields);
    assert!(page.contains("has been stored"));
    let shown = site.browser.page(&format!("/users/{seller}"));
    assert!(shown.contains("&lt;b&gt;but&lt;/b&gt; fine") && !shown.contains("<b>but"));
    let after = site.query::<(i64, i64)>("SELECT id, rating FROM users ORDER BY id");
    for (before, after) in before.iter().zip(&after) {
        let change = if before.0 == seller { -3 } else { 0 };
        assert_eq!(after.1 - before.1, change);
    }
    let own = site.browser.post(
        &path,
        &[
            ("nickname", &format!("user{seller}")),
            ("password", &format!("password{seller}")),
            ("item", &item),
        ],
    );
    assert_eq!(own.status, 403);
}

fn a_users_own_page_shows_their_trades(site: &TestSite) {
    let bidder = site.number(
        "SELECT b.user_id FROM bids b JOIN items i ON i.id = b.item_id AND i.high_bidder = b.user_id
         ORDER BY b.id LIMIT 1",
    );
    assert!(site.browser.sign_in("/me", bidder, &[]).contains(">leads<"));
    let seller = site.number("SELECT seller FROM items ORDER BY id LIMIT 1");
    assert!(!site.browser.sign_in("/me", seller, &[]).contains("You offer nothing"));
    site.run("UPDATE buy_now SET date = (SELECT MIN(start_date) FROM items)");
    let buyer = site.number("SELECT MIN(buyer_id) FROM buy_now");
    assert!(!site.browser.sign_in("/me", buyer, &[]).contains("You bought nothing"));
}
