//! Percentiles as a page shows them.

use tidegate_load::{Percentiles, Quantile};
use tidegate_report::number::{number, or_none};

/// A percentile of a distribution: its name, and its value.
#[derive(Clone, Copy)]
pub(super) struct Percentile(&'static str, fn(&Percentiles) -> Quantile);

impl Percentile {
    pub(super) const P50: Self = Self("p50", Percentiles::p50);
    pub(super) const P90: Self = Self("p90", Percentiles::p90);
    pub(super) const P95: Self = Self("p95", Percentiles::p95);
    pub(super) const P99: Self = Self("p99", Percentiles::p99);
    pub(super) const P999: Self = Self("p99.9", Percentiles::p99_9);
    pub(super) const MAX: Self = Self("max", Percentiles::max);
    pub(super) const ALL: [Self; 6] =
        [Self::P50, Self::P90, Self::P95, Self::P99, Self::P999, Self::MAX];
    /// Those of a narrow table, and of charts.
    pub(super) const MAIN: [Self; 3] = [Self::P50, Self::P95, Self::P99];

    pub(super) fn name(self) -> &'static str {
        self.0
    }

    /// In milliseconds, or a lower bound of it; `None` without data.
    pub(super) fn of(self, times: &Percentiles) -> Option<Quantile> {
        let quantile = self.1(times);
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
