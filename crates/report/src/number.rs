//! Numbers as people read them: a few significant digits, thousands apart, the unit that fits.
//!
//! Spaces within a number and before its unit do not break. [`Table::text`](crate::Table::text)
//! writes them as plain spaces.

/// What stands where there is no figure.
pub const NONE: &str = "–";

/// A narrow space that does not break, between groups of three digits.
const THIN: char = '\u{202f}';

/// So many significant digits, and as many decimals at most; whole numbers have their thousands
/// apart.
pub fn significant(value: f64, digits: usize) -> String {
    rounded(value, digits, digits)
}

/// Three significant digits, and two decimals at most.
pub fn number(value: f64) -> String {
    if value == 0.0 { "0".to_owned() } else { rounded(value, 3, 2) }
}

/// So many decimals, whatever the size.
pub fn fixed(value: f64, decimals: usize) -> String {
    if value.is_finite() { format!("{value:.decimals$}") } else { NONE.to_owned() }
}

fn rounded(value: f64, digits: usize, most_decimals: usize) -> String {
    if !value.is_finite() {
        return NONE.to_owned();
    }
    let size = value.abs();
    // The least number of decimals with which the rounded value still has the digits.
    let reaches = |decimals: &usize| {
        let (digits, decimals) = (digits as i32, *decimals as i32);
        size >= 10f64.powi(digits - decimals - 1) - 0.5 * 10f64.powi(-decimals - 1)
    };
    let decimals = (0..most_decimals).find(reaches).unwrap_or(most_decimals);
    let text = grouped(&format!("{size:.decimals$}"));
    if value < 0.0 { format!("−{text}") } else { text }
}

/// A count with its thousands apart.
pub fn count(value: u64) -> String {
    grouped(&value.to_string())
}

/// Milliseconds as microseconds, milliseconds or seconds, by their size.
pub fn time(ms: f64) -> String {
    let (value, unit) = match ms.abs() {
        seconds if seconds >= 1000.0 => (ms / 1000.0, "s"),
        tiny if tiny < 0.1 && tiny > 0.0 => (ms * 1000.0, "µs"),
        _ => (ms, "ms"),
    };
    format!("{}\u{a0}{unit}", number(value))
}

/// A share of 1 in percent. What is not nothing is not written as 0 %, and what is not all not as
/// 100 %.
pub fn percent(share: f64) -> String {
    let value = share * 100.0;
    let text = match value {
        _ if !value.is_finite() => return NONE.to_owned(),
        0.0 => "0".to_owned(),
        100.0 => "100".to_owned(),
        small if small > 0.0 && small < 0.01 => "< 0.01".to_owned(),
        near if near < 100.0 && near > 99.99 => "> 99.99".to_owned(),
        edge if edge.abs() < 1.0 || (edge > 99.9 && edge < 100.0) => format!("{edge:.2}"),
        _ => format!("{value:.1}"),
    };
    format!("{text}\u{a0}%")
}

/// A part of a whole in percent, as [`percent`].
pub fn share(part: u64, whole: u64) -> String {
    percent(part as f64 / whole as f64)
}

/// Bytes with a decimal unit.
pub fn bytes(value: f64) -> String {
    let units = [(1e9, "GB"), (1e6, "MB"), (1e3, "kB")];
    match units.into_iter().find(|(size, _)| value >= *size) {
        Some((size, unit)) => format!("{}\u{a0}{unit}", number(value / size)),
        None => format!("{value:.0}\u{a0}B"),
    }
}

/// Seconds, with a tenth where there is one.
pub fn seconds(value: f64) -> String {
    format!("{}\u{a0}s", (value * 10.0).round() / 10.0)
}

/// A count with its noun: `1 session`, `2 sessions`.
pub fn plural(number: u64, one: &str, many: &str) -> String {
    format!("{} {}", count(number), if number == 1 { one } else { many })
}

/// A figure with its interval: `2.9 (2.7 to 3.1)`.
pub fn with_interval(value: f64, (low, high): (f64, f64), show: fn(f64) -> String) -> String {
    format!("{} ({} to {})", show(value), show(low), show(high))
}

