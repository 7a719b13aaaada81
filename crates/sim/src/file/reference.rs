//! The reference page of scenario files, made from the keys that their readers
//! declare.

use std::fmt::Write;

use tidegate_config::{Keys, Rule, write_keys};

use super::SCENARIO;
use super::arrivals::{ARRIVALS, BURSTS, SEGMENT, WAVE};
use super::course::{ATTACK, CHANGE};
use super::customers::{CLASS, HANDSHAKES};
use super::distributions::DISTRIBUTION;
use super::expectations::{EXPECTATION, RANGE};
use super::families::{FAMILIES, Takes};
use super::service::{DATABASE, GATE, PAUSES, ROOM, UPSTREAM, WORK};
use super::telemetry::{BLIND, TELEMETRY};
use crate::handshake_mix::HandshakeMix;
use crate::measure::Measure;
use crate::policies;

/// The text of `docs/simulation-scenarios.md`: every table of a scenario file with
/// type, range, default and meaning of its keys.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    for (title, keys) in tables() {
        let table = keys.table();
        let _ = write!(page, "\n## {title}\n\n{}\n\n", table.about);
        write_keys(&mut page, &table);
        match title {
            HANDSHAKE_COSTS => write_handshakes(&mut page),
            DISTRIBUTIONS => write_families(&mut page),
            EXPECTATIONS => write_names(&mut page),
            _ => {}
        }
    }
    page
}

const HANDSHAKE_COSTS: &str = "`tls` of a class";
const DISTRIBUTIONS: &str = "Distributions";
const EXPECTATIONS: &str = "[[expect]]";

/// Every table, in the order of the page, with its heading.
fn tables() -> Vec<(&'static str, &'static dyn Keys)> {
    vec![
        ("A scenario", &SCENARIO),
        ("[gate]", &GATE),
        ("`room` of the gate", &ROOM),
        ("[upstream]", &UPSTREAM),
        ("`pauses`", &PAUSES),
        ("[database]", &DATABASE),
        ("[work]", &WORK),
        ("[[customers]]", &CLASS),
        (HANDSHAKE_COSTS, &HANDSHAKES),
        (DISTRIBUTIONS, &DISTRIBUTION),
        ("[arrivals]", &ARRIVALS),
        ("Entries of `segments`", &SEGMENT),
        ("`bursts`", &BURSTS),
        ("`wave`", &WAVE),
        ("[[attacks]]", &ATTACK),
        ("[[changes]]", &CHANGE),
        ("[telemetry]", &TELEMETRY),
        ("`blind`", &BLIND),
        (EXPECTATIONS, &EXPECTATION),
        ("Measures of [[expect]]", &RANGE),
    ]
}

const INTRODUCTION: &str = "\
# Scenario files of the simulator

<!-- Generated from the simulator's source; a test fails if they differ. -->

A service, its customers and attackers, when they come, what changes, and what must come out: a
TOML file that `tidegate sim FILE` simulates and `tidegate check FILE` checks. All mistakes are
reported at once, a line each: `file:LINE: table.key = value: rule; remedy`. `tidegate sim
--reference` prints this page, `tidegate sim --show NAME` a scenario of the catalogue, as a file to
start from. [simulation.md](simulation.md) describes the model behind these keys.

The defaults are the demo: one core for gate and site, RSA-2048, an auction site at 40 times the
speed of life. A file says what is different, and what it is `about`. Loads are multiples of the
capacity, which is worked out from the file. Durations are text with a unit: `\"90us\"`, `\"250ms\"`,
`\"7s\"`, `\"2min\"`, `\"1h\"`.
";

/// What handshakes of a kind cost.
fn write_handshakes(page: &mut String) {
    page.push_str(
        "\nKinds of handshakes, by certificate and version (TLS 1.3 unless the name says 1.2), and \
         their CPU time in the gate. That of the TLS library alone is the server's side of rustls \
         0.23 with aws-lc-rs on one core. The demo measured one and a half times as much for the \
         kind that it uses, the rest being system calls; the other kinds are scaled alike.\n\n\
         | kind | full | resumed | library alone |\n| --- | --- | --- | --- |\n",
    );
    for name in HandshakeMix::NAMES {
        let Some(mix) = HandshakeMix::named(name) else { continue };
        let us = |seconds: f64| format!("{:.0} µs", seconds * 1e6);
        let _ = match HandshakeMix::in_the_library(name) {
            Some((full, resumed)) => writeln!(
                page,
                "| `{name}` | {} | {} | {full} and {resumed} µs |",
                us(mix.full()),
                us(mix.resumed())
            ),
            None => writeln!(page, "| `{name}` | none | none | no handshakes, no tickets |"),
        };
    }
}

