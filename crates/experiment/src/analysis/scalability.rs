//! How the peak throughput grows with the processors: the Universal Scalability Law and Amdahl's,
//! fitted to the peaks of each configuration.

use std::collections::BTreeMap;

use crate::scalability::{
    Errors, Fitting, ScaleError, ScaleFit, ScalePoint, Single, amdahl, universal_scalability,
};
use serde_json::{Value, json};

use super::curves::{Curve, curves};
use super::published::peaks_beside;
use super::{Run, mean};
use crate::experiment::{Experiment, Levels};
use crate::summary::Row;

/// The factor that the laws are about.
const FACTOR: &str = "processors";
/// Fewest of its levels that tell something: Amdahl's law through one processor has one
/// coefficient.
const FEWEST: usize = 3;
/// The throughput, at the same speed of the machine: levels are measured far apart in time.
const METRIC: &str = "requests_per_s_at_speed";

/// A row for each combination of the other levels: its peaks, and the coefficients with bounds
/// that 95 % of the draws lie within. None where there are fewer than three levels.
pub(super) fn scalability(experiment: &Experiment, runs: &[Run]) -> Vec<Row> {
    if !experiment.factors.iter().any(|factor| factor.name == FACTOR) {
        return Vec::new();
    }
    let mut groups: Vec<(Levels, Vec<Peak>)> = Vec::new();
    for curve in curves(experiment, runs) {
        let Some((levels, peak)) = Peak::of(&curve) else { continue };
        match groups.iter_mut().find(|(known, _)| *known == levels) {
            Some((_, peaks)) => peaks.push(peak),
            None => groups.push((levels, vec![peak])),
        }
    }
    groups.retain(|(_, peaks)| peaks.len() >= FEWEST);
    groups.iter().map(|(levels, peaks)| row(experiment, levels, peaks)).collect()
}

/// The peak with a number of processors.
struct Peak {
    processors: f64,
    /// Mean over the rounds.
    throughput: f64,
    /// That of each round, at the same load.
    by_round: BTreeMap<u32, f64>,
}

impl Peak {
    /// The peak of a curve, with its levels but the number of processors. The load is chosen once
    /// for all rounds: the highest value of each would be raised by noise.
    fn of(curve: &Curve<'_>) -> Option<(Levels, Self)> {
        let mut levels = curve.levels.clone();
        let processors = levels.remove(FACTOR)?.parse().ok()?;
        let means = curve.points.iter().filter_map(|point| Some((point, point.mean(METRIC)?)));
        let (point, throughput) = means.max_by(|a, b| a.1.total_cmp(&b.1))?;
        let mut rounds: BTreeMap<u32, Vec<&Run>> = BTreeMap::new();
        for run in &point.runs {
            rounds.entry(run.round).or_default().push(run);
        }
        let of_round = |(round, runs): (u32, Vec<&Run>)| Some((round, mean(runs, METRIC)?));
        let by_round = rounds.into_iter().filter_map(of_round).collect();
        Some((levels, Self { processors, throughput, by_round }))
    }
}

fn row(experiment: &Experiment, levels: &Levels, peaks: &[Peak]) -> Row {
    let mut row = super::rows::columns(experiment, levels);
    for peak in peaks {
        let name = format!("peak_with_{}_requests_per_s_at_speed", peak.processors);
        row.insert(name, json!(peak.throughput));
    }
    let (points, single) = points(peaks);
    add_fits(&mut row, "", &points, single);
    let published = peaks_beside(&experiment.name, levels);
    if let Some(&(_, one)) = published.first() {
        let points: Vec<ScalePoint> =
            published.iter().map(|&(n, throughput)| ScalePoint { n, throughput }).collect();
        add_fits(&mut row, "paper_", &points, Single::Given(one));
    }
    row
}

/// A point for each round and number of processors. With one processor among them they are
/// speed-ups within the round, so that what the rounds differ in cancels; else the throughput of
/// one is fitted.
fn points(peaks: &[Peak]) -> (Vec<ScalePoint>, Single) {
    let one = peaks.iter().find(|peak| peak.processors == 1.0);
    let mut points = Vec::new();
    for peak in peaks {
        for (round, throughput) in &peak.by_round {
            let reference = match one {
                Some(one) => one.by_round.get(round).copied().filter(|it| *it > 0.0),
                None => Some(1.0),
            };
            let Some(reference) = reference else { continue };
            points.push(ScalePoint { n: peak.processors, throughput: throughput / reference });
        }
    }
    (points, if one.is_some() { Single::Given(1.0) } else { Single::Fitted })
}

/// Adds the coefficients of both laws, by their usual letters, and what is wrong with them.
fn add_fits(row: &mut Row, prefix: &str, points: &[ScalePoint], single: Single) {
    // Peaks of few and of many processors count alike, as where speed-ups are stated.
    let fitting = Fitting { single, errors: Errors::InProportion, ..Fitting::default() };
    let usl = universal_scalability(points, fitting);
    let amdahl = amdahl(points, fitting);
    let mut put = |name: &str, value: Value| row.insert(format!("{prefix}{name}"), value);
    let of = |fit: &Result<ScaleFit, ScaleError>| fit.as_ref().ok().cloned();
    let (of_usl, of_amdahl) = (of(&usl), of(&amdahl));
    for (name, coefficient) in [
        ("usl_alpha", of_usl.as_ref().map(|fit| fit.contention)),
        ("usl_beta", of_usl.as_ref().and_then(|fit| fit.coherency)),
        ("amdahl_sigma", of_amdahl.as_ref().map(|fit| fit.contention)),
    ] {
        put(name, json!(coefficient.map(|it| it.value)));
        put(&format!("{name}_low_95"), json!(coefficient.map(|it| it.low)));
        put(&format!("{name}_high_95"), json!(coefficient.map(|it| it.high)));
    }
    for (name, fit) in [("usl", &usl), ("amdahl", &amdahl)] {
        put(&format!("{name}_warning"), json!(warning(fit)));
    }
}

/// What a reader has to know of a fit; none if it is as the law allows.
fn warning(fit: &Result<ScaleFit, ScaleError>) -> Option<String> {
    match fit {
        Ok(fit) if fit.unphysical.is_empty() => None,
        Ok(fit) => {
            let words: Vec<&str> = fit.unphysical.iter().map(|it| it.in_words()).collect();
            Some(words.join("; "))
        }
        Err(error) => Some(error.to_string()),
    }
}

#[cfg(test)]
mod tests;
