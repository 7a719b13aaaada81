//! Who acts for all: a key of a bucket, written by compare-and-set.
//!
//! The holder writes the key again and again. Another takes it once it has seen the same revision
//! for [`LEASE`] by its own clock; the holder stops [`MARGIN`] earlier, counted from before its last
//! write. So no two act at once, whatever the clocks of the machines say, and however long a message
//! takes. Each tenure has an epoch, a fencing token: it grows from tenure to tenure,
//! and who receives orders refuses those of a lower epoch.
//!
//! A value that does not open is broken, or sealed under another secret: a holder writes over it,
//! and all others wait as for any other holder. So a candidate with a wrong secret never takes the
//! lease from one that holds it.

use crate::Sealer;
use serde::{Deserialize, Serialize};
use std::time::{Duration, Instant};

/// How long the key may stay the same before another takes it.
pub const LEASE: Duration = Duration::from_millis(600);
/// How much earlier the holder stops.
const MARGIN: Duration = Duration::from_millis(100);

/// The key as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Read {
    /// It was never written.
    Missing,
    /// Its revision and what it says.
    Tenure(u64, Tenure),
    /// Its revision; the value does not open.
    Foreign(u64),
}

/// A tenure of the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Tenure {
    /// The name of the holder; empty once it has given the lease back.
    pub holder: String,
    /// Which start of the holder, in hexadecimal digits.
    pub incarnation: String,
    /// Grows from tenure to tenure, also if the same holder begins the next one.
    pub epoch: u64,
}

/// What one candidate knows of the lease. Pure: the time is an argument; the key is read and written
/// by the caller.
#[derive(Debug)]
pub struct Lease {
    name: String,
    incarnation: String,
    /// The key as it was last seen, and since when it has been the same.
    seen: Option<(u64, Instant)>,
    tenure: Option<Tenure>,
    /// Own tenure: its epoch, and when the last write began.
    held: Option<(u64, Instant)>,
    highest: u64,
}

/// What to write, if the key still has this revision.
#[derive(Debug, PartialEq, Eq)]
pub struct Write {
    /// The revision.
    pub revision: u64,
    /// The tenure.
    pub tenure: Tenure,
}

impl Lease {
    /// A candidate that knows nothing yet.
    pub fn new(name: &str, sealer: &Sealer) -> Self {
        let digits = sealer.incarnation().into_iter().map(|byte| format!("{byte:02x}"));
        let (name, incarnation) = (name.to_owned(), digits.collect());
        Self { name, incarnation, seen: None, tenure: None, held: None, highest: 0 }
    }

    /// The tenure that was last seen, own or another's; `None` if there is none.
    pub fn tenure(&self) -> Option<&Tenure> {
        self.tenure.as_ref()
    }

    /// The epoch of the own tenure, while it lasts.
    pub fn held(&self, now: Instant) -> Option<u64> {
        self.left(now).map(|(epoch, _)| epoch)
    }

    /// The epoch of the own tenure, and how long it lasts without a further write.
    pub fn left(&self, now: Instant) -> Option<(u64, Duration)> {
        let (epoch, written) = self.held?;
        let left = (LEASE - MARGIN).saturating_sub(now.saturating_duration_since(written));
        (!left.is_zero()).then_some((epoch, left))
    }

    /// An order of this epoch was seen: the epoch of a later tenure is greater, also if the bucket
    /// was lost and its revisions begin again.
    pub fn note_epoch(&mut self, epoch: u64) {
        self.highest = self.highest.max(epoch);
    }

    /// When another's tenure may be over: the key is to be read again then.
    pub fn expires(&self) -> Option<Instant> {
        self.seen.filter(|_| self.held.is_none()).map(|(_, since)| since + LEASE)
    }

