//! Password hashes: argon2id with a configurable cost, since hashing is part of
//! a site's workload.
//!
//! Source: RFC 9106; the default cost is the first choice of OWASP's password
//! storage cheat sheet (19 MiB, 2 passes, 1 lane).
//!
//! A stored hash names its algorithm and cost. A hash of another cost than the
//! configured one, or one made by [`quick_hash`], is verified as it is and
//! replaced at that login.

use std::fmt;
use std::str::FromStr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use argon2::password_hash::phc::PasswordHash;
use argon2::password_hash::{PasswordHasher as _, PasswordVerifier as _};
use argon2::{Algorithm, Argon2, Params, Version};
use aws_lc_rs::hmac;
use aws_lc_rs::rand::{SecureRandom as _, SystemRandom};
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use tokio::sync::{Semaphore, SemaphorePermit};

use crate::{Error, Result};

/// A hash quicker than this is computed on the calling thread: a switch to
/// another thread and back would cost as much as the delay it avoids.
const INLINE: Duration = Duration::from_millis(1);
/// Slow hashes computed at once on one core; bounds their memory.
const SLOW_AT_ONCE: usize = 2;
/// Marks a hash made by [`quick_hash`].
const QUICK: &str = "$quick$";

/// Cost of one password hash: memory in KiB and passes over it; one lane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PasswordCost {
    memory_kib: u32,
    passes: u32,
}

impl PasswordCost {
    /// OWASP's first choice: 19 MiB, 2 passes. About 20 ms on one core.
    pub const OWASP: Self = Self { memory_kib: 19 * 1024, passes: 2 };
    /// 64 KiB, 1 pass: for demonstrations on small machines, where hashing
    /// should not dominate the work. About 50 µs.
    pub const LIGHT: Self = Self { memory_kib: 64, passes: 1 };

    /// A cost of `memory_kib` (8 to 1,048,576 KiB) and `passes` (1 to 100).
    pub fn new(memory_kib: u32, passes: u32) -> Option<Self> {
        ((8..=1 << 20).contains(&memory_kib) && (1..=100).contains(&passes))
            .then_some(Self { memory_kib, passes })
    }

    fn argon2(self) -> Argon2<'static> {
        #[cfg(test)]
        tests::COMPUTED.with_borrow_mut(|computed| computed.push(self));
        let params = Params::new(self.memory_kib, self.passes, 1, None).expect("checked in new");
        Argon2::new(Algorithm::Argon2id, Version::V0x13, params)
    }

    /// Hashes a password with this salt (16 bytes or more).
    ///
    /// # Errors
    /// The memory cannot be allocated.
    pub fn hash(self, password: &str, salt: &[u8]) -> Result<String> {
        self.argon2()
            .hash_password_with_salt(password.as_bytes(), salt)
            .map(|hash| hash.to_string())
            .map_err(|error| Error::Internal(format!("a password cannot be hashed: {error}")))
    }

    /// Measures how long one hash takes on this machine.
    pub fn measure(self) -> Duration {
        // The first one includes the page faults of its memory.
        (0..2)
            .map(|_| {
                let start = Instant::now();
                let _ = self.hash("password", b"0123456789abcdef");
                start.elapsed()
            })
            .min()
            .unwrap_or_default()
    }
}

impl Default for PasswordCost {
    fn default() -> Self {
        Self::OWASP
    }
}

impl fmt::Display for PasswordCost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "m={},t={}", self.memory_kib, self.passes)
    }
}

impl FromStr for PasswordCost {
    type Err = Error;

    /// Reads `owasp`, `light` or `m=KIB,t=PASSES`.
    fn from_str(text: &str) -> Result<Self> {
        let custom = || {
            let (memory, passes) = text.strip_prefix("m=")?.split_once(",t=")?;
            Self::new(memory.parse().ok()?, passes.parse().ok()?)
        };
        match text {
            "owasp" => Ok(Self::OWASP),
            "light" => Ok(Self::LIGHT),
            _ => custom().ok_or_else(|| {
                Error::Operator(format!(
                    "password cost {text:?}: must be owasp, light, or m=KIB,t=PASSES with 8 to 1048576 KiB and 1 to 100 passes; try light"
                ))
            }),
        }
    }
}

