//! Courses on the real gate: what customers do, what changes, and how the gate's counters
//! are sampled meanwhile.

use std::cell::RefCell;
use std::ops::ControlFlow;
use std::path::Path;
use std::rc::Rc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::Context;
use tidegate_experiment::record::{Kind, Record};
use tidegate_experiment::schedule::planned;
use tidegate_experiment::{
    Bench, Customers, Driver, Error, GateTimes, Offered, Overrides, Probes, Readings, Resources,
    Result, Run, Schedule, Started, Taken, Window, conduct,
};
use tidegate_host::Cores;
use tidegate_load::arrivals::{Process, Segment};
use tidegate_load::{Arrivals, Scenario, Snapshot};
use tidegate_sim::estimators::{Course, Estimators, Moment};

use super::samples::{Sample, added_cpu_s, truth};
use crate::exit::bad_input;
use crate::testbed::{TIME_SCALE, answered, probes, settings, times, to_the_end};

/// A course that can run on the real gate.
#[derive(Clone, Copy)]
pub struct GateCourse {
    name: &'static str,
    about: &'static str,
    lasts_s: f64,
    /// Shares of the capacity at the beginning and at the end.
    load: (f64, f64),
    visitors: Visitors,
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
enum Visitors {
    /// A dozen pages on average.
    People,
    /// Four pages, all within a tick, on a connection each.
    Programs,
}

const COURSES: [GateCourse; 3] = [
    GateCourse {
        name: "rising",
        about: "The load rises from a tenth to nine tenths of the capacity.",
        lasts_s: 30.0,
        load: (0.1, 0.9),
        visitors: Visitors::People,
        step: None,
    },
    GateCourse {
        name: "collinear",
        about: "Every session makes four requests on a connection each, within a tick, so that \
                new connections, returning connections and requests are always in the same \
                proportion.",
        lasts_s: 15.0,
        load: (0.5, 0.5),
        visitors: Visitors::Programs,
        step: None,
    },
    GateCourse {
        name: "costlier-step",
        about: "Halfway the cost of every page rises by 0.2 ms of CPU time.",
        lasts_s: 40.0,
        load: (0.4, 0.4),
        visitors: Visitors::People,
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
/// The probes' shares of the estimate before them. Two: the loads of the courses leave room for
/// an estimate that is a little low.
const PROBES: &[f64] = &[1.0, 0.5];
/// Warm-up and measured time of a probe, in seconds.
const PROBE_S: (f64, f64) = (1.0, 2.0);
/// Time that a run takes beside its load, in seconds.
const OVERHEAD_S: f64 = 1.0;

/// The courses of these names; all if none is given.
///
/// # Errors
/// Bad input: a name that no course has.
pub fn named(names: &[String]) -> anyhow::Result<Vec<GateCourse>> {
    let known = COURSES.map(|course| course.name);
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
        |course: &GateCourse| names.is_empty() || names.iter().any(|name| name == course.name);
    Ok(COURSES.into_iter().filter(wanted).collect())
}

/// Runs courses, one after the other.
///
/// # Errors
/// A process ends, no request is completed, or the run was stopped.
pub fn run(
    courses: &[GateCourse],
    (server, driver): (Cores, Cores),
    out: &Path,
) -> anyhow::Result<Vec<Course>> {
    let stop = crate::signals::stop_on_signal()?;
    let resources = Resources::whole_cores(&server, &driver)?;
    let costs: Vec<Costs> = courses.iter().map(|course| Costs::new(course, &resources)).collect();
    let seconds: f64 = costs.iter().filter_map(|costs| Some(costs.left()?.as_secs_f64())).sum();
    println!(
        "Site and gate on processor {server}, customers on processor {driver}. About {:.0} minutes.\n",
        (seconds / 60.0).ceil()
    );
    let mut bench = Bench::anew(&resources, out, &stop)?;
    let mut replayed = Vec::new();
    for mut costs in costs {
        to_the_end(conduct(&mut costs, &mut bench, &mut |_| ()), &stop)?;
        replayed.push(costs.replayed());
    }
    Ok(replayed)
}

/// The schedule of a course: probes of the capacity, then the course, on a site of its own: the
/// time of the step counts from the site's start.
struct Costs<'a> {
    course: &'a GateCourse,
    scenario: Scenario,
    resources: &'a Resources,
    probes: Probes,
    /// Samples of the course, and how long after the site its gate started, in seconds.
    sampled: Rc<RefCell<(Vec<Sample>, f64)>>,
    is_done: bool,
}

impl<'a> Costs<'a> {
    fn new(course: &'a GateCourse, resources: &'a Resources) -> Self {
        let scenario = course.visitors.scenario();
        let probes = probes(PROBES, &scenario);
        Self { course, scenario, resources, probes, sampled: Rc::default(), is_done: false }
    }

    /// The course with what every estimator would have estimated.
    fn replayed(self) -> Course {
        let (samples, gate_after_s) = &*self.sampled.borrow();
        let step = self.course.step.map(|step| (step.after.as_secs_f64() - gate_after_s, step));
        if let Some((step_s, step)) = step
            && let Some(added_s) = added_cpu_s(samples, step_s)
        {
            println!(
                "{}: every page used {:.3} ms more; by the site's CPU clock {:.3} ms\n",
                self.course.name,
                step.extra_cpu.as_secs_f64() * 1e3,
                added_s * 1e3
            );
        }
        replayed(self.course, samples, step.map(|(step_s, _)| step_s))
    }
}

impl<'a> Schedule<'a> for Costs<'a> {
    fn next(&mut self) -> Result<Option<Run<'a>>> {
        if self.is_done {
            return Ok(None);
        }
        let GateCourse { name, lasts_s, load: (from, to), visitors, step, .. } = *self.course;
        let customers = |offered| Customers::new(&self.scenario, offered, &self.resources.driver);
        // Their times are in the scenario, and they never lose patience: a session that breaks
        // off costs less.
        let mut settings = settings(POLICY, &self.resources.server);
        (settings.time_scale, settings.patience_scale) = (1.0, 100.0);
        let usual = GateTimes::scaled(TIME_SCALE);
        let gate_times = match visitors {
            Visitors::People => usual,
            Visitors::Programs => GateTimes { keep_alive_s: 0.002, ..usual },
        };
        let mut extra_cpu_after = Duration::ZERO;
        let (what, times, driver): (_, _, Box<dyn Driver>) = match self.probes.next_per_s() {
            Some(per_s) => {
                let what = format!("probe-{}", PROBES.len() - self.probes.left() + 1);
                let driver = customers(Offered::at(per_s, None));
                (what, times(PROBE_S.0, PROBE_S.1), Box::new(driver))
            }
            None => {
                let per_s = self.probes.capacity_per_s();
                let lasts = Duration::from_secs_f64(lasts_s);
                let segment = Segment { lasts, from_per_s: from * per_s, to_per_s: to * per_s };
                let arrivals = Arrivals::segments(Process::Poisson, vec![segment]);
                if let Some(Step { after, extra_cpu }) = step {
                    (settings.extra_cpu, extra_cpu_after) = (extra_cpu.as_secs_f64(), after);
                }
                let customers = customers(Offered::from(arrivals));
                let driver = Sampler { customers, sampled: self.sampled.clone() };
                ("course".to_owned(), times(0.0, lasts_s), Box::new(driver))
            }
        };
        let id = (format!("{name}-{what}"), Kind::Run);
        let planned = planned(id, &settings, (times, 1), self.resources);
        let mut run = Run::new(what, planned, driver);
        run.overrides =
            Overrides { gate_times: Some(gate_times), extra_cpu_after, ..Overrides::default() };
        Ok(Some(run))
    }

