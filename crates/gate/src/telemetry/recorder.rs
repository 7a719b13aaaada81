//! Keeps the [history](super::history::History): once a second what was counted since, and what is
//! different.

use crate::shared::Shared;
use crate::telemetry::counters::Totals;
use crate::telemetry::doors::shut;
use crate::telemetry::durations::DurationBucket;
use crate::telemetry::history::{EventKind, Record};
use crate::telemetry::labels::{Class, HandshakeKind, RoomVisit};
use std::sync::atomic::Ordering::Relaxed;
use std::time::Duration;
use tidegate_control::waiting_room::Doors;
use tidegate_control::{ByResource, Status};

/// Time from one record to the next.
const INTERVAL: Duration = Duration::from_secs(1);
/// A change of a capacity by less than this share is none.
const CHANGE: f64 = 0.02;

/// What the last record was made from.
#[derive(Debug, Default)]
pub struct Recorder {
    before: Option<(Duration, Totals)>,
    facts: Option<Facts>,
}

impl Recorder {
    /// Adds a record if one is due at a tick. The counters begin at 0 with the gate.
    pub fn tick(&mut self, now: Duration, totals: &Totals, sessions: u64, shared: &Shared) {
        let (then, _) = self.before.get_or_insert_default();
        if now.saturating_sub(*then) < INTERVAL {
            return;
        }
        let status = shared.controller().status(now);
        let facts = Facts::of(&status, shared);
        let mut history = shared.history.lock();
        let Some((then, before)) = self.before.replace((now, totals.clone())) else { return };
        let counted = counted(totals, &before);
        history.push(Record {
            at: now,
            length: now.saturating_sub(then),
            waiting: small(totals.waiting(shared.room.waiting())),
            sessions: small(sessions),
            capacity_per_s: capacity_per_s(&status),
            in_use: in_use(&status),
            ..counted
        });
        if self.facts.is_none() {
            history.note(Duration::ZERO, EventKind::Start, "the gate started");
        }
        for (kind, text) in facts.since(self.facts.get_or_insert_default()) {
            if kind == EventKind::Doors {
                tracing::info!("{text}");
            }
            history.note(now, kind, &text);
        }
        self.facts = Some(facts);
    }
}

fn counted(totals: &Totals, before: &Totals) -> Record {
    let since = |of: &dyn Fn(&Totals) -> u64| small(of(totals).saturating_sub(of(before)));
    let offered = |it: &Totals| {
        let held = it.held[Class::New].saturating_sub(it.hold_joined);
        it.admitted[Class::New] + held + it.refused[Class::New]
    };
    // A page of the waiting room is an answer with the status 503, and no failure.
    let errors = |it: &Totals| {
        let codes = it.codes().filter(|(code, _)| *code >= 500);
        codes.map(|it| it.1).sum::<u64>().saturating_sub(it.room_visits[RoomVisit::Page])
    };
    let mut durations = [0; DurationBucket::COUNT];
    let counts = totals.durations.values().iter().zip(before.durations.values());
    for (sum, (now, then)) in durations.iter_mut().zip(counts) {
        *sum = small(now.saturating_sub(*then));
    }
    Record {
        offered: since(&offered),
        admitted: since(&|it| {
            it.admitted[Class::New] + it.hold_admitted + it.room_visits[RoomVisit::Admitted]
        }),
        refused: since(&|it| it.refused[Class::New] + it.hold_expired),
        left: since(&|it| it.hold_left),
        returning: since(&|it| it.admitted[Class::Returning]),
        full: since(&|it| it.handshakes_ok[HandshakeKind::Full]),
        resumed: since(&|it| it.handshakes_ok[HandshakeKind::Resumed]),
        errors: since(&errors),
        durations,
        ..Record::default()
    }
}

/// What the service carries, where that is more than a lower bound.
fn capacity_per_s(status: &Status) -> Option<f32> {
    let carried = status.sustainable.sessions_per_s?;
    carried.high.map(|_| carried.value as f32)
}

fn in_use(status: &Status) -> ByResource<f32> {
    let mut shares = ByResource::default();
    for it in &status.resources {
        let share = it.used_cpus.map(|used| used / it.capacity_cpus);
        shares.set(it.resource, share.filter(|share| share.is_finite()).map(|it| it as f32));
    }
    shares
}

/// What an event is the change of.
#[derive(Clone, Debug, Default, PartialEq)]
struct Facts {
    /// Reloads that put a configuration in force, and others.
    reloads: (u64, u64),
    draining: bool,
    /// Whether new sessions are admitted.
    doors: Doors,
    /// Processors of each resource.
    cpus: ByResource<f64>,
    /// Servers of upstreams, and what is wrong with each: a clause.
    servers: Vec<(String, Option<String>)>,
}

