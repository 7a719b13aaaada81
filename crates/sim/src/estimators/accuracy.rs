//! How far estimates were from the truth.

use super::{ConnectionCosts, Course, Moment};

/// What an estimator was worth in a course.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Accuracy {
    /// Of CTN; `None`: nothing counts.
    pub new: Option<Error>,
    /// Of CTO; `None` where nobody returned.
    pub returning: Option<Error>,
    /// Seconds after costs jumped until both were within a tenth of the truth,
    /// on average over two seconds and all runs; `None`: not before the end, or
    /// nothing jumped.
    pub recovered_s: Option<f64>,
}

/// The relative error, `|estimate ∕ truth − 1|`, over all ticks that count.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Error {
    /// Half of the ticks were no worse.
    pub median: f64,
    /// 95 % of the ticks were no worse.
    pub p95: f64,
}

/// As near as that is near enough.
const NEAR: f64 = 0.1;
/// For so many ticks together.
const TICKS: usize = 20;

impl Course {
    /// What the estimator at this place of [`NAMES`](super::NAMES) was worth.
    pub fn accuracy(&self, estimator: usize) -> Accuracy {
        Accuracy {
            new: self.error(estimator, |costs| costs.new_cpu_s),
            returning: self.error(estimator, |costs| costs.returning_cpu_s),
            recovered_s: self.step_s.and_then(|step_s| self.recovered_s(estimator, step_s)),
        }
    }

    fn error(&self, estimator: usize, of: fn(&ConnectionCosts) -> f64) -> Option<Error> {
        let moments = self.runs.iter().flatten().filter(|m| m.at_s >= self.watch_from_s);
        let mut errors: Vec<f64> = moments.filter_map(|m| error(m, estimator, of)).collect();
        errors.sort_by(f64::total_cmp);
        let quantile = |q: f64| {
            let rank = (q * errors.len().saturating_sub(1) as f64).round() as usize;
            errors.get(rank).copied()
        };
        Some(Error { median: quantile(0.5)?, p95: quantile(0.95)? })
    }

    fn recovered_s(&self, estimator: usize, step_s: f64) -> Option<f64> {
        let after = |run: &[Moment]| -> Vec<Moment> {
            run.iter().filter(|m| m.at_s > step_s + 1e-9).copied().collect()
        };
        let runs: Vec<_> = self.runs.iter().map(|run| after(run)).collect();
        let ticks = runs.iter().map(Vec::len).min()?;
        let near = |from: usize, of: fn(&ConnectionCosts) -> f64| {
            let moments = runs.iter().flat_map(|run| &run[from..from + TICKS]);
            let errors: Vec<f64> = moments.filter_map(|m| error(m, estimator, of)).collect();
            errors.iter().sum::<f64>() <= NEAR * errors.len() as f64
        };
        let from = (0..(ticks + 1).saturating_sub(TICKS)).find(|from| {
            near(*from, |costs| costs.new_cpu_s) && near(*from, |costs| costs.returning_cpu_s)
        })?;
        Some(runs[0][from].at_s - step_s)
    }
}

/// `None`: there is no such connection.
fn error(moment: &Moment, estimator: usize, of: fn(&ConnectionCosts) -> f64) -> Option<f64> {
    let truth = of(&moment.truth);
    (truth > 0.0).then(|| (of(&moment.estimates[estimator]) / truth - 1.0).abs())
}

#[cfg(test)]
mod tests {
    use super::super::NAMES;
    use super::*;

    /// A course of 100 ticks, the truth 1 and 2, in which the first estimator
    /// says this of both.
    fn course(says: impl Fn(usize) -> (f64, f64)) -> Course {
        let moment = |tick: usize| {
            let (new_cpu_s, returning_cpu_s) = says(tick);
            let mut estimates = [ConnectionCosts::default(); NAMES.len()];
            estimates[0] = ConnectionCosts { new_cpu_s, returning_cpu_s };
            let truth = ConnectionCosts { new_cpu_s: 1.0, returning_cpu_s: 2.0 };
            Moment { at_s: tick as f64 / 10.0, truth, estimates }
        };
        Course {
            name: String::new(),
            about: String::new(),
            watch_from_s: 5.0,
            step_s: Some(1.0),
            runs: vec![(0..=100).map(moment).collect()],
        }
    }

    #[test]
    fn errors_are_relative_and_those_before_the_watch_do_not_count() {
        let course = course(|tick| match tick {
            0..50 => (9.0, 9.0),
            50..80 => (1.25, 1.0),
            _ => (0.5, 2.0),
        });
        let accuracy = course.accuracy(0);
        // 30 ticks of a quarter, 21 of a half; 30 of a half, 21 of none.
        assert_eq!(accuracy.new, Some(Error { median: 0.25, p95: 0.5 }));
        assert_eq!(accuracy.returning, Some(Error { median: 0.5, p95: 0.5 }));
        assert_eq!(course.accuracy(1).new, Some(Error { median: 1.0, p95: 1.0 }));
        let nobody = Course { watch_from_s: 99.0, ..course };
        assert_eq!(nobody.accuracy(0).new, None);
        assert_eq!(accuracy.recovered_s, None);
    }

    #[test]
    fn recovered_means_both_and_for_two_seconds() {
        // New ones are near from 2 s on, returning from 4 s, all but a moment.
        let says = |tick| {
            let new = if tick < 20 { 0.5 } else { 1.05 };
            (new, if tick < 40 && tick != 15 { 1.0 } else { 2.0 })
        };
        // In the two seconds from 3.7 s on 3 ticks of 20 are off by a half: 7.5 %.
        let recovered = course(says).accuracy(0).recovered_s.unwrap();
        assert!((recovered - 2.6).abs() < 1e-9, "{recovered}");
    }
}
