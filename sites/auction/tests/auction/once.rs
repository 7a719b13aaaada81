//! A form is accepted once: however often, and through whichever process, it is
//! sent, it stores one row, and every answer is that of the first.

use std::sync::Barrier;

use tidegate_auction::start;

use crate::browser::{Answer, Browser, hidden};
use crate::database::TestSite;

on_both_databases![
    a_bid_sent_in_parallel_is_stored_once,
    a_purchase_sent_in_parallel_is_stored_once,
    a_comment_sent_in_parallel_is_stored_once,
    an_item_sent_in_parallel_is_stored_once,
    an_account_sent_in_parallel_is_opened_once,
    a_form_sent_again_with_other_values_changes_nothing_and_says_so,
    a_form_that_was_refused_can_be_sent_again,
    a_form_sent_again_after_the_auction_has_the_first_answer,
    a_form_outlives_a_restart,
    a_form_that_the_site_has_not_issued_opens_no_account,
    forms_are_forgotten_when_they_have_expired,
];

type Fields<'a> = Vec<(&'a str, &'a str)>;

/// Sends one form eight times at once, half of it through another site on the
/// same database, as another process would, then once more; `rows` counts what
/// it stores.
fn send_at_once(site: &TestSite, path: &str, fields: &Fields<'_>, rows: &'static str) {
    let before = site.number(rows);
    let other = start(site.options.clone()).expect("a second site starts");
    let browsers = [site.browser, Browser::new(other.address())];
    let barrier = Barrier::new(8);
    let mut answers: Vec<Answer> = std::thread::scope(|scope| {
        let posts: Vec<_> = (0..8)
            .map(|number: usize| {
                let (browser, barrier) = (browsers[number % 2], &barrier);
                scope.spawn(move || {
                    barrier.wait();
                    browser.post(path, fields)
                })
            })
            .collect();
        posts.into_iter().map(|post| post.join().expect("no panic")).collect()
    });
    answers.push(site.browser.post(path, fields));
    for answer in &answers {
        assert_eq!(answer.status, 200, "{path}: {}", answer.text);
        assert_eq!(answer.text, answers[0].text, "{path}");
        assert!(!answer.text.contains("other values"), "{path}: {}", answer.text);
    }
    assert_eq!(site.number(rows), before + 1, "{path}");
    assert_eq!(site.number("SELECT COUNT(*) FROM used_forms"), 1);
    other.shutdown();
}

fn an_item(site: &TestSite) -> i64 {
    site.number("SELECT MIN(id) FROM items WHERE seller > 100")
}

fn for_sale(site: &TestSite) -> i64 {
    site.run(
        "UPDATE items SET buy_now = 99900, quantity = 50, relist = 0
         WHERE id = (SELECT MIN(id) FROM items WHERE seller > 100)",
    );
    an_item(site)
}

fn a_bid_sent_in_parallel_is_stored_once(site: &TestSite) {
    let item = an_item(site);
    let auth = site.browser.token(&format!("/items/{item}/bid"), 1, &[]);
    let fields =
        vec![("auth", &*auth), ("bid", "900000"), ("max_bid", "900010"), ("quantity", "1")];
    send_at_once(site, &format!("/items/{item}/bids"), &fields, "SELECT COUNT(*) FROM bids");
    // Also when somebody else has bid more since.
    let next = site.browser.token(&format!("/items/{item}/bid"), 2, &[]);
    let higher = [("auth", &*next), ("bid", "900500"), ("max_bid", "900500"), ("quantity", "1")];
    site.browser.done(&format!("/items/{item}/bids"), &higher);
    let again = site.browser.done(&format!("/items/{item}/bids"), &fields);
    assert!(again.contains("Your bid of $900,000.00 is stored"), "{again}");
}

fn a_purchase_sent_in_parallel_is_stored_once(site: &TestSite) {
    let item = for_sale(site);
    let auth = site.browser.token(&format!("/items/{item}/buy"), 1, &[]);
    let fields = vec![("auth", &*auth), ("quantity", "2")];
    let path = format!("/items/{item}/purchases");
    send_at_once(site, &path, &fields, "SELECT COUNT(*) FROM buy_now");
    assert_eq!(site.number("SELECT MIN(quantity) FROM items WHERE buy_now = 99900"), 48);
}

fn a_comment_sent_in_parallel_is_stored_once(site: &TestSite) {
    let item = an_item(site).to_string();
    let auth = site.browser.token("/users/3/comment", 1, &[("item", &item)]);
    let fields =
        vec![("auth", &*auth), ("item", &item), ("rating", "5"), ("comment", "Fine,\nthank you.")];
    let ratings = site.number("SELECT CAST(SUM(rating) AS BIGINT) FROM users");
    send_at_once(site, "/users/3/comments", &fields, "SELECT COUNT(*) FROM comments");
    assert_eq!(site.number("SELECT CAST(SUM(rating) AS BIGINT) FROM users"), ratings + 5);
}

const OFFER: [(&str, &str); 8] = [
    ("category", "14"),
    ("name", "Camera & case"),
    ("description", "As found."),
    ("initial_price", "12.50"),
    ("reserve_price", "20"),
    ("buy_now", "99.99"),
    ("duration", "3"),
    ("quantity", "2"),
];

fn an_item_sent_in_parallel_is_stored_once(site: &TestSite) {
    let chosen = site.browser.token("/sell", 7, &[]);
    let form = site.browser.done("/sell/form", &[("auth", &chosen), ("category", "14")]);
    let auth = hidden(&form, "auth");
    let mut fields: Fields<'_> = OFFER.to_vec();
    fields.push(("auth", &auth));
    send_at_once(site, "/items", &fields, "SELECT COUNT(*) FROM items");
    let counted = "SELECT items FROM active_counts WHERE region = 0 AND category = 14";
    let real = "SELECT COUNT(*) FROM items WHERE category = 14";
    assert_eq!(site.number(counted), site.number(real));
}

