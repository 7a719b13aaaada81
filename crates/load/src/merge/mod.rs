//! Several drivers' parts of one test, added up to the result that one driver
//! would have had. Nothing is averaged: counts add up, and histograms do bucket by
//! bucket.

pub mod live;

use std::time::Duration;

use tidegate_stats::Latency;

use crate::result::shard::{Portion, Second, Test, fingerprint, histogram};

use crate::plan::Plan;
use crate::plan::shard::Part;
use crate::result::sum::sum_up;
use crate::result::summary::{Point, Summary};
use crate::result::tally::Tally;

/// Parts of a test that was stopped ended together if not further apart than
/// this.
const TOGETHER: Duration = Duration::from_secs(1);

/// A part that is not there, and why.
#[derive(Clone, Debug)]
pub struct Missing {
    /// Which.
    pub part: Part,
    /// Why, such as `was killed by signal 9 after 3.2 s`.
    pub why: String,
}

/// Adds up the parts of a test, each with the name that it is told by. All of
/// them have to be there, once.
///
/// # Errors
/// Why they do not belong together, in sentences with the remedy.
pub fn merge(portions: Vec<(String, Portion)>) -> Result<Summary, Vec<String>> {
    let wrong = unlike(&portions);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    add_up(portions, &[]).map_err(|wrong| vec![wrong])
}

/// Adds up the parts that are left of a test whose other parts are lost; what is
/// missing stands in the summary, whose exit code is 3. At least one is needed.
///
/// # Errors
/// As [`merge`].
pub fn merge_what_is_left(
    portions: Vec<(String, Portion)>,
    missing: &[Missing],
) -> Result<Summary, String> {
    add_up(portions, missing)
}

/// Why parts are not those of one test; empty if they are.
fn unlike(portions: &[(String, Portion)]) -> Vec<String> {
    let Some((first_name, first)) = portions.first() else {
        return vec!["there is nothing to merge: name the files of all parts".to_owned()];
    };
    let mut wrong = Vec::new();
    for (name, portion) in &portions[1..] {
        let different = differences(&first.test, &portion.test);
        wrong.extend(different.into_iter().map(|(what, remedy)| {
            format!("{name} and {first_name} are not of one test: {what}; {remedy}")
        }));
    }
    let of = first.part().of();
    let others = portions[1..].iter().filter(|(_, portion)| portion.part().of() != of);
    let mut counted = others
        .map(|(name, portion)| {
            format!(
                "{name} is part {} and {first_name} is part {}: the tests were divided \
                 differently; give the parts of one test",
                portion.part(),
                first.part()
            )
        })
        .collect::<Vec<_>>();
    if counted.is_empty() {
        for number in 1..=of {
            let mut names = portions
                .iter()
                .filter(|(_, portion)| portion.part().number() == number)
                .map(|(name, _)| name.as_str());
            let part = format!("part {number}/{of}");
            match (names.next(), names.next()) {
                (None, _) => counted.push(format!(
                    "{part} is missing: without it the figures would be those of another load; \
                     name its file, too"
                )),
                (Some(a), Some(b)) => counted.push(format!(
                    "{part} is there twice, in {a} and {b}: its customers would count twice; name \
                     each part once"
                )),
                (Some(_), None) => {}
            }
        }
    }
    wrong.append(&mut counted);
    if wrong.is_empty() {
        wrong.extend(apart(portions));
    }
    wrong
}

/// What is not the same in two parts, and what to do about it.
fn differences(a: &Test, b: &Test) -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    let mut told = |what: &str, here: String, there: String, remedy| {
        if here != there {
            all.push((format!("{what} {there} and {here}"), remedy));
        }
    };
    let run_alike = "start every part with the same scenario and flags, but for --part";
    let text = |text: &String| text.clone();
    told("scenario", text(&a.scenario), text(&b.scenario), run_alike);
    told("target", text(&a.target), text(&b.target), run_alike);
    told("seed", a.seed.to_string(), b.seed.to_string(), run_alike);
    told("arrivals", text(&a.arrivals), text(&b.arrivals), run_alike);
    told("warm-up of", format!("{:?}", a.warm_up), format!("{:?}", b.warm_up), run_alike);
    told("duration of", format!("{:?}", a.measure), format!("{:?}", b.measure), run_alike);
    told(
        "version of tidegate",
        text(&a.version),
        text(&b.version),
        "use the same version for all parts",
    );
    told(
        "started (milliseconds since 1970)",
        a.started_at_unix_ms.to_string(),
        b.started_at_unix_ms.to_string(),
        "they are of different runs: give all parts the same --start-at, and merge those of one run",
    );
    if all.is_empty() && a.fingerprint != b.fingerprint {
        all.push((
            "the scenario's file, or a flag, was another".to_owned(),
            "start every part with the same scenario and flags, but for --part",
        ));
    }
    all
}

