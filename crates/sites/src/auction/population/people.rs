//! Synthetic people: `user1` to `userN` with the passwords `password1` to
//! `passwordN`, as in RUBiS.

use std::num::NonZero;

use super::random::{Kind, Random};
use super::words::{FIRST_NAMES, LAST_NAMES};
use crate::Result;
use crate::auction::catalogue::REGION_COUNT;
use crate::auction::when::DAY;
use crate::password::{PasswordCost, quick_hash};

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
        salt[..8].copy_from_slice(&random.next().to_le_bytes());
        salt[8..].copy_from_slice(&random.next().to_le_bytes());
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
}

/// The region of a person.
pub fn region_of(id: i64) -> i64 {
    id % REGION_COUNT + 1
}

/// How the passwords of a population are hashed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Hashing {
    /// Each by argon2id at the configured cost.
    Full(PasswordCost),
    /// Each by [`quick_hash`], replaced at the first login; used where argon2id
    /// would take too long.
    Quick,
}

/// Hashes of the passwords of these people, computed on all processors.
///
/// # Errors
/// The memory for a hash cannot be allocated.
pub fn hash_passwords(people: &[Person], hashing: Hashing) -> Result<Vec<String>> {
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get);
    let share = people.len().div_ceil(threads).max(1);
    std::thread::scope(|scope| {
        let workers: Vec<_> = people
            .chunks(share)
            .map(|chunk| {
                scope.spawn(move || {
                    chunk.iter().map(|person| hash(person, hashing)).collect::<Result<Vec<_>>>()
                })
            })
            .collect();
        let mut hashes = Vec::with_capacity(people.len());
        for worker in workers {
            hashes.extend(worker.join().expect("hashing does not panic")?);
        }
        Ok(hashes)
    })
}

fn hash(person: &Person, hashing: Hashing) -> Result<String> {
    let password = format!("password{}", person.id);
    match hashing {
        Hashing::Full(cost) => cost.hash(&password, &person.salt),
        Hashing::Quick => Ok(quick_hash(&password, &person.salt)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_come_in_the_order_of_the_people() {
        let people: Vec<Person> = (1..=7).map(|id| Person::new(1, id)).collect();
        let hashes = hash_passwords(&people, Hashing::Quick).unwrap();
        for (person, found) in people.iter().zip(&hashes) {
            assert_eq!(*found, quick_hash(&format!("password{}", person.id), &person.salt));
        }
    }

    #[test]
    fn people_live_in_the_region_of_their_number() {
        assert_eq!([1, 61, 62, 63].map(region_of), [2, 62, 1, 2]);
    }
}
