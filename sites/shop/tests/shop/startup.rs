//! Starting, starting again, and what can be wrong with a database or the options.

use std::time::Duration;

use tidegate_card::client::CardOptions;
use tidegate_shop::{Options, Size, prepare, start};
use tidegate_sitekit::Error;

use crate::browser::Browser;
use crate::postgres;
use crate::world::{World, options};

/// The one line that the operator reads.
fn complaint(options: &Options) -> String {
    match start(options) {
        Err(Error::Operator(line)) => {
            assert!(!line.contains('\n'), "{line}");
            line
        }
        other => panic!("not refused: {other:?}"),
    }
}

#[test]
fn both_databases_and_every_start_have_the_same_population() {
    let folders = [(); 2].map(|()| tempfile::tempdir().unwrap());
    let postgres =
        Options { database: Some(postgres::new_database()), ..options(folders[1].path()) };
    let all = [options(folders[0].path()), postgres];
    let mut sums = Vec::new();
    for options in &all {
        let made = prepare(options).unwrap();
        assert!(made.created && (made.products, made.customers) == (500, 1000));
        let again = prepare(&Options { size: None, ..options.clone() }).unwrap();
        assert!(!again.created && (again.size, again.seed) == (Size::Small, 1));
        let found = crate::world::block_on(async {
            let mut connection = made.location.connect().await.unwrap();
            let mut found: Vec<i64> = Vec::new();
            for sql in [
                "SELECT CAST(SUM(price + 3 * weight + 7 * stock + 11 * set_id + LENGTH(name) + LENGTH(description)) AS BIGINT) FROM products",
                "SELECT CAST(SUM(product * stars + LENGTH(remark)) AS BIGINT) FROM reviews",
                "SELECT CAST(SUM(id * LENGTH(name) + LENGTH(street) + LENGTH(city)) AS BIGINT) FROM customers",
                "SELECT CAST(SUM(id * department + LENGTH(slug)) AS BIGINT) FROM sets",
                "SELECT CAST(SUM(id * factor + tax + shipping + shipping_kg) AS BIGINT) FROM zones",
            ] {
                found.extend(connection.all::<i64>(sql, &[]).await.unwrap());
            }
            connection.close().await;
            found
        });
        sums.push(found);
    }
    assert_eq!(sums[0], sums[1]);
    let other = complaint(&Options { size: Some(Size::Large), ..all[0].clone() });
    assert!(other.contains("size small, seed 1, not with size large"), "{other}");
}

#[test]
fn sizes_are_as_named() {
    let folder = tempfile::tempdir().unwrap();
    let medium = Options { size: Some(Size::Medium), ..options(folder.path()) };
    let made = prepare(&medium).unwrap();
    assert_eq!((made.products, made.customers), (5_000, 5_000));
}

#[test]
fn a_shop_without_a_processor_sells_nothing_and_says_why() {
    let folder = tempfile::tempdir().unwrap();
    let site = start(&options(folder.path())).unwrap();
    let browser = Browser::new(site.address());
    assert_eq!(browser.page("/healthz"), "ok\n");
    let added = browser.post("/basket", &[("product", "3"), ("quantity", "1")]);
    let cookie = added.headers["set-cookie"].split(';').next().unwrap().to_owned();
    let answer = browser.get_with(&format!("cookie: {cookie}\r\n"), "/checkout");
    assert_eq!(answer.status, 409);
    assert!(answer.text.contains("no card processor"), "{}", answer.text);
    site.shutdown();
}

#[test]
fn mistakes_of_the_operator_are_one_line_with_a_remedy() {
    let folder = tempfile::tempdir().unwrap();
    let of = || options(folder.path());
    let card = |url: &str, public_url: &str| CardOptions {
        url: url.into(),
        key_file: folder.path().join("none"),
        ca: None,
        public_url: public_url.into(),
    };
    for (options, says) in [
        (Options { keep: Duration::ZERO, ..of() }, "must be 1 to 3600 s"),
        (Options { cores: Some(Vec::new()), ..of() }, "name at least one core"),
        (Options { database: Some("mysql://x".into()), ..of() }, "mysql"),
        (
            Options { card: Some(card("http://127.0.0.1:1", "http://shop.example")), ..of() },
            "must be an https URL",
        ),
        (
            Options { card: Some(card("http://127.0.0.1:1", "https://shop.example")), ..of() },
            "--make-key shop",
        ),
    ] {
        let line = complaint(&options);
        assert!(line.contains(says), "{says} is missing: {line}");
    }
    let file = folder.path().join("other");
    std::fs::create_dir(&file).unwrap();
    std::fs::write(file.join("shop.db"), "this is no database, whatever its name says").unwrap();
    assert!(complaint(&options(&file)).contains("shop.db"));
}

#[test]
fn an_interrupted_population_is_repeated() {
    let mut world = World::on_sqlite();
    world.run("UPDATE site_notes SET value = 'populating' WHERE name = 'state'; DELETE FROM products WHERE id > 5");
    world.restart();
    assert_eq!(world.number("SELECT COUNT(*) FROM products"), 500);
}
