//! The last hour of the gate: a record a second, and what happened in it. Of bounded size, and
//! pure: time is an argument.

use crate::telemetry::durations::DurationBucket;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use tidegate_control::ByResource;

/// Records that are kept: an hour.
pub const RECORDS: usize = 3600;
/// Events that are kept: where more happen in an hour, the latest ones.
pub const EVENTS: usize = 200;
/// Letters of an event that are kept.
const EVENT_LETTERS: usize = 300;

/// What the gate did in about a second.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Record {
    /// Its end, since the gate's start.
    pub at: Duration,
    /// Its length.
    pub length: Duration,
    /// New sessions that were decided on, for the first time.
    pub offered: u32,
    /// New sessions that were admitted, at once or after a wait.
    pub admitted: u32,
    /// New sessions that were refused, at once or after a wait.
    pub refused: u32,
    /// New sessions that left while they waited.
    pub left: u32,
    /// Returning connections that were admitted.
    pub returning: u32,
    /// Full handshakes that finished.
    pub full: u32,
    /// Resumed handshakes that finished.
    pub resumed: u32,
    /// Responses with a status of 500 or above.
    pub errors: u32,
    /// New sessions that wait, at its end, also in the waiting room.
    pub waiting: u32,
    /// Active sessions, at its end.
    pub sessions: u32,
    /// Requests that were over, by how long they took.
    pub durations: [u32; DurationBucket::COUNT],
    /// New sessions per second that the service carries, where that is known.
    pub capacity_per_s: Option<f32>,
    /// Share of each resource in use, where that is known.
    pub in_use: ByResource<f32>,
}

/// What kind of event it was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EventKind {
    /// The gate started.
    Start,
    /// Another configuration was put in force, or was refused.
    Reload,
    /// A server of an upstream gets no requests any more.
    Lost,
    /// It gets requests again.
    Back,
    /// The capacity of a resource changed, such as by a quota.
    Capacity,
    /// New sessions are admitted no more, or again: a maintenance, an opening, the service.
    Doors,
    /// The gate accepts no new connections any more.
    Drain,
}

/// Something that happened at a moment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Its number since the gate's start, from 1.
    pub number: u64,
    /// When, since the gate's start.
    pub at: Duration,
    /// Its kind.
    pub kind: EventKind,
    /// What happened, a clause.
    pub text: String,
}

/// The last hour.
#[derive(Clone, Debug, Default)]
pub struct History {
    records: VecDeque<Record>,
    events: VecDeque<Event>,
    numbered: u64,
}

impl History {
    /// Adds a record. Its time is not before that of the one before.
    pub fn push(&mut self, record: Record) {
        if self.records.len() == RECORDS {
            self.records.pop_front();
        }
        self.records.push_back(record);
        let hour = Duration::from_secs(RECORDS as u64);
        while self.events.front().is_some_and(|event| event.at + hour < record.at) {
            self.events.pop_front();
        }
    }

    /// Adds an event. Its time is not before that of the one before.
    pub fn note(&mut self, at: Duration, kind: EventKind, text: &str) {
        if self.events.len() == EVENTS {
            self.events.pop_front();
        }
        self.numbered += 1;
        let text = match text.char_indices().nth(EVENT_LETTERS) {
            Some((end, _)) => format!("{}…", &text[..end]),
            None => text.to_owned(),
        };
        self.events.push_back(Event { number: self.numbered, at, kind, text });
    }

    /// The end of the last record.
    pub fn now(&self) -> Duration {
        self.records.back().map(|last| last.at).unwrap_or_default()
    }

    /// The records that ended after `from`, up to and including `to`, in their order.
    pub fn between(&self, from: Duration, to: Duration) -> impl Iterator<Item = &Record> {
        let after = |time| self.records.partition_point(|record| record.at <= time);
        self.records.range(after(from)..after(to).max(after(from)))
    }

    /// The records of the time before the last record's end.
    pub fn last(&self, time: Duration) -> impl Iterator<Item = &Record> {
        self.between(self.now().saturating_sub(time), self.now())
    }

    /// The events of the last hour, the first one first.
    pub fn events(&self) -> impl DoubleEndedIterator<Item = &Event> {
        self.events.iter()
    }
}

/// The history of a gate, which keeps it in one place and shows it in another.
#[derive(Clone, Debug, Default)]
pub struct SharedHistory(Arc<Mutex<History>>);

impl SharedHistory {
    /// Hold the lock for a record, or for drawing a page.
    pub fn lock(&self) -> MutexGuard<'_, History> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Records summed up.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stretch {
    /// Their length, in seconds; 0 without any.
    pub seconds: f64,
    /// Sums of [`Record::offered`], and so on.
    pub offered: u64,
    /// See [`Record::admitted`].
    pub admitted: u64,
    /// See [`Record::refused`].
    pub refused: u64,
    /// See [`Record::left`].
    pub left: u64,
    /// See [`Record::returning`].
    pub returning: u64,
    /// See [`Record::full`].
    pub full: u64,
    /// See [`Record::resumed`].
    pub resumed: u64,
    /// See [`Record::errors`].
    pub errors: u64,
    /// The most that waited at the end of a record.
    pub most_waiting: u32,
    /// The most active sessions at the end of a record.
    pub most_sessions: u32,
    /// See [`Record::durations`].
    pub durations: [u64; DurationBucket::COUNT],
    /// The last known [`Record::capacity_per_s`].
    pub capacity_per_s: Option<f64>,
    /// Mean of [`Record::in_use`] over the records in which it was known.
    pub in_use: ByResource<f64>,
}

