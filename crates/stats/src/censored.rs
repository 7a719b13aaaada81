//! A histogram of durations, some of which are known only to exceed a bound.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::histogram::Histogram;
use crate::percentiles::{LowerBounds, Percentiles};

/// A duration as it was observed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Observation {
    /// It lasted this long.
    Exact(Duration),
    /// It had lasted this long when the observation ended, for a reason that has nothing to do
    /// with the duration: a request in flight at the end of a run.
    Open(Duration),
    /// It ended without result after this long: a customer stopped waiting for a response, or the
    /// connection broke. The response would have taken longer.
    Lost(Duration),
}

/// A distribution of durations of which some are only bounded from below.
///
/// **Quantiles.** A lost duration counts as longer than every exact one, whatever its bound, so
/// that a quantile is never below the true one. An open one counts as long as it was observed,
/// by the product-limit estimate: with `d` exact durations of `t` and `n` known to be at least
/// `t`, the share that exceeds `t` is `S(t) = Π (1 - d/n)` over all up to `t`. The `q`-quantile is
/// the least `t` with `S(t) ≤ 1 - q`. Where there is none, what is known is a lower bound: the
/// quantile of the same estimate with each bound of a lost duration taken for its duration, or
/// else the longest observation.
///
/// Source: Kaplan and Meier 1958, "Nonparametric estimation from incomplete observations".
/// Deviation: the estimate holds for observations that end independently of the duration. Patience
/// that runs out does not, hence the rule for lost durations.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct CensoredHistogram {
    exact: Histogram,
    /// Absent until the first: most intervals have none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    open: Option<Box<Histogram>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    lost: Option<Box<Histogram>>,
}

/// A quantile, or a bound of it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Quantile {
    /// Milliseconds.
    pub ms: f64,
    /// The quantile is at least this.
    pub is_lower_bound: bool,
}

/// The durations of a [`CensoredHistogram`] that are not open.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Ended {
    /// Their sum, each bound of a lost duration taken for its duration, in milliseconds.
    pub total_ms: f64,
    /// Their number.
    pub count: u64,
}

/// The parts of a [`CensoredHistogram`] in the format of [`Histogram::encode`].
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Encoded {
    /// The exact durations.
    pub exact: String,
    /// The open ones, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub open: Option<String>,
    /// The lost ones, if there are any.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub lost: Option<String>,
}

impl Encoded {
    /// The histogram; `None` if a part is no histogram of durations.
    pub fn decode(&self) -> Option<CensoredHistogram> {
        CensoredHistogram::decode(&self.exact, self.open.as_deref(), self.lost.as_deref())
    }
}

impl CensoredHistogram {
    /// An empty histogram.
    pub fn new() -> Self {
        Self::default()
    }

    /// From the histograms of exact durations, open ones and lost ones.
    pub fn of_parts(exact: Histogram, open: Option<Histogram>, lost: Option<Histogram>) -> Self {
        Self { exact, open: open.map(Box::new), lost: lost.map(Box::new) }
    }

    /// Records one observation.
    pub fn record(&mut self, observation: Observation) {
        self.record_many(observation, 1);
    }

    /// Records the same observation `count` times.
    pub fn record_many(&mut self, observation: Observation, count: u64) {
        let (part, duration) = match observation {
            Observation::Exact(duration) => (&mut self.exact, duration),
            Observation::Open(bound) => (&mut **self.open.get_or_insert_default(), bound),
            Observation::Lost(bound) => (&mut **self.lost.get_or_insert_default(), bound),
        };
        part.record_many(duration, count);
    }

