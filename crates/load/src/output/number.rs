//! Numbers in text: of reports, pages, comparisons and the live screen.

/// A rate, per second, with two decimals; below one a second three digits that count, as one
/// session an hour needs.
pub fn per_second(value: f64) -> String {
    if value == 0.0 || value >= 1.0 {
        return format!("{value:.2}");
    }
    let digits = (2 - value.log10().floor() as i32).clamp(2, 9) as usize;
    format!("{value:.digits$}")
}

/// A time in milliseconds: about three digits, and no more than two decimals.
pub(crate) fn ms(value: f64) -> String {
    match value {
        large if large >= 100.0 => format!("{large:.0}"),
        medium if medium >= 10.0 => format!("{medium:.1}"),
        small => format!("{small:.2}"),
    }
}

/// `once`, `2 times`.
pub fn times(count: u64) -> String {
    if count == 1 { "once".to_owned() } else { format!("{count} times") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_below_one_a_second_keeps_its_digits() {
        let shown = [0.0, 40.0, 1.0, 0.2, 0.0166667, 1.0 / 3600.0].map(per_second);
        assert_eq!(shown, ["0.00", "40.00", "1.00", "0.200", "0.0167", "0.000278"]);
    }
}
