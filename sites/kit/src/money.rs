//! Money in whole cents, which add up exactly and compare the same in every database.

use std::fmt;

use serde::{Deserialize, Serialize};

/// An amount of money, in cents.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(transparent)]
pub struct Cents(pub i64);

impl Cents {
    /// Highest amount that a form accepts: one million.
    pub const MOST: Self = Self(100_000_000);

    /// Reads `12`, `12.5` or `12.50`; no sign, no other characters, at most
    /// [`MOST`](Self::MOST).
    pub fn parse(text: &str) -> Option<Self> {
        let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
        let digits = |text: &str| text.bytes().all(|byte| byte.is_ascii_digit());
        if whole.is_empty() || whole.len() > 7 || fraction.len() > 2 {
            return None;
        }
        if !digits(whole) || !digits(fraction) {
            return None;
        }
        let cents: i64 = format!("{fraction:0<2}").parse().ok()?;
        let amount = Self(whole.parse::<i64>().ok()? * 100 + cents);
        (amount <= Self::MOST).then_some(amount)
    }

    /// For the value of a number field: `1234.50`.
    pub fn plain(self) -> String {
        format!("{}.{:02}", self.0 / 100, self.0 % 100)
    }

    /// This amount for each of so many; `None` beyond what fits.
    pub fn times(self, number: i64) -> Option<Self> {
        self.0.checked_mul(number).map(Self)
    }

    /// The sum; `None` beyond what fits.
    pub fn plus(self, other: Self) -> Option<Self> {
        self.0.checked_add(other.0).map(Self)
    }

    /// The difference; `None` beyond what fits.
    pub fn minus(self, other: Self) -> Option<Self> {
        self.0.checked_sub(other.0).map(Self)
    }

    /// The amount if it is not zero: a site may write "none" as zero.
    pub fn some(self) -> Option<Self> {
        (self.0 > 0).then_some(self)
    }
}

impl fmt::Display for Cents {
    /// For display: `$1,234.50`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = if self.0 < 0 { "-" } else { "" };
        let (whole, cents) = (self.0.unsigned_abs() / 100, self.0.unsigned_abs() % 100);
        write!(f, "{sign}${}.{cents:02}", separated(whole))
    }
}

/// A number with separators: `12,345`.
pub fn separated(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn money_is_shown_with_separators() {
        let shown =
            [0, 5, 99_950, 123_450, 100_000_000, -250].map(|cents| Cents(cents).to_string());
        assert_eq!(shown, ["$0.00", "$0.05", "$999.50", "$1,234.50", "$1,000,000.00", "-$2.50"]);
    }

    #[test]
    fn amounts_beyond_what_fits_are_none() {
        assert_eq!(Cents(250).times(4), Some(Cents(1000)));
        assert_eq!(Cents(i64::MAX / 2).times(3), None);
        assert_eq!(Cents(i64::MAX).plus(Cents(1)), None);
        assert_eq!(Cents(i64::MIN).minus(Cents(1)), None);
    }

    #[test]
    fn the_value_of_a_number_field_is_read_exactly() {
        for (text, cents) in
            [("12", 1200), ("12.5", 1250), ("12.50", 1250), ("0.07", 7), ("12.", 1200)]
        {
            assert_eq!(Cents::parse(text), Some(Cents(cents)), "{text}");
        }
        for text in
            ["", ".5", "-1", "+1", "1e3", "1.234", "1,5", " 1", "1000000.01", "99999999", "nan"]
        {
            assert_eq!(Cents::parse(text), None, "{text}");
        }
        assert_eq!(Cents::parse(&Cents(123_456).plain()), Some(Cents(123_456)));
    }
}