/// Parts that were stopped at different times: after the first of them the load
/// was no longer that of the test.
fn apart(portions: &[(String, Portion)]) -> Option<String> {
    let longest = portions.iter().max_by_key(|(_, portion)| portion.measured)?;
    let stopped = portions.iter().filter(|(_, portion)| portion.driver.interrupted);
    let first = stopped.min_by_key(|(_, portion)| portion.measured)?;
    let seconds = |portion: &Portion| portion.measured.as_secs_f64();
    (longest.1.measured > first.1.measured + TOGETHER).then(|| {
        format!(
            "{} was stopped after {:.1} s of the window and {} went on to {:.1} s: from then on \
             only a part of the load was there; run it again, and stop all parts together",
            first.0,
            seconds(&first.1),
            longest.0,
            seconds(&longest.1)
        )
    })
}

fn add_up(portions: Vec<(String, Portion)>, missing: &[Missing]) -> Result<Summary, String> {
    let mut portions = portions;
    portions.sort_by_key(|(_, portion)| portion.part().number());
    let Some((_, first)) = portions.first() else {
        return Err("there is nothing to merge".to_owned());
    };
    let (test, mut tally) = (first.test.clone(), None::<Tally>);
    let measured = portions.iter().map(|(_, portion)| portion.measured).max().unwrap_or_default();
    let (mut drivers, mut all_seconds) = (Vec::new(), Vec::new());
    for (name, portion) in portions {
        match &mut tally {
            None => tally = Some(portion.tally),
            Some(sum) => sum.merge(portion.tally).map_err(|what| format!("{name}: {what}"))?,
        }
        drivers.push(portion.driver);
        all_seconds.push((name, portion.seconds));
    }
    let series = series(&all_seconds)?;
    let mut summary = sum_up(&test, drivers, &tally.unwrap_or_default(), series, measured);
    if let Some(second) = first_without_histogram(&all_seconds) {
        summary.incomplete.push(format!(
            "response times second by second end after {second} s: there was no room to save more \
             of them; all other figures are whole"
        ));
    }
    for Missing { part, why } in missing {
        summary.incomplete.push(format!(
            "driver {} of {} {why}: what it measured is lost, and these figures are those of the \
             {} other part{} of {} alone",
            part.number(),
            part.of(),
            part.of() as usize - missing.len(),
            if part.of() as usize - missing.len() == 1 { "" } else { "s" },
            part.of(),
        ));
    }
    Ok(summary)
}

/// The run second by second. Where one part has fewer seconds, its customers had
/// all left.
fn series(parts: &[(String, Vec<Second>)]) -> Result<Vec<Point>, String> {
    let longest = parts.iter().map(|(_, seconds)| seconds.len()).max().unwrap_or_default();
    let point = |index: usize| {
        let mut whole = parts.iter().filter_map(|(_, seconds)| seconds.get(index));
        let mut interval = whole.next().map(|second| second.interval).unwrap_or_default();
        whole.for_each(|second| interval.merge(&second.interval));
        let mut response = Latency::new();
        for (name, seconds) in parts {
            let text = seconds.get(index).map(|second| second.response.as_deref());
            match text {
                None => {}
                Some(None) => return Ok(interval.point(Latency::new().summary())),
                Some(Some(text)) => response.merge(
                    &histogram(text)
                        .ok_or_else(|| format!("{name}: second {index} has no histogram"))?,
                ),
            }
        }
        Ok(interval.point(response.summary()))
    };
    (0..longest).map(point).collect()
}

fn first_without_histogram(parts: &[(String, Vec<Second>)]) -> Option<usize> {
    let first = |seconds: &Vec<Second>| seconds.iter().position(|it| it.response.is_none());
    parts.iter().filter_map(|(_, seconds)| first(seconds)).min()
}

/// What all parts of a plan's test have in common.
pub(crate) fn test_of(plan: &Plan, started_at_unix_ms: u64, arrivals: &str) -> Test {
    let rules = plan.scenario.session();
    let patience = rules.patience.mul_f64(plan.patience_factor());
    let only_one = plan.arrivals().is_ok_and(|arrivals| arrivals.is_open());
    Test {
        version: env!("CARGO_PKG_VERSION").to_owned(),
        fingerprint: plan.part.map(|_| fingerprint(plan)).unwrap_or_default(),
        scenario: plan.scenario.name().to_owned(),
        target: plan.target.clone(),
        arrivals: arrivals.to_owned(),
        seed: plan.seed,
        started_at_unix_ms,
        warm_up: plan.warm_up,
        measure: plan.measure,
        http2: plan.http == crate::plan::Http::Two,
        time_scale: plan.time_scale,
        patience_scale: plan.patience_scale,
        patience_ms: patience.as_secs_f64() * 1000.0,
        session_length: match only_one {
            true => crate::scenario::SessionLength::ONE,
            false => plan.scenario.session_length(),
        },
        full_share_asked: plan.full_share,
        thresholds: plan.scenario.thresholds().to_vec(),
    }
}

#[cfg(test)]
mod tests;
