//! docs/brokerage-security.md is complete and true: every requirement of the standard is there,
//! every row has a test that exists, and what it documents is what the site does.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use crate::browser::between;
use crate::deposit_site::DepositSite;
use crate::security::PAGES;
use crate::world::World;

const DOCUMENT: &str = include_str!("../../../../docs/brokerage-security.md");

/// The requirements of level 1 of OWASP ASVS 5.0.0.
const LEVEL_1: [&str; 70] = [
    "1.2.1", "1.2.2", "1.2.3", "1.2.4", "1.2.5", "1.3.1", "1.3.2", "1.5.1", "2.1.1", "2.2.1",
    "2.2.2", "2.3.1", "3.2.1", "3.2.2", "3.3.1", "3.4.1", "3.4.2", "3.5.1", "3.5.2", "3.5.3",
    "4.1.1", "4.4.1", "5.2.1", "5.2.2", "5.3.1", "5.3.2", "6.1.1", "6.2.1", "6.2.2", "6.2.3",
    "6.2.4", "6.2.5", "6.2.6", "6.2.7", "6.2.8", "6.3.1", "6.3.2", "6.4.1", "6.4.2", "7.2.1",
    "7.2.2", "7.2.3", "7.2.4", "7.4.1", "7.4.2", "8.1.1", "8.2.1", "8.2.2", "8.3.1", "9.1.1",
    "9.1.2", "9.1.3", "9.2.1", "10.4.1", "10.4.2", "10.4.3", "10.4.4", "10.4.5", "11.3.1",
    "11.3.2", "11.4.1", "12.1.1", "12.2.1", "12.2.2", "13.4.1", "14.2.1", "14.3.1", "15.1.1",
    "15.2.1", "15.3.1",
];

/// The part of the document below a heading.
fn section(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("\n## {heading}\n")).expect("the heading");
    rest.split("\n## ").next().expect("there is a first")
}

