//! A capacity by the CPU time of a session: probes at loads that approach it.

use tidegate_host::CoreUse;

use crate::record::Record;

/// Use of the processors from which a probe tells their capacity.
const TELLING: f64 = 0.75;
/// Share of the sessions that complete in a run that is carried.
const CARRIED: f64 = 0.95;
/// Factor of the assumed capacity after a run that lost customers.
const BACK_OFF: f64 = 0.85;

/// The probes of a capacity.
#[derive(Clone, Debug)]
pub struct Probes {
    /// The probes' shares of the estimate before them, of those that are left.
    shares: &'static [f64],
    /// Mean requests of a session.
    requests_each: f64,
    /// The estimate so far, in sessions per second.
    per_s: f64,
}

impl Probes {
    /// Probes that begin at this load, in sessions per second. Work costs up to half as much again
    /// on a processor that mostly sleeps, so a light probe underestimates the capacity: each
    /// further one has such a share of the estimate before it.
    pub fn new(first_per_s: f64, shares: &'static [f64], requests_each: f64) -> Self {
        Self { shares, requests_each, per_s: first_per_s }
    }

    /// Sessions per second of the next probe; `None` once the capacity is known.
    pub fn next_per_s(&self) -> Option<f64> {
        self.shares.first().map(|share| share * self.per_s)
    }

    /// Takes what the next probe gave.
    pub fn take(&mut self, record: &Record) {
        let Some((share, rest)) = self.shares.split_first() else { return };
        self.shares = rest;
        if !is_carried(record) {
            self.per_s *= BACK_OFF * share;
            return;
        }
        self.per_s = carried(record, self.requests_each).unwrap_or(self.per_s);
        if use_of_available(record) >= TELLING {
            self.shares = &[];
        }
    }

    /// Probes that are left, at most.
    pub fn left(&self) -> usize {
        self.shares.len()
    }

    /// The capacity by the probes so far, in sessions per second.
    pub fn capacity_per_s(&self) -> f64 {
        self.per_s
    }
}

/// Sessions per second that the processors can carry, by what a run that they carried used of
/// those that were available to it: `requests per second / requests per session · available /
/// used`. What others use is not available.
fn carried(record: &Record, requests_each: f64) -> Option<f64> {
    let (requests, share) = (record.figure("requests_per_s")?, record.figure("server_use")?);
    let cpus = record.planned.cpus;
    let available = record.figure("available_cpus").unwrap_or(cpus);
    // Clocks of processes are read a little before and after the window.
    let used = (share * cpus / available).min(1.0);
    let capacity = requests / requests_each / used;
    (capacity.is_finite() && capacity > 0.0).then_some(capacity)
}

/// A capacity.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Capacity {
    /// Sessions per second.
    pub(super) per_s: f64,
    /// Whether a baseline told it; otherwise it is to be assumed next.
    pub(super) is_confirmed: bool,
}

impl Capacity {
    /// What a baseline tells that assumed this capacity, by the same rules as probes. Where other
    /// programs used the processors, customers may have been lost to these.
    pub(super) fn by(baseline: &Record, assumed: f64, requests_each: f64) -> Self {
        if let Some(per_s) = told(baseline, requests_each) {
            return Self { per_s, is_confirmed: true };
        }
        let per_s = match is_carried(baseline) {
            true => carried(baseline, requests_each).unwrap_or(assumed),
            false if disturbing_use(baseline).is_some() => assumed,
            false => BACK_OFF * assumed,
        };
        Self { per_s, is_confirmed: false }
    }
}

/// [`Record::others_use`]; none if it was too small to disturb the run.
pub(super) fn disturbing_use(record: &Record) -> Option<f64> {
    record.others_use().filter(|others| *others > CoreUse::DISTURBING)
}

/// The use of the processors that were available, 0 to 1.
fn use_of_available(record: &Record) -> f64 {
    let used = record.figure("server_use").unwrap_or_default() * record.planned.cpus;
    used / record.figure("available_cpus").unwrap_or(record.planned.cpus).max(1e-9)
}

/// Whether nearly all sessions of a run completed.
fn is_carried(record: &Record) -> bool {
    record.figure("completed_ratio").unwrap_or_default() >= CARRIED
}

/// The capacity that a probe or baseline told, in sessions per second. None if it lost customers or
/// hardly used the processors.
pub(super) fn told(record: &Record, requests_each: f64) -> Option<f64> {
    let tells = is_carried(record) && use_of_available(record) >= TELLING;
    carried(record, requests_each).filter(|_| tells)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn a_capacity_is_what_was_carried_by_what_it_used() {
        let of = |requests, used| {
            carried(
                &record("a", 0, &[], &[("requests_per_s", requests), ("server_use", used)]),
                10.0,
            )
        };
        assert_eq!(of(300.0, 0.5), Some(60.0));
        assert_eq!(of(300.0, 1.02), Some(30.0));
        // Others left a half of the processor, of which the run used three fifths.
        let figures = [("requests_per_s", 300.0), ("server_use", 0.3), ("available_cpus", 0.5)];
        let beside = record("a", 0, &[], &figures);
        assert_eq!((carried(&beside, 10.0), use_of_available(&beside)), (Some(50.0), 0.6));
        assert_eq!(of(0.0, 0.5), None);
        assert_eq!(of(300.0, 0.0), None);
    }

    #[test]
    fn a_baseline_that_lost_customers_or_hardly_used_the_processors_tells_no_capacity() {
        let told = |used, completed, others| {
            let figures = [
                ("requests_per_s", 300.0),
                ("server_use", used),
                ("completed_ratio", completed),
                ("others_use", others),
            ];
            let capacity = Capacity::by(&record("a", 0, &[], &figures), 100.0, 10.0);
            (capacity.per_s, capacity.is_confirmed)
        };
        assert_eq!(told(0.75, 0.95, 0.0), (40.0, true));
        assert_eq!(told(0.75, 0.95, 0.4), (40.0, true), "others took nothing from it");
        assert_eq!(told(0.5, 1.0, 0.0), (60.0, false), "a processor that mostly sleeps");
        assert_eq!(told(0.9, 0.94, 0.0), (85.0, false));
        assert_eq!(told(0.9, 0.94, 0.2), (100.0, false), "they may be lost to others");
        let mut beside = record("a", 0, &[], &[("others_use", 0.55)]);
        assert_eq!(disturbing_use(&beside), Some(0.55));
        beside.planned.settings.neighbour = 0.5;
        assert_eq!(disturbing_use(&beside), None, "the neighbour is part of the run");
    }

    #[test]
    fn probes_approach_the_capacity_until_one_tells_it_or_none_is_left() {
        let probe = |requests, used, completed| {
            let figures = [
                ("requests_per_s", requests),
                ("server_use", used),
                ("completed_ratio", completed),
            ];
            record("a", 0, &[], &figures)
        };
        let mut probes = Probes::new(10.0, &[1.0, 0.5, 0.9, 0.9], 10.0);
        assert_eq!(probes.next_per_s(), Some(10.0));
        probes.take(&probe(100.0, 0.25, 1.0));
        assert_eq!((probes.next_per_s(), probes.left()), (Some(20.0), 3));
        probes.take(&probe(50.0, 1.0, 0.5));
        assert_eq!(probes.capacity_per_s(), 0.85 * 20.0, "customers were lost");
        probes.take(&probe(150.0, 0.75, 1.0));
        assert_eq!((probes.next_per_s(), probes.capacity_per_s()), (None, 20.0));
    }
}
