//! Starting, stopping, starting again, and what can be wrong with a database.

use std::time::{Duration, Instant};

use tidegate_auction::{Options, prepare, start};
use tidegate_sitekit::Error;
use tidegate_sitekit::database::{Dialect, Location};

use crate::browser::{Browser, items};
use crate::database::{SCALE, TestSite, block_on, options};
use crate::postgres;

/// The one line that the operator reads.
fn complaint(options: &Options) -> String {
    match prepare(options) {
        Err(Error::Operator(line)) => {
            assert!(!line.contains('\n'), "{line}");
            line
        }
        other => panic!("not refused: {other:?}"),
    }
}

fn both() -> [TestSite; 2] {
    [TestSite::on_sqlite(), TestSite::on_postgres()]
}

#[test]
fn a_second_start_finds_the_population_of_the_first() {
    for mut site in both() {
        let users = site.number("SELECT COUNT(*) FROM users");
        site.stop();
        for (scale, seed) in [(None, None), (Some(SCALE), Some(1))] {
            let again = prepare(&Options { scale, seed, ..site.options.clone() }).unwrap();
            assert!(!again.created && again.users == users && again.scale == SCALE);
        }
        let other = complaint(&Options { scale: Some(0.002), ..site.options.clone() });
        assert!(other.contains("scale 0.0005, seed 1, not with scale 0.002"), "{other}");
        let other = complaint(&Options { seed: Some(2), ..site.options.clone() });
        assert!(other.contains("not with scale 0.0005, seed 2"), "{other}");
    }
}

#[test]
fn every_page_but_the_front_page_takes_the_extra_cpu_time() {
    let folder = tempfile::tempdir().unwrap();
    let extra_cpu = Duration::from_millis(300);
    let site = start(Options { extra_cpu, ..options(folder.path()) }).unwrap();
    let browser = Browser::new(site.address());
    let takes = |path| {
        let begun = Instant::now();
        browser.page(path);
        begun.elapsed()
    };
    // The minimum of several: a slow machine must not look like a costly page.
    assert!((0..5).map(|_| takes("/")).min() < Some(extra_cpu));
    assert!(takes("/browse") >= extra_cpu);
    site.shutdown();

    let later = Duration::from_secs(3600);
    let options_later = Options { extra_cpu, extra_cpu_after: later, ..options(folder.path()) };
    let site = start(options_later).unwrap();
    let browser = Browser::new(site.address());
    let takes = |path| {
        let begun = Instant::now();
        browser.page(path);
        begun.elapsed()
    };
    assert!((0..5).map(|_| takes("/browse")).min() < Some(extra_cpu));
    site.shutdown();

    let extra_cpu = Duration::from_secs(2);
    let error = complaint(&Options { extra_cpu, ..options(folder.path()) });
    assert!(error.contains("extra CPU time of 2s a request: must be at most 1s"), "{error}");
}

#[test]
fn both_databases_and_every_start_have_the_same_population() {
    let mut fingerprints = Vec::new();
    for site in both() {
        let sums: Vec<i64> = [
            "SELECT CAST(SUM(initial_price + quantity * 7 + seller * 11 + LENGTH(description)) AS BIGINT) FROM items",
            "SELECT CAST(SUM(bid + user_id) AS BIGINT) FROM bids",
            "SELECT CAST(SUM(from_user_id * 3 + to_user_id + rating + LENGTH(comment)) AS BIGINT) FROM comments",
            "SELECT CAST(SUM(rating + region + LENGTH(firstname)) AS BIGINT) FROM users",
            "SELECT CAST(SUM(end_date - start_date + category) AS BIGINT) FROM old_items",
        ]
        .map(|sql| site.number(sql))
        .into();
        fingerprints.push(sums);
    }
    assert_eq!(fingerprints[0], fingerprints[1]);
}

#[test]
fn an_interrupted_population_is_repeated() {
    for mut site in both() {
        site.stop();
        site.run("UPDATE site_notes SET value = 'populating' WHERE name = 'state'; DROP TABLE comments; DELETE FROM users WHERE id > 5");
        let again = prepare(&site.options).unwrap();
        assert!(again.created);
        assert_eq!(site.number("SELECT COUNT(*) FROM users"), 500);
        assert!(site.number("SELECT COUNT(*) FROM comments") > 0);
    }
}

#[test]
fn a_database_of_the_version_before_is_brought_up_to_date() {
    for mut site in both() {
        let item = site.number("SELECT MAX(id) FROM items WHERE seller > 100");
        site.stop();
        // What version 1 was.
        site.run(match site.dialect() {
            Dialect::Sqlite => {
                "DROP TRIGGER item_words_insert; DROP TRIGGER item_words_delete;
                 DROP TRIGGER item_words_update; DROP TABLE item_words"
            }
            Dialect::Postgres => "ALTER TABLE items DROP COLUMN words",
        });
        site.run(
            "DROP TABLE used_forms; DELETE FROM site_notes WHERE name = 'form_key';
             UPDATE site_notes SET value = '1' WHERE name = 'version';
             UPDATE items SET name = 'Zither' WHERE id = (SELECT MAX(id) FROM items WHERE seller > 100)",
        );
        let users = site.number("SELECT COUNT(*) FROM users");
        // Two processes at once: one waits, or is told that the other is at work.
        let results = std::thread::scope(|scope| {
            let starts = [(); 2].map(|()| scope.spawn(|| prepare(&site.options)));
            starts.map(|start| start.join().unwrap())
        });
        assert!(results.iter().flatten().count() >= 1, "{results:?}");
        for error in results.iter().filter_map(|result| result.as_ref().err()) {
            assert!(error.to_string().contains("another process is"), "{error}");
        }
        assert!(results.iter().flatten().all(|prepared| !prepared.created));
        assert_eq!(site.number("SELECT COUNT(*) FROM users"), users);
        let again = start(site.options.clone()).unwrap();
        let browser = Browser::new(again.address());
        assert_eq!(items(&browser.page("/search?q=zither")), [item]);
        let auth = browser.token(&format!("/items/{item}/bid"), 1, &[]);
        let fields =
            [("auth", auth.as_str()), ("bid", "900000"), ("max_bid", "900000"), ("quantity", "1")];
        for _ in 0..2 {
            browser.done(&format!("/items/{item}/bids"), &fields);
        }
        again.shutdown();
        let line = {
            site.run("UPDATE site_notes SET value = '3' WHERE name = 'version'");
            complaint(&site.options)
        };
        assert!(line.contains("(auction 3); this is auction 2"), "{line}");
    }
}

