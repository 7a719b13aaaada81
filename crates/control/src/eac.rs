//! The admission rule of 2007, so that it can be compared.

use std::time::Duration;

use crate::Time;
use crate::costs::Costs;
use crate::number::sane;
use crate::policy::EacProfile;
use crate::reading::Reading;
use crate::resource::ResourceName;

/// Admits at most so many new sessions per interval:
///
/// `N(k) = floor((k × A(k) − O(k) × CTO) / CTN)`
///
/// k: the interval's length in seconds; A: processors; O: returning
/// connections; CTO, CTN: CPU seconds that a returning and a new connection
/// cost, their requests included.
///
/// Source: paper 001, section 5. It counts O(k) in the interval k itself and
/// computes N(k) at the start of k, which cannot both be: we take O of the
/// interval before. All N(k) are there at the interval's start, as in the
/// paper; nothing is carried over.
///
/// CTO and CTN are those of an [`EacProfile`], as in the paper, or learned while
/// running.
///
/// Deviation: the paper has one machine. Where gate and upstream have processors
/// of their own, N is the least that the rule gives for either; a profile, which
/// does not tell them apart, is of all their processors together.
#[derive(Clone, Debug)]
pub(crate) struct Eac {
    interval: Duration,
    started: Time,
    left: u64,
    released: u64,
    returned: u64,
    cpus: Cpus,
    profile: Option<EacProfile>,
}

/// Processors that the rule knows of.
#[derive(Clone, Copy, Debug)]
struct Cpus {
    gate: f64,
    upstream: Option<f64>,
    shared: Option<f64>,
}

impl Eac {
    pub(crate) fn new(
        interval: Duration,
        profile: Option<EacProfile>,
        cpus: f64,
        costs: &Costs,
    ) -> Self {
        let interval = interval.clamp(Duration::from_millis(1), Duration::from_secs(3600));
        let cpus = Cpus { gate: sane(cpus), upstream: None, shared: Some(sane(cpus)) };
        let profile = profile.map(|EacProfile { new_cpu_s, returning_cpu_s }| EacProfile {
            new_cpu_s: sane(new_cpu_s),
            returning_cpu_s: sane(returning_cpu_s),
        });
        let (started, returned) = (Time::ZERO, 0);
        let mut eac = Self { interval, started, left: 0, released: 0, returned, cpus, profile };
        eac.release(0, costs);
        eac
    }

    pub(crate) fn observe(&mut self, reading: &Reading) {
        let capacity = |name| reading.usage_of(name).map(|usage| sane(usage.capacity_cpus));
        self.cpus = Cpus {
            gate: sane(reading.gate().capacity_cpus),
            upstream: capacity(ResourceName::Upstream),
            shared: capacity(ResourceName::Host),
        };
    }

    pub(crate) fn returning(&mut self, now: Time, costs: &Costs) {
        self.begin(now, costs);
        self.returned += 1;
    }

    pub(crate) fn take(&mut self, now: Time, costs: &Costs) -> Result<(), Duration> {
        self.begin(now, costs);
        if self.left == 0 {
            return Err(self.started.saturating_add(self.interval).saturating_sub(now));
        }
        self.left -= 1;
        Ok(())
    }

    pub(crate) fn budget(&self) -> u64 {
        self.left
    }

    pub(crate) fn limit_per_s(&self) -> f64 {
        self.released as f64 / self.interval.as_secs_f64()
    }

    pub(crate) fn why(&self, costs: &Costs) -> String {
        let (new, returning) = self.connection_costs(costs);
        format!(
            "of {} released for these {:.1} s, {} are left; a new connection costs {:.2} ms, \
             a returning one {:.2} ms",
            self.released,
            self.interval.as_secs_f64(),
            self.left,
            new * 1e3,
            returning * 1e3,
        )
    }

    pub(crate) fn why_not(&self) -> String {
        let Self { released, interval, .. } = self;
        format!("all of the {released} released for {:.1} s were taken", interval.as_secs_f64())
    }

    /// Begins the interval that `now` lies in, if it has not begun yet.
    fn begin(&mut self, now: Time, costs: &Costs) {
        let passed = now.saturating_sub(self.started).as_nanos() / self.interval.as_nanos();
        if passed == 0 {
            return;
        }
        // After an interval in which nobody came, none returned in the last.
        let returned = if passed == 1 { self.returned } else { 0 };
        let over = now.saturating_sub(self.started).as_nanos() % self.interval.as_nanos();
        self.started = now - Duration::from_nanos(over as u64);
        self.release(returned, costs);
    }

    /// Releases what the interval that begins has.
    fn release(&mut self, returned: u64, costs: &Costs) {
        self.released = match self.profile {
            Some(profile) => self.cpus.profiled(self.interval, returned, profile),
            None => self.cpus.released(self.interval, returned, costs),
        };
        (self.left, self.returned) = (self.released, 0);
    }

    /// CPU seconds of a new and of a returning connection.
    fn connection_costs(&self, costs: &Costs) -> (f64, f64) {
        match self.profile {
            Some(profile) => (profile.new_cpu_s, profile.returning_cpu_s),
            None => (costs.new.connection_cpu_s, costs.returning.connection_cpu_s),
        }
    }
}

impl Cpus {
    fn profiled(&self, interval: Duration, returned: u64, profile: EacProfile) -> u64 {
        let all = self.shared.unwrap_or(self.gate + self.upstream.unwrap_or_default());
        let EacProfile { new_cpu_s, returning_cpu_s } = profile;
        new_sessions(interval.as_secs_f64(), all, returned, returning_cpu_s, new_cpu_s)
    }

