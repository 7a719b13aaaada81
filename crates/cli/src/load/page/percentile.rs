//! Percentiles as a page shows them.

use tidegate_load::{Percentiles, Quantile};
use tidegate_report::number::{number, or_none};

/// A percentile of a distribution.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Percentile {
    P50,
    P90,
    P95,
    P99,
    P999,
    Max,
}

impl Percentile {
    pub(super) const ALL: [Self; 6] =
        [Self::P50, Self::P90, Self::P95, Self::P99, Self::P999, Self::Max];
    /// Those of a narrow table, and of charts.
    pub(super) const MAIN: [Self; 3] = [Self::P50, Self::P95, Self::P99];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::P50 => "p50",
            Self::P90 => "p90",
            Self::P95 => "p95",
            Self::P99 => "p99",
            Self::P999 => "p99.9",
            Self::Max => "max",
        }
    }

    /// In milliseconds, or a lower bound of it; `None` without data.
    pub(super) fn of(self, times: &Percentiles) -> Option<Quantile> {
        let quantile = match self {
            Self::P50 => times.p50(),
            Self::P90 => times.p90(),
            Self::P95 => times.p95(),
            Self::P99 => times.p99(),
            Self::P999 => times.p99_9(),
            Self::Max => times.max(),
        };
        // Results of older versions have no p99.9: it is 0 there.
        let known = quantile.ms > 0.0 || times.max_ms == 0.0;
        (!times.is_empty() && known).then_some(quantile)
    }

    /// In milliseconds, without the unit, marked if it is a lower bound. Every percentile of the
    /// page is written here.
    pub(super) fn text(self, times: &Percentiles) -> String {
        or_none(self.of(times), |quantile| {
            let mark = if quantile.is_lower_bound { "> " } else { "" };
            format!("{mark}{}", number(quantile.ms))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_report::number::NONE;

    #[test]
    fn a_percentile_without_data_is_a_dash() {
        let none = Percentiles::default();
        assert_eq!(Percentile::P95.text(&none), NONE);
        let old = Percentiles { count: 9, p95_ms: 12.0, max_ms: 30.0, ..none };
        assert_eq!(
            (Percentile::P95.text(&old), Percentile::P999.text(&old)),
            ("12.0".into(), NONE.into())
        );
    }
}
