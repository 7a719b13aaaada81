//! A rate over time: steps and ramps, a daily wave, bursts. Each is played as a
//! course of segments, so that code that turns a rate into instants need not know
//! which it is.

use std::f64::consts::TAU;
use std::time::Duration;

use rand::SeedableRng;
use rand_distr::{Distribution, Exp1};

use crate::rng::Rng;

/// Chords that stand for a period of a wave: a quarter of an hour of a day.
/// They leave the sine by at most (τ/96)²/8, that is 0.05 % of its swing.
const CHORDS: u32 = 96;

/// Arrivals per second over time.
#[derive(Clone, Debug, PartialEq)]
pub enum Rate {
    /// Steps and ramps; the rate at the end of the last holds for ever after.
    Segments(Vec<Segment>),
    /// A sine, as the hours of a day make it.
    Wave(Wave),
    /// Calm and burst in turn.
    Bursts(Bursts),
}

/// A stretch of time in which the rate goes linearly from one value to another.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Segment {
    /// How long it lasts; above 0; [`Duration::MAX`] for ever.
    pub lasts: Duration,
    /// Arrivals per second at its beginning; 0 to [`Rate::FASTEST`].
    pub from_per_s: f64,
    /// Arrivals per second at its end.
    pub to_per_s: f64,
}

/// `mean · (1 + swing · cos(2π (t − peak) / period))`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Wave {
    /// Mean arrivals per second.
    pub mean_per_s: f64,
    /// 0 (none) to 1 (no arrivals at the lowest point, twice as many at the
    /// highest).
    pub swing: f64,
    /// From one peak to the next; above 0.
    pub period: Duration,
    /// When the first peak is, since the start of the run.
    pub peak: Duration,
}

/// Two rates in turn, each for a negative exponential time: with Poisson
/// arrivals, a Markov-modulated Poisson process of two states that begins in the
/// calm one.
///
/// Source: W. Fischer and K. Meier-Hellstern, The Markov-modulated Poisson
/// process (MMPP) cookbook, Performance Evaluation 18 (1993) 149–171.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Bursts {
    /// Arrivals per second while it is calm.
    pub calm_per_s: f64,
    /// Arrivals per second in a burst.
    pub burst_per_s: f64,
    /// Mean length of a calm; above 0.
    pub calm_for: Duration,
    /// Mean length of a burst; above 0.
    pub burst_for: Duration,
}

impl Rate {
    /// The highest rate that is accepted, arrivals per second.
    pub const FASTEST: f64 = 1e6;

    /// The same rate for ever.
    pub fn constant(per_s: f64) -> Self {
        let lasts = Duration::MAX;
        Self::segments(vec![Segment { lasts, from_per_s: per_s, to_per_s: per_s }])
    }

    /// Steps and ramps. Rates are brought into `0..=FASTEST`; segments without
    /// length are dropped.
    pub fn segments(mut segments: Vec<Segment>) -> Self {
        let tame = |rate: f64| if rate.is_finite() { rate.clamp(0.0, Self::FASTEST) } else { 0.0 };
        segments.retain(|segment| !segment.lasts.is_zero());
        for segment in &mut segments {
            segment.from_per_s = tame(segment.from_per_s);
            segment.to_per_s = tame(segment.to_per_s);
        }
        Self::Segments(segments)
    }

    /// Length of all segments together; `None` for what has no end.
    pub fn length(&self) -> Option<Duration> {
        let Self::Segments(segments) = self else { return None };
        let sum = |sum: Duration, segment: &Segment| sum.checked_add(segment.lasts);
        let length = segments.iter().try_fold(Duration::ZERO, sum)?;
        (!length.is_zero() && length < Duration::MAX).then_some(length)
    }

    /// Arrivals per second at an instant; of bursts, which come at random, the
    /// mean.
    pub fn at(&self, at: Duration) -> f64 {
        match self {
            Self::Segments(segments) => {
                let mut begins = Duration::ZERO;
                for segment in segments {
                    let offset = at.saturating_sub(begins);
                    if offset < segment.lasts {
                        return segment.rate_at(offset);
                    }
                    begins = begins.saturating_add(segment.lasts);
                }
                segments.last().map_or(0.0, |last| last.to_per_s)
            }
            Self::Wave(wave) => wave.at(at.as_secs_f64()),
            Self::Bursts(bursts) => bursts.mean_per_s(),
        }
    }

    /// Plays it from the start of the run; `seed` decides where bursts are.
    pub(super) fn course(&self, seed: u64) -> Navigation {
        Navigation { rate: self.clone(), played: 0, rng: Rng::seed_from_u64(seed) }
    }
}

impl Segment {
    fn rate_at(&self, offset: Duration) -> f64 {
        let share = offset.as_secs_f64() / self.lasts.as_secs_f64();
        self.from_per_s + share * (self.to_per_s - self.from_per_s)
    }

    /// Arrivals expected within it.
    pub(super) fn area(&self) -> f64 {
        self.lasts.as_secs_f64() * (self.from_per_s + self.to_per_s) / 2.0
    }

    /// Whether as many arrivals are expected within it.
    pub(super) fn has(&self, area: f64) -> bool {
        area <= self.area() && self.area() > 0.0
    }

