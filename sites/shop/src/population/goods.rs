//! Synthetic products with their reviews, and synthetic customers.

use crate::catalogue::{DEPARTMENTS, QUALITIES, REMARKS, SENTENCES, capital};
use crate::zones::ZONES;
use tidegate_sitekit::population::{FIRST_NAMES, LAST_NAMES, Random, Secret};
use tidegate_sitekit::when::DAY;

/// What a random stream belongs to.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Product = 1,
    Customer = 2,
}

impl From<Kind> for u64 {
    fn from(kind: Kind) -> Self {
        kind as Self
    }
}

/// A synthetic product.
#[derive(Clone, Debug)]
pub struct Goods {
    /// Such as "Oak side table 120".
    pub name: String,
    /// List price, cents.
    pub price: i64,
    /// Grams.
    pub weight: i64,
    /// Pieces in stock.
    pub stock: i64,
    /// A few sentences.
    pub description: String,
    /// None to eight.
    pub reviews: Vec<Review>,
}

/// What a customer says of a product.
#[derive(Clone, Copy, Debug)]
pub struct Review {
    /// 1 to 5.
    pub stars: i64,
    /// First name of the customer.
    pub name: &'static str,
    /// In a sentence.
    pub remark: &'static str,
}

impl Goods {
    /// The product of this id, in the set of this number of a department.
    pub fn new(seed: u64, id: i64, department: i64, set: usize) -> Self {
        let mut random = Random::of(seed, Kind::Product, id);
        let department = usize::try_from(department - 1).expect("departments count from 1");
        let thing = DEPARTMENTS[department].thing(set);
        let name = format!("{} {thing} {}", random.pick(&QUALITIES), random.between(1, 99) * 10);
        // 3.99 to 199.99, more of the cheap ones.
        let dollars = random.between(4, 200).min(random.between(4, 200));
        // No two of them alike: every fifth of twelve reaches all.
        let from = usize::try_from(random.between(0, 11)).expect("not negative");
        let number = usize::try_from(random.between(4, 7)).expect("not negative");
        let sentence = |at: usize| SENTENCES[(from + 5 * at) % SENTENCES.len()];
        let sentences: Vec<String> =
            (0..number).map(|at| sentence(at).replace("{}", thing)).collect();
        let reviews = (0..random.between(0, 8))
            .map(|_| Review {
                stars: random.between(2, 5).max(random.between(1, 5)),
                name: random.pick(&FIRST_NAMES),
                remark: random.pick(&REMARKS),
            })
            .collect();
        Self {
            name: capital(&name),
            price: dollars * 100 - 1,
            weight: random.between(1, 60) * 100,
            stock: random.between(200, 1000),
            description: sentences.join(" "),
            reviews,
        }
    }
}

/// A synthetic customer: `user1@example.com` with the password `password1`, and so on.
#[derive(Clone, Debug)]
pub struct Person {
    /// Their number, from 1.
    pub id: i64,
    /// Mail address.
    pub email: String,
    /// First and last name.
    pub name: String,
    /// Street and number.
    pub street: String,
    /// City.
    pub city: String,
    /// Postcode, of any zone.
    pub postcode: String,
    /// Age of the account when the population is made, seconds.
    pub age: i64,
    /// Password and salt.
    pub secret: Secret,
}

/// The customer of this number.
pub fn person(seed: u64, id: i64) -> Person {
    let mut random = Random::of(seed, Kind::Customer, id);
    let mut salt = [0; 16];
    salt[..8].copy_from_slice(&random.bits().to_le_bytes());
    salt[8..].copy_from_slice(&random.bits().to_le_bytes());
    let last = random.pick(&LAST_NAMES);
    let zone = random.between(0, i64::try_from(ZONES.len()).expect("ten") - 1);
    Person {
        id,
        email: format!("user{id}@example.com"),
        name: format!("{} {last}", random.pick(&FIRST_NAMES)),
        street: format!("{} {} Street", random.between(1, 400), random.pick(&QUALITIES)),
        city: format!("{last}ville"),
        postcode: format!("{zone}{:04}", random.between(0, 9999)),
        age: random.between(DAY, 1000 * DAY),
        secret: Secret { password: format!("password{id}"), salt },
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::zones::of_postcode;

    #[test]
    fn products_have_a_price_a_weight_and_stock() {
        for id in 1..500 {
            let goods = Goods::new(1, id, id % 10 + 1, 17);
            assert!((399..=19_999).contains(&goods.price), "{goods:?}");
            assert!(goods.stock >= 200 && goods.weight >= 100 && goods.reviews.len() <= 8);
            assert!(!goods.description.contains('{'), "{goods:?}");
        }
        assert_eq!(Goods::new(1, 7, 1, 0).name, Goods::new(1, 7, 1, 0).name);
        assert_ne!(Goods::new(1, 7, 1, 0).description, Goods::new(2, 7, 1, 0).description);
    }

    #[test]
    fn customers_live_in_every_zone() {
        let zones: std::collections::HashSet<_> =
            (1..200).filter_map(|id| of_postcode(&person(1, id).postcode)).collect();
        assert_eq!(zones.len(), ZONES.len());
    }
}
