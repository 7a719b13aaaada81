//! Figures by offered load: the peak, the load at which it is reached, and what is left of it
//! beyond.

use std::collections::BTreeMap;

use super::{Run, load_factor, mean};
use crate::experiment::{Experiment, Levels};

/// Loads from this multiple of the capacity on are an overload.
pub const OVERLOAD: f64 = 1.5;

/// The runs that differ in their load alone.
#[derive(Clone, Debug)]
pub struct Curve<'a> {
    /// Their levels of all other factors.
    pub levels: Levels,
    /// By ascending load.
    pub points: Vec<Point<'a>>,
}

/// The runs of one load.
#[derive(Clone, Debug)]
pub struct Point<'a> {
    /// The load: a multiple of the capacity, or a rate.
    pub load: f64,
    /// Every round's.
    pub runs: Vec<&'a Run>,
}

impl Point<'_> {
    /// The mean of a figure.
    pub fn mean(&self, metric: &str) -> Option<f64> {
        mean(self.runs.iter().copied(), metric)
    }
}

impl<'a> Curve<'a> {
    /// The load with the highest throughput.
    pub fn peak(&self) -> Option<&Point<'a>> {
        let throughput = |point: &&Point<'_>| point.mean("requests_per_s").unwrap_or(f64::MIN);
        self.points.iter().max_by(|a, b| throughput(a).total_cmp(&throughput(b)))
    }

    /// The runs in overload: from 1.5 times the capacity on, or where loads are rates, above
    /// that of the peak.
    pub fn overloaded(&self) -> Vec<&'a Run> {
        self.overloaded_points().flat_map(|point| point.runs.iter().copied()).collect()
    }

    /// The same by load.
    pub fn overloaded_points(&self) -> impl Iterator<Item = &Point<'a>> {
        let limit = self.peak().map_or(f64::INFINITY, |peak| peak.load);
        let is = move |run: &&Run| match (run.settings.load, run.settings.rate) {
            (Some(load), _) => load >= OVERLOAD,
            (None, Some(rate)) => rate > limit,
            (None, None) => false,
        };
        self.points.iter().filter(move |point| point.runs.iter().any(is))
    }

    /// The runs below the capacity, or where loads are rates, up to that of the peak.
    pub fn below(&self) -> Vec<&'a Run> {
        let limit = self.peak().map_or(0.0, |peak| peak.load);
        let is = |run: &&&Run| match (run.settings.load, run.settings.rate) {
            (Some(load), _) => load < 1.0,
            (None, Some(rate)) => rate <= limit,
            (None, None) => false,
        };
        self.points.iter().flat_map(|point| point.runs.iter().filter(is).copied()).collect()
    }
}

/// Every curve, in the order of the factors' levels; none if no factor sets the load.
pub fn curves<'a>(
    experiment: &Experiment,
    runs: impl IntoIterator<Item = &'a Run>,
) -> Vec<Curve<'a>> {
    let Some(load) = load_factor(experiment) else { return Vec::new() };
    let mut by_levels: BTreeMap<Vec<usize>, Curve<'a>> = BTreeMap::new();
    for run in runs {
        let mut levels = run.levels.clone();
        let Some(at) = levels.remove(load).and_then(|at| at.parse::<f64>().ok()) else { continue };
        let place = experiment.factors.iter().map(|factor| factor.place(&run.levels, load));
        let curve = by_levels
            .entry(place.collect())
            .or_insert_with(|| Curve { levels, points: Vec::new() });
        match curve.points.iter_mut().find(|point| point.load == at) {
            Some(point) => point.runs.push(run),
            None => curve.points.push(Point { load: at, runs: vec![run] }),
        }
    }
    let mut curves: Vec<Curve<'a>> = by_levels.into_values().collect();
    for curve in &mut curves {
        curve.points.sort_by(|a, b| a.load.total_cmp(&b.load));
    }
    curves
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::analysis::runs;
    use crate::record::tests::record;

    #[test]
    fn a_curve_has_a_peak_and_what_is_left_of_it_in_overload() {
        let text = "name = \"x\"\nabout = \"x\"\n[[factors]]\nkey = \"policy\"\n\
                    levels = [\"tide\", \"off\"]\n[[factors]]\nkey = \"load\"\nlevels = [0.9, 2, 4]\n";
        let experiment = Experiment::from_toml(text, "x").unwrap();
        let mut all = Vec::new();
        for (policy, values) in [("off", [90.0, 30.0, 10.0]), ("tide", [90.0, 95.0, 94.0])] {
            for (load, value) in ["0.9", "2", "4"].into_iter().zip(values) {
                for round in 0..2 {
                    let value = value + f64::from(round);
                    let levels = [("policy", policy), ("load", load)];
                    let id = format!("{policy}{load}{round}");
                    all.push(record(&id, round, &levels, &[("requests_per_s", value)]));
                }
            }
        }
        let runs = runs(&all);
        let curves = curves(&experiment, &runs);
        // In the order of the file's levels.
        assert_eq!(curves[0].levels["policy"], "tide");
        assert_eq!(curves[0].peak().unwrap().load, 2.0);
        let off = &curves[1];
        assert_eq!((off.peak().unwrap().load, off.points.len()), (0.9, 3));
        assert_eq!(off.peak().unwrap().mean("requests_per_s"), Some(90.5));
        let each = off.overloaded_points().map(|point| (point.load, point.mean("requests_per_s")));
        assert_eq!(each.collect::<Vec<_>>(), [(2.0, Some(30.5)), (4.0, Some(10.5))]);
        assert_eq!(mean(off.overloaded(), "requests_per_s"), Some(20.5));
        assert_eq!(mean(off.below(), "requests_per_s"), Some(90.5));
    }
}