    /// Adds the observations of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.exact.merge(&other.exact);
        for (mine, theirs) in [(&mut self.open, &other.open), (&mut self.lost, &other.lost)] {
            if let Some(theirs) = theirs {
                mine.get_or_insert_default().merge(theirs);
            }
        }
    }

    /// Removes all observations and keeps the memory.
    pub fn clear(&mut self) {
        self.exact.clear();
        self.open.iter_mut().chain(&mut self.lost).for_each(|part| part.clear());
    }

    /// The exact durations.
    pub fn exact(&self) -> &Histogram {
        &self.exact
    }

    /// Number of observations.
    pub fn count(&self) -> u64 {
        self.exact.count() + count(&self.open) + count(&self.lost)
    }

    /// What is known of the durations that are not open.
    pub fn ended(&self) -> Ended {
        let parts = [Some(&self.exact), self.lost.as_deref()];
        let parts = parts.into_iter().flatten();
        parts.fold(Ended::default(), |sum, part| Ended {
            total_ms: sum.total_ms + part.mean_ms() * part.count() as f64,
            count: sum.count + part.count(),
        })
    }

    /// Number of durations known to be at most `ms` milliseconds, and of all that are known to be
    /// within or beyond that.
    pub fn count_up_to_ms(&self, ms: f64) -> (u64, u64) {
        let shorter = self.open.as_ref().map_or(0, |open| open.count_up_to_ms(ms));
        (self.exact.count_up_to_ms(ms), self.count() - shorter)
    }

    /// All parts as text.
    pub fn encode(&self) -> Encoded {
        let part = |part: &Option<Box<Histogram>>| {
            part.as_ref().filter(|part| part.count() > 0).map(|part| part.encode())
        };
        Encoded { exact: self.exact.encode(), open: part(&self.open), lost: part(&self.lost) }
    }

    /// Reads the output of [`encode`](Self::encode); `None` for anything else.
    pub fn decode(exact: &str, open: Option<&str>, lost: Option<&str>) -> Option<Self> {
        let part = |text: Option<&str>| match text {
            None => Some(None),
            Some(text) => Histogram::decode(text).map(Some),
        };
        Some(Self::of_parts(Histogram::decode(exact)?, part(open)?, part(lost)?))
    }

    /// The `q`-quantile (0 to 1, clamped); 0 if there are no observations.
    pub fn quantile(&self, q: f64) -> Quantile {
        if self.exact.count() == self.count() {
            return Quantile { ms: self.exact.quantile_ms(q), is_lower_bound: false };
        }
        let [quantile] = self.quantiles([q.clamp(0.0, 1.0)]);
        quantile
    }

    fn quantiles<const N: usize>(&self, qs: [f64; N]) -> [Quantile; N] {
        let (known, at_least) = (self.steps(Lost::Beyond), self.steps(Lost::AsExact));
        let longest = self.longest_ms();
        qs.map(|q| {
            let bound = || at_least.quantile_ms(q).unwrap_or(longest);
            match known.quantile_ms(q) {
                Some(ms) => Quantile { ms, is_lower_bound: false },
                None => Quantile { ms: bound(), is_lower_bound: true },
            }
        })
    }

    fn longest_ms(&self) -> f64 {
        let bounds = self.open.iter().chain(&self.lost).map(|part| part.max_ms());
        bounds.fold(self.exact.max_ms(), f64::max)
    }

    /// The product-limit estimate.
    fn steps(&self, lost: Lost) -> Steps {
        let buckets = |part: &Option<Box<Histogram>>| {
            part.as_ref().map_or_else(Vec::new, |part| part.buckets_ms().collect())
        };
        let mut events: Vec<(f64, u64)> = self.exact.buckets_ms().collect();
        if lost == Lost::AsExact {
            events.extend(buckets(&self.lost));
            events.sort_by(|a, b| a.0.total_cmp(&b.0));
        }
        let mut open = buckets(&self.open).into_iter().peekable();
        let (mut at_risk, mut exceeding) = (self.count(), 1.0);
        let mut steps = Vec::with_capacity(events.len());
        for (ms, count) in events {
            while let Some((_, ended)) = open.next_if(|(until, _)| *until < ms) {
                at_risk -= ended;
            }
            exceeding *= 1.0 - count as f64 / at_risk as f64;
            at_risk -= count;
            steps.push((ms, exceeding));
        }
        Steps(steps)
    }

    /// The usual percentiles. The mean takes each bound of a lost duration for its duration, and
    /// the longest observation for what is beyond all exact ones.
    pub fn percentiles(&self) -> Percentiles {
        if self.exact.count() == self.count() {
            return self.exact.percentiles();
        }
        let mut percentiles = Percentiles {
            count: self.exact.count(),
            unanswered: count(&self.lost),
            open: count(&self.open),
            mean_ms: self.steps(Lost::AsExact).mean_ms(self.longest_ms()),
            ..Percentiles::default()
        };
        let figures = percentiles.quantiles_mut();
        let quantiles = self.quantiles(figures.each_ref().map(|(q, _)| *q));
        for ((_, figure), quantile) in figures.into_iter().zip(quantiles) {
            *figure = quantile.ms;
        }
        percentiles.lower_bounds = LowerBounds::of(quantiles.map(|it| it.is_lower_bound));
        percentiles
    }
}

