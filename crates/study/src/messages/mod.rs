//! The study of what the security of messages costs: per message, and per connection.
//!
//! The same small service in several [configurations](Configuration); each is started anew,
//! and its first requests, batches of requests, two clients at a time, connections and sizes
//! are measured. The configurations of a round follow each other in random order.
//!
//! Source: paper 002, "Comparing the performance of GT3 security with SSL".

mod analysis;
mod claims;
mod client;
mod configuration;
mod connection;
mod figures;
mod java;
mod measure;
mod output;
mod page;
mod plan;
mod record;
mod results;
mod series;
mod server;
mod settings;
mod words;

use std::path::PathBuf;

pub use configuration::Configuration;
pub use plan::Volume;
pub(crate) use results::Kept;

use std::time::Instant;

use tidegate_experiment::turns::Order;
use tidegate_host::{Machine, Provenance};
use tidegate_load::Stop;

use java::Java;
use measure::Bench;
use record::{Record, time_for};
use settings::Settings;
use tidegate_experiment::FORMAT;
use tidegate_experiment::folder::Folder;
use tidegate_experiment::{Error, Event, Result, Summary};

/// Name of the study.
pub const NAME: &str = "messages";
/// What it is about, in a line.
pub const ABOUT: &str = "what security costs per message and per connection (paper 002)";

/// How the study is run.
#[derive(Clone, Debug)]
pub struct Options {
    /// Folder of the results.
    pub out: PathBuf,
    /// One round of shorter series.
    pub quick: bool,
    /// Continue a study that stopped: what is complete is not measured again.
    pub resume: bool,
    /// Seed of the order of the configurations.
    pub seed: u64,
    /// How much is measured; `None`: as much as `quick` says.
    pub volume: Option<Volume>,
    /// Leave out the configurations on Java.
    pub without_java: bool,
}

/// Runs what is missing of the study and writes its folder, the summary last.
///
/// # Errors
/// [`Error::Operator`]: the folder holds a study and `resume` is not set, or one of other
/// settings; otherwise a file cannot be written, a service does not start or does not answer as
/// it should, or the run was stopped. What is complete is kept.
pub fn run(options: &Options, stop: &Stop, show: &mut dyn FnMut(Event)) -> Result<Summary> {
    let volume = options.volume.unwrap_or_else(|| Volume::usual(options.quick));
    let (java, notes) = java(options)?;
    let settings = Settings {
        study: NAME.into(),
        format: FORMAT,
        version: env!("CARGO_PKG_VERSION").into(),
        quick: options.quick,
        seed: options.seed,
        requests: volume.requests,
        rounds: volume.rounds,
        java: java.is_some(),
        machine: Machine::read(),
    };
    let folder = settings.claim(&options.out, options.resume)?;
    notes.iter().for_each(|note| show(Event::Note(note)));
    let complete = measure_missing(&folder, &settings, Bench::new(volume, java)?, stop, show)?;
    output::write(&folder, options, &volume, notes, complete)
}

/// Java, unless it is left out or missing; then with a note.
fn java(options: &Options) -> Result<(Option<Java>, Vec<String>)> {
    if options.without_java {
        let note = "The configurations on Java were left out by --without-java.";
        return Ok((None, vec![note.to_owned()]));
    }
    match Java::find() {
        Ok(java) => Ok((Some(java), Vec::new())),
        Err(Error::Operator(text)) => {
            Ok((None, vec![format!("The configurations on Java are left out: {text}.")]))
        }
        Err(other) => Err(other),
    }
}

/// Measures what has no record yet, and keeps a record of each. All records, also those that
/// were complete.
fn measure_missing(
    folder: &Folder,
    settings: &Settings,
    bench: Bench,
    stop: &Stop,
    show: &mut dyn FnMut(Event),
) -> Result<Vec<Record>> {
    let provenance = Provenance::read();
    let configurations: Vec<_> =
        Configuration::ALL.into_iter().filter(|it| settings.java || !it.is_java()).collect();
    let turns = Order::seeded(settings.seed).turns(configurations.len(), settings.rounds);
    let all = turns.len();
    let mut complete = Record::read_all(folder.path(), settings);
    let is_complete = |configuration, round| {
        complete.iter().any(|it| (it.start.configuration, it.start.round) == (configuration, round))
    };
    let missing: Vec<_> = turns
        .map(|turn| (configurations[turn.contender], turn.round))
        .filter(|(configuration, round)| !is_complete(*configuration, *round))
        .collect();
    if !missing.is_empty() {
        folder.remove_result()?;
    }
    for (number, (configuration, round)) in missing.iter().copied().enumerate() {
        let what = format!("round {}: {configuration}", round + 1);
        let rest: Vec<_> = missing[number..].iter().map(|(it, _)| *it).collect();
        match time_for(&rest, &complete) {
            Some(left) => show(Event::Begin { what: &what, done: (complete.len(), all), left }),
            None => show(Event::Note(&format!("0/{all} {what} (time left: known after this)"))),
        }
        let begin = Instant::now();
        let measured = if stop.is_stopped() {
            Err(Error::Process("stopped".into()))
        } else {
            bench.measure(configuration, round, stop)
        };
        // What fails while everything ends is no failure of its own.
        let (start, series) = measured.map_err(|error| match stop.is_stopped() {
            true => stopped(folder, complete.len(), all),
            false => error,
        })?;
        let record = Record {
            settings: settings.clone(),
            provenance: provenance.clone(),
            took_s: begin.elapsed().as_secs_f64(),
            start,
            series,
        };
        record.write(folder)?;
        complete.push(record);
    }
    Ok(complete)
}

fn stopped(folder: &Folder, complete: usize, all: usize) -> Error {
    Error::Process(format!(
        "stopped; {complete} of {all} measurements are kept in {}, and --resume continues there",
        folder.path().display()
    ))
}
