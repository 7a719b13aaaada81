//! What to run: a scenario, a target, arrivals, durations and the driver's
//! own means.

use std::net::IpAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::arrivals::Arrivals;
use crate::error::Error;
use crate::scenario::Scenario;

/// One run, complete. [`Plan::new`] gives the defaults; fields are changed
/// freely and checked by [`run`](crate::run()).
#[derive(Clone, Debug)]
pub struct Plan {
    /// Who the customers are and what they do.
    pub scenario: Scenario,
    /// `https://host[:port]`, or `http://` for a service in clear. A path is
    /// not allowed: paths belong to the scenario.
    pub target: String,
    /// When customers arrive; `None` takes the scenario's own `[arrivals]`.
    pub arrivals: Option<Arrivals>,
    /// Time before anything is counted.
    pub warm_up: Duration,
    /// The measured window. The run lasts `warm_up + measure`, at most
    /// [`Plan::LONGEST`].
    pub measure: Duration,
    /// Multiplies think times *and* patience; above 0. 0.1 is a customer ten
    /// times as hasty in both.
    pub time_scale: f64,
    /// Multiplies patience once more; above 0.
    pub patience_scale: f64,
    /// Seed of every random choice.
    pub seed: u64,
    /// Processors the driver's threads are pinned to, one thread each; empty
    /// for one thread that is not pinned. The thread that calls
    /// [`run`](crate::run()) is never pinned: it folds the figures and calls
    /// the observer.
    pub cores: Vec<usize>,
    /// Accepts any certificate, and does not spend time on checking it.
    pub insecure: bool,
    /// PEM file of certificate authorities to trust instead of the system's.
    pub ca: Option<PathBuf>,
    /// TLS versions to offer.
    pub tls: TlsVersions,
    /// Every customer first comes with a ticket that the target did not issue,
    /// as an attacker would who hopes to pass for somebody already inside. Needs
    /// [`insecure`](Self::insecure) and TLS 1.3.
    pub forged_tickets: bool,
    /// Name for SNI and certificate checks if it is not the target's host.
    pub server_name: Option<String>,
    /// Writes every request as a line of JSON to this file.
    pub raw: Option<PathBuf>,
    /// Writes every request as a row of Parquet to this file.
    pub parquet: Option<PathBuf>,
    /// Writes every second as a line of CSV to this file.
    pub csv: Option<PathBuf>,
    /// Customers the scenario draws from; `None` takes the scenario's own.
    pub customers: Option<u64>,
    /// Most sessions in flight; arrivals beyond are counted as not started.
    /// Lowered to what the limit on open files allows.
    pub max_in_flight: usize,
    /// Stops arrivals after this many sessions, and the run when the last of
    /// them has ended.
    pub max_sessions: Option<u64>,
    /// Where connections come from.
    pub sources: Sources,
    /// How a session that ended well closes its connection.
    pub close: Close,
    /// Stops the run early; keep a clone.
    pub stop: Stop,
}

impl Plan {
    /// The longest run, a day: nothing here is unbounded.
    pub const LONGEST: Duration = Duration::from_secs(24 * 3600);

    /// Warm-up 10 s, measure 30 s, unscaled times, seed 1, one thread,
    /// certificates checked.
    pub fn new(scenario: Scenario, target: &str) -> Self {
        Self {
            scenario,
            target: target.to_owned(),
            arrivals: None,
            warm_up: Duration::from_secs(10),
            measure: Duration::from_secs(30),
            time_scale: 1.0,
            patience_scale: 1.0,
            seed: 1,
            cores: Vec::new(),
            insecure: false,
            ca: None,
            tls: TlsVersions::Both,
            forged_tickets: false,
            server_name: None,
            raw: None,
            parquet: None,
            csv: None,
            customers: None,
            max_in_flight: 20_000,
            max_sessions: None,
            sources: Sources::Auto,
            close: Close::Shutdown,
            stop: Stop::default(),
        }
    }

    /// The arrivals in force: the plan's own, else the scenario's.
    ///
    /// # Errors
    /// Neither says when customers arrive.
    pub fn arrivals(&self) -> Result<Arrivals, Error> {
        self.arrivals.clone().or_else(|| self.scenario.arrivals().cloned()).ok_or(Error::Plan {
            key: "arrivals",
            rule: "neither plan nor scenario says when customers arrive".to_owned(),
            remedy: "give a rate, or [arrivals] rate = 5 in the scenario",
        })
    }

    /// Checks every value that has a range.
    ///
    /// # Errors
    /// The first value that is out of its range.
    pub fn check(&self) -> Result<(), Error> {
        let scale_ok = |scale: f64| scale.is_finite() && scale > 0.0 && scale <= 1000.0;
        let wrong = |key, rule: String, remedy| Err(Error::Plan { key, rule, remedy });
        if !scale_ok(self.time_scale) {
            return wrong(
                "time_scale",
                format!("{} must be above 0 and at most 1000", self.time_scale),
                "1 leaves times as they are",
            );
        }
        if !scale_ok(self.patience_scale) {
            return wrong(
                "patience_scale",
                format!("{} must be above 0 and at most 1000", self.patience_scale),
                "1 leaves patience as it is",
            );
        }
        if self.measure.is_zero() || self.warm_up.saturating_add(self.measure) > Self::LONGEST {
            return wrong(
                "measure",
                format!("{:?} after {:?} of warm-up", self.measure, self.warm_up),
                "must be above 0 and, with the warm-up, at most a day",
            );
        }
        if self.forged_tickets && (!self.insecure || self.tls == TlsVersions::Only12) {
            return wrong(
                "forged_tickets",
                "forged tickets are those of TLS 1.3, and come from a server whose certificate \
                 nobody vouches for"
                    .to_owned(),
                "accept any certificate and offer TLS 1.3",
            );
        }
        if self.max_in_flight == 0 {
            return wrong("max_in_flight", "0 customers".to_owned(), "must be at least 1");
        }
        if self.customers == Some(0) {
            return wrong("customers", "0 customers".to_owned(), "must be at least 1");
        }
        Ok(())
    }
}

/// TLS versions that customers offer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum TlsVersions {
    /// 1.3 and 1.2.
    #[default]
    Both,
    /// 1.2 only.
    Only12,
    /// 1.3 only.
    Only13,
}

/// Source addresses of connections.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Sources {
    /// If the target is on loopback (IPv4), 64 addresses of 127.0.0.0/8 in
    /// turn, so that closed connections waiting in TIME_WAIT do not use up the
    /// ports; else the system chooses.
    #[default]
    Auto,
    /// The system chooses.
    System,
    /// These addresses in turn.
    List(Vec<IpAddr>),
}

/// How a connection is closed after a session that ended well. A customer who
/// lost patience always resets it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Close {
    /// close_notify and FIN, as browsers do.
    #[default]
    Shutdown,
    /// close_notify and RST: leaves no TIME_WAIT, for high rates from one
    /// address.
    Reset,
}

/// Stops a run from another thread or a signal handler; clones share the
/// state. The run then gives a valid summary of the part that was measured.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Asks the run to end; it does so within a quarter of a second.
    pub fn stop(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// Whether the end was asked for.
    pub fn is_stopped(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
