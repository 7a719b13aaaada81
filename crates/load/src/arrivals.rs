//! When customers arrive: a rate over time, turned into instants by a Poisson
//! process (or evenly), or a list of instants. Pure: the random numbers are an
//! argument and time is a `Duration` since the start of the run.

use std::time::Duration;

use rand::RngExt;
use rand_distr::{Distribution, Exp1};

use crate::Rng;

/// The schedule of arrivals.
#[derive(Clone, Debug, PartialEq)]
pub struct Arrivals {
    process: Process,
    segments: Vec<Segment>,
}

/// How a rate becomes instants.
#[derive(Clone, Debug, PartialEq)]
pub enum Process {
    /// Independent arrivals: gaps are negative exponential.
    Poisson,
    /// Equal gaps (at a constant rate).
    Even,
    /// These instants, sorted; the segments do not matter.
    Times(Vec<Duration>),
}

/// A stretch of time in which the rate goes linearly from one value to
/// another. The rate of the last segment's end holds for ever after.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// How long it lasts; above 0.
    pub lasts: Duration,
    /// Sessions per second at its beginning; 0 to [`Arrivals::FASTEST`].
    pub from_per_s: f64,
    /// Sessions per second at its end.
    pub to_per_s: f64,
}

impl Arrivals {
    /// The highest rate that is accepted, in sessions per second.
    pub const FASTEST: f64 = 1e6;

    /// A Poisson process at a constant rate.
    pub fn poisson(per_s: f64) -> Self {
        Self::constant(Process::Poisson, per_s)
    }

    /// Equal gaps at a constant rate.
    pub fn even(per_s: f64) -> Self {
        Self::constant(Process::Even, per_s)
    }

    /// A schedule of segments. Rates are brought into `0..=FASTEST`; segments
    /// without length are dropped.
    pub fn segments(process: Process, segments: Vec<Segment>) -> Self {
        let tame = |rate: f64| if rate.is_finite() { rate.clamp(0.0, Self::FASTEST) } else { 0.0 };
        let segments = segments
            .into_iter()
            .filter(|segment| !segment.lasts.is_zero())
            .map(|segment| Segment {
                lasts: segment.lasts,
                from_per_s: tame(segment.from_per_s),
                to_per_s: tame(segment.to_per_s),
            })
            .collect();
        Self { process, segments }
    }

    /// Arrivals at exactly these instants.
    pub fn times(mut times: Vec<Duration>) -> Self {
        times.sort_unstable();
        Self { process: Process::Times(times), segments: Vec::new() }
    }

    /// The rate at an instant, in sessions per second; 0 for a list of times.
    pub fn rate_at(&self, at: Duration) -> f64 {
        let mut begins = Duration::ZERO;
        let mut rate = 0.0;
        for segment in &self.segments {
            let ends = begins.saturating_add(segment.lasts);
            if at < ends {
                let share = (at - begins).as_secs_f64() / segment.lasts.as_secs_f64();
                return segment.from_per_s + share * (segment.to_per_s - segment.from_per_s);
            }
            rate = segment.to_per_s;
            begins = ends;
        }
        rate
    }

    /// Arrivals that the schedule asks for between two instants: the integral
    /// of the rate, or the count of the times listed.
    pub fn expected(&self, from: Duration, to: Duration) -> f64 {
        if let Process::Times(times) = &self.process {
            return times.iter().filter(|&&time| time >= from && time < to).count() as f64;
        }
        self.integral(to) - self.integral(from)
    }

    /// Starts a stream of instants. `part` of `parts` takes its share of the
    /// rate (or every `parts`-th listed time), so that several driver threads
    /// together make up the whole: Poisson processes add up to one.
    pub fn stream(&self, part: usize, parts: usize) -> Stream {
        let parts = parts.max(1);
        Stream {
            arrivals: self.clone(),
            share: 1.0 / parts as f64,
            part,
            parts,
            drawn: 0,
            covered: 0.0,
        }
    }

    fn constant(process: Process, per_s: f64) -> Self {
        let lasts = Duration::from_secs(1);
        Self::segments(process, vec![Segment { lasts, from_per_s: per_s, to_per_s: per_s }])
    }

    /// Arrivals expected from the start to `at`.
    fn integral(&self, at: Duration) -> f64 {
        let mut begins = Duration::ZERO;
        let mut sum = 0.0;
        for segment in &self.segments {
            let ends = begins.saturating_add(segment.lasts);
            let until = at.clamp(begins, ends);
            let length = (until - begins).as_secs_f64();
            sum += length * (segment.from_per_s + self.rate_within(segment, until - begins)) / 2.0;
            begins = ends;
        }
        let tail = at.saturating_sub(begins).as_secs_f64();
        sum + tail * self.segments.last().map_or(0.0, |last| last.to_per_s)
    }

    fn rate_within(&self, segment: &Segment, offset: Duration) -> f64 {
        let share = offset.as_secs_f64() / segment.lasts.as_secs_f64();
        segment.from_per_s + share * (segment.to_per_s - segment.from_per_s)
    }

