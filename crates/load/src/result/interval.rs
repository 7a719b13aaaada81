//! Counts of a short interval.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::result::series::Point;
use crate::totals::Totals;
use tidegate_stats::Percentiles;

/// Counts of a second or a quarter of a second.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub(crate) struct Interval {
    /// End, since the start of the run.
    pub(crate) at: Duration,
    pub(crate) length: Duration,
    /// Within the measured window.
    pub(crate) measured: bool,
    pub(crate) counts: Counts,
    /// Sessions in flight at its end.
    pub(crate) in_flight: u64,
    /// CPU share of the busiest driver thread.
    pub(crate) cpu_share: f64,
}

/// Declares counts of the same names as in [`Totals`], which are serialised as a list: there is one
/// per second.
macro_rules! counts {
    ($number:literal: $($name:ident),*) => {
        /// Counts of an interval.
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
        #[serde(from = "[u64; 10]", into = "[u64; 10]")]
        pub(crate) struct Counts { $($name: u64),* }

        impl From<&Totals> for Counts {
            fn from(totals: &Totals) -> Self {
                Self { $($name: totals.$name),* }
            }
        }

        impl From<Counts> for [u64; $number] {
            fn from(counts: Counts) -> Self {
                [$(counts.$name),*]
            }
        }

        impl From<[u64; $number]> for Counts {
            fn from([$($name),*]: [u64; $number]) -> Self {
                Self { $($name),* }
            }
        }
    };
}

counts!(10: offered, admitted, refused, completed, abandoned, failed, requests_ok, full_ok, resumed_ok, missed_starts);

impl Interval {
    /// Adds the same interval of another shard. The longer length applies: in the shorter one
    /// all customers had left.
    pub(crate) fn merge(&mut self, other: &Self) {
        let Self { at, length, measured, counts, in_flight, cpu_share } = other;
        self.at = self.at.max(*at);
        self.length = self.length.max(*length);
        self.measured |= measured;
        let (mine, theirs) = (<[u64; 10]>::from(self.counts), <[u64; 10]>::from(*counts));
        self.counts = std::array::from_fn(|index| mine[index] + theirs[index]).into();
        self.in_flight += in_flight;
        self.cpu_share = self.cpu_share.max(*cpu_share);
    }

    /// The largest count.
    pub(crate) fn most(&self) -> u64 {
        let counts = <[u64; 10]>::from(self.counts);
        counts.into_iter().chain([self.in_flight]).max().unwrap_or_default()
    }

    /// The rates of the interval.
    pub(crate) fn point(&self, response: Percentiles) -> Point {
        let counts = &self.counts;
        let length_s = self.length.as_secs_f64();
        let per_s = |count: u64| if length_s > 0.0 { count as f64 / length_s } else { 0.0 };
        Point {
            at_s: self.at.as_secs_f64(),
            length_s,
            measured: self.measured,
            offered_per_s: per_s(counts.offered),
            admitted_per_s: per_s(counts.admitted),
            refused_per_s: per_s(counts.refused),
            completed_per_s: per_s(counts.completed),
            abandoned_per_s: per_s(counts.abandoned),
            failed_per_s: per_s(counts.failed),
            requests_per_s: per_s(counts.requests_ok),
            full_handshakes_per_s: per_s(counts.full_ok),
            resumed_handshakes_per_s: per_s(counts.resumed_ok),
            in_flight: self.in_flight,
            response,
            driver_cpu_share: self.cpu_share,
            missed_starts: counts.missed_starts,
        }
    }
}
