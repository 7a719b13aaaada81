//! Transaction cost analysis of a site: each operation of a scenario alone at rising load, what it
//! costs of each resource, what the site carries by that, and the scenario itself as the proof.
//!
//! Source: Microsoft 1999, "Using Transaction Cost Analysis for Site Capacity Planning".

mod conduct;
mod costs;
mod figures;
mod options;
mod output;
mod page;
mod predicted;
mod resources;
mod runs;
mod search;
mod tables;
mod targets;
mod verify;
mod visits;
mod words;

use std::time::Duration;

use tidegate_host::Provenance;
use tidegate_plan::Range;
use tidegate_plan::profile::Profile;

pub use conduct::study;
pub use costs::{CONNECTION, Cost, Costs, Together};
pub use options::Options;
pub use predicted::{Machine, Predicted, Sum};
pub use resources::{Named, Resource, Unit};
pub use runs::Run;
pub use verify::{Accuracy, Kind, LARGE, Reason, Verification};
pub use words::{line, step_line, terminal};

/// Name of the study, and of its result.
pub const NAME: &str = "tca";

/// What happens while a site is measured.
#[derive(Debug)]
pub enum Event<'a> {
    /// Something that a user wants to know.
    Note(String),
    /// An operation was measured at a load; about so much time is left.
    Run(&'a Run, &'a [String], Duration),
    /// A step of the verification; about so much time is left.
    Step(&'a Verification, Duration),
}

/// What was found.
#[derive(Clone, Debug)]
pub struct Report {
    /// What was measured.
    pub options: Options,
    /// Names of the operations: pages of the scenario.
    pub operations: Vec<String>,
    /// How each was measured: the pages on its way, and how often a session requests it.
    pub ways: Vec<String>,
    /// What was followed.
    pub resources: Vec<Resource>,
    /// The site's processes in words; `None` where they are not seen.
    pub processes: Option<String>,
    /// Its machine.
    pub machine: Machine,
    /// What customers do.
    pub profile: Profile,
    /// Where the profile comes from, in words.
    pub profile_of: String,
    /// All runs in the order of measurement.
    pub runs: Vec<Run>,
    /// What operations cost.
    pub costs: Costs,
    /// What the site carries by that.
    pub predicted: Predicted,
    /// Steps of the verification; empty where no limit is known.
    pub steps: Vec<Verification>,
    /// What they say.
    pub accuracy: Option<Accuracy>,
    /// Factor on think times in them.
    pub time_scale: f64,
    /// Commit, command and start.
    pub provenance: Provenance,
}

impl Report {
    /// CPU seconds of an operation on all of the site's processes, by its index in the costs;
    /// `None` where they are not known.
    pub fn cpu_s(&self, operation: usize) -> Option<Range> {
        let used = self.resources.iter().zip(&self.costs.operations[operation].used);
        let own = used.filter(|(it, _)| it.unit == Unit::CpuSeconds && !it.driver);
        let own: Vec<Range> = own.map(|(_, used)| *used).collect::<Option<_>>()?;
        (!own.is_empty()).then(|| predicted::sum(own))
    }

    /// Whether the site did something else than predicted, by more than [`LARGE`].
    pub fn is_off(&self) -> bool {
        let errors = self.accuracy.iter().flat_map(|it| [it.cpu_error, it.throughput_error]);
        errors.flatten().any(|error| error.abs() > LARGE)
    }
}
