//! Reports the gate's demand and what it has learned, takes tables and what all have learned and,
//! while the gate holds the lease, makes these; tells the others of sessions that use much.

use super::message::{Subjects, Uses, join};
use super::state::FleetState;
use crate::admission::sessions::{MOST_USES, Sessions};
use crate::shared::Shared;
use crate::telemetry::seldom::PERIOD;
use base64::Engine as _;
use base64::prelude::BASE64_STANDARD;
use serde::{Serialize, de::DeserializeOwned};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::time::{Duration, Instant};
use tidegate_control::Experience;
use tidegate_control::fleet::{
    Demand, Divider, EXPERIENCE_INTERVAL, FleetExperience, INTERVAL, Stale, Table,
};
use tidegate_control::waiting_room::MOST_TOLD_BYTES;
use tidegate_fleet::{Connection, Message, Opened, Opener, Refused, Subscription, unix_now};
use tokio::time::MissedTickBehavior;

/// Messages that wait to be read: tables and uses; and what all gates report.
const WAITING: usize = 256;
const WAITING_REPORTS: usize = 8192;
/// A gate that begins to divide makes tables so much more often at first: the shares of the table
/// before decay.
const HURRY: u32 = 4;
/// How long no table arrives before the log says so.
const CUT_OFF_TOLD: Duration = Duration::from_secs(2);

struct Talk {
    state: Arc<FleetState>,
    shared: Arc<Shared>,
    sessions: Arc<Sessions>,
    connection: Connection,
    subjects: Subjects,
    opener: Opener,
    division: Option<Division>,
    learned_told: Option<Instant>,
    /// The log says that NATS does not answer.
    lost: bool,
    /// The log says that another gate has this gate's name.
    name_taken: bool,
    /// Since when no table arrives, and whether the log says so.
    cut_off: Option<(Instant, bool)>,
    /// When the log last told of refused messages, and how many there were by then.
    refused: (Option<Instant>, u64),
}

/// What the gate does while it holds the lease.
struct Division {
    epoch: u64,
    since: Instant,
    divider: Divider,
    demands: Subscription,
    experiences: Subscription,
}

/// A report of a gate.
enum Report {
    Demand(Message),
    Experience(Message),
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
    let (Ok(mut tables), Ok(mut learned), Ok(mut uses)) = (
        subscribed(&subjects.table).await,
        subscribed(&subjects.learned).await,
        subscribed(&subjects.uses).await,
    ) else {
        return std::future::pending().await;
    };
    let mut talk = Talk {
        state,
        shared,
        sessions,
        connection,
        subjects,
        opener,
        division: None,
        learned_told: None,
        lost: false,
        name_taken: false,
        cut_off: None,
        refused: (None, 0),
    };
    let mut interval = tokio::time::interval(INTERVAL / HURRY);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut ticks = 0_u32;
    loop {
        tokio::select! {
            _ = interval.tick() => {
                talk.follow_lease().await;
                if ticks.is_multiple_of(HURRY) {
                    let dropped = tables.dropped() + learned.dropped() + uses.dropped();
                    talk.step(dropped);
                } else if talk.has_just_begun_to_divide() {
                    talk.divide();
                }
                ticks = ticks.wrapping_add(1);
            }
            message = tables.next() => talk.take_table(&message),
            message = learned.next() => talk.take_learned(&message),
            message = uses.next() => talk.take_uses(&message),
            report = next_report(&mut talk.division) => talk.take_report(&report),
        }
    }
}

async fn next_report(division: &mut Option<Division>) -> Report {
    match division {
        Some(Division { demands, experiences, .. }) => tokio::select! {
            message = demands.next() => Report::Demand(message),
            message = experiences.next() => Report::Experience(message),
        },
        None => std::future::pending().await,
    }
}

impl Talk {
    /// What is done every [`INTERVAL`].
    fn step(&mut self, dropped: u64) {
        self.note_connection(dropped);
        if self.shared.draining() {
            return;
        }
        self.note_standing();
        self.note_refused();
        let now = self.shared.now();
        let (outlook, experience) = {
            let controller = self.shared.controller();
            (controller.outlook(), self.learned_is_due().then(|| controller.experience()))
        };
        let demand = self.state.member().demand(now, &outlook);
        self.say(&self.subjects.demand, &demand);
        if let Some(experience) = experience {
            self.learned_told = Some(Instant::now());
            self.say(&self.subjects.experience, &experience);
        }
        self.divide();
        let room = &self.shared.room;
        let (uses, closing) = (self.sessions.uses(), room.take_closing(self.shared.unix_ms()));
        if !uses.is_empty() || closing.is_some() {
            self.say(&self.subjects.uses, &Uses { uses, closing, ..Uses::default() });
        }
        let places = room.take_used();
        // Together they could be more than a message holds.
        if !places.is_empty() {
            let text = BASE64_STANDARD.encode(&places);
            let uses = Uses { places: text, ..Uses::default() };
            if !self.say(&self.subjects.uses, &uses) {
                room.put_back_used(&places);
            }
        }
    }

    /// Tells what all have learned, and their shares, if the gate divides.
    fn divide(&mut self) {
        let now = self.shared.now();
        let Some(Division { divider, .. }) = &mut self.division else { return };
        // A gate that starts is to know it before it has a share.
        let (learned, table) = (divider.experience(now), divider.table(now));
        if let Some(learned) = learned {
            self.say(&self.subjects.learned, &learned);
        }
        for part in table.iter().flat_map(Table::parts) {
            self.say(&self.subjects.table, &part);
        }
    }

    /// The shares of the table before decay until the first of a new holder.
    fn has_just_begun_to_divide(&self) -> bool {
        self.division.as_ref().is_some_and(|division| division.since.elapsed() < INTERVAL * 2)
    }

