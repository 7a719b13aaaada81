//! From a rate to instants: at random or evenly spaced, or a list of instants.
//! Pure: time is a `Duration` since the start of the run, and a seed decides.

use std::sync::Arc;
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_distr::{Distribution, Exp1};

use super::limits::LONGEST_RUN;
use super::rate::{Navigation, Rate, Segment};
use crate::rng::Rng;

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

    /// When it ends, if it does.
    pub fn end(&self) -> Option<Duration> {
        match self {
            Self::Rate(_, rate) => rate.length(),
            Self::Times(times) => times.last().copied(),
        }
    }

    /// Starts a stream of instants. Of the whole schedule, which the seed alone
    /// decides, `part` (from 0) of `parts` takes every `parts`-th arrival from its
    /// own number on: all parts together are the schedule to the nanosecond.
    pub fn stream(&self, part: usize, parts: usize, seed: u64) -> Stream {
        let parts = parts.max(1);
        let kind = match self {
            Self::Times(times) => StreamKind::Times { times: times.clone(), next: part },
            Self::Rate(process, rate) => {
                let mut common = Rng::seed_from_u64(seed);
                let mut course = rate.course(common.random());
                let phase: f64 = common.random();
                // Of evenly spaced arrivals the first falls into its own gap at
                // random; what precedes it counts as one gap.
                let wanted = match process {
                    Process::Poisson => 0.0,
                    Process::Even => phase - 1.0,
                };
                let gaps = Rng::seed_from_u64(seed ^ 0xD134_2543_DE82_EF95);
                let (segment, begins) = (course.next(), Duration::ZERO);
                StreamKind::Rate {
                    process: *process,
                    course,
                    segment,
                    begins,
                    wanted,
                    gaps,
                    before: part,
                }
            }
        };
        Stream { kind, parts }
    }
}

/// Instants of arrival, in order; ends when there is none any more, at the
/// latest after the longest run.
#[derive(Clone, Debug)]
pub struct Stream {
    kind: StreamKind,
    parts: usize,
}

#[derive(Clone, Debug)]
enum StreamKind {
    Rate {
        process: Process,
        course: Navigation,
        segment: Segment,
        begins: Duration,
        /// Arrivals that are to be expected between the beginning of the segment
        /// and the last arrival.
        wanted: f64,
        gaps: Rng,
        /// Arrivals of other parts before the next of this one.
        before: usize,
    },
    Times {
        times: Arc<[Duration]>,
        next: usize,
    },
}

impl Iterator for Stream {
    type Item = Duration;

