//! What the cores and the tick share.

use crate::admission::sessions::{Rules, Sessions};
use crate::config::Config;
use crate::telemetry::counters::{Counters, Totals};
use crate::telemetry::usage::Note;
use crate::tls::configs::Tls;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tidegate_control::{Controller, Settings};

/// Most sessions remembered: about 100 bytes each.
pub const SESSIONS: usize = 1_000_000;

/// Everything that more than one thread of a gate looks at.
#[derive(Debug)]
pub struct Shared {
    /// The checked configuration.
    pub config: Config,
    /// TLS towards customers.
    pub tls: Tls,
    /// Who is inside.
    pub sessions: Arc<Sessions>,
    /// The kernel's numbers of the processors that the cores are pinned to.
    pub processors: Vec<usize>,
    /// The counters of each core.
    pub cores: Vec<Arc<Counters>>,
    /// Where customers connect.
    pub addresses: Addresses,
    /// Why the upstream's CPU time is not known.
    pub upstream_note: Note,
    controller: Mutex<Controller>,
    started: Instant,
    draining: AtomicBool,
}

/// Where customers connect, as bound.
#[derive(Clone, Copy, Debug)]
pub struct Addresses {
    /// Over TLS.
    pub tls: SocketAddr,
    /// In clear; none if that is off.
    pub clear: Option<SocketAddr>,
}

impl Shared {
    /// The state of a gate that starts now, pinned to these processors.
    pub fn new(config: Config, tls: Tls, addresses: Addresses, processors: Vec<usize>) -> Self {
        let admission = &config.admission;
        let rules = Rules {
            rate: admission.session_rate,
            burst: f64::from(admission.session_burst),
            linger: admission.session_linger,
            capacity: SESSIONS,
        };
        Self {
            controller: Mutex::new(Controller::new(Settings {
                policy: admission.policy_kind(),
                ..Settings::default()
            })),
            sessions: Sessions::new(rules),
            cores: processors.iter().map(|_| Arc::default()).collect(),
            processors,
            config,
            tls,
            addresses,
            upstream_note: Note::default(),
            started: Instant::now(),
            draining: AtomicBool::new(false),
        }
    }

    /// Time since the start: the clock of controller and sessions.
    pub fn now(&self) -> Duration {
        self.started.elapsed()
    }

    /// The controller. Held for a question at a time.
    pub fn controller(&self) -> MutexGuard<'_, Controller> {
        self.controller.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// What all cores counted.
    pub fn totals(&self) -> Totals {
        Totals::of(&self.cores)
    }

    /// Connections whose handshake is still to be worked on, and requests that are
    /// with the upstream, on all cores.
    pub fn in_flight(&self) -> (u32, u32) {
        let sum = |of: fn(&Counters) -> u64| self.cores.iter().map(|core| of(core)).sum::<u64>();
        let small = |n: u64| u32::try_from(n).unwrap_or(u32::MAX);
        (small(sum(|core| core.due[0].get())), small(sum(|core| core.waiting[0].get())))
    }

    /// Whether the gate takes no new connections any more.
    pub fn draining(&self) -> bool {
        self.draining.load(Relaxed)
    }

    /// From now on the gate takes no new connections.
    pub fn drain(&self) {
        self.draining.store(true, Relaxed);
    }
}
