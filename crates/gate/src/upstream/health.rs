//! What the gate knows of its upstreams: which servers each has, whether they can be reached,
//! and how they failed requests.
//!
//! Cores count what they see of a server, each in counters of its own; the watch alone decides
//! what share of the requests it gets, and cores read that.

use crate::config::{Config, Origin, Pool};
use crate::telemetry::counters::Count;
use crate::telemetry::troubles::{Subject, Troubles, UpstreamFailure};
use crate::upstream::standing::{FULL_SHARE, Standing};
use arc_swap::ArcSwap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicI32, AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What is known of all upstreams.
#[derive(Debug)]
pub struct Upstreams {
    /// In the order of [`Config::pools`].
    known: ArcSwap<Vec<Arc<UpstreamHealth>>>,
    cores: usize,
    failures: Mutex<Vec<UpstreamFailure>>,
    /// Attempts of the gate itself that failed.
    pub troubles: Troubles,
}

impl Upstreams {
    /// Those of a configuration, for so many cores.
    pub fn new(config: &Config, cores: usize) -> Self {
        let new = Self {
            known: ArcSwap::default(),
            cores,
            failures: Mutex::default(),
            troubles: Troubles::default(),
        };
        new.renew(config);
        new
    }

    /// Those of another configuration. What is known of an upstream of the same name stays, and of
    /// its servers what is known of those with the same URL.
    pub fn renew(&self, config: &Config) {
        let former = self.all();
        let renewed = config.pools().into_iter().map(|pool| {
            let known = former.iter().find(|known| known.is(&pool)).cloned();
            let health = known.unwrap_or_else(|| Arc::new(UpstreamHealth::new(&pool, self.cores)));
            health.renew(&pool);
            health
        });
        self.known.store(Arc::new(renewed.collect()));
    }

    /// All, in the order of [`Config::pools`].
    pub fn all(&self) -> Arc<Vec<Arc<UpstreamHealth>>> {
        self.known.load_full()
    }

    /// That of an upstream. A configuration that is no longer in force may name others, of which
    /// nobody asks.
    pub fn of(&self, pool: &Pool<'_>) -> Arc<UpstreamHealth> {
        let known = self.all();
        let found = known.iter().find(|known| known.is(pool));
        found.cloned().unwrap_or_else(|| {
            let health = UpstreamHealth::new(pool, self.cores);
            health.renew(pool);
            Arc::new(health)
        })
    }

    /// Causes for which they failed requests in the last minute.
    pub fn failures(&self) -> Vec<UpstreamFailure> {
        lock(&self.failures).clone()
    }

    /// Sets these causes.
    pub fn set_failures(&self, failures: Vec<UpstreamFailure>) {
        *lock(&self.failures) = failures;
    }
}

/// What is known of one upstream.
#[derive(Debug)]
pub struct UpstreamHealth {
    /// Its name, or the URLs of a route; none of `[upstream]`.
    pub name: Option<Arc<str>>,
    members: ArcSwap<Vec<Arc<MemberHealth>>>,
    /// What is counted of it, by core.
    cores: Box<[PoolCounts]>,
}

/// What one core counts of an upstream.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct PoolCounts {
    /// Requests that wait for a connection.
    pub waiting: Count,
    /// Requests that waited and got one.
    pub waited: Count,
    /// Requests that found the queue full.
    pub queue_full: Count,
    /// Requests that waited too long.
    pub queue_late: Count,
    /// Requests that were sent to a second server.
    pub retries: Count,
}

impl UpstreamHealth {
    fn new(pool: &Pool<'_>, cores: usize) -> Self {
        Self {
            name: pool.name.as_deref().map(Arc::from),
            members: ArcSwap::default(),
            cores: (0..cores).map(|_| PoolCounts::default()).collect(),
        }
    }

    fn is(&self, pool: &Pool<'_>) -> bool {
        self.name.as_deref() == pool.name.as_deref()
    }

    /// Takes the servers of a configuration.
    fn renew(&self, pool: &Pool<'_>) {
        let resolves = !pool.upstream.resolve_interval.is_zero();
        let former = self.members();
        let addresses = |url: &Origin| -> Vec<Option<SocketAddr>> {
            let of_url = former.iter().filter(|member| member.url == *url);
            let known: Vec<_> = of_url.map(|member| member.address).collect();
            match known.is_empty() || !resolves {
                true => vec![None],
                false => known,
            }
        };
        let members = pool.upstream.url.iter();
        let members = members.flat_map(|url| addresses(url).into_iter().map(move |at| (url, at)));
        self.set_members(members);
    }

