//! The reference page of the configuration and the example file match the source.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use tidegate_config::check_page;
use tidegate_gate::config::{self, Config};

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// `TIDEGATE_BLESS=1 cargo test -p tidegate-gate --test gate config_reference` regenerates the page.
#[test]
fn the_reference_page_is_what_the_source_declares() {
    let path = root().join("docs/configuration.md");
    check_page(&path, &config::reference()).unwrap();
}

/// The flags are declared in a crate above this one, so the test reads its source.
#[test]
fn the_flags_of_the_page_are_those_of_the_command() {
    let source = std::fs::read_to_string(root().join("crates/cli/src/gate.rs")).unwrap();
    let (_, args) = source.split_once("pub struct Args {").unwrap();
    let (args, _) = args.split_once("\n}").unwrap();
    let fields = args.lines().filter_map(|line| line.trim().split_once(": Option<"));
    let command: BTreeSet<_> =
        fields.map(|(name, _)| format!("--{}", name.replace('_', "-"))).collect();
    let page = config::reference();
    let (_, flags) = page.split_once("## Flags").unwrap();
    let rows = flags.lines().filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed = rows.map(|(flag, _)| flag.to_owned());
    // The path of the file is no key of it, nor what concerns one process.
    let others = ["--config", "--pid-file"].map(str::to_owned);
    let listed: BTreeSet<_> = listed.chain(others).collect();
    assert_eq!(listed, command);
}

#[test]
fn the_example_file_is_accepted_and_changes_no_default() {
    let example = Config::from_file(&root().join("tidegate.example.toml"))
        .unwrap_or_else(|mistakes| panic!("{mistakes}"));
    let least = "[upstream]\nurl = \"http://127.0.0.1:8080\"";
    let least = Config::from_toml(least, "least.toml").unwrap();
    assert_eq!(example.listen, least.listen);
    assert_eq!(example.tls, least.tls);
    assert_eq!(example.upstream, least.upstream);
    assert_eq!(example.admission, least.admission);
    assert_eq!(example.limits, least.limits);
    assert_eq!(example.admin, least.admin);
    assert_eq!(example.log, least.log);
    assert_eq!(example.access_log, least.access_log);
    assert_eq!(example.trace, least.trace);
}
