//! Measures a step: runs the load generator at a rate, and follows the site's processes.

use std::time::{Duration, Instant};

use tidegate_lab::{Error, Result};
use tidegate_load::outcome::Name;
use tidegate_load::{Arrivals, Plan, RunStage, Summary};

use super::addresses::of_load;
use super::completions::{Arrived, Expected, durations, expected, mean};
use super::host_use::{HostUse, Observation};
use super::processes::Processes;
use super::step::{Limit, Outcome, PHASES, Phase, Step};
use super::times::Times;
use tidegate_experiment::Folder;
use tidegate_experiment::folder::MAKE_ROOM;

/// Name of the folder of the steps' raw data.
pub(crate) const STEPS: &str = "steps";
/// Sessions that should be expected in a measured window: it becomes longer for them, as far as
/// the time of the study allows.
const FEWEST: f64 = 20.0;
/// Time of the first look at the site.
const LOOK: Duration = Duration::from_secs(3);
/// After an overload the site has recovered when it answers one customer within this many times the
/// time before any load, and this much.
const RECOVERED: f64 = 2.0;
const AS_WELL: Duration = Duration::from_millis(10);
/// Pause between two looks at a site that has not recovered.
const PAUSE: Duration = Duration::from_millis(100);
/// Largest share of failed requests of a scenario that fits the site.
const FAILED: f64 = 0.05;

/// Measures steps at a site.
pub(crate) struct Measuring<'a> {
    /// The load of a step, but for its rate and times.
    pub(crate) plan: &'a Plan,
    /// The scenario is one page, as of a URL alone.
    pub(crate) one_page: bool,
    /// The response times that count as served.
    pub(crate) limit: Limit,
    /// Measured time of a step where the operator has fixed it.
    pub(crate) length: Option<Duration>,
    pub(crate) folder: &'a Folder,
    pub(crate) site: Option<&'a Processes>,
    pub(crate) began: Instant,
    /// Steps so far: each has its own files and seed.
    pub(crate) number: usize,
    /// The last step was not carried.
    pub(crate) overloaded: bool,
}

/// What the first look at a site showed.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Look {
    /// Mean response time of a request.
    pub(crate) response_s: f64,
    /// Mean time from a request to the last byte of its response, in milliseconds.
    pub(crate) service_ms: f64,
    /// Requests of a session.
    pub(crate) requests: f64,
}

