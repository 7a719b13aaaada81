//! Adds up the shards of one test to the result that a single load generator would have
//! had. Nothing is averaged: counts add up, and histograms add up bucket by bucket.

pub mod live;
mod read;

use std::time::Duration;

use tidegate_stats::CensoredHistogram;

use crate::plan::shard::Shard;
use crate::result::series::Point;
use crate::result::shard::{Second, ShardResult, Test, histogram};
use crate::result::summarize::summarize;
use crate::result::summary::Summary;
use crate::result::tally::Tally;

/// Largest difference of the ends of shards that were stopped together.
const SAME_END: Duration = Duration::from_secs(1);

/// A lost shard.
#[derive(Clone, Debug)]
pub struct MissingShard {
    /// The shard.
    pub shard: Shard,
    /// Why, such as `was killed by signal 9 after 3.2 s`.
    pub why: String,
}

/// Adds up the shards of a test. Each has a name for messages. Every shard must be there
/// once.
///
/// # Errors
/// Why they do not belong together, with the remedy.
pub fn merge(shard_results: Vec<(String, ShardResult)>) -> Result<Summary, Vec<String>> {
    let wrong = mismatches(&shard_results);
    if !wrong.is_empty() {
        return Err(wrong);
    }
    add_up(shard_results, &[]).map_err(|wrong| vec![wrong])
}

/// Adds up the available shards of a test whose other shards were lost. The summary lists
/// the lost shards; its exit code is 3. At least one shard is needed.
///
/// # Errors
/// As [`merge`].
pub fn merge_available(
    shard_results: Vec<(String, ShardResult)>,
    missing: &[MissingShard],
) -> Result<Summary, String> {
    add_up(shard_results, missing)
}

/// Reasons why the shards are not those of one test; empty if they are.
fn mismatches(shard_results: &[(String, ShardResult)]) -> Vec<String> {
    let Some((first_name, first)) = shard_results.first() else {
        return vec!["there is nothing to merge: name the files of all shards".to_owned()];
    };
    let mut wrong = Vec::new();
    for (name, shard_result) in &shard_results[1..] {
        let different = differences(&first.test, &shard_result.test);
        wrong.extend(different.into_iter().map(|(what, remedy)| {
            format!("{name} and {first_name} are not shards of one test: {what}; {remedy}")
        }));
    }
    let of = first.shard().of();
    let others =
        shard_results[1..].iter().filter(|(_, shard_result)| shard_result.shard().of() != of);
    let mut counted = others
        .map(|(name, shard_result)| {
            format!(
                "{name} is shard {} and {first_name} is shard {}: the tests were divided \
                 differently; give the shards of one test",
                shard_result.shard(),
                first.shard()
            )
        })
        .collect::<Vec<_>>();
    if counted.is_empty() {
        for number in 1..=of {
            let mut names = shard_results
                .iter()
                .filter(|(_, shard_result)| shard_result.shard().number() == number)
                .map(|(name, _)| name.as_str());
            let shard = format!("shard {number}/{of}");
            match (names.next(), names.next()) {
                (None, _) => counted.push(format!(
                    "{shard} is missing: without it the figures would not be those of the test; \
                     name its file as well"
                )),
                (Some(a), Some(b)) => counted.push(format!(
                    "{shard} is given twice, as {a} and {b}: its customers would count twice; name \
                     each shard once"
                )),
                (Some(_), None) => {}
            }
        }
    }
    wrong.append(&mut counted);
    if wrong.is_empty() {
        wrong.extend(different_ends(shard_results));
    }
    wrong
}

/// What differs between two shards, and the remedy.
fn differences(a: &Test, b: &Test) -> Vec<(String, &'static str)> {
    let mut all = Vec::new();
    let mut compare = |what: &str, here: String, there: String, remedy| {
        if here != there {
            all.push((format!("{what} {there} and {here}"), remedy));
        }
    };
    let same_flags = "start every shard with the same scenario and flags, except for --shard";
    let text = |text: &String| text.clone();
    compare("scenario", text(&a.scenario), text(&b.scenario), same_flags);
    compare("target", text(&a.target), text(&b.target), same_flags);
    compare("seed", a.seed.to_string(), b.seed.to_string(), same_flags);
    compare("arrivals", text(&a.arrivals), text(&b.arrivals), same_flags);
    compare("warm-up of", format!("{:?}", a.warm_up), format!("{:?}", b.warm_up), same_flags);
    compare("duration of", format!("{:?}", a.measure), format!("{:?}", b.measure), same_flags);
    compare(
        "version of tidegate",
        text(&a.version),
        text(&b.version),
        "use the same version for all shards",
    );
    compare(
        "started (milliseconds since 1970)",
        a.started_at_unix_ms.to_string(),
        b.started_at_unix_ms.to_string(),
        "they belong to different runs: give all shards the same --start-at, and merge those of one run",
    );
    if all.is_empty() && a.fingerprint != b.fingerprint {
        all.push((
            "the scenario file or a flag differs".to_owned(),
            "start every shard with the same scenario and flags, except for --shard",
        ));
    }
    all
}

