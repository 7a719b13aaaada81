//! When customers come: a Poisson process whose rate follows a schedule, with
//! bursts and a daily wave on top if configured.

use super::random::Random;

/// A level of load over time.
#[derive(Clone, Debug, Default)]
pub struct Arrivals {
    /// Levels as shares of the run's load; none: 1 throughout.
    pub segments: Vec<Segment>,
    /// Bursts on top.
    pub bursts: Option<Bursts>,
    /// A wave on top.
    pub wave: Option<Wave>,
    /// A closed loop in place of all that: so many customers at a load of 1, each of whom
    /// begins the next session after a think time when one has ended.
    pub closed: Option<u32>,
}

/// A stretch of time in which the level stays or changes evenly.
#[derive(Clone, Copy, Debug)]
pub struct Segment {
    /// When it begins; it ends where the next one begins.
    pub from_s: f64,
    /// Level at its beginning.
    pub level: f64,
    /// Level at its end; where no other follows, it never ends.
    pub to_level: f64,
}

/// A Markov-modulated Poisson process of two states whose mean is the level.
///
/// Source: Fischer and Meier-Hellstern 1993, "The Markov-modulated Poisson
/// process (MMPP) cookbook".
#[derive(Clone, Copy, Debug)]
pub struct Bursts {
    /// Rate within a burst, in mean rates; above 1.
    pub factor: f64,
    /// Mean length of a burst, exponential.
    pub lasts_s: f64,
    /// Share of the time that is burst; `factor × share` is at most 1.
    pub share: f64,
}

/// A sine on top of the level.
#[derive(Clone, Copy, Debug)]
pub struct Wave {
    /// From peak to peak.
    pub period_s: f64,
    /// Height of the peak over the mean, as a share of it: 0 to 1.
    pub amplitude: f64,
}

impl Arrivals {
    /// The level at a time, bursts left out.
    pub fn level(&self, at_s: f64) -> f64 {
        self.scheduled(at_s) * self.waving(at_s)
    }

    /// No level is higher, bursts included.
    pub fn highest(&self) -> f64 {
        let levels = self.segments.iter().map(|s| s.level.max(s.to_level));
        let scheduled = if self.segments.is_empty() { 1.0 } else { levels.fold(0.0, f64::max) };
        scheduled
            * self.wave.map_or(1.0, |wave| 1.0 + wave.amplitude)
            * self.bursts.map_or(1.0, |bursts| bursts.factor)
    }

    fn scheduled(&self, at_s: f64) -> f64 {
        if self.segments.is_empty() {
            return 1.0;
        }
        let next = self.segments.partition_point(|segment| segment.from_s <= at_s);
        let Some(segment) = next.checked_sub(1).map(|index| self.segments[index]) else {
            return 0.0;
        };
        match self.segments.get(next) {
            None => segment.level,
            Some(following) => {
                let passed = (at_s - segment.from_s) / (following.from_s - segment.from_s);
                segment.level + (segment.to_level - segment.level) * passed
            }
        }
    }

    fn waving(&self, at_s: f64) -> f64 {
        self.wave.map_or(1.0, |wave| {
            1.0 + wave.amplitude * (std::f64::consts::TAU * at_s / wave.period_s).sin()
        })
    }
}

/// Draws arrivals one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Stream {
    arrivals: Arrivals,
    per_level: f64,
    random: Random,
    /// Whether there is a burst, and until when it stays so; `None`: not drawn yet.
    state: Option<(bool, f64)>,
}

impl Stream {
    /// `per_level`: arrivals per second at level 1.
    pub(crate) fn new(arrivals: &Arrivals, per_level: f64, random: Random) -> Self {
        Self { arrivals: arrivals.clone(), per_level, random, state: None }
    }

    /// Arrivals per second at a time not before that of the last call.
    pub(crate) fn rate(&mut self, at_s: f64) -> f64 {
        let factor = self.factor(at_s);
        self.per_level * self.arrivals.level(at_s) * factor
    }

    /// When the next one comes after `now`, before `until`.
    ///
    /// Source: Lewis and Shedler 1979, "Simulation of nonhomogeneous Poisson
    /// processes by thinning".
    pub(crate) fn next(&mut self, now: f64, until: f64) -> Option<f64> {
        let most = self.per_level * self.arrivals.highest();
        if most <= 0.0 {
            return None;
        }
        let mut at = now;
        loop {
            at += self.random.exponential(1.0 / most);
            if at > until {
                return None;
            }
            if self.random.uniform() * most <= self.rate(at) {
                return Some(at);
            }
        }
    }

    fn factor(&mut self, at_s: f64) -> f64 {
        let Some(Bursts { factor, lasts_s, share }) = self.arrivals.bursts else { return 1.0 };
        let random = &mut self.random;
        let lasts = |bursting: bool, random: &mut Random| {
            random.exponential(if bursting { lasts_s } else { lasts_s * (1.0 - share) / share })
        };
        let (mut bursting, mut until) = match self.state {
            Some(state) => state,
            // At first it is in either state as often as at any other time.
            None => {
                let bursting = random.uniform() <= share;
                (bursting, at_s + lasts(bursting, random))
            }
        };
        while until <= at_s {
            bursting = !bursting;
            until += lasts(bursting, random);
        }
        self.state = Some((bursting, until));
        if bursting { factor } else { (1.0 - factor * share) / (1.0 - share) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn segments() -> Vec<Segment> {
        vec![
            Segment { from_s: 0.0, level: 0.5, to_level: 0.5 },
            Segment { from_s: 10.0, level: 1.0, to_level: 3.0 },
            Segment { from_s: 20.0, level: 0.0, to_level: 0.0 },
        ]
    }

    #[test]
    fn a_run_begins_in_a_burst_as_often_as_there_is_one() {
        let bursts = Some(Bursts { factor: 4.0, lasts_s: 0.5, share: 0.2 });
        let arrivals = Arrivals { bursts, ..Arrivals::default() };
        let begins = |seed| Stream::new(&arrivals, 1.0, Random::new(seed)).rate(0.0) > 1.0;
        let share = (0..5000).filter(|seed| begins(*seed)).count() as f64 / 5000.0;
        assert!((share - 0.2).abs() < 0.02, "{share}");
    }

    fn arrivals_between(arrivals: &Arrivals, from: f64, until: f64) -> f64 {
        let mut stream = Stream::new(arrivals, 2000.0, Random::new(5));
        let (mut at, mut number) = (0.0, 0.0);
        while let Some(next) = stream.next(at, until) {
            at = next;
            number += f64::from(u8::from(at > from));
        }
        number / (until - from)
    }

    #[test]
    fn levels_step_and_ramp_as_scheduled() {
        let arrivals = Arrivals { segments: segments(), ..Arrivals::default() };
        let levels = [0.0, 9.9, 10.0, 15.0, 25.0].map(|at| arrivals.level(at));
        assert_eq!(levels, [0.5, 0.5, 1.0, 2.0, 0.0]);
        let ramp = arrivals_between(&arrivals, 10.0, 20.0);
        assert!((ramp / 4000.0 - 1.0).abs() < 0.02, "{ramp}");
    }

    #[test]
    fn bursts_and_waves_leave_the_mean_alone() {
        let bursts = Some(Bursts { factor: 4.0, lasts_s: 0.2, share: 0.1 });
        let wave = Some(Wave { period_s: 10.0, amplitude: 0.8 });
        let rate = arrivals_between(&Arrivals { bursts, wave, ..Arrivals::default() }, 0.0, 400.0);
        assert!((rate / 2000.0 - 1.0).abs() < 0.05, "{rate}");
    }
}
