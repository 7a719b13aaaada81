//! A histogram of durations with bounded memory.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram as HdrHistogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// A distribution of durations from 1 µs to 1 h with three significant digits. Quantiles
/// are within 0.1 % (or 1 µs) of the recorded values. Memory is at most about 200 KB,
/// whatever the number of values. Durations outside the range are clamped.
#[derive(Clone, Debug)]
pub struct Histogram {
    micros: HdrHistogram<u64>,
}

/// The usual percentiles of a [`Histogram`] in milliseconds; all 0 if it is empty.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Percentiles {
    /// Number of durations recorded.
    pub count: u64,
    /// Arithmetic mean.
    pub mean_ms: f64,
    /// Median.
    pub p50_ms: f64,
    /// 90th percentile.
    pub p90_ms: f64,
    /// 95th percentile.
    pub p95_ms: f64,
    /// 99th percentile.
    pub p99_ms: f64,
    /// 99.9th percentile; 0 in results of versions without it.
    #[serde(default)]
    pub p99_9_ms: f64,
    /// Largest duration.
    pub max_ms: f64,
}

/// Bytes before the counts of an encoded histogram: cookie, length of the counts,
/// offset, digits (4 each), lowest, highest value and ratio (8 each).
const HEAD: usize = 40;

impl Histogram {
    /// Shorter durations are recorded as this one.
    pub const SHORTEST: Duration = Duration::from_micros(1);
    /// Longer durations are recorded as this one.
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// Largest relative error of a value.
    pub const RESOLUTION: f64 = 0.001;

    /// An empty histogram. It grows as values are recorded.
    pub fn new() -> Self {
        let longest = Self::LONGEST.as_micros() as u64;
        let micros = HdrHistogram::new_with_max(longest, 3).expect("three digits and an hour fit");
        Self { micros }
    }

    /// Records one duration, rounded to the nearest microsecond.
    pub fn record(&mut self, duration: Duration) {
        self.record_many(duration, 1);
    }

    /// Records the same duration `count` times.
    pub fn record_many(&mut self, duration: Duration, count: u64) {
        let clamped = duration.clamp(Self::SHORTEST, Self::LONGEST);
        // An hour of nanoseconds fits, and 128 bits would take far longer to divide.
        let micros = (clamped.as_nanos() as u64 + 500) / 1000;
        self.micros.saturating_record_n(micros, count);
    }

    /// Adds the counts of another histogram.
    pub fn merge(&mut self, other: &Self) {
        self.micros.add(&other.micros).expect("both have the same range");
    }

    /// Number of durations recorded.
    pub fn count(&self) -> u64 {
        self.micros.len()
    }

    /// Removes all values and keeps the memory.
    pub fn clear(&mut self) {
        self.micros.reset();
    }

    /// The `q`-quantile (0 to 1, clamped) in milliseconds; 0 if the histogram is empty.
    pub fn quantile_ms(&self, q: f64) -> f64 {
        if self.micros.is_empty() {
            return 0.0;
        }
        // The upper end of the bucket may lie above the largest recorded value.
        self.micros.value_at_quantile(q).min(self.micros.max()) as f64 / 1000.0
    }

    /// Number of durations of at most `ms` milliseconds, within the resolution.
    pub fn count_up_to_ms(&self, ms: f64) -> u64 {
        self.micros.count_between(0, (ms * 1000.0).round() as u64)
    }

    /// The histogram in the V2 format of HdrHistogram (values in microseconds), in Base64.
    pub fn encode(&self) -> String {
        BASE64_STANDARD.encode(self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let serialised = V2Serializer::new().serialize(&self.micros, &mut bytes);
        serialised.expect("a vector takes all, and an hour of microseconds has counts of u64");
        bytes
    }

    /// Reads the output of [`encode`](Self::encode); `None` for anything else.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(text).ok()?;
        // The reader allocates memory as the header says, so the header must be that of
        // an own histogram and the length must be exact.
        let (own, head) = (Self::new().to_bytes(), bytes.get(..HEAD)?);
        let length = u32::from_be_bytes(head[4..8].try_into().expect("four bytes"));
        let ours = head[..4] == own[..4] && head[8..] == own[8..HEAD];
        if !ours || length as usize != bytes.len() - HEAD {
            return None;
        }
        let micros: HdrHistogram<u64> =
            Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        let mut histogram = Self::new();
        histogram.micros.add(micros).ok()?;
        Some(histogram)
    }

    /// Arithmetic mean in milliseconds; 0 if the histogram is empty.
    pub fn mean_ms(&self) -> f64 {
        self.micros.mean() / 1000.0
    }