    /// Each part draws the gaps of all, some 10 ns for each arrival: only thus
    /// the whole is the same however many share it.
    ///
    /// Source: time rescaling; a Poisson process of rate r(t) has its n-th event
    /// where the integral of r equals the sum of n unit exponentials.
    fn next(&mut self) -> Option<Duration> {
        match &mut self.kind {
            StreamKind::Times { times, next } => {
                let at = times.get(*next).copied();
                *next = next.saturating_add(self.parts);
                at
            }
            StreamKind::Rate { process, course, segment, begins, wanted, gaps, before } => {
                while *begins <= LONGEST_RUN {
                    *wanted += match process {
                        Process::Poisson => Exp1.sample(gaps),
                        Process::Even => 1.0,
                    };
                    while !segment.has(*wanted) && *begins <= LONGEST_RUN {
                        *wanted -= segment.area();
                        *begins = begins.saturating_add(segment.lasts);
                        *segment = course.next();
                    }
                    if *before > 0 {
                        *before -= 1;
                        continue;
                    }
                    *before = self.parts - 1;
                    return begins.checked_add(segment.offset_of(*wanted)?);
                }
                None
            }
        }
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use proptest::prelude::*;

    use super::super::rate::{Bursts, Wave};
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

    /// Mean and variance of the arrivals from `after` for `window` seconds, over so many seeds.
    fn counted(schedule: &Schedule, after: f64, window: f64, seeds: u64) -> (f64, f64) {
        let span = [after, after + window].map(Duration::from_secs_f64);
        let counts: Vec<f64> = (0..seeds)
            .map(|seed| {
                let within = schedule.stream(0, 1, seed).take_while(|at| *at < span[1]);
                within.filter(|at| *at >= span[0]).count() as f64
            })
            .collect();
        let (mean, relative) = spread(&counts);
        (mean, (mean * relative).powi(2))
    }

    #[test]
    fn rates_below_one_a_second_bring_as_many_as_they_say() {
        // 0.2/s for ten minutes, also written 12/m: 120 arrivals, of a Poisson process with a
        // variance of 120. Over 400 seeds the mean is off by √(120/400) = 0.55, the variance by
        // 120·√(2/400) = 8.5; four times that is allowed.
        for per_s in [0.2, 12.0 / 60.0] {
            for after in [0.0, 10.0] {
                let (mean, variance) = counted(&at(Process::Poisson, per_s), after, 600.0, 400);
                assert!((mean - 120.0).abs() < 2.2, "{mean}");
                assert!((variance - 120.0).abs() < 34.0, "{variance}");
            }
        }
        // Mostly nobody comes: 0.01/s for 30 s.
        let (mean, variance) = counted(&at(Process::Poisson, 0.01), 0.0, 30.0, 4000);
        assert!((mean - 0.3).abs() < 4.0 * (0.3f64 / 4000.0).sqrt(), "{mean}");
        assert!((variance - 0.3).abs() < 0.05, "{variance}");
    }

    #[test]
    fn evenly_spaced_arrivals_below_one_a_second_are_as_many_within_one() {
        let (mean, variance) = counted(&at(Process::Even, 0.2), 0.0, 600.0, 100);
        assert_eq!((mean, variance), (120.0, 0.0));
        // A gap of 100 s, and a window of 30: in three of ten runs somebody comes.
        let (mean, _) = counted(&at(Process::Even, 0.01), 0.0, 30.0, 4000);
        assert!((mean - 0.3).abs() < 0.03, "{mean}");
    }

    #[test]
    fn changing_rates_below_one_a_second_bring_as_many_as_they_say() {
        let for_10_min =
            |from_per_s, to_per_s| Segment { lasts: 600 * SECOND, from_per_s, to_per_s };
        let ramp = Rate::segments(vec![for_10_min(0.0, 0.4)]);
        let wave = Rate::Wave(Wave {
            mean_per_s: 0.2,
            swing: 1.0,
            period: 300 * SECOND,
            peak: 150 * SECOND,
        });
        for rate in [ramp, wave] {
            let schedule = Schedule::Rate(Process::Poisson, rate);
            let (mean, variance) = counted(&schedule, 0.0, 600.0, 400);
            assert!((mean - 120.0).abs() < 2.2, "{mean} {schedule:?}");
            assert!((variance - 120.0).abs() < 34.0, "{variance} {schedule:?}");
        }
        // (0.05·20 + 0.5·10) / 30 = 0.2. Bursts spread wider, and begin calm.
        let bursts = Bursts {
            calm_per_s: 0.05,
            burst_per_s: 0.5,
            calm_for: 20 * SECOND,
            burst_for: 10 * SECOND,
        };
        let schedule = Schedule::Rate(Process::Poisson, Rate::Bursts(bursts));
        let (mean, _) = counted(&schedule, 600.0, 6000.0, 200);
        assert!((mean - 1200.0).abs() < 24.0, "{mean}");
    }

    #[test]
    fn evenly_spaced_arrivals_have_equal_gaps_from_a_random_phase_on() {
        let times = seconds(at(Process::Even, 100.0).stream(0, 1, 9), 50);
        assert!((0.0..=0.01).contains(&times[0]), "{}", times[0]);
        assert!(gaps(&times).iter().all(|gap| (gap - 0.01).abs() < 1e-6), "{times:?}");
    }

    #[test]
    fn bursts_spread_the_gaps_wider_than_poisson() {
        let bursts =
            Bursts { calm_per_s: 2.0, burst_per_s: 200.0, calm_for: 9 * SECOND, burst_for: SECOND };
        let schedule = Schedule::Rate(Process::Poisson, Rate::Bursts(bursts));
        assert!(spread(&gaps(&seconds(schedule.stream(0, 1, 5), 2_000))).1 > 2.0);
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

    fn any_rate() -> impl Strategy<Value = Rate> {
        let ms = |from: u64, to: u64| (from..to).prop_map(Duration::from_millis);
        let segment = (ms(1, 20_000), 0.0..200.0, 0.0..200.0)
            .prop_map(|(lasts, from, to)| Segment { lasts, from_per_s: from, to_per_s: to });
        let wave = (0.1..200.0, 0.0..=1.0, ms(100, 60_000), ms(0, 60_000)).prop_map(
            |(mean_per_s, swing, period, peak)| {
                Rate::Wave(Wave { mean_per_s, swing, period, peak })
            },
        );
        let bursts = (0.0..20.0, 1.0..500.0, ms(10, 9_000), ms(10, 3_000)).prop_map(
            |(calm_per_s, burst_per_s, calm_for, burst_for)| {
                Rate::Bursts(Bursts { calm_per_s, burst_per_s, calm_for, burst_for })
            },
        );
        prop_oneof![
            (0.1..5_000.0).prop_map(Rate::constant),
            proptest::collection::vec(segment, 1..6).prop_map(Rate::segments),
            wave,
            bursts,
        ]
    }

    pub(crate) fn any_schedule() -> impl Strategy<Value = Schedule> {
        let process = prop_oneof![Just(Process::Poisson), Just(Process::Even)];
        let times =
            proptest::collection::vec((0u64..60_000).prop_map(Duration::from_millis), 0..300);
        prop_oneof![
            4 => (process, any_rate()).prop_map(|(process, rate)| Schedule::Rate(process, rate)),
            1 => times.prop_map(Schedule::times),
        ]
    }

    proptest! {
        #[test]
        fn the_union_of_all_parts_is_the_schedule_of_one(
            schedule in any_schedule(), parts in 1usize..9, seed: u64,
        ) {
            let whole: Vec<Duration> = schedule.stream(0, 1, seed).take(500).collect();
            let mut streams: Vec<Stream> =
                (0..parts).map(|part| schedule.stream(part, parts, seed)).collect();
            let union: Vec<Duration> =
                (0..whole.len()).map(|n| streams[n % parts].next().unwrap()).collect();
            prop_assert_eq!(&union, &whole);
            if whole.len() < 500 {
                // Where the whole ends, so does each part.
                prop_assert!(streams.iter_mut().all(|stream| stream.next().is_none()));
            }
        }
    }
}
