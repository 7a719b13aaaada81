//! A trace by time.

use super::resources::Resources;
use super::sums::Sums;
use crate::format::header::Role;
use crate::read::Trace;
use serde::Serialize;

/// Most windows of a trace.
const MOST: u64 = 60;
/// Shortest window.
const SHORTEST_NS: u64 = 500_000_000;

/// A part of the time of a trace.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// Seconds from the beginning of the trace to that of the window.
    pub from_s: f64,
    /// Its length, seconds.
    pub seconds: f64,
    /// Sessions, or connections, that arrived per second at the outermost process.
    pub offered_per_s: f64,
    /// Requests per second that got a response there.
    pub completed_per_s: f64,
    /// Mean time there, milliseconds: of the opening of a connection and of a request; `None`
    /// without requests.
    pub response_ms: Option<f64>,
    /// The processes, in the order of the trace.
    pub processes: Vec<ProcessWindow>,
}

/// A process in a window.
#[derive(Clone, Debug, Serialize)]
pub struct ProcessWindow {
    /// What it is.
    pub role: Role,
    /// What ended in the window.
    pub sums: Sums,
    /// What it used.
    pub resources: Resources,
}

/// Divides a trace into at most 60 windows of the same length, each at least half a second long.
/// A line counts where it ends.
pub fn windows(trace: &Trace) -> Vec<Window> {
    let Some((from, to)) = trace.span_ns() else { return Vec::new() };
    let count = ((to - from) / SHORTEST_NS).clamp(1, MOST);
    let length = ((to - from) / count).saturating_add(1);
    let seconds = length as f64 / 1e9;
    let mut sums = vec![vec![Sums::default(); count as usize]; trace.processes.len()];
    for (process, sums) in trace.processes.iter().zip(&mut sums) {
        for line in &process.lines {
            let ended = line.start_ns.saturating_add(line.took_ns());
            let at = (ended.saturating_sub(from) / length).min(count - 1);
            sums[at as usize].add(line);
        }
    }
    let window = |at: u64| {
        let begin = from.saturating_add(at * length);
        let processes: Vec<ProcessWindow> = trace
            .processes
            .iter()
            .zip(&sums)
            .map(|(process, sums)| ProcessWindow {
                role: process.header.role,
                sums: sums[at as usize].clone(),
                resources: Resources::of(process, begin, begin.saturating_add(length)),
            })
            .collect();
        // Several load generators share the load.
        let outermost = processes.first().map_or(Role::Gate, |process| process.role);
        let mut outer = Sums::default();
        let of_outer = processes.iter().filter(|process| process.role == outermost);
        of_outer.for_each(|process| outer.add_all(&process.sums));
        let request = outer.request_ms();
        Window {
            from_s: (at * length) as f64 / 1e9,
            seconds,
            offered_per_s: outer.connections as f64 / seconds,
            completed_per_s: outer.requests as f64 / seconds,
            response_ms: request.map(|request| request + outer.opening_ms().unwrap_or(0.0)),
            processes,
        }
    };
    (0..count).map(window).collect()
}