    /// Largest duration in milliseconds; 0 if the histogram is empty.
    pub fn max_ms(&self) -> f64 {
        self.micros.max() as f64 / 1000.0
    }

    /// The usual percentiles.
    pub fn percentiles(&self) -> Percentiles {
        Percentiles {
            count: self.count(),
            mean_ms: self.mean_ms(),
            p50_ms: self.quantile_ms(0.5),
            p90_ms: self.quantile_ms(0.9),
            p95_ms: self.quantile_ms(0.95),
            p99_ms: self.quantile_ms(0.99),
            p99_9_ms: self.quantile_ms(0.999),
            max_ms: self.max_ms(),
        }
    }
}

impl Percentiles {
    /// Each percentile, as a share below 1, with its value in milliseconds.
    pub fn usual(&self) -> [(f64, f64); 5] {
        [
            (0.5, self.p50_ms),
            (0.9, self.p90_ms),
            (0.95, self.p95_ms),
            (0.99, self.p99_ms),
            (0.999, self.p99_9_ms),
        ]
    }
}

impl Default for Histogram {
    fn default() -> Self {
        Self::new()
    }
}

impl Serialize for Histogram {
    /// Serialised as by [`encode`](Self::encode).
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de> Deserialize<'de> for Histogram {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("not a histogram of durations");
        Self::decode(&text).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_ms(values: impl IntoIterator<Item = u64>) -> Histogram {
        let mut histogram = Histogram::new();
        values.into_iter().for_each(|ms| histogram.record(Duration::from_millis(ms)));
        histogram
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= expected * 0.001, "{actual} is not {expected}");
    }

    #[test]
    fn quantiles_of_one_to_a_thousand_milliseconds_are_known() {
        let histogram = of_ms(1..=1000);
        close(histogram.quantile_ms(0.5), 500.0);
        close(histogram.quantile_ms(0.95), 950.0);
        close(histogram.quantile_ms(0.99), 990.0);
        close(histogram.percentiles().p99_9_ms, 999.0);
        close(histogram.max_ms(), 1000.0);
        close(histogram.mean_ms(), 500.5);
    }

    #[test]
    fn merging_equals_recording_together() {
        let mut merged = of_ms(1..=500);
        merged.merge(&of_ms(501..=1000));
        assert_eq!(merged.percentiles(), of_ms(1..=1000).percentiles());
    }

    #[test]
    fn percentiles_of_an_empty_histogram_are_zero() {
        assert_eq!(Histogram::new().percentiles(), Percentiles::default());
    }

    #[test]
    fn values_out_of_range_are_clamped() {
        let mut histogram = Histogram::new();
        histogram.record(Duration::ZERO);
        histogram.record(Duration::MAX);
        assert_eq!(histogram.count(), 2);
        close(histogram.quantile_ms(0.0), 0.001);
        close(histogram.max_ms(), 3_600_000.0);
    }

    #[test]
    fn no_quantile_exceeds_the_maximum() {
        let histogram = of_ms([10_007]);
        assert!(histogram.quantile_ms(0.99) <= histogram.max_ms());
        assert!(histogram.quantile_ms(7.0) <= histogram.max_ms());
    }

    #[test]
    fn decode_reverses_encode_and_rejects_other_text() {
        let histogram = of_ms(1..=1000);
        let decoded = Histogram::decode(&histogram.encode()).unwrap();
        assert_eq!(decoded.percentiles(), histogram.percentiles());
        assert_eq!(Histogram::decode(&Histogram::new().encode()).unwrap().count(), 0);
        let whole = histogram.encode();
        for wrong in ["", "?", "AAAA", &whole[..whole.len() / 8 * 4]] {
            assert!(Histogram::decode(wrong).is_none(), "{wrong}");
        }
        // A header with 4 GB of counts, or with 5 digits, is rejected.
        for (at, byte) in [(4, 0xff), (15, 5)] {
            let mut bytes = histogram.to_bytes();
            bytes[at] = byte;
            assert!(Histogram::decode(&BASE64_STANDARD.encode(bytes)).is_none(), "byte {at}");
        }
    }

    #[test]
    fn counts_up_to_a_limit_include_it() {
        let histogram = of_ms(1..=1000);
        assert_eq!((histogram.count_up_to_ms(0.5), histogram.count_up_to_ms(250.0)), (0, 250));
        assert_eq!(histogram.count_up_to_ms(5000.0), 1000);
    }

    #[test]
    fn clear_removes_all_values() {
        let mut histogram = of_ms(1..=9);
        histogram.clear();
        assert_eq!(histogram.percentiles(), Percentiles::default());
    }
}
