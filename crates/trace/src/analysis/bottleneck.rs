//! What bounds the throughput, and what one more processor would give, from the use of each
//! resource in a trace. The study of a capacity (`study::capacity::bottleneck`) asks the same of a
//! site that is not traced: it has what the kernel says of the site's processes, and how
//! throughput and phases change over known loads.
//!
//! Source: Lazowska et al. 1984, "Quantitative System Performance", chapter 3: the utilisation
//! law U = X · D, and chapter 5: the throughput is at most 1 / D of the most used resource;
//! Amdahl 1967: the speedup of n processors is n / (1 + σ (n − 1)).

use super::resources::Resources;
use super::sums::Sums;
use super::windows::Window;
use crate::format::header::Role;
use crate::phase::Phase;
use crate::read::Trace;
use serde::Serialize;

/// From this use on a resource counts as the bottleneck.
const BUSY: f64 = 0.85;
/// The serial part of a servlet container, by a fit of Amdahl's law to the peak throughputs of
/// Guitart et al. 2007, table 1.
const SERIAL: f64 = 0.14;

/// A resource and its use.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resource {
    /// Its name: `processors of the machine`, `processors of the gate`, `quota of the gate's
    /// control group`, …
    pub name: String,
    /// Its use, 0 to 1.
    pub utilisation: f64,
}

/// What bounds the throughput, above the knee, or in the whole trace if it has none.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Bottleneck {
    /// The most used resource, if its use is at least 0.85.
    pub resource: Option<Resource>,
    /// All resources, the most used first.
    pub resources: Vec<Resource>,
    /// Requests completed per second.
    pub completed_per_s: f64,
    /// CPU seconds of the machine per request: its demand.
    pub demand_ms: Option<f64>,
    /// Mean number of connections in the admission queue, by Little's law.
    pub admission_queue: f64,
    /// Share of connections that the gate refused, 0 to 1.
    pub refused_share: Option<f64>,
    /// Share of the handshakes that were full, 0 to 1.
    pub full_share: Option<f64>,
    /// Where a request's time goes for the most part in the innermost process: the phase and its
    /// share, 0 to 1.
    pub longest_phase: Option<(&'static str, f64)>,
    /// What one more processor would give.
    pub estimate: Option<Estimate>,
}

/// An estimate of the throughput with one more processor.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// Processors now.
    pub processors: f64,
    /// Factor on the throughput if nothing else bounds it.
    pub most: f64,
    /// Factor with the serial part that the paper's table shows.
    pub with_serial_part: f64,
}

/// Finds the bottleneck of the windows above the knee, or of all if none are.
pub fn find(trace: &Trace, windows: &[Window], above: &[bool]) -> Bottleneck {
    let any = above.contains(&true);
    let chosen: Vec<&Window> = windows
        .iter()
        .zip(above)
        .filter(|(window, above)| **above || (!any && window.response_ms.is_some()))
        .map(|(window, _)| window)
        .collect();
    let seconds: f64 = chosen.iter().map(|window| window.seconds).sum();
    let completed: f64 = chosen.iter().map(|window| window.completed_per_s * window.seconds).sum();
    let mean = |of: &dyn Fn(&Window) -> Option<f64>| {
        let values: Vec<f64> = chosen.iter().filter_map(|window| of(window)).collect();
        (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
    };
    let of_process = |index: usize, of: fn(&Resources) -> Option<f64>| {
        mean(&|window| of(&window.processes.get(index)?.resources))
    };
    let mut resources = Vec::new();
    let mut add = |name: String, utilisation: Option<f64>| {
        if let Some(utilisation) = utilisation.filter(|u| u.is_finite()) {
            resources.push(Resource { name, utilisation: utilisation.clamp(0.0, 1.0) });
        }
    };
    // What a process may use: what it might at its start, or a quota that was set since.
    let processors = |index: usize| {
        let at_start = trace.processes[index].header.processors;
        of_process(index, |r| r.group_quota).map_or(at_start, |quota| quota.min(at_start))
    };
    // All see the same machine; the one that may use most of it sees most.
    let widest =
        (0..trace.processes.len()).max_by(|a, b| processors(*a).total_cmp(&processors(*b)));
    let machine = widest.and_then(|index| of_process(index, |r| r.processors_busy));
    add("processors of the machine".into(), machine);
    for (index, process) in trace.processes.iter().enumerate() {
        let role = process.header.role;
        let used = of_process(index, |r| r.process_cpus);
        add(format!("processors of the {role}"), used.map(|used| used / processors(index)));
        // Processes of one group share its quota.
        let quota = of_process(index, |r| r.group_quota).filter(|quota| *quota > 0.0);
        let group = of_process(index, |r| r.group_cpus).zip(quota);
        add(
            format!("quota of the {role}'s control group"),
            group.map(|(used, quota)| used / quota),
        );
    }
    resources.sort_by(|a, b| b.utilisation.total_cmp(&a.utilisation));
    let busy = resources.first().filter(|most| most.utilisation >= BUSY).cloned();
    let all_of = |role: Role| {
        let mut sums = Sums::default();
        for window in &chosen {
            let of_role = window.processes.iter().filter(|process| process.role == role);
            of_role.for_each(|process| sums.add_all(&process.sums));
        }
        sums
    };
    let (gate, site) = (all_of(Role::Gate), all_of(Role::Site));
    let inner = if site.requests > 0 { &site } else { &gate };
    let outer = if gate.full_share().is_some() { gate.clone() } else { all_of(Role::Load) };
    let cpus = widest.map(processors).filter(|cpus| *cpus > 0.0);
    let estimate = busy.as_ref().and(cpus).map(|processors| {
        let amdahl = |n: f64| n / (1.0 + SERIAL * (n - 1.0).max(0.0));
        Estimate {
            processors,
            most: (processors + 1.0) / processors,
            with_serial_part: amdahl(processors + 1.0) / amdahl(processors),
        }
    });
    let completed_per_s = if seconds > 0.0 { completed / seconds } else { 0.0 };
    // Behind a quota the processors are idle in part, and their use says nothing of the demand.
    let limited = widest.filter(|index| of_process(*index, |r| r.group_quota).is_some());
    let used = limited
        .and_then(|index| of_process(index, |r| r.group_cpus))
        .or_else(|| machine.zip(cpus).map(|(busy, cpus)| busy * cpus));
    Bottleneck {
        demand_ms: used.filter(|_| completed_per_s > 0.0).map(|used| used * 1e3 / completed_per_s),
        admission_queue: match seconds > 0.0 {
            true => gate.took_ns(Phase::Queue) as f64 / 1e9 / seconds,
            false => 0.0,
        },
        refused_share: (gate.connections > 0)
            .then(|| gate.refused as f64 / gate.connections as f64),
        full_share: outer.full_share(),
        longest_phase: longest(inner),
        resource: busy,
        resources,
        completed_per_s,
        estimate,
    }
}

/// The phase of requests with most of their time, and its share.
fn longest(sums: &Sums) -> Option<(&'static str, f64)> {
    let phases = Phase::ALL.into_iter().filter(|phase| phase.is_of_request());
    let times: Vec<(Phase, f64)> =
        phases.map(|phase| (phase, sums.took_ns(phase) as f64)).collect();
    let all: f64 = times.iter().map(|(_, time)| time).sum();
    let (phase, most) = times.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (all > 0.0).then(|| (phase.name(), most / all))
}
