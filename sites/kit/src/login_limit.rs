//! Limits guesses of passwords, by the address that they come from and by the account
//! that they are for. Logins that succeed are not counted: a site is not slower for a
//! thousand customers behind one address.
//!
//! Three buckets of tokens bound a guesser, and a wrong password takes a token of each:
//! - address and account together, the smallest: one address guesses at one account;
//! - the address: one address guesses at many accounts;
//! - the account, the largest: many addresses guess at one account.
//!
//! A password is compared only after its tokens were taken, and they are given back unless
//! it was wrong: guesses that are sent at once find as few tokens as one after the other. A
//! login is refused while one of its buckets is empty. Where only logins that are being
//! compared have emptied it, it waits for them, since they may give their tokens back.
//!
//! The first bucket refills more slowly than the third, so a single address cannot keep the
//! third empty: the owner, at another address, can always sign in.
//!
//! The buckets of all cores are one table of fixed size (2 MiB). A new bucket takes
//! the place of the one, of eight, that is nearest to being full. Each process has
//! a table of its own.
//!
//! Source of the arithmetic: the generic cell rate algorithm (ITU-T I.371). A
//! bucket is the time at which it will be full again.

use crate::problem::Problem;
use std::hash::{BuildHasher as _, RandomState};
use std::net::IpAddr;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use tokio::sync::Notify;

use crate::server::network;

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
    /// Told whenever a comparison has ended.
    compared: Notify,
}

#[derive(Clone, Copy, Debug, Default)]
struct Bucket {
    key: u64,
    /// When it is full again; zero for none.
    full_at: Duration,
    /// Tokens that were taken for comparisons under way.
    comparing: u32,
}

impl Bucket {
    /// How long until a token is there; `without` those taken for comparisons under way, if
    /// all of them are given back.
    fn wait(&self, limit: Limit, now: Duration, without: bool) -> Duration {
        let back = if without { limit.refill * self.comparing } else { Duration::ZERO };
        // One token is there when all others are still to come.
        self.full_at.saturating_sub(back).saturating_sub(now + limit.refill * (limit.burst - 1))
    }
}

/// A login, by its three buckets.
#[derive(Clone, Copy, Debug)]
pub struct Login {
    keys: [u64; 3],
}

const LIMITS: [Limit; 3] = [OF_PAIR, OF_ADDRESS, OF_ACCOUNT];

/// A guess whose password is being compared. Dropped, it gives its tokens back.
#[derive(Debug)]
#[must_use]
pub struct Guess<'a> {
    limit: &'a LoginLimit,
    login: Login,
    outcome: Outcome,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Unknown,
    Right,
    Wrong,
}

impl Guess<'_> {
    /// The password was wrong: the guess counts.
    pub fn wrong(mut self) {
        self.outcome = Outcome::Wrong;
    }

    /// The password was right. Fills the bucket of this address and account again: the owner
    /// has signed in.
    pub fn right(mut self) {
        self.outcome = Outcome::Right;
    }
}

impl Drop for Guess<'_> {
    fn drop(&mut self) {
        self.limit.end(self.login, self.outcome);
    }
}

/// Why a password may not be compared now.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Denied {
    /// Too many were wrong: how long until the next one may be tried.
    Empty(Duration),
    /// Others are being compared that may leave a token.
    Busy,
}

