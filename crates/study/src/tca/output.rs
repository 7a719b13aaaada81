//! What is left in the folder of a result beside the raw data of its runs.

use serde_json::{Value, json};

use super::{NAME, Report, figures, page};
use crate::capacity::flat;
use tidegate_experiment::output::parquet;
use tidegate_experiment::output::png::write_figures;
use tidegate_experiment::{Folder, Result, Row, Summary};

/// Name of the table of all runs.
pub(super) const RESULTS: &str = "results.parquet";

/// Writes the table, the figures, the page, and the summary last. Gives what a user has to know of
/// the figures.
///
/// # Errors
/// A file cannot be written; then there is no summary.
pub(super) fn write(folder: &Folder, report: &Report) -> Result<Option<&'static str>> {
    folder.write(RESULTS, &parquet::table(&runs(report))?)?;
    let first: Vec<_> = figures::verification(report).into_iter().collect();
    let curves = figures::curves(report);
    let palette = figures::palette(first.iter().chain(&curves));
    let files = first.iter().map(|figure| (figure.id, figure.file(&palette)));
    let note = write_figures(folder, files)?;
    let page = page::page(report, &first, &curves, &palette);
    folder.write("report.html", page.as_bytes())?;
    folder.finish(&summary(report))?;
    Ok(note)
}

/// The result in the form of all studies. `operations` has a row for each operation with what one
/// costs in `cpu_s` (all of the site's processes) and in `used`, by resource; `sums` one for each
/// resource, `result` one in all, `verification` one for each step.
pub(super) fn summary(report: &Report) -> Summary {
    let mut summary = Summary::new(NAME, report.options.quick, report.provenance.clone());
    let mut profile = flat(&json!({
        "session_s": report.profile.session_s,
        "sessions": report.profile.sessions,
        "checkout": report.profile.checkout,
        "of": report.profile_of,
    }));
    profile.insert("operations_each".into(), json!(report.profile.operations_each()));
    let tables = [
        ("result", vec![result(report)]),
        (
            "operations",
            (0..report.costs.operations.len()).map(|at| operation(report, at)).collect(),
        ),
        ("profile", vec![profile]),
        ("sums", report.predicted.sums.iter().map(flat).collect()),
        ("verification", report.steps.iter().map(flat).collect()),
        ("reasons", report.accuracy.iter().flat_map(|it| &it.reasons).map(flat).collect()),
    ];
    summary.tables = tables.into_iter().map(|(name, rows)| (name.to_owned(), rows)).collect();
    summary
}

fn result(report: &Report) -> Row {
    let predicted = &report.predicted;
    let tightest = predicted.tightest.map(|at| predicted.sums[at].resource.clone());
    let scenario = &report.options.plan.scenario;
    flat(&json!({
        "target": report.options.plan.target,
        "scenario": scenario.name(),
        "sessions_per_s": predicted.sessions_per_s,
        "customers": predicted.customers,
        "page_views_per_hour": predicted.page_views_per_hour,
        "orders_per_hour": predicted.orders_per_hour,
        "with_driver_per_s": predicted.with_driver_per_s,
        "tightest": tightest,
        "unknown": predicted.unknown,
        "machine": report.machine,
        "processes": report.processes,
        "time_scale": report.time_scale,
        "off": report.costs.off,
        "mhz": report.options.mhz,
        "cpu_error": report.accuracy.as_ref().and_then(|it| it.cpu_error),
        "throughput_error": report.accuracy.as_ref().and_then(|it| it.throughput_error),
        "peak_completed_per_s": report.accuracy.as_ref().map(|it| it.peak_per_s),
    }))
}

/// What an operation costs, with how often a session has it.
fn operation(report: &Report, at: usize) -> Row {
    let cost = &report.costs.operations[at];
    let used: Vec<Value> = report
        .resources
        .iter()
        .zip(&cost.used)
        .map(|(resource, used)| json!({ "resource": resource, "used": used }))
        .collect();
    let mut row = flat(&json!({
        "operation": cost.operation,
        "per_session": report.profile.per_session(&cost.operation),
        "cpu_s": report.cpu_s(at),
        "runs": cost.runs,
        "curve": cost.curve,
        "ceiling_per_s": cost.ceiling_per_s,
        "group": cost.group,
        "way": report.ways.get(at),
    }));
    row.insert("used".into(), json!(used));
    row
}

/// A row for each run, in the order of measurement.
fn runs(report: &Report) -> Vec<Row> {
    let row = |run: &super::Run| {
        let mut row = flat(run);
        let name =
            run.operation.map(|at| report.costs.operations.get(at).map(|it| it.operation.clone()));
        row.insert("operation".into(), json!(name));
        let counts = report.operations.iter().zip(&run.counts_per_s);
        row.extend(counts.map(|(name, count)| (format!("per_s_{name}"), json!(count))));
        let used = report.resources.iter().zip(&run.used_per_s);
        row.extend(used.map(|(it, used)| (format!("used_per_s_{}", it.name), json!(used))));
        // Columns hold no lists.
        for name in ["counts_per_s", "used_per_s", "driver_saturated_because"] {
            row.remove(name);
        }
        row.insert("driver_saturated".into(), json!(!run.driver_saturated_because.is_empty()));
        row.extend(flat(&json!({
            "commit": report.provenance.commit,
            "started_unix_s": report.provenance.started_unix_s,
        })));
        row
    };
    report.runs.iter().map(row).collect()
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::report;
    use super::*;

    #[test]
    fn the_summary_has_what_a_plan_reads_and_every_file_is_written() {
        let out = tempfile::tempdir().unwrap();
        let folder = Folder::create(out.path()).unwrap();
        write(&folder, &report()).unwrap();
        for file in [RESULTS, "report.html", "figures/verification.svg"] {
            assert!(folder.file(file).metadata().unwrap().len() > 100, "{file}");
        }
        let tables = folder.result().unwrap().tables;
        let home = &tables["operations"][0];
        assert_eq!((&home["operation"], &home["per_session_value"]), (&json!("Home"), &json!(1.0)));
        assert!((home["cpu_s_value"].as_f64().unwrap() - 0.01).abs() < 1e-3, "{home:?}");
        assert!(home["curve_up_to"].is_number() && home["used"].is_array(), "{home:?}");
        assert_eq!(tables["profile"][0]["session_s_value"], json!(60.0));
        let result = &tables["result"][0];
        assert_eq!(result["tightest"], json!("shop"));
        assert!(result["orders_per_hour_low"].as_f64() > Some(0.0), "{result:?}");
        assert_eq!(tables["verification"].len(), 6);
    }
}
