//! From a rate to instants: at random or evenly spaced, or a list of instants.
//! Pure: time is a `Duration` since the start of the run, and a seed decides.

use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};

use super::rate::{Course, Rate, Segment};
use crate::Rng;
use crate::plan::Plan;

/// When something arrives.
#[derive(Clone, Debug, PartialEq)]
pub enum Schedule {
    /// At a rate.
    Rate(Process, Rate),
    /// At these instants, sorted.
    Times(Arc<[Duration]>),
}

/// How a rate becomes instants.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Process {
    /// Independent arrivals: gaps are negative exponential.
    #[default]
    Poisson,
    /// Equal gaps (at a constant rate).
    Even,
}

impl Schedule {
    /// Exactly these instants.
    pub fn times(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self::Times(times.into())
    }

    /// Starts a stream of instants. `part` of `parts` takes its share, so that
    /// several driver threads together make up the whole: Poisson processes add
    /// up to one, of other schedules each takes every `parts`-th arrival.
    pub fn stream(&self, part: usize, parts: usize, seed: u64) -> Stream {
        let parts = parts.max(1);
        let mut common = Rng::seed_from_u64(seed);
        let (kind, wanted) = match self {
            Self::Times(times) => (Kind::Times { times: times.clone(), next: part }, 0.0),
            Self::Rate(process, rate) => {
                // All parts see bursts at the same time, and have one phase.
                let mut course = rate.course(common.random());
                let phase: f64 = common.random();
                let segment = course.next();
                // Of evenly spaced arrivals the first falls into its own gap at
                // random; what precedes it counts as one gap of this part.
                let wanted = match process {
                    Process::Poisson => 0.0,
                    Process::Even => phase + part as f64 - parts as f64,
                };
                let begins = Duration::ZERO;
                (Kind::Rate { process: *process, course, segment, begins }, wanted)
            }
        };
        let own = Rng::seed_from_u64(seed ^ (part as u64 + 1).wrapping_mul(0xD134_2543_DE82_EF95));
        Stream { kind, parts, wanted, own }
    }
}

/// Instants of arrival, in order; ends when there is none any more, at the
/// latest after the longest run.
#[derive(Clone, Debug)]
pub struct Stream {
    kind: Kind,
    parts: usize,
    /// Arrivals that are to be expected between the beginning of the segment
    /// and the last instant given.
    wanted: f64,
    own: Rng,
}

#[derive(Clone, Debug)]
enum Kind {
    Rate { process: Process, course: Course, segment: Segment, begins: Duration },
    Times { times: Arc<[Duration]>, next: usize },
}

impl Iterator for Stream {
    type Item = Duration;