impl LoginLimit {
    /// All buckets full; no login is before `begin`.
    pub fn new(begin: Instant) -> Self {
        let table = vec![Bucket::default(); BUCKETS].into_boxed_slice();
        let (key, compared) = (RandomState::new(), Notify::new());
        Self { key, begin, table: Mutex::new(table), compared }
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

    /// Whether the password of a login may be compared, as far as is known now: a first look,
    /// before costlier ones. It takes no tokens.
    ///
    /// # Errors
    /// Too many were wrong: how long until the next one may be tried.
    pub fn check(&self, login: Login, now: Instant) -> Result<(), Duration> {
        let now = self.since_begin(now);
        let table = self.table.lock().expect("no panic under this lock");
        match longest_wait(&table, login, now, true) {
            Duration::ZERO => Ok(()),
            wait => Err(wait),
        }
    }

    /// Takes the tokens of a login whose password is compared next. Waits for comparisons
    /// under way where these may give back the token that is missing.
    ///
    /// # Errors
    /// Too many were wrong: how long until the next one may be tried.
    pub async fn guess(&self, login: Login) -> Result<Guess<'_>, Duration> {
        loop {
            // It is told of what ends from here on.
            let compared = self.compared.notified();
            match self.take(login, Instant::now()) {
                Ok(guess) => return Ok(guess),
                Err(Denied::Empty(wait)) => return Err(wait),
                Err(Denied::Busy) => compared.await,
            }
        }
    }

    /// Counts a guess that is known to be wrong.
    ///
    /// # Errors
    /// Too many were wrong before: how long until the next one may be tried.
    pub fn count(&self, login: Login, now: Instant) -> Result<(), Duration> {
        match self.take(login, now) {
            Ok(guess) => {
                guess.wrong();
                Ok(())
            }
            Err(Denied::Empty(wait)) => Err(wait),
            Err(Denied::Busy) => Err(OF_PAIR.refill),
        }
    }

    fn take(&self, login: Login, now: Instant) -> Result<Guess<'_>, Denied> {
        let now = self.since_begin(now);
        let mut table = self.table.lock().expect("no panic under this lock");
        match longest_wait(&table, login, now, true) {
            Duration::ZERO => {}
            wait => return Err(Denied::Empty(wait)),
        }
        if !longest_wait(&table, login, now, false).is_zero() {
            return Err(Denied::Busy);
        }
        for (&key, limit) in login.keys.iter().zip(LIMITS) {
            let first = first_way(key);
            let ways = &mut table[first..first + WAYS];
            let place = ways.iter().position(|bucket| bucket.key == key).unwrap_or_else(|| {
                let fullest =
                    ways.iter().enumerate().min_by_key(|(_, it)| (it.comparing > 0, it.full_at));
                fullest.expect("there are several").0
            });
            let bucket = &mut ways[place];
            if bucket.key != key {
                *bucket = Bucket { key, ..Bucket::default() };
            }
            bucket.full_at = bucket.full_at.max(now) + limit.refill;
            bucket.comparing += 1;
        }
        Ok(Guess { limit: self, login, outcome: Outcome::Unknown })
    }

    fn end(&self, login: Login, outcome: Outcome) {
        let mut table = self.table.lock().expect("no panic under this lock");
        for (kind, (&key, limit)) in login.keys.iter().zip(LIMITS).enumerate() {
            let first = first_way(key);
            let mut ways = table[first..first + WAYS].iter_mut();
            // Another may have taken its place meanwhile.
            let Some(bucket) = ways.find(|bucket| bucket.key == key) else { continue };
            bucket.comparing = bucket.comparing.saturating_sub(1);
            bucket.full_at = match outcome {
                Outcome::Wrong => bucket.full_at,
                Outcome::Right if kind == 0 && bucket.comparing == 0 => Duration::ZERO,
                Outcome::Right | Outcome::Unknown => bucket.full_at.saturating_sub(limit.refill),
            };
        }
        drop(table);
        self.compared.notify_waiters();
    }

    fn since_begin(&self, now: Instant) -> Duration {
        now.saturating_duration_since(self.begin)
    }
}

fn first_way(key: u64) -> usize {
    // The low bits choose; the whole key is compared.
    usize::try_from(key % (BUCKETS / WAYS) as u64).expect("within the table") * WAYS
}

