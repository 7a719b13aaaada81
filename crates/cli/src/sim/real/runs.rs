//! A scenario on the real gate: the capacity of the server, then a run under each policy, with
//! customers and attackers, and what changes meanwhile.

use std::ops::ControlFlow;
use std::rc::Rc;
use std::time::Duration;

use tidegate_experiment::record::{Kind, Record};
use tidegate_experiment::schedule::planned;
use tidegate_experiment::{
    Customers, Driver, Offered, Probes, Readings, Resources, Result, Run, Schedule, Started, Taken,
    Window, requests_each,
};
use tidegate_lab::{Neighbour, Quota};
use tidegate_load::{Point, Snapshot};
use tidegate_sim::Scenario;

use super::conditions::{self, Conditions};
use crate::testbed::{answered, customers, figure, probes, settings, times};

/// An attacker who is admitted sends one request.
const ATTACKERS: &str = "\
name = \"attackers\"
[session]
start = \"Home\"
max_requests = 1
[pages]
Home = { path = \"/\" }
[transitions.Home]
End = 1.0
";
/// Length of a probe; at most a fourth of the scenario.
const PROBE_S: f64 = 3.0;
/// The probes' shares of the estimate before them.
const PROBES: &[f64] = &[1.0, 0.6, 0.8];
/// Load at which the capacity is measured, as a multiple of its estimate. A request costs
/// a fifth more on a processor that has time to sleep, so it is measured at full use, which
/// `tide` reaches without work in vain.
const FULL: f64 = 2.0;
/// Time that a run takes beside its load, in seconds.
const OVERHEAD_S: f64 = 1.0;

/// A run under a policy.
pub struct Measured {
    pub record: Record,
    /// Second by second.
    pub seconds: Vec<Point>,
    /// Sessions per second that the machine could complete during the run: its speed
    /// changes.
    pub capacity_per_s: f64,
}

/// The runs of one scenario.
pub struct GateRuns<'a> {
    scenario: &'a Scenario,
    conditions: &'a Conditions,
    policies: &'a [&'static str],
    /// The load of the scenario's level 1, as a multiple of the capacity.
    load: f64,
    resources: &'a Resources,
    /// What changes; none before the first run.
    changes: Option<Rc<Changes>>,
    probes: Probes,
    /// Sessions per second that the server completes at full use, and the run that showed it.
    capacity: Option<(f64, Record)>,
    seconds: Vec<Point>,
    measured: Vec<Measured>,
}

impl<'a> GateRuns<'a> {
    /// All runs are left.
    pub fn new(
        scenario: &'a Scenario,
        conditions: &'a Conditions,
        (policies, load): (&'a [&'static str], f64),
        resources: &'a Resources,
    ) -> Self {
        Self {
            scenario,
            conditions,
            policies,
            load,
            resources,
            changes: None,
            probes: probes(PROBES, &customers()),
            capacity: None,
            seconds: Vec::new(),
            measured: Vec::new(),
        }
    }

    /// The capacity, in sessions per second, and the run under each policy.
    pub fn finish(self) -> (f64, Vec<Measured>) {
        (self.capacity.map_or(0.0, |(per_s, _)| per_s), self.measured)
    }

    /// Length of a probe, in seconds.
    fn probe_s(&self) -> f64 {
        PROBE_S.min(self.scenario.duration_s / 4.0)
    }

    fn visitors(&self, what: &tidegate_load::Scenario, offered: Offered) -> Customers {
        Customers::new(what, offered, &self.resources.driver)
    }

    /// The scenario, whose level 1 is `per_s` sessions per second.
    fn crowd(&self, per_s: f64, changes: Rc<Changes>) -> Crowd {
        let Scenario { arrivals, duration_s, attacks, .. } = self.scenario;
        let arrivals = conditions::customers(arrivals, self.load * per_s, *duration_s);
        let attackers = attackers();
        let attacks = attacks.iter().map(|attack| {
            let until_s = attack.until_s.min(*duration_s);
            let arrivals = conditions::between(attack.load * per_s, attack.from_s, until_s);
            self.visitors(&attackers, arrivals.into())
        });
        let attacks = attacks.collect();
        Crowd { customers: self.visitors(&customers(), arrivals.into()), attacks, changes }
    }
}

fn attackers() -> tidegate_load::Scenario {
    let attackers = tidegate_load::Scenario::from_toml(ATTACKERS, "attackers");
    attackers.expect("the text above is a scenario")
}

