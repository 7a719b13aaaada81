//! Starting: what is wrong is named with its remedy, and what was there is there again.

use std::time::Duration;

use serde_json::json;
use tidegate_card::client::{Client, Key, Patience};
use tidegate_card::{Options, Status, start};
use tidegate_sitekit::database::Location;
use tidegate_sitekit::tls::{Tls, TlsVersion};

use crate::postgres;
use crate::processor::{Running, prepared};
use crate::virtual_time::form;

fn complaint(options: &Options) -> String {
    start(options).expect_err("refused").to_string()
}

#[test]
fn mistakes_of_the_operator_are_named() {
    let (folder, options, _, _) = prepared();
    let nothing = folder.path().join("nothing.json");
    for (changed, expected) in [
        (Options { keys: Some(nothing), ..options.clone() }, "--make-key NAME"),
        (Options { listen: "0.0.0.0:0".parse().unwrap(), ..options.clone() }, "in the clear"),
        (Options { database: Some("mysql://x".into()), ..options.clone() }, "not a known kind"),
        (Options { cores: Some(vec![]), ..options.clone() }, "at least one core"),
        (Options { public_url: Some("https://a.example/x".into()), ..options.clone() }, "no path"),
        (Options { public_url: Some("ftp://a.example".into()), ..options.clone() }, "https URL"),
        (Options { slow_card: Duration::from_secs(3601), ..options.clone() }, "at most 3600"),
        (
            Options { database: Some(postgres::absent_database()), ..options.clone() },
            "no such database",
        ),
    ] {
        let line = complaint(&changed);
        assert!(line.contains(expected), "{line}");
    }
    std::fs::write(options.keys_file(), "{}").unwrap();
    let line = complaint(&options);
    assert!(line.contains("others may read it") || line.contains("no file of keys"), "{line}");
}

#[test]
fn a_database_of_something_else_is_left_alone() {
    let (folder, options, _, _) = prepared();
    let file = folder.path().join("card.db");
    let run = |sql: &str| {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let mut connection = Location::Sqlite(file.clone()).connect().await.unwrap();
            connection.script(sql.into()).await.unwrap();
            connection.close().await;
        });
    };
    run("CREATE TABLE other (x INTEGER)");
    assert!(complaint(&options).contains("tables of something else"));
    run("CREATE TABLE site_notes (name TEXT PRIMARY KEY, value TEXT NOT NULL);
         INSERT INTO site_notes VALUES ('kind', 'auction'), ('version', '2')");
    assert!(complaint(&options).contains("(auction 2); this is card 2"));
}

#[test]
fn payments_and_keys_outlive_a_restart_on_both_databases() {
    for mut it in [Running::on_sqlite(), Running::on_postgres()] {
        let created = it.create("d-1");
        it.restart();
        let again = it.create("d-1");
        assert_eq!((again.status, &again.text), (201, &created.text));
        assert_eq!(again.headers["idempotent-replayed"], "true");
        let path = format!("/v1/payments/{}/capture", it.authorised("d-1"));
        assert_eq!(it.post(&path, "k", &json!({})).status, 200);
    }
}

#[test]
fn processors_that_start_at_once_on_one_database_share_it() {
    for database in [None, Some(postgres::new_database())] {
        let (_folder, mut options, key, _) = prepared();
        options.database = database;
        let sites = std::thread::scope(|scope| {
            [(); 2].map(|()| scope.spawn(|| start(&options))).map(|it| it.join().unwrap().unwrap())
        });
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
        runtime.block_on(async {
            let client = |url: &str| Client::new(url, &key, None, Patience::default()).unwrap();
            let one = client(sites[0].url());
            let two = client(sites[1].url());
            let k = Key::new("k").unwrap();
            let new = form("d-1");
            let first = one.create(&k, &new).await.unwrap();
            assert_eq!(two.create(&k, &new).await.unwrap().id, first.id);
        });
        sites.into_iter().for_each(|site| site.shutdown());
    }
}

#[test]
fn over_tls_a_client_trusts_the_certificate_that_was_made_and_no_other() {
    let tls = Tls { version: TlsVersion::V13, files: None, resumption: true, clients: None };
    let it = Running::with(None, |options| options.tls = Some(tls));
    let url = format!("https://{}", it.browser.address());
    let certificate = it.folder().join("card-certificate.pem");
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let patience = Patience { call: Duration::from_secs(2), ..Patience::default() };
        let client = Client::new(&url, &it.key, Some(&certificate), patience).unwrap();
        let k = Key::new("k").unwrap();
        let paid = client.create(&k, &form("d-1")).await.unwrap();
        assert_eq!(paid.status, Status::RequiresCard);
        let stranger = Client::new(&url, &it.key, None, patience).unwrap();
        let error = stranger.payment(&paid.id).await.unwrap_err().to_string();
        assert!(error.contains("certificate"), "{error}");
    });
}
