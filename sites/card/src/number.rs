//! Card numbers, which are never shown: what may be stored of one is its brand, its last four
//! digits and a keyed fingerprint.

use aws_lc_rs::hmac;
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use tidegate_sitekit::named;
use zeroize::Zeroizing;

/// Digits of a card number (ISO/IEC 7812: at most 19).
const FEWEST: usize = 12;
const MOST: usize = 19;
/// Digits of a number of one of the brands.
const FEWEST_OF_BRANDS: usize = 13;
/// Bytes kept of a fingerprint: two cards do not share one by chance.
const FINGERPRINT: usize = 16;

/// A card number. Its digits are overwritten when it is dropped, and nothing prints them:
///
/// ```compile_fail
/// fn shown<T: std::fmt::Debug>() {}
/// shown::<tidegate_card::CardNumber>();
/// ```
///
/// ```compile_fail
/// fn shown<T: std::fmt::Display>() {}
/// shown::<tidegate_card::CardNumber>();
/// ```
pub struct CardNumber {
    digits: Zeroizing<[u8; MOST]>,
    length: usize,
}

/// Why a text is no card number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NumberMistake {
    /// Nothing was given.
    Missing,
    /// Other characters than digits, spaces and hyphens.
    Characters,
    /// Too few or too many digits.
    Length,
    /// The check digit is wrong.
    CheckDigit,
}

impl NumberMistake {
    /// The mistake and its remedy, in a sentence without the number.
    pub fn message(self) -> &'static str {
        match self {
            Self::Missing => "The card number is missing.",
            Self::Characters => {
                "The card number has other characters than digits and spaces; type the digits alone."
            }
            Self::Length => "The card number must have 12 to 19 digits; compare it with the card.",
            Self::CheckDigit => {
                "This is no card number: its check digit is wrong; compare it with the card."
            }
        }
    }
}

impl CardNumber {
    /// Reads digits, which spaces and hyphens may separate.
    ///
    /// # Errors
    /// The text is no card number.
    pub fn parse(text: &str) -> Result<Self, NumberMistake> {
        let mut number = Self::empty();
        if text.trim().is_empty() {
            return Err(NumberMistake::Missing);
        }
        for byte in text.bytes() {
            match byte {
                b' ' | b'-' => {}
                b'0'..=b'9' => number.push(byte)?,
                _ => return Err(NumberMistake::Characters),
            }
        }
        if number.length < FEWEST {
            return Err(NumberMistake::Length);
        }
        if !check_digit_is_right(number.digits()) {
            return Err(NumberMistake::CheckDigit);
        }
        Ok(number)
    }

    /// A number whose digits are still to come.
    fn empty() -> Self {
        Self { digits: Zeroizing::new([0; MOST]), length: 0 }
    }

    /// Adds a digit, of ASCII.
    fn push(&mut self, digit: u8) -> Result<(), NumberMistake> {
        let place = self.digits.get_mut(self.length).ok_or(NumberMistake::Length)?;
        *place = digit - b'0';
        self.length += 1;
        Ok(())
    }

    /// Whether it is as long as those of brands, is of one of them, and has a right check digit.
    fn is_of_a_brand(&self) -> bool {
        self.length >= FEWEST_OF_BRANDS
            && check_digit_is_right(self.digits())
            && self.brand() != Brand::Other
    }

    /// Whether this is the number with these digits.
    pub(super) fn is(&self, digits: &str) -> bool {
        self.digits().iter().copied().eq(digits.bytes().map(|byte| byte.wrapping_sub(b'0')))
    }

    /// The brand, by the first digits.
    pub fn brand(&self) -> Brand {
        let first = |count: usize| {
            self.digits()[..count].iter().fold(0_u32, |sum, digit| sum * 10 + u32::from(*digit))
        };
        match (first(2), first(4)) {
            (40..=49, _) => Brand::Visa,
            (51..=55, _) | (_, 2221..=2720) => Brand::Mastercard,
            (34 | 37, _) => Brand::Amex,
            (65, _) | (_, 6011 | 6440..=6499) => Brand::Discover,
            _ => Brand::Other,
        }
    }