const ANN: [(&str, &str); 6] = [
    ("firstname", "Ann"),
    ("lastname", "Lee"),
    ("nickname", "ann.lee"),
    ("email", "ann@example.com"),
    ("password", "correct horse"),
    ("region", "3"),
];

fn an_account_sent_in_parallel_is_opened_once(site: &TestSite) {
    let auth = hidden(&site.browser.page("/register"), "auth");
    let mut fields: Fields<'_> = ANN.to_vec();
    fields.push(("auth", &auth));
    send_at_once(site, "/register", &fields, "SELECT COUNT(*) FROM users");
}

fn a_form_sent_again_with_other_values_changes_nothing_and_says_so(site: &TestSite) {
    let item = an_item(site);
    let path = format!("/items/{item}/bids");
    let auth = site.browser.token(&format!("/items/{item}/bid"), 1, &[]);
    let bid =
        |bid| [("auth", auth.as_str()), ("bid", bid), ("max_bid", "999999"), ("quantity", "1")];
    site.browser.done(&path, &bid("900000"));
    for other in ["900500", "900000.01"] {
        let answer = site.browser.done(&path, &bid(other));
        assert!(answer.contains("sent before, with other values"), "{answer}");
        assert!(answer.contains("Your bid of $900,000.00 is stored"), "{answer}");
    }
    assert_eq!(site.number("SELECT MAX(bid) FROM bids"), 90_000_000);

    let auth = hidden(&site.browser.page("/register"), "auth");
    let register = |nickname| {
        let mut fields: Fields<'_> = ANN.to_vec();
        fields.extend([("auth", auth.as_str()), ("more", nickname)]);
        fields.retain(|(name, _)| *name != "nickname");
        fields.push(("nickname", nickname));
        site.browser.done("/register", &fields)
    };
    register("ann.lee");
    let answer = register("bob");
    assert!(answer.contains("other values") && answer.contains(">ann.lee<"), "{answer}");
    let bobs: Vec<i64> = site.query("SELECT COUNT(*) FROM users WHERE nickname = 'bob'");
    assert_eq!(bobs, [0]);
}

fn a_form_that_was_refused_can_be_sent_again(site: &TestSite) {
    let item = for_sale(site);
    let path = format!("/items/{item}/purchases");
    let auth = site.browser.token(&format!("/items/{item}/buy"), 1, &[]);
    let buy = |quantity| [("auth", auth.as_str()), ("quantity", quantity)];
    assert_eq!(site.browser.post(&path, &buy("0")).status, 422);
    assert_eq!(site.browser.post(&path, &buy("51")).status, 409);
    assert_eq!(site.number("SELECT COUNT(*) FROM used_forms"), 0);
    let page = site.browser.done(&path, &buy("2"));
    assert!(page.contains("It is yours") && !page.contains("other values"), "{page}");
}

fn a_form_sent_again_after_the_auction_has_the_first_answer(site: &TestSite) {
    let item = for_sale(site);
    let path = format!("/items/{item}/purchases");
    let auth = site.browser.token(&format!("/items/{item}/buy"), 1, &[]);
    let fields = [("auth", auth.as_str()), ("quantity", "50")];
    let first = site.browser.done(&path, &fields);
    assert_eq!(site.browser.done(&path, &fields), first);
    // Until it is closed, and after it.
    let begin = std::time::Instant::now();
    while site.number("SELECT COUNT(*) FROM items WHERE buy_now = 99900") > 0 {
        assert!(begin.elapsed().as_secs() < 60, "never closed");
    }
    assert_eq!(site.browser.done(&path, &fields), first);
}

fn a_form_outlives_a_restart(site: &TestSite) {
    let item = for_sale(site);
    let auth = site.browser.token(&format!("/items/{item}/buy"), 1, &[]);
    let other = start(site.options.clone()).expect("a second site starts");
    let later = Browser::new(other.address());
    let fields = [("auth", auth.as_str()), ("quantity", "2")];
    assert!(later.done(&format!("/items/{item}/purchases"), &fields).contains("It is yours"));
    other.shutdown();
}

fn a_form_that_the_site_has_not_issued_opens_no_account(site: &TestSite) {
    let users = site.number("SELECT COUNT(*) FROM users");
    let to_sell = site.browser.token("/sell", 9, &[]);
    for auth in ["", "5.0.0.0.1.9999999999.AAAA", &to_sell] {
        let mut fields: Fields<'_> = ANN.to_vec();
        fields.push(("auth", auth));
        let answer = site.browser.post("/register", &fields);
        assert_eq!(answer.status, 403, "{auth}");
        assert!(answer.text.contains("This form cannot be used"), "{}", answer.text);
    }
    assert_eq!(site.browser.post("/register", &ANN).status, 403);
    assert_eq!(site.number("SELECT COUNT(*) FROM users"), users);
}

fn forms_are_forgotten_when_they_have_expired(site: &TestSite) {
    site.run(
        "INSERT INTO used_forms (expires, number, stored, figure, content)
         SELECT CAST(value AS BIGINT) - 120, 1, 1, 1, 1 FROM site_notes WHERE name = 'last_seen';
         INSERT INTO used_forms (expires, number, stored, figure, content)
         SELECT CAST(value AS BIGINT) + 3600, 2, 1, 1, 1 FROM site_notes WHERE name = 'last_seen'",
    );
    let begin = std::time::Instant::now();
    while site.number("SELECT MIN(number) FROM used_forms") == 1 {
        assert!(begin.elapsed().as_secs() < 60, "never forgotten");
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM used_forms"), 1);
}
