//! Starting, and what can be wrong with options and databases.

use std::time::Duration;

use tidegate_brokerage::app::{self, Source};
use tidegate_brokerage::{data, web};
use tidegate_sitekit::Error;

use crate::world::World;

fn complaint<T: std::fmt::Debug>(result: Result<T, Error>) -> String {
    match result {
        Err(Error::Operator(line)) => line,
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn a_second_start_finds_the_population_of_the_first_and_refuses_another() {
    for mut world in [World::new(), World::on_postgres()] {
        let customers = world.number("SELECT COUNT(*) FROM customers");
        assert_eq!(customers, 10);
        world.stop_app();
        world.stop_data();
        let again = |customers, seed| {
            data::prepare(&data::Options { customers, seed, ..world.data_options.clone() })
        };
        let prepared = again(None, None).unwrap();
        assert_eq!((prepared.created, prepared.customers, prepared.seed), (false, 10, 1));
        let line = complaint(again(Some(20), None));
        assert!(line.contains("10 customers, seed 1, not with 20 customers"), "{line}");
        assert!(complaint(again(None, Some(2))).contains("not with 10 customers, seed 2"));
    }
}

#[test]
fn an_interrupted_population_is_repeated_and_both_databases_have_the_same() {
    let mut sums = Vec::new();
    for mut world in [World::new(), World::on_postgres()] {
        world.stop_app();
        world.stop_data();
        world.run(
            "UPDATE site_notes SET value = 'populating' WHERE name = 'state';
             DROP TABLE executions; DELETE FROM customers WHERE id > 5",
        );
        assert!(data::prepare(&world.data_options).unwrap().created);
        world.check();
        sums.push(
            [
                "SELECT CAST(SUM(customer * available + reserved) AS BIGINT) FROM accounts",
                "SELECT CAST(SUM(id * quantity * limit_cents) AS BIGINT) FROM orders",
                "SELECT CAST(SUM(security * available + cost) AS BIGINT) FROM holdings",
                "SELECT COUNT(*) FROM ledger",
            ]
            .map(|sql| world.number(sql)),
        );
    }
    assert_eq!(sums[0], sums[1]);
}

#[test]
fn a_database_of_something_else_is_left_alone() {
    let mut world = World::new();
    world.stop_app();
    world.stop_data();
    world.run("UPDATE site_notes SET value = '0' WHERE name = 'version'");
    let line = complaint(data::prepare(&world.data_options));
    assert!(line.contains("another kind or version (brokerage 0)"), "{line}");
    world.run("DROP TABLE site_notes");
    let line = complaint(data::prepare(&world.data_options));
    assert!(line.contains("tables of something else"), "{line}");
    assert_eq!(world.number("SELECT COUNT(*) FROM customers"), 10);
}

#[test]
fn options_out_of_range_and_files_that_are_missing_are_named() {
    let world = World::new();
    let folder = tempfile::tempdir().unwrap();
    let data = data::Options {
        customers: Some(9),
        data: folder.path().into(),
        ..world.data_options.clone()
    };
    assert!(complaint(data::prepare(&data)).contains("must be 10 to 100000"));
    let app = app::Options { interval: Duration::from_millis(1), ..world.app_options.clone() };
    assert!(complaint(app::start(app)).contains("must be 10 ms to 1 h"));
    let feed = Source::File("/does/not/exist".into());
    let app = app::Options { feed, ..world.app_options.clone() };
    assert!(complaint(app::start(app)).contains("--feed /does/not/exist"));
    let app = app::Options { next: Vec::new(), ..world.app_options.clone() };
    assert!(complaint(app::start(app)).contains("name the address of the data tier"));
    let web = web::Options { next: vec!["app".into()], ..world.web_options.clone() };
    assert!(complaint(web::start(web)).contains("--next app: must be an address and a port"));
    let taken = world.browser().address();
    let web = web::Options { listen: taken, ..world.web_options.clone() };
    assert!(complaint(web::start(web)).contains("the port is in use"));
}

#[test]
fn a_payment_is_credited_once_and_a_changed_one_is_refused() {
    for world in [World::new(), World::on_postgres()] {
        let app = crate::browser::Browser::new(world.app.as_ref().unwrap().address());
        let named = |user: &str, payment: &str, amount: &str| {
            let body = format!(r#"{{"user":"{user}","payment":"{payment}","amount":{amount}}}"#);
            app.send(&format!(
                "POST /credit HTTP/1.1\r\nhost: x\r\nconnection: close\r\ncontent-length: {}\r\n\r\n{body}",
                body.len()
            ))
        };
        let credit = |user: &str, amount: &str| named(user, "pay-1", amount);
        let cash = || world.number("SELECT available FROM accounts WHERE customer = 1");
        let before = cash();
        for payment in ["", "a b", "4242424242424242", "order-1-4242-4242-4242-4242"] {
            assert_eq!(named("customer1", payment, "5").status, 400, "{payment}");
        }
        let first = credit("customer1", "12345");
        assert!(first.text.starts_with(r#"{"repeated":false,"available":"#), "{}", first.text);
        assert!(credit("customer1", "12345").text.starts_with(r#"{"repeated":true"#));
        assert_eq!(cash(), before + 12_345);
        assert_eq!(credit("customer1", "999").status, 409);
        assert_eq!(credit("customer2", "12345").status, 409);
        assert_eq!(credit("nobody", "5").status, 404);
        for amount in ["0", "-5", "100000001"] {
            assert_eq!(credit("customer1", amount).status, 400, "{amount}");
        }
        assert_eq!(credit("customer1", "1.5").status, 400);
        assert_eq!(cash(), before + 12_345);
        world.check();
    }
}
