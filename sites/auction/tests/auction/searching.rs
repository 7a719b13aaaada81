//! Search by keyword.

use tidegate_auction::start;

use crate::browser::{Browser, between, items};
use crate::database::TestSite;

on_both_databases![
    a_search_finds_the_items_that_have_all_its_words,
    a_search_can_be_narrowed_to_a_category_and_a_region,
    paging_through_results_shows_every_match_once_and_the_newest_first,
    an_item_is_found_as_soon_as_it_is_listed_and_no_longer_than_until_its_end,
    a_search_that_is_empty_or_too_long_is_explained,
    hostile_searches_are_words_or_nothing,
];

/// Items in category 3 with these names, ids from 900001 up.
fn list(site: &TestSite, names: &[&str]) {
    for (id, name) in (900_001..).zip(names) {
        let name = name.replace('\'', "''");
        site.run(&format!(
            "INSERT INTO items (id, name, initial_price, quantity, reserve_price, buy_now, nb_of_bids,
                max_bid, high_bidder, start_date, end_date, seller, region, category, relist, description)
             SELECT {id}, '{name}', 100, 1, 0, 0, 0, 0, 0, 1, MAX(end_date), 1, {region}, 3, 0, 'None'
             FROM items",
            region = id % 2 + 1
        ));
    }
}

fn found(site: &TestSite, query: &str) -> Vec<i64> {
    items(&site.browser.page(&format!("/search?{query}")))
}

fn a_search_finds_the_items_that_have_all_its_words(site: &TestSite) {
    list(
        site,
        &[
            "Zither in a case",
            "zithers, pair",
            "Old zither",
            "Wind/water zither-pick 2.8F",
            "Café chair À LA carte",
            "O'Brien's zither",
        ],
    );
    for (query, expected) in [
        ("zither", &[900_006, 900_004, 900_003, 900_002, 900_001][..]),
        ("ZITHER+case", &[900_001]),
        ("zit", &[900_006, 900_004, 900_003, 900_002, 900_001]),
        ("zithers", &[900_002]),
        ("zither+-+absent", &[]),
        ("zither+cas", &[900_001]),
        // Short words find themselves alone.
        ("zither+ca", &[]),
        ("zither+in", &[900_001]),
        ("water+zither", &[900_004]),
        ("pick+2.8f", &[900_004]),
        ("cafe", &[900_005]),
        ("CAF%C3%89+carte", &[900_005]),
        ("caf%C3%A9+%C3%80", &[900_005]),
        ("o%27brien", &[900_006]),
        ("brien+zither", &[900_006]),
    ] {
        assert_eq!(found(site, &format!("q={query}")), expected, "{query}");
    }
    let page = site.browser.page("/search?q=Zither%20%3Cb%3E%20case");
    assert!(page.contains("value=\"Zither &lt;b&gt; case\"") && !page.contains("<b>"));
    // Every page can search.
    for path in ["/", "/items/900001", "/me", "/nowhere"] {
        let form = site.browser.get(path).text;
        assert!(form.contains("action=\"/search\"") && form.contains("name=\"q\""), "{path}");
    }
}

fn a_search_can_be_narrowed_to_a_category_and_a_region(site: &TestSite) {
    list(site, &["Zither one", "Zither two", "Zither c3", "Region r1"]);
    assert_eq!(found(site, "q=zither&category=3"), [900_003, 900_002, 900_001]);
    assert_eq!(found(site, "q=zither&category=0&region="), [900_003, 900_002, 900_001]);
    assert_eq!(found(site, "q=zither&category=4"), [0; 0]);
    assert_eq!(found(site, "q=zither&region=1"), [900_002]);
    assert_eq!(found(site, "q=zither&category=3&region=2"), [900_003, 900_001]);
    // The words of the filters are not those of the names.
    assert_eq!(found(site, "q=c3"), [900_003]);
    assert_eq!(found(site, "q=r1"), [900_004]);
    let page = site.browser.page("/search?q=zither&category=3&region=2");
    for chosen in ["value=\"3\" selected", "value=\"2\" selected"] {
        assert!(page.contains(chosen), "{chosen}");
    }
    assert_eq!(site.browser.get("/search?q=zither&category=21").status, 404);
    assert_eq!(site.browser.get("/search?q=zither&region=x").status, 404);
}

fn paging_through_results_shows_every_match_once_and_the_newest_first(site: &TestSite) {
    list(site, &["Zither"; 45]);
    let mut seen = Vec::new();
    let mut path = String::from("/search?q=%22zither%22+%26&category=3");
    let mut pages = 0;
    loop {
        let page = site.browser.page(&path);
        pages += 1;
        seen.extend(items(&page));
        assert!(page.contains(&format!("Page {pages} of 3")) && page.contains("of 45"), "{page}");
        match between(&page, "rel=\"next\" href=\"", "\"").first() {
            Some(next) => path = next.replace("&amp;", "&"),
            None => break,
        }
    }
    assert_eq!(seen, (900_001..=900_045).rev().collect::<Vec<i64>>());
    assert_eq!(site.browser.get("/search?q=zither&page=4").status, 404);
    assert_eq!(site.browser.get("/search?q=zither&page=0").status, 400);
}

