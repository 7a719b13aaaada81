//! What is left in the folder of a result beside the raw data of its runs.

use serde_json::json;
use tidegate_experiment::output::parquet;
use tidegate_experiment::{Folder, Result, Row, Summary};

use super::{NAME, Report, Trial, page, words};
use crate::capacity::flat;

/// Name of the table of all runs.
pub(super) const RESULTS: &str = "results.parquet";
/// Name of the page.
pub(super) const PAGE: &str = "report.html";

/// Writes the table of runs, the page, and the summary last.
///
/// # Errors
/// A file cannot be written; then there is no summary.
pub(super) fn write(folder: &Folder, report: &Report) -> Result<()> {
    folder.write(RESULTS, &parquet::table(&runs(report))?)?;
    folder.write(PAGE, page::page(report).as_bytes())?;
    folder.finish(&summary(report))?;
    Ok(())
}

/// The result in the form of all studies. `advice` has a row for each factor, `sessions` one for
/// each kind of connection and way of use, `connections` one for each kind, `not_offered` what the
/// site does not accept.
pub(super) fn summary(report: &Report) -> Summary {
    let mut summary = Summary::new(NAME, report.options.quick, report.provenance.clone());
    let result = flat(&json!({
        "target": report.options.plan.target,
        "scenario": report.options.plan.scenario.name(),
        "headline": report.advice.headline,
        "own_use": report.own_mode,
        "requests_each": report.requests_each,
        "cost_is_cpu_time": report.found.is_cpu,
        "processes": report.processes,
    }));
    let session = |it: &super::analysis::Session| {
        let mut row = flat(it);
        row.remove("gate_ms");
        row.insert("kind".into(), json!(report.kinds[it.kind].name()));
        let share = report.found.share(it.kind, it.mode);
        row.insert("handshake_share".into(), json!(share));
        row
    };
    let connection = |at: usize| {
        let price = report.found.price(at)?;
        let gate = |mode, which: usize| report.found.session(at, mode)?.gate_ms[which];
        Some(flat(&json!({
            "kind": report.kinds[at].name(),
            "factor": report.kinds[at].factor,
            "mutual": report.kinds[at].agreed.mutual,
            "certificates": report.kinds[at].agreed.certificates,
            "full_ms": price.full,
            "resumed_ms": price.resumed,
            "gate_full_ms": gate(super::Mode::Full, 0),
            "gate_resumed_ms": gate(super::Mode::Resumed, 1),
        })))
    };
    let sentence = |text: &String| Row::from_iter([("text".to_owned(), json!(text))]);
    let tables = [
        ("result", vec![result]),
        ("advice", report.advice.findings.iter().map(flat).collect()),
        ("connection_advice", report.advice.connections.iter().map(sentence).collect()),
        ("sessions", report.found.sessions.iter().map(session).collect()),
        ("connections", (0..report.kinds.len()).filter_map(connection).collect()),
        ("not_offered", report.not_offered.iter().map(flat).collect()),
    ];
    summary.tables = tables.into_iter().map(|(name, rows)| (name.to_owned(), rows)).collect();
    summary.add_notes(&words::notes(report));
    summary
}

/// A row for each run, in the order of measurement.
fn runs(report: &Report) -> Vec<Row> {
    let row = |trial: &Trial| {
        let mut row = flat(trial);
        row.insert("kind".into(), json!(report.kinds[trial.kind].name()));
        // Columns hold no lists.
        row.remove("driver_saturated_because");
        row.insert("driver_saturated".into(), json!(!trial.driver_saturated_because.is_empty()));
        row.extend(flat(&json!({
            "commit": report.provenance.commit,
            "started_unix_s": report.provenance.started_unix_s,
        })));
        row
    };
    report.trials.iter().map(row).collect()
}