    /// Whether it is time to tell what the gate has learned.
    fn learned_is_due(&self) -> bool {
        self.learned_told.is_none_or(|at| at.elapsed() >= EXPERIENCE_INTERVAL - INTERVAL / 2)
    }

    /// Divides while the gate holds the lease, and not longer.
    async fn follow_lease(&mut self) {
        if self.shared.draining() {
            self.division = None;
            return;
        }
        let left = self.state.lease().left(Instant::now());
        let now = self.shared.now();
        match (left, &mut self.division) {
            (Some((epoch, left)), Some(division)) if division.epoch == epoch => {
                division.divider.renew(now + left);
            }
            (Some((epoch, left)), _) => {
                let divider = Divider::new(epoch, now + left, now);
                let reports = |subject| self.connection.subscribe(subject, WAITING_REPORTS);
                let demands = reports(&self.subjects.demand).await;
                let experiences = reports(&self.subjects.experience).await;
                self.division = demands.ok().zip(experiences.ok()).map(|(demands, experiences)| {
                    Division { epoch, since: Instant::now(), divider, demands, experiences }
                });
            }
            (None, _) => self.division = None,
        }
    }

    /// Whether it is on its way.
    fn say(&self, subject: &str, content: &impl Serialize) -> bool {
        let message = self.state.sealer.seal(subject, content, unix_now());
        let message = message
            .inspect_err(|error| tracing::error!("fleet: a message for {subject} is {error}"));
        message.is_ok_and(|message| self.connection.publish(subject, message))
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
        let taken = self.state.member().take(&table);
        match taken {
            Ok(()) => self.name_taken = false,
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

    fn take_report(&mut self, report: &Report) {
        let now = self.shared.now();
        let taken = match report {
            Report::Demand(message) => {
                let subject = self.subjects.demand.clone();
                let Some(opened) = self.open::<Demand>(&subject, message) else { return };
                let Some(Division { divider, .. }) = &mut self.division else { return };
                // A gate speaks for itself alone.
                opened.sender == opened.content.gate && divider.report(now, &opened.content).is_ok()
            }
            Report::Experience(message) => {
                let subject = self.subjects.experience.clone();
                let Some(opened) = self.open::<Experience>(&subject, message) else { return };
                let Some(Division { divider, .. }) = &mut self.division else { return };
                divider.learn(&opened.sender, &opened.content).is_ok()
            }
        };
        if !taken {
            self.state.refuse(Refused::Stale);
        }
    }

    fn take_learned(&mut self, message: &Message) {
        let subject = self.subjects.learned.clone();
        let Some(opened) = self.open::<FleetExperience>(&subject, message) else { return };
        let taken = self.state.member().learns(&opened.content);
        match taken {
            Ok(experience) => self.shared.controller().learn_from(experience),
            Err(_) => self.state.refuse(Refused::Stale),
        }
    }

    fn take_uses(&mut self, message: &Message) {
        let subject = self.subjects.uses.clone();
        let Some(opened) = self.open::<Uses>(&subject, message) else { return };
        if opened.sender == self.state.gate {
            return;
        }
        let Uses { uses, places, closing } = opened.content;
        let places = BASE64_STANDARD.decode(places).ok();
        let places = places.filter(|places| places.len() <= MOST_TOLD_BYTES);
        let Some(places) = places.filter(|_| uses.len() <= MOST_USES) else {
            return self.state.refuse(Refused::Stale);
        };
        self.shared.room.expect_used(&places);
        if let Some(closing) = closing {
            self.shared.room.expect_closing(closing, self.shared.unix_ms());
        }
        let mut gate = DefaultHasher::new();
        opened.sender.hash(&mut gate);
        let now = self.shared.now();
        self.sessions.count_elsewhere(gate.finish(), &uses, now);
    }

    /// Logs it once when no table arrives although NATS answers, and when one does again.
    fn note_standing(&mut self) {
        let standing = self.state.member().standing();
        if !standing.cut_off || self.lost {
            if let Some((_, true)) = self.cut_off.take()
                && !standing.cut_off
            {
                tracing::info!("fleet: this gate has its share of the service again");
            }
            return;
        }
        let (since, told) = self.cut_off.get_or_insert_with(|| (Instant::now(), false));
        // Its own line tells that the name is taken.
        if since.elapsed() >= CUT_OFF_TOLD && !*told && !self.name_taken {
            *told = true;
            let why = self.state.seen().fault();
            let why =
                why.unwrap_or_else(|| "no gate divides the service, or knows this one".into());
            let percent = standing.share * 100.0;
            tracing::warn!(
                "fleet: no table of shares arrives: {why}; the gate goes on with the ticket keys \
                 that it has, and with a safe share of {percent:.1} % of the service"
            );
        }
    }

    /// Logs that messages were refused, at once and then each minute in which there were more.
    fn note_refused(&mut self) {
        let (at, told) = self.refused;
        // A healthy network, too, delivers messages late or twice.
        let refused = self.state.refused.all().filter(|(reason, count)| {
            *count > 0 && !matches!(reason, Refused::Replayed | Refused::Stale)
        });
        let refused: Vec<_> = refused.collect();
        let count: u64 = refused.iter().map(|(_, count)| count).sum();
        if count <= told || at.is_some_and(|at| at.elapsed() < PERIOD) {
            return;
        }
        self.refused = (Some(Instant::now()), count);
        let refused: Vec<_> =
            refused.iter().map(|(reason, count)| format!("{count} {reason}")).collect();
        tracing::warn!(
            "fleet: messages were refused since the start: {}; a gate with another secret or of \
             another version, or somebody else, sends them",
            refused.join(", ")
        );
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
