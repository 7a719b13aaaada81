//! Bids and purchases, one at a time.

use crate::browser::between;
use crate::database::TestSite;

on_both_databases![
    a_higher_bid_leads_and_is_stored,
    the_leaders_own_bid_placed_again_is_stored_once,
    of_two_equal_bids_the_earlier_one_alone_leads,
    a_bid_below_the_shown_minimum_is_refused,
    a_purchase_takes_from_the_stock,
    a_sold_out_item_is_closed_and_offered_again,
    an_item_without_a_fixed_price_cannot_be_bought,
    a_seller_cannot_bid_on_or_buy_their_own_item,
];

/// An item with its seller.
fn an_item(site: &TestSite) -> (i64, i64) {
    site.query("SELECT id, seller FROM items WHERE nb_of_bids > 0 ORDER BY id LIMIT 1")[0]
}

/// An item with a fixed price and five pieces, and its seller.
fn for_sale(site: &TestSite) -> (i64, i64) {
    site.run(
        "UPDATE items SET buy_now = 99900, quantity = 5, relist = 5
         WHERE id = (SELECT MIN(id) FROM items)",
    );
    site.query("SELECT id, seller FROM items ORDER BY id LIMIT 1")[0]
}

fn other(user: i64) -> i64 {
    user % 500 + 1
}

fn a_higher_bid_leads_and_is_stored(site: &TestSite) {
    let (item, seller) = an_item(site);
    let bids = site.number("SELECT COUNT(*) FROM bids");
    assert!(site.browser.page(&format!("/items/{item}/bid")).contains("type=\"password\""));
    let form = site.browser.sign_in(&format!("/items/{item}/bid"), other(seller), &[]);
    let auth = crate::browser::hidden(&form, "auth");
    let least = between(&form, "name=\"bid\" type=\"number\" min=\"", "\"")[0];
    let fields = [("auth", auth.as_str()), ("bid", least), ("max_bid", least), ("quantity", "1")];
    let page = site.browser.done(&format!("/items/{item}/bids"), &fields);
    assert!(page.contains("it is the highest"));
    assert_eq!(site.number("SELECT COUNT(*) FROM bids"), bids + 1);
    let shown = site.browser.page(&format!("/items/{item}/bids"));
    assert!(shown.contains(&format!(">user{}<", other(seller))));
}

fn the_leaders_own_bid_placed_again_is_stored_once(site: &TestSite) {
    let (item, seller) = an_item(site);
    let bids = site.number("SELECT COUNT(*) FROM bids");
    let path = format!("/items/{item}/bids");
    // Each from a form of its own.
    let tokens =
        [(); 6].map(|()| site.browser.token(&format!("/items/{item}/bid"), other(seller), &[]));
    let place = |auth: &str| {
        let fields = [("auth", auth), ("bid", "900000"), ("max_bid", "900000"), ("quantity", "1")];
        site.browser.done(&path, &fields)
    };
    let answers: Vec<String> = std::thread::scope(|scope| {
        let posts: Vec<_> = tokens.iter().map(|auth| scope.spawn(move || place(auth))).collect();
        posts.into_iter().map(|post| post.join().expect("no panic")).collect()
    });
    assert!(answers[0].contains("it is the highest"));
    assert!(answers.iter().all(|answer| *answer == answers[0]), "{answers:?}");
    assert_eq!(site.number("SELECT COUNT(*) FROM bids"), bids + 1);
}

fn of_two_equal_bids_the_earlier_one_alone_leads(site: &TestSite) {
    let (item, seller) = an_item(site);
    let (first, second) = (other(seller), other(other(seller)));
    let path = format!("/items/{item}/bids");
    let tokens =
        [first, second].map(|user| site.browser.token(&format!("/items/{item}/bid"), user, &[]));
    let fields =
        |auth| [("auth", auth), ("bid", "900000"), ("max_bid", "900050"), ("quantity", "1")];
    site.browser.done(&path, &fields(tokens[0].as_str()));
    let answer = site.browser.post(&path, &fields(tokens[1].as_str()));
    assert_eq!(answer.status, 409, "{}", answer.text);
    assert!(answer.text.contains("the highest bid is now <strong>$900,000.00<"));
    assert_eq!(between(&answer.text, "name=\"bid\" type=\"number\" min=\"", "\""), ["900001.00"]);
    assert!(answer.text.contains("value=\"900050.00\""), "{}", answer.text);
    assert_eq!(site.browser.page(&path).matches(">highest<").count(), 1);
    let link = format!("/items/{item}\"");
    let mine = site.browser.sign_in("/me", first, &[]);
    let line = mine.split("<tr>").find(|line| line.contains(&link)).expect("the bid is listed");
    assert!(line.contains(">leads<"), "{line}");
    let mine = site.browser.sign_in("/me", second, &[]);
    let line = mine.split("<tr>").find(|line| line.contains(&link));
    assert!(line.is_none_or(|line| !line.contains(">leads<")), "{line:?}");
    assert!(site.browser.page(&format!("/items/{item}")).contains("$900,000.00"));
    // The form of the answer can be sent.
    let auth = crate::browser::hidden(&answer.text, "auth");
    let fields =
        [("auth", auth.as_str()), ("bid", "900001"), ("max_bid", "900050"), ("quantity", "1")];
    assert!(site.browser.done(&path, &fields).contains("it is the highest"));
}

