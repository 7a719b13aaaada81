//! What goods cost in a zone. All amounts are whole cents; halves are rounded up.

use tidegate_sitekit::money::Cents;

use crate::zones::Zone;

/// Parts of a whole, of which factors and taxes are so many.
const WHOLE: i64 = 10_000;
/// Grams of a kilogram.
const KILOGRAM: i64 = 1000;

/// What an order costs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Sum {
    /// The goods.
    pub goods: Cents,
    /// Their shipping.
    pub shipping: Cents,
    /// Tax on both.
    pub tax: Cents,
}

impl Sum {
    /// All of it.
    pub fn total(&self) -> Cents {
        Cents(self.goods.0 + self.shipping.0 + self.tax.0)
    }
}

/// A list price as it is in a zone.
pub fn in_zone(zone: &Zone, list: Cents) -> Cents {
    Cents(part(list.0, zone.factor))
}

/// What goods of this price and weight in grams cost with shipping and tax: shipping is a base
/// and so much for each started kilogram.
pub fn sum(zone: &Zone, goods: Cents, weight: i64) -> Sum {
    let kilograms = (weight + KILOGRAM - 1) / KILOGRAM;
    let shipping = Cents(zone.shipping + zone.shipping_kg * kilograms);
    Sum { goods, shipping, tax: Cents(part(goods.0 + shipping.0, zone.tax)) }
}

/// So many ten-thousandths of an amount. Within [`Cents::MOST`] for each of 50 lines of 99 it
/// fits.
fn part(cents: i64, of_whole: i64) -> i64 {
    (cents * of_whole + WHOLE / 2) / WHOLE
}

#[cfg(test)]
mod tests {
    use super::*;

    fn zone(factor: i64, tax: i64) -> Zone {
        Zone { id: 0, name: String::new(), factor, tax, shipping: 495, shipping_kg: 60 }
    }

    #[test]
    fn prices_are_rounded_to_whole_cents() {
        let of = |factor, cents| in_zone(&zone(factor, 0), Cents(cents)).0;
        // 0.99 × 50 = 49.5 and 1.015 × 1,999 = 2,028.985.
        assert_eq!([of(10_000, 1999), of(9_900, 50), of(10_150, 1999)], [1999, 50, 2029]);
        assert_eq!(of(9_900, 49), 49); // 48.51
        assert_eq!(of(9_800, 49), 48); // 48.02
    }

    #[test]
    fn shipping_is_by_started_kilogram_and_taxed() {
        // 2,000 + (495 + 2 × 60) = 2,615; 8 % of it are 209.2.
        let found = sum(&zone(10_000, 800), Cents(2000), 1001);
        assert_eq!(found, Sum { goods: Cents(2000), shipping: Cents(615), tax: Cents(209) });
        assert_eq!(found.total(), Cents(2824));
        assert_eq!(sum(&zone(10_000, 0), Cents(0), 0).shipping, Cents(495));
        assert_eq!(sum(&zone(10_000, 0), Cents(0), 1000).shipping, Cents(555));
    }

    #[test]
    fn the_largest_basket_fits() {
        let most = Cents(Cents::MOST.0 * 50 * 99);
        assert!(sum(&zone(10_400, 850), most, i64::from(u32::MAX)).total() > most);
    }
}
