//! The reference page of the configuration, made from the declared settings.

use super::fields::sections;
use super::settings::{Preset, Row};
use super::{FLAGS, Section};
use crate::shared::SESSIONS;
use std::fmt::Write;

/// The text of `docs/configuration.md`: a table per section with type, range,
/// default, meaning and reason of every setting.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    for section in sections() {
        write_section(&mut page, &section);
    }
    write_fixed(&mut page);
    page.push_str("\n## Flags\n\nA flag goes before the same setting of a file.\n\n");
    page.push_str("| flag | setting |\n| --- | --- |\n");
    for row in &FLAGS {
        let _ = writeln!(page, "| `{}` | `{}.{}` |", row.flag, row.section, row.key);
    }
    page
}

/// Bounds that no setting changes.
fn write_fixed(page: &mut String) {
    page.push_str("\n## Fixed bounds\n\nNo setting changes these.\n\n");
    page.push_str("| bound | value | what happens at it | why this value |\n");
    page.push_str("| --- | --- | --- | --- |\n");
    let _ = writeln!(
        page,
        "| sessions remembered | {SESSIONS} on all cores together | Those who left longest ago \
         are forgotten; sessions with an open connection never are. Whoever comes back with a \
         ticket all the same is returning as before, with a fresh `admission.session_burst`. | \
         About 100 MB at 100 bytes each. |"
    );
}

const INTRODUCTION: &str = "\
# Configuration of the gate

<!-- Made from the gate's source; a test fails when both differ. -->

`tidegate gate --config FILE` reads a TOML file; `tidegate check FILE` checks one without
starting anything. Only `upstream.url` must be set. All mistakes are reported at once, a line
each: `file:LINE: section.key = value: rule; remedy`.

Durations are text with a unit: `\"250ms\"`, `\"10s\"`, `\"5m\"`, `\"12h\"`, `\"7d\"`. So are sizes:
`\"512B\"`, `\"64KiB\"`, `\"16MiB\"`. Paths in a file start in the folder of that file, paths of
flags in the working directory. `tidegate.example.toml` is a file to begin with.
";

fn write_section(page: &mut String, section: &Section) {
    let _ = write!(page, "\n## [{}]\n\n{}\n\n", section.name, section.meaning);
    page.push_str("| key | type | range | default | meaning | why this default |\n");
    page.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for row in &section.rows {
        let _ = writeln!(
            page,
            "| `{}` | {} | {} | {} | {} | {} |",
            row.key,
            cell(&row.kind),
            cell(&row.range),
            preset(row),
            cell(&row.meaning),
            cell(&sentence(row.reason)),
        );
    }
}

fn preset(row: &Row) -> String {
    let shown = row.shown.as_deref().unwrap_or_default();
    match row.preset {
        Preset::Is(_) => format!("`{}`", cell(shown)),
        Preset::Unset => "not set".into(),
        Preset::Required(_) => format!("must be set, as in `{}`", cell(shown)),
    }
}

/// With a capital letter and a full stop.
fn sentence(text: &str) -> String {
    let mut letters = text.chars();
    let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
    format!("{first}{}.", letters.as_str())
}

/// Text that does not end its table cell.
fn cell(text: &str) -> String {
    text.replace('|', "\\|").replace('\n', " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_setting_has_a_row_with_a_reason() {
        let page = reference();
        for row in sections().iter().flat_map(|section| &section.rows) {
            let start = format!("| `{}` |", row.key);
            let line = page.lines().find(|line| line.starts_with(&start)).unwrap();
            assert_eq!(line.matches(" | ").count(), 5, "{line}");
            assert!(row.reason.len() > 10 && row.meaning.ends_with('.'), "{}", row.key);
        }
    }

    #[test]
    fn flags_stand_for_settings_that_exist() {
        let sections = sections();
        for flag in &FLAGS {
            let section = sections.iter().find(|section| section.name == flag.section).unwrap();
            assert!(section.rows.iter().any(|row| row.key == flag.key), "{}", flag.flag);
        }
    }
}
