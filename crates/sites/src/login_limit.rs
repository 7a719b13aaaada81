//! Limits failed logins, by the address that they come from and by the account
//! that they are for. Logins that succeed are never counted: a site is not
//! slower for a thousand customers behind one address.
//!
//! Three buckets of tokens bound a guesser, and a failure takes a token of each:
//! - address and account together, the smallest: one address guesses at one account;
//! - the address: one address guesses at many accounts;
//! - the account, the largest: many addresses guess at one account.
//!
//! A login is refused while one of its buckets is empty. The first bucket refills
//! more slowly than the third, so a single address cannot keep the third empty:
//! the owner, at another address, can always sign in.
//!
//! The buckets of all cores are one table of fixed size (1 MiB). A new bucket takes
//! the place of the one, of eight, that is nearest to being full. Each process has
//! a table of its own.
//!
//! Source of the arithmetic: the generic cell rate algorithm (ITU-T I.371). A
//! bucket is the time at which it will be full again.

use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use crate::web::client::network;

/// Buckets in the table, and those among which a new one takes a place.
const BUCKETS: usize = 1 << 16;
const WAYS: usize = 8;

/// Size and refill of a kind of bucket.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// Tokens in a full bucket.
    burst: u32,
    /// Time for one more token.
    refill: Duration,
}

const OF_PAIR: Limit = Limit { burst: 5, refill: Duration::from_secs(30) };
const OF_ADDRESS: Limit = Limit { burst: 30, refill: Duration::from_secs(5) };
const OF_ACCOUNT: Limit = Limit { burst: 60, refill: Duration::from_secs(5) };

/// The buckets of a site.
#[derive(Debug)]
pub struct LoginLimit {
    key: RandomState,
    begin: Instant,
    table: Mutex<Box<[Bucket]>>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    key: u64,
    /// When it is full again; zero for none.
    full_at: Duration,
}

/// A login, by its three buckets.
#[derive(Clone, Copy, Debug)]
pub struct Login {
    keys: [u64; 3],
}

const LIMITS: [Limit; 3] = [OF_PAIR, OF_ADDRESS, OF_ACCOUNT];

impl LoginLimit {
    /// All buckets full; no login is before `begin`.
    pub fn new(begin: Instant) -> Self {
        let table = vec![Bucket::default(); BUCKETS].into_boxed_slice();
        Self { key: RandomState::new(), begin, table: Mutex::new(table) }
    }

    /// A login to this account from this address. The addresses of an IPv6 network
    /// of 64 bits, which is what one customer has, count as one.
    pub fn login(&self, address: IpAddr, account: &str) -> Login {
        let address = network(address);
        let keys = [
            self.key.hash_one((0, address, account)),
            self.key.hash_one((1, address)),
            self.key.hash_one((2, account)),
        ];
        Login { keys }
    }