/// Detects shards that were stopped at different times: after the first stop the load was
/// no longer that of the test.
fn different_ends(shard_results: &[(String, ShardResult)]) -> Option<String> {
    let longest = shard_results.iter().max_by_key(|(_, shard_result)| shard_result.measured)?;
    let stopped = shard_results.iter().filter(|(_, shard_result)| shard_result.driver.interrupted);
    let first = stopped.min_by_key(|(_, shard_result)| shard_result.measured)?;
    let seconds = |shard_result: &ShardResult| shard_result.measured.as_secs_f64();
    (longest.1.measured > first.1.measured + SAME_END).then(|| {
        format!(
            "{} was stopped after {:.1} s of the window and {} went on to {:.1} s: from then on \
             the load was incomplete; repeat the test, and stop all shards together",
            first.0,
            seconds(&first.1),
            longest.0,
            seconds(&longest.1)
        )
    })
}

fn add_up(
    shard_results: Vec<(String, ShardResult)>,
    missing: &[MissingShard],
) -> Result<Summary, String> {
    let mut shard_results = shard_results;
    shard_results.sort_by_key(|(_, shard_result)| shard_result.shard().number());
    let Some((_, first)) = shard_results.first() else {
        return Err("there is nothing to merge".to_owned());
    };
    let (test, mut tally) = (first.test.clone(), None::<Tally>);
    let measured = shard_results
        .iter()
        .map(|(_, shard_result)| shard_result.measured)
        .max()
        .unwrap_or_default();
    let (mut drivers, mut all_seconds) = (Vec::new(), Vec::new());
    for (name, shard_result) in shard_results {
        match &mut tally {
            None => tally = Some(shard_result.tally),
            Some(sum) => sum.merge(shard_result.tally).map_err(|what| format!("{name}: {what}"))?,
        }
        drivers.push(shard_result.driver);
        all_seconds.push((name, shard_result.seconds));
    }
    let series = series(&all_seconds)?;
    let mut summary = summarize(&test, drivers, &tally.unwrap_or_default(), series, measured);
    if let Some(second) = first_without_histogram(&all_seconds) {
        summary.incomplete.push(format!(
            "response times per second end after {second} s, because the space for saving them \
             was used up; all other figures are complete"
        ));
    }
    for MissingShard { shard, why } in missing {
        summary.incomplete.push(format!(
            "driver {} of {} {why}: its result is lost, and these figures are those of the {} other shard{} \
             of {} only",
            shard.number(),
            shard.of(),
            shard.of() as usize - missing.len(),
            if shard.of() as usize - missing.len() == 1 { "" } else { "s" },
            shard.of(),
        ));
    }
    Ok(summary)
}

/// The run second by second. A shard whose customers have all left has fewer seconds.
fn series(shards: &[(String, Vec<Second>)]) -> Result<Vec<Point>, String> {
    let longest = shards.iter().map(|(_, seconds)| seconds.len()).max().unwrap_or_default();
    let point = |index: usize| {
        let mut all = shards.iter().filter_map(|(_, seconds)| seconds.get(index));
        let mut interval = all.next().map(|second| second.interval).unwrap_or_default();
        all.for_each(|second| interval.merge(&second.interval));
        let mut response = CensoredHistogram::new();
        for (name, seconds) in shards {
            match seconds.get(index).map(|second| second.times.as_ref()) {
                None => {}
                Some(None) => {
                    return Ok(interval.point(CensoredHistogram::new().percentiles()));
                }
                Some(Some(times)) => response.merge(
                    &histogram(times)
                        .ok_or_else(|| format!("{name}: second {index} has no histogram"))?,
                ),
            }
        }
        Ok(interval.point(response.percentiles()))
    };
    (0..longest).map(point).collect()
}

fn first_without_histogram(shards: &[(String, Vec<Second>)]) -> Option<usize> {
    let first = |seconds: &Vec<Second>| seconds.iter().position(|it| it.times.is_none());
    shards.iter().filter_map(|(_, seconds)| first(seconds)).min()
}

#[cfg(test)]
mod tests;
