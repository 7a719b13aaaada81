//! What a run of a fleet shows.

use std::ops::Range;

/// The course of a run.
#[derive(Clone, Debug, Default)]
pub struct Course {
    /// One for each tenth of a second.
    pub samples: Vec<Sample>,
    /// What the service answers at most, in requests per second.
    pub peak_per_s: f64,
    /// Messages that NATS takes in and gives out.
    pub messages: u64,
    /// Their bytes as JSON.
    pub bytes: f64,
    /// Most sessions active at once.
    pub sessions_at_once: u64,
    /// Sessions that were offered.
    pub sessions: u64,
}

/// A tenth of a second. Numbers are of all gates.
#[derive(Clone, Debug, Default)]
pub struct Sample {
    /// Its end, in seconds.
    pub at_s: f64,
    /// New sessions that came.
    pub offered: u64,
    /// New sessions that were admitted.
    pub admitted: u64,
    /// The same by each of the first gates, as many as eight.
    pub admitted_by: Vec<u64>,
    /// Requests that were answered.
    pub answered: u64,
    /// The same of each of the first gates, as many as eight.
    pub answered_by: Vec<u64>,
    /// Mean response time, in seconds.
    pub response_s: f64,
    /// Share of the service that was used.
    pub in_use: f64,
    /// Sum of the shares of gates that are up.
    pub shares: f64,
    /// Share of the first gates, as many as eight.
    pub share: Vec<f64>,
    /// The part of the service that is not where it belongs: half the sum of the differences
    /// between the shares and those that present demand gives.
    pub misplaced: f64,
    /// Gates that go on by themselves.
    pub cut_off: usize,
}

/// A response that takes longer is not good.
const GOOD_S: f64 = 0.5;

impl Course {
    /// NATS carries so many messages more, of this length.
    pub(super) fn carries(&mut self, messages: u64, bytes: f64) {
        self.messages += messages;
        self.bytes += messages as f64 * bytes;
    }

    fn within(&self, time_s: &Range<f64>) -> impl Iterator<Item = &Sample> {
        self.samples.iter().filter(move |sample| time_s.contains(&sample.at_s))
    }

    /// The mean over some time of what a sample shows.
    pub fn mean(&self, time_s: Range<f64>, of: impl Fn(&Sample) -> f64) -> f64 {
        let (sum, number) =
            self.within(&time_s).fold((0.0, 0.0), |(sum, number), it| (sum + of(it), number + 1.0));
        sum / number
    }

    /// The greatest over some time.
    pub fn most(&self, time_s: Range<f64>, of: impl Fn(&Sample) -> f64) -> f64 {
        self.within(&time_s).map(of).fold(0.0, f64::max)
    }

    /// New sessions admitted per second over some time.
    pub fn admitted_per_s(&self, time_s: Range<f64>) -> f64 {
        self.mean(time_s, |sample| sample.admitted as f64) * 10.0
    }

    /// Requests answered in good time, as a share of what the service can answer.
    pub fn goodput(&self, time_s: Range<f64>) -> f64 {
        let good = |sample: &Sample| match sample.response_s <= GOOD_S {
            true => sample.answered as f64,
            false => 0.0,
        };
        self.mean(time_s, good) * 10.0 / self.peak_per_s
    }

    /// Time from `from_s` until a condition holds and goes on to hold for half a second;
    /// `None`: it does not within the run.
    pub fn until(&self, from_s: f64, holds: impl Fn(&Sample) -> bool) -> Option<f64> {
        let samples: Vec<_> = self.samples.iter().filter(|it| it.at_s > from_s).collect();
        let first = samples.windows(5).find(|five| five.iter().all(|sample| holds(sample)))?;
        Some(first[0].at_s - from_s)
    }
}
