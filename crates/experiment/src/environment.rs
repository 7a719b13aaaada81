//! Where, when and how a study was measured, as a table of its summary.

use jiff::Timestamp;
use serde_json::json;

use crate::record::Record;
use crate::summary::{Row, Summary};

/// Name of the table in a summary.
pub(crate) const ENVIRONMENT: &str = "environment";

/// The table: what, and its value. Commits and times are those of the runs, which are older than
/// the summary where a study is analysed again.
pub(crate) fn rows(summary: &Summary, records: &[Record]) -> Vec<Row> {
    let sorted = |values: Vec<String>| {
        let mut values = values;
        values.sort();
        values.dedup();
        values.join(", ")
    };
    let origins = || records.iter().map(|record| &record.provenance);
    let times = origins().map(|it| it.started_unix_s);
    let (first, last) = (times.clone().min(), times.max());
    let own = &summary.provenance;
    let or_own =
        |values: String, own: &str| if values.is_empty() { own.to_owned() } else { values };
    let commands = origins().map(|it| as_anybody_would(&it.command));
    let rounds = records.iter().map(|record| record.planned.round + 1).max();
    let machine = &summary.machine;
    let measured = match (first, last) {
        (Some(first), Some(last)) if first < last => format!("{} to {}", date(first), date(last)),
        (Some(only), _) => date(only),
        _ => date(own.started_unix_s),
    };
    let runs = format!("{} in {} rounds", records.len(), rounds.unwrap_or_default());
    let all = [
        ("machine", format!("{}, {} processors", machine.cpu, machine.cpus)),
        ("kernel", format!("Linux {}", machine.kernel)),
        ("system", machine.system.clone()),
        ("commit", or_own(sorted(origins().map(|it| it.commit.clone()).collect()), &own.commit)),
        ("measured", measured),
        ("command", or_own(sorted(commands.collect()), &as_anybody_would(&own.command))),
        ("windows", if records.is_empty() { String::new() } else { runs }),
        ("run", if summary.quick { "quick; its figures are rough" } else { "full" }.to_owned()),
    ];
    let all = all.into_iter().filter(|(_, value)| !value.is_empty());
    all.map(|(what, value)| {
        Row::from_iter([("what".to_owned(), json!(what)), ("value".to_owned(), json!(value))])
    })
    .collect()
}

/// What and value of each row of the table.
pub(crate) fn facts(summary: &Summary) -> Vec<(String, String)> {
    let rows = match summary.tables.get(ENVIRONMENT) {
        Some(rows) => rows.clone(),
        None => rows(summary, &[]),
    };
    let text = |row: &Row, name: &str| {
        row.get(name).and_then(serde_json::Value::as_str).unwrap_or_default().to_owned()
    };
    rows.iter().map(|row| (text(row, "what"), text(row, "value"))).collect()
}

/// A command without what is of one machine, or of one start of a study: where the program and its
/// results are, and that it was continued.
pub(crate) fn as_anybody_would(command: &str) -> String {
    let mut words = command.split_whitespace();
    let program = words.next().unwrap_or_default();
    let mut told = vec![program.rsplit('/').next().unwrap_or_default()];
    while let Some(word) = words.next() {
        match word {
            "--out" => drop(words.next()),
            "--resume" => {}
            _ if word.starts_with("--out=") => {}
            _ => told.push(word),
        }
    }
    told.join(" ")
}

/// `2026-11-27 10:32 UTC`.
fn date(unix_s: u64) -> String {
    let second = i64::try_from(unix_s).ok().and_then(|it| Timestamp::from_second(it).ok());
    second.map_or_else(|| "unknown".into(), |it| it.strftime("%Y-%m-%d %H:%M UTC").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_host::Provenance;

    #[test]
    fn an_environment_names_processor_kernel_commit_date_and_command() {
        let provenance = Provenance {
            commit: "c0ffee".into(),
            command: "/home/me/tidegate study tiny --quick --out /tmp/a --resume".into(),
            started_unix_s: 1_795_775_520,
        };
        let mut summary = Summary::new("tiny", true, provenance);
        summary.machine.cpu = "AMD EPYC".into();
        summary.machine.kernel = "6.1.0".into();
        let facts = facts(&summary);
        let of = |what: &str| facts.iter().find(|it| it.0 == what).map_or("", |it| &it.1);
        assert!(of("machine").starts_with("AMD EPYC, "));
        assert_eq!(of("kernel"), "Linux 6.1.0");
        assert_eq!(of("commit"), "c0ffee");
        assert_eq!(of("measured"), "2026-11-27 10:32 UTC");
        assert_eq!(of("command"), "tidegate study tiny --quick");
        assert_eq!(of("run"), "quick; its figures are rough");
    }
}
