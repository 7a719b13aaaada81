//! Hashes of the passwords of a population, computed on all processors.

use std::num::NonZero;
use std::time::Duration;

use crate::Result;
use crate::password::{PasswordCost, quick_hash};

/// Longest that hashing a population's passwords may take; above that they are stored
/// as quick hashes.
const LONGEST: Duration = Duration::from_secs(8);

/// A synthetic person's password and the salt of its hash.
#[derive(Clone, Debug)]
pub struct Secret {
    /// The password, which is public.
    pub password: String,
    /// The salt.
    pub salt: [u8; 16],
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

impl Hashing {
    /// The hashing of so many passwords at this cost: quick if argon2id would take more
    /// than 8 s on this machine.
    pub fn of(cost: PasswordCost, passwords: usize) -> Self {
        let share = passwords.div_ceil(threads());
        let share = u32::try_from(share).unwrap_or(u32::MAX);
        if cost.measure().saturating_mul(share) <= LONGEST { Self::Full(cost) } else { Self::Quick }
    }

    /// The hashes of these passwords, in their order.
    ///
    /// # Errors
    /// The memory for a hash cannot be allocated.
    pub fn hash(self, secrets: &[Secret]) -> Result<Vec<String>> {
        let share = secrets.len().div_ceil(threads()).max(1);
        std::thread::scope(|scope| {
            let workers: Vec<_> = secrets
                .chunks(share)
                .map(|chunk| {
                    scope.spawn(move || {
                        chunk.iter().map(|secret| self.one(secret)).collect::<Result<Vec<_>>>()
                    })
                })
                .collect();
            let mut hashes = Vec::with_capacity(secrets.len());
            for worker in workers {
                hashes.extend(worker.join().expect("hashing does not panic")?);
            }
            Ok(hashes)
        })
    }

    fn one(self, secret: &Secret) -> Result<String> {
        match self {
            Self::Full(cost) => cost.hash(&secret.password, &secret.salt),
            Self::Quick => Ok(quick_hash(&secret.password, &secret.salt)),
        }
    }
}

fn threads() -> usize {
    std::thread::available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_come_in_the_order_of_the_passwords() {
        let secrets: Vec<Secret> = (0..7)
            .map(|number| Secret { password: format!("password{number}"), salt: [number; 16] })
            .collect();
        let hashes = Hashing::Quick.hash(&secrets).unwrap();
        for (secret, found) in secrets.iter().zip(&hashes) {
            assert_eq!(*found, quick_hash(&secret.password, &secret.salt));
        }
    }

    #[test]
    fn a_population_is_hashed_in_full_as_long_as_that_is_quick() {
        let light = PasswordCost::LIGHT;
        assert_eq!(Hashing::of(light, 10), Hashing::Full(light));
        assert_eq!(Hashing::of(light, usize::MAX), Hashing::Quick);
    }
}
