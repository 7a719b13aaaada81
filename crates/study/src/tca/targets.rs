//! The operations that are measured alone, each with the sessions that do so.

use tidegate_lab::{Error, Result};
use tidegate_load::scenario::Alone;
use tidegate_load::{Scenario, Summary};
use tidegate_plan::profile::Profile;

use super::options::Design;
use super::runs::{Bench, FAILED, Load, NOT_BUSY, Run};
use super::search::{BUSY, Found, Search, Trial};

/// How often a session requests a page that may be requested again, if there are enough sessions.
const REPEATS: u32 = 10;
/// Sessions per second of a page alone at [`BUSY`]: with fewer a run is a few sessions, so that it
/// repeats the page less often.
const FEWEST_PER_S: f64 = 5.0;
/// Sessions of a run, as far as it may become longer for them.
const SESSIONS: f64 = 6.0;
const LONGER: f64 = 3.0;
/// Least use of the busiest resource that one customer is taken to cause: what the kernel counts
/// is too little to go by.
const LEAST_BUSY: f64 = 0.05;
/// Requests of a session beyond which it counts as one without end.
pub(super) const ENDLESS: f64 = 5000.0;
/// Failures that are told.
const TOLD: usize = 8;
/// Longest trial of one customer, in trials: one who has not come to the page has more time.
const LONGEST_TRIAL: u32 = 16;

/// An operation that is measured alone.
#[derive(Clone, Debug)]
pub(super) struct Target {
    /// Its index.
    pub(super) operation: usize,
    alone: Alone,
    /// How often a session requests it, as seen.
    per_session: f64,
    /// Sessions per second of one customer alone, and the use of the busiest resource by them.
    alone_per_s: f64,
    alone_busy: f64,
    /// The rate that its loads are shares of.
    pub(super) found: Option<Found>,
}

/// The pages that sessions of a scenario come to, in its order, with those that are measured
/// alone: all of them, or those of a profile and none that is only on the way.
///
/// # Errors
/// [`Error::Operator`]: the profile names an operation that is no page of the scenario, or sessions
/// have no end.
pub(super) fn operations(
    scenario: &Scenario,
    profile: Option<&Profile>,
) -> Result<(Vec<String>, Vec<bool>)> {
    let length = scenario.session_length().mean_requests;
    if length > ENDLESS {
        return Err(Error::Operator(format!(
            "{}: a session has {length:.0} requests on average, so that no run sees its end; let sessions end in its transitions, or set session.max_requests",
            scenario.name()
        )));
    }
    let pages: Vec<&str> = scenario.pages().iter().map(|page| page.name.as_str()).collect();
    if let Some(profile) = profile {
        let known: Vec<&str> = pages.iter().copied().chain([super::CONNECTION]).collect();
        let unknown = profile.unknown(&known);
        if let Some(first) = unknown.first() {
            let remedy = tidegate_config::did_you_mean(first, &pages)
                .unwrap_or_else(|| format!("its pages are {}", pages.join(", ")));
            return Err(Error::Operator(format!(
                "the profile has operations that are no pages of {}: {}; {remedy}",
                scenario.name(),
                unknown.join(", ")
            )));
        }
    }
    let wanted =
        |name: &str| profile.is_none_or(|it| it.per_session(name).is_some_and(|it| it.high > 0.0));
    Ok((
        pages.iter().map(|name| (*name).to_owned()).collect(),
        pages.iter().map(|it| wanted(it)).collect(),
    ))
}

impl Target {
    /// Looks at each operation alone, one customer at a time, and finds the rate of its loads.
    ///
    /// # Errors
    /// [`Error::Process`]: operations answer errors, or no session comes to them; a run fails.
    pub(super) fn all(
        bench: &mut Bench,
        scenario: &Scenario,
        wanted: &[bool],
        design: Design,
        keep: &mut dyn FnMut(Run),
        note: &mut dyn FnMut(String),
    ) -> Result<Vec<Self>> {
        let (mut targets, mut wrong, mut unreached) = (Vec::new(), Vec::new(), Vec::new());
        for operation in (0..wanted.len()).filter(|at| wanted[*at]) {
            let page = operation as u16;
            let name = &bench.operations[operation].clone();
            let ways = [scenario.alone(page, REPEATS), scenario.until(page, REPEATS)];
            let mut ways = ways.into_iter().flatten().peekable();
            if ways.peek().is_none() {
                unreached.push(name.clone());
                continue;
            }
            let mut why = None;
            for alone in ways {
                match Self::probe(bench, operation, alone, design)? {
                    Ok((target, run)) => {
                        keep(run);
                        (why, targets) = (None, [targets, vec![target]].concat());
                        break;
                    }
                    Err(text) => why = Some(text),
                }
            }
            wrong.extend(why);
        }
        if !unreached.is_empty() {
            note(format!("no session comes to {}: not measured", unreached.join(", ")));
        }
        if !wrong.is_empty() {
            let more = wrong.len().saturating_sub(TOLD);
            wrong.truncate(TOLD);
            let more = if more > 0 { format!("\n  and {more} more") } else { String::new() };
            return Err(Error::Process(format!(
                "operations cannot be measured alone:\n  {}{more}\n  look at one with `tidegate load SCENARIO --target URL -n 1 --http-debug 1`, and mend the scenario or the site",
                wrong.join("\n  ")
            )));
        }
        targets.extend(Self::connections(&targets, scenario, wanted.len()));
        for target in &mut targets {
            target.search(bench, design, keep)?;
        }
        Ok(targets)
    }

