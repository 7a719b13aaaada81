//! What a gate knows of its fleet: shared with the control loop and the admin pages.

use crate::config::Config;
use crate::error::Error;
use crate::telemetry::snapshot::{FleetGate, FleetStatus};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};
use tidegate_control::fleet::{Member, Table};
use tidegate_control::{Controller, Outlook, Part, Reading};
use tidegate_fleet::{FleetAccess, Lease, Refused, RefusedCounts, Sealer, Secret, unix_now};

/// What a gate knows of its fleet.
#[derive(Debug)]
pub struct FleetState {
    /// The gate's name.
    pub gate: String,
    /// Which start of the gate this is, in milliseconds since 1970.
    pub start: u64,
    /// Servers, user and secret.
    pub access: FleetAccess,
    /// Servers that store a bucket that the gate makes.
    pub replicas: usize,
    /// Seals what the gate says.
    pub sealer: Sealer,
    /// Messages that were refused.
    pub refused: RefusedCounts,
    member: Mutex<Member>,
    lease: Mutex<Lease>,
    seen: Mutex<Seen>,
}

/// How long a gate that starts waits for the fleet's ticket keys before it accepts connections: they
/// stay with the system meanwhile. NATS answers within a second, or takes much longer.
pub(super) const KEYS_AWAITED: Duration = Duration::from_secs(2);

/// How long a gate that ends waits for its lease to be given back.
const GIVEN_BACK: Duration = Duration::from_millis(400);

/// What was seen last.
#[derive(Debug, Default)]
pub struct Seen {
    /// Since when no server of NATS answers.
    pub lost_since: Option<Instant>,
    /// A server answers.
    pub connected: bool,
    /// Why none does, or what it refused.
    pub problem: Option<String>,
    /// Why the bucket cannot be used.
    pub bucket_problem: Option<String>,
    /// Who wrote the lease, by its own word, if the value does not open.
    pub foreign_holder: Option<String>,
    /// Messages that were not sent, and that nobody read.
    pub unsent: u64,
    /// The newest table.
    pub table: Option<Table>,
    /// The gate has the fleet's ticket keys.
    pub keys_shared: bool,
}

impl Seen {
    /// What stands in the way of talking through NATS, or with the other gates.
    pub(super) fn fault(&self) -> Option<String> {
        let problem = self.problem.as_ref().or(self.bucket_problem.as_ref()).cloned();
        problem.or_else(|| {
            let sender = self.foreign_holder.as_ref()?;
            Some(format!(
                "the gate that divides the service ({sender}, by its own word) seals under another \
                 secret, or is of another version; fleet.secret_file is one file for all gates"
            ))
        })
    }
}

impl FleetState {
    /// The state at the start of a gate that listens on this port; `None` if it is alone.
    ///
    /// # Errors
    /// The system's random generator failed.
    pub fn new(config: &Config, port: u16) -> Result<Option<Self>, Error> {
        let Some(access) = config.files.fleet.clone() else { return Ok(None) };
        let named = || format!("{}:{port}", tidegate_host::host_name());
        let gate = config.fleet.gate.clone().unwrap_or_else(named);
        let random = |_| Error::Certificate(rustls::Error::FailedToGetRandomBytes);
        let now = unix_now();
        let sealer = Sealer::new(&access.secret, &gate, now).map_err(random)?;
        let start = now.as_millis() as u64;
        Ok(Some(Self {
            member: Mutex::new(Member::new(gate.clone(), start)),
            lease: Mutex::new(Lease::new(&gate, &sealer)),
            seen: Mutex::default(),
            replicas: config.fleet.replicas,
            refused: RefusedCounts::default(),
            gate,
            start,
            access,
            sealer,
        }))
    }

    /// Waits until the gate knows the customers of the others, since it would take them for new ones;
    /// no longer where NATS does not answer.
    pub async fn keys_come(&self) {
        let until = Instant::now() + KEYS_AWAITED;
        let awaited = || {
            let seen = self.seen();
            !seen.keys_shared && seen.fault().is_none() && Instant::now() < until
        };
        while awaited() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// The operator's secret.
    pub fn secret(&self) -> &Secret {
        &self.access.secret
    }

    /// Plans the time before the first table: nothing of the service, unless the gate takes the
    /// place of one that had a share, and goes on with its costs.
    pub fn begin(&self, now: Duration, controller: &mut Controller, share: Option<f64>) {
        if let Some(share) = share {
            self.member().goes_on(share);
        }
        let nothing = Reading::default();
        let part = self.part(now, &nothing, &Outlook::default());
        controller.observe(now, &nothing.part_of_fleet(part));
    }

    /// The part of the service that the gate may use until the next tick of the control loop.
    pub fn part(&self, now: Duration, reading: &Reading, outlook: &Outlook) -> Part {
        lock(&self.member).part(now, reading, outlook)
    }

    /// The gate's place in the fleet. Hold the lock for one call.
    pub fn member(&self) -> MutexGuard<'_, Member> {
        lock(&self.member)
    }

    /// What the gate knows of the lease. Hold the lock for one call.
    pub fn lease(&self) -> MutexGuard<'_, Lease> {
        lock(&self.lease)
    }

    /// Waits until the lease is given back, if the gate holds it and drains: so that another need
    /// not wait for its end.
    pub fn gives_back(&self) {
        let until = Instant::now() + GIVEN_BACK;
        while self.lease().held(Instant::now()).is_some() && Instant::now() < until {
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What was seen last. Hold the lock for one call.
    pub fn seen(&self) -> MutexGuard<'_, Seen> {
        lock(&self.seen)
    }

    /// Counts a message that was refused.
    pub fn refuse(&self, reason: Refused) {
        self.refused.add(reason);
    }

    /// The state for people and dashboards.
    pub fn status(&self) -> FleetStatus {
        let standing = self.member().standing();
        let (holder, lease_held) = {
            let lease = self.lease();
            let holder = lease.tenure().map(|tenure| tenure.holder.clone());
            (holder, lease.held(Instant::now()).is_some())
        };
        let seen = self.seen();
        let lines = seen.table.iter().flat_map(|table| &table.shares);
        FleetStatus {
            name: self.secret().fleet().to_owned(),
            gate: self.gate.clone(),
            servers: self.access.access.shown(),
            connected: seen.connected,
            lost_for_s: seen.lost_since.map(|since| since.elapsed().as_secs_f64()),
            problem: seen.fault(),
            holder: holder.filter(|_| seen.connected),
            lease_held,
            epoch: standing.epoch,
            share: standing.share,
            cut_off: standing.cut_off,
            gates: lines.map(FleetGate::of).collect(),
            keys_shared: seen.keys_shared,
            messages_refused: self
                .refused
                .all()
                .map(|(reason, count)| (reason.label(), count))
                .collect(),
            messages_dropped: seen.unsent,
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
