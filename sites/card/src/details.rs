//! What a customer types of a card: number, expiry and security code.

use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::number::{Brand, CardNumber};

/// A card as a customer types it. It cannot be printed, as its number cannot.
pub struct Card {
    /// The number.
    pub number: CardNumber,
    /// Until when it is valid.
    pub expiry: Expiry,
    /// The security code.
    pub cvc: Cvc,
}

/// The security code of a card. It is compared by the issuer and kept nowhere; nothing
/// prints it, and it is overwritten when dropped:
///
/// ```compile_fail
/// fn shown<T: std::fmt::Debug>() {}
/// shown::<tidegate_card::Cvc>();
/// ```
pub struct Cvc {
    digits: Zeroizing<[u8; 4]>,
    length: usize,
}

impl Cvc {
    /// Reads a code of as many digits as cards of this brand have.
    ///
    /// # Errors
    /// The text is no such code: a sentence without it.
    pub fn parse(text: &str, brand: Brand) -> Result<Self, &'static str> {
        let (length, mistake) = match brand {
            Brand::Amex => (4, "The security code must be the 4 digits on the front of the card."),
            _ => (3, "The security code must be the 3 digits on the back of the card."),
        };
        let text = text.trim().as_bytes();
        if text.is_empty() {
            return Err("The security code is missing.");
        }
        if text.len() != length || !text.iter().all(u8::is_ascii_digit) {
            return Err(mistake);
        }
        let mut digits = Zeroizing::new([0; 4]);
        digits[..length].copy_from_slice(text);
        Ok(Self { digits, length })
    }

    /// Whether this is the code of these digits.
    pub(super) fn is(&self, digits: &str) -> bool {
        self.digits[..self.length] == *digits.as_bytes()
    }
}

/// Until when a card is valid: the end of a month.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Expiry {
    /// The year, 2000 to 2099.
    pub year: i64,
    /// The month, 1 to 12.
    pub month: i64,
}

impl Expiry {
    /// The expiry at the end of this month.
    ///
    /// # Errors
    /// There is no such month or year: a sentence.
    pub fn new(month: i64, year: i64) -> Result<Self, &'static str> {
        if !(1..=12).contains(&month) {
            return Err("The month of expiry must be 1 to 12.");
        }
        if !(2000..=2099).contains(&year) {
            return Err("The year of expiry must have four digits, such as 2030.");
        }
        Ok(Self { year, month })
    }

    /// Reads `MM/YY` or `MM/YYYY`, as people type it.
    ///
    /// # Errors
    /// The text is no expiry: a sentence.
    pub fn parse(text: &str) -> Result<Self, &'static str> {
        let form = "The expiry date must be month and year as on the card, such as 04/30.";
        let text = text.trim();
        if text.is_empty() {
            return Err("The expiry date is missing.");
        }
        let (month, year) = text.split_once(['/', '-', ' ']).ok_or(form)?;
        let year = year.trim_start_matches([' ', '/']);
        let number = |text: &str, lengths: &[usize]| -> Option<i64> {
            let digits = text.bytes().all(|byte| byte.is_ascii_digit());
            (digits && lengths.contains(&text.len())).then(|| text.parse().ok())?
        };
        let month = number(month.trim(), &[1, 2]).ok_or(form)?;
        let century = if year.len() == 2 { 2000 } else { 0 };
        let year = number(year, &[2, 4]).ok_or(form)?;
        Self::new(month, century + year)
    }

    /// The month of this time, in milliseconds since 1970 (UTC).
    pub fn of_time(now_ms: i64) -> Self {
        let time = jiff::Timestamp::from_millisecond(now_ms).unwrap_or_default();
        let date = time.to_zoned(jiff::tz::TimeZone::UTC);
        Self { year: date.year().into(), month: date.month().into() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_expiry_is_read_as_people_type_it() {
        let expected = Ok(Expiry { year: 2030, month: 4 });
        for text in ["04/30", "4/30", " 04 / 30 ", "04/2030", "04-30", "04 30"] {
            assert_eq!(Expiry::parse(text), expected, "{text}");
        }
        for text in ["", "0430", "04/3", "04/030", "x/30", "04/", "/30", "-1/30", "+4/30", "4/ä"] {
            assert!(Expiry::parse(text).is_err(), "{text}");
        }
        assert!(Expiry::parse("13/30").unwrap_err().contains("1 to 12"));
        assert!(Expiry::parse("12/1999").unwrap_err().contains("four digits"));
    }

    #[test]
    fn a_card_is_valid_to_the_end_of_its_month() {
        // 30 April 2026, 23:59:59.999 UTC and a millisecond later.
        let last = 1_777_593_599_999;
        assert_eq!(Expiry::of_time(last), Expiry { year: 2026, month: 4 });
        assert_eq!(Expiry::of_time(last + 1), Expiry { year: 2026, month: 5 });
        assert!(Expiry { year: 2026, month: 12 } < Expiry { year: 2027, month: 1 });
    }

    #[test]
    fn a_security_code_has_the_digits_of_its_brand() {
        for (text, brand, right) in [
            ("123", Brand::Visa, true),
            (" 123 ", Brand::Other, true),
            ("1234", Brand::Visa, false),
            ("1234", Brand::Amex, true),
            ("123", Brand::Amex, false),
            ("12x", Brand::Visa, false),
            ("", Brand::Visa, false),
            ("１２３", Brand::Visa, false),
        ] {
            assert_eq!(Cvc::parse(text, brand).is_ok(), right, "{text}");
        }
    }
}
