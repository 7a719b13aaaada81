//! Courses on the real gate: what customers do, what changes, and how the gate's
//! counters are sampled meanwhile.

use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use tidegate_load::arrivals::{Process, Segment};
use tidegate_load::{Arrivals, Plan, Stop};
use tidegate_sim::estimators::{Course, Estimators, Moment};

use super::samples::{Sample, dearer_cpu_s, truth};
use crate::exit::bad_input;
use tidegate_host::Cores;
use tidegate_lab::{Lab, PROBE_PER_S, Setup, Times};

/// A course that the lab can play.
#[derive(Clone, Copy)]
pub struct Play {
    name: &'static str,
    about: &'static str,
    lasts_s: f64,
    /// Shares of the capacity at the beginning and at the end.
    load: (f64, f64),
    customers: Customers,
    /// CPU time that every page takes on top from a time on: seconds,
    /// milliseconds.
    dearer: Option<(f64, f64)>,
}

/// Who comes: all ask for pages of the same kind, so that requests of new and
/// of returning connections cost the site alike and the truth is known for each.
#[derive(Clone, Copy)]
enum Customers {
    /// A dozen pages on average.
    People,
    /// Four pages, all within a tick, on a connection each.
    Programs,
}

const PLAYS: [Play; 3] = [
    Play {
        name: "rising",
        about: "The load climbs from a tenth to nine tenths of the capacity.",
        lasts_s: 30.0,
        load: (0.1, 0.9),
        customers: Customers::People,
        dearer: None,
    },
    Play {
        name: "collinear",
        about: "Programs, not people: every session makes four requests on a connection each, \
                within a tick, so that new, returning and requests always stand in the same \
                proportion.",
        lasts_s: 15.0,
        load: (0.5, 0.5),
        customers: Customers::Programs,
        dearer: None,
    },
    Play {
        name: "dearer-step",
        about: "Halfway every page gets 0.2 ms of CPU time dearer.",
        lasts_s: 40.0,
        load: (0.4, 0.4),
        customers: Customers::People,
        dearer: Some((20.0, 0.2)),
    },
];

/// From when on a course counts: costs are learned and caches filled.
const WATCH_FROM_S: f64 = 5.0;
/// The gate's policy: nobody is to be turned away at these loads.
const POLICY: &str = "tide";
/// How long gate and site get to settle.
const START: Duration = Duration::from_secs(1);
/// Ticks between samples are those of the gate.
const TICK: Duration = Duration::from_millis(100);
/// Size of the site's population against RUBiS's.
const SITE_SCALE: f64 = 0.01;
/// How much faster than people customers are.
const TIME_SCALE: f64 = 0.025;
/// A probe's length, and the second one's share of what the first promised.
const PROBE_S: f64 = 2.0;
const PROBE_SHARE: f64 = 0.5;

/// The courses of these names, all if none is given.
///
/// # Errors
/// Bad input: a name that is none of theirs.
pub fn named(names: &[String]) -> anyhow::Result<Vec<Play>> {
    let known = PLAYS.map(|play| play.name);
    let wrong = names.iter().filter(|name| !known.contains(&name.as_str()));
    let wrong: Vec<String> = wrong
        .map(|name| {
            format!("{name}: not a course of the real gate; those are {}", known.join(", "))
        })
        .collect();
    if !wrong.is_empty() {
        return Err(bad_input(wrong.join("\n")));
    }
    let asked = |play: &Play| names.is_empty() || names.iter().any(|name| name == play.name);
    Ok(PLAYS.into_iter().filter(asked).collect())
}

/// Plays courses, one after the other.
///
/// # Errors
/// When a process ends, nothing is answered, or it was stopped.
pub fn all(
    plays: &[Play],
    (server, driver): (Cores, Cores),
    out: &Path,
) -> anyhow::Result<Vec<Course>> {
    let stop = crate::signals::stop_on_signal()?;
    driver.pin_this_thread()?;
    let seconds: f64 = plays.iter().map(|play| play.lasts_s + 3.0 * PROBE_S + 4.0).sum();
    println!(
        "Site and gate on processor {server}, customers on processor {driver}. About {:.0} minutes.\n",
        (seconds / 60.0).ceil()
    );
    let mut courses = Vec::new();
    for play in plays {
        let stage = Stage { play, server: &server, driver: &driver, out, stop: &stop };
        courses.push(stage.course().with_context(|| play.name)?);
    }
    Ok(courses)
}

/// What a course is played with.
struct Stage<'a> {
    play: &'a Play,
    server: &'a Cores,
    driver: &'a Cores,
    out: &'a Path,
    stop: &'a Stop,
}

