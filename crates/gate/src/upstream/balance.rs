//! An upstream on one core: the servers that it has, and which one gets a request.
//!
//! Each core chooses by the requests that it has with each server itself: cores share no counter.
//! So the requests of one core are spread evenly, and with them those of all.
//!
//! Source: Mitzenmacher 2001, "The Power of Two Choices in Randomized Load Balancing".

use crate::config::{self, Pool as Configured};
use crate::context::CoreContext;
use crate::http::forwarding::Forwarding;
use crate::telemetry::counters::Counters;
use crate::upstream::connector::Connector;
use crate::upstream::health::{MemberHealth, PoolCounts, UpstreamHealth};
use crate::upstream::pool::{Bounds, Pool, Slot};
use crate::upstream::queue::{Queue, Turn};
use crate::upstream::standing::FULL_SHARE;
use std::cell::{Cell, RefCell};
use std::hash::{BuildHasher, RandomState};
use std::rc::Rc;
use std::sync::Arc;

/// A service behind the gate.
pub struct Upstream {
    config: config::Upstream,
    /// How to connect to each of its URLs.
    connectors: Vec<Connector>,
    /// The servers as they were last taken over.
    known: RefCell<Arc<Vec<Arc<MemberHealth>>>>,
    /// The pool of each server; never empty.
    members: RefCell<Vec<Rc<Pool>>>,
    queue: Rc<Queue>,
    queue_most: usize,
    bounds: Bounds,
    /// How its requests name the customer.
    pub forwarding: Forwarding,
    /// Whether its responses tell its load.
    pub reports_load: bool,
    health: Arc<UpstreamHealth>,
    core: usize,
    counters: Arc<Counters>,
    random: Random,
}

/// Why a request gets no connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Busy {
    /// The queue is full.
    Full,
    /// It waited as long as it may.
    Late,
}

impl Upstream {
    /// Without a connection. The connectors are those of its URLs.
    pub fn new(
        context: &CoreContext,
        pool: &Configured<'_>,
        connectors: &[Connector],
        health: Arc<UpstreamHealth>,
    ) -> Self {
        let upstream = pool.upstream;
        let part = |limit| match limit {
            0 => u64::MAX,
            limit => context.part_of(limit) as u64,
        };
        Self {
            config: upstream.clone(),
            connectors: connectors.to_vec(),
            known: RefCell::default(),
            members: RefCell::default(),
            queue: Rc::default(),
            queue_most: match upstream.queue_time.is_zero() || upstream.queue_length == 0 {
                true => 0,
                false => context.part_of(upstream.queue_length),
            },
            bounds: Bounds {
                in_use: part(upstream.max_connections),
                idle: upstream.pool_size,
                idle_timeout: upstream.idle_timeout,
            },
            forwarding: Forwarding::of(upstream),
            reports_load: upstream.load_from == config::LoadFrom::Orca,
            health,
            core: context.core,
            counters: context.counters.clone(),
            random: Random::new(),
        }
    }

    /// Whether it is of this configuration and health.
    pub fn is(&self, pool: &Configured<'_>, health: &Arc<UpstreamHealth>) -> bool {
        self.config == *pool.upstream && Arc::ptr_eq(&self.health, health)
    }

    /// Whether it is of this health, by whatever configuration.
    pub fn is_of(&self, health: &Arc<UpstreamHealth>) -> bool {
        Arc::ptr_eq(&self.health, health)
    }

    /// Takes over who waits in another configuration of the same upstream, and its connections to
    /// servers that stay if they are made in the same way.
    pub fn take_over(&mut self, former: &Self) {
        self.queue = former.queue.clone();
        let same = |config: &config::Upstream| {
            let config = config.clone();
            (config.connect_timeout, config.ca, config.insecure)
        };
        if same(&self.config) == same(&former.config) {
            self.members = former.members.clone();
            self.members.get_mut().iter().for_each(|member| member.set_bounds(self.bounds));
        }
        self.refresh();
    }

    /// Takes over the servers that are known now, if they are others; connections to those that
    /// are gone end with their requests.
    pub fn refresh(&self) {
        let known = self.health.members();
        if Arc::ptr_eq(&known, &self.known.borrow()) && !self.members.borrow().is_empty() {
            return;
        }
        let former = self.members.take();
        let member = |health: &Arc<MemberHealth>| {
            let at = self.config.url.iter().position(|url| *url == health.url)?;
            let same = former.iter().find(|pool| Arc::ptr_eq(&pool.health, health));
            Some(same.cloned().unwrap_or_else(|| {
                let connector = self.connectors[at].clone();
                let connector = health.address.map(|to| connector.at(to)).unwrap_or(connector);
                let (health, queue) = ((health.clone(), self.core), self.queue.clone());
                Pool::new(connector, health, self.bounds, queue, self.counters.clone())
            }))
        };
        let mut members: Vec<_> = known.iter().filter_map(member).collect();
        if members.is_empty() {
            // Another configuration is in force already, of which this core learns soon.
            members = former.clone();
        }
        let is_gone = |pool: &&Rc<Pool>| !members.iter().any(|member| Rc::ptr_eq(member, pool));
        former.iter().filter(is_gone).for_each(|pool| pool.retire());
        self.members.replace(members);
        self.known.replace(known);
        self.queue.wake_first();
    }