impl Facts {
    fn of(status: &Status, shared: &Shared) -> Self {
        let mut cpus = ByResource::default();
        status.resources.iter().for_each(|it| cpus.set(it.resource, it.capacity_cpus));
        let mut servers = Vec::new();
        for upstream in shared.upstreams.all().iter() {
            let members = upstream.members();
            let several = members.len() > 1;
            servers.extend(members.iter().map(|member| {
                // One alone gets the requests whatever happened.
                let ejected = several && member.share() == 0;
                let ejected = || ejected.then(|| "is taken out, since requests failed".to_owned());
                let problem = member.problem().map(|why| format!("cannot be reached: {why}"));
                (member.name(), problem.or_else(ejected))
            }));
        }
        let reloads = (shared.reloads.ok.load(Relaxed), shared.reloads.failed.load(Relaxed));
        Self { reloads, draining: shared.draining(), doors: shared.doors(), cpus, servers }
    }

    /// What is different.
    fn since(&self, before: &Self) -> Vec<(EventKind, String)> {
        let mut events = Vec::new();
        if self.reloads.0 > before.reloads.0 {
            events.push((EventKind::Reload, "the configuration was reloaded".to_owned()));
        }
        if self.reloads.1 > before.reloads.1 {
            let text = "the configuration was not reloaded: it has mistakes, which the log tells";
            events.push((EventKind::Reload, text.to_owned()));
        }
        if self.doors != before.doors {
            let text = shut(self.doors).unwrap_or("new sessions are admitted again");
            events.push((EventKind::Doors, text.to_owned()));
        }
        for (name, cpus) in self.cpus.iter() {
            let Some(then) = before.cpus.get(name) else { continue };
            if (cpus - then).abs() > CHANGE * then {
                let text = format!("the {} has {cpus:.2} CPUs; it had {then:.2}", name.as_str());
                events.push((EventKind::Capacity, text));
            }
        }
        for (server, why) in &self.servers {
            let then = before.servers.iter().find(|(name, _)| name == server);
            let was_lost = then.is_some_and(|(_, why)| why.is_some());
            match why {
                Some(why) if !was_lost => {
                    events.push((EventKind::Lost, format!("{server} {why}")));
                }
                None if was_lost => {
                    events.push((EventKind::Back, format!("{server} gets requests again")));
                }
                _ => {}
            }
        }
        if self.draining && !before.draining {
            let text = "the gate accepts no new connections: it drains";
            events.push((EventKind::Drain, text.to_owned()));
        }
        events
    }
}

fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::telemetry::labels::StatusCode;
    use tidegate_control::ResourceName::{Gate, Upstream};

    #[test]
    fn a_record_has_what_was_counted_since_the_one_before() {
        let mut before = Totals { hold_admitted: 3, hold_expired: 1, ..Totals::default() };
        before.admitted[Class::New] = 10;
        let mut now = Totals { hold_admitted: 5, hold_expired: 2, ..before.clone() };
        now.admitted[Class::New] = 11;
        now.held[Class::New] = 7;
        now.refused[Class::New] = 2;
        // From the waiting room: offered and refused when they came.
        now.room_visits[RoomVisit::Admitted] = 4;
        now.room_visits[RoomVisit::Page] = 6;
        now.codes[StatusCode::new(503).unwrap()] = 7;
        // One of those held is another connection of a customer who is in.
        now.hold_joined = 1;
        now.durations.values_mut()[3] = 9;
        let record = counted(&now, &before);
        assert_eq!((record.offered, record.admitted, record.refused), (9, 7, 3));
        assert_eq!((record.durations[3], record.left), (9, 0));
        assert_eq!(record.errors, 1, "one besides the pages of the waiting room");
    }

    #[test]
    fn who_waits_counts_once_before_admission_or_in_the_room() {
        // Of five before admission, two have their turn in the room, where nine are.
        let totals = Totals { holding: 5, room_asking: 2, ..Totals::default() };
        assert_eq!(totals.waiting(9), 12);
    }

    #[test]
    fn what_changes_is_an_event_once() {
        let server = |why: Option<&str>| vec![("http://a".to_owned(), why.map(str::to_owned))];
        let cpus = |upstream| ByResource::default().with(Gate, 1.0).with(Upstream, upstream);
        let fine = Facts { cpus: cpus(2.0), servers: server(None), ..Facts::default() };
        let other = Facts {
            reloads: (1, 2),
            draining: true,
            doors: Doors::Closed,
            cpus: cpus(0.5),
            servers: server(Some("cannot be reached: refused")),
        };
        let told: Vec<_> = other.since(&fine).into_iter().map(|(_, text)| text).collect();
        assert_eq!(
            told,
            [
                "the configuration was reloaded",
                "the configuration was not reloaded: it has mistakes, which the log tells",
                "the service has closed the line: nobody new is admitted",
                "the upstream has 0.50 CPUs; it had 2.00",
                "http://a cannot be reached: refused",
                "the gate accepts no new connections: it drains",
            ]
        );
        assert_eq!(other.since(&other), []);
        let back = Facts { servers: server(None), ..other.clone() }.since(&other);
        assert_eq!(back, [(EventKind::Back, "http://a gets requests again".to_owned())]);
        let open = Facts { doors: Doors::Open, ..other.clone() }.since(&other);
        assert_eq!(open, [(EventKind::Doors, "new sessions are admitted again".to_owned())]);
    }
}
