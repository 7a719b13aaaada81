//! Checks how SQLite carries out the queries of the pages.

use super::{bids, comments, items, listing, mine, sales, users};
use crate::auction::options::Options;
use crate::auction::prepare::prepare;
use crate::database::{Fields, Record};
use crate::password::PasswordCost;

struct Step(String);

impl Record for Step {
    fn read(fields: &impl Fields) -> sqlx::Result<Self> {
        fields.text(3).map(Self)
    }
}

/// How each statement is carried out.
fn plans(statements: &[&'static str]) -> Vec<(&'static str, Vec<String>)> {
    let folder = tempfile::tempdir().unwrap();
    let options = Options {
        data: folder.path().into(),
        scale: Some(0.002),
        password_cost: PasswordCost::LIGHT,
        ..Options::default()
    };
    let location = prepare(&options).unwrap().location;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let mut connection = location.connect().await.unwrap();
        let mut plans = Vec::new();
        for statement in statements {
            let sql = sqlx::AssertSqlSafe(format!("EXPLAIN QUERY PLAN {statement}"));
            let steps: Vec<Step> = connection.all(sql, &[]).await.unwrap();
            plans.push((*statement, steps.into_iter().map(|step| step.0).collect()));
        }
        plans
    })
}

#[test]
fn no_page_scans_a_table() {
    let statements = [
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
        bids::HISTORY,
        comments::ABOUT,
        mine::ALL,
        sales::ENDED,
    ];
    for (statement, steps) in plans(&statements) {
        for step in &steps {
            // Parts are the few rows that a query has gathered before.
            let fine = !step.starts_with("SCAN ") || step.starts_with("SCAN part_");
            assert!(fine, "{statement}\n{steps:#?}");
        }
    }
}

#[test]
fn lists_come_from_their_index_in_order() {
    let lists = [listing::IN_CATEGORY, listing::IN_REGION, listing::ENDING_SOON, bids::HISTORY];
    for (statement, steps) in plans(&lists) {
        let sorted = steps.iter().any(|step| step.contains("TEMP B-TREE"));
        assert!(!sorted, "{statement}\n{steps:#?}");
    }
}