    /// What it is called, if it is not that of `[upstream]`.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.health.name.as_ref()
    }

    /// What this core counts of it.
    pub fn counts(&self) -> &PoolCounts {
        self.health.counts(self.core)
    }

    /// Takes a place for a request at once, if nobody waits for one.
    pub fn slot(&self) -> Option<Slot> {
        self.queue.is_empty().then(|| self.choose(None)).flatten()
    }

    /// Takes a place for a request that a server failed, at another one that has one at once.
    pub fn slot_beside(&self, failed: &Rc<Pool>) -> Option<Slot> {
        self.choose(Some(failed))
    }

    /// Waits for a place, behind those who wait already.
    ///
    /// # Errors
    /// The queue is full, or the place did not come in time.
    pub async fn wait_for_slot(&self) -> Result<Slot, Busy> {
        let counts = self.counts();
        if self.queue.len() >= self.queue_most {
            counts.queue_full.add(1);
            return Err(Busy::Full);
        }
        let waiting = Waiting::new(counts);
        let turn = Turn::new(self.queue.clone(), || self.choose(None));
        let slot = tokio::time::timeout(self.config.queue_time, turn).await;
        drop(waiting);
        match slot {
            Ok(slot) => {
                counts.waited.add(1);
                Ok(slot)
            }
            Err(_) => {
                counts.queue_late.add(1);
                Err(Busy::Late)
            }
        }
    }

    /// Of two servers with a place, drawn at random, the one with fewer requests of this core.
    /// Servers that are down or taken out are left out, unless all are.
    fn choose(&self, failed: Option<&Rc<Pool>>) -> Option<Slot> {
        let members = self.members.borrow();
        if let [only] = &members[..] {
            return failed.is_none().then(|| only.slot()).flatten();
        }
        let any_up = members.iter().any(|member| member.health.share() > 0);
        let fits = |member: &&Rc<Pool>| {
            member.has_room()
                && (!any_up || member.health.share() > 0)
                && failed.is_none_or(|failed| !Rc::ptr_eq(failed, member))
        };
        let count = members.iter().filter(fits).count();
        let nth = |nth| members.iter().filter(fits).nth(nth);
        if count < 2 {
            return nth(0)?.slot();
        }
        let one = self.random.below(count);
        let other = (one + 1 + self.random.below(count - 1)) % count;
        let (one, other) = (nth(one)?, nth(other)?);
        let load = |member: &Rc<Pool>| member.counts().in_use.get();
        let (less, more) = if load(other) < load(one) { (other, one) } else { (one, other) };
        // A server that has just returned gets a part of what it would.
        let passes = self.random.below(FULL_SHARE as usize) < less.health.share() as usize;
        if passes || !any_up { less.slot() } else { more.slot() }
    }

    /// Takes over other servers, and frees the pools of stale connections; call it about once a
    /// second.
    pub fn sweep(&self) {
        self.refresh();
        self.queue.wake_first();
        self.members.borrow().iter().for_each(|pool| pool.sweep());
    }

    /// Retires its pools, but for those that one of these has too: see [`Pool::retire`].
    pub fn retire_but(&self, others: &[Rc<Self>]) {
        let stays = |pool: &Rc<Pool>| {
            let has =
                |other: &Rc<Self>| other.members.borrow().iter().any(|its| Rc::ptr_eq(its, pool));
            others.iter().any(has)
        };
        self.members.borrow().iter().filter(|pool| !stays(pool)).for_each(|pool| pool.retire());
    }
}

/// One that waits, as counted.
struct Waiting<'c>(&'c PoolCounts);

impl<'c> Waiting<'c> {
    fn new(counts: &'c PoolCounts) -> Self {
        counts.waiting.add(1);
        Self(counts)
    }
}

impl Drop for Waiting<'_> {
    fn drop(&mut self) {
        self.0.waiting.sub(1);
    }
}

/// Numbers that only have to differ.
///
/// Source: Marsaglia 2003, "Xorshift RNGs", with the shifts 13, 7 and 17.
struct Random(Cell<u64>);

impl Random {
    fn new() -> Self {
        Self(Cell::new(RandomState::new().hash_one(0) | 1))
    }

    /// A number below another, which is above 0 and small.
    fn below(&self, bound: usize) -> usize {
        let mut next = self.0.get();
        next ^= next << 13;
        next ^= next >> 7;
        next ^= next << 17;
        self.0.set(next);
        ((next >> 32) as usize) % bound
    }
}
