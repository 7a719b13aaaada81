//! A histogram of durations with bounded memory.

use std::time::Duration;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2Serializer};
use serde::{Deserialize, Serialize};

/// Durations from 1 µs to 1 h, kept to three significant digits: quantiles are
/// within 0.1 % (or 1 µs) of the recorded values, in at most about 200 KB
/// however many are recorded. What is shorter or longer is clamped.
#[derive(Clone, Debug)]
pub struct Latency {
    micros: Histogram<u64>,
}

/// The usual quantiles in milliseconds; all 0 where nothing was recorded.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LatencyMs {
    /// How many durations were recorded.
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
    /// The longest.
    pub max_ms: f64,
}

/// Bytes before the counts of an encoded histogram: cookie, length of the counts,
/// offset, digits (4 each), lowest, highest value and ratio (8 each).
const HEAD: usize = 40;

impl Latency {
    /// The shortest duration told from a shorter one.
    pub const SHORTEST: Duration = Duration::from_micros(1);
    /// The longest duration told from a longer one.
    pub const LONGEST: Duration = Duration::from_secs(3600);

    /// What a value may be off by, as a share of it.
    pub const RESOLUTION: f64 = 0.001;

    /// An empty histogram; grows with what it is given.
    pub fn new() -> Self {
        let longest = Self::LONGEST.as_micros() as u64;
        let micros = Histogram::new_with_max(longest, 3).expect("three digits and an hour fit");
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

    /// Adds all that another histogram holds.
    pub fn merge(&mut self, other: &Self) {
        self.micros.add(&other.micros).expect("both have the same range");
    }

    /// How many durations were recorded.
    pub fn count(&self) -> u64 {
        self.micros.len()
    }

    /// Forgets everything; keeps the memory for the next interval.
    pub fn clear(&mut self) {
        self.micros.reset();
    }

    /// The duration that a share `q` (0 to 1, clamped) of all did not exceed,
    /// in milliseconds; 0 where nothing was recorded.
    pub fn quantile_ms(&self, q: f64) -> f64 {
        if self.micros.is_empty() {
            return 0.0;
        }
        // A quantile is reported as its bucket's upper end, which may lie
        // above the greatest value recorded: never say more than was seen.
        self.micros.value_at_quantile(q).min(self.micros.max()) as f64 / 1000.0
    }

    /// How many durations were at most this many milliseconds, to the
    /// resolution.
    pub fn count_up_to_ms(&self, ms: f64) -> u64 {
        self.micros.count_between(0, (ms * 1000.0).round() as u64)
    }

    /// All that was recorded, in microseconds, as the histogram of version 2 that
    /// the HdrHistogram libraries of all languages read, in Base64.
    pub fn encode(&self) -> String {
        BASE64_STANDARD.encode(self.to_bytes())
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut bytes = Vec::new();
        let serialised = V2Serializer::new().serialize(&self.micros, &mut bytes);
        serialised.expect("a vector takes all, and an hour of microseconds has counts of u64");
        bytes
    }

    /// Reads what [`encode`](Self::encode) gave; `None` for anything else.
    pub fn decode(text: &str) -> Option<Self> {
        let bytes = BASE64_STANDARD.decode(text).ok()?;
        // The reader allocates what the head asks for: so the head has to be the
        // one that every histogram of ours has, and the length the true one.
        let (own, head) = (Self::new().to_bytes(), bytes.get(..HEAD)?);
        let length = u32::from_be_bytes(head[4..8].try_into().expect("four bytes"));
        let ours = head[..4] == own[..4] && head[8..] == own[8..HEAD];
        if !ours || length as usize != bytes.len() - HEAD {
            return None;
        }
        let micros: Histogram<u64> = Deserializer::new().deserialize(&mut bytes.as_slice()).ok()?;
        let mut latency = Self::new();
        latency.micros.add(micros).ok()?;
        Some(latency)
    }

    /// Arithmetic mean in milliseconds; 0 where nothing was recorded.
    pub fn mean_ms(&self) -> f64 {
        self.micros.mean() / 1000.0
    }

    /// The longest duration in milliseconds; 0 where nothing was recorded.
    pub fn max_ms(&self) -> f64 {
        self.micros.max() as f64 / 1000.0
    }

    /// The usual quantiles at once.
    pub fn summary(&self) -> LatencyMs {
        LatencyMs {
            count: self.count(),
            mean_ms: self.mean_ms(),
            p50_ms: self.quantile_ms(0.5),
            p90_ms: self.quantile_ms(0.9),
            p95_ms: self.quantile_ms(0.95),
            p99_ms: self.quantile_ms(0.99),
            max_ms: self.max_ms(),
        }
    }
}

impl Default for Latency {
    fn default() -> Self {
        Self::new()
    }
}

impl Serialize for Latency {
    /// As [`encode`](Self::encode) gives it.
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.encode())
    }
}