    /// Whether the password of a login may be looked at.
    ///
    /// # Errors
    /// Too many logins have failed: how long until the next one may be tried.
    pub fn check(&self, login: Login, now: Instant) -> Result<(), Duration> {
        let now = self.since_begin(now);
        let table = self.table.lock().expect("no panic under this lock");
        let wait = login.keys.iter().zip(LIMITS).map(|(&key, limit)| {
            let found = ways(&table, key).iter().find(|bucket| bucket.key == key);
            let full_at = found.map_or(Duration::ZERO, |bucket| bucket.full_at);
            // One token is there when all others are still to come.
            full_at.saturating_sub(now + limit.refill * (limit.burst - 1))
        });
        match wait.max().unwrap_or_default() {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    /// Counts a login that has failed.
    pub fn failed(&self, login: Login, now: Instant) {
        let now = self.since_begin(now);
        let mut table = self.table.lock().expect("no panic under this lock");
        for (&key, limit) in login.keys.iter().zip(LIMITS) {
            let first = first_way(key);
            let ways = &mut table[first..first + WAYS];
            let place = ways.iter().position(|bucket| bucket.key == key).unwrap_or_else(|| {
                let fullest = ways.iter().enumerate().min_by_key(|(_, bucket)| bucket.full_at);
                fullest.expect("there are several").0
            });
            let bucket = &mut ways[place];
            let full_at = if bucket.key == key { bucket.full_at.max(now) } else { now };
            // Several that were checked at once may fail: the bucket owes at most one.
            let most = now + limit.refill * (limit.burst + 1);
            *bucket = Bucket { key, full_at: (full_at + limit.refill).min(most) };
        }
    }

    /// Fills the bucket of this address and account again: the owner has signed in.
    pub fn succeeded(&self, login: Login) {
        let key = login.keys[0];
        let first = first_way(key);
        let mut table = self.table.lock().expect("no panic under this lock");
        for bucket in table[first..first + WAYS].iter_mut().filter(|bucket| bucket.key == key) {
            *bucket = Bucket::default();
        }
    }

    fn since_begin(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begin)
    }
}

fn first_way(key: u64) -> usize {
    // The low bits choose; the whole key is compared.
    usize::try_from(key % (BUCKETS / WAYS) as u64).expect("within the table") * WAYS
}

fn ways(table: &[Bucket], key: u64) -> &[Bucket] {
    let first = first_way(key);
    &table[first..first + WAYS]
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWNER: &str = "10.0.0.1";
    const GUESSER: &str = "10.0.0.2";

    /// Tries `times` logins with a wrong password, `apart` from each other, and
    /// returns how many were looked at.
    fn guess(
        limit: &LoginLimit,
        from: &str,
        account: impl Fn(u32) -> String,
        times: u32,
        apart: Duration,
    ) -> u32 {
        let mut looked_at = 0;
        for number in 0..times {
            let now = limit.begin + apart * number;
            let login = limit.login(from.parse().unwrap(), &account(number));
            if limit.check(login, now).is_ok() {
                limit.failed(login, now);
                looked_at += 1;
            }
        }
        looked_at
    }

    fn new() -> LoginLimit {
        LoginLimit::new(Instant::now())
    }

    #[test]
    fn one_address_has_five_guesses_at_an_account_and_two_more_each_minute() {
        let limit = new();
        let second = Duration::from_secs(1);
        assert_eq!(guess(&limit, GUESSER, |_| "ann".into(), 601, second), 5 + 10 * 2);
        // At once: the wait is told exactly.
        let limit = new();
        assert_eq!(guess(&limit, GUESSER, |_| "ann".into(), 100, Duration::ZERO), 5);
        let login = limit.login(GUESSER.parse().unwrap(), "ann");
        assert_eq!(limit.check(login, limit.begin), Err(OF_PAIR.refill));
        assert_eq!(limit.check(login, limit.begin + OF_PAIR.refill), Ok(()));
    }

    #[test]
    fn one_address_has_thirty_guesses_at_any_accounts_and_twelve_more_each_minute() {
        let limit = new();
        let each = |number: u32| format!("user{number}");
        assert_eq!(guess(&limit, GUESSER, each, 601, Duration::from_secs(1)), 30 + 10 * 12);
    }

    #[test]
    fn a_guesser_at_one_address_never_keeps_the_owner_out() {
        let limit = new();
        for second in 0..24 * 3600 {
            let now = limit.begin + Duration::from_secs(second);
            let guess = limit.login(GUESSER.parse().unwrap(), "ann");
            if limit.check(guess, now).is_ok() {
                limit.failed(guess, now);
            }
            let own = limit.login(OWNER.parse().unwrap(), "ann");
            assert_eq!(limit.check(own, now), Ok(()), "after {second} s");
        }
    }

    #[test]
    fn many_addresses_are_stopped_at_the_account() {
        let limit = new();
        let mut looked_at = 0;
        for number in 0..200 {
            looked_at +=
                guess(&limit, &format!("10.1.0.{number}"), |_| "ann".into(), 4, Duration::ZERO);
        }
        assert_eq!(looked_at, 60);
        let own = limit.login(OWNER.parse().unwrap(), "ann");
        // Not for long, though.
        assert_eq!(limit.check(own, limit.begin), Err(OF_ACCOUNT.refill));
        assert_eq!(limit.check(limit.login(OWNER.parse().unwrap(), "bob"), limit.begin), Ok(()));
    }

    #[test]
    fn a_login_that_succeeds_forgives_the_failures_before() {
        let limit = new();
        for _ in 0..10 {
            assert_eq!(guess(&limit, OWNER, |_| "ann".into(), 3, Duration::ZERO), 3);
            let login = limit.login(OWNER.parse().unwrap(), "ann");
            limit.succeeded(login);
        }
        // Those of the address are kept, or a guesser would sign in between.
        assert_eq!(guess(&limit, OWNER, |_| "bob".into(), 1, Duration::ZERO), 0);
    }

    #[test]
    fn logins_that_were_looked_at_together_lock_nobody_out_for_longer() {
        let limit = new();
        let login = limit.login(GUESSER.parse().unwrap(), "ann");
        for _ in 0..1000 {
            limit.failed(login, limit.begin);
        }
        assert!(limit.check(login, limit.begin).unwrap_err() <= 2 * OF_PAIR.refill);
    }

    #[test]
    fn an_ipv6_network_counts_as_one_address_and_a_mapped_one_as_ipv4() {
        let limit = new();
        let keys = |address: &str| limit.login(address.parse().unwrap(), "ann").keys;
        assert_eq!(keys("2001:db8:0:1::1"), keys("2001:db8:0:1:ffff::2"));
        assert_ne!(keys("2001:db8:0:1::1"), keys("2001:db8:0:2::1"));
        assert_eq!(keys("::ffff:10.0.0.2"), keys(GUESSER));
    }

    #[test]
    fn strangers_do_not_push_an_empty_bucket_out_of_the_table() {
        let limit = new();
        assert_eq!(guess(&limit, GUESSER, |_| "ann".into(), 9, Duration::ZERO), 5);
        for number in 0..200_000_u32 {
            let address = IpAddr::from((number + 0x0b00_0000).to_be_bytes());
            limit.failed(limit.login(address, &format!("user{number}")), limit.begin);
        }
        assert_eq!(guess(&limit, GUESSER, |_| "ann".into(), 1, Duration::ZERO), 0);
    }
}
