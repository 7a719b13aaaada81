//! The ten zones of US postcodes. A zone is the first digit of a postcode; prices, tax and
//! shipping depend on it.
//!
//! Source of the areas: United States Postal Service, the first digit of a ZIP code. Factors,
//! taxes and shipping are ours.

use tidegate_sitekit::record;

/// Where a customer is who has not said so: the zone of New York.
pub const DEFAULT: i64 = 1;

/// A zone.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Zone {
    /// First digit of its postcodes, 0 to 9.
    pub id: i64,
    /// Its name.
    pub name: String,
    /// Its prices, in ten-thousandths of the list price.
    pub factor: i64,
    /// Tax on goods and shipping, in ten-thousandths of them.
    pub tax: i64,
    /// Shipping of an order, in cents.
    pub shipping: i64,
    /// Shipping of each started kilogram, in cents.
    pub shipping_kg: i64,
}

record!(Zone { id, name, factor, tax, shipping, shipping_kg });

/// Name, factor, tax, shipping and shipping of a kilogram of each zone.
pub const ZONES: [(&str, [i64; 4]); 10] = [
    ("New England and New Jersey", [10_150, 625, 595, 80]),
    ("New York and Pennsylvania", [10_000, 800, 495, 60]),
    ("Virginia and the Carolinas", [9_900, 675, 545, 70]),
    ("Florida and the Southeast", [9_850, 700, 595, 85]),
    ("The Great Lakes", [9_800, 600, 545, 75]),
    ("The Upper Midwest", [9_900, 550, 645, 95]),
    ("Illinois and the Plains", [9_950, 725, 595, 90]),
    ("Texas and its neighbours", [9_900, 825, 645, 110]),
    ("The Mountain West", [10_250, 575, 745, 140]),
    ("California and the Pacific", [10_400, 850, 795, 160]),
];

/// The zone of a postcode of five digits.
pub fn of_postcode(text: &str) -> Option<i64> {
    let digits = text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
    digits.then(|| i64::from(text.as_bytes()[0] - b'0'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zone_is_the_first_digit_of_a_postcode_and_nothing_else_is_one() {
        assert_eq!([of_postcode("10001"), of_postcode("00501")], [Some(1), Some(0)]);
        for text in ["", "1", "1000", "100011", "1000x", "-1000", " 1000", "１0001"] {
            assert_eq!(of_postcode(text), None, "{text}");
        }
    }
}