/// A salted HMAC-SHA-256 in place of argon2id, marked as such. Only for the
/// synthetic people of a large population, whose passwords are public: a million
/// argon2id hashes would take hours. The first login replaces it.
pub fn quick_hash(password: &str, salt: &[u8]) -> String {
    let tag = hmac::sign(&hmac::Key::new(hmac::HMAC_SHA256, salt), password.as_bytes());
    format!("{QUICK}{}${}", URL_SAFE_NO_PAD.encode(salt), URL_SAFE_NO_PAD.encode(tag))
}

fn quick_verify(password: &str, stored: &str) -> bool {
    let parts = stored.strip_prefix(QUICK).and_then(|rest| rest.split_once('$'));
    let Some((salt, tag)) = parts else { return false };
    let (Ok(salt), Ok(tag)) = (URL_SAFE_NO_PAD.decode(salt), URL_SAFE_NO_PAD.decode(tag)) else {
        return false;
    };
    let key = hmac::Key::new(hmac::HMAC_SHA256, &salt);
    hmac::verify(&key, password.as_bytes(), &tag).is_ok()
}

/// Result of comparing a password with a stored hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PasswordCheck {
    /// The password does not match.
    Wrong,
    /// The password matches.
    Right,
    /// The password matches, and this hash should replace the stored one.
    RightRenew(String),
}

/// Hashes and verifies passwords for one core.
#[derive(Clone, Debug)]
pub struct Hasher {
    cost: PasswordCost,
    inline: bool,
    slow: Arc<Semaphore>,
    dummy: Arc<str>,
}

impl Hasher {
    /// A hasher of this cost; `takes` is the result of [`PasswordCost::measure`].
    ///
    /// # Errors
    /// The memory for a hash cannot be allocated.
    pub fn new(cost: PasswordCost, takes: Duration) -> Result<Self> {
        Ok(Self {
            cost,
            inline: takes < INLINE,
            slow: Arc::new(Semaphore::new(SLOW_AT_ONCE)),
            dummy: cost.hash("dummy password", &salt()?)?.into(),
        })
    }

    /// Waits until this core may compute another hash.
    pub async fn turn(&self) -> Turn<'_> {
        let permit = if self.inline {
            None
        } else {
            Some(self.slow.acquire().await.expect("the semaphore is never closed"))
        };
        Turn { hasher: self, permit }
    }

    /// Hashes a new password.
    ///
    /// # Errors
    /// The memory cannot be allocated.
    pub async fn hash(&self, password: String) -> Result<String> {
        let cost = self.cost;
        self.turn().await.run(move || cost.hash(&password, &salt()?)).await
    }
}

/// The right to compute one hash now.
#[derive(Debug)]
pub struct Turn<'a> {
    hasher: &'a Hasher,
    /// None where hashes are computed on the calling thread.
    permit: Option<SemaphorePermit<'a>>,
}

impl Turn<'_> {
    /// Compares a password with the stored hash. Where there is no such user it
    /// is compared with a dummy hash, and a quick hash costs as much, so that the
    /// time taken does not reveal whether the user exists.
    ///
    /// # Errors
    /// The stored hash is malformed, or the memory cannot be allocated.
    pub async fn verify(self, password: String, stored: Option<String>) -> Result<PasswordCheck> {
        let known = stored.is_some();
        let stored = stored.unwrap_or_else(|| self.hasher.dummy.to_string());
        let cost = self.hasher.cost;
        let verdict = self.run(move || compare(cost, &password, &stored)).await?;
        Ok(if known { verdict } else { PasswordCheck::Wrong })
    }

    async fn run<T: Send + 'static>(
        self,
        work: impl FnOnce() -> Result<T> + Send + 'static,
    ) -> Result<T> {
        if self.permit.is_none() {
            return work();
        }
        tokio::task::spawn_blocking(work)
            .await
            .map_err(|error| Error::Internal(format!("hashing a password: {error}")))?
    }
}