    /// How long after its beginning `area` arrivals are expected to have come;
    /// `None` if that is not within it.
    pub(super) fn offset_of(&self, area: f64) -> Option<Duration> {
        if !self.has(area) {
            return None;
        }
        let length = self.lasts.as_secs_f64();
        let slope = (self.to_per_s - self.from_per_s) / length;
        // a·x + slope·x²/2 = area, solved in the form that stays exact for a
        // slope of nearly zero.
        let root = (self.from_per_s.powi(2) + 2.0 * slope * area).max(0.0).sqrt();
        let divisor = self.from_per_s + root;
        let offset = if divisor > 0.0 { 2.0 * area / divisor } else { 0.0 };
        Duration::try_from_secs_f64(offset).ok().map(|offset| offset.min(self.lasts))
    }
}

impl Wave {
    fn at(&self, at_s: f64) -> f64 {
        let turns = (at_s - self.peak.as_secs_f64()) / self.period.as_secs_f64();
        (self.mean_per_s * (1.0 + self.swing * (TAU * turns).cos())).max(0.0)
    }
}

impl Bursts {
    /// Mean arrivals per second in the long run.
    pub fn mean_per_s(&self) -> f64 {
        let (calm, burst) = (self.calm_for.as_secs_f64(), self.burst_for.as_secs_f64());
        (self.calm_per_s * calm + self.burst_per_s * burst) / (calm + burst)
    }
}

/// The segments of a rate, one after the other, without end.
#[derive(Clone, Debug)]
pub(super) struct Navigation {
    rate: Rate,
    played: u32,
    rng: Rng,
}

impl Navigation {
    /// The next segment. What holds for ever lasts [`Duration::MAX`].
    pub(super) fn next(&mut self) -> Segment {
        let index = self.played;
        self.played = self.played.wrapping_add(1);
        let level = |lasts, per_s| Segment { lasts, from_per_s: per_s, to_per_s: per_s };
        match &self.rate {
            Rate::Segments(segments) => {
                segments.get(index as usize).copied().unwrap_or_else(|| {
                    level(Duration::MAX, segments.last().map_or(0.0, |last| last.to_per_s))
                })
            }
            Rate::Wave(wave) => {
                let lasts = wave.period / CHORDS;
                let at = |chord: u32| wave.at(lasts.as_secs_f64() * f64::from(chord));
                Segment { lasts, from_per_s: at(index), to_per_s: at(index.wrapping_add(1)) }
            }
            Rate::Bursts(bursts) => {
                let (mean, per_s) = if index.is_multiple_of(2) {
                    (bursts.calm_for, bursts.calm_per_s)
                } else {
                    (bursts.burst_for, bursts.burst_per_s)
                };
                let draw: f64 = Exp1.sample(&mut self.rng);
                // A negative exponential is above 50 times its mean once in
                // 10^21 draws.
                level(mean.mul_f64(draw.min(50.0)), per_s)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    #[test]
    fn a_ramp_has_the_rate_in_between_and_the_area_of_its_trapezium() {
        let ramp = Segment { lasts: 10 * SECOND, from_per_s: 10.0, to_per_s: 30.0 };
        let rate = Rate::segments(vec![ramp]);
        assert_eq!(rate.at(5 * SECOND), 20.0);
        assert_eq!(rate.at(60 * SECOND), 30.0);
        assert_eq!(ramp.area(), 200.0);
        // 10·5 + 2·25/2 = 75 arrivals in the first five seconds.
        let at = ramp.offset_of(75.0).unwrap().as_secs_f64();
        assert!((at - 5.0).abs() < 1e-6, "{at}");
        assert_eq!(ramp.offset_of(201.0), None);
        let mut course = rate.course(1);
        assert_eq!(course.next(), ramp);
        assert_eq!(course.next().lasts, Duration::MAX);
    }

    #[test]
    fn a_wave_has_its_peak_its_trough_and_its_mean() {
        let day = Duration::from_secs(86_400);
        let wave =
            Wave { mean_per_s: 20.0, swing: 0.5, period: day, peak: Duration::from_secs(72_000) };
        let rate = Rate::Wave(wave);
        assert!((rate.at(Duration::from_secs(72_000)) - 30.0).abs() < 1e-9);
        assert!((rate.at(Duration::from_secs(28_800)) - 10.0).abs() < 1e-9);
        let mut course = rate.course(1);
        let area: f64 = (0..CHORDS).map(|_| course.next().area()).sum();
        assert!((area - 20.0 * 86_400.0).abs() < 1e-3, "{area}");
    }

    #[test]
    fn bursts_have_the_share_of_time_and_the_mean_that_they_should() {
        let bursts = Bursts {
            calm_per_s: 5.0,
            burst_per_s: 50.0,
            calm_for: 8 * SECOND,
            burst_for: 2 * SECOND,
        };
        // (5·8 + 50·2) / 10.
        assert_eq!(bursts.mean_per_s(), 14.0);
        let mut course = Rate::Bursts(bursts).course(3);
        let segments: Vec<Segment> = (0..20_000).map(|_| course.next()).collect();
        let time: f64 = segments.iter().map(|segment| segment.lasts.as_secs_f64()).sum();
        let area: f64 = segments.iter().map(Segment::area).sum();
        assert!((area / time / 14.0 - 1.0).abs() < 0.03, "{}", area / time);
        assert_eq!(segments[0].from_per_s, 5.0);
        assert_eq!(segments[1].from_per_s, 50.0);
    }
}