    /// Connections alone: the first of the operations that sessions repeat, once in each.
    fn connections(targets: &[Self], scenario: &Scenario, index: usize) -> Option<Self> {
        let repeated = |it: &&Self| it.alone.repeats > 1 && !it.operation_is_far();
        let it = targets.iter().filter(repeated).min_by_key(|it| it.alone.way.len())?;
        let alone = scenario.alone(it.operation as u16, 1)?;
        let length = |alone: &Alone| (alone.way.len() as u32 + alone.repeats) as f64;
        let shorter = length(&it.alone) / length(&alone);
        let alone_per_s = it.alone_per_s * shorter.sqrt();
        Some(Self { operation: index, alone, per_session: 1.0, alone_per_s, ..it.clone() })
    }

    /// One customer at a time; why it cannot be measured, in words.
    fn probe(
        bench: &mut Bench,
        operation: usize,
        alone: Alone,
        design: Design,
    ) -> Result<Result<(Self, Run), String>> {
        let mut length = design.trial;
        let (run, summary) = loop {
            let load = Load {
                scenario: &alone.scenario,
                operation: Some(operation),
                per_s: None,
                customers: 1,
                length,
                search: true,
            };
            let (run, summary) = bench.run(load)?;
            // A slow site, or a busy machine: the customer was still on the way.
            let requests = run.requests_ok + run.requests_failed;
            let on_the_way = run.requests_failed == 0 && requests <= alone.way.len() as u64;
            if !on_the_way || length >= design.trial * LONGEST_TRIAL {
                break (run, summary);
            }
            length *= 4;
        };
        let name = &bench.operations[operation];
        let count = run.counts_per_s[operation];
        let all = (run.requests_ok + run.requests_failed).max(1);
        if run.requests_ok + run.requests_failed == 0 {
            return Ok(Err(format!("{name}: no request was answered in {:.1} s", run.seconds)));
        }
        if run.requests_failed as f64 > FAILED * all as f64 || run.requests_ok == 0 {
            return Ok(Err(format!(
                "{name}: {} of {all} requests failed on the way to it{}",
                run.requests_failed,
                seen(&summary)
            )));
        }
        if count <= 0.0 {
            return Ok(Err(format!(
                "{name}: no session came to it in {:.1} s, because no page offered it{}",
                run.seconds,
                seen(&summary)
            )));
        }
        let sessions = run.completed_per_s.max(1.0 / run.seconds);
        let mut target = Self {
            operation,
            per_session: count / sessions,
            alone_per_s: sessions,
            alone_busy: run.busy.max(LEAST_BUSY),
            alone,
            found: None,
        };
        target.fewer_repeats(&bench.plan.scenario);
        Ok(Ok((target, run)))
    }

    /// Repeats an expensive page less often in a session, so that a run has enough sessions.
    fn fewer_repeats(&mut self, scenario: &Scenario) {
        let at_busy = self.alone_per_s * BUSY / self.alone_busy;
        let of = |repeats: u32| match self.alone.way.is_empty() && self.operation_is_far() {
            true => scenario.until(self.operation as u16, repeats),
            false => scenario.alone(self.operation as u16, repeats),
        };
        let repeats = (f64::from(self.alone.repeats) * at_busy / FEWEST_PER_S).floor().max(1.0);
        if repeats < f64::from(self.alone.repeats)
            && let Some(alone) = of(repeats as u32)
        {
            let shorter = f64::from(alone.repeats) / f64::from(self.alone.repeats);
            (self.per_session, self.alone_per_s) =
                (self.per_session * shorter, self.alone_per_s / shorter);
            self.alone = alone;
        }
    }

    /// It is reached by the ways of customers: no single way is known though it is not the start.
    fn operation_is_far(&self) -> bool {
        self.alone.way.is_empty() && self.alone.scenario.classes()[0].start != self.operation as u16
    }

