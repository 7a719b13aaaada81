//! Faults that come to a fleet while it is measured, and what its customers get before, during and
//! after them.

use std::time::Duration;

use tidegate_load::Point;

use crate::metrics::Figures;
use crate::record::{Kind, Planned};
use crate::system::{Decided, Fleet, Started, fairness};
use crate::{Error, Result};

/// The parts of the measured window, in the names of figures.
const PHASES: [&str; 3] = ["before", "during", "after"];

/// The faults of a run, and what gates had decided on when its phases began and ended.
pub(super) struct Played<'a> {
    fleet: &'a Fleet,
    phases: [(f64, f64); 3],
    marks: Vec<Vec<Option<Decided>>>,
    failed: Option<Error>,
}

impl<'a> Played<'a> {
    /// Those of this run; none in a baseline, and where the system is no fleet.
    ///
    /// # Errors
    /// The measured window is too short.
    pub(super) fn of(started: &'a Started, planned: &Planned) -> Result<Option<Self>> {
        let fleet = started.system().fleet().filter(|_| planned.kind == Kind::Run);
        let Some(fleet) = fleet else { return Ok(None) };
        let phases = fleet.faults().phases(planned.windows.measured_s);
        let phases = phases.map_err(Error::Operator)?;
        Ok(Some(Self { fleet, phases, marks: Vec::new(), failed: None }))
    }

    /// Plays what is due at this time of the measured window, in seconds; whether the run goes on.
    pub(super) fn go_on(&mut self, now_s: f64) -> bool {
        // Before the faults: a gate that is killed now has its count of before.
        while self.bounds().get(self.marks.len()).is_some_and(|bound| now_s >= *bound) {
            self.marks.push(self.fleet.decided());
        }
        if let Err(error) = self.fleet.play(Duration::from_secs_f64(now_s.max(0.0))) {
            self.failed.get_or_insert(error);
        }
        self.failed.is_none()
    }

    /// The figures of the phases, from the seconds of the run, which began before the measured
    /// window.
    ///
    /// # Errors
    /// A fault could not be played.
    pub(super) fn figures(mut self, series: &[Point], warm_up_s: f64) -> Result<Figures> {
        if let Some(error) = self.failed {
            return Err(error);
        }
        self.marks.resize_with(self.phases.len() * 2, || self.fleet.decided());
        let mut figures = Figures::new();
        for (index, name) in PHASES.into_iter().enumerate() {
            let completed =
                mean_within(series, warm_up_s, self.phases[index], |it| it.completed_per_s);
            figures.extend(completed.map(|it| (format!("completed_{name}_per_s"), it)));
            let fair = fairness(&self.marks[2 * index], &self.marks[2 * index + 1]);
            figures.extend(fair.map(|it| (format!("fairness_{name}"), it)));
        }
        Ok(figures)
    }

    fn bounds(&self) -> [f64; 6] {
        let [a, b, c] = self.phases;
        [a.0, a.1, b.0, b.1, c.0, c.1]
    }
}

/// The mean of a value of the seconds in a part of the measured window; `None` if no whole second is
/// in it.
pub(super) fn mean_within(
    series: &[Point],
    warm_up_s: f64,
    (from, to): (f64, f64),
    value: impl Fn(&Point) -> f64,
) -> Option<f64> {
    let within = |point: &&Point| {
        let end_s = point.at_s - warm_up_s;
        point.measured && end_s - point.length_s >= from - 0.1 && end_s <= to + 0.1
    };
    let (length_s, sum) = series.iter().filter(within).fold((0.0, 0.0), |sum, point| {
        (sum.0 + point.length_s, sum.1 + point.length_s * value(point))
    });
    (length_s > 0.0).then(|| sum / length_s)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_phase_counts_its_own_whole_seconds() {
        let second = |at_s: f64| Point {
            at_s,
            length_s: 1.0,
            measured: at_s > 3.0,
            completed_per_s: at_s,
            ..Point::default()
        };
        // The window begins after 3 s: its seconds end at 4 s, 5 s and so on.
        let series: Vec<Point> = (1..=9).map(|at| second(f64::from(at))).collect();
        let completed = |within| mean_within(&series, 3.0, within, |it| it.completed_per_s);
        assert_eq!(completed((0.0, 2.0)), Some(4.5));
        assert_eq!(completed((2.0, 5.5)), Some(7.0));
        assert_eq!(completed((6.5, 7.0)), None);
    }
}