fn count(part: &Option<Box<Histogram>>) -> u64 {
    part.as_ref().map_or(0, |part| part.count())
}

/// What a lost duration counts as.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Lost {
    /// Longer than every exact one.
    Beyond,
    /// As long as its bound.
    AsExact,
}

/// Times in ascending order, each with the share that exceeds it.
struct Steps(Vec<(f64, f64)>);

impl Steps {
    /// The least time that at most `1 - q` exceed.
    fn quantile_ms(&self, q: f64) -> Option<f64> {
        // Products of ratios are not exact: 1 - 0.95 counts as 0.05.
        let least = self.0.partition_point(|(_, exceeding)| *exceeding > 1.0 - q + 1e-9);
        self.0.get(least).map(|(ms, _)| *ms)
    }

    /// The mean, with a time for those beyond the last step.
    fn mean_ms(&self, beyond_ms: f64) -> f64 {
        let (mut before, mut mean) = (1.0, 0.0);
        for (ms, exceeding) in &self.0 {
            mean += ms * (before - exceeding);
            before = *exceeding;
        }
        mean + before * beyond_ms
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(values: impl IntoIterator<Item = u64>) -> impl Iterator<Item = Duration> {
        values.into_iter().map(Duration::from_millis)
    }

    fn of_ms(
        exact: impl IntoIterator<Item = u64>,
        open: impl IntoIterator<Item = u64>,
        lost: impl IntoIterator<Item = u64>,
    ) -> CensoredHistogram {
        let mut histogram = CensoredHistogram::new();
        let all = ms(exact).map(Observation::Exact);
        let all = all.chain(ms(open).map(Observation::Open)).chain(ms(lost).map(Observation::Lost));
        all.for_each(|it| histogram.record(it));
        histogram
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= expected * 0.001, "{actual} is not {expected}");
    }

