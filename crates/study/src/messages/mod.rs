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
mod series;
mod server;
mod words;

use std::path::PathBuf;

pub use configuration::Configuration;
pub use plan::Volume;

use tidegate_lab::turns::Order;
use tidegate_load::Stop;

use crate::folder::Folder;
use crate::{Error, Result, Summary};
use java::Java;
use measure::Bench;
use series::Measured;

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
    /// Seed of the order of the configurations.
    pub seed: u64,
    /// How much is measured; `None`: as much as `quick` says.
    pub volume: Option<Volume>,
    /// Leave out the configurations on Java.
    pub without_java: bool,
}

/// Runs the study and writes its folder, the summary last. `tell` gets a line per step.
///
/// # Errors
/// The folder cannot be written; a service does not start or does not answer as it should;
/// the run was stopped.
pub fn run(options: &Options, stop: &Stop, tell: &mut dyn FnMut(&str)) -> Result<Summary> {
    let folder = Folder::create(&options.out)?;
    begin_anew(&folder)?;
    let volume = options.volume.unwrap_or_else(|| Volume::usual(options.quick));
    let mut notes = Vec::new();
    let java = if options.without_java {
        notes.push("The configurations on Java were left out by --without-java.".to_owned());
        None
    } else {
        match Java::find() {
            Ok(java) => Some(java),
            Err(Error::Operator(text)) => {
                notes.push(format!("The configurations on Java are left out: {text}."));
                None
            }
            Err(other) => return Err(other),
        }
    };
    notes.iter().for_each(|note| tell(note));
    let configurations: Vec<_> =
        Configuration::ALL.into_iter().filter(|it| java.is_some() || !it.is_java()).collect();
    let bench = Bench::new(volume, java)?;
    let mut measured = Measured::default();
    let turns = Order::seeded(options.seed).turns(configurations.len(), volume.rounds);
    let all = turns.len();
    for (done, turn) in turns.enumerate() {
        let configuration = configurations[turn.contender];
        tell(&format!("{}/{all} {configuration}", done + 1));
        bench.measure(configuration, turn.round, stop, &mut measured)?;
    }
    output::write(&folder, options, &volume, &notes, &measured)
}

/// Takes an earlier result away: the folder has none until this run is complete.
fn begin_anew(folder: &Folder) -> Result<()> {
    let path = folder.file("summary.json");
    if !path.exists() {
        return Ok(());
    }
    match folder.result() {
        Ok(earlier) if earlier.study == NAME => std::fs::remove_file(&path)
            .map_err(|error| Error::Machine(format!("cannot remove {}: {error}", path.display()))),
        Ok(_) | Err(_) => Err(Error::Operator(format!(
            "--out {}: holds the result of another study or version; give another folder",
            folder.path().display()
        ))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_host::Provenance;

    #[test]
    fn an_earlier_result_is_taken_away_and_that_of_another_study_is_kept() {
        let root = tempfile::tempdir().unwrap();
        let folder = Folder::create(root.path()).unwrap();
        assert!(begin_anew(&folder).is_ok());
        folder.finish(&Summary::new(NAME, true, Provenance::read())).unwrap();
        assert!(begin_anew(&folder).is_ok() && folder.result().is_err());
        folder.finish(&Summary::new("overload", true, Provenance::read())).unwrap();
        let error = begin_anew(&folder).unwrap_err();
        assert!(error.to_string().contains("another study"), "{error}");
        assert_eq!(folder.result().unwrap().study, "overload");
    }
}
