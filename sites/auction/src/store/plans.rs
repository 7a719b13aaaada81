//! Tests of SQLite's plans for the queries of the pages.

use rusqlite::config::DbConfig;
use rusqlite::{Connection, StatementStatus};
use tempfile::TempDir;

use super::{bids, comments, items, keywords, listing, mine, purchases, sales, users};
use crate::options::Options;
use crate::prepare::prepare;
use tidegate_sitekit::once::form;
use tidegate_sitekit::password::PasswordCost;

const ALL: [&str; 23] = [
    listing::IN_CATEGORY,
    listing::IN_REGION,
    listing::ENDING_SOON,
    listing::COUNT,
    listing::COUNT_BY_CATEGORY,
    listing::COUNT_BY_REGION,
    items::ACTIVE,
    items::ENDED,
    users::BY_ID,
    users::BY_NICKNAME,
    users::OPENED,
    bids::HISTORY,
    bids::BY_ID,
    comments::ABOUT,
    comments::BY_ID,
    purchases::BY_ID,
    sales::BY_ID,
    form::USED,
    form::EXPIRED,
    mine::ALL,
    sales::ENDED,
    keywords::COUNT_IN_SQLITE,
    keywords::FIND_IN_SQLITE,
];

#[test]
fn no_page_scans_a_table() {
    let (_folder, connection) = open();
    for statement in ALL {
        let steps = plan(&connection, statement);
        for step in &steps {
            // Subqueries are the few rows that a query has read before; an `M` is a
            // look-up in an index of words.
            let fine = !step.starts_with("SCAN ")
                || step.starts_with("SCAN part_")
                || (step.starts_with("SCAN item_words VIRTUAL TABLE") && step.contains(":M"));
            assert!(fine, "{statement}\n{steps:#?}");
        }
    }
}

#[test]
fn lists_come_from_their_index_in_order() {
    let (_folder, connection) = open();
    for statement in [listing::IN_CATEGORY, listing::IN_REGION, listing::ENDING_SOON, bids::HISTORY]
    {
        let steps = plan(&connection, statement);
        let sorted = steps.iter().any(|step| step.contains("TEMP B-TREE"));
        assert!(!sorted, "{statement}\n{steps:#?}");
    }
}

#[test]
fn other_values_do_not_prepare_a_statement_again() {
    let (_folder, connection) = open();
    for statement in ALL {
        let mut prepared = connection.prepare(statement).unwrap();
        for value in [1, 2, 3] {
            for place in 1..=prepared.parameter_count() {
                prepared.raw_bind_parameter(place, value).unwrap();
            }
            let mut rows = prepared.raw_query();
            while rows.next().unwrap().is_some() {}
            drop(rows);
            prepared.clear_bindings();
        }
        assert_eq!(prepared.get_status(StatementStatus::RePrepare), 0, "{statement}");
    }
}

/// A small population.
fn open() -> (TempDir, Connection) {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        data: folder.path().into(),
        scale: Some(0.002),
        password_cost: PasswordCost::LIGHT,
        ..Options::default()
    };
    prepare(&options).unwrap();
    let connection = Connection::open(folder.path().join("auction.db")).unwrap();
    connection.set_db_config(DbConfig::SQLITE_DBCONFIG_ENABLE_QPSG, true).unwrap();
    (folder, connection)
}

/// The steps in which a statement is carried out.
fn plan(connection: &Connection, statement: &str) -> Vec<String> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    let steps = explain.raw_query().mapped(|row| row.get(3));
    steps.collect::<Result<_, _>>().unwrap()
}
