//! Courses on the real gate: what customers do, what changes, and how the gate's counters
//! are sampled meanwhile.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tidegate_host::Cores;
use tidegate_lab::experiment::TIME_SCALE;
use tidegate_lab::{Experiment, GateTimes, Probing, Setup, Testbed};
use tidegate_load::arrivals::{Process, Segment};
use tidegate_load::{Arrivals, Stop};
use tidegate_sim::estimators::{Course, Estimators, Moment};

use super::samples::{Sample, added_cpu_s, truth};
use crate::exit::bad_input;

/// A course that can run on the real gate.
#[derive(Clone, Copy)]
pub struct Schedule {
    name: &'static str,
    about: &'static str,
    lasts_s: f64,
    /// Shares of the capacity at the beginning and at the end.
    load: (f64, f64),
    customers: Customers,
    /// A step of the site's costs.
    step: Option<Step>,
}

/// CPU time that every page uses in addition from a time on.
#[derive(Clone, Copy)]
struct Step {
    after: Duration,
    extra_cpu: Duration,
}

/// The customers: all request pages of the same kind, so that requests on new and on
/// returning connections cost the site the same and the truth is known for each.
#[derive(Clone, Copy)]
enum Customers {
    /// A dozen pages on average.
    People,
    /// Four pages, all within a tick, on a connection each.
    Programs,
}

const SCHEDULES: [Schedule; 3] = [
    Schedule {
        name: "rising",
        about: "The load rises from a tenth to nine tenths of the capacity.",
        lasts_s: 30.0,
        load: (0.1, 0.9),
        customers: Customers::People,
        step: None,
    },
    Schedule {
        name: "collinear",
        about: "Every session makes four requests on a connection each, within a tick, so that \
                new connections, returning connections and requests are always in the same \
                proportion.",
        lasts_s: 15.0,
        load: (0.5, 0.5),
        customers: Customers::Programs,
        step: None,
    },
    Schedule {
        name: "costlier-step",
        about: "Halfway the cost of every page rises by 0.2 ms of CPU time.",
        lasts_s: 40.0,
        load: (0.4, 0.4),
        customers: Customers::People,
        step: Some(Step { after: Duration::from_secs(20), extra_cpu: Duration::from_micros(200) }),
    },
];

/// Errors are counted from here on: costs are learned and caches filled.
const WATCH_FROM_S: f64 = 5.0;
/// The gate's policy: it admits every session at these loads.
const POLICY: &str = "tide";
/// Time for gate and site to settle.
const START: Duration = Duration::from_secs(1);
/// Time between samples: the gate's tick.
const TICK: Duration = Duration::from_millis(100);
/// Two probes: the loads of the courses leave room for an estimate that is a little low.
const PROBING: Probing = Probing { length: Duration::from_secs(2), shares: &[0.5] };

/// The schedules of these names; all if none is given.
///
/// # Errors
/// Bad input: a name that no schedule has.
pub fn named(names: &[String]) -> anyhow::Result<Vec<Schedule>> {
    let known = SCHEDULES.map(|schedule| schedule.name);
    let wrong = names.iter().filter(|name| !known.contains(&name.as_str()));
    let wrong: Vec<String> = wrong
        .map(|name| {
            format!("{name}: not a course of the real gate; those are {}", known.join(", "))
        })
        .collect();
    if !wrong.is_empty() {
        return Err(bad_input(wrong.join("\n")));
    }
    let wanted =
        |schedule: &Schedule| names.is_empty() || names.iter().any(|name| name == schedule.name);
    Ok(SCHEDULES.into_iter().filter(wanted).collect())
}

/// Runs courses, one after the other.
///
/// # Errors
/// A process ends, no request is completed, or the run was stopped.
pub fn run(
    schedules: &[Schedule],
    (server, driver): (Cores, Cores),
    out: &Path,
) -> anyhow::Result<Vec<Course>> {
    let stop = crate::signals::stop_on_signal()?;
    driver.pin_this_thread()?;
    let seconds: f64 = schedules
        .iter()
        .map(|schedule| schedule.lasts_s + PROBING.takes().as_secs_f64() + 4.0)
        .sum();
    println!(
        "Site and gate on processor {server}, customers on processor {driver}. About {:.0} minutes.\n",
        (seconds / 60.0).ceil()
    );
    let mut courses = Vec::new();
    for schedule in schedules {
        let (server, stop) = (&server, &stop);
        let customers = schedule.customers.experiment(&driver)?;
        let experiment = CostExperiment { schedule, server, customers, out, stop };
        courses.push(experiment.course().with_context(|| schedule.name)?);
    }
    Ok(courses)
}

/// What one course needs.
struct CostExperiment<'a> {
    schedule: &'a Schedule,
    server: &'a Cores,
    customers: Experiment,
    out: &'a Path,
    stop: &'a Stop,
}

