//! What a study leaves beside its runs: tables, figures, the page and the summary.

mod page;
pub use crate::parquet;
pub mod png;

use tidegate_host::CoreUse;
use tidegate_report::Palette;

use crate::Result;
use crate::analysis::{self, by_run, claims, figures, tables};
use crate::environment::{self, ENVIRONMENT};
use crate::experiment::Experiment;
use crate::folder::Folder;
use crate::options::Options;
use crate::record::Record;
use crate::runner::Measured;
use crate::summary::{FIGURES, Summary};
use page::Report;

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
    let planned = analysis::planned_runs(&measured.records);
    summary.claims = claims::check(experiment, &planned, options.quick);
    let rows = by_run::every_run(experiment, &measured.records);
    let environment = environment::rows(&summary, &measured.records);
    summary.tables.insert(ENVIRONMENT.into(), environment);
    folder.write("results.parquet", &parquet::table(&rows)?)?;
    let drawn = figures::figures(experiment, &runs, options.quick, &measured.unit);
    summary.tables.insert(FIGURES.into(), figures::rows(&drawn));
    let palette = Palette::of(drawn.iter().flat_map(figures::Drawn::lines));
    let svg = |figure: &figures::Drawn| {
        let title = format!("{} ({})", figure.title, figure.subtitle());
        palette.file(&figure.svg(), title.trim_end_matches(" ()"))
    };
    let files = drawn.iter().map(|figure| (figure.id.as_str(), svg(figure)));
    let mut notes = measured.notes.clone();
    notes.extend(png::write_figures(&folder, files)?.map(str::to_owned));
    let commits = commits(measured);
    if commits.len() > 1 {
        notes.push(format!("The runs are of several commits: {}.", commits.join(", ")));
    }
    notes.extend(disturbance(&measured.records));
    for (reason, count) in analysis::unsound(&measured.records) {
        let runs = if count == 1 { "One run is".into() } else { format!("{count} runs are") };
        notes.push(format!("{runs} left out of claims and figures: {reason}."));
    }
    summary.add_notes(&notes);
    let page = Report {
        experiment,
        options,
        summary: &summary,
        drawn: &drawn,
        palette: &palette,
        notes: &notes,
        unit: &measured.unit,
        cores: &measured.cores,
    };
    folder.write("report.html", page.html().as_bytes())?;
    folder.finish(&summary)?;
    Ok(summary)
}

/// That other programs disturbed the runs, if they did on average.
fn disturbance(records: &[Record]) -> Option<String> {
    let runs = analysis::sound(records);
    let others = tidegate_stats::mean(runs.filter_map(Record::others_use))?;
    (others > CoreUse::DISTURBING).then(|| {
        format!(
            "Other programs used {:.0} % of the servers' cores on average, so figures and intervals \
             are rougher than on a quiet machine.",
            100.0 * others
        )
    })
}

/// The commits of the runs.
fn commits(measured: &Measured) -> Vec<String> {
    let all = measured.records.iter().map(|record| record.provenance.commit.clone());
    let mut commits: Vec<String> = all.collect();
    commits.sort();
    commits.dedup();
    commits
}

#[cfg(test)]
mod tests;
