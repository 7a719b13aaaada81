//! The reference page of the configuration, generated from the declared keys.

use super::fields::tables;
use super::flags::Flags;
use super::{certificates, pools, routes};
use crate::limits::{HELLOS_REMEMBERED, SESSIONS, UNPROVEN_AT_ONCE, UNPROVEN_PER_SECOND};
use std::fmt::Write;
use tidegate_config::{Table, write_keys};

/// The text of `docs/configuration.md`: a table per section with type, range,
/// default, meaning and reason of every key.
pub fn reference() -> String {
    let mut page = String::from(INTRODUCTION);
    for table in tables() {
        let _ = write!(page, "\n## [{}]\n\n{}\n\n", table.name, table.about);
        write_keys(&mut page, &table);
        if table.name == "tls" {
            write_list(&mut page, "###", &certificates::table());
        }
        if table.name == "upstream" {
            write_list(&mut page, "##", &pools::table());
            write_list(&mut page, "##", &routes::table());
        }
    }
    write_fixed(&mut page);
    page.push_str("\n## Flags\n\nA flag overrides the same key of the file.\n\n");
    page.push_str("| flag | key |\n| --- | --- |\n");
    for flag in Flags::default().all() {
        let _ = writeln!(page, "| `{}` | `{}` |", flag.name, flag.key);
    }
    page
}

/// A table of which a file may have several.
fn write_list(page: &mut String, heading: &str, table: &Table) {
    let _ = write!(page, "\n{heading} [{}]\n\n{}\n\n", table.name, table.about);
    write_keys(page, table);
}

/// Bounds that no key changes.
fn write_fixed(page: &mut String) {
    page.push_str("\n## Fixed bounds\n\nNo key changes these.\n\n");
    page.push_str("| bound | value | what happens at it | why this value |\n");
    page.push_str("| --- | --- | --- | --- |\n");
    let _ = writeln!(
        page,
        "| sessions remembered | {SESSIONS} on all cores together | The sessions that ended \
         longest ago are removed, never one with an open connection. A customer of a removed \
         session is still recognized by the ticket and starts with a full `admission.session_burst`. | \
         About 100 MB at 100 bytes each. |"
    );
    let _ = writeln!(
        page,
        "| unfinished handshakes with a ticket | {UNPROVEN_AT_ONCE} of one address prefix on a core, \
         then {UNPROVEN_PER_SECOND} per second; each that finishes allows two more | A connection \
         with a ticket beyond them is new. | Tickets without their secret cost a key exchange each; \
         customers finish nearly all of their handshakes. |"
    );
    let _ = writeln!(
        page,
        "| hellos with a ticket remembered | {HELLOS_REMEMBERED} on each core | An exact copy of an \
         older hello counts as an unfinished handshake instead of being closed at once. | \
         About 1 MB at 20 bytes each. |"
    );
}

const INTRODUCTION: &str = "\
# Configuration of the gate

<!-- Generated from the gate's source; a test fails if they differ. -->

`tidegate gate --config FILE` reads a TOML file; `tidegate check FILE` checks one without
starting anything. Only `upstream.url` must be set. All mistakes are reported at once, a line
each: `file:LINE: section.key = value: rule; remedy`.

Durations are text with a unit: `\"250ms\"`, `\"10s\"`, `\"5m\"`, `\"12h\"`, `\"7d\"`. So are sizes:
`\"512B\"`, `\"64KiB\"`, `\"16MiB\"`. Paths in a file start in the folder of that file, paths of
flags in the working directory. `tidegate.example.toml` is a file to start from.
";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_has_a_row_with_a_reason() {
        let page = reference();
        for row in tables().iter().flat_map(|table| &table.rows) {
            let start = format!("| `{}` |", row.name);
            // Keys of routes have the same names, and no reasons.
            let mut lines = page.lines().filter(|line| line.starts_with(&start));
            assert!(lines.any(|line| line.matches(" | ").count() == 5), "{start}");
            assert!(row.reason.len() > 10 && row.meaning.ends_with('.'), "{}", row.name);
        }
    }

    #[test]
    fn every_flag_stands_for_a_declared_key() {
        let tables = tables();
        for flag in Flags::default().all() {
            let (table, key) = flag.key.split_once('.').unwrap();
            let table = tables.iter().find(|declared| declared.name == table).unwrap();
            assert!(table.names().contains(&key), "{}", flag.name);
        }
    }
}