impl Stretch {
    /// The sum of records.
    pub fn of<'a>(records: impl IntoIterator<Item = &'a Record>) -> Self {
        let (mut sum, mut known) = (Self::default(), ByResource::<f64>::default());
        for record in records {
            sum.seconds += record.length.as_secs_f64();
            for (sum, count) in [
                (&mut sum.offered, record.offered),
                (&mut sum.admitted, record.admitted),
                (&mut sum.refused, record.refused),
                (&mut sum.left, record.left),
                (&mut sum.returning, record.returning),
                (&mut sum.full, record.full),
                (&mut sum.resumed, record.resumed),
                (&mut sum.errors, record.errors),
            ] {
                *sum += u64::from(count);
            }
            for (sum, count) in sum.durations.iter_mut().zip(record.durations) {
                *sum += u64::from(count);
            }
            sum.most_waiting = sum.most_waiting.max(record.waiting);
            sum.most_sessions = sum.most_sessions.max(record.sessions);
            sum.capacity_per_s = record.capacity_per_s.map(f64::from).or(sum.capacity_per_s);
            for (name, share) in record.in_use.iter() {
                *sum.in_use.entry(name) += f64::from(*share);
                *known.entry(name) += 1.0;
            }
        }
        sum.in_use = sum.in_use.map(|name, share| share / known.get(name).copied().unwrap_or(1.0));
        sum
    }

    /// A count per second; not a number without records.
    pub fn per_s(&self, count: u64) -> f64 {
        count as f64 / self.seconds
    }

    /// Requests that were over.
    pub fn requests(&self) -> u64 {
        self.durations.iter().sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_control::ResourceName::{Gate, Upstream};

    const SECOND: Duration = Duration::from_secs(1);

    fn at(second: u64) -> Record {
        Record { at: SECOND * second as u32, length: SECOND, offered: 2, ..Record::default() }
    }

    fn of(seconds: std::ops::RangeInclusive<u64>) -> History {
        let mut history = History::default();
        seconds.for_each(|second| history.push(at(second)));
        history
    }

    #[test]
    fn an_hour_is_kept_and_no_more() {
        let history = of(1..=4000);
        let kept: Vec<_> = history.last(SECOND * 10_000).map(|record| record.at).collect();
        assert_eq!(
            (kept.len(), kept[0], kept[RECORDS - 1]),
            (RECORDS, SECOND * 401, SECOND * 4000)
        );
        assert!(size_of::<Record>() * RECORDS < 1_000_000, "below a megabyte in all");
    }

    #[test]
    fn a_time_has_the_records_that_ended_within_it() {
        let history = of(1..=10);
        let between = |from, to| history.between(SECOND * from, SECOND * to).count();
        assert_eq!((between(0, 3), between(3, 10), between(10, 20)), (3, 7, 0));
        assert_eq!(between(9, 2), 0, "no time at all");
        assert_eq!(history.last(SECOND * 4).count(), 4);
        assert_eq!(History::default().last(SECOND).count(), 0);
    }

    #[test]
    fn however_much_happens_the_latest_events_of_an_hour_are_kept_and_are_short() {
        let mut history = History::default();
        for second in 0..1000 {
            history.note(SECOND * second, EventKind::Lost, &"ä".repeat(1000));
        }
        let events: Vec<_> = history.events().collect();
        assert_eq!(
            (events.len(), events[0].number, events[EVENTS - 1].number),
            (EVENTS, 801, 1000)
        );
        assert!(events.iter().all(|event| event.text.chars().count() == EVENT_LETTERS + 1));
        history.push(at(900 + 3600));
        assert_eq!(history.events().next().unwrap().at, SECOND * 900, "those before are forgotten");
    }

    #[test]
    fn a_stretch_has_sums_peaks_the_last_capacity_and_the_mean_use_where_it_is_known() {
        let records = [
            Record { waiting: 7, capacity_per_s: Some(50.0), ..at(1) },
            Record { in_use: ByResource::default().with(Gate, 0.25), sessions: 3, ..at(2) },
            Record { in_use: ByResource::default().with(Gate, 0.75), ..at(3) },
        ];
        let stretch = Stretch::of(&records);
        assert_eq!((stretch.offered, stretch.per_s(stretch.offered)), (6, 2.0));
        assert_eq!((stretch.most_waiting, stretch.most_sessions), (7, 3));
        assert_eq!(stretch.capacity_per_s, Some(50.0));
        assert_eq!((stretch.in_use.get(Gate), stretch.in_use.get(Upstream)), (Some(&0.5), None));
        let none = Stretch::of(&[]);
        assert!(none.per_s(none.offered).is_nan());
    }
}
