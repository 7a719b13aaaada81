//! Plays a scenario: site and gate on the server's processors, customers and
//! attackers on the driver's.

use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tidegate_load::{Arrivals, Plan, Stop, Summary};
use tidegate_sim::{Attack, Scenario};

use super::act::{self, Act};
use tidegate_host::Cores;
use tidegate_lab::{Lab, Neighbour, PROBE_PER_S, Pulse, Quota, Setup};

/// A scenario's stage. Dropped in this order: a control group can go when its
/// processes have gone.
pub struct Stage<'a> {
    act: Act,
    lab: Lab,
    quota: Option<Quota>,
    pulse: Pulse,
    neighbour: Option<Neighbour>,
    driver: &'a Cores,
    customers: tidegate_load::Scenario,
    attackers: tidegate_load::Scenario,
    stop: &'a Stop,
}

/// Size of the site's population against RUBiS's.
const SITE_SCALE: f64 = 0.01;
/// The site's customers: the bidding mix with every row divided by its sum.
pub const CUSTOMERS: &str = "auction-bidding-normalised";
/// An attacker who was let in asks once.
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
/// A load whose CPU time tells the capacity; not longer than a fourth of the
/// scenario.
const PROBE_S: f64 = 3.0;
/// Each further probe's share of what the one before it promised.
const PROBE_SHARES: [f64; 2] = [0.6, 0.8];
/// What the capacity is measured at, as a multiple of what was promised: a
/// request costs a fifth more on a processor that has time to sleep, so only full
/// use tells, and `tide` keeps it without work in vain.
const FULL: f64 = 2.0;

/// What the server carries at full use, and how fast it was then.
#[derive(Clone, Copy, Debug)]
pub struct Capacity {
    /// Sessions per second.
    pub sessions_per_s: f64,
    speed: (Instant, Instant),
}

/// A scenario that was played.
pub struct Played {
    pub summary: Summary,
    /// Sessions per second that the machine carried meanwhile: its speed changes.
    pub capacity_per_s: f64,
}

