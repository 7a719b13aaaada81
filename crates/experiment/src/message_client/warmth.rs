//! When a series of requests shows a warm service: it has no pauses, so that its seconds follow from
//! the times of its requests.

use super::series::{Kind, Sample};
use crate::warm_up::WarmUp;

/// Seconds of the three stretches that have to agree.
const STRETCHES_S: f64 = 15.0;
/// Largest ratio of their mean times. Twice as strict as for a load, whose queues add noise.
const WITHIN: f64 = 1.05;
/// Fewest requests in these stretches: the means of few agree by chance.
const TELLING: u64 = 500;
/// Requests after which a service counts as warm, whatever its stretches say: ten times as many calls
/// as the virtual machine takes to compile a method for good.
const MANY: usize = 100_000;
/// Seconds after which a series ends in any case: on a machine with other work its stretches may
/// never agree.
const LONGEST_S: usize = 180;

/// The seconds of a series so far.
pub(super) struct Warmth {
    warm_up: WarmUp,
    /// Fewest requests, however quickly stretches agree.
    least: usize,
    clients: usize,
    requests: usize,
    /// Requests of the second that has not ended, and the sum of their times in microseconds.
    open: (u64, u64),
}

impl Warmth {
    /// Of a series of this kind, before its first request.
    pub(super) fn new(kind: &Kind) -> Self {
        let warm_up = WarmUp::new(STRETCHES_S, WITHIN);
        Self { warm_up, least: kind.requests, clients: kind.clients, requests: 0, open: (0, 0) }
    }

    /// Adds requests in the order of their starts.
    pub(super) fn add(&mut self, samples: &[Sample]) {
        let second_us = 1_000_000 * self.clients as u64;
        for sample in samples {
            let (count, sum_us) = (self.open.0 + 1, self.open.1 + sample.us);
            // The time of a request that takes longer than a second is that of several.
            match sum_us / second_us {
                0 => self.open = (count, sum_us),
                seconds => {
                    self.warm_up.push(count, sum_us as f64 / 1e3 / count as f64);
                    (1..seconds).for_each(|_| self.warm_up.push(0, 0.0));
                    self.open = (0, 0);
                }
            }
        }
        self.requests += samples.len();
    }

    /// Whether the service is warm.
    pub(super) fn is_warm(&self) -> bool {
        self.requests >= MANY || self.agrees()
    }

    /// Whether the series is to end without a warm part.
    pub(super) fn gives_up(&self) -> bool {
        self.warm_up.elapsed_s() >= LONGEST_S
    }

    /// The first request of those that show a warm service: of the stretches that agree, or else of
    /// the second half of very many. None where it was not warm.
    pub(super) fn settled(&self) -> Option<usize> {
        let last = self.warm_up.last_responses() + self.open.0;
        match self.agrees() {
            true => Some(self.requests - usize::try_from(last).ok()?),
            false => (self.requests >= MANY).then_some(self.requests / 2),
        }
    }

    fn agrees(&self) -> bool {
        let are_enough = self.requests >= self.least && self.warm_up.last_responses() >= TELLING;
        are_enough && self.warm_up.is_warm()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message_client::kinds;
    use rand::rngs::Xoshiro256PlusPlus;
    use rand::{RngExt, SeedableRng};

    /// The requests after which a series of one or two clients is warm, and where its warm part
    /// begins. `us` gives the mean time at a second of the series; single times vary by a factor of
    /// two in both directions, and one of 500 takes 20 ms more, as for a garbage collector.
    fn ends(series: usize, us: impl Fn(f64) -> f64) -> (usize, usize) {
        let mut random = Xoshiro256PlusPlus::seed_from_u64(7);
        let kind = kinds(3900, Some(1_000_000), false)[series];
        let (mut warmth, mut elapsed_us) = (Warmth::new(&kind), 0.0);
        let mut requests = 0;
        while !warmth.is_warm() {
            let mean = us(elapsed_us / 1e6);
            let noise = 0.5 + 1.5 * random.random::<f64>();
            let pause = if random.random::<f64>() < 0.002 { 20_000.0 } else { 0.0 };
            let time_us = mean * noise / 1.25 + pause;
            warmth.add(&[Sample { us: time_us as u64, out: 1, into: 1 }]);
            elapsed_us += time_us / kind.clients as f64;
            requests += 1;
        }
        (requests, warmth.settled().unwrap())
    }

    #[test]
    fn a_noisy_flat_series_is_warm_after_three_stretches() {
        // 12 ms a request, so 3,900 of them take 47 s, and 15 s are 1,250.
        let (requests, from) = ends(0, |_| 12_000.0);
        assert_eq!(requests, 3900);
        assert!((2600..2700).contains(&from), "{from}");
        // 1 ms a request, so that 15 s are more of them.
        let (requests, from) = ends(0, |_| 1000.0);
        assert!((14_000..16_000).contains(&requests), "{requests}");
        assert!(from < 100, "{from}");
        // Two clients send twice as many in that time.
        let (requests, _) = ends(1, |_| 1000.0);
        assert!((28_000..31_000).contains(&requests), "{requests}");
    }

    #[test]
    fn a_series_that_still_warms_is_not_warm() {
        // A tenth less every ten seconds until second 60: 15 s of it differ by more than 5 %.
        let falling = |s: f64| 8000.0 * 0.9_f64.powf(s.min(60.0) / 10.0);
        let (requests, from) = ends(0, falling);
        // Second 60 is after 10,459 of them.
        assert!(requests > 10_459 && from > 8000, "{requests} from {from}");
        // Slow for 30 s as long as a compiler works, then four times as fast.
        let step = |s: f64| if s < 30.0 { 8000.0 } else { 2000.0 };
        let (requests, from) = ends(0, step);
        // The plateau is long enough to pass: that is what the least number of requests is for.
        assert!(from >= 3750, "{requests} from {from}");
    }

    #[test]
    fn a_series_that_never_agrees_ends_without_a_warm_part() {
        // Every stretch of 5 s is twice as slow or as fast as the one before.
        let mut warmth = Warmth::new(&kinds(3900, Some(1_000_000), false)[0]);
        let mut elapsed_us = 0;
        while !warmth.gives_up() {
            let us = if elapsed_us / 5_000_000 % 2 == 0 { 5000 } else { 10_000 };
            warmth.add(&[Sample { us, out: 1, into: 1 }]);
            elapsed_us += us;
            assert!(!warmth.is_warm(), "after {elapsed_us} µs");
        }
        assert_eq!((elapsed_us / 1_000_000, warmth.settled()), (180, None));
    }

    #[test]
    fn stretches_of_few_requests_agree_by_chance_and_do_not_count() {
        // 300 ms each: 50 of them in 15 s.
        let mut warmth = Warmth::new(&kinds(20, Some(1_000_000), false)[0]);
        warmth.add(&[Sample { us: 300_000, out: 1, into: 1 }].repeat(100));
        assert!(warmth.warm_up.is_warm() && !warmth.is_warm());
    }

    #[test]
    fn very_many_requests_are_warm_by_their_second_half_whatever_their_stretches_say() {
        // 10 µs each: 100,000 of them take two seconds.
        let mut warmth = Warmth::new(&kinds(3900, Some(1_000_000), false)[0]);
        let sample = |us| Sample { us, out: 1, into: 1 };
        warmth.add(&[sample(10)].repeat(MANY - 1));
        assert_eq!((warmth.is_warm(), warmth.settled()), (false, None));
        warmth.add(&[sample(10)]);
        assert_eq!((warmth.is_warm(), warmth.settled()), (true, Some(MANY / 2)));
    }
}