impl<'a> Schedule<'a> for GateRuns<'a> {
    fn next(&mut self) -> Result<Option<Run<'a>>> {
        let changes = match &self.changes {
            Some(changes) => changes.clone(),
            None => Rc::new(Changes::new(self.conditions, self.resources)?),
        };
        self.changes = Some(changes.clone());
        self.seconds.clear();
        let Scenario { name, duration_s, watch_from_s, .. } = self.scenario;
        let probe_s = self.probe_s();
        let (what, policy, times, driver): (_, _, _, Box<dyn Driver>) =
            match (self.probes.next_per_s(), &self.capacity) {
                (Some(per_s), _) => {
                    let what = format!("probe-{}", PROBES.len() - self.probes.left() + 1);
                    let driver = self.visitors(&customers(), Offered::at(per_s, None));
                    (what, "off", times(probe_s / 2.0, probe_s), Box::new(driver))
                }
                (None, None) => {
                    let per_s = FULL * self.probes.capacity_per_s();
                    let driver = self.visitors(&customers(), Offered::at(per_s, None));
                    let what = "capacity".to_owned();
                    (what, "tide", times(probe_s, 2.0 * probe_s), Box::new(driver))
                }
                (None, Some((per_s, _))) => {
                    let Some(policy) = self.policies.get(self.measured.len()) else {
                        return Ok(None);
                    };
                    let times = times(*watch_from_s, duration_s - watch_from_s);
                    let driver = self.crowd(*per_s, changes);
                    ((*policy).to_owned(), *policy, times, Box::new(driver))
                }
            };
        let mut settings = settings(policy, &self.resources.server);
        settings.extra_cpu = self.conditions.extra_cpu_ms / 1e3;
        settings.time_scale = self.conditions.time_scale;
        settings.patience_scale = self.conditions.patience_scale;
        let id = (format!("{name}-{what}"), Kind::Run);
        let planned = planned(id, &settings, (times, 1), self.resources);
        let mut run = Run::new(what, planned, driver);
        run.overrides.gate_times = Some(self.conditions.times);
        Ok(Some(run))
    }

    fn watch(&mut self, snapshot: &Snapshot) -> ControlFlow<()> {
        self.seconds.extend(snapshot.second);
        ControlFlow::Continue(())
    }

    fn take(&mut self, record: &Record) -> Result<Taken> {
        if self.probes.left() > 0 {
            self.probes.take(record);
            return Ok(Taken::Kept);
        }
        answered(record, format!("{}, {}", self.scenario.name, record.planned.settings.policy))?;
        let Some((capacity_per_s, then)) = &self.capacity else {
            let requests = figure(record, "requests_per_s") / figure(record, "server_use");
            let per_s = requests / requests_each(&customers());
            self.capacity = Some((per_s, record.clone()));
            return Ok(Taken::Kept);
        };
        let costs = then.pulse_cost_s.zip(record.pulse_cost_s);
        let faster = costs.map_or(1.0, |(then, now)| then / now);
        self.measured.push(Measured {
            record: record.clone(),
            seconds: std::mem::take(&mut self.seconds),
            capacity_per_s: capacity_per_s * faster,
        });
        Ok(Taken::Kept)
    }

    fn left(&self) -> Option<Duration> {
        let probe_s = self.probe_s();
        let probes_s = self.probes.left() as f64 * (1.5 * probe_s + OVERHEAD_S);
        let capacity_s = if self.capacity.is_none() { 3.0 * probe_s + OVERHEAD_S } else { 0.0 };
        let runs = self.policies.len() - self.measured.len();
        let runs_s = runs as f64 * (self.scenario.duration_s + OVERHEAD_S);
        Some(Duration::from_secs_f64(probes_s + capacity_s + runs_s))
    }
}

/// What changes in a scenario.
struct Changes {
    conditions: Conditions,
    quota: Option<Quota>,
    neighbour: Option<Neighbour>,
}

impl Changes {
    /// # Errors
    /// A control group is needed and cannot be made.
    fn new(conditions: &Conditions, resources: &Resources) -> Result<Self> {
        let quota = (!conditions.quotas.is_empty()).then(Quota::new).transpose()?;
        let needed = !conditions.neighbours.is_empty();
        let neighbour = needed.then(|| Neighbour::start(&resources.server)).transpose()?;
        Ok(Self { conditions: conditions.clone(), quota, neighbour })
    }

    /// Sets quota and neighbour to what the scenario has at a time, for a server with this number
    /// of processors; at infinity, removes both.
    fn set(&self, at_s: f64, processors: f64) -> Result<()> {
        let now = |changes: &[(f64, f64)]| {
            let last = changes.iter().rfind(|(from_s, _)| *from_s <= at_s);
            last.map(|(_, cpus)| *cpus).filter(|_| at_s.is_finite())
        };
        if let Some(quota) = &self.quota {
            quota.set(now(&self.conditions.quotas).filter(|cpus| *cpus < processors))?;
        }
        if let Some(neighbour) = &self.neighbour {
            neighbour.set(now(&self.conditions.neighbours).unwrap_or(0.0));
        }
        Ok(())
    }
}

/// Customers and attackers, and what changes meanwhile.
struct Crowd {
    customers: Customers,
    attacks: Vec<Customers>,
    changes: Rc<Changes>,
}

impl Driver for Crowd {
    fn drive(
        &self,
        window: Window<'_>,
        started: &Started,
        show: &mut dyn FnMut(&Snapshot) -> ControlFlow<()>,
    ) -> Result<Readings> {
        if let Some(quota) = &self.changes.quota {
            quota.add(&started.processes())?;
        }
        let attack = |attackers: &Customers| {
            let mut plan = attackers.plan(&window, started)?;
            (plan.measure, plan.warm_up) = (plan.warm_up + plan.measure, Duration::ZERO);
            (plan.forged_tickets, plan.stop) = (true, window.stop.clone());
            Ok(plan)
        };
        let attacks = self.attacks.iter().map(attack).collect::<Result<Vec<_>>>()?;
        let mut failed = None;
        let readings = std::thread::scope(|scope| {
            for attack in attacks {
                scope.spawn(move || tidegate_load::run(attack, &mut |_| ()));
            }
            self.customers.drive(window, started, &mut |snapshot| match self
                .changes
                .set(snapshot.elapsed_s, window.grant.cpus)
            {
                Ok(()) => show(snapshot),
                Err(error) => {
                    failed.get_or_insert(error);
                    ControlFlow::Break(())
                }
            })
        });
        self.changes.set(f64::INFINITY, window.grant.cpus)?;
        failed.map_or(readings, Err)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attacker_sends_one_request() {
        assert_eq!(attackers().session_length().mean_requests, 1.0);
    }
}