fn compare(cost: PasswordCost, password: &str, stored: &str) -> Result<PasswordCheck> {
    let renew = || Ok(PasswordCheck::RightRenew(cost.hash(password, &salt()?)?));
    if stored.starts_with(QUICK) {
        // Computed before a wrong password is told as well: an answer after microseconds would
        // say that there is such a user.
        let renewed = renew();
        return if quick_verify(password, stored) { renewed } else { Ok(PasswordCheck::Wrong) };
    }
    let hash = PasswordHash::new(stored).map_err(|error| {
        Error::Internal(format!("a stored password hash cannot be read: {error}"))
    })?;
    if cost.argon2().verify_password(password.as_bytes(), &hash).is_err() {
        return Ok(PasswordCheck::Wrong);
    }
    let as_configured = Params::try_from(&hash)
        .is_ok_and(|params| (params.m_cost(), params.t_cost()) == (cost.memory_kib, cost.passes));
    if as_configured { Ok(PasswordCheck::Right) } else { renew() }
}

fn salt() -> Result<[u8; 16]> {
    let mut salt = [0; 16];
    SystemRandom::new()
        .fill(&mut salt)
        .map_err(|_| Error::Internal("the system has no random bytes".into()))?;
    Ok(salt)
}

#[cfg(test)]
mod tests {
    use std::cell::RefCell;

    use super::*;

    const SALT: &[u8] = b"0123456789abcdef";

    thread_local! {
        /// The costs of the hashes that this thread has computed.
        pub static COMPUTED: RefCell<Vec<PasswordCost>> = const { RefCell::new(Vec::new()) };
    }

    #[test]
    fn a_displayed_cost_parses_to_itself() {
        for (text, cost) in [("owasp", PasswordCost::OWASP), ("light", PasswordCost::LIGHT)] {
            assert_eq!(text.parse::<PasswordCost>().unwrap(), cost);
            assert_eq!(cost.to_string().parse::<PasswordCost>().unwrap(), cost);
        }
        for text in ["", "heavy", "m=7,t=1", "m=64", "m=64,t=0", "m=99999999999,t=1"] {
            let error = text.parse::<PasswordCost>().unwrap_err().to_string();
            assert!(error.contains("try light"), "{error}");
        }
    }

    #[test]
    fn a_hash_matches_only_its_password() {
        let stored = PasswordCost::LIGHT.hash("password1", SALT).unwrap();
        assert!(stored.starts_with("$argon2id$v=19$m=64,t=1,p=1$"), "{stored}");
        let light = PasswordCost::LIGHT;
        assert_eq!(compare(light, "password1", &stored).unwrap(), PasswordCheck::Right);
        assert_eq!(compare(light, "password2", &stored).unwrap(), PasswordCheck::Wrong);
    }

    #[test]
    fn a_quick_hash_and_one_of_another_cost_are_replaced_at_login() {
        let other = PasswordCost::new(32, 2).unwrap();
        for stored in [quick_hash("password1", SALT), other.hash("password1", SALT).unwrap()] {
            let light = PasswordCost::LIGHT;
            assert_eq!(compare(light, "password2", &stored).unwrap(), PasswordCheck::Wrong);
            let PasswordCheck::RightRenew(new) = compare(light, "password1", &stored).unwrap()
            else {
                panic!("{stored} is not replaced");
            };
            assert_eq!(compare(light, "password1", &new).unwrap(), PasswordCheck::Right);
        }
    }

    #[tokio::test]
    async fn a_wrong_password_costs_as_much_as_an_unknown_user_however_it_is_stored() {
        let light = PasswordCost::LIGHT;
        // Quick hashes are computed on this thread, where they are counted.
        let hasher = Hasher::new(light, Duration::ZERO).unwrap();
        let stored = [None, Some(light.hash("p", SALT).unwrap()), Some(quick_hash("p", SALT))];
        for stored in stored {
            COMPUTED.take();
            let turn = hasher.turn().await;
            let verdict = turn.verify("wrong".into(), stored.clone()).await.unwrap();
            assert_eq!(verdict, PasswordCheck::Wrong);
            assert_eq!(COMPUTED.take(), [light], "{stored:?}");
        }
    }

    #[tokio::test]
    async fn the_password_of_the_dummy_hash_is_never_right() {
        for takes in [Duration::ZERO, INLINE] {
            let hasher = Hasher::new(PasswordCost::LIGHT, takes).unwrap();
            let turn = hasher.turn().await;
            let verdict = turn.verify("dummy password".into(), None).await.unwrap();
            assert_eq!(verdict, PasswordCheck::Wrong);
        }
    }
}
