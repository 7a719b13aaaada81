//! The knee: the load beyond which the response time grows and the throughput does not. It is
//! found from windows of a trace whose load nobody set; a staircase, whose steps are known, has
//! `tidegate_stats::capacity`.
//!
//! Source: Kleinrock 1979, "Power and deterministic rules of thumb for probabilistic problems in
//! computer communications": the operating point is where throughput over response time, the
//! power, is highest.

use super::windows::Window;
use serde::Serialize;

/// Load levels that windows are grouped into, at most.
const LEVELS: usize = 12;
/// Least growth of the response time above the knee.
const GROWTH: f64 = 2.0;

/// The knee of a trace.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Knee {
    /// The offered load of the highest power, sessions or connections per second.
    pub offered_per_s: f64,
    /// Requests completed per second there.
    pub completed_per_s: f64,
    /// Mean response time there, milliseconds.
    pub response_ms: f64,
    /// Mean response time of the windows above it, milliseconds.
    pub response_above_ms: f64,
    /// Requests completed per second above it.
    pub completed_above_per_s: f64,
    /// When the trace is above it for the first time, seconds from its beginning.
    pub first_above_s: f64,
}

/// Which windows are above the knee, if there is one.
#[derive(Debug, Default)]
pub struct Split {
    pub knee: Option<Knee>,
    /// For each window.
    pub above: Vec<bool>,
}

/// Windows of about the same load.
struct Level {
    offered: f64,
    completed: f64,
    response: f64,
    windows: Vec<usize>,
}

/// Finds the knee.
pub fn find(windows: &[Window]) -> Split {
    let none = Split { knee: None, above: vec![false; windows.len()] };
    let levels = levels(windows);
    let power = |level: &Level| level.completed / level.response.max(1e-6);
    let Some(best) =
        (0..levels.len()).max_by(|a, b| power(&levels[*a]).total_cmp(&power(&levels[*b])))
    else {
        return none;
    };
    let knee = &levels[best];
    let is_above = |level: &&Level| level.response >= GROWTH * knee.response;
    let above: Vec<&Level> = levels[best + 1..].iter().filter(is_above).collect();
    let indexes: Vec<usize> = above.iter().flat_map(|level| level.windows.clone()).collect();
    let Some(first) = indexes.iter().min() else { return none };
    let mean = |of: fn(&Level) -> f64| {
        let count: usize = above.iter().map(|level| level.windows.len()).sum();
        let sum: f64 = above.iter().map(|level| of(level) * level.windows.len() as f64).sum();
        sum / count as f64
    };
    Split {
        knee: Some(Knee {
            offered_per_s: knee.offered,
            completed_per_s: knee.completed,
            response_ms: knee.response,
            response_above_ms: mean(|level| level.response),
            completed_above_per_s: mean(|level| level.completed),
            first_above_s: windows[*first].from_s,
        }),
        above: (0..windows.len()).map(|window| indexes.contains(&window)).collect(),
    }
}

/// Groups the windows with requests by their offered load, lowest first. The load of a window is
/// the mean with its neighbours: arrivals vary from one to the next.
fn levels(windows: &[Window]) -> Vec<Level> {
    let smooth = |at: usize| {
        let near = &windows[at.saturating_sub(1)..(at + 2).min(windows.len())];
        near.iter().map(|window| window.offered_per_s).sum::<f64>() / near.len() as f64
    };
    let mut loads: Vec<(f64, usize)> = (0..windows.len())
        .filter(|at| windows[*at].response_ms.is_some())
        .map(|at| (smooth(at), at))
        .collect();
    loads.sort_by(|a, b| a.0.total_cmp(&b.0));
    let size = loads.len().div_ceil(LEVELS).max(1);
    let level = |part: &[(f64, usize)]| {
        let mean = |of: &dyn Fn(usize) -> f64| {
            part.iter().map(|(_, at)| of(*at)).sum::<f64>() / part.len() as f64
        };
        Level {
            offered: part.iter().map(|(load, _)| load).sum::<f64>() / part.len() as f64,
            completed: mean(&|at| windows[at].completed_per_s),
            response: mean(&|at| windows[at].response_ms.unwrap_or(0.0)),
            windows: part.iter().map(|(_, at)| *at).collect(),
        }
    };
    loads.chunks(size).map(level).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Windows of one second with offered load, completed requests and response time.
    fn windows(of: &[(f64, f64, f64)]) -> Vec<Window> {
        let window = |(at, (offered, completed, response)): (usize, &(f64, f64, f64))| Window {
            from_s: at as f64,
            seconds: 1.0,
            offered_per_s: *offered,
            completed_per_s: *completed,
            response_ms: Some(*response),
            processes: Vec::new(),
        };
        of.iter().enumerate().map(window).collect()
    }

    #[test]
    fn the_knee_of_a_staircase_is_its_last_step_with_a_short_response_time() {
        let steps =
            [(10.0, 100.0, 5.0), (20.0, 200.0, 5.5), (30.0, 300.0, 6.0), (40.0, 310.0, 60.0)];
        let trace: Vec<_> = steps.iter().flat_map(|step| [*step; 9]).collect();
        let split = find(&windows(&trace));
        let knee = split.knee.unwrap();
        assert!((28.0..=32.0).contains(&knee.offered_per_s), "{knee:?}");
        assert!((26.0..=28.0).contains(&knee.first_above_s), "{knee:?}");
        assert!(knee.response_above_ms > 50.0);
        assert!(split.above[30..].iter().all(|above| *above));
        assert!(!split.above[..26].iter().any(|above| *above));
    }

    #[test]
    fn a_load_that_stays_has_no_knee() {
        let trace: Vec<_> = (0..30)
            .map(|i| (20.0 + f64::from(i % 3), 200.0, 5.0 + f64::from(i % 4) / 10.0))
            .collect();
        let split = find(&windows(&trace));
        assert!(split.knee.is_none() && split.above.iter().all(|above| !above));
        assert!(find(&[]).knee.is_none());
    }
}
