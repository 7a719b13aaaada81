//! Synthetic people: `user1` to `userN` with the passwords `password1` to
//! `passwordN`, as in RUBiS.

use super::kind::Kind;
use crate::catalogue::REGION_COUNT;
use tidegate_sitekit::population::{FIRST_NAMES, LAST_NAMES, Random, Secret};
use tidegate_sitekit::when::DAY;

/// A synthetic person.
#[derive(Clone, Debug)]
pub struct Person {
    /// Their number, from 1.
    pub id: i64,
    /// First name.
    pub firstname: &'static str,
    /// Last name.
    pub lastname: &'static str,
    /// Where they are: number modulo regions, as in RUBiS.
    pub region: i64,
    /// Age of the account when the population was made, seconds.
    pub age: i64,
    salt: [u8; 16],
}

impl Person {
    /// The person of this number.
    pub fn new(seed: u64, id: i64) -> Self {
        let mut random = Random::of(seed, Kind::User, id);
        let mut salt = [0; 16];
        salt[..8].copy_from_slice(&random.bits().to_le_bytes());
        salt[8..].copy_from_slice(&random.bits().to_le_bytes());
        Self {
            id,
            firstname: random.pick(&FIRST_NAMES),
            lastname: random.pick(&LAST_NAMES),
            region: region_of(id),
            age: random.between(30 * DAY, 2000 * DAY),
            salt,
        }
    }

    /// The nickname.
    pub fn nickname(&self) -> String {
        format!("user{}", self.id)
    }

    /// The password and the salt of its hash.
    pub fn secret(&self) -> Secret {
        Secret { password: format!("password{}", self.id), salt: self.salt }
    }
}

/// The region of a person.
pub fn region_of(id: i64) -> i64 {
    id % REGION_COUNT + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_live_in_the_region_of_their_number() {
        assert_eq!([1, 61, 62, 63].map(region_of), [2, 62, 1, 2]);
    }
}
