//! The reference page of scenario files, made from the keys that their readers
//! declare.

use std::fmt::Write;

use tidegate_config::{Keys, write_keys};

use super::arrivals::{ARRIVALS, BURSTS, REPLAY, SEGMENT, WAVE};
use super::classes::CLASS;
use super::connections::CONNECTIONS;
use super::document::SCENARIO;
use super::expectations::{CHECK, CHECK_JSON, EXTRACT};
use super::feeders::FEEDER;
use super::fields::FIELD;
use super::hosts::HOST;
use super::impatience::{COME_BACK, HAMMER, IMPATIENCE};
use super::names::PARAMETER;
use super::pages::PAGE;
use super::run::RUN;
use super::session::SESSION;
use super::steps::STEP;
use super::thresholds::THRESHOLD;
use super::tls::TLS;
use super::transitions::TRANSITIONS;
use crate::client::tls::algorithms::{KeyExchangeGroup, Suite};
use crate::scenario::field::NAMES;
use crate::scenario::thresholds::METRICS;

/// The text of `docs/scenarios.md`: every table of a scenario file with type,
/// range, default and meaning of its keys.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (title, keys) in tables() {
        let table = keys.table();
        let _ = write!(page, "\n## {title}\n\n{}\n\n", table.about);
        write_keys(&mut page, &table);
        if title == "[thresholds]" {
            write_metrics(&mut page);
        }
    }
    write_names(&mut page);
    page
}

/// Every table, in the order of the page, with its heading.
fn tables() -> Vec<(&'static str, &'static dyn Keys)> {
    vec![
        ("A scenario", &SCENARIO),
        ("[session]", &SESSION),
        ("Entries of `steps`", &STEP),
        ("`impatience`", &IMPATIENCE),
        ("`impatience.come_back`", &COME_BACK),
        ("`impatience.hammer`", &HAMMER),
        ("[hosts.NAME]", &HOST),
        ("[pages.NAME]", &PAGE),
        ("[pages.NAME.extract]", &EXTRACT),
        ("[pages.NAME.check] and [pages.NAME.soft_check]", &CHECK),
        ("`check.json`", &CHECK_JSON),
        ("[fields] and [pages.NAME.fields]", &FIELD),
        ("[parameters.NAME]", &PARAMETER),
        ("[feeders.NAME]", &FEEDER),
        ("[transitions]", &TRANSITIONS),
        ("[[classes]]", &CLASS),
        ("[arrivals] and [[arrivals]]", &ARRIVALS),
        ("Entries of `segments`", &SEGMENT),
        ("`wave`", &WAVE),
        ("`bursts`", &BURSTS),
        ("`replay`", &REPLAY),
        ("[run]", &RUN),
        ("[connections]", &CONNECTIONS),
        ("[tls]", &TLS),
        ("[thresholds]", &THRESHOLD),
    ]
}

const INTRODUCTION: &str = "\
# Scenario files

<!-- Generated from the load generator's source; a test fails if they differ. -->

Pages, customers, arrivals and connections of a load test: a TOML file that `tidegate load FILE
--target URL` runs and `tidegate check FILE` checks. All mistakes are reported at once, a line
each: `file:LINE: table.key = value: rule; remedy`. `tidegate load --reference` prints this page.
[load.md](load.md) describes the models behind these keys, [load-example.toml](load-example.toml)
is an example.

Durations are text with a unit: `\"250ms\"`, `\"7s\"`, `\"2min\"`, `\"1h\"`. Paths of files start in
the folder of the scenario.
";

/// The figures that a threshold can be about.
fn write_metrics(page: &mut String) {
    page.push_str(
        "\nEach stands under the name of its figure, which is about the measured window: \
         `response_p95_ms = { max = 500 }`. That of a page or a class stands under its name: \
         `page.Home.response_p95_ms = { max = 200 }`, `class.bots.refused_ratio = { min = 0.9 }`. \
         Milliseconds, numbers per second, or shares from 0 to 1.\n\n\
         | figure | what it is | of |\n| --- | --- | --- |\n",
    );
    for metric in METRICS {
        let _ = writeln!(page, "| `{}` | {} | {} |", metric.name, metric.meaning, metric.scopes());
    }
}

