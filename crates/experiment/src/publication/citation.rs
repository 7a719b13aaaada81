//! How published data are cited: a `CITATION.cff` beside them.
//!
//! Source: Citation File Format 1.2.0, <https://citation-file-format.github.io>.

use std::path::Path;

use serde_json::Value;

use crate::environment;
use crate::folder::{LARGEST, STATE};
use crate::summary::Summary;

/// Name of the file.
pub(super) const CITATION: &str = "CITATION.cff";
/// That of the program, whose authors and licences are those of the data.
const OF_PROGRAM: &str = include_str!("../../../../CITATION.cff");

/// The file of the study in `from`, with commit and date of its runs.
pub(super) fn citation(summary: &Summary, from: &Path) -> String {
    let state = tidegate_config::read_text(&from.join(STATE), LARGEST).unwrap_or_default();
    let state: Value = serde_json::from_str(&state).unwrap_or_default();
    let facts = environment::facts(summary);
    let fact = |what: &str| facts.iter().find(|it| it.0 == what).map_or("", |it| it.1.as_str());
    let about = state["experiment"]["about"].as_str().unwrap_or_default();
    // `2026-11-27 19:24 UTC to 2026-11-27 20:10 UTC`: data are complete with the last run.
    let last = fact("measured").rsplit(" to ").next().unwrap_or_default();
    let quick = if summary.quick { ", quick run" } else { "" };
    let fields = [
        ("title", format!("Tidegate study {}{quick}: tables and figures", summary.study)),
        ("type", "dataset".into()),
        ("version", state["version"].as_str().unwrap_or(env!("CARGO_PKG_VERSION")).into()),
        ("commit", fact("commit").into()),
        ("date-released", last.split(' ').next().unwrap_or_default().into()),
        ("abstract", about.into()),
    ];
    let mut text = String::from(
        "cff-version: 1.2.0\nmessage: \"If you use these data, please cite them as below.\"\n",
    );
    for (name, value) in fields.into_iter().filter(|(_, value)| !value.is_empty()) {
        // A string of JSON is one of YAML.
        text += &format!("{name}: {}\n", Value::from(value));
    }
    text + &part("authors") + &part("license")
}

/// A list of the program's file, with its name.
fn part(name: &str) -> String {
    let head = format!("{name}:");
    let mut lines = OF_PROGRAM.lines().skip_while(|line| *line != head);
    let first = lines.next().into_iter();
    let rest = lines.take_while(|line| line.starts_with(' '));
    first.chain(rest).map(|line| format!("{line}\n")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_host::Provenance;

    #[test]
    fn a_citation_names_what_when_and_by_whom_in_the_form_of_the_format() {
        let folder = tempfile::tempdir().unwrap();
        let state = r#"{"version": "0.9", "experiment": {"about": "why: \"it\" falls"}}"#;
        std::fs::write(folder.path().join(STATE), state).unwrap();
        let provenance = Provenance {
            commit: "c0ffee".into(),
            command: "tidegate study o".into(),
            started_unix_s: 1_795_775_520,
        };
        let text = citation(&Summary::new("o", true, provenance), folder.path());
        for line in [
            "cff-version: 1.2.0",
            "title: \"Tidegate study o, quick run: tables and figures\"",
            "type: \"dataset\"",
            "version: \"0.9\"",
            "commit: \"c0ffee\"",
            "date-released: \"2026-11-27\"",
            "abstract: \"why: \\\"it\\\" falls\"",
            "authors:",
            "  - name: \"Tidegate maintainers\"",
            "license:",
        ] {
            assert!(text.lines().any(|it| it == line), "{line}: {text}");
        }
        // Names at the margin, each once, and items of lists below them.
        let names: Vec<&str> = text
            .lines()
            .filter(|line| !line.starts_with("  - "))
            .map(|line| line.split_once(':').expect("a name").0)
            .collect();
        let known = ["cff-version", "message", "title", "type", "version", "commit"];
        let known = known.into_iter().chain(["date-released", "abstract", "authors", "license"]);
        assert_eq!(names, known.collect::<Vec<_>>());
    }

    #[test]
    fn the_file_of_the_program_has_what_is_taken_of_it() {
        assert!(part("authors").lines().count() > 1 && part("license").lines().count() > 1);
    }
}