/// The rows of all tables of a text, without their heads.
fn rows(text: &'static str) -> Vec<Vec<&'static str>> {
    let mut rows = Vec::new();
    let mut lines = text.lines().peekable();
    while let Some(line) = lines.next() {
        let head = lines.peek().is_some_and(|next| next.starts_with("| ---"));
        if line.starts_with("| ") && !line.starts_with("| ---") && !head {
            rows.push(line.trim_matches('|').split(" | ").map(str::trim).collect());
        }
    }
    rows
}

/// What stands between backquotes.
fn quoted(text: &str) -> Vec<&str> {
    text.split('`').skip(1).step_by(2).collect()
}

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// The names of the tests of these folders.
fn tests(folders: &[&str]) -> BTreeSet<String> {
    let mut waiting: Vec<PathBuf> = folders.iter().map(|folder| root().join(folder)).collect();
    let mut found = BTreeSet::new();
    while let Some(path) = waiting.pop() {
        if path.is_dir() {
            waiting.extend(fs::read_dir(&path).unwrap().map(|entry| entry.unwrap().path()));
        } else if path.extension().is_some_and(|end| end == "rs") {
            let source = fs::read_to_string(&path).unwrap();
            let mut after_attribute = false;
            for line in source.lines().map(str::trim) {
                if line.starts_with("#[test]") || line.starts_with("#[tokio::test") {
                    after_attribute = true;
                } else if !line.starts_with('#') && !line.starts_with("//") {
                    let name = line.trim_start_matches("async ").strip_prefix("fn ");
                    if let (true, Some(name)) = (after_attribute, name) {
                        found.extend(name.split('(').next().map(str::to_owned));
                    }
                    after_attribute = false;
                }
            }
        }
    }
    found
}

#[test]
fn every_requirement_of_level_1_is_listed_once_in_its_order() {
    let (level_1, _) = section("OWASP ASVS level 1").split_once("Beyond level 1").unwrap();
    let listed: Vec<&str> =
        rows(level_1).iter().map(|row| row[0].trim_start_matches('V')).collect();
    assert_eq!(listed, LEVEL_1);
}

#[test]
fn every_row_has_tests_that_exist_or_says_why_it_has_none() {
    let known = tests(&["sites/kit", "sites/brokerage", "sites/card", "crates/cli/tests"]);
    assert!(known.len() > 500, "{}", known.len());
    let (mut named, mut without) = (0, Vec::new());
    for (heading, columns) in [("OWASP ASVS level 1", 4), ("Faults", 4)] {
        for row in rows(section(heading)) {
            assert_eq!(row.len(), columns, "{row:?}");
            let names = quoted(row[3]);
            for name in &names {
                assert!(known.contains(*name), "{name} of {row:?} is no test");
            }
            named += names.len();
            if names.is_empty() {
                let excuse =
                    ["does not apply", "not met: "].iter().any(|why| row[2].starts_with(why));
                assert!(excuse && row[3] == "–", "{row:?} has neither a test nor a reason");
                without.push(row[0]);
            } else {
                assert!(!row[2].starts_with("not met") && !row[2].starts_with("does not apply"));
            }
        }
    }
    assert!(named > 80, "{named}");
    // More of them is a step back: it takes a look at this test.
    assert_eq!(without.len(), 19, "{without:?}");
}

#[test]
fn the_documented_rules_are_those_of_the_forms() {
    let site = DepositSite::new(None);
    let customer = site.world.customer(1);
    let mut fields = BTreeSet::new();
    for path in ["/login", "/password", "/orders/new", "/deposits", "/main"] {
        let page = customer.page(path);
        for form in between(&page, "<form ", "</form>") {
            fields.extend(between(form, " name=\"", "\"").into_iter().map(str::to_owned));
        }
    }
    let documented: BTreeSet<String> =
        rows(section("Rules of input")).iter().map(|row| row[0].replace('`', "")).collect();
    assert_eq!(documented, fields);
}

#[test]
fn the_documented_pages_of_customers_need_a_session() {
    let world = World::new();
    let rows = rows(section("Who may do what"));
    let of = |who: &str| quoted(rows.iter().find(|row| row[0].starts_with(who)).expect("a row")[1]);
    let pages: Vec<&str> = of("a customer").into_iter().filter(|path| *path != "/logout").collect();
    assert_eq!(BTreeSet::from_iter(pages.iter().copied()), BTreeSet::from(PAGES));
    for path in pages {
        assert_eq!(world.browser().get(path).status, 401, "{path}");
    }
    for path in of("anybody") {
        if !["/static/…", "/prices"].contains(&path) {
            assert_eq!(world.browser().get(path).status, 200, "{path}");
        }
    }
}

#[test]
fn the_documented_limits_on_guessing_are_those_of_the_source() {
    let source = include_str!("../../../kit/src/login_limit.rs");
    let limits: Vec<[String; 2]> = ["OF_PAIR", "OF_ADDRESS", "OF_ACCOUNT"]
        .into_iter()
        .map(|name| {
            let (_, rest) = source.split_once(&format!("const {name}: Limit")).unwrap();
            let find = |before, after| between(rest, before, after)[0].to_owned();
            [find("burst: ", ","), find("from_secs(", ")") + " s"]
        })
        .collect();
    let documented: Vec<[String; 2]> = rows(section("Guessing"))
        .iter()
        .map(|row| [row[1].to_owned(), row[2].to_owned()])
        .collect();
    assert_eq!(documented, limits);
}

#[test]
fn dependencies_with_known_faults_fail_the_check() {
    let deny = fs::read_to_string(root().join("deny.toml")).unwrap();
    let (_, advisories) = deny.split_once("[advisories]").unwrap();
    let advisories = advisories.split("\n[").next().unwrap();
    assert!(advisories.contains("yanked = \"deny\""), "{advisories}");
    assert!(advisories.contains("ignore = []"), "an exception is documented: {advisories}");
    let check = fs::read_to_string(root().join("scripts/check")).unwrap();
    assert!(check.contains("cargo deny"), "scripts/check compares them");
    assert!(section("Dependencies").contains("within 7 days"));
}
