//! What the study leaves in its folder beside the raw data of its steps.

use serde_json::{Value, json};
use tidegate_host::Machine;

use super::beyond::Window;
use super::tables::{flat, summary};
use super::{Report, figures, page};
use crate::site::step::Step;
use tidegate_experiment::output::parquet;
use tidegate_experiment::output::png::write_figures;
use tidegate_experiment::{Folder, Result, Row};

/// Name of the table of all steps and windows.
pub(super) const RESULTS: &str = "results.parquet";

/// Writes the table, the figures, the page, and the summary last. Gives what a user has to know of
/// the figures.
///
/// # Errors
/// A file cannot be written; then there is no summary.
pub(super) fn write(folder: &Folder, report: &Report) -> Result<Option<&'static str>> {
    let summary = summary(report);
    folder.write(RESULTS, &parquet::table(&results(report, &summary.machine))?)?;
    let drawn = figures::all(report);
    let palette = figures::palette(&drawn);
    let files = drawn.iter().map(|figure| (figure.id, figure.file(&palette)));
    let note = write_figures(folder, files)?;
    folder.write("report.html", page::page(report, &drawn, &palette).as_bytes())?;
    folder.finish(&summary)?;
    Ok(note)
}

/// A row for each step of the staircase and each window of the comparison, in the order of
/// measurement, with what it was made from. `part` tells which it is: `staircase`, `baseline` or
/// `comparison`; a step of the staircase has no `round`, and only a window of the comparison has a
/// `multiple`.
fn results(report: &Report, machine: &Machine) -> Vec<Row> {
    let row = |step: &Step, of: Value| {
        let mut row = flat(step);
        // Of a step without the site's processes; those of the others are in fields of their own.
        row.remove("host");
        // Columns hold no lists.
        for value in row.values_mut() {
            if let Value::Array(of) = value {
                *value = if of.is_empty() { Value::Null } else { json!(json!(of).to_string()) };
            }
        }
        row.extend(flat(&of));
        row.extend(flat(&json!({
            "commit": report.provenance.commit,
            "started_unix_s": report.provenance.started_unix_s,
            "machine": machine.to_string(),
        })));
        row
    };
    let staircase = json!({ "part": "staircase", "round": null, "multiple": null, "gate": false });
    let steps = report.steps.iter().map(|step| row(step, staircase.clone()));
    let windows = report.windows.iter().map(|Window { round, multiple, gate, step }| {
        let part = if multiple.is_none() { "baseline" } else { "comparison" };
        let of = json!({ "part": part, "round": round + 1, "multiple": multiple, "gate": gate });
        row(step, of)
    });
    steps.chain(windows).collect()
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::report;
    use super::*;
    use crate::site::host_use::{HostUse, ProcessUse};
    use ::parquet::file::reader::{FileReader, SerializedFileReader};
    use ::parquet::record::Field;

    fn value(field: &Field) -> Value {
        match field {
            Field::Null => Value::Null,
            Field::Bool(value) => json!(value),
            Field::Long(value) => json!(value),
            Field::Double(value) => json!(value),
            Field::Str(value) => json!(value),
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn every_step_and_window_is_a_row_with_its_commit_and_machine() {
        let mut report = report(true);
        report.provenance.commit = "abc".into();
        let host = HostUse {
            processes: vec![ProcessUse { pid: 7, name: "shop".into(), cpus: 1.5 }],
            cpus: 1.5,
            ..HostUse::default()
        };
        report.steps[1].host = Some(host);
        report.steps[2].driver_saturated_because = vec!["late".into()];
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::create(out.path()).unwrap();
        write(&folder, &report).unwrap();

        let file = std::fs::File::open(folder.file(RESULTS)).unwrap();
        let reader = SerializedFileReader::new(file).unwrap();
        let row = |row: ::parquet::record::Row| {
            let fields = row.get_column_iter();
            Row::from_iter(fields.map(|(name, field)| (name.clone(), value(field))))
        };
        let rows = reader.get_row_iter(None).unwrap();
        let read: Vec<Row> = rows.map(|it| row(it.unwrap())).collect();
        // Three rounds of a baseline and six windows.
        assert_eq!(read.len(), report.steps.len() + 3 * 7);
        let machine = folder.result().unwrap().machine.to_string();
        for row in &read {
            assert_eq!((&row["commit"], &row["machine"]), (&json!("abc"), &json!(machine)));
        }
        assert_eq!((&read[0]["part"], &read[0]["round"]), (&json!("staircase"), &Value::Null));
        assert_eq!(read[0]["rate_per_s"], json!(25.0));
        assert_eq!((&read[0]["host_cpus"], &read[1]["host_cpus"]), (&Value::Null, &json!(1.5)));
        assert!(read[1]["host_processes"].as_str().unwrap().contains("shop"));
        assert_eq!(read[2]["driver_saturated_because"], json!("[\"late\"]"));
        let baseline = &read[report.steps.len()];
        assert_eq!((&baseline["part"], &baseline["round"]), (&json!("baseline"), &json!(1)));
        let last = read.last().unwrap();
        assert_eq!((&last["part"], &last["round"]), (&json!("comparison"), &json!(3)));
        assert_eq!((&last["multiple"], &last["gate"]), (&json!(4.0), &json!(true)));
    }
}