impl CostExperiment<'_> {
    fn course(&self) -> anyhow::Result<Course> {
        let per_s = self.capacity()?;
        // A site of its own: the time of the step counts from the site's start.
        let begun = Instant::now();
        let mut testbed = self.testbed(self.schedule.step)?;
        testbed.open_gate(POLICY)?;
        let gate_after_s = begun.elapsed().as_secs_f64();
        let admin = testbed.admin(POLICY)?;
        let (from, to) = self.schedule.load;
        let lasts = Duration::from_secs_f64(self.schedule.lasts_s);
        let segment = Segment { lasts, from_per_s: from * per_s, to_per_s: to * per_s };
        let arrivals = Arrivals::segments(Process::Poisson, vec![segment]);
        let mut plan = self.customers.plan(&testbed, POLICY, arrivals)?;
        (plan.warm_up, plan.measure) = (Duration::ZERO, lasts);
        let ended = AtomicBool::new(false);
        let (summary, samples) = std::thread::scope(|scope| {
            let sampler = scope.spawn(|| sample(&admin, &testbed, &ended));
            let stop = plan.stop.clone();
            let summary = tidegate_load::run(plan, &mut |_| {
                if self.stop.is_stopped() {
                    stop.stop();
                }
            });
            ended.store(true, Ordering::Relaxed);
            (summary, sampler.join())
        });
        let samples = samples.map_err(|_| anyhow::anyhow!("the sampler failed"))??;
        self.unless_stopped()?;
        if summary?.totals.requests_ok == 0 {
            bail!("no request succeeded");
        }
        drop(testbed);
        let step_s = self.schedule.step.map(|step| step.after.as_secs_f64() - gate_after_s);
        if let Some((step_s, step)) = step_s.zip(self.schedule.step)
            && let Some(added_s) = added_cpu_s(&samples, step_s)
        {
            println!(
                "{}: every page used {:.3} ms more; by the site's CPU clock {:.3} ms\n",
                self.schedule.name,
                step.extra_cpu.as_secs_f64() * 1e3,
                added_s * 1e3
            );
        }
        Ok(replayed(self.schedule, &samples, step_s))
    }

    /// Estimated sessions per second.
    fn capacity(&self) -> anyhow::Result<f64> {
        let mut testbed = self.testbed(None)?;
        testbed.open_gate(POLICY)?;
        self.customers.estimate_capacity(&testbed, POLICY, PROBING, &mut |plan, observe| {
            let summary = tidegate_load::run(plan, observe);
            self.unless_stopped()?;
            Ok(summary?)
        })
    }

    fn unless_stopped(&self) -> anyhow::Result<()> {
        if self.stop.is_stopped() {
            bail!("stopped before the end; no results are written");
        }
        Ok(())
    }

    fn testbed(&self, step: Option<Step>) -> anyhow::Result<Testbed> {
        let mut setup = Setup::new(self.server, TIME_SCALE);
        if let Some(Step { after, extra_cpu }) = step {
            (setup.extra_cpu, setup.extra_cpu_after) = (extra_cpu, after);
        }
        if matches!(self.schedule.customers, Customers::Programs) {
            setup.times = GateTimes { keep_alive_s: 0.002, ..setup.times };
        }
        Ok(Testbed::open(setup, self.out)?)
    }
}

impl Customers {
    /// Their times are in the scenario, and they never lose patience: a session that
    /// breaks off costs less.
    fn experiment(self, driver: &Cores) -> anyhow::Result<Experiment> {
        let (time_scale, patience_scale) = (1.0, 100.0);
        let scenario = self.scenario()?;
        Ok(Experiment { scenario, time_scale, patience_scale, ..Experiment::new(driver) })
    }

    fn scenario(self) -> anyhow::Result<tidegate_load::Scenario> {
        let (think_ms, most, goes_on) = match self {
            Self::People => (7000.0 * TIME_SCALE, 100, 11.0 / 12.0),
            Self::Programs => (15.0, 4, 1.0),
        };
        let text = format!(
            "name = \"searchers\"\n[session]\nstart = \"Search\"\nmax_requests = {most}\n\
             think = \"{think_ms}ms\"\n[parameters]\nkind = {{ uniform = [1, 20] }}\n\
             [pages]\nSearch = {{ path = \"/categories/{{kind}}\" }}\n\
             [transitions.Search]\nSearch = {goes_on}\nEnd = {}\n",
            1.0 - goes_on
        );
        tidegate_load::Scenario::from_toml(&text, "searchers").map_err(anyhow::Error::msg)
    }
}

/// Takes a sample every tick until the run has ended.
fn sample(admin: &str, testbed: &Testbed, ended: &AtomicBool) -> anyhow::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    // The cost of starting belongs to no connection.
    let mut next = Instant::now() + START;
    std::thread::sleep(START);
    while !ended.load(Ordering::Relaxed) {
        samples.push(Sample::take(admin, || Ok(testbed.site_cpu_s()?))?);
        next = (next + TICK).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(samples)
}

/// The course with what every estimator would have estimated.
fn replayed(schedule: &Schedule, samples: &[Sample], step_s: Option<f64>) -> Course {
    let truth = truth(samples, step_s);
    let watched = samples.iter().position(|sample| sample.at_s() >= WATCH_FROM_S).unwrap_or(0);
    // The estimator with fixed costs gets the true ones at that time.
    let mut estimators = Estimators::new(truth.get(watched).copied().unwrap_or_default());
    let mut moments = Vec::new();
    for (pair, truth) in samples.windows(2).zip(truth.iter().skip(1)) {
        let (reading, refused) = pair[1].since(&pair[0]);
        estimators.observe(&reading, refused);
        let at_s = pair[1].at_s();
        moments.push(Moment { at_s, truth: *truth, estimates: estimators.costs() });
    }
    Course {
        name: schedule.name.to_owned(),
        about: schedule.about.to_owned(),
        watch_from_s: WATCH_FROM_S,
        step_s,
        runs: vec![moments],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_customers_of_every_course_have_a_scenario() {
        let length = |customers: Customers| customers.scenario().unwrap().session_length();
        assert!((length(Customers::People).mean_requests - 12.0).abs() < 0.6);
        assert_eq!(length(Customers::Programs).mean_requests, 4.0);
    }

    #[test]
    fn courses_are_found_by_name_and_every_other_name_is_reported() {
        let names =
            |names: &[&str]| named(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&[]).unwrap().len(), 3);
        assert_eq!(names(&["collinear"]).unwrap()[0].name, "collinear");
        let error = names(&["risen", "rising", "x"]).err().unwrap().to_string();
        assert!(error.lines().count() == 2 && error.contains("risen: not a course"), "{error}");
    }
}