    fn released(&self, interval: Duration, returned: u64, costs: &Costs) -> u64 {
        let k = interval.as_secs_f64();
        let (new, old) = (&costs.new, &costs.returning);
        if let Some(shared) = self.shared {
            return new_sessions(k, shared, returned, old.connection_cpu_s, new.connection_cpu_s);
        }
        let gate = |class: &crate::ClassCost| {
            class.handshake_cpu_s + class.requests_per_connection * costs.gate_request_cpu_s
        };
        let by_gate = new_sessions(k, self.gate, returned, gate(old), gate(new));
        let upstream =
            |class: &crate::ClassCost| class.requests_per_connection * costs.upstream_request_cpu_s;
        match self.upstream {
            Some(cpus) if costs.upstream_request_cpu_s > 0.0 => {
                by_gate.min(new_sessions(k, cpus, returned, upstream(old), upstream(new)))
            }
            _ => by_gate,
        }
    }
}

/// `floor((k × cpus − returned × cto) / ctn)`, never negative.
fn new_sessions(k: f64, cpus: f64, returned: u64, cto: f64, ctn: f64) -> u64 {
    // Casts of floats saturate: NaN is 0, what is negative is 0.
    ((k * cpus - returned as f64 * cto) / ctn).floor() as u64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByResource;
    use crate::{ClassCost, Usage};

    fn costs(cto: f64, ctn: f64) -> Costs {
        let class = |connection_cpu_s| ClassCost {
            handshake_cpu_s: connection_cpu_s / 2.0,
            requests_per_connection: 1.0,
            connection_cpu_s,
        };
        Costs {
            new: class(ctn),
            returning: class(cto),
            gate_request_cpu_s: ctn / 8.0,
            upstream_request_cpu_s: ctn / 4.0,
            routed_request_cpu_s: 0.0,
            upstream_share: 1.0,
            session_cpu_s: ctn,
        }
    }

    const K: Duration = Duration::from_secs(2);

    #[test]
    fn the_formula_against_numbers_worked_out_by_hand() {
        // The paper's machine: 175 ms and 2 ms. (2 × 1 − 100 × 0.002) / 0.175 = 10.28…
        assert_eq!(new_sessions(2.0, 1.0, 100, 0.002, 0.175), 10);
        // (2 × 4 − 100 × 0.002) / 0.175 = 44.57…
        assert_eq!(new_sessions(2.0, 4.0, 100, 0.002, 0.175), 44);
        // More returning than there is room for: none, not less than none.
        assert_eq!(new_sessions(2.0, 1.0, 1001, 0.002, 0.175), 0);
        assert_eq!(new_sessions(2.0, 1.0, 0, 0.002, f64::NAN), 0);
    }

    #[test]
    fn all_are_released_at_the_start_of_the_interval() {
        let costs = costs(0.01, 0.25);
        let mut eac = Eac::new(K, None, 1.0, &costs);
        let admitted = |eac: &mut Eac, ms| {
            (0..100).filter(|_| eac.take(Time::from_millis(ms), &costs).is_ok()).count()
        };
        assert_eq!(admitted(&mut eac, 0), 8);
        assert_eq!(admitted(&mut eac, 1999), 0);
        (0..100).for_each(|_| eac.returning(Time::from_millis(1999), &costs));
        // (2 − 100 × 0.01) / 0.25
        assert_eq!(admitted(&mut eac, 2000), 4);
        assert_eq!(eac.take(Time::from_millis(2500), &costs), Err(Duration::from_millis(1500)));
    }

    #[test]
    fn returning_connections_count_in_the_next_interval_only() {
        let costs = costs(0.01, 0.25);
        let mut eac = Eac::new(K, None, 1.0, &costs);
        (0..100).for_each(|_| eac.returning(Time::from_secs(1), &costs));
        eac.begin(Time::from_secs(3), &costs);
        assert_eq!((eac.budget(), eac.started), (4, Time::from_secs(2)));
        eac.begin(Time::from_secs(9), &costs);
        assert_eq!((eac.budget(), eac.started), (8, Time::from_secs(8)));
    }

    fn cpus(capacity_cpus: f64) -> Usage {
        Usage { capacity_cpus, ..Usage::default() }
    }

    #[test]
    fn of_two_machines_the_tighter_rules() {
        let costs = costs(0.01, 0.4);
        let mut eac = Eac::new(K, None, 1.0, &costs);
        eac.observe(&Reading {
            usage: ByResource::default()
                .with(ResourceName::Gate, cpus(1.0))
                .with(ResourceName::Upstream, cpus(0.5)),
            ..Reading::default()
        });
        eac.begin(K, &costs);
        // Gate: 2 / (0.2 + 0.05) = 8. Upstream: 1 / 0.1 = 10.
        assert_eq!(eac.budget(), 8);
        eac.observe(&Reading {
            usage: ByResource::default()
                .with(ResourceName::Gate, cpus(1.0))
                .with(ResourceName::Upstream, cpus(0.25)),
            ..Reading::default()
        });
        eac.begin(2 * K, &costs);
        // Upstream: 0.5 / 0.1 = 5.
        assert_eq!(eac.budget(), 5);
    }

    #[test]
    fn what_was_profiled_counts_whatever_is_learned() {
        // 2 s × 1 CPU, less 100 × 2 ms, by 18 ms: 100.
        let profile = EacProfile { new_cpu_s: 0.018, returning_cpu_s: 0.002 };
        let costs = costs(0.5, 0.5);
        let mut eac = Eac::new(K, Some(profile), 1.0, &costs);
        (0..100).for_each(|_| eac.returning(Time::from_millis(10), &costs));
        let taken = (0..1000).filter(|_| eac.take(K, &costs).is_ok()).count();
        assert_eq!(taken, 100);
        assert!(eac.why(&costs).contains("a new connection costs 18.00 ms"), "{}", eac.why(&costs));
    }
}
