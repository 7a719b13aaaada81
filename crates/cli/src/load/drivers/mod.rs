//! `--drivers`: several processes of this program generate the load of one test. This
//! process is the lead: it starts them, shows their sum and merges their results. It
//! generates no load itself.

pub mod child;
mod files;
pub mod lead;
pub mod message;
pub mod set;

use tidegate_load::{Plan, Shard, Stop, Summary, write_seconds};

use files::Files;
use lead::Observer;
use message::Job;
use set::DriverSet;

/// Runs a plan with this number of drivers. `run` is the number of the run among those of
/// `--repeat`.
///
/// # Errors
/// A driver could not start, or every driver was lost.
pub fn run(
    plan: &Plan,
    run: u32,
    drivers: u32,
    stop: &Stop,
    notes: &mut dyn Observer,
) -> anyhow::Result<Summary> {
    let files = Files::new(plan.raw.as_deref(), plan.parquet.as_deref(), drivers)?;
    let jobs: Vec<Job> = (1..=drivers)
        .map(|number| {
            let index = number as usize - 1;
            let shard = Shard::new(number, drivers).expect("the flag has the same limit");
            let cores = plan.cores.iter().copied().skip(index).step_by(drivers as usize);
            let (raw, parquet) = files.of(index);
            Job { raw, parquet, ..Job::new(shard, run, cores.collect()) }
        })
        .collect();
    let set = DriverSet::start(&jobs)?;
    let ids: Vec<String> = set.ids().iter().map(u32::to_string).collect();
    notes.note(&format!("{drivers} drivers: processes {}", ids.join(", ")));
    let shards = jobs.iter().map(|job| job.shard).collect();
    let (summary, lost) = lead::lead(plan, set, shards, stop, notes)?;
    Ok(with_files(summary, plan, files.join(&lost)))
}

/// The result with the errors of its files; the seconds are written here.
pub fn with_files(mut summary: Summary, plan: &Plan, joined: Option<String>) -> Summary {
    let mut errors: Vec<String> = summary.raw_error.take().into_iter().chain(joined).collect();
    if let Some(csv) = &plan.csv
        && let Err(error) = write_seconds(&summary.series, csv)
    {
        errors.push(format!("{}: {error}", csv.display()));
    }
    summary.raw_error = (!errors.is_empty()).then(|| errors.join("; "));
    summary
}
