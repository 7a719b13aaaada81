//! Browsing: pages that change nothing.

use crate::browser::{between, items};
use crate::database::TestSite;

on_both_databases![
    fixed_pages_have_their_security_headers,
    categories_show_how_many_items_they_have,
    regions_show_how_many_items_they_have,
    paging_through_a_category_shows_every_item_once,
    a_region_shows_its_own_items_and_those_elsewhere,
    an_item_is_shown_before_and_after_its_end,
    the_history_of_an_item_lists_its_bids,
    a_person_is_shown_with_what_others_say,
    every_list_shows_the_price_of_the_items_own_page,
    pages_are_small_and_static_files_are_kept,
];

fn fixed_pages_have_their_security_headers(site: &TestSite) {
    for (path, heading) in [
        ("/", "Things with a past"),
        ("/register", "Open an account"),
        ("/browse", "Browse"),
        ("/sell", "Sell something"),
        ("/me", "My auctions"),
    ] {
        let answer = site.browser.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.text.contains(heading), "{path}");
        assert!(!answer.text.contains("<script") && !answer.text.contains(" style="), "{path}");
        let policy = &answer.headers["content-security-policy"];
        assert!(policy.contains("default-src 'none'") && policy.contains("frame-ancestors 'none'"));
        assert_eq!(answer.headers["x-content-type-options"], "nosniff");
    }
    assert_eq!(site.browser.page("/healthz"), "ok\n");
}

fn categories_show_how_many_items_they_have(site: &TestSite) {
    let page = site.browser.page("/categories");
    let real: Vec<(i64, i64)> =
        site.query("SELECT category, COUNT(*) FROM items GROUP BY category ORDER BY category");
    assert_eq!(real.len(), 20);
    let shown = between(&page, "<small>", " item");
    let real: Vec<String> = real.iter().map(|(_, items)| items.to_string()).collect();
    assert_eq!(shown, real);
}

fn regions_show_how_many_items_they_have(site: &TestSite) {
    let page = site.browser.page("/regions");
    let shown: i64 =
        between(&page, "<small>", "<").iter().filter_map(|n| n.parse::<i64>().ok()).sum();
    assert_eq!(shown, site.number("SELECT COUNT(*) FROM items"));
    let (region, items) = site.query::<(i64, i64)>(
        "SELECT region, COUNT(*) FROM items GROUP BY region ORDER BY 2 DESC LIMIT 1",
    )[0];
    let page = site.browser.page(&format!("/regions/{region}"));
    let shown: i64 =
        between(&page, "<small>", " item").iter().filter_map(|n| n.parse::<i64>().ok()).sum();
    assert_eq!(shown, items);
}

fn paging_through_a_category_shows_every_item_once(site: &TestSite) {
    // 50 items more than there were: three pages.
    site.run(
        "INSERT INTO items (name, initial_price, quantity, reserve_price, buy_now, nb_of_bids,
            max_bid, high_bidder, start_date, end_date, seller, region, category, relist, description)
         SELECT o.name, o.initial_price, 1, 0, 0, 0, 0, 0, o.start_date, i.end_date + o.id, o.seller, o.region, 7, 0, o.description
         FROM (SELECT * FROM old_items ORDER BY id LIMIT 50) o, (SELECT end_date FROM items ORDER BY id LIMIT 1) i;
         UPDATE active_counts SET items = items + 50 WHERE region = 0 AND category = 7",
    );
    let mut seen = Vec::new();
    let mut path = String::from("/categories/7");
    let mut pages = 0;
    loop {
        let page = site.browser.page(&path);
        pages += 1;
        seen.extend(items(&page));
        let entries = site.number("SELECT COUNT(*) FROM items WHERE category = 7");
        assert!(page.contains(&format!("Page {pages} of {}", (entries + 19) / 20)), "{page}");
        match between(&page, "rel=\"next\" href=\"", "\"").first() {
            Some(next) => path = (*next).to_owned(),
            None => break,
        }
    }
    assert!(pages >= 3);
    assert!(
        site.browser
            .page("/categories/7?page=2")
            .contains("rel=\"prev\" href=\"/categories/7?page=1\"")
    );
    let mut expected: Vec<i64> = site.query("SELECT id FROM items WHERE category = 7 ORDER BY id");
    seen.sort_unstable();
    expected.sort_unstable();
    assert_eq!(seen, expected);
}

fn a_region_shows_its_own_items_and_those_elsewhere(site: &TestSite) {
    let (region, category) =
        site.query::<(i64, i64)>("SELECT region, category FROM items ORDER BY id LIMIT 1")[0];
    let page = site.browser.page(&format!("/regions/{region}/categories/{category}"));
    assert!(!items(&page).is_empty() && !page.contains("elsewhere"));
    let (region, category) = site.query::<(i64, i64)>(
        "SELECT region, category FROM active_counts
         WHERE items = 0 AND region > 0 AND category > 0 ORDER BY region, category LIMIT 1",
    )[0];
    let page = site.browser.page(&format!("/regions/{region}/categories/{category}"));
    assert!(page.contains("Nothing is on offer here") && page.contains("elsewhere"));
    assert!(page.contains("Page 1 of 1") && !items(&page).is_empty());
}