    /// What to write, now that the key was read.
    pub fn read(&mut self, key: Read, now: Instant) -> Option<Write> {
        let foreign = matches!(key, Read::Foreign(_));
        let (revision, tenure) = match key {
            Read::Missing => (0, None),
            Read::Foreign(revision) => (revision, None),
            Read::Tenure(revision, tenure) => {
                self.highest = self.highest.max(tenure.epoch);
                (revision, Some(tenure).filter(|tenure| !tenure.holder.is_empty()))
            }
        };
        // The revisions of a bucket that was lost begin again.
        if self.tenure != tenure || self.seen.is_none_or(|(seen, _)| seen != revision) {
            self.seen = Some((revision, now));
        }
        let since = self.seen.map_or(now, |(_, since)| since);
        self.tenure = tenure;
        let is_own = |tenure: &Tenure| {
            (&tenure.holder, &tenure.incarnation) == (&self.name, &self.incarnation)
        };
        let own = self.tenure.as_ref().is_some_and(is_own);
        // A tenure that is over does not go on, though nobody else has begun one: its orders were
        // the newest of their epoch, and those to come are numbered anew.
        let goes_on = self.held(now).filter(|_| own || foreign);
        let unheld = own || self.tenure.is_none() && !foreign;
        let free = unheld || now.saturating_duration_since(since) >= LEASE;
        if goes_on.is_none() {
            self.held = None;
        }
        (goes_on.is_some() || free).then(|| {
            let epoch = goes_on.unwrap_or_else(|| self.highest.max(revision).saturating_add(1));
            Write { revision, tenure: self.of(epoch) }
        })
    }

    /// The key was written, which began at `began`, and has this revision now; `None` if another
    /// was faster.
    pub fn wrote(&mut self, write: &Write, revision: Option<u64>, began: Instant) {
        match revision {
            Some(revision) => {
                self.seen = Some((revision, began));
                self.held = Some((write.tenure.epoch, began));
                self.highest = self.highest.max(write.tenure.epoch);
                self.tenure = Some(write.tenure.clone());
            }
            None => self.held = None,
        }
    }

    /// What to write to give the lease back; `None` if it is not held.
    pub fn give_back(&self) -> Option<Write> {
        let (epoch, _) = self.held?;
        let (revision, _) = self.seen?;
        let tenure = Tenure { holder: String::new(), ..self.of(epoch) };
        Some(Write { revision, tenure })
    }

    /// That was written, which ends the tenure, or another was faster.
    pub fn gave_back(&mut self) {
        self.held = None;
    }

