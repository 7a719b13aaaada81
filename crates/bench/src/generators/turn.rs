//! One window: the CPU time of a generator and the counts of the server.

use std::process::Command;
use std::time::{Duration, Instant};

use serde::Serialize;
use tidegate_host::Cores;
use tidegate_lab::{Launch, Process};

use super::site::Site;

/// How much longer than its window a generator may run.
const LONGER: Duration = Duration::from_secs(20);

/// A measured window.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Turn {
    /// CPU time of the generator, user and system, from its start to its end.
    pub cpu_s: f64,
    /// Elapsed time from its start to its end.
    pub wall_s: f64,
    /// Requests that the server answered.
    pub requests: u64,
    /// Full handshakes that the server made.
    pub full: u64,
    /// Resumed handshakes.
    pub resumed: u64,
    /// CPU time of the server.
    pub server_cpu_s: f64,
}

impl Turn {
    /// Runs a generator on a core to its end.
    ///
    /// # Errors
    /// It does not start, is killed by a signal, or takes too long.
    pub fn measure(
        command: Command,
        core: usize,
        window: Duration,
        site: &Site,
    ) -> anyhow::Result<Self> {
        let (before, server) = (site.seen()?, site.process.cpu_time()?);
        let begun = Instant::now();
        // An exit code other than 0 is no error: a generator at the limit of its processor may
        // report that.
        let used = start(command, core)?.finish(window + LONGER)?.cpu_time;
        let wall = begun.elapsed();
        let (after, server_after) = (site.seen()?, site.process.cpu_time()?);
        Ok(Self {
            cpu_s: used.as_secs_f64(),
            wall_s: wall.as_secs_f64(),
            // Reading the status at the end is itself a request.
            requests: (after.requests - before.requests).saturating_sub(1),
            full: after.full - before.full,
            resumed: after.resumed - before.resumed,
            server_cpu_s: server_after.saturating_sub(server).as_secs_f64(),
        })
    }

    /// CPU microseconds of the generator per request; NaN without a request.
    pub fn cpu_us(&self) -> f64 {
        if self.requests == 0 { f64::NAN } else { 1e6 * self.cpu_s / self.requests as f64 }
    }
}

/// A command on one core, its output discarded.
///
/// # Errors
/// It cannot be started.
pub fn start(command: Command, core: usize) -> anyhow::Result<Process> {
    let name = command.get_program().to_string_lossy().into_owned();
    Ok(Launch::new(&name, command).on(&Cores::one(core)?).start()?)
}
