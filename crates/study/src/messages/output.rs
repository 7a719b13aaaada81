//! What the study leaves in its folder.

use std::collections::BTreeSet;

use tidegate_host::Provenance;
use tidegate_report::Palette;

use super::analysis::{
    batches, connections, first_requests, key_numbers, overheads, sizes, starts,
};
use super::plan::Volume;
use super::record::Record;
use super::results::{requests, results};
use super::series::Measured;
use super::{NAME, Options, claims, figures, page};
use tidegate_experiment::folder::Folder;
use tidegate_experiment::output::parquet;
use tidegate_experiment::output::png::write_figures;
use tidegate_experiment::{Result, Summary};

/// Writes the requests, the figures, the page, and the summary last.
///
/// # Errors
/// A file cannot be written; then there is no summary.
pub(super) fn write(
    folder: &Folder,
    options: &Options,
    volume: &Volume,
    mut notes: Vec<String>,
    records: Vec<Record>,
) -> Result<Summary> {
    notes.extend(commits(&records));
    folder.write("results.parquet", &parquet::table(&results(&records))?)?;
    let measured = &Measured::of_records(records);
    let mut summary = Summary::new(NAME, options.quick, Provenance::read());
    for (name, rows) in [
        ("key_numbers", key_numbers(measured)),
        ("overheads", overheads(measured)),
        ("first_requests", first_requests(measured)),
        ("batches", batches(measured, volume)),
        ("connections", connections(measured)),
        ("sizes", sizes(measured, volume)),
        ("starts", starts(measured)),
    ] {
        summary.tables.insert(name.to_owned(), rows);
    }
    summary.add_notes(&notes);
    summary.claims = claims::check(measured, volume);
    let every = parquet::groups(measured.series.iter().map(requests))?;
    folder.write("requests.parquet", &every)?;
    let drawn = figures::figures(measured, volume);
    let palette = Palette::of(drawn.iter().flat_map(|figure| &figure.lines));
    let files = drawn.iter().map(|figure| (figure.id, figure.file(&palette)));
    notes.extend(write_figures(folder, files)?.map(str::to_owned));
    let page = page::html(&summary, &drawn, &palette, &notes, volume);
    folder.write("report.html", page.as_bytes())?;
    folder.finish(&summary)?;
    Ok(summary)
}

/// A note where the measurements are of several commits.
fn commits(records: &[Record]) -> Option<String> {
    let commits: BTreeSet<&str> = records.iter().map(|it| it.provenance.commit.as_str()).collect();
    let all: Vec<&str> = commits.into_iter().collect();
    (all.len() > 1).then(|| format!("The measurements are of several commits: {}.", all.join(", ")))
}