fn an_item_is_shown_before_and_after_its_end(site: &TestSite) {
    let active = site.number("SELECT id FROM items ORDER BY id LIMIT 1");
    let page = site.browser.page(&format!("/items/{active}"));
    for link in ["/bids\"", "/bid\"", "/comment?item="] {
        assert!(page.contains(link), "{link}");
    }
    let ended = site.number("SELECT MIN(id) FROM old_items");
    let page = site.browser.page(&format!("/items/{ended}"));
    assert!(page.contains("This auction has ended") && !page.contains("Place a bid"));
    assert_eq!(site.browser.get(&format!("/items/{ended}/bid")).status, 409);
    assert_eq!(site.browser.get("/items/99999999").status, 404);
}

fn the_history_of_an_item_lists_its_bids(site: &TestSite) {
    let (item, bids) = site.query::<(i64, i64)>(
        "SELECT item_id, COUNT(*) FROM bids GROUP BY item_id ORDER BY 2 DESC, 1 LIMIT 1",
    )[0];
    let page = site.browser.page(&format!("/items/{item}/bids"));
    assert!(page.contains(&format!("Bids 1 to {bids} of {bids}")), "{page}");
    assert_eq!(page.matches("<td><a href=\"/users/").count(), usize::try_from(bids).unwrap());
    assert_eq!(page.matches(">highest<").count(), 1);
}

fn a_person_is_shown_with_what_others_say(site: &TestSite) {
    let (user, comments) = site.query::<(i64, i64)>(
        "SELECT to_user_id, COUNT(*) FROM comments GROUP BY to_user_id ORDER BY 2 DESC, 1 LIMIT 1",
    )[0];
    let page = site.browser.page(&format!("/users/{user}"));
    assert!(page.contains(&format!("from {comments} comment")), "{page}");
    assert_eq!(
        page.matches("class=\"comment\"").count(),
        usize::try_from(comments.min(5)).unwrap()
    );
    assert_eq!(site.browser.get("/users/0").status, 404);
}

fn every_list_shows_the_price_of_the_items_own_page(site: &TestSite) {
    // Items as they are, one without a bid, and one whose highest bid is below its
    // starting price: bids of former versions could be.
    site.run(
        "UPDATE items SET nb_of_bids = 0, max_bid = 0, end_date = end_date - 2, name = 'Zither one'
         WHERE id = (SELECT MIN(id) FROM items WHERE category = 6);
         UPDATE items SET nb_of_bids = 2, max_bid = 150, initial_price = 99900, name = 'Zither two'
         WHERE id = (SELECT MAX(id) FROM items WHERE category = 6)",
    );
    let low = site.number("SELECT id FROM items WHERE name = 'Zither two'");
    let region = site.number("SELECT region FROM items WHERE name = 'Zither two'");
    let mut seen = 0;
    for path in [
        "/".to_owned(),
        "/categories/6".into(),
        format!("/regions/{region}/categories/6"),
        "/search?q=zither".into(),
    ] {
        let page = site.browser.page(&path);
        for card in between(&page, "<li><a href=\"/items/", "</li>") {
            let (item, card) = card.split_once('"').unwrap();
            let own = site.browser.page(&format!("/items/{item}"));
            let price = |text| between(text, "<p class=\"price\">", "</small>")[0].to_owned();
            assert_eq!(price(card), price(&own), "{path}: item {item}");
            seen += 1;
        }
    }
    assert!(seen > 8, "{seen} cards");
    let own = site.browser.page(&format!("/items/{low}"));
    assert!(own.contains("$1.50 <small>highest bid") && own.contains("at $999.00"), "{own}");
    // The least that the form takes is what the browse page says.
    let form = site.browser.sign_in(&format!("/items/{low}/bid"), 499, &[]);
    assert_eq!(between(&form, "name=\"bid\" type=\"number\" min=\"", "\""), ["2.50"]);
    assert!(site.browser.page("/browse").contains("at least $1.00 above the highest"));
}

fn pages_are_small_and_static_files_are_kept(site: &TestSite) {
    let page = site.browser.page("/categories/6");
    assert!(page.len() < 12_000, "{} bytes", page.len());
    let style = between(&page, "rel=\"stylesheet\" href=\"", "\"")[0];
    let picture = between(&page, "src=\"/static/pictures/", "\"")[0];
    for path in [style, &format!("/static/pictures/{picture}")] {
        let answer = site.browser.get(path);
        assert_eq!(answer.status, 200, "{path}");
        assert!(answer.headers["cache-control"].contains("immutable"), "{path}");
    }
}