impl Measuring<'_> {
    /// One customer at a time, who hardly thinks: does the site answer, and how fast?
    ///
    /// # Errors
    /// It cannot be reached, answers errors only, or the scenario does not fit it.
    pub(crate) fn look(&self) -> Result<Look> {
        let mut plan = self.alone();
        plan.measure = self.length.map_or(LOOK, |step| step.max(LOOK / 6).min(LOOK));
        let summary = tidegate_load::run(plan, &mut |_| ()).map_err(of_load)?;
        self.check_stop()?;
        let totals = &summary.totals;
        let all = (totals.requests_ok + totals.requests_failed).max(1);
        let lost = totals.failed + totals.refused + totals.abandoned;
        if totals.requests_ok == 0 || totals.requests_failed as f64 > FAILED * all as f64 {
            return Err(Error::Process(self.misfit(&summary, lost)));
        }
        let requests = self.plan.scenario.session_length().mean_requests.max(1.0);
        let response_s = (summary.response.mean_ms / 1000.0).max(1e-5);
        Ok(Look { response_s, service_ms: service_ms(&summary), requests })
    }

    /// Why a scenario and a site do not fit.
    fn misfit(&self, summary: &Summary, lost: u64) -> String {
        let totals = &summary.totals;
        let what = match totals.requests_ok {
            0 => "answers no request as expected".to_owned(),
            ok => {
                format!("answers only {ok} of {} requests as expected", ok + totals.requests_failed)
            }
        };
        let counts = |of: &std::collections::BTreeMap<Name, u64>| {
            let each = of.iter().map(|(name, count)| format!("{count} {name}"));
            each.collect::<Vec<_>>().join(", ")
        };
        let mut seen = vec![counts(&totals.responses_by_class), counts(&totals.failed_by_kind)];
        if totals.refused > 0 {
            let kinds = counts(&totals.refused_by_kind);
            seen.push(format!("connections refused in the handshake: {kinds}"));
        }
        seen.extend(summary.failed_checks.first().map(|check| check.example.clone()));
        seen.retain(|text| !text.is_empty());
        let seen = if seen.is_empty() { format!("{lost} sessions lost") } else { seen.join("; ") };
        let never_began = totals.requests_ok == 0 && totals.refused > 0 && totals.admitted == 0;
        let remedy = match self.one_page {
            _ if never_began && self.plan.target.starts_with("https") => {
                "it may not use TLS on this port (try http:// or another port), or refuse this machine"
                    .to_owned()
            }
            true => format!("look at it with `tidegate load {} -n 1`", self.plan.target),
            false => format!(
                "check the scenario with `tidegate load {} --target {} -n 1`, and whether it is for this site",
                self.plan.scenario.name(),
                self.plan.target
            ),
        };
        format!("{} {what} ({seen}); {remedy}", self.plan.target)
    }

    /// A step at a rate before the site.
    ///
    /// # Errors
    /// The run fails or is interrupted.
    pub(crate) fn step(&mut self, phase: Phase, rate: f64, times: Times) -> Result<Step> {
        Ok(self.step_and_result(phase, rate, times)?.0)
    }

    /// The same with the result of its run.
    ///
    /// # Errors
    /// As [`Measuring::step`].
    pub(crate) fn step_and_result(
        &mut self,
        phase: Phase,
        rate: f64,
        times: Times,
    ) -> Result<(Step, Summary)> {
        let Plan { target, insecure, .. } = self.plan;
        self.result_at(target, *insecure, phase, rate, times)
    }

    /// A step before another service, such as the gate.
    ///
    /// # Errors
    /// As [`Measuring::step`].
    pub(crate) fn step_at(
        &mut self,
        target: &str,
        insecure: bool,
        phase: Phase,
        rate: f64,
        times: Times,
    ) -> Result<Step> {
        Ok(self.result_at(target, insecure, phase, rate, times)?.0)
    }

    fn result_at(
        &mut self,
        target: &str,
        insecure: bool,
        phase: Phase,
        rate: f64,
        times: Times,
    ) -> Result<(Step, Summary)> {
        if std::mem::take(&mut self.overloaded) {
            self.recover(times)?;
        }
        self.number += 1;
        let mut plan = self.plan_for(target, insecure);
        if target != self.plan.target {
            plan.resolve.clear();
        }
        plan.seed = plan.seed.wrapping_add(self.number as u64);
        plan.arrivals = Some(Arrivals::poisson(rate));
        plan.time_scale = times.scale;
        plan.patience_scale = (1.0 / times.scale).min(1000.0);
        (plan.warm_up, plan.measure) = (times.warm_up, times.window(rate, FEWEST));
        let name = format!("{STEPS}/{:03}", self.number);
        plan.parquet = Some(self.folder.file(&format!("{name}.requests.parquet")));
        let (mut observation, mut used, site) = (None, None::<HostUse>, self.site);
        let observer = &mut |snapshot: &tidegate_load::Snapshot| match snapshot.stage {
            RunStage::WarmUp => {}
            RunStage::Measure => match (&mut observation, site) {
                (Some(observed), _) => Observation::sample(observed),
                (None, Some(site)) => observation = Some(Observation::begin(site)),
                (None, None) => {}
            },
            RunStage::Done => used = observation.take().and_then(Observation::end),
        };
        let at_s = self.began.elapsed().as_secs_f64() + plan.warm_up.as_secs_f64();
        let summary = tidegate_load::run(plan, observer).map_err(of_load)?;
        self.check_stop()?;
        if let Some(error) = &summary.raw_error {
            return Err(Error::Machine(format!(
                "the requests of a step cannot be written to {}: {error}; {MAKE_ROOM}",
                self.folder.file(STEPS).display()
            )));
        }
        let text =
            serde_json::to_vec(&summary).map_err(|error| Error::Internal(error.to_string()))?;
        self.folder.write(&format!("{name}.json"), &text)?;
        let step = self.judged(&summary, (phase, rate, at_s), times, used);
        self.overloaded = step.outcome != Outcome::Carried;
        Ok((step, summary))
    }

    /// Waits until the site answers one customer about as fast as before any load, at most for
    /// twice the time of a step: many sites work off the requests of customers who have left, and what is left
    /// of an overload is not the load of the next step.
    fn recover(&self, times: Times) -> Result<()> {
        let (began, most) = (Instant::now(), 2 * (times.warm_up + times.measure));
        let enough_ms = 1000.0 * (RECOVERED * times.response_s + AS_WELL.as_secs_f64());
        while let Some(left) = most.checked_sub(began.elapsed()) {
            let mut plan = self.alone();
            (plan.max_sessions, plan.measure) = (Some(1), left.max(Duration::from_secs(1)));
            // A site that cannot even be reached has not recovered; if that lasts, the step tells.
            let seen = tidegate_load::run(plan, &mut |_| ());
            self.check_stop()?;
            let has = |it: &Summary| it.totals.requests_ok > 0 && it.response.mean_ms <= enough_ms;
            if seen.is_ok_and(|summary| has(&summary)) {
                break;
            }
            std::thread::sleep(PAUSE);
        }
        Ok(())
    }

    /// How many sessions should complete: as long as they are with the responses of the first half
    /// of the window. A site whose responses are slow and stay so keeps up, and one whose responses
    /// become slower does not.
    fn expected(&self, summary: &Summary, times: Times) -> Expected {
        let response_s = early_response_s(summary).unwrap_or(times.response_s);
        let sessions = durations(self.plan.scenario.drawn_sessions(), times.scale, response_s);
        let window = (summary.warm_up_s, summary.warm_up_s + summary.measured_s);
        expected(&arrivals(summary), window, &sessions)
    }

    /// A step with its outcome, from the result of its run.
    fn judged(
        &self,
        summary: &Summary,
        (phase, rate_per_s, at_s): (Phase, f64, f64),
        times: Times,
        host: Option<HostUse>,
    ) -> Step {
        let limit = self.limit;
        let (totals, seconds) = (&summary.totals, summary.measured_s.max(1e-9));
        let share = f64::from(limit.percentile) / 100.0;
        let usual = summary.response.usual();
        let response = usual.iter().find(|(q, _)| (q - share).abs() < 1e-9).map(|(_, it)| *it);
        let mut because = summary.driver.saturated_because.clone();
        if totals.not_started > 0 {
            because.push(format!(
                "{} sessions were not started, because too many were in progress",
                totals.not_started
            ));
        }
        let ended = totals.ended();
        let expected = self.expected(summary, times);
        let (in_flight, in_flight_growth) = in_flight(summary);
        let mut step = Step {
            number: self.number,
            phase,
            at_s,
            measured_s: summary.measured_s,
            rate_per_s,
            offered_per_s: summary.offered_per_s,
            completed_per_s: summary.completed_per_s,
            expected_per_s: expected.count / seconds,
            expected_deviation_per_s: expected.deviation / seconds,
            refused_per_s: summary.refused_per_s,
            abandoned_per_s: summary.abandoned_per_s,
            failed_per_s: summary.failed_per_s,
            // Where none ended none was lost: whether too few did is judged by the rates.
            completed_ratio: if ended > 0 { totals.completed as f64 / ended as f64 } else { 1.0 },
            requests_per_s: summary.requests_per_s,
            in_flight,
            in_flight_growth,
            response: response.unwrap_or_default(),
            response_p50_ms: summary.response.p50_ms,
            service_ms: service_ms(summary),
            phases: PHASES
                .map(|(name, _, of)| (name, of(&summary.phases)))
                .map(|(name, times)| (name, (times.count > 0).then_some(times.p50_ms)))
                .into(),
            full_handshake_share: summary.full_handshake_share,
            driver_cpu_share: summary.driver.cpu_share,
            driver_saturated_because: because,
            host,
            outcome: Outcome::Lost,
        };
        step.outcome = step.judge(limit);
        step
    }

    /// # Errors
    /// The operator has interrupted the study.
    pub(crate) fn check_stop(&self) -> Result<()> {
        match self.plan.stop.is_stopped() {
            true => {
                Err(Error::Process("interrupted: the study has no result; run it again".to_owned()))
            }
            false => Ok(()),
        }
    }

    /// One customer at a time, who hardly thinks.
    fn alone(&self) -> Plan {
        let mut plan = self.plan.clone();
        plan.arrivals = Some(Arrivals::closed(1));
        let think = plan.scenario.session_duration().as_secs_f64();
        plan.time_scale = (0.5 / think.max(0.5)).max(0.002);
        plan.patience_scale = 1.0 / plan.time_scale;
        plan.warm_up = Duration::ZERO;
        plan
    }

    fn plan_for(&self, target: &str, insecure: bool) -> Plan {
        let mut plan = self.plan.clone();
        (plan.target, plan.insecure) = (target.to_owned(), insecure);
        plan.ca = plan.ca.filter(|_| !insecure);
        plan
    }
}

