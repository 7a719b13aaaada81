//! The reference page of experiment files, made from the keys that the reader declares.

use std::fmt::Write;

use tidegate_config::{Keys, write_keys};

use super::keys::{
    CLAIM, EXPERIMENT, FACTOR, FIGURE, OVERHEAD, QUICK, SERVERS, SERVERS_SITE, SYSTEM, TABLE,
    WINDOWS, WORKLOAD,
};
use crate::{faults, metrics, phases};

const INTRODUCTION: &str = "\
# Experiment files

<!-- Generated from the source of the studies; a test fails if they differ. -->

An experiment is a TOML file that `tidegate study FILE` runs. All mistakes are reported at once,
a line each: `file:LINE: table.key = value: rule; remedy`. [README.md](README.md) shows how to
write one; `tidegate study list --show overload` prints one that ships.
";

const COURSES: &str = "
## Courses

Values over the position in a series, which a figure with `course` draws, and the table `courses`
has.

| course | unit | meaning |
| --- | --- | --- |
";

const PHASES: &str = "
## Phases

The `metric` of a claim can also name a phase. Those of `gate` and `request` need `trace = true`.
Phases of `gate` are means over the connections that ended in the window and were served; one that
did not occur took no time. `gate.handshake`, `gate.no_request` and `gate.connection` are sums of
the others.

| phase | unit | meaning |
| --- | --- | --- |
";

/// The text of `docs/studies/reference.md`: every table of an experiment file with type, range,
/// default and meaning of its keys.
pub fn reference() -> String {
    let mut page = INTRODUCTION.to_owned();
    let tables: [(&str, &dyn Keys); 12] = [
        ("An experiment", &EXPERIMENT),
        ("[system]", &SYSTEM),
        ("[workload]", &WORKLOAD),
        ("[windows]", &WINDOWS),
        ("[quick]", &QUICK),
        ("[[factors]]", &FACTOR),
        ("[[claims]]", &CLAIM),
        ("[[tables]]", &TABLE),
        ("[servers]", &SERVERS),
        ("[[servers.sites]]", &SERVERS_SITE),
        ("[overhead]", &OVERHEAD),
        ("[[figures]]", &FIGURE),
    ];
    for (title, keys) in tables {
        let table = keys.table();
        let _ = write!(page, "\n## {title}\n\n{}\n\n", table.about);
        write_keys(&mut page, &table);
    }
    for (title, keys) in faults::tables() {
        let table = keys.table();
        let _ = write!(page, "\n## {title}\n\n{}\n\n", table.about);
        write_keys(&mut page, &table);
    }
    page += "\n## Selections of runs\n\nThe values of `where` and `compared_with` are tables of \
             levels by factor: one level, a list of levels, or for numbers `\">= 2\"` and \
             `\"<= 2\"`. Runs with a saturated load generator are left out.\n\n\
             ## Metrics\n\n| metric | unit | meaning |\n| --- | --- | --- |\n";
    for metric in metrics::all() {
        let _ = writeln!(page, "| `{}` | {} | {} |", metric.name, metric.unit, metric.meaning);
    }
    page += COURSES;
    for course in metrics::COURSES {
        let _ = writeln!(page, "| `{}` | {} | {} |", course.name, course.unit, course.meaning);
    }
    page += PHASES;
    for phase in phases::all() {
        let _ = writeln!(page, "| `{}` | {} | {} |", phase.name, phase.unit, phase.meaning);
    }
    page
}
