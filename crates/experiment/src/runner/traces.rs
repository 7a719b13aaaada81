//! What the traces of a run say: the time of a connection by phase, and of a request by place.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use tidegate_trace::analysis::{Joined, join, phase_means};
use tidegate_trace::{Phase, Process, Trace};

use crate::phases::{FULL_COST, RESUMED_COST};
use crate::system::{LOAD_TRACE, SITE_TRACE, TRACE};
use crate::{Error, Result};

/// The phases of the connections that ended in a window of the monotonic clock, as the gate traced
/// them: mean milliseconds per connection, and CPU time in them. With them where the answered
/// requests of the window were, mean milliseconds.
///
/// # Errors
/// There is no trace, or it ends before the window: the gate goes on where its disk is full.
pub(super) fn phases(folder: &Path, window: Range<u64>) -> Result<BTreeMap<String, f64>> {
    let gate = read(&folder.join(TRACE))?;
    if gate.span_ns().is_none_or(|(_, last)| last < window.end) {
        return Err(cut(&folder.join(TRACE)));
    }
    let mut phases = BTreeMap::new();
    let means = phase_means(&gate, Some(window.clone()));
    for mean in &means.phases {
        phases.insert(format!("gate.{}", mean.phase), mean.mean_ms);
        if let Some(cpu_ms) = mean.cpu_mean_ms {
            phases.insert(format!("gate.{}.cpu", mean.phase), cpu_ms);
        }
    }
    // CPU time is the mean over all connections, and not all have a handshake of the kind.
    for (phase, name, count) in [
        (Phase::HandshakeFull, FULL_COST, means.full),
        (Phase::HandshakeResumed, RESUMED_COST, means.resumed),
    ] {
        let found = means.phases.iter().find(|mean| mean.phase == phase.name());
        if let Some(cpu_ms) = found.and_then(|mean| mean.cpu_mean_ms).filter(|_| count > 0) {
            phases.insert(name.to_owned(), cpu_ms * means.connections as f64 / count as f64);
        }
    }
    let mut all = vec![gate];
    for name in [LOAD_TRACE, SITE_TRACE] {
        let file = folder.join(name);
        if file.exists() {
            all.push(read(&file)?);
        }
    }
    let trace = Trace::of(all).map_err(|error| Error::Process(error.to_string()))?;
    phases.extend(join(&trace, Some(window)).into_iter().flat_map(places));
    Ok(phases)
}

fn read(file: &Path) -> Result<Process> {
    let process = Process::read(file).map_err(|error| Error::Process(error.to_string()))?;
    if process.cut_at.is_some() {
        return Err(cut(file));
    }
    Ok(process)
}

fn cut(file: &Path) -> Error {
    Error::Machine(format!(
        "{}: the trace ends before the run, as on a full disk; make room and continue with --resume",
        file.display()
    ))
}

/// The places of a request, of all joined ones. A service that does not trace is one place, with
/// the way to it.
fn places(joined: Joined) -> Vec<(String, f64)> {
    let mut places = vec![("before_gate", joined.before_gate_ms), ("gate", joined.gate_ms)];
    // Requests that the gate answered itself were at the site for no time.
    let share = joined.with_site as f64 / joined.requests as f64;
    match joined.site_ms.zip(joined.database_ms) {
        Some((site_ms, database_ms)) => {
            let (site_ms, database_ms) = (share * site_ms, share * database_ms);
            let before = (joined.upstream_ms - site_ms - database_ms).max(0.0);
            places.extend([("before_site", before), ("site", site_ms), ("database", database_ms)]);
        }
        None => places.push(("upstream", joined.upstream_ms)),
    }
    places.into_iter().map(|(name, ms)| (format!("request.{name}"), ms)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_host::clock::monotonic_ns;
    use tidegate_trace::{Line, Options, Outcome, Role, Tracing};

    #[test]
    fn a_trace_that_ends_before_the_window_is_no_result() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join(TRACE);
        let tracing = Tracing::start(&Options::new(Role::Gate, &file), |_| ()).unwrap();
        let attached = tracing.handle().attach();
        let from = monotonic_ns();
        let mut line = Line::begin(Phase::Accept).unwrap();
        line.enter(Phase::HandshakeFull);
        line.opened(Phase::Idle);
        line.ends(Outcome::Done);
        drop(line);
        let to = monotonic_ns() + 1;
        drop(attached);
        assert_eq!(tracing.finish().records, 2);
        let found = phases(folder.path(), from..to).unwrap();
        assert!(found["gate.handshake_full"] > 0.0, "{found:?}");
        // The one connection is a full handshake's.
        assert_eq!(found.get(FULL_COST), found.get("gate.handshake_full.cpu"), "{found:?}");
        assert_eq!(found.get(RESUMED_COST), None);

        let error = phases(folder.path(), from..to + 60_000_000_000).unwrap_err().to_string();
        assert!(error.contains("make room and continue with --resume"), "{error}");
        let bytes = std::fs::read(&file).unwrap();
        std::fs::write(&file, &bytes[..bytes.len() - 1]).unwrap();
        let error = phases(folder.path(), from..to).unwrap_err();
        assert_eq!(error.exit_code(), 3);
        assert!(error.to_string().contains("gate.trace"), "{error}");
    }

    #[test]
    fn the_places_of_a_request_add_up_to_the_customers_wait() {
        // Half of the requests were answered by the gate itself.
        let joined = Joined {
            requests: 10,
            with_site: 5,
            customer_ms: 20.0,
            gate_ms: 3.0,
            upstream_ms: 6.0,
            before_gate_ms: 11.0,
            site_ms: Some(4.0),
            database_ms: Some(5.0),
            before_site_ms: Some(3.0),
        };
        let of = |joined| BTreeMap::from_iter(places(joined));
        let found = of(joined.clone());
        assert_eq!(found.values().sum::<f64>(), 20.0, "{found:?}");
        assert_eq!((found["request.site"], found["request.before_site"]), (2.0, 1.5));
        let found = of(Joined { with_site: 0, site_ms: None, database_ms: None, ..joined });
        assert_eq!(found["request.upstream"], 6.0);
        assert_eq!(found.values().sum::<f64>(), 20.0, "{found:?}");
    }
}