    /// The last four digits.
    pub fn last4(&self) -> String {
        self.digits()[self.length - 4..].iter().map(|digit| char::from(digit + b'0')).collect()
    }

    /// The same for every use of a card, and of no use to find its number without the key.
    pub fn fingerprint(&self, key: &hmac::Key) -> String {
        let mut context = hmac::Context::with_key(key);
        context.update(b"card number\0");
        context.update(self.digits());
        let tag = context.sign();
        format!("fp_{}", URL_SAFE_NO_PAD.encode(&tag.as_ref()[..FINGERPRINT]))
    }

    fn digits(&self) -> &[u8] {
        &self.digits[..self.length]
    }
}

/// Whether a text holds what looks like a card number: 13 to 19 digits with a brand and a right
/// check digit, which spaces and hyphens may separate. Texts that are stored are refused then.
///
/// A number begins and ends where groups of digits do, and other groups may stand beside it. A
/// part of a longer group is none: most long rows of random digits would hold one.
pub fn looks_like_card(text: &str) -> bool {
    text.split(|c: char| !c.is_ascii_digit() && c != ' ' && c != '-').any(row_has_card)
}

/// The same for a row of groups of digits.
fn row_has_card(row: &str) -> bool {
    let groups: Vec<&str> = row.split([' ', '-']).filter(|group| !group.is_empty()).collect();
    (0..groups.len()).any(|first| {
        let mut number = CardNumber::empty();
        for group in &groups[first..] {
            if group.bytes().try_for_each(|digit| number.push(digit)).is_err() {
                return false;
            }
            if number.is_of_a_brand() {
                return true;
            }
        }
        false
    })
}

/// Source: ISO/IEC 7812-1, annex B (the Luhn formula): from the right, every second digit
/// counts twice, and the sum of all digits of the products is a multiple of ten.
fn check_digit_is_right(digits: &[u8]) -> bool {
    let sum: u32 = digits
        .iter()
        .rev()
        .enumerate()
        .map(|(index, digit)| match (index % 2, u32::from(*digit)) {
            (0, digit) => digit,
            (_, digit @ 0..=4) => digit * 2,
            (_, digit) => digit * 2 - 9,
        })
        .sum();
    sum.is_multiple_of(10)
}

/// The brand of a card.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Brand {
    /// Visa.
    Visa,
    /// Mastercard.
    Mastercard,
    /// American Express, whose security code has four digits.
    Amex,
    /// Discover.
    Discover,
    /// Any other.
    Other,
}