/// Names that stand for something.
fn write_names(page: &mut String) {
    let list = |names: Vec<String>| names.join(", ");
    let code = |name: &dyn std::fmt::Display| format!("`{name}`");
    let _ = write!(
        page,
        "\n## Names\n\n| where | names |\n| --- | --- |\n\
         | in braces in texts, besides parameters | {} |\n\
         | `transitions.table` | {} |\n| `tls.suites` | {} |\n| `tls.groups` | {} |\n",
        list(NAMES.iter().map(|name| format!("`{{{name}}}`")).collect()),
        list(crate::scenario::builtin::TABLES.iter().map(|name| code(name)).collect()),
        list(Suite::all().map(|suite| code(&suite)).collect()),
        list(KeyExchangeGroup::all().map(|group| code(&group)).collect()),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scenario::read::document::scenario;

    /// What a scenario needs.
    const NEEDED: [(&str, &str); 3] = [
        ("session", "[session]\nstart = \"Home\"\n"),
        ("pages", "[pages]\nHome = { path = \"/\" }\n"),
        ("transitions", "[transitions]\nHome = { End = 1 }\n"),
    ];

    /// Where a key of each table can stand: at the `@`, in one of these places.
    const PLACES: [&[&str]; 25] = [
        &["@"],
        &[
            "[session]\n@",
            "[session]\nstart = \"Home\"\n@",
            "[transitions]\nHome = { Home = 1 }\n[session]\nstart = \"Home\"\nduration = \"1min\"\n@",
        ],
        &[
            "[[classes]]\nname = \"a\"\nshare = 1\nsteps = [{ @ }]",
            "[[classes]]\nname = \"a\"\nshare = 1\nsteps = [{ page = \"Home\", @ }]",
        ],
        &["[session]\nstart = \"Home\"\nimpatience = { @ }"],
        &["[session]\nstart = \"Home\"\nimpatience = { come_back = { @ } }"],
        &["[session]\nstart = \"Home\"\nimpatience = { hammer = { @ } }"],
        &["[hosts.sso]\n@", "[hosts.sso]\nurl = \"https://login.test\"\n@"],
        &["[pages.Home]\n@", "[pages.Home]\npath = \"/\"\nbody = \"1\"\n@"],
        &[
            "[pages.Home]\npath = \"/\"\nextract = { a = { @ } }",
            "[pages.Home]\npath = \"/\"\nextract = { a = { css = \"a\", @ } }",
        ],
        &["[pages.Home]\npath = \"/\"\ncheck = { @ }"],
        &[
            "[pages.Home]\npath = \"/\"\ncheck = { json = { @ } }",
            "[pages.Home]\npath = \"/\"\ncheck = { json = { pointer = \"/a\", @ } }",
        ],
        &[
            "[fields]\na = { @ }",
            "[fields]\na = { above = \"b\", @ }",
            "[fields]\na = { by = [1, 2], @ }",
            "[fields]\na = { file = \"times.csv\", @ }",
        ],
        &["[parameters.a]\n@"],
        &["[feeders.a]\n@", "[feeders.a]\nfile = \"times.csv\"\n@"],
        &["[transitions]\n@", "[transitions]\nHome = { End = 1 }\n@"],
        &["[[classes]]\n@"],
        &["[arrivals]\n@", "[arrivals]\nrate = 1\n@", "[arrivals]\ncustomers = 1\n@"],
        &[
            "[arrivals]\nsegments = [{ @ }]",
            "[arrivals]\nsegments = [{ for = \"1s\", @ }]",
            "[arrivals]\nsegments = [{ for = \"1s\", from = 1, @ }]",
            "[arrivals]\nsegments = [{ for = \"1s\", to = 1, @ }]",
        ],
        &["[arrivals]\nwave = { @ }", "[arrivals]\nwave = { mean = 1, swing = 0.5, @ }"],
        &["[arrivals]\nbursts = { @ }"],
        &["[arrivals]\nreplay = { @ }", "[arrivals]\nreplay = { file = \"times.csv\", @ }"],
        &["[run]\n@"],
        &["[connections]\n@"],
        &["[tls]\n@", "[tls]\ncertificate = \"none.pem\"\n@"],
        &[
            "[thresholds]\nrequests_per_s = { @ }",
            "[thresholds]\nrequests_per_s = { min = 1, @ }",
            "[thresholds]\nrequests_per_s = { min = 1, abort_on_fail = true, @ }",
        ],
    ];

    /// A scenario with a line in a place, and what it needs besides.
    fn with(place: &str, line: &str) -> String {
        let mut text = place.replace("@", line) + "\n";
        for (name, needed) in NEEDED {
            let there = |line: &str| {
                line.starts_with(&format!("[{name}")) || line.starts_with(&format!("{name} ="))
            };
            if !text.lines().any(there) {
                text += needed;
            }
        }
        text
    }

    #[test]
    fn every_key_of_the_page_is_read() {
        let mut unread = Vec::new();
        for ((title, keys), places) in tables().into_iter().zip(PLACES) {
            for row in keys.table().rows {
                // No key takes a date.
                let line = format!("{} = 1979-05-27", row.name);
                let is_read = |place: &&str| {
                    let mistakes = scenario(&with(place, &line), "shop.toml").unwrap_err().0;
                    mistakes.into_iter().any(|mistake| {
                        let key = mistake.key.rsplit('.').next() == Some(row.name);
                        key && !mistake.rule.contains("not a known key")
                    })
                };
                if !places.iter().any(is_read) {
                    unread.push(format!("{title}: {}", row.name));
                }
            }
        }
        assert_eq!(unread, [""; 0]);
    }

    #[test]
    fn a_default_of_the_page_changes_nothing_when_it_is_set() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("times.csv"), "time\n0\n1\n").unwrap();
        let file = folder.path().join("shop.toml");
        let read = |place: &str, line: &str| {
            let parts = scenario(&with(place, line), &file.to_string_lossy());
            parts.map(|parts| format!("{parts:?}"))
        };
        for ((title, keys), places) in tables().into_iter().zip(PLACES) {
            for row in keys.table().rows {
                let Some(value) = row.default else { continue };
                let line = format!("{} = {value}", row.name);
                let same = |place: &&str| {
                    // A list in braces must not end with a comma.
                    let plain = place.replace(", @", "@");
                    let without = read(&plain, "");
                    without.is_ok() && without == read(place, &line)
                };
                assert!(places.iter().any(same), "{title}: {line} is no default");
            }
        }
    }

    #[test]
    fn every_key_and_figure_has_a_line_of_five_cells() {
        let page = reference();
        let keys: usize = tables().iter().map(|(_, keys)| keys.table().rows.len()).sum();
        let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        assert_eq!(lines.len(), keys + METRICS.len() + 3, "and three of names");
        for (_, keys) in tables() {
            for row in keys.table().rows {
                assert!(row.meaning.ends_with('.') && !row.kind.is_empty(), "{row:?}");
                let start = format!("| `{}` | {} |", row.name, row.kind);
                let line = lines.iter().find(|line| line.starts_with(&start)).unwrap();
                assert_eq!(line.matches(" | ").count(), 4, "{line}");
            }
        }
        assert!(page.contains(&format!("at most {}", crate::html::css::MOST)));
    }
}