/// The longest wait for a token of a login; see [`Bucket::wait`].
fn longest_wait(table: &[Bucket], login: Login, now: Duration, without: bool) -> Duration {
    let wait = login.keys.iter().zip(LIMITS).map(|(&key, limit)| {
        let first = first_way(key);
        let found = table[first..first + WAYS].iter().find(|bucket| bucket.key == key);
        found.map_or(Duration::ZERO, |bucket| bucket.wait(limit, now, without))
    });
    wait.max().unwrap_or_default()
}

/// The refusal of a login after too many have failed. It does not say whether the password
/// would have been right. `then` is what to do after the wait.
pub fn too_many(wait: Duration, then: &str) -> Problem {
    let problem = Problem::new(
        429,
        "Too many attempts to sign in",
        "Too many of them have failed, from your address or for this account.",
        "",
    );
    let problem = problem.retry_after(wait.max(Duration::from_secs(1)));
    let seconds = problem.retry_after_s.unwrap_or_default();
    let unit = if seconds == 1 { "second" } else { "seconds" };
    Problem { remedy: format!("Wait {seconds} {unit}, then {then}."), ..problem }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

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
            if limit.count(login, now).is_ok() {
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
            let _ = limit.count(guess, now);
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
        for _ in 0..9 {
            assert_eq!(guess(&limit, OWNER, |_| "ann".into(), 3, Duration::ZERO), 3);
            let login = limit.login(OWNER.parse().unwrap(), "ann");
            limit.take(login, limit.begin).unwrap().right();
        }
        // Those of the address are kept, or a guesser would sign in between.
        assert_eq!(guess(&limit, OWNER, |_| "bob".into(), 4, Duration::ZERO), 3);
    }

    #[test]
    fn guesses_that_are_made_at_once_find_as_few_tokens_as_one_after_the_other() {
        let limit = new();
        let login = limit.login(GUESSER.parse().unwrap(), "ann");
        let at = |now| {
            let made: Vec<_> = (0..40).map(|_| limit.take(login, now)).collect();
            let compared = made.iter().filter(|guess| guess.is_ok()).count();
            let busy = made.iter().filter(|guess| matches!(guess, Err(Denied::Busy))).count();
            made.into_iter().flatten().for_each(Guess::wrong);
            (compared, busy)
        };
        assert_eq!(at(limit.begin), (5, 35), "the others might have given their tokens back");
        assert_eq!(at(limit.begin), (0, 0));
        assert_eq!(at(limit.begin + OF_PAIR.refill), (1, 39));
        assert_eq!(at(limit.begin + 2 * OF_PAIR.refill), (1, 39));
        assert_eq!(limit.check(login, limit.begin + 2 * OF_PAIR.refill), Err(OF_PAIR.refill));
    }

    #[test]
    fn a_guess_without_a_result_gives_its_tokens_back() {
        let limit = new();
        for account in 0..100 {
            let login = limit.login(OWNER.parse().unwrap(), &account.to_string());
            drop(limit.take(login, limit.begin).unwrap());
            limit.take(login, limit.begin).unwrap().right();
        }
        assert_eq!(guess(&limit, OWNER, |n| n.to_string(), 40, Duration::ZERO), 30);
    }

    #[tokio::test]
    async fn right_passwords_of_many_behind_one_address_wait_for_each_other() {
        let limit = Arc::new(new());
        let mut all = tokio::task::JoinSet::new();
        for number in 0..200 {
            let limit = Arc::clone(&limit);
            all.spawn(async move {
                let login = limit.login(OWNER.parse().unwrap(), &format!("user{number}"));
                let guess = limit.guess(login).await.unwrap();
                tokio::task::yield_now().await;
                guess.right();
            });
        }
        tokio::time::timeout(Duration::from_secs(20), all.join_all()).await.unwrap();
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
            let _ = limit.count(limit.login(address, &format!("user{number}")), limit.begin);
        }
        assert_eq!(guess(&limit, GUESSER, |_| "ann".into(), 1, Duration::ZERO), 0);
    }
}