named!(Brand: Visa = "visa", Mastercard = "mastercard", Amex = "amex", Discover = "discover",
    Other = "other");

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rand::SeedableRng as _;
    use rand::rngs::StdRng;

    use super::*;

    fn mistake(text: &str) -> NumberMistake {
        match CardNumber::parse(text) {
            Ok(_) => panic!("{text} was accepted"),
            Err(mistake) => mistake,
        }
    }

    fn number(text: &str) -> CardNumber {
        CardNumber::parse(text).unwrap_or_else(|mistake| panic!("{text}: {mistake:?}"))
    }

    #[test]
    fn a_number_is_read_with_and_without_spaces() {
        for text in ["4242424242424242", " 4242 4242 4242 4242 ", "4242-4242-4242-4242"] {
            assert_eq!(number(text).last4(), "4242");
            assert!(number(text).is("4242424242424242") && !number(text).is("424242424242424"));
        }
    }

    #[test]
    fn a_mistake_is_named() {
        for (text, expected) in [
            ("", NumberMistake::Missing),
            ("  ", NumberMistake::Missing),
            ("4242 4242 4242 424x", NumberMistake::Characters),
            ("４２４２", NumberMistake::Characters),
            ("42424242422", NumberMistake::Length),
            ("-", NumberMistake::Length),
            (&"4".repeat(20), NumberMistake::Length),
            ("4242424242424241", NumberMistake::CheckDigit),
        ] {
            assert_eq!(mistake(text), expected, "{text}");
        }
    }

    #[test]
    fn the_check_digit_is_that_of_the_standards_example() {
        // 7992739871 has the check digit 3: 1×2+7+8×2-9+9+3×2+7+2×2+9+9×2-9+7 = 67.
        assert!(check_digit_is_right(&[7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 3]));
        assert!(!check_digit_is_right(&[7, 9, 9, 2, 7, 3, 9, 8, 7, 1, 4]));
    }

    #[test]
    fn the_first_digits_tell_the_brand() {
        for (text, brand) in [
            ("4242424242424242", Brand::Visa),
            ("5555555555554444", Brand::Mastercard),
            ("2223003122003222", Brand::Mastercard),
            ("378282246310005", Brand::Amex),
            ("6011111111111117", Brand::Discover),
            ("3530111333300000", Brand::Other),
        ] {
            assert_eq!(number(text).brand(), brand, "{text}");
            assert_eq!(Brand::of_name(brand.name()), Some(brand));
        }
    }

    #[test]
    fn a_card_number_in_a_text_is_noticed_and_other_numbers_are_not() {
        for text in [
            "4242424242424242",
            "for 5555 5555-5555 4444.",
            "x/378282246310005",
            "Deposit 1 4242 4242 4242 4242",
            "4242 4242 4242 4242 12/30",
            "1-4242424242424242",
            "order-1-4242424242424242",
            "2026-11-26  4242-4242-4242-4242 - 7",
            "42 42424242424242",
        ] {
            assert!(looks_like_card(text), "{text}");
        }
        for text in [
            "",
            "deposit-17",
            "1798761600000",
            "8e03978e-40d5-43e8-bc93-6894a57f9324",
            "4242424242424241",
            "42424242424242424242424242424242",
            "1-4242424242424241",
            "14242424242424242",
            "4242 4242 4242",
            "4242.4242.4242.4242",
            "2026-11-26 10-30-00",
            "- -  -",
        ] {
            assert!(!looks_like_card(text), "{text}");
        }
    }

    #[test]
    fn of_a_thousand_random_names_at_most_two_look_like_a_card_number() {
        let mut random = StdRng::seed_from_u64(7);
        let refused = (0..100_000)
            .filter(|_| {
                let [a, b]: [u64; 2] = [random.random(), random.random()];
                // A UUID of version 4.
                let (a, b) = ((a & !0xf000) | 0x4000, (b & !(3 << 62)) | (2 << 62));
                let (high, low) = (format!("{a:016x}"), format!("{b:016x}"));
                let groups = [&high[..8], &high[8..12], &high[12..], &low[..4], &low[4..]];
                looks_like_card(&groups.join("-"))
            })
            .count();
        assert!(refused < 200, "{refused}");
    }

    #[test]
    fn a_fingerprint_is_of_the_card_and_of_the_key() {
        let keys = [[1; 32], [2; 32]].map(|key| hmac::Key::new(hmac::HMAC_SHA256, &key));
        let of = |text, key: &hmac::Key| number(text).fingerprint(key);
        let one = of("4242424242424242", &keys[0]);
        assert_eq!(one, of("4242 4242 4242 4242", &keys[0]));
        assert_ne!(one, of("4242424242424242", &keys[1]));
        assert_ne!(one, of("5555555555554444", &keys[0]));
        assert!(one.starts_with("fp_") && one.len() == 25, "{one}");
    }

    proptest! {
        #[test]
        fn one_wrong_digit_is_noticed(place in 0usize..16, by in 1u8..10) {
            let mut digits = *b"4242424242424242";
            digits[place] = b'0' + (digits[place] - b'0' + by) % 10;
            let text = String::from_utf8(digits.to_vec()).unwrap();
            prop_assert_eq!(mistake(&text), NumberMistake::CheckDigit);
        }

        #[test]
        fn junk_never_panics(junk in "\\PC{0,40}") {
            let _ = CardNumber::parse(&junk);
        }
    }
}
