//! What a trace says in figures: time by phase, the knee, the bottleneck, and what one more
//! processor would give. Pure.

mod bottleneck;
mod joined;
mod knee;
mod means;
mod resources;
mod sums;
mod windows;

pub use bottleneck::{Bottleneck, Estimate, Resource};
pub use joined::{Joined, join};
pub use knee::Knee;
pub use means::{PhaseMean, PhaseMeans, phase_means};
pub use resources::Resources;
pub use sums::{PhaseTime, Sums};
pub use windows::Window;

use crate::format::header::Role;
use crate::read::Trace;
use serde::Serialize;

/// What a trace says.
#[derive(Clone, Debug, Serialize)]
pub struct Analysis {
    /// The processes, from the customer inwards.
    pub processes: Vec<ProcessEntry>,
    /// The trace by time.
    pub windows: Vec<Window>,
    /// Where more load ceases to give more; `None` if the trace has no such place.
    pub knee: Option<Knee>,
    /// Where the time goes, for each process.
    pub phases: Vec<Split>,
    /// The requests that are in the files of several processes.
    pub joined: Option<Joined>,
    /// What bounds the throughput.
    pub bottleneck: Bottleneck,
    /// What has to be known of the files.
    pub notes: Vec<String>,
}

/// A process of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessEntry {
    /// What it is.
    pub role: Role,
    /// Its number.
    pub pid: u32,
    /// Its file.
    pub file: String,
    /// Its connections and requests in all.
    pub sums: Sums,
    /// Its resources over the whole time.
    pub resources: Resources,
    /// CPU time that tracing took, seconds, and its share of the process's; `None` where the file
    /// does not say.
    pub tracing_cpu_s: Option<f64>,
    /// The share of `tracing_cpu_s` in the CPU time of the process, 0 to 1.
    pub tracing_share: Option<f64>,
}

/// The time and the resources of a process below and above the knee; all of it is below if there
/// is no knee.
#[derive(Clone, Debug, Serialize)]
pub struct Split {
    /// What the process is.
    pub role: Role,
    /// Its number.
    pub pid: u32,
    /// Below the knee.
    pub below: Vec<PhaseTime>,
    /// Above it; empty if there is no knee.
    pub above: Vec<PhaseTime>,
    /// The phase whose time grew most, if there is a knee.
    pub grew_most: Option<Growth>,
    /// Share of the handshakes below the knee that were full, 0 to 1.
    pub full_share_below: Option<f64>,
    /// The same above it.
    pub full_share_above: Option<f64>,
    /// What the process and the machine used below the knee.
    pub resources_below: Resources,
    /// The same above it; `None` if there is no knee.
    pub resources_above: Option<Resources>,
}

/// How the mean time of a phase differs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Growth {
    /// The phase.
    pub phase: &'static str,
    /// Below the knee, milliseconds.
    pub below_ms: f64,
    /// Above it.
    pub above_ms: f64,
}

/// Analyses a trace.
pub fn analyse(trace: &Trace) -> Analysis {
    let windows = windows::windows(trace);
    let split = knee::find(&windows);
    let phases = trace.processes.iter().enumerate().map(|(index, process)| {
        let sum = |above: bool| {
            let mut sums = Sums::default();
            for (window, is_above) in windows.iter().zip(&split.above) {
                if *is_above == above {
                    sums.add_all(&window.processes[index].sums);
                }
            }
            sums
        };
        let used = |above: bool| {
            let of = windows.iter().zip(&split.above).filter(|(_, is_above)| **is_above == above);
            let of: Vec<&Resources> =
                of.map(|(window, _)| &window.processes[index].resources).collect();
            Resources::of_windows(&of)
        };
        let (below, above) = (sum(false), sum(true));
        let grew_most = split.knee.as_ref().and_then(|_| grew_most(&below, &above));
        Split {
            role: process.header.role,
            pid: process.header.pid,
            grew_most,
            full_share_below: below.full_share(),
            full_share_above: above.full_share(),
            resources_below: used(false),
            resources_above: split.knee.as_ref().map(|_| used(true)),
            below: below.phases(),
            above: if split.knee.is_some() { above.phases() } else { Vec::new() },
        }
    });
    let span = trace.span_ns().unwrap_or((0, 0));
    let processes = trace.processes.iter().map(|process| {
        let mut sums = Sums::default();
        process.lines.iter().for_each(|line| sums.add(line));
        let tracing = process.ending.map(|end| {
            let own = end.writer_cpu_ns.saturating_add(end.recording_cpu_ns) as f64 / 1e9;
            let all = end.process_cpu_ns as f64 / 1e9;
            (own, if all > 0.0 { (own / all).min(1.0) } else { 0.0 })
        });
        ProcessEntry {
            role: process.header.role,
            pid: process.header.pid,
            file: process.file.display().to_string(),
            sums,
            resources: Resources::of(process, span.0, span.1),
            tracing_cpu_s: tracing.map(|tracing| tracing.0),
            tracing_share: tracing.map(|tracing| tracing.1),
        }
    });
    Analysis {
        processes: processes.collect(),
        phases: phases.collect(),
        joined: join(trace, None),
        bottleneck: bottleneck::find(trace, &windows, &split.above),
        knee: split.knee,
        notes: trace.notes(),
        windows,
    }
}

/// The phase whose mean grew most, in milliseconds, of those that somebody waits for.
fn grew_most(below: &Sums, above: &Sums) -> Option<Growth> {
    let above = above.phases();
    let growth = above.iter().filter(|time| !time.phase_kind.is_without_request()).map(|time| {
        let before = below.phases();
        let before = before.iter().find(|before| before.phase == time.phase);
        let below_ms = before.map_or(0.0, |before| before.mean_ms);
        Growth { phase: time.phase, below_ms, above_ms: time.mean_ms }
    });
    let most =
        growth.max_by(|a, b| (a.above_ms - a.below_ms).total_cmp(&(b.above_ms - b.below_ms)));
    most.filter(|growth| growth.above_ms > growth.below_ms)
}

#[cfg(test)]
mod tests;