    /// Sets the servers and the addresses to which their names resolved. What is known of one that
    /// stays is kept.
    pub fn set_members<'a>(&self, members: impl Iterator<Item = (&'a Origin, Option<SocketAddr>)>) {
        let former = self.members();
        let same = |url: &Origin, address| {
            former.iter().find(|member| member.url == *url && member.address == address).cloned()
        };
        let new = |url: &Origin, address| {
            Arc::new(MemberHealth::new(url.clone(), address, self.cores.len()))
        };
        let members =
            members.map(|(url, at)| same(url, at).unwrap_or_else(|| new(url, at))).collect();
        self.members.store(Arc::new(members));
    }

    /// Its servers.
    pub fn members(&self) -> Arc<Vec<Arc<MemberHealth>>> {
        self.members.load_full()
    }

    /// What one core counts; only its thread may add.
    pub fn counts(&self, core: usize) -> &PoolCounts {
        &self.cores[core]
    }

    /// The sum of a count over the cores.
    pub fn sum(&self, of: fn(&PoolCounts) -> &Count) -> u64 {
        self.cores.iter().map(|core| of(core).get()).sum()
    }

    /// Why none of its servers can be reached; none where one can, or where that is not known.
    pub fn problem(&self) -> Option<String> {
        let members = self.members();
        let mut problems = members.iter().map(|member| member.problem());
        let first = problems.next()??;
        problems.all(|problem| problem.is_some()).then_some(first)
    }

    /// What it is called in messages.
    pub fn subject(&self) -> Subject {
        Subject::Upstream(self.name.clone())
    }
}

/// What is known of one server of an upstream.
#[derive(Debug)]
pub struct MemberHealth {
    /// Its URL.
    pub url: Origin,
    /// The address to which its host's name resolved, where it is resolved at an interval.
    pub address: Option<SocketAddr>,
    problem: Mutex<Option<String>>,
    share: AtomicU32,
    /// Checks that were good in a row up to now; negative: that failed.
    checks: AtomicI32,
    standing: Mutex<Standing>,
    /// How often it was taken out.
    pub ejections: AtomicU64,
    /// What is counted of it, by core.
    cores: Box<[MemberCounts]>,
}

/// What one core counts of a server.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct MemberCounts {
    /// Connections in use, those that are being opened included: requests that are with it.
    pub in_use: Count,
    /// Responses of which it sent the head.
    pub responses: Count,
    /// Those of them with a status of 500 or above.
    pub server_errors: Count,
    /// Requests that it failed: it refused the connection, did not answer in time or broke off.
    pub failures: Count,
    /// Why, of the last one. The lock is contended by the watch alone.
    last_failure: Mutex<String>,
}

impl MemberCounts {
    /// Counts a failed request.
    pub fn failed(&self, why: &str) {
        self.failures.add(1);
        why.clone_into(&mut lock(&self.last_failure));
    }

    /// Counts a response with this status.
    pub fn responded(&self, status: u16) {
        self.responses.add(1);
        if status >= 500 {
            self.server_errors.add(1);
        }
    }
}

impl MemberHealth {
    fn new(url: Origin, address: Option<SocketAddr>, cores: usize) -> Self {
        Self {
            url,
            address,
            problem: Mutex::default(),
            share: AtomicU32::new(FULL_SHARE),
            checks: AtomicI32::default(),
            standing: Mutex::default(),
            ejections: AtomicU64::default(),
            cores: (0..cores).map(|_| MemberCounts::default()).collect(),
        }
    }

    /// Its URL, and the address to which its host's name resolved.
    pub fn name(&self) -> String {
        match self.address {
            Some(address) => format!("{} ({})", self.url, address.ip()),
            None => self.url.to_string(),
        }
    }

    /// Why its last check failed; none where that was good, or where it is not checked.
    pub fn problem(&self) -> Option<String> {
        lock(&self.problem).clone()
    }

    /// Sets what its check found: why it failed, or nothing. Returns what was known before.
    pub fn checked(&self, problem: Option<String>) -> Option<String> {
        let run = self.checks.load(Relaxed);
        let run = match problem {
            None => run.max(0).saturating_add(1),
            Some(_) => run.min(0).saturating_sub(1),
        };
        self.checks.store(run, Relaxed);
        std::mem::replace(&mut *lock(&self.problem), problem)
    }

    /// It is not checked any more.
    pub fn unchecked(&self) {
        self.checks.store(0, Relaxed);
        *lock(&self.problem) = None;
    }

    /// Checks that were good in a row up to now; negative: that failed; 0 if it is not checked.
    pub fn checks(&self) -> i32 {
        self.checks.load(Relaxed)
    }

    /// How it stands; for the watch alone.
    pub fn standing(&self) -> MutexGuard<'_, Standing> {
        lock(&self.standing)
    }

    /// Its share of the requests, in thousandths of that of a server in full use; 0 if it gets
    /// none while another does.
    pub fn share(&self) -> u32 {
        self.share.load(Relaxed)
    }

    /// Sets its share; only the watch may.
    pub fn set_share(&self, share: u32) {
        self.share.store(share, Relaxed);
    }

    /// What one core counts; only its thread may add.
    pub fn counts(&self, core: usize) -> &MemberCounts {
        &self.cores[core]
    }

    /// The sum of a count over the cores.
    pub fn sum(&self, of: fn(&MemberCounts) -> &Count) -> u64 {
        self.cores.iter().map(|core| of(core).get()).sum()
    }

    /// Why it last failed a request, of any core; empty if it never did.
    pub fn last_failure(&self) -> String {
        let told = |core: &MemberCounts| Some(lock(&core.last_failure).clone());
        self.cores.iter().filter_map(told).find(|why| !why.is_empty()).unwrap_or_default()
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