/// Mean time from a request to the last byte of its response.
fn service_ms(summary: &Summary) -> f64 {
    summary.phases.first_byte.mean_ms + summary.phases.last_byte.mean_ms
}

/// Mean response time of the first half of the window; `None` if there was no response.
fn early_response_s(summary: &Summary) -> Option<f64> {
    let half = summary.stretches.len().div_ceil(2);
    let mut times = summary.stretches[..half].iter().filter_map(|stretch| stretch.times());
    let mut early = times.next()?;
    times.for_each(|more| early.merge(&more));
    let found = early.percentiles();
    (!found.is_empty()).then_some(found.mean_ms / 1000.0)
}

/// The arrivals of the whole run, by its seconds; of a run of less than a second, evenly.
fn arrivals(summary: &Summary) -> Vec<Arrived> {
    let all: Vec<Arrived> = summary
        .series
        .iter()
        .map(|it| Arrived {
            from_s: it.at_s - it.length_s,
            to_s: it.at_s,
            count: it.offered_per_s * it.length_s,
        })
        .collect();
    let end = summary.warm_up_s + summary.measured_s;
    match all.is_empty() {
        true => vec![Arrived { from_s: 0.0, to_s: end, count: summary.offered_per_s * end }],
        false => all,
    }
}

/// Sessions in progress: the mean over the window, and that of its last quarter as a multiple of
/// the first. Where sessions are shorter than the second between two counts, the counts are few
/// and the time of requests says it better: `N = X · R` by Little's law.
fn in_flight(summary: &Summary) -> (f64, f64) {
    let counts: Vec<f64> = summary
        .series
        .iter()
        .filter(|point| point.measured)
        .map(|point| point.in_flight as f64)
        .collect();
    let quarter = (counts.len() / 4).max(1).min(counts.len());
    let (first, last) = (mean(&counts[..quarter]), mean(&counts[counts.len() - quarter..]));
    // A few sessions more or less are chance.
    let growth = (last + 3.0) / (first + 3.0);
    let in_flight = match summary.session_think_ms.is_some_and(|think| think > 0.0) {
        true => mean(&counts),
        false => {
            let ended = (summary.response.count + summary.response.unanswered) as f64;
            ended / summary.measured_s.max(1e-9) * summary.response.mean_ms / 1000.0
        }
    };
    (in_flight, growth)
}
