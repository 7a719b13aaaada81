//! What a study leaves beside its runs: tables, figures, the page and the summary.

mod page;
mod parquet;
pub(crate) mod png;

use tidegate_report::svg_file;

use crate::Result;
use crate::analysis::{self, claims, figures, tables};
use crate::experiment::Experiment;
use crate::folder::Folder;
use crate::options::Options;
use crate::runner::Measured;
use crate::summary::Summary;
use page::Page;

/// Share of the servers' cores from which what others use is worth a note. The kernel's own work
/// for the network is less.
const NEIGHBOURS: f64 = 0.15;

/// Analyses complete runs, and writes everything to the study's folder; the summary last.
///
/// # Errors
/// A file cannot be written; then there is no summary.
pub fn finish(experiment: &Experiment, options: &Options, measured: &Measured) -> Result<Summary> {
    let folder = Folder::create(&options.out)?;
    let runs = analysis::runs(&measured.records);
    let provenance = tidegate_host::Provenance::read();
    let mut summary = Summary::new(&experiment.name, options.quick, provenance);
    summary.machine = measured.machine.clone();
    summary.tables = tables::tables(experiment, &measured.records, &runs);
    summary.claims = claims::check(experiment, &runs, options.quick);
    let rows = tables::every_run(experiment, &measured.records);
    folder.write("results.parquet", &parquet::table(&rows)?)?;
    let drawn = figures::figures(experiment, &runs, options.quick, &measured.unit);
    let svg = |figure: &figures::Drawn| {
        let names: Vec<&str> = figure.lines.iter().map(|line| line.name.as_str()).collect();
        let title = format!("{} ({})", figure.title, figure.subtitle());
        svg_file(&figure.chart().svg(), title.trim_end_matches(" ()"), &names)
    };
    let files = drawn.iter().map(|figure| (figure.id.as_str(), svg(figure)));
    let has_font = png::write_figures(&folder, files)?;
    let mut notes = measured.notes.clone();
    if !has_font {
        notes.push(
            "No font is installed, so figures are SVG only; install fonts-dejavu-core for PNG."
                .into(),
        );
    }
    let commits = commits(measured);
    if commits.len() > 1 {
        notes.push(format!("The runs are of several commits: {}.", commits.join(", ")));
    }
    let neighbours = analysis::mean(&runs, "neighbour_use").unwrap_or_default();
    if neighbours > NEIGHBOURS {
        notes.push(format!(
            "Other processes used {:.0} % of the servers' cores on average, so figures and intervals are rougher than on a quiet machine.",
            100.0 * neighbours
        ));
    }
    match analysis::unsound(&measured.records) {
        0 => {}
        1 => notes.push(
            "One run is left out of claims and figures: the load generator was saturated.".into(),
        ),
        count => notes.push(format!(
            "{count} runs are left out of claims and figures: the load generator was saturated."
        )),
    }
    let page = Page {
        experiment,
        options,
        summary: &summary,
        drawn: &drawn,
        notes: &notes,
        unit: &measured.unit,
        cores: &measured.cores,
    };
    folder.write("report.html", page.html().as_bytes())?;
    folder.finish(&summary)?;
    Ok(summary)
}

/// The commits of the runs.
fn commits(measured: &Measured) -> Vec<String> {
    let all = measured.records.iter().map(|record| record.provenance.commit.clone());
    let mut commits: Vec<String> = all.collect();
    commits.sort();
    commits.dedup();
    commits
}
