//! A scenario on the real gate: site and gate on the server's processors, customers and
//! attackers on the driver's.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tidegate_host::Cores;
use tidegate_lab::{Experiment, Neighbour, Probing, Pulse, Quota, Setup, Testbed};
use tidegate_load::{Arrivals, Plan, Snapshot, Stop, Summary};
use tidegate_sim::{Attack, Scenario};

use super::schedule::{self, Schedule};

/// What one scenario needs. Dropped in this order: a control group can be removed when its
/// processes have ended.
pub struct GateExperiment<'a> {
    schedule: Schedule,
    testbed: Testbed,
    quota: Option<Quota>,
    pulse: Pulse,
    neighbour: Option<Neighbour>,
    customers: Experiment,
    attackers: Experiment,
    stop: &'a Stop,
}

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
/// Load at which the capacity is measured, as a multiple of its estimate. A request costs
/// a fifth more on a processor that has time to sleep, so it is measured at full use, which
/// `tide` reaches without work in vain.
const FULL: f64 = 2.0;

/// What the server completes at full use, and when that was measured.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Sessions per second.
    pub sessions_per_s: f64,
    measured: (Instant, Instant),
}

/// A finished run.
pub struct Run {
    pub summary: Summary,
    /// Sessions per second that the machine could complete during the run: its speed
    /// changes.
    pub capacity_per_s: f64,
}

impl<'a> GateExperiment<'a> {
    /// Starts the site.
    ///
    /// # Errors
    /// It does not start, or a control group is needed and cannot be made.
    pub fn open(
        schedule: Schedule,
        (server, driver): (&Cores, &Cores),
        out: &Path,
        stop: &'a Stop,
    ) -> anyhow::Result<Self> {
        let quota = (!schedule.quotas.is_empty()).then(Quota::new).transpose()?;
        let needed = !schedule.neighbours.is_empty();
        let neighbour = needed.then(|| Neighbour::start(server)).transpose()?;
        let setup = Setup {
            extra_cpu: Duration::from_secs_f64(schedule.extra_cpu_ms / 1e3),
            times: schedule.times,
            ..Setup::new(server, schedule.time_scale)
        };
        let customers = Experiment {
            time_scale: schedule.time_scale,
            patience_scale: schedule.patience_scale,
            ..Experiment::new(driver)
        };
        let attackers = tidegate_load::Scenario::from_toml(ATTACKERS, "attackers");
        let attackers =
            Experiment { scenario: attackers.map_err(anyhow::Error::msg)?, ..customers.clone() };
        Ok(Self {
            schedule,
            testbed: Testbed::open(setup, out)?,
            quota,
            pulse: Pulse::start(server)?,
            neighbour,
            customers,
            attackers,
            stop,
        })
    }

    /// The server's capacity: first estimated by the CPU time of a session under light
    /// load, then measured at full use.
    ///
    /// # Errors
    /// No request is completed, or the run was stopped.
    pub fn capacity(&mut self, scenario: &Scenario) -> anyhow::Result<Capacity> {
        let length = Duration::from_secs_f64(PROBE_S.min(scenario.duration_s / 4.0));
        self.testbed.open_gate("off")?;
        let estimate = self.customers.estimate_capacity(
            &self.testbed,
            "off",
            Probing::new(length),
            &mut |plan, observe| self.drive(plan, observe),
        )?;
        self.testbed.close_gates();
        self.testbed.open_gate("tide")?;
        let begun = Instant::now() + length;
        let sessions_per_s = self.customers.probe(
            &self.testbed,
            "tide",
            FULL * estimate,
            2 * length,
            &mut |plan, observe| self.drive(plan, observe),
        )?;
        let measured = (begun, Instant::now());
        self.testbed.close_gates();
        Ok(Capacity { sessions_per_s, measured })
    }

    fn drive(&self, plan: Plan, observe: &mut dyn FnMut(&Snapshot)) -> anyhow::Result<Summary> {
        let summary = tidegate_load::run(plan, observe);
        self.unless_stopped()?;
        Ok(summary?)
    }