    /// Source: time rescaling; a Poisson process of rate r(t) has its n-th event
    /// where the integral of r equals the sum of n unit exponentials.
    fn next(&mut self) -> Option<Duration> {
        match &mut self.kind {
            Kind::Times { times, next } => {
                let at = times.get(*next).copied();
                *next = next.saturating_add(self.parts);
                at
            }
            Kind::Rate { process, course, segment, begins } => {
                let gap: f64 = match process {
                    Process::Poisson => Exp1.sample(&mut self.own),
                    Process::Even => 1.0,
                };
                self.wanted += gap * self.parts as f64;
                while *begins <= Plan::LONGEST {
                    if let Some(offset) = segment.offset_of(self.wanted) {
                        return begins.checked_add(offset);
                    }
                    self.wanted -= segment.area();
                    *begins = begins.saturating_add(segment.lasts);
                    *segment = course.next();
                }
                None
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::rate::Bursts;
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    fn at(process: Process, per_s: f64) -> Schedule {
        Schedule::Rate(process, Rate::constant(per_s))
    }

    fn seconds(stream: Stream, count: usize) -> Vec<f64> {
        stream.take(count).map(|at| at.as_secs_f64()).collect()
    }

    fn gaps(times: &[f64]) -> Vec<f64> {
        times.windows(2).map(|pair| pair[1] - pair[0]).collect()
    }

    /// Standard deviation over mean.
    fn spread(values: &[f64]) -> (f64, f64) {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        let variance = values.iter().map(|v| (v - mean).powi(2)).sum::<f64>() / values.len() as f64;
        (mean, variance.sqrt() / mean)
    }

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let times = seconds(at(Process::Poisson, 50.0).stream(0, 1, 7), 20_000);
        let (mean, spread) = spread(&gaps(&times));
        assert!((mean - 0.02).abs() < 0.0006, "mean {mean}");
        assert!((spread - 1.0).abs() < 0.03, "spread {spread}");
    }

    #[test]
    fn even_arrivals_stay_even_when_drivers_share_them() {
        let schedule = at(Process::Even, 100.0);
        let mut times: Vec<f64> =
            (0..3).flat_map(|part| seconds(schedule.stream(part, 3, 9), 50)).collect();
        times.sort_unstable_by(f64::total_cmp);
        assert!((0.0..=0.01).contains(&times[0]), "{}", times[0]);
        assert!(gaps(&times).iter().all(|gap| (gap - 0.01).abs() < 1e-6), "{times:?}");
    }

    #[test]
    fn bursts_spread_the_gaps_wider_than_poisson_and_reach_all_drivers_at_once() {
        let bursts =
            Bursts { calm_per_s: 2.0, burst_per_s: 200.0, calm_for: 9 * SECOND, burst_for: SECOND };
        let schedule = Schedule::Rate(Process::Poisson, Rate::Bursts(bursts));
        let halves: Vec<Vec<f64>> =
            (0..2).map(|part| seconds(schedule.stream(part, 2, 5), 2_000)).collect();
        assert!(spread(&gaps(&halves[0])).1 > 2.0);
        // Two independent Poisson streams: the seconds with a burst are the same.
        let end = halves[0][1999].min(halves[1][1999]) as usize;
        let busy = |times: &[f64]| {
            let mut count = vec![0u32; end + 1];
            times.iter().filter(|at| **at < end as f64).for_each(|at| count[*at as usize] += 1);
            count.into_iter().map(|n| n > 30).collect::<Vec<_>>()
        };
        let (first, second) = (busy(&halves[0]), busy(&halves[1]));
        let together = first.iter().zip(&second).filter(|(a, b)| **a && **b).count();
        let alone = first.iter().zip(&second).filter(|(a, b)| a != b).count();
        assert!(together > 4 * alone.max(1), "{together} together, {alone} alone");
    }

    #[test]
    fn after_a_rate_of_zero_nobody_comes_until_it_rises() {
        let level = |per_s| Segment { lasts: SECOND, from_per_s: per_s, to_per_s: per_s };
        let rate = Rate::segments(vec![level(0.0), level(100.0), level(0.0)]);
        let stream = Schedule::Rate(Process::Even, rate).stream(0, 1, 1);
        let times: Vec<Duration> = stream.collect();
        assert!((99..=100).contains(&times.len()), "{}", times.len());
        assert!(times.iter().all(|time| (SECOND..=2 * SECOND).contains(time)));
    }

    #[test]
    fn where_nobody_ever_comes_the_stream_ends() {
        assert_eq!(at(Process::Poisson, 0.0).stream(0, 1, 1).next(), None);
        let never =
            Bursts { calm_per_s: 0.0, burst_per_s: 0.0, calm_for: SECOND, burst_for: SECOND };
        let schedule = Schedule::Rate(Process::Poisson, Rate::Bursts(never));
        assert_eq!(schedule.stream(0, 1, 1).next(), None);
    }

    #[test]
    fn two_drivers_share_the_rate_and_a_list_between_them() {
        let list = Schedule::times(vec![3 * SECOND, SECOND, 2 * SECOND]);
        let take = |part| list.stream(part, 2, 1).collect::<Vec<_>>();
        assert_eq!(take(0), [SECOND, 3 * SECOND]);
        assert_eq!(take(1), [2 * SECOND]);
        let half = seconds(at(Process::Poisson, 100.0).stream(0, 2, 3), 5000);
        assert!((half[4999] - 100.0).abs() < 5.0, "{}", half[4999]);
    }
}