    fn take(&mut self, record: &Record) -> Result<Taken> {
        answered(record, self.course.name)?;
        self.is_done = self.probes.next_per_s().is_none();
        self.probes.take(record);
        Ok(Taken::Kept)
    }

    fn left(&self) -> Option<Duration> {
        let probe_s = PROBE_S.0 + PROBE_S.1 + OVERHEAD_S;
        let probes_s = self.probes.left() as f64 * probe_s;
        Some(Duration::from_secs_f64(probes_s + self.course.lasts_s + OVERHEAD_S))
    }
}

/// Customers, while gate and site are sampled.
struct Sampler {
    customers: Customers,
    sampled: Rc<RefCell<(Vec<Sample>, f64)>>,
}

impl Driver for Sampler {
    fn drive(
        &self,
        window: Window<'_>,
        started: &Started,
        show: &mut dyn FnMut(&Snapshot) -> ControlFlow<()>,
    ) -> Result<Readings> {
        let ended = AtomicBool::new(false);
        let (readings, sampled) = std::thread::scope(|scope| {
            let sampler = scope.spawn(|| sample(started, &ended));
            let readings = self.customers.drive(window, started, show);
            ended.store(true, Ordering::Relaxed);
            (readings, sampler.join())
        });
        let sampled = sampled.map_err(|_| Error::Internal("the sampler failed".into()))?;
        *self.sampled.borrow_mut() =
            sampled.map_err(|error| Error::Process(format!("{error:#}")))?;
        readings
    }
}

impl Visitors {
    fn scenario(self) -> Scenario {
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
        Scenario::from_toml(&text, "searchers").expect("the text above is a scenario")
    }
}

/// Takes a sample every tick until the run has ended. How long after the site the gate started
/// comes with them, in seconds.
fn sample(started: &Started, ended: &AtomicBool) -> anyhow::Result<(Vec<Sample>, f64)> {
    let admin = started.admin_url().context("the gate has no admin address")?;
    let (mut samples, mut gate_after_s) = (Vec::new(), None);
    // The cost of starting belongs to no connection.
    let mut next = Instant::now() + START;
    std::thread::sleep(START);
    while !ended.load(Ordering::Relaxed) {
        let sample = Sample::take(admin, || Ok(started.cpu()?.service))?;
        gate_after_s.get_or_insert(started.age().as_secs_f64() - sample.at_s());
        samples.push(sample);
        next = (next + TICK).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok((samples, gate_after_s.unwrap_or_default()))
}

/// The course with what every estimator would have estimated.
fn replayed(course: &GateCourse, samples: &[Sample], step_s: Option<f64>) -> Course {
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
        name: course.name.to_owned(),
        about: course.about.to_owned(),
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
        let length = |visitors: Visitors| visitors.scenario().session_length();
        assert!((length(Visitors::People).mean_requests - 12.0).abs() < 0.6);
        assert_eq!(length(Visitors::Programs).mean_requests, 4.0);
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
