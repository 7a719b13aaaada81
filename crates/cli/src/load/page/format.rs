//! Numbers as a reader takes them in: three significant digits, thousands apart.

use tidegate_load::{Percentiles, Quantile, number};

/// What stands where there are no data.
pub(super) const NONE: &str = "–";

/// A space that neither breaks nor is as wide as one between words.
const THIN: char = '\u{202f}';

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
        self.of(times).map_or(NONE.to_owned(), |quantile| {
            let mark = if quantile.is_lower_bound { "> " } else { "" };
            format!("{mark}{}", number(quantile.ms))
        })
    }
}

/// About three significant digits; whole from 100 on.
pub(super) fn number(value: f64) -> String {
    match value.abs() {
        _ if !value.is_finite() => NONE.to_owned(),
        large if large >= 99.95 => grouped(&format!("{value:.0}")),
        medium if medium >= 9.995 => format!("{value:.1}"),
        _ => format!("{value:.2}"),
    }
}

/// A count with its thousands apart.
pub(super) fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Four digits are read at a glance.
fn grouped(digits: &str) -> String {
    match digits.trim_start_matches('-').len() {
        ..5 => digits.to_owned(),
        _ => number::grouped(digits, THIN),
    }
}

/// `part` of `whole` in percent. What is not nothing is not written as 0 %, and what is not
/// all not as 100 %.
pub(super) fn share(part: u64, whole: u64) -> String {
    match (part, whole) {
        (_, 0) => NONE.to_owned(),
        (part, whole) => percent(part as f64 / whole as f64),
    }
}

/// A share of 1 in percent, as [`share`].
pub(super) fn percent(share: f64) -> String {
    let value = share * 100.0;
    let text = match value {
        _ if !value.is_finite() => return NONE.to_owned(),
        0.0 => "0".to_owned(),
        100.0 => "100".to_owned(),
        small if small > 0.0 && small < 0.01 => "< 0.01".to_owned(),
        near if near < 100.0 && near > 99.99 => "> 99.99".to_owned(),
        edge if !(1.0..=99.0).contains(&edge) && edge < 100.0 => format!("{edge:.2}"),
        _ => format!("{value:.1}"),
    };
    format!("{text}\u{a0}%")
}

/// Bytes with a decimal unit.
pub(super) fn bytes(value: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{}\u{a0}{unit}", number(value / size)),
        None => format!("{value:.0}\u{a0}B"),
    }
}

/// Seconds, as short as they can be.
pub(super) fn seconds(value: f64) -> String {
    let tenths = (value * 10.0).round() / 10.0;
    format!("{tenths}\u{a0}s")
}

/// `1 session`, `2 sessions`.
pub(super) fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_thousands_apart() {
        assert_eq!(
            [0.004, 1.234, 9.999, 99.96, 1234.5, 12_345.6].map(number),
            ["0.00", "1.23", "10.0", "100", "1234", "12\u{202f}346"]
        );
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!([12.0, 1500.0, 2.5e9].map(bytes), ["12\u{a0}B", "1.50\u{a0}kB", "2.50\u{a0}GB"]);
    }

    #[test]
    fn what_is_not_all_is_not_written_as_all() {
        let shares =
            [(0, 9), (1, 100_000), (1, 200), (1, 2), (999, 1000), (99_999, 100_000), (9, 9)];
        let texts = shares.map(|(part, whole)| share(part, whole).replace('\u{a0}', ""));
        assert_eq!(texts, ["0%", "< 0.01%", "0.50%", "50.0%", "99.90%", "> 99.99%", "100%"]);
        assert_eq!(share(0, 0), NONE);
    }

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