/// What each family of distributions takes.
fn write_families(page: &mut String) {
    page.push_str(
        "\n```toml\n\
         first_request = { mean = \"2ms\", distribution = \"lognormal\", scv = 4.0 }\n\
         later_request = { values = [\"1ms\", \"20ms\"], weights = [0.9, 0.1] }   # as measured\n\
         ```\n\n\
         Means and tails of all of them are known in closed form, so that the capacity is worked \
         out whatever they are.\n\n\
         | family | beside `mean` |\n| --- | --- |\n",
    );
    for family in &FAMILIES {
        let beside = match family.takes {
            Takes::Nothing(_) => String::new(),
            Takes::Scv(range, _) => format!("`scv`, {}", range.range()),
            Takes::Stages => "`stages`".into(),
            Takes::Tail => "`index` and `max`".into(),
        };
        let _ = writeln!(page, "| `{}` | {beside} |", family.name);
    }
}

/// Names that stand for something in an expectation.
fn write_names(page: &mut String) {
    let list = |names: &[&str]| {
        let names: Vec<_> = names.iter().map(|name| format!("`{name}`")).collect();
        names.join(", ")
    };
    let _ = write!(
        page,
        "\n```toml\n[[expect]]\nloads = [2.0, 4.0]\ngoodput = {{ min = 0.95 }}\n\
         p95_ms = {{ max = 8 }}\n```\n\n| what | names |\n| --- | --- |\n\
         | [measures](simulation.md#measures) | {} |\n\
         | [policies](simulation.md#policies) | {} |\n",
        list(&Measure::ALL.map(Measure::name)),
        list(&policies::NAMES),
    );
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Scenario;

    /// Where a key of each table can stand: at the `@`, in one of these places.
    const PLACES: [&[&str]; 20] = [
        &["@"],
        &["[gate]\n@"],
        &["[gate]\nroom = { @ }"],
        &["[upstream]\n@"],
        &["[upstream]\npauses = { @ }"],
        &["[database]\n@"],
        &["[work]\n@"],
        &["[[customers]]\n@"],
        &["[[customers]]\ntls = { @ }"],
        &["[work]\nfirst_request = { @ }"],
        &["[arrivals]\n@"],
        &["[arrivals]\nsegments = [{ @ }]"],
        &["[arrivals]\nbursts = { @ }"],
        &["[arrivals]\nwave = { @ }"],
        &["[[attacks]]\n@", "[[attacks]]\nkind = \"handshakes\"\n@"],
        &[
            "[[changes]]\n@",
            "[[changes]]\ncores_of = \"gate\"\n@",
            "[[changes]]\nrequests = 2\n@",
            "[[changes]]\nhandshakes = 2\n@",
        ],
        &["[telemetry]\n@"],
        &["[telemetry]\nblind = { @ }"],
        &["[[expect]]\n@", "[[expect]]\ngoodput = { min = 0.5 }\n@"],
        &["[[expect]]\ngoodput = { @ }"],
    ];

    /// A scenario with a line in a place.
    fn with(place: &str, line: &str) -> String {
        let about = if line.starts_with("about") { "" } else { "about = \"x\"\n" };
        format!("{about}{}\n", place.replace("@", line))
    }

    #[test]
    fn every_key_of_the_page_is_read() {
        let mut unread = Vec::new();
        for ((title, keys), places) in tables().into_iter().zip(PLACES) {
            for row in keys.table().rows {
                // No key takes a date.
                let line = format!("{} = 1979-05-27", row.name);
                let is_read = |place: &&str| {
                    let mistakes =
                        Scenario::from_toml(&with(place, &line), "a.toml").unwrap_err().0;
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
        assert_eq!(tables().len(), PLACES.len());
    }

    #[test]
    fn a_default_of_the_page_changes_nothing_when_it_is_set() {
        let read = |place: &str, line: &str| {
            let scenario = Scenario::from_toml(&with(place, line), "a.toml");
            scenario.map(|scenario| format!("{scenario:?}"))
        };
        for ((title, keys), places) in tables().into_iter().zip(PLACES) {
            for row in keys.table().rows {
                let Some(value) = row.default else { continue };
                let line = format!("{} = {value}", row.name);
                let same = |place: &&str| {
                    let without = read(place, "");
                    without.is_ok() && without == read(place, &line)
                };
                assert!(places.iter().any(same), "{title}: {line} is no default");
            }
        }
    }

    #[test]
    fn every_key_has_a_line_of_five_cells() {
        let page = reference();
        let lines: Vec<&str> = page.lines().filter(|line| line.starts_with("| `")).collect();
        let keys: usize = tables().iter().map(|(_, keys)| keys.table().rows.len()).sum();
        assert_eq!(lines.len(), keys + FAMILIES.len() + HandshakeMix::NAMES.len());
        for (_, keys) in tables() {
            for row in keys.table().rows {
                assert!(row.meaning.ends_with('.') && !row.kind.is_empty(), "{row:?}");
                let start = format!("| `{}` | {} |", row.name, row.kind);
                let line = lines.iter().find(|line| line.starts_with(&start)).unwrap();
                assert_eq!(line.matches(" | ").count(), 4, "{line}");
            }
        }
    }
}
