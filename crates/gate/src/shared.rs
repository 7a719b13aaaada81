//! The state that the cores and the control loop of a gate share.

use crate::access_log::AccessLog;
use crate::admission::companions::Companions;
use crate::admission::joined::Joined;
use crate::admission::turns::Turns;
use crate::config::{Config, Refusal};
use crate::fleet::state::FleetState;
use crate::passage::SharedPassage;
use crate::reload::ReloadCounts;
use crate::room_clock::RoomClock;
use crate::telemetry::clock;
use crate::telemetry::counters::{Count, Counters, Totals};
use crate::telemetry::history::SharedHistory;
use crate::telemetry::labels::Bucket;
use crate::telemetry::route_counts::RouteTable;
use crate::telemetry::usage::{Note, Used};
use crate::upstream::health::Upstreams;
use arc_swap::ArcSwap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tidegate_control::waiting_room::{Doors, Order, WaitingRoom};
use tidegate_control::{Controller, Settings};

/// Two readings of clocks that are so close are of the same time.
const TOGETHER: Duration = Duration::from_millis(1);
/// So often they are read again where they are not, at most.
const READINGS: usize = 20;

/// State read by more than one thread of a gate.
#[derive(Debug)]
pub struct Shared {
    /// The kernel's numbers of the processors that the cores are pinned to.
    pub processors: Vec<usize>,
    /// The counters of each core.
    pub cores: Vec<Arc<Counters>>,
    /// Where customers connect.
    pub addresses: Addresses,
    /// Why the upstream's CPU time is not known.
    pub upstream_note: Note,
    /// Whether upstreams can be reached, and how they failed requests.
    pub upstreams: Upstreams,
    /// Records what connections do, if the configuration says so.
    pub tracing: Option<tidegate_trace::Handle>,
    /// The fleet that the gate is part of; none: it is alone.
    pub fleet: Option<Arc<FleetState>>,
    /// What the requests of each route are and cost.
    pub routes: RouteTable,
    /// What passes of requests, by their priorities.
    pub passage: SharedPassage,
    /// The access log.
    pub access_log: Arc<AccessLog>,
    /// How often the configuration was reloaded.
    pub reloads: ReloadCounts,
    /// The last hour.
    pub history: SharedHistory,
    /// The turns of prefixes in the admission queues.
    pub turns: Arc<Turns>,
    /// The waiting room.
    pub room: WaitingRoom,
    /// Connections that browsers open before they have a ticket.
    pub companions: Companions,
    /// Connections of the waiting room that were of an admitted session.
    pub joined: Joined,
    config: ArcSwap<Config>,
    controller: Mutex<Controller>,
    used: Mutex<Used>,
    started: Instant,
    room_clock: RoomClock,
    draining: AtomicBool,
}

/// Work that is under way.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InFlight {
    /// Connections admitted whose handshake has not begun.
    pub handshakes: u32,
    /// CPU time that these were charged.
    pub handshake_cpu: Duration,
    /// Requests that are with the upstream.
    pub requests: u32,
}

/// Where customers connect, as bound.
#[derive(Clone, Debug)]
pub struct Addresses {
    /// Over TLS; one at least.
    pub tls: Vec<SocketAddr>,
    /// By plain HTTP; none if that is off.
    pub clear: Option<SocketAddr>,
}

impl Addresses {
    /// Every one, those over TLS first.
    pub fn all(&self) -> impl Iterator<Item = SocketAddr> {
        self.tls.iter().copied().chain(self.clear)
    }
}

impl Shared {
    /// The state of a gate that starts now, pinned to these processors.
    pub fn new(config: Config, addresses: Addresses, processors: Vec<usize>) -> Self {
        let routes = RouteTable::new(&config, processors.len());
        let mut controller = Controller::new(Settings {
            policy: config.admission.policy_kind(),
            ..Settings::default()
        });
        controller.set_routes(&routes.priorities());
        Self {
            controller: Mutex::new(controller),
            cores: processors.iter().map(|_| Arc::default()).collect(),
            turns: Arc::new(Turns::new(processors.len())),
            room: WaitingRoom::default(),
            companions: Companions::default(),
            joined: Joined::default(),
            upstreams: Upstreams::new(&config, processors.len()),
            routes,
            passage: SharedPassage::default(),
            access_log: Arc::new(AccessLog::new(processors.len())),
            processors,
            config: ArcSwap::from_pointee(config),
            used: Mutex::default(),
            history: SharedHistory::default(),
            addresses,
            upstream_note: Note::default(),
            tracing: None,
            fleet: None,
            reloads: ReloadCounts::default(),
            started: Instant::now(),
            room_clock: RoomClock::new(clock::unix_now_ms()),
            draining: AtomicBool::new(false),
        }
    }

