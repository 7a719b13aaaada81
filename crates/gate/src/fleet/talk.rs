//! Reports the gate's demand, takes tables and, while the gate holds the lease, makes them; tells
//! the others of sessions that use much.

use super::message::{Subjects, Uses, join, parts};
use super::state::FleetState;
use crate::admission::sessions::{MOST_USES, Sessions};
use crate::shared::Shared;
use serde::{Serialize, de::DeserializeOwned};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::Instant;
use tidegate_control::fleet::{Demand, Divider, INTERVAL, Stale, Table};
use tidegate_fleet::{Connection, Message, Opened, Opener, Refused, Subscription, unix_now};
use tokio::time::MissedTickBehavior;

/// Messages that wait to be read: tables and uses; and demands, of all gates.
const WAITING: usize = 256;
const WAITING_DEMANDS: usize = 8192;

struct Talk {
    state: Arc<FleetState>,
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    connection: Connection,
    subjects: Subjects,
    opener: Opener,
    /// While the gate holds the lease: the epoch and the demands that come.
    divider: Option<(u64, Divider, Subscription)>,
    /// The log says that NATS does not answer.
    lost: bool,
    /// The log says that another gate has this gate's name.
    name_taken: bool,
}

/// Talks until dropped.
pub(super) async fn run(
    state: Arc<FleetState>,
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    connection: Connection,
    subjects: Subjects,
) {
    let opener = Opener::new(state.secret().clone());
    let subscribed = async |subject: &str| connection.subscribe(subject, WAITING).await;
    let (Ok(mut tables), Ok(mut uses)) =
        (subscribed(&subjects.table).await, subscribed(&subjects.uses).await)
    else {
        return std::future::pending().await;
    };
    let (divider, lost, name_taken) = (None, false, false);
    let mut talk =
        Talk { state, shared, sessions, connection, subjects, opener, divider, lost, name_taken };
    let mut interval = tokio::time::interval(INTERVAL);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            _ = interval.tick() => talk.step(tables.dropped() + uses.dropped()).await,
            message = tables.next() => talk.take_table(&message),
            message = uses.next() => talk.take_uses(&message),
            message = next_demand(&mut talk.divider) => talk.take_demand(&message),
        }
    }
}

async fn next_demand(divider: &mut Option<(u64, Divider, Subscription)>) -> Message {
    match divider {
        Some((_, _, demands)) => demands.next().await,
        None => std::future::pending().await,
    }
}

impl Talk {
    /// What is done every [`INTERVAL`].
    async fn step(&mut self, dropped: u64) {
        self.note_connection(dropped);
        if self.shared.draining() {
            self.divider = None;
            return;
        }
        self.follow_lease().await;
        let now = self.shared.now();
        let outlook = self.shared.controller().outlook();
        let demand = self.state.member().demand(now, &outlook);
        self.say(&self.subjects.demand, &demand);
        let table = self.divider.as_mut().and_then(|(_, divider, _)| divider.table(now));
        for part in table.iter().flat_map(parts) {
            self.say(&self.subjects.table, &part);
        }
        let uses = self.sessions.uses();
        if !uses.is_empty() {
            self.say(&self.subjects.uses, &Uses { uses });
        }
    }

    /// Divides while the gate holds the lease, and not longer.
    async fn follow_lease(&mut self) {
        let left = self.state.lease().left(Instant::now());
        let now = self.shared.now();
        match (left, &mut self.divider) {
            (Some((epoch, left)), Some((of, divider, _))) if *of == epoch => {
                divider.renew(now + left);
            }
            (Some((epoch, left)), _) => {
                let divider = Divider::new(epoch, now + left, now);
                let demands = self.connection.subscribe(&self.subjects.demand, WAITING_DEMANDS);
                self.divider = demands.await.ok().map(|demands| (epoch, divider, demands));
            }
            (None, _) => self.divider = None,
        }
    }

    fn say(&self, subject: &str, content: &impl Serialize) {
        match self.state.sealer.seal(subject, content, unix_now()) {
            Ok(message) => drop(self.connection.publish(subject, message)),
            Err(error) => tracing::error!("fleet: a message for {subject} is {error}"),
        }
    }

    fn open<T: DeserializeOwned>(&mut self, subject: &str, message: &Message) -> Option<Opened<T>> {
        let opened = self.opener.open(subject, &message.payload, unix_now());
        opened.map_err(|reason| self.state.refuse(reason)).ok()
    }

    fn take_table(&mut self, message: &Message) {
        let subject = self.subjects.table.clone();
        let Some(Opened { content: table, .. }) = self.open::<Table>(&subject, message) else {
            return;
        };
        match self.state.member().take(&table) {
            Ok(()) => {}
            // A gate that has just started, or the part of the table of other gates.
            Err(Stale::NotListed) => {}
            Err(Stale::Old | Stale::Malformed(_)) => return self.state.refuse(Refused::Stale),
        }
        self.state.lease().note_epoch(table.epoch);
        self.sessions.share_among(table.gates);
        let later = table.line(&self.state.gate).is_some_and(|line| line.start > self.state.start);
        if later && !std::mem::replace(&mut self.name_taken, true) {
            let gate = &self.state.gate;
            tracing::error!(
                "fleet: a gate that started later is named {gate} too, and this one gets no share; \
                 name them apart (fleet.gate)"
            );
        }
        join(&mut self.state.seen().table, &table);
    }

    fn take_demand(&mut self, message: &Message) {
        let subject = self.subjects.demand.clone();
        let Some(opened) = self.open::<Demand>(&subject, message) else { return };
        let Some((_, divider, _)) = &mut self.divider else { return };
        let now = self.shared.now();
        // A gate speaks for itself alone.
        let own = opened.sender == opened.content.gate;
        if !own || divider.report(now, &opened.content).is_err() {
            self.state.refuse(Refused::Stale);
        }
    }

    fn take_uses(&mut self, message: &Message) {
        let subject = self.subjects.uses.clone();
        let Some(opened) = self.open::<Uses>(&subject, message) else { return };
        if opened.sender == self.state.gate {
            return;
        }
        if opened.content.uses.len() > MOST_USES {
            return self.state.refuse(Refused::Stale);
        }
        let mut gate = DefaultHasher::new();
        opened.sender.hash(&mut gate);
        let now = self.shared.now();
        self.sessions.count_elsewhere(gate.finish(), &opened.content.uses, now);
    }

    /// Notes whether NATS answers, and logs it once when that changes.
    fn note_connection(&mut self, dropped: u64) {
        let (connected, since) = (self.connection.connected(), self.connection.lost_since());
        let problem = self.connection.fault();
        let servers = self.state.access.access.shown();
        let waited = since.is_some_and(|since| since.elapsed() > tidegate_fleet::DEADLINE);
        if connected && std::mem::replace(&mut self.lost, false) {
            tracing::info!("fleet: NATS answers again");
        } else if !connected && waited && !std::mem::replace(&mut self.lost, true) {
            let why = problem.as_deref().map(|why| format!(" ({why})")).unwrap_or_default();
            tracing::warn!(
                "fleet: NATS at {servers} does not answer{why}; the gate goes on with the ticket keys \
                 that it has, and with its share of the service, which falls to a safe one"
            );
        }
        let mut seen = self.state.seen();
        seen.problem = if connected { problem } else { problem.or(seen.problem.take()) };
        (seen.connected, seen.lost_since) = (connected, since);
        seen.unsent = self.connection.unsent() + dropped;
    }
}