    fn of(&self, epoch: u64) -> Tenure {
        Tenure { holder: self.name.clone(), incarnation: self.incarnation.clone(), epoch }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Secret;

    fn lease(name: &str) -> Lease {
        let secret = Secret::new(&[7; 32], "shop").unwrap();
        Lease::new(name, &Sealer::new(&secret, name, crate::unix_now()).unwrap())
    }

    /// The key as NATS has it.
    #[derive(Default)]
    struct Key {
        revision: u64,
        tenure: Option<Tenure>,
    }

    impl Key {
        /// Reads and writes it, as a gate does; the write takes `late`.
        fn step(&mut self, lease: &mut Lease, now: Instant) {
            if let Some(write) = lease.read(self.read(), now) {
                self.write(lease, &write, now);
            }
        }

        fn read(&self) -> Read {
            match &self.tenure {
                _ if self.revision == 0 => Read::Missing,
                Some(tenure) => Read::Tenure(self.revision, tenure.clone()),
                None => Read::Foreign(self.revision),
            }
        }

        fn write(&mut self, lease: &mut Lease, write: &Write, began: Instant) {
            let written = write.revision == self.revision;
            if written {
                self.revision += 1;
                self.tenure = Some(write.tenure.clone());
            }
            lease.wrote(write, written.then_some(self.revision), began);
        }
    }

    const STEP: Duration = Duration::from_millis(200);

    #[test]
    fn one_holds_it_and_another_takes_it_a_lease_after_the_last_write() {
        let (mut key, start) = (Key::default(), Instant::now());
        let (mut first, mut second) = (lease("first"), lease("second"));
        for step in 0..10 {
            key.step(&mut first, start + STEP * step);
            key.step(&mut second, start + STEP * step);
            assert_eq!(first.held(start + STEP * step), Some(1));
            assert_eq!(second.held(start + STEP * step), None);
        }
        // The first is dead after its write at 1.8 s, which the second saw then.
        let taken = (10..20).find(|step| {
            let now = start + STEP * *step;
            key.step(&mut second, now);
            assert!(first.held(now).is_none() || second.held(now).is_none());
            second.held(now).is_some()
        });
        assert_eq!(taken, Some(12), "0.6 s after 1.8 s");
        let epoch = second.held(start + STEP * 12).unwrap();
        assert!(epoch > 1, "{epoch}");
        // It comes back and finds it taken.
        key.step(&mut first, start + STEP * 13);
        assert_eq!((first.held(start + STEP * 13), first.tenure()), (None, second.tenure()));
    }

    #[test]
    fn of_two_that_take_it_at_once_one_has_it() {
        let (mut key, start) = (Key::default(), Instant::now());
        let (mut first, mut second) = (lease("first"), lease("second"));
        let writes = [&mut first, &mut second].map(|it| it.read(Read::Missing, start).unwrap());
        key.write(&mut second, &writes[1], start);
        key.write(&mut first, &writes[0], start);
        assert_eq!((first.held(start), second.held(start)), (None, Some(1)));
    }

    #[test]
    fn a_holder_whose_writes_hang_stops_before_another_may_begin() {
        let (mut key, start) = (Key::default(), Instant::now());
        let (mut first, mut second) = (lease("first"), lease("second"));
        key.step(&mut first, start);
        key.step(&mut second, start);
        assert!(first.held(start + LEASE - MARGIN).is_none());
        key.step(&mut second, start + LEASE - Duration::from_millis(1));
        assert!(second.held(start + LEASE).is_none());
    }

    #[test]
    fn a_holder_that_lost_its_lease_and_takes_it_again_begins_a_new_epoch() {
        // NATS was gone for a while, and the key is still its own.
        let (mut key, mut first, start) = (Key::default(), lease("first"), Instant::now());
        key.step(&mut first, start);
        key.step(&mut first, start + STEP);
        assert_eq!(first.held(start + STEP), Some(1));
        let back = start + LEASE * 9;
        assert_eq!(first.held(back), None);
        key.step(&mut first, back);
        let epoch = first.held(back).unwrap();
        assert!(epoch > 1, "orders of epoch {epoch} are numbered anew, and those before are newer");
    }

    #[test]
    fn epochs_grow_though_the_bucket_is_lost() {
        let (mut first, start) = (lease("first"), Instant::now());
        first.note_epoch(70);
        let mut key = Key::default();
        key.step(&mut first, start);
        assert_eq!(first.held(start), Some(71));
    }

    #[test]
    fn a_value_that_does_not_open_is_written_over_by_the_holder_and_by_others_after_a_lease() {
        let start = Instant::now();
        let mut key = Key { revision: 9, tenure: None };
        let (mut first, mut second) = (lease("first"), lease("second"));
        key.step(&mut first, start);
        assert_eq!(first.held(start), None);
        key.step(&mut first, start + LEASE);
        assert_eq!(first.held(start + LEASE), Some(10));
        // Garbage changes nothing for a holder, however often it comes.
        for step in 1..9 {
            let now = start + LEASE + STEP * step;
            key = Key { revision: key.revision + 1, tenure: None };
            key.step(&mut second, now);
            key.step(&mut first, now);
            assert_eq!((first.held(now), second.held(now)), (Some(10), None));
        }
    }

    #[test]
    fn a_candidate_with_another_secret_never_takes_the_lease_from_its_holder() {
        let (mut key, start) = (Key::default(), Instant::now());
        let (mut holder, mut wrong) = (lease("holder"), lease("wrong"));
        for step in 0..50 {
            let now = start + STEP * step;
            key.step(&mut holder, now);
            // It cannot open what the holder wrote.
            assert_eq!(wrong.read(Read::Foreign(key.revision), now), None);
            assert_eq!(holder.held(now), Some(1));
        }
    }

    #[test]
    fn a_lease_that_was_given_back_is_free_at_once() {
        let start = Instant::now();
        let (mut key, mut first, mut second) = (Key::default(), lease("first"), lease("second"));
        key.step(&mut first, start);
        let given_back = first.give_back().unwrap();
        first.gave_back();
        key = Key { revision: given_back.revision + 1, tenure: Some(given_back.tenure) };
        assert!(first.held(start).is_none());
        key.step(&mut second, start);
        assert_eq!(second.held(start), Some(3));
    }
}