fn an_item_is_found_as_soon_as_it_is_listed_and_no_longer_than_until_its_end(site: &TestSite) {
    let auth = site.browser.token("/sell", 7, &[]);
    let fields = [
        ("auth", auth.as_str()),
        ("category", "14"),
        ("name", "Zither"),
        ("description", "Old."),
        ("initial_price", "5"),
        ("duration", "3"),
        ("quantity", "1"),
    ];
    site.browser.done("/items", &fields);
    assert_eq!(found(site, "q=zither&category=14").len(), 1);
    let of_the_seller = format!("q=zither&region={}", region_of(site));
    assert_eq!(found(site, &of_the_seller).len(), 1);
    site.run("UPDATE items SET end_date = 1 WHERE name = 'Zither'");
    assert_eq!(found(site, "q=zither"), [0; 0]);
    // Once it is closed, it is in no count either.
    let begin = std::time::Instant::now();
    while !site.browser.page("/search?q=zither").contains("Page 1 of 1") {
        assert!(begin.elapsed().as_secs() < 60, "never closed");
    }
    site.run("UPDATE items SET name = 'Renamed zither' WHERE id = (SELECT MIN(id) FROM items)");
    assert_eq!(found(site, "q=renamed+zither").len(), 1);
}

fn region_of(site: &TestSite) -> i64 {
    site.number("SELECT region FROM users WHERE id = 7")
}

fn a_search_that_is_empty_or_too_long_is_explained(site: &TestSite) {
    for path in ["/search", "/search?q=", "/search?q=+&page=7"] {
        let page = site.browser.page(path);
        assert!(page.contains("Type the words") && items(&page).is_empty(), "{path}");
    }
    assert!(site.browser.page("/search?q=%22*").contains("There is no word to search for"));
    assert!(site.browser.page("/search?q=qqqqq").contains("Nothing on offer has all"));
    let long = site.browser.get(&format!("/search?q={}", "x".repeat(101)));
    assert_eq!(long.status, 400);
    assert!(long.text.contains("1 to 100 characters long; these are 101"), "{}", long.text);
}

fn hostile_searches_are_words_or_nothing(site: &TestSite) {
    let count = site.number("SELECT COUNT(*) FROM items");
    for query in [
        "%00",
        "a%00b",
        "%ff%fe",
        "%22",
        "%27",
        "%27%3B+DROP+TABLE+items%3B--",
        "name+%3A+x",
        "NEAR(a+b)",
        "a+AND+OR+NOT",
        "-a+%5Eb+c*",
        "%28%28%28%28",
        "a+%7C+b+%26+%21c",
        "%5C%27+%3A*",
        "%E2%80%AE%F0%9F%98%80+%CC%81",
        "%EF%BC%A1%C4%B0%C3%9F%C7%84",
        "a&q=b&q=c&page=1&page=1",
        "=&&&=",
        "a+b+c+d+e+f+g+h+i+j+k+l+m+n+o+p",
    ] {
        let answer = site.browser.get(&format!("/search?q={query}"));
        assert_eq!(answer.status, 200, "{query}: {}", answer.text);
        assert!(answer.text.contains("</html>"), "{query}");
    }
    assert_eq!(site.number("SELECT COUNT(*) FROM items"), count);
}

/// SQLite's plans are tested beside its statements. PostgreSQL chooses by the size
/// of a table: here it is told not to read one from end to end, nor in the order of
/// an index.
#[test]
fn postgres_looks_words_up_in_their_index() {
    let site = TestSite::on_postgres();
    site.run(
        "DO $$ BEGIN
             EXECUTE format('ALTER DATABASE %I SET enable_seqscan = off', current_database());
             EXECUTE format('ALTER DATABASE %I SET enable_indexscan = off', current_database());
             EXECUTE format('ALTER DATABASE %I SET enable_indexonlyscan = off', current_database());
         END $$",
    );
    // Its connections are new.
    let other = start(site.options.clone()).expect("a second site starts");
    let browser = Browser::new(other.address());
    let used = "SELECT idx_scan FROM pg_stat_user_indexes WHERE indexrelname = 'items_words'";
    let before = site.number(used);
    browser.page("/search?q=with");
    other.shutdown();
    let begin = std::time::Instant::now();
    while site.number(used) == before {
        assert!(begin.elapsed().as_secs() < 60, "never used");
    }
}
