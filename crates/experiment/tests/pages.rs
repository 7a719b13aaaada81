//! Every figure in the README and on the pages of studies is one of the published tables.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tidegate_config::check_page;
use tidegate_experiment::publication::{NAMES, Names, Sheets, check, renew_block, renew_tables};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn studies() -> PathBuf {
    root().join("docs/studies")
}

/// README.md and the pages of studies, but for the reference, which is made from the source.
fn pages() -> Vec<PathBuf> {
    let entries = std::fs::read_dir(studies()).unwrap().map(|entry| entry.unwrap().path());
    let is_page = |path: &PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy();
        name.ends_with(".md") && name != "reference.md" && name != NAMES
    };
    let mut pages: Vec<PathBuf> = entries.filter(is_page).collect();
    pages.sort();
    pages.push(root().join("README.md"));
    pages
}

fn read(path: &Path) -> String {
    std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

#[test]
fn every_figure_in_the_text_is_one_of_the_published_tables() {
    let (names, sheets) =
        (Names::read(&read(&studies().join(NAMES))).unwrap(), Sheets::new(&studies()));
    let mut used = BTreeSet::new();
    let mut wrong: Vec<String> = Vec::new();
    for path in pages() {
        let found = check(&read(&path), &names, &sheets, &mut used);
        let name = path.strip_prefix(root()).unwrap().display().to_string();
        wrong.extend(found.into_iter().map(|it| format!("{name}:{}: {}", it.line, it.text)));
    }
    let unused = names.all().filter(|name| !used.contains(*name));
    wrong.extend(unused.map(|name| format!("{NAMES}: {name} is used on no page; take it away")));
    assert!(wrong.is_empty(), "\n{}\n", wrong.join("\n"));
}

/// `TIDEGATE_BLESS=1 cargo test -p tidegate-experiment --test pages` writes them anew.
#[test]
fn the_tables_of_the_pages_are_made_from_the_published_ones() {
    for path in pages() {
        let page = read(&path);
        let sheets = Sheets::new(&studies());
        let renewed = renew_block(&page, &sheets);
        let renewed = renewed.and_then(|page| renew_tables(&page, &sheets));
        let renewed = renewed.unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        check_page(&path, &renewed).unwrap();
    }
}