/// An interval: `2.7 to 3.1`, or one figure where both ends read the same.
pub fn range((low, high): (f64, f64), show: fn(f64) -> String) -> String {
    let (low, high) = (show(low), show(high));
    if low == high { low } else { format!("{low} to {high}") }
}

/// The figure, or a dash where there is none.
pub fn or_none<T>(value: Option<T>, show: impl Fn(T) -> String) -> String {
    value.map_or(NONE.to_owned(), show)
}

/// Digits with a thin space between thousands, from five before the point on: four are read at a
/// glance.
fn grouped(digits: &str) -> String {
    if digits.len() < 5 || digits.contains('.') { digits.into() } else { thousands(digits, THIN) }
}

/// Digits in groups of three.
pub fn thousands(digits: &str, separator: char) -> String {
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(separator);
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_their_significant_digits_and_thousands_apart() {
        assert_eq!(
            [0.1234, 4.567, 9.996, 45.67, 456.7, 4567.0, 1_234_567.0, -14_567.0]
                .map(|it| significant(it, 3)),
            [
                "0.123",
                "4.57",
                "10.0",
                "45.7",
                "457",
                "4567",
                "1\u{202f}234\u{202f}567",
                "−14\u{202f}567"
            ]
        );
        assert_eq!(
            [0.123, 4.25, 9.96, 43.7, 1234.6, 12_345.0].map(|it| significant(it, 2)),
            ["0.12", "4.2", "10", "44", "1235", "12\u{202f}345"]
        );
        assert_eq!(
            [0.0, 0.123_4, 0.996, 9.999, 12.34, 99.97, 1234.5, f64::NAN].map(number),
            ["0", "0.12", "1.00", "10.0", "12.3", "100", "1234", NONE]
        );
        let shown = ["7", "999", "1000", "1234567"].map(|digits| thousands(digits, ','));
        assert_eq!(shown, ["7", "999", "1,000", "1,234,567"]);
        assert_eq!(count(1_234_567), "1\u{202f}234\u{202f}567");
        assert_eq!([12.0, 1500.0, 2.5e9].map(bytes), ["12\u{a0}B", "1.50\u{a0}kB", "2.50\u{a0}GB"]);
    }

    #[test]
    fn times_have_the_unit_of_their_size() {
        assert_eq!(
            [0.0, 0.000_4, 0.5, 12.3, 120.0, 1500.0, 12_000.0]
                .map(|ms| time(ms).replace('\u{a0}', " ")),
            ["0 ms", "0.40 µs", "0.50 ms", "12.3 ms", "120 ms", "1.50 s", "12.0 s"]
        );
    }

    #[test]
    fn what_is_not_all_is_not_written_as_all() {
        let shares = [0.0, 0.000_01, 0.005, 0.5, 0.994, 0.9995, 0.999_99, 1.0, f64::NAN];
        assert_eq!(
            shares.map(|share| percent(share).replace('\u{a0}', " ")),
            [
                "0 %",
                "< 0.01 %",
                "0.50 %",
                "50.0 %",
                "99.4 %",
                "99.95 %",
                "> 99.99 %",
                "100 %",
                NONE
            ]
        );
        let shares = [(0, 9), (1, 100_000), (1, 200), (99_999, 100_000), (9, 9), (0, 0)];
        let shares = shares.map(|(part, whole)| share(part, whole).replace('\u{a0}', " "));
        assert_eq!(shares, ["0 %", "< 0.01 %", "0.50 %", "> 99.99 %", "100 %", NONE]);
    }

    #[test]
    fn an_interval_that_reads_as_one_figure_is_one() {
        assert_eq!(range((0.5, 12.2), number), "0.50 to 12.2");
        assert_eq!(range((1.0, 1.001), number), "1.00");
        assert_eq!(with_interval(2.0, (1.0, 3.0), number), "2.00 (1.00 to 3.00)");
        assert_eq!(or_none(None, number), NONE);
    }
}
