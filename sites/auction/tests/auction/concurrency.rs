//! Many users at once: no bid is lost, no item is sold twice.

use std::sync::Barrier;
use std::sync::atomic::{AtomicI64, Ordering};

use tidegate_sitekit::database::Location;

use crate::database::{TestSite, block_on};

on_both_databases![
    accepted_bids_of_many_bidders_rise_strictly,
    no_piece_is_sold_twice_among_many_buyers
];

const PEOPLE: i64 = 32;
const TIMES: i64 = 8;

fn accepted_bids_of_many_bidders_rise_strictly(site: &TestSite) {
    let items: Vec<i64> = site.query("SELECT id FROM items WHERE seller > 100 ORDER BY id LIMIT 2");
    let before = site.number("SELECT COUNT(*) FROM bids");
    let accepted = AtomicI64::new(0);
    let barrier = Barrier::new(usize::try_from(PEOPLE).unwrap());
    std::thread::scope(|scope| {
        for person in 1..=PEOPLE {
            let (items, barrier, accepted) = (&items, &barrier, &accepted);
            scope.spawn(move || {
                let tokens: Vec<(i64, i64, String)> = (0..TIMES)
                    .flat_map(|time| items.iter().map(move |item| (time, *item)))
                    .map(|(time, item)| {
                        let path = format!("/items/{item}/bid");
                        (time, item, site.browser.token(&path, person, &[]))
                    })
                    .collect();
                barrier.wait();
                for (time, item, auth) in &tokens {
                    // Every bid is another amount, in no order.
                    let amount = 900_000 + (time * PEOPLE + person) * 7919 % 1000;
                    let amount = amount.to_string();
                    let fields = [
                        ("auth", auth.as_str()),
                        ("bid", &amount),
                        ("max_bid", &amount),
                        ("quantity", "1"),
                    ];
                    let path = format!("/items/{item}/bids");
                    match site.browser.post(&path, &fields).status {
                        200 => accepted.fetch_add(1, Ordering::Relaxed),
                        409 => 0,
                        other => panic!("answered {other}"),
                    };
                }
            });
        }
    });
    assert_eq!(site.number("SELECT COUNT(*) FROM bids"), before + accepted.into_inner());
    let falls = "SELECT COUNT(*) FROM bids a JOIN bids b ON b.item_id = a.item_id AND b.id > a.id
                 WHERE a.bid >= 900000 AND b.bid <= a.bid";
    assert_eq!(site.number(falls), 0);
    assert_denormalised_is_recomputed(site);
}

fn no_piece_is_sold_twice_among_many_buyers(site: &TestSite) {
    site.run(
        "UPDATE items SET buy_now = 1000, quantity = 40, relist = 0, seller = 499
         WHERE id = (SELECT MIN(id) FROM items)",
    );
    let item = site.number("SELECT MIN(id) FROM items");
    let bought = AtomicI64::new(0);
    let barrier = Barrier::new(usize::try_from(PEOPLE).unwrap());
    std::thread::scope(|scope| {
        for person in 1..=PEOPLE {
            let (bought, barrier) = (&bought, &barrier);
            scope.spawn(move || {
                let path = format!("/items/{item}/buy");
                let tokens = [(); 3].map(|()| site.browser.token(&path, person, &[]));
                barrier.wait();
                let quantity = person % 3 + 1;
                for auth in &tokens {
                    let fields = [("auth", auth.as_str()), ("quantity", &*quantity.to_string())];
                    match site.browser.post(&format!("/items/{item}/purchases"), &fields).status {
                        200 => bought.fetch_add(quantity, Ordering::Relaxed),
                        409 => 0,
                        other => panic!("answered {other}"),
                    };
                }
            });
        }
    });
    let bought = bought.into_inner();
    assert_eq!(site.number("SELECT CAST(SUM(qty) AS BIGINT) FROM buy_now WHERE item_id = (SELECT MAX(item_id) FROM buy_now)"), bought);
    let left = site.number(
        "SELECT quantity FROM (SELECT id, quantity FROM items UNION ALL SELECT id, quantity FROM old_items) a
         WHERE id = (SELECT MAX(item_id) FROM buy_now)",
    );
    assert!((0..=40).contains(&left));
    assert_eq!(left + bought, 40);
    // 24 people wanted 3 times 2 on average: all but a last few pieces are sold.
    assert!(left < 3, "{left} left");
}

#[test]
fn pages_are_served_while_another_process_holds_the_write_lock() {
    let site = TestSite::on_sqlite();
    let item = site.number("SELECT MIN(id) FROM items WHERE seller > 100");
    let auth = site.browser.token(&format!("/items/{item}/bid"), 1, &[]);
    let location = Location::Sqlite(site.options.data.join("auction.db"));
    std::thread::scope(|scope| {
        let mut other = block_on(location.connect()).expect("the database opens");
        block_on(other.script("BEGIN IMMEDIATE".into())).expect("the lock is free");
        let bid = scope.spawn(|| {
            let fields = [
                ("auth", auth.as_str()),
                ("bid", "900000"),
                ("max_bid", "900000"),
                ("quantity", "1"),
            ];
            site.browser.done(&format!("/items/{item}/bids"), &fields)
        });
        // Enough of them that both runtimes have theirs while the bid waits.
        for _ in 0..100 {
            site.browser.page(&format!("/items/{item}"));
        }
        assert!(!bid.is_finished());
        block_on(other.script("COMMIT".into())).expect("it is committed");
        assert!(bid.join().expect("no panic").contains("it is the highest"));
    });
}

/// Every figure that is kept beside the rows that it counts is what they count.
fn assert_denormalised_is_recomputed(site: &TestSite) {
    for (what, wrong) in [
        (
            "bids",
            "SELECT COUNT(*) FROM items i WHERE nb_of_bids <> (SELECT COUNT(*) FROM bids b WHERE b.item_id = i.id)",
        ),
        (
            "highest bid",
            "SELECT COUNT(*) FROM items i WHERE max_bid <> COALESCE((SELECT MAX(bid) FROM bids b WHERE b.item_id = i.id), 0)",
        ),
        (
            "highest bidder",
            "SELECT COUNT(*) FROM items i WHERE nb_of_bids > 0 AND NOT EXISTS (SELECT 1 FROM bids b WHERE b.item_id = i.id AND b.bid = i.max_bid AND b.user_id = i.high_bidder)",
        ),
        (
            "comments",
            "SELECT COUNT(*) FROM users u WHERE nb_of_comments <> (SELECT COUNT(*) FROM comments c WHERE c.to_user_id = u.id)",
        ),
        (
            "rating",
            "SELECT COUNT(*) FROM users u WHERE rating <> COALESCE((SELECT SUM(rating) FROM comments c WHERE c.to_user_id = u.id), 0)",
        ),
        (
            "active items",
            "SELECT COUNT(*) FROM active_counts a WHERE items <> (SELECT COUNT(*) FROM items i WHERE (a.region = 0 OR i.region = a.region) AND (a.category = 0 OR i.category = a.category))",
        ),
    ] {
        assert_eq!(site.number(wrong), 0, "{what}");
    }
}