    /// The instant at which the integral of the rate reaches `target`; `None`
    /// if it never does.
    fn inverse(&self, target: f64) -> Option<Duration> {
        let mut begins = Duration::ZERO;
        let mut left = target;
        for segment in &self.segments {
            let length = segment.lasts.as_secs_f64();
            let area = length * (segment.from_per_s + segment.to_per_s) / 2.0;
            if left <= area && area > 0.0 {
                let slope = (segment.to_per_s - segment.from_per_s) / length;
                // a·x + slope·x²/2 = left, solved in the form that stays
                // exact for a slope of nearly zero.
                let root = (segment.from_per_s.powi(2) + 2.0 * slope * left).max(0.0).sqrt();
                let divisor = segment.from_per_s + root;
                let offset = if divisor > 0.0 { 2.0 * left / divisor } else { 0.0 };
                return Some(begins + Duration::from_secs_f64(offset.min(length)));
            }
            left -= area;
            begins = begins.saturating_add(segment.lasts);
        }
        let rate = self.segments.last().map_or(0.0, |last| last.to_per_s);
        if rate <= 0.0 {
            return None;
        }
        Duration::try_from_secs_f64(left / rate).ok().and_then(|tail| begins.checked_add(tail))
    }
}

/// Instants of arrival, in order.
#[derive(Clone, Debug)]
pub struct Stream {
    arrivals: Arrivals,
    share: f64,
    part: usize,
    parts: usize,
    drawn: usize,
    covered: f64,
}

impl Stream {
    /// The next arrival since the start of the run; `None` when there is none
    /// any more.
    ///
    /// Source: time rescaling; a Poisson process of rate r(t) has its n-th
    /// event where the integral of r equals the sum of n unit exponentials.
    pub fn next(&mut self, rng: &mut Rng) -> Option<Duration> {
        if let Process::Times(times) = &self.arrivals.process {
            let index = self.part + self.drawn * self.parts;
            self.drawn += 1;
            return times.get(index).copied();
        }
        let gap: f64 = match self.arrivals.process {
            Process::Poisson => Exp1.sample(rng),
            // The first arrival falls into its own gap at random, so that
            // several drivers do not beat in time.
            _ if self.drawn == 0 => rng.random_range(0.0..=1.0),
            _ => 1.0,
        };
        self.drawn += 1;
        self.covered += gap / self.share;
        self.arrivals.inverse(self.covered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rand::SeedableRng;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn poisson_gaps_have_the_mean_and_spread_of_an_exponential() {
        let mut rng = Rng::seed_from_u64(7);
        let mut stream = Arrivals::poisson(50.0).stream(0, 1);
        let mut last = 0.0;
        let gaps: Vec<f64> = (0..20_000)
            .map(|_| {
                let at = stream.next(&mut rng).unwrap().as_secs_f64();
                let gap = at - last;
                last = at;
                gap
            })
            .collect();
        let mean = gaps.iter().sum::<f64>() / gaps.len() as f64;
        let variance = gaps.iter().map(|gap| (gap - mean).powi(2)).sum::<f64>() / gaps.len() as f64;
        assert!((mean - 0.02).abs() < 0.0006, "mean {mean}");
        assert!((variance.sqrt() / mean - 1.0).abs() < 0.03, "spread {}", variance.sqrt() / mean);
    }

    #[test]
    fn a_ramp_has_the_rate_in_between_and_the_area_of_its_trapezium() {
        let ramp = Segment { lasts: 10 * SECOND, from_per_s: 10.0, to_per_s: 30.0 };
        let arrivals = Arrivals::segments(Process::Even, vec![ramp]);
        assert_eq!(arrivals.rate_at(5 * SECOND), 20.0);
        assert_eq!(arrivals.rate_at(60 * SECOND), 30.0);
        assert!((arrivals.expected(Duration::ZERO, 10 * SECOND) - 200.0).abs() < 1e-9);
        assert!((arrivals.expected(10 * SECOND, 11 * SECOND) - 30.0).abs() < 1e-9);
        // 10·5 + 2·25/2 = 75 arrivals in the first five seconds.
        let at = arrivals.inverse(75.0).unwrap().as_secs_f64();
        assert!((at - 5.0).abs() < 1e-6, "{at}");
    }

    #[test]
    fn after_a_rate_of_zero_nobody_comes_until_it_rises() {
        let segments = vec![
            Segment { lasts: SECOND, from_per_s: 0.0, to_per_s: 0.0 },
            Segment { lasts: SECOND, from_per_s: 100.0, to_per_s: 100.0 },
            Segment { lasts: SECOND, from_per_s: 0.0, to_per_s: 0.0 },
        ];
        let mut stream = Arrivals::segments(Process::Even, segments).stream(0, 1);
        let mut rng = Rng::seed_from_u64(1);
        let times: Vec<Duration> = std::iter::from_fn(|| stream.next(&mut rng)).collect();
        assert!((99..=100).contains(&times.len()), "{}", times.len());
        assert!(times.iter().all(|time| (SECOND..=2 * SECOND).contains(time)));
    }

    #[test]
    fn two_drivers_share_the_rate_and_a_list_between_them() {
        let list = Arrivals::times(vec![3 * SECOND, SECOND, 2 * SECOND]);
        let mut rng = Rng::seed_from_u64(1);
        let mut take = |part| {
            let mut stream = list.stream(part, 2);
            std::iter::from_fn(|| stream.next(&mut rng)).collect::<Vec<_>>()
        };
        assert_eq!(take(0), [SECOND, 3 * SECOND]);
        assert_eq!(take(1), [2 * SECOND]);
        let mut half = Arrivals::poisson(100.0).stream(0, 2);
        let mut rng = Rng::seed_from_u64(3);
        let last = (0..5000).map(|_| half.next(&mut rng).unwrap()).last().unwrap();
        assert!((last.as_secs_f64() - 100.0).abs() < 5.0, "{last:?}");
    }
}