impl Stage<'_> {
    fn course(&self) -> anyhow::Result<Course> {
        let per_s = self.capacity()?;
        // A site of its own, which counts from its start when pages get dearer.
        let begun = Instant::now();
        let mut lab = self.lab(self.play.dearer)?;
        lab.open_gate(POLICY)?;
        let gate_after_s = begun.elapsed().as_secs_f64();
        let admin = lab.admin(POLICY)?;
        let (from, to) = self.play.load;
        let lasts = Duration::from_secs_f64(self.play.lasts_s);
        let segment = Segment { lasts, from_per_s: from * per_s, to_per_s: to * per_s };
        let arrivals = Arrivals::segments(Process::Poisson, vec![segment]);
        let mut plan = self.plan(&lab, arrivals)?;
        (plan.warm_up, plan.measure) = (Duration::ZERO, lasts);
        let ended = AtomicBool::new(false);
        let (summary, samples) = std::thread::scope(|scope| {
            let sampler = scope.spawn(|| sample(&admin, &lab, &ended));
            let pull = plan.stop.clone();
            let summary = tidegate_load::run(plan, &mut |_| {
                if self.stop.is_stopped() {
                    pull.stop();
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
        lab.close();
        let step_s = self.play.dearer.map(|(at_s, _)| at_s - gate_after_s);
        if let Some((step_s, (_, known_ms))) = step_s.zip(self.play.dearer)
            && let Some(dearer_s) = dearer_cpu_s(&samples, step_s)
        {
            let dearer_ms = dearer_s * 1e3;
            println!(
                "{}: every page got {known_ms:.3} ms dearer; by the site's clock {dearer_ms:.3} ms\n",
                self.play.name
            );
        }
        Ok(replayed(self.play, &samples, step_s))
    }

    /// Sessions per second that the processors promise to carry.
    fn capacity(&self) -> anyhow::Result<f64> {
        let mut lab = self.lab(None)?;
        lab.open_gate(POLICY)?;
        let promise = self.probe(&lab, PROBE_PER_S)?;
        let promise = self.probe(&lab, PROBE_SHARE * promise)?;
        lab.close();
        Ok(promise)
    }

    fn probe(&self, lab: &Lab, per_s: f64) -> anyhow::Result<f64> {
        let plan = self.plan(lab, Arrivals::poisson(per_s))?;
        let promise = lab.probe(POLICY, plan, Duration::from_secs_f64(PROBE_S));
        self.unless_stopped()?;
        promise
    }

    fn unless_stopped(&self) -> anyhow::Result<()> {
        if self.stop.is_stopped() {
            bail!("stopped before the end; no results are written");
        }
        Ok(())
    }

    fn lab(&self, dearer: Option<(f64, f64)>) -> anyhow::Result<Lab> {
        let (extra_cpu_after_s, extra_cpu_ms) = dearer.unwrap_or_default();
        let times = match self.play.customers {
            Customers::People => Times::scaled(TIME_SCALE),
            Customers::Programs => Times { keep_alive_s: 0.002, ..Times::scaled(TIME_SCALE) },
        };
        let cores = self.server.clone();
        let setup = Setup { cores, site_scale: SITE_SCALE, extra_cpu_ms, extra_cpu_after_s, times };
        Lab::open(setup, self.out)
    }

    fn plan(&self, lab: &Lab, arrivals: Arrivals) -> anyhow::Result<Plan> {
        let scenario = self.play.customers.scenario()?;
        let mut plan = Plan::new(scenario, &lab.target(POLICY)?);
        plan.arrivals = Some(arrivals);
        // Nobody loses patience: a session that breaks off costs less.
        plan.patience_scale = 100.0;
        plan.cores = self.driver.list().to_vec();
        plan.insecure = true;
        Ok(plan)
    }
}

impl Customers {
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

/// Samples until told to end.
fn sample(admin: &str, lab: &Lab, ended: &AtomicBool) -> anyhow::Result<Vec<Sample>> {
    let mut samples = Vec::new();
    // What starting cost is nobody's connection.
    let mut next = Instant::now() + START;
    std::thread::sleep(START);
    while !ended.load(Ordering::Relaxed) {
        samples.push(Sample::take(admin, || lab.site_cpu_s())?);
        next = (next + TICK).max(Instant::now());
        std::thread::sleep(next.saturating_duration_since(Instant::now()));
    }
    Ok(samples)
}

/// The course as all estimators would have lived it.
fn replayed(play: &Play, samples: &[Sample], step_s: Option<f64>) -> Course {
    let truth = truth(samples, step_s);
    let watched = samples.iter().position(|sample| sample.at_s() >= WATCH_FROM_S).unwrap_or(0);
    // Profiled once, and kept.
    let mut estimators = Estimators::new(truth.get(watched).copied().unwrap_or_default());
    let mut moments = Vec::new();
    for (pair, truth) in samples.windows(2).zip(truth.iter().skip(1)) {
        let (reading, refused) = pair[1].since(&pair[0]);
        estimators.observe(&reading, refused);
        let at_s = pair[1].at_s();
        moments.push(Moment { at_s, truth: *truth, estimates: estimators.costs() });
    }
    Course {
        name: play.name.to_owned(),
        about: play.about.to_owned(),
        watch_from_s: WATCH_FROM_S,
        step_s,
        runs: vec![moments],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn customers_of_every_course_can_be_played() {
        let length = |customers: Customers| customers.scenario().unwrap().session_length();
        assert!((length(Customers::People).mean_requests - 12.0).abs() < 0.6);
        assert_eq!(length(Customers::Programs).mean_requests, 4.0);
    }

    #[test]
    fn courses_are_found_by_name_and_every_other_name_is_told() {
        let names =
            |names: &[&str]| named(&names.iter().map(|n| (*n).to_owned()).collect::<Vec<_>>());
        assert_eq!(names(&[]).unwrap().len(), 3);
        assert_eq!(names(&["collinear"]).unwrap()[0].name, "collinear");
        let error = names(&["risen", "rising", "x"]).err().unwrap().to_string();
        assert!(error.lines().count() == 2 && error.contains("risen: not a course"), "{error}");
    }
}