    fn search(
        &mut self,
        bench: &mut Bench,
        design: Design,
        keep: &mut dyn FnMut(Run),
    ) -> Result<()> {
        let sessions = |run: &Run| {
            // By its requests: sessions that were cut off have been served as well.
            (run.count(self.operation) / self.per_session).max(run.completed_per_s)
        };
        let mut search = Search::begin(
            self.alone_per_s,
            self.alone_busy,
            design.trials,
            tidegate_load::Arrivals::FASTEST,
        );
        while let Some(per_s) = search.next() {
            let (run, _) = bench.run(Load {
                scenario: &self.alone.scenario,
                operation: Some(self.operation),
                per_s: Some(per_s),
                customers: 0,
                length: length(design.trial, per_s),
                search: true,
            })?;
            search.push(Trial {
                per_s,
                completed_per_s: sessions(&run),
                busy: run.busy,
                follows: run.follows,
                // Where others have the processors, what it does not follow is no limit of its own.
                in_time: run.is_in_time()
                    && (run.follows || run.busy >= NOT_BUSY || run.is_ceiling()),
            });
            keep(run);
        }
        self.found = search.found();
        Ok(())
    }

    /// The run of the operation at a load, a multiple of the rate that was found.
    pub(super) fn load(&self, multiple: f64, design: Design) -> Option<Load<'_>> {
        let per_s = multiple * self.found?.per_s;
        Some(Load {
            scenario: &self.alone.scenario,
            operation: Some(self.operation),
            per_s: Some(per_s),
            customers: 0,
            length: length(design.window, per_s),
            search: false,
        })
    }

    /// Operations per second that it did not exceed though no measured resource was used up.
    pub(super) fn ceiling_per_s(&self) -> Option<f64> {
        Some(self.found?.ceiling_per_s? * self.per_session)
    }

    /// How it is measured, in words: `Home, List, then 10 times`.
    pub(super) fn in_words(&self, operations: &[String]) -> String {
        let way = self.alone.way.iter().map(|at| operations[usize::from(*at)].as_str());
        let way = way.collect::<Vec<_>>().join(", ");
        let times = match self.alone.repeats {
            1 => "once".to_owned(),
            times => format!("{times} times on average"),
        };
        match way.as_str() {
            _ if self.operation >= operations.len() => "a session for each request".to_owned(),
            "" if self.operation_is_far() => format!("by the ways of customers, then {times}"),
            "" => times,
            way => format!("{way}, then {times}"),
        }
    }
}

/// The length of a run: longer where few sessions come.
fn length(window: std::time::Duration, per_s: f64) -> std::time::Duration {
    let enough = std::time::Duration::from_secs_f64((SESSIONS / per_s).min(3600.0));
    enough.clamp(window, window.mul_f64(LONGER))
}

/// What went wrong in a run, for a message.
fn seen(summary: &Summary) -> String {
    let failed = summary.failures.first();
    let check = summary.failed_checks.first();
    let first = failed.map(|it| format!(": {} {}", it.page, it.cause));
    let check = check.map(|it| format!(" ({}: {})", it.page, it.example));
    first.unwrap_or_default() + &check.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::options::tests::options;
    use super::*;
    use tidegate_plan::Range;
    use tidegate_plan::profile::Visits;

    const SHOP: &str = "[session]\nsteps = [\"Home\", \"Item\"]\n[pages]\n\
                        Home = { path = \"/\" }\nItem = { path = \"/item\" }\n";

    fn profile(of: &[&str]) -> Profile {
        let visits =
            |name: &&str| Visits { operation: (*name).into(), per_session: Range::exactly(1.0) };
        Profile {
            session_s: Range::exactly(1.0),
            sessions: 0,
            checkout: None,
            operations: of.iter().map(visits).collect(),
        }
    }

    #[test]
    fn a_profile_that_names_no_page_of_the_scenario_is_refused_with_the_nearest() {
        let scenario = options(SHOP).plan.scenario;
        let error = operations(&scenario, Some(&profile(&["Home", "Itm"]))).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        let text = error.to_string();
        assert!(text.contains("no pages of shop: Itm; did you mean Item?"), "{text}");
    }

    #[test]
    fn only_operations_of_the_profile_are_measured_alone() {
        let scenario = options(SHOP).plan.scenario;
        let all = operations(&scenario, None).unwrap();
        assert_eq!(all, (vec!["Home".into(), "Item".into()], vec![true, true]));
        let (_, wanted) = operations(&scenario, Some(&profile(&["Item"]))).unwrap();
        assert_eq!(wanted, [false, true]);
    }

    #[test]
    fn sessions_without_end_are_refused_with_a_remedy() {
        let text = "[session]\nstart = \"A\"\nmax_requests = 1000000\n[pages]\nA = { path = \"/\" }\n\
                    [transitions]\nA = { A = 1 }\n";
        let error = operations(&options(text).plan.scenario, None).unwrap_err().to_string();
        assert!(
            error.contains("1000000 requests") && error.contains("session.max_requests"),
            "{error}"
        );
    }

    #[test]
    fn runs_are_longer_where_few_sessions_come_within_bounds() {
        let s = std::time::Duration::from_secs_f64;
        assert_eq!(length(s(2.0), 100.0), s(2.0));
        assert_eq!(length(s(2.0), 2.0), s(3.0));
        assert_eq!(length(s(2.0), 0.01), s(6.0));
    }
}