    fn bounds(percentiles: &Percentiles) -> Vec<&'static str> {
        percentiles.lower_bounds.names().collect()
    }

    #[test]
    fn with_exact_durations_alone_it_is_a_plain_histogram() {
        let histogram = of_ms(1..=1000, [], []);
        assert_eq!(histogram.percentiles(), histogram.exact().percentiles());
        assert_eq!(CensoredHistogram::new().percentiles(), Percentiles::default());
    }

    #[test]
    fn a_lost_duration_counts_as_longer_than_every_exact_one() {
        // 90 exact, 10 lost early: the 50th of all is the 50th exact one, the 90th the last.
        let histogram = of_ms(1..=90, [], [1; 10]);
        let exact = |q, ms| {
            let quantile = histogram.quantile(q);
            close(quantile.ms, ms);
            assert!(!quantile.is_lower_bound);
        };
        exact(0.5, 50.0);
        exact(0.9, 90.0);
        exact(0.0, 1.0);
    }

    #[test]
    fn a_quantile_beyond_the_exact_ones_is_a_lower_bound() {
        // A third never answered, given up at 8 s.
        let percentiles = of_ms([7; 200], [], [8000; 100]).percentiles();
        close(percentiles.p50_ms, 7.0);
        close(percentiles.p95_ms, 8000.0);
        close(percentiles.mean_ms, (7.0 * 200.0 + 8000.0 * 100.0) / 300.0);
        assert_eq!((percentiles.count, percentiles.unanswered), (200, 100));
        let names = ["mean_ms", "p90_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms"];
        assert_eq!(bounds(&percentiles), names);
    }

    #[test]
    fn open_durations_follow_the_product_limit_estimate() {
        // Worked out by hand. Exact 10, 20, 30, 40 ms, open at 15 and 25 ms: six at risk at 10,
        // S = 5/6; four at 20, S = 5/6 · 3/4 = 5/8; two at 30, S = 5/16; one at 40, S = 0.
        let histogram = of_ms([10, 20, 30, 40], [15, 25], []);
        let at = |q| histogram.quantile(q);
        for (q, ms) in [(0.16, 10.0), (0.17, 20.0), (0.375, 20.0), (0.38, 30.0), (0.69, 40.0)] {
            close(at(q).ms, ms);
            assert!(!at(q).is_lower_bound, "{q}");
        }
        let percentiles = histogram.percentiles();
        assert_eq!(
            (percentiles.open, percentiles.unanswered, bounds(&percentiles).len()),
            (2, 0, 0)
        );
        let mean = 10.0 / 6.0 + 20.0 * 5.0 / 24.0 + 30.0 * 5.0 / 16.0 + 40.0 * 5.0 / 16.0;
        close(percentiles.mean_ms, mean);
    }

    #[test]
    fn requests_in_flight_at_the_end_of_a_steady_run_change_nothing() {
        // 10,000 responses of 10 ms, and ten requests that began in the last 10 ms.
        let percentiles = of_ms([10; 10_000], 0..10, []).percentiles();
        close(percentiles.p99_9_ms, 10.0);
        close(percentiles.mean_ms, 10.0);
        assert!(bounds(&percentiles).is_empty(), "{percentiles:?}");
    }

    #[test]
    fn a_freeze_at_the_end_bounds_the_quantiles_that_it_reaches() {
        // 900 responses of 5 ms, then a second in which 100 requests begin and none ends.
        let percentiles = of_ms([5; 900], (0..100).map(|n| 10 * n), []).percentiles();
        close(percentiles.p50_ms, 5.0);
        close(percentiles.p90_ms, 5.0);
        close(percentiles.p95_ms, 990.0);
        assert_eq!(bounds(&percentiles), ["mean_ms", "p95_ms", "p99_ms", "p99_9_ms", "max_ms"]);
    }

    #[test]
    fn bounds_alone_bound_every_quantile() {
        let percentiles = of_ms([], [], [10, 20, 30]).percentiles();
        assert_eq!((percentiles.count, percentiles.unanswered), (0, 3));
        close(percentiles.p50_ms, 20.0);
        close(percentiles.max_ms, 30.0);
        assert_eq!(bounds(&percentiles).len(), 7);
    }

    #[test]
    fn merging_equals_recording_together_and_clear_removes_all() {
        let mut merged = of_ms(1..=50, [3], [100]);
        merged.merge(&of_ms(51..=90, [4], [200, 300]));
        assert_eq!(merged.percentiles(), of_ms(1..=90, [3, 4], [100, 200, 300]).percentiles());
        merged.clear();
        assert_eq!((merged.count(), merged.percentiles()), (0, Percentiles::default()));
    }

    #[test]
    fn text_keeps_all_parts() {
        let histogram = of_ms(1..=90, [5], [100, 200]);
        let encoded = histogram.encode();
        assert_eq!(encoded.decode().unwrap().percentiles(), histogram.percentiles());
        assert!(Encoded { lost: Some("?".to_owned()), ..encoded }.decode().is_none());
        let json = serde_json::to_string(&histogram).unwrap();
        let read: CensoredHistogram = serde_json::from_str(&json).unwrap();
        assert_eq!(read.percentiles(), histogram.percentiles());
        assert!(!serde_json::to_string(&of_ms([1], [], [])).unwrap().contains("lost"));
    }
}
