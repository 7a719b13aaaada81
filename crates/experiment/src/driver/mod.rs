//! What comes to a system in a run, and what is read of it.

mod crowd;
mod customers;
mod faults;
mod figures;
mod host;
mod messages;
mod relayed;
mod room;

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Instant;

use tidegate_host::Cores;
use tidegate_host::clock::monotonic_ns;
use tidegate_load::{Scenario, Snapshot, Stop};

use crate::experiment::Settings;
use crate::metrics::Figures;
use crate::record::{Planned, Second};
use crate::resources::Grant;
use crate::system::{Started, Workshop};
use crate::{Error, Result};
pub use customers::requests_each;
pub use customers::{Customers, Offered};
pub(crate) use messages::METHOD;
use messages::MessageClient;
pub use relayed::relayed;

/// A run as a driver sees it.
#[derive(Clone, Copy)]
pub struct Window<'a> {
    /// What is planned.
    pub planned: &'a Planned,
    /// The processors of the system.
    pub grant: &'a Grant,
    /// Folder of the run, for raw data.
    pub folder: &'a Path,
    /// Certificates and keys.
    pub workshop: &'a Workshop,
    /// Ends the run early.
    pub stop: &'a Stop,
}

/// What a run shows.
#[derive(Debug)]
pub struct Readings {
    /// Figures of the measured window.
    pub figures: Figures,
    /// Mean milliseconds by observer and phase.
    pub phases: BTreeMap<String, f64>,
    /// Values over the position in a series.
    pub courses: BTreeMap<String, Vec<(f64, f64)>>,
    /// Every second, warm-up included.
    pub seconds: Vec<Second>,
    /// Why the figures are not those of the system; empty if they are.
    pub saturated: Vec<String>,
    /// Begin and end of the measured window.
    pub measured: (Instant, Instant),
}

impl Readings {
    /// The measured window in nanoseconds of the monotonic clock.
    pub fn monotonic(&self) -> std::ops::Range<u64> {
        let (now, now_ns) = (Instant::now(), monotonic_ns());
        let ns = |at: Instant| now_ns.saturating_sub((now - at).as_nanos() as u64);
        ns(self.measured.0)..ns(self.measured.1)
    }
}

/// What comes to a system.
pub trait Driver {
    /// Lets it come to a service that has just started, until the service is warm: for so many
    /// seconds as are stated, or for longer. Returns how long, and whether it is warm.
    ///
    /// # Errors
    /// As of [`drive`](Self::drive).
    fn warm_up(
        &self,
        _window: Window<'_>,
        _stated_s: f64,
        _started: &Started,
        _show: &mut dyn FnMut(&Snapshot) -> ControlFlow<()>,
    ) -> Result<Figures> {
        Ok(Figures::new())
    }

    /// Lets it come, and reads what the system does meanwhile. It ends early once `show` breaks.
    ///
    /// # Errors
    /// The system does not answer as it should, or a file cannot be written.
    fn drive(
        &self,
        window: Window<'_>,
        started: &Started,
        show: &mut dyn FnMut(&Snapshot) -> ControlFlow<()>,
    ) -> Result<Readings>;

    /// Sessions that it lets come, per second; `None` where that is not constant, or follows from
    /// the answers.
    fn rate_per_s(&self) -> Option<f64> {
        None
    }
}

/// The driver of a run with these settings.
pub fn driver<'a>(
    settings: &Settings,
    scenario: &'a Scenario,
    offered: Offered,
    cores: &'a Cores,
) -> Box<dyn Driver + 'a> {
    if settings.is_of_messages() {
        return Box::new(MessageClient);
    }
    let mut customers = Customers::new(scenario, offered, cores);
    customers.keeps_requests = true;
    Box::new(customers)
}

/// Writes a file of a run.
pub(crate) fn write(path: &Path, content: impl AsRef<[u8]>) -> Result<()> {
    std::fs::write(path, content).map_err(|error| {
        Error::Machine(format!(
            "cannot write {}: {error}; make room and continue with --resume",
            path.display()
        ))
    })
}

/// A run that failed, by whose fault.
fn failed(error: &tidegate_load::Error) -> Error {
    match error.exit_code() {
        2 => Error::Operator(error.to_string()),
        _ => Error::Process(error.to_string()),
    }
}