    /// Runs the scenario, whose level 1 is the capacity times `load`, before a gate that
    /// has learned nothing yet.
    ///
    /// # Errors
    /// A process ends, no request is completed, or the run was stopped.
    pub fn run(
        &mut self,
        scenario: &Scenario,
        policy: &str,
        (load, capacity): (f64, Capacity),
    ) -> anyhow::Result<Run> {
        self.testbed.open_gate(policy)?;
        if let Some(quota) = &self.quota {
            quota.add(&self.testbed.processes())?;
        }
        let begun = Instant::now();
        let result = self.run_customers(scenario, policy, (load, capacity.sessions_per_s));
        let speed = self.pulse.speed(begun, Instant::now());
        self.testbed.close_gates();
        self.change(f64::INFINITY)?;
        let summary = result?;
        self.unless_stopped()?;
        if summary.totals.requests_ok == 0 {
            bail!("{}, {policy}: no request succeeded", scenario.name);
        }
        let faster = speed / self.pulse.speed(capacity.measured.0, capacity.measured.1);
        Ok(Run { summary, capacity_per_s: capacity.sessions_per_s * faster })
    }

    fn run_customers(
        &self,
        scenario: &Scenario,
        policy: &str,
        (load, capacity_per_s): (f64, f64),
    ) -> anyhow::Result<Summary> {
        let per_s = load * capacity_per_s;
        let arrivals = schedule::customers(&scenario.arrivals, per_s, scenario.duration_s);
        let mut plan = self.customers.plan(&self.testbed, policy, arrivals)?;
        plan.warm_up = Duration::from_secs_f64(scenario.watch_from_s);
        plan.measure = Duration::from_secs_f64(scenario.duration_s - scenario.watch_from_s);
        let attacks: Vec<Plan> = scenario
            .attacks
            .iter()
            .map(|attack| self.attack(attack, scenario, policy, capacity_per_s))
            .collect::<anyhow::Result<_>>()?;
        let mut failed = None;
        let summary = std::thread::scope(|scope| {
            for attack in attacks {
                scope.spawn(move || tidegate_load::run(attack, &mut |_| ()));
            }
            let stop = plan.stop.clone();
            tidegate_load::run(plan, &mut |snapshot| {
                if let Err(error) = self.change(snapshot.elapsed_s) {
                    failed.get_or_insert(error);
                }
                if self.stop.is_stopped() || failed.is_some() {
                    stop.stop();
                }
            })
        });
        match failed {
            Some(error) => Err(error),
            None => summary.with_context(|| format!("{}, {policy}", scenario.name)),
        }
    }

    fn attack(
        &self,
        attack: &Attack,
        scenario: &Scenario,
        policy: &str,
        capacity_per_s: f64,
    ) -> anyhow::Result<Plan> {
        let until_s = attack.until_s.min(scenario.duration_s);
        let per_s = attack.load * capacity_per_s;
        let arrivals: Arrivals = schedule::between(per_s, attack.from_s, until_s);
        let mut plan = self.attackers.plan(&self.testbed, policy, arrivals)?;
        plan.warm_up = Duration::ZERO;
        plan.measure = Duration::from_secs_f64(scenario.duration_s);
        plan.forged_tickets = true;
        Ok(plan)
    }

    /// Sets quota and neighbour to what the schedule has at a time; at infinity, removes
    /// both.
    fn change(&self, at_s: f64) -> anyhow::Result<()> {
        let now = |changes: &[(f64, f64)]| {
            changes.iter().rfind(|(from_s, _)| *from_s <= at_s).map(|(_, cpus)| *cpus)
        };
        if let Some(quota) = &self.quota {
            let cpus = now(&self.schedule.quotas).filter(|cpus| *cpus < self.testbed.cpus());
            quota.set(cpus.filter(|_| at_s.is_finite()))?;
        }
        if let Some(neighbour) = &self.neighbour {
            let cpus = now(&self.schedule.neighbours).filter(|_| at_s.is_finite());
            neighbour.set(cpus.unwrap_or(0.0));
        }
        Ok(())
    }

    fn unless_stopped(&self) -> anyhow::Result<()> {
        if self.stop.is_stopped() {
            bail!("stopped before the end; no results are written");
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_attacker_sends_one_request() {
        let attackers = tidegate_load::Scenario::from_toml(ATTACKERS, "attackers").unwrap();
        assert_eq!(attackers.session_length().mean_requests, 1.0);
    }
}