#[test]
fn a_key_that_is_none_is_named() {
    let mut site = TestSite::on_sqlite();
    site.stop();
    site.run("UPDATE site_notes SET value = 'x' WHERE name = 'form_key'");
    let line = complaint(&site.options);
    assert!(line.contains("form_key: is no key; delete this row"), "{line}");
}

#[test]
fn auctions_are_paused_while_the_site_is_stopped() {
    for mut site in both() {
        site.stop();
        let sum = "SELECT CAST(SUM(end_date) AS BIGINT) FROM items";
        let (before, items) = (site.number(sum), site.number("SELECT COUNT(*) FROM items"));
        site.run("UPDATE site_notes SET value = CAST(CAST(value AS BIGINT) - 1000000 AS TEXT) WHERE name = 'last_seen'");
        prepare(&site.options).unwrap();
        let moved = (site.number(sum) - before) / items;
        assert!((1_000_000..1_000_100).contains(&moved), "{moved}");
    }
}

#[test]
fn a_database_of_something_else_is_left_alone() {
    for mut site in both() {
        site.stop();
        site.run("UPDATE site_notes SET value = '0' WHERE name = 'version'");
        let line = complaint(&site.options);
        assert!(line.contains("another kind or version (auction 0)"), "{line}");
        site.run("DROP TABLE site_notes");
        let line = complaint(&site.options);
        assert!(line.contains("tables of something else"), "{line}");
        assert_eq!(site.number("SELECT COUNT(*) FROM users"), 500);
    }
}

#[test]
fn a_file_that_is_no_database_and_a_folder_that_cannot_be_made_are_named() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("auction.db");
    std::fs::write(&file, "something else entirely ".repeat(100)).unwrap();
    let line = complaint(&options(folder.path()));
    assert!(line.contains("auction.db: not a SQLite database"), "{line}");
    let line = complaint(&options(&file.join("below")));
    assert!(line.contains("cannot be made"), "{line}");
    let database = Some(format!("sqlite:{}", folder.path().join("no/such/x.db").display()));
    let line = complaint(&Options { database, ..options(folder.path()) });
    assert!(line.contains("cannot be opened; its folder must exist"), "{line}");
}

#[test]
fn a_locked_file_is_reported_as_locked() {
    let mut site = TestSite::on_sqlite();
    site.stop();
    let file = site.options.data.join("auction.db");
    block_on(async {
        let mut other = Location::Sqlite(file).connect().await.unwrap();
        other.script("BEGIN IMMEDIATE".into()).await.unwrap();
        let line = complaint(&site.options);
        assert!(line.contains("locked by another process"), "{line}");
        other.close().await;
    });
    prepare(&site.options).unwrap();
}

#[test]
fn a_missing_server_or_database_is_named() {
    let folder = tempfile::tempdir().unwrap();
    for (database, expected) in [
        (postgres::absent_database(), "there is no such database"),
        ("postgres://postgres@127.0.0.1:1/x".into(), "cannot be reached"),
        ("mysql://x".into(), "not a known kind of database"),
        ("postgres://[".into(), "the URL cannot be read"),
    ] {
        let line = complaint(&Options { database: Some(database), ..options(folder.path()) });
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn two_sites_do_not_share_a_port_by_accident() {
    let site = TestSite::on_sqlite();
    let folder = tempfile::tempdir().unwrap();
    let listen = site.browser.address();
    let second = start(Options { listen, ..options(folder.path()) });
    let line = second.expect_err("refused").to_string();
    assert!(line.contains("the port is in use"), "{line}");
}

#[test]
fn options_out_of_range_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let line = complaint(&Options { scale: Some(0.0), ..options(folder.path()) });
    assert!(line.contains("must be 0.0005 to 10"), "{line}");
    let line = complaint(&Options { cores: Some(vec![]), ..options(folder.path()) });
    assert!(line.contains("at least one core"), "{line}");
    let missing = start(Options { cores: Some(vec![5000]), ..options(folder.path()) });
    assert!(missing.expect_err("refused").to_string().contains("no core 5000"));
}

#[test]
fn a_stopping_site_finishes_the_requests_in_flight() {
    for mut site in both() {
        let browser = site.browser;
        std::thread::scope(|scope| {
            let request = scope.spawn(move || browser.sign_in("/me", 3, &[]));
            assert!(request.join().unwrap().contains("Hello, user3"));
            site.stop();
        });
        assert!(std::net::TcpStream::connect(browser.address()).is_err());
    }
}
