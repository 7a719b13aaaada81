//! Tests of SQLite's plans for the queries.

use rusqlite::Connection;

use super::{deliveries, events, payments};
use crate::schema;
use tidegate_sitekit::database::Location;
use tidegate_sitekit::once::key;

const ALL: [&str; 10] = [
    payments::BY_ID,
    payments::BY_REFERENCE,
    payments::BY_CHECKOUT,
    payments::DUE,
    payments::MOVEMENTS,
    events::FORGET,
    key::FIND,
    key::FORGET,
    deliveries::DUE,
    deliveries::DELIVERIES.give_up,
];

/// Of an index that is read in its order up to the first row.
const FIRST: &str = "SCAN payments USING COVERING INDEX payments_due";

#[tokio::test]
async fn no_query_reads_a_whole_table_or_sorts() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("card.db");
    let mut connection = Location::Sqlite(file.clone()).connect().await.unwrap();
    schema::prepare(&mut connection, "test", ["shop"].into_iter()).await.unwrap();
    connection.close().await;
    let connection = Connection::open(&file).unwrap();
    for statement in ALL {
        for step in plan(&connection, statement) {
            let fine = !step.starts_with("SCAN ") && !step.contains("TEMP B-TREE");
            assert!(fine, "{statement}\n{step}");
        }
    }
    assert_eq!(plan(&connection, payments::NEXT_DUE), [FIRST]);
}

fn plan(connection: &Connection, statement: &str) -> Vec<String> {
    let mut explain = connection.prepare(&format!("EXPLAIN QUERY PLAN {statement}")).unwrap();
    let steps = explain.raw_query().mapped(|row| row.get(3));
    steps.collect::<Result<_, _>>().unwrap()
}