fn a_bid_below_the_shown_minimum_is_refused(site: &TestSite) {
    let (item, seller) = an_item(site);
    let bids = site.number("SELECT COUNT(*) FROM bids");
    let auth = site.browser.token(&format!("/items/{item}/bid"), other(seller), &[]);
    for (bid, max_bid, quantity, why) in [
        ("0.01", "0.01", "1", "Your bid"),
        ("999999", "1000", "1", "Your limit"),
        ("999999", "999999", "0", "Quantity"),
        ("", "", "", "Your bid"),
    ] {
        let fields =
            [("auth", auth.as_str()), ("bid", bid), ("max_bid", max_bid), ("quantity", quantity)];
        let answer = site.browser.post(&format!("/items/{item}/bids"), &fields);
        assert_eq!(answer.status, 422, "{fields:?}");
        assert!(answer.text.contains(why), "{}", answer.text);
    }
    let fields =
        [("auth", auth.as_str()), ("bid", "999999"), ("max_bid", "999999"), ("quantity", "1000")];
    assert_eq!(site.browser.post(&format!("/items/{item}/bids"), &fields).status, 409);
    assert_eq!(site.number("SELECT COUNT(*) FROM bids"), bids);
}

fn a_purchase_takes_from_the_stock(site: &TestSite) {
    let (item, seller) = for_sale(site);
    assert!(site.browser.page(&format!("/items/{item}")).contains("Buy now for $999.00"));
    assert!(site.browser.page(&format!("/items/{item}/buy")).contains("type=\"password\""));
    let auth = site.browser.token(&format!("/items/{item}/buy"), other(seller), &[]);
    let path = format!("/items/{item}/purchases");
    let page = site.browser.done(&path, &[("auth", &auth), ("quantity", "2")]);
    assert!(page.contains("$1,998.00"), "{page}");
    let auth = site.browser.token(&format!("/items/{item}/buy"), other(seller), &[]);
    let too_many = site.browser.post(&path, &[("auth", &auth), ("quantity", "4")]);
    assert_eq!(too_many.status, 409);
    assert!(too_many.text.contains("Only 3 are left"));
    assert_eq!(site.number("SELECT quantity FROM items ORDER BY id LIMIT 1"), 3);
}

fn a_sold_out_item_is_closed_and_offered_again(site: &TestSite) {
    let (item, seller) = for_sale(site);
    let active = site.number("SELECT COUNT(*) FROM items");
    let [auth, late] =
        [(); 2].map(|()| site.browser.token(&format!("/items/{item}/buy"), other(seller), &[]));
    let path = format!("/items/{item}/purchases");
    site.browser.done(&path, &[("auth", &auth), ("quantity", "5")]);
    assert_eq!(site.browser.post(&path, &[("auth", &late), ("quantity", "1")]).status, 409);
    assert!(site.browser.page(&format!("/items/{item}")).contains("This auction has ended"));
    // The site closes ended auctions every two seconds.
    let begin = std::time::Instant::now();
    while site.number("SELECT MIN(id) FROM items") == item {
        assert!(begin.elapsed().as_secs() < 60, "never closed");
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM items"), active);
    assert_eq!(
        site.number("SELECT items FROM active_counts WHERE region = 0 AND category = 0"),
        active
    );
    let new =
        site.query::<(i64, i64)>("SELECT id, quantity FROM items ORDER BY id DESC LIMIT 1")[0];
    assert!(new.0 > item && new.1 == 5);
    assert!(site.browser.page(&format!("/items/{item}")).contains("This auction has ended"));
    assert_eq!(
        site.number(
            "SELECT COUNT(*) FROM active_counts a WHERE a.region > 0 AND a.category > 0 AND a.items <>
             (SELECT COUNT(*) FROM items i WHERE i.region = a.region AND i.category = a.category)"
        ),
        0
    );
}

fn an_item_without_a_fixed_price_cannot_be_bought(site: &TestSite) {
    let (item, seller) = for_sale(site);
    let auth = site.browser.token(&format!("/items/{item}/buy"), other(seller), &[]);
    site.run("UPDATE items SET buy_now = 0");
    assert_eq!(site.browser.get(&format!("/items/{item}/buy")).status, 409);
    let answer = site
        .browser
        .post(&format!("/items/{item}/purchases"), &[("auth", &auth), ("quantity", "1")]);
    assert_eq!(answer.status, 409);
    assert!(answer.text.contains("Place a bid on it instead"));
}

fn a_seller_cannot_bid_on_or_buy_their_own_item(site: &TestSite) {
    let (item, seller) = for_sale(site);
    let fields =
        [("nickname", &*format!("user{seller}")), ("password", &*format!("password{seller}"))];
    for path in ["bid", "buy"] {
        let answer = site.browser.post(&format!("/items/{item}/{path}"), &fields);
        assert_eq!(answer.status, 403);
        assert!(answer.text.contains("your own item"));
    }
}