impl<'a> Stage<'a> {
    /// Starts the site.
    ///
    /// # Errors
    /// When it does not start, or a control group is needed and not to be had.
    pub fn open(
        act: Act,
        (server, driver): (&Cores, &'a Cores),
        out: &Path,
        stop: &'a Stop,
    ) -> anyhow::Result<Self> {
        let quota = (!act.quotas.is_empty()).then(Quota::new).transpose()?;
        let neighbour = match act.neighbours.is_empty() {
            true => None,
            false => Some(Neighbour::move_in(server)?),
        };
        let setup = Setup {
            cores: server.clone(),
            site_scale: SITE_SCALE,
            extra_cpu_ms: act.extra_cpu_ms,
            extra_cpu_after_s: 0.0,
            times: act.times,
        };
        let customers = tidegate_load::Scenario::built_in(CUSTOMERS);
        let attackers = tidegate_load::Scenario::from_toml(ATTACKERS, "attackers");
        Ok(Self {
            act,
            lab: Lab::open(setup, out)?,
            quota,
            pulse: Pulse::start(server)?,
            neighbour,
            driver,
            customers: customers.expect("the scenario ships with the binary"),
            attackers: attackers.map_err(anyhow::Error::msg)?,
            stop,
        })
    }

    /// What the server carries: first promised by the CPU time of a session under
    /// light load, then measured.
    ///
    /// # Errors
    /// When nothing is answered.
    pub fn capacity(&mut self, scenario: &Scenario) -> anyhow::Result<Capacity> {
        let length = Duration::from_secs_f64(PROBE_S.min(scenario.duration_s / 4.0));
        self.lab.open_gate("off")?;
        let mut promise = self.probe("off", PROBE_PER_S, length)?;
        for share in PROBE_SHARES {
            promise = self.probe("off", share * promise, length)?;
        }
        self.lab.close_gates();
        self.lab.open_gate("tide")?;
        let begun = Instant::now() + length;
        let sessions_per_s = self.probe("tide", FULL * promise, 2 * length)?;
        let speed = (begun, Instant::now());
        self.lab.close_gates();
        Ok(Capacity { sessions_per_s, speed })
    }

    /// Sessions per second that the processors promise by a run of so long.
    fn probe(&self, policy: &str, per_s: f64, length: Duration) -> anyhow::Result<f64> {
        let plan = self.plan(policy, self.customers.clone(), Arrivals::poisson(per_s))?;
        let promise = self.lab.probe(policy, plan, length);
        self.unless_stopped()?;
        promise
    }

    /// Plays `scenario`, whose level 1 is `per_s` sessions per second, before a gate
    /// that has learned nothing yet.
    ///
    /// # Errors
    /// When a process ends, nothing is answered, or it was stopped.
    pub fn play(
        &mut self,
        scenario: &Scenario,
        policy: &str,
        (load, capacity): (f64, Capacity),
    ) -> anyhow::Result<Played> {
        self.lab.open_gate(policy)?;
        if let Some(quota) = &self.quota {
            quota.take_in(&self.lab.processes())?;
        }
        let begun = Instant::now();
        let played = self.run(scenario, policy, (load, capacity.sessions_per_s));
        let speed = self.pulse.speed(begun, Instant::now());
        self.lab.close_gates();
        self.change(f64::INFINITY)?;
        let summary = played?;
        self.unless_stopped()?;
        if summary.totals.requests_ok == 0 {
            bail!("{}, {policy}: no request succeeded", scenario.name);
        }
        let faster = speed / self.pulse.speed(capacity.speed.0, capacity.speed.1);
        Ok(Played { summary, capacity_per_s: capacity.sessions_per_s * faster })
    }

    fn run(
        &self,
        scenario: &Scenario,
        policy: &str,
        (load, capacity_per_s): (f64, f64),
    ) -> anyhow::Result<Summary> {
        let per_s = load * capacity_per_s;
        let arrivals = act::customers(&scenario.arrivals, per_s, scenario.duration_s);
        let mut plan = self.plan(policy, self.customers.clone(), arrivals)?;
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
            let pull = plan.stop.clone();
            tidegate_load::run(plan, &mut |snapshot| {
                if let Err(error) = self.change(snapshot.elapsed_s) {
                    failed.get_or_insert(error);
                }
                if self.stop.is_stopped() || failed.is_some() {
                    pull.stop();
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
        let arrivals = act::between(per_s, attack.from_s, until_s);
        let mut plan = self.plan(policy, self.attackers.clone(), arrivals)?;
        plan.warm_up = Duration::ZERO;
        plan.measure = Duration::from_secs_f64(scenario.duration_s);
        plan.forged_tickets = true;
        Ok(plan)
    }

    /// Brings quota and neighbour to where they are at a time.
    fn change(&self, at_s: f64) -> anyhow::Result<()> {
        let now = |changes: &[(f64, f64)]| {
            changes.iter().rfind(|(from_s, _)| *from_s <= at_s).map(|(_, cpus)| *cpus)
        };
        if let Some(quota) = &self.quota {
            let cpus = now(&self.act.quotas).filter(|cpus| *cpus < self.lab.cpus());
            quota.set(cpus.filter(|_| at_s.is_finite()))?;
        }
        if let Some(neighbour) = &self.neighbour {
            neighbour.burn(now(&self.act.neighbours).filter(|_| at_s.is_finite()).unwrap_or(0.0));
        }
        Ok(())
    }

    /// What all runs have in common.
    fn plan(
        &self,
        policy: &str,
        scenario: tidegate_load::Scenario,
        arrivals: Arrivals,
    ) -> anyhow::Result<Plan> {
        let mut plan = Plan::new(scenario, &self.lab.target(policy)?);
        plan.arrivals = Some(arrivals);
        (plan.time_scale, plan.patience_scale) = (self.act.time_scale, self.act.patience_scale);
        plan.cores = self.driver.list().to_vec();
        plan.insecure = true;
        plan.customers = Some(self.lab.customers());
        Ok(plan)
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
    fn an_attacker_asks_once() {
        let attackers = tidegate_load::Scenario::from_toml(ATTACKERS, "attackers").unwrap();
        assert_eq!(attackers.session_length().mean_requests, 1.0);
    }
}