impl<'de> Deserialize<'de> for Latency {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let text = std::borrow::Cow::<'de, str>::deserialize(deserializer)?;
        let wrong = || serde::de::Error::custom("no histogram of durations");
        Self::decode(&text).ok_or_else(wrong)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of_ms(values: impl IntoIterator<Item = u64>) -> Latency {
        let mut latency = Latency::new();
        values.into_iter().for_each(|ms| latency.record(Duration::from_millis(ms)));
        latency
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual - expected).abs() <= expected * 0.001, "{actual} is not {expected}");
    }

    #[test]
    fn quantiles_of_one_to_a_thousand_milliseconds_are_known() {
        let latency = of_ms(1..=1000);
        close(latency.quantile_ms(0.5), 500.0);
        close(latency.quantile_ms(0.95), 950.0);
        close(latency.quantile_ms(0.99), 990.0);
        close(latency.max_ms(), 1000.0);
        close(latency.mean_ms(), 500.5);
    }

    #[test]
    fn merging_equals_recording_together() {
        let mut merged = of_ms(1..=500);
        merged.merge(&of_ms(501..=1000));
        assert_eq!(merged.summary(), of_ms(1..=1000).summary());
    }

    #[test]
    fn an_empty_histogram_says_zero() {
        assert_eq!(Latency::new().summary(), LatencyMs::default());
    }

    #[test]
    fn what_is_out_of_range_is_clamped() {
        let mut latency = Latency::new();
        latency.record(Duration::ZERO);
        latency.record(Duration::MAX);
        assert_eq!(latency.count(), 2);
        close(latency.quantile_ms(0.0), 0.001);
        close(latency.max_ms(), 3_600_000.0);
    }

    #[test]
    fn no_quantile_exceeds_the_maximum() {
        let latency = of_ms([10_007]);
        assert!(latency.quantile_ms(0.99) <= latency.max_ms());
        assert!(latency.quantile_ms(7.0) <= latency.max_ms());
    }

    #[test]
    fn what_is_encoded_is_decoded_alike_and_nothing_else_is() {
        let latency = of_ms(1..=1000);
        let decoded = Latency::decode(&latency.encode()).unwrap();
        assert_eq!(decoded.summary(), latency.summary());
        assert_eq!(Latency::decode(&Latency::new().encode()).unwrap().count(), 0);
        let whole = latency.encode();
        for wrong in ["", "?", "AAAA", &whole[..whole.len() / 8 * 4]] {
            assert!(Latency::decode(wrong).is_none(), "{wrong}");
        }
        // A head that promises 4 GB of counts, or 5 digits, is not believed.
        for (at, byte) in [(4, 0xff), (15, 5)] {
            let mut bytes = latency.to_bytes();
            bytes[at] = byte;
            assert!(Latency::decode(&BASE64_STANDARD.encode(bytes)).is_none(), "byte {at}");
        }
    }

    #[test]
    fn counts_up_to_a_limit_include_it() {
        let latency = of_ms(1..=1000);
        assert_eq!((latency.count_up_to_ms(0.5), latency.count_up_to_ms(250.0)), (0, 250));
        assert_eq!(latency.count_up_to_ms(5000.0), 1000);
    }

    #[test]
    fn clearing_forgets() {
        let mut latency = of_ms(1..=9);
        latency.clear();
        assert_eq!(latency.summary(), LatencyMs::default());
    }
}