    /// Where customers connect over TLS; the first, if there are several.
    pub fn address(&self) -> SocketAddr {
        self.addresses.tls.first().copied().unwrap_or(([0, 0, 0, 0], 0).into())
    }

    /// The configuration in force now. A connection keeps the one that it began with: see
    /// [`CoreContext::config`](crate::context::CoreContext::config).
    pub fn config(&self) -> Arc<Config> {
        self.config.load_full()
    }

    /// Puts a configuration in force.
    pub fn set_config(&self, config: Arc<Config>) {
        self.upstreams.renew(&config);
        self.routes.renew(&config);
        let mut controller = self.controller();
        controller.set_policy(config.admission.policy_kind());
        controller.set_routes(&self.routes.priorities());
        drop(controller);
        self.config.store(config);
    }

    /// Time since the start: the clock of controller and sessions.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// The time by which the waiting room goes, in milliseconds since 1970: see [`RoomClock`].
    pub fn unix_ms(&self) -> u64 {
        self.room_clock.at(self.now())
    }

    /// By how many milliseconds the waiting room's clock is ahead of the system's.
    pub fn room_clock_ahead_ms(&self) -> i64 {
        let (system_ms, now) = self.both_clocks();
        self.room_clock.at(now).cast_signed().saturating_sub(system_ms.cast_signed())
    }

    /// Goes on with the waiting room's clock of the gate before, which was so far ahead.
    pub fn adopt_room_clock(&self, ahead_ms: i64) {
        let (system_ms, now) = self.both_clocks();
        self.room_clock.adopt(system_ms.saturating_add_signed(ahead_ms), now);
    }

    /// Lets the waiting room's clock follow the system's.
    pub fn set_room_clock(&self) {
        let nobody_waits = self.room.waiting() == 0;
        let (system_ms, now) = self.both_clocks();
        self.room_clock.follow(system_ms, now, nobody_waits);
    }

    /// The system's clock, in milliseconds since 1970, and [`Shared::now`], of the same time: a thread
    /// that had to wait for a processor between them would take the first for behind.
    fn both_clocks(&self) -> (u64, Duration) {
        let mut both = (0, Duration::ZERO);
        for _ in 0..READINGS {
            let before = self.now();
            both = (clock::unix_now_ms(), self.now());
            if both.1 - before < TOGETHER {
                break;
            }
        }
        both
    }

    /// The controller. Hold the lock for one call.
    pub fn controller(&self) -> MutexGuard<'_, Controller> {
        self.controller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What was used up to the last tick. Hold the lock for one call.
    pub fn used(&self) -> MutexGuard<'_, Used> {
        self.used.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The sums of all cores' counters.
    pub fn totals(&self) -> Totals {
        Totals::of(&self.cores)
    }

    /// What is in flight on all cores.
    pub fn in_flight(&self) -> InFlight {
        let sum =
            |of: fn(&Counters) -> &Count| self.cores.iter().map(|core| of(core).get()).sum::<u64>();
        let small = |sum| u32::try_from(sum).unwrap_or(u32::MAX);
        InFlight {
            handshakes: small(sum(|core| &core.starting)),
            handshake_cpu: Duration::from_nanos(sum(|core| &core.starting_ns)),
            requests: small(sum(|core| &core.at_upstream)),
        }
    }

    /// Requests that are with upstreams.
    pub fn requests_in_flight(&self) -> u32 {
        let sum: u64 = self.cores.iter().map(|core| core.at_upstream.get()).sum();
        u32::try_from(sum).unwrap_or(u32::MAX)
    }

    /// Whether a new session must wait since others do, or since the site is closed.
    pub fn someone_is_first(&self) -> bool {
        self.room.someone_is_first() || self.doors() != Doors::Open
    }

    /// Whether new sessions are admitted at all. Without a waiting room nothing closes them.
    pub fn doors(&self) -> Doors {
        if self.config.load().admission.refuse == Refusal::Page {
            self.room.doors(self.room_order(), self.unix_ms())
        } else {
            Doors::Open
        }
    }

    /// The order of the waiting room.
    pub fn room_order(&self) -> Order {
        let config = self.config.load();
        let opens = config.admission.opens.map(|at| at.as_millisecond());
        let opens_ms = opens.and_then(|at| u64::try_from(at).ok());
        Order { opens_ms, shut: config.admission.maintenance }
    }

    /// The waiting room's share of the processors, in CPU seconds per second, and what it has used
    /// of them, in nanoseconds.
    pub fn room_cpu(&self) -> (f64, u64) {
        let share = self.config.load().admission.room_share;
        let spent = self.cores.iter().map(|core| core.cpu_ns[Bucket::Room].get()).sum();
        (share * self.cores.len() as f64, spent)
    }

    /// Whether the gate accepts no new connections any more.
    pub fn draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    /// From now on the gate accepts no new connections.
    pub fn drain(&self) {
        self.draining.store(true, Relaxed);
    }
}
