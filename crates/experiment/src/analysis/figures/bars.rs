//! Stacked bars over the load, the processors, or below and above the knee.

use std::collections::BTreeSet;
use std::fmt;

use tidegate_report::{Bar, Group, Part, StackedBars};

use super::groups::{Groups, load_of};
use crate::analysis::curves::curves;
use crate::analysis::segments;
use crate::analysis::{self, Run, load_factor};
use crate::experiment::{Experiment, FigureRule, Segments, XAxis};
use crate::metrics;

/// A figure of stacked bars.
pub(super) struct Bars {
    parts: Vec<Part>,
    groups: Vec<Group>,
    x_label: String,
    unit: String,
    is_share: bool,
}

impl Bars {
    /// A bar for each x in each group of runs. `unit` says what processors are.
    pub(super) fn of(
        experiment: &Experiment,
        rule: &FigureRule,
        of: Segments,
        groups: Groups<'_>,
        unit: &str,
    ) -> Self {
        let x_label = match (rule.x, load_factor(experiment)) {
            (XAxis::Processors, _) => unit.to_owned(),
            (XAxis::Knee, _) => "the knee".into(),
            (_, Some("rate")) => "new clients per second".into(),
            (_, Some("customers")) => "customers at a time".into(),
            _ => "times the capacity".into(),
        };
        let places = places(rule.x, &groups);
        // A place that does not vary is said once, on the axis.
        let x_label = match places[..] {
            [only] => said_once(&only.to_string(), &x_label),
            _ => x_label,
        };
        let below =
            |place: &Place| if places.len() > 1 { place.to_string() } else { String::new() };
        let group = |(name, runs): (String, Vec<&Run>)| {
            let bars = places.iter().map(|place| {
                let runs = at(experiment, place, &runs);
                Bar { name: below(place), values: mean(of, &runs), interval: interval(of, &runs) }
            });
            Group { name, bars: bars.collect() }
        };
        let measured = |group: &Group| group.bars.iter().any(|bar| !bar.values.is_empty());
        let groups = groups.into_iter().map(group).filter(measured);
        Self {
            parts: segments::parts(of),
            groups: groups.collect(),
            x_label,
            unit: rule.unit.clone(),
            is_share: of == Segments::Handshakes,
        }
    }

    /// A bar of metrics for each group of runs.
    pub(super) fn of_levels(rule: &FigureRule, names: &[String], groups: Groups<'_>) -> Self {
        let meaning = |name: &String| {
            metrics::of(name).map_or_else(|| name.clone(), |metric| metric.meaning.to_string())
        };
        let part = |(index, name): (usize, &String)| Part {
            name: meaning(name),
            colour: 2 * index,
            striped: false,
        };
        let group = |(name, runs): (String, Vec<&Run>)| {
            let value = |metric| analysis::mean(runs.iter().copied(), metric);
            let values = names.iter().map(|name| value(name).unwrap_or_default()).collect();
            let sum = |run: &Run| names.iter().map(|name| run.figure(name)).sum::<Option<f64>>();
            let interval =
                super::interval(runs.iter().filter_map(|run| Some((run.round, sum(run)?))));
            Group { name, bars: vec![Bar { name: String::new(), values, interval }] }
        };
        Self {
            parts: names.iter().enumerate().map(part).collect(),
            groups: groups.into_iter().map(group).collect(),
            x_label: rule.lines.clone().unwrap_or_default(),
            unit: rule.unit.clone(),
            is_share: false,
        }
    }

    /// The bars as they are drawn.
    pub(super) fn stacked(&self) -> StackedBars<'_> {
        StackedBars {
            parts: &self.parts,
            groups: &self.groups,
            x_label: &self.x_label,
            y_unit: &self.unit,
            y_max: self.is_share.then_some(1.0),
        }
    }

    /// Whether no bar has a height.
    pub(super) fn is_empty(&self) -> bool {
        let bars = || self.groups.iter().flat_map(|group| &group.bars);
        bars().all(|bar| bar.values.iter().all(|value| *value <= 0.0))
    }
}

/// What a bar stands for.
#[derive(Clone, Copy, PartialEq)]
enum Place {
    Load(f64),
    Processors(u32),
    Below,
    Above,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Load(load) => load.fmt(f),
            Self::Processors(processors) => processors.fmt(f),
            Self::Below => f.write_str("below"),
            Self::Above => f.write_str("above"),
        }
    }
}

/// The bars of every group, from left to right: the same for all, so that they can be compared.
fn places(x: XAxis, groups: &Groups<'_>) -> Vec<Place> {
    let runs = || groups.iter().flat_map(|(_, runs)| runs);
    match x {
        XAxis::Knee => vec![Place::Below, Place::Above],
        XAxis::Processors => {
            let all: BTreeSet<u32> = runs().map(|run| run.settings.processors).collect();
            all.into_iter().map(Place::Processors).collect()
        }
        XAxis::Load | XAxis::OfferedPerS | XAxis::Time => {
            let mut all: Vec<f64> = runs().map(|run| load_of(run)).collect();
            all.sort_by(f64::total_cmp);
            all.dedup();
            all.into_iter().map(Place::Load).collect()
        }
    }
}

/// The runs of a group at a place.
fn at<'r>(experiment: &Experiment, place: &Place, runs: &[&'r Run]) -> Vec<&'r Run> {
    let curves = || curves(experiment, runs.iter().copied());
    let of = |is: &dyn Fn(&Run) -> bool| runs.iter().copied().filter(|run| is(run)).collect();
    match place {
        Place::Load(load) => of(&|run| load_of(run) == *load),
        Place::Processors(processors) => of(&|run| run.settings.processors == *processors),
        Place::Below => curves().iter().flat_map(|curve| curve.below()).collect(),
        Place::Above => curves().iter().flat_map(|curve| curve.overloaded()).collect(),
    }
}

/// The mean of each part over the runs that have any; none if no run has.
fn mean(of: Segments, runs: &[&Run]) -> Vec<f64> {
    let all: Vec<Vec<f64>> = runs.iter().filter_map(|run| segments::values(of, run)).collect();
    let parts = all.first().map_or(0, Vec::len);
    let sum = |part: usize| all.iter().map(|values| values[part]).sum::<f64>();
    (0..parts).map(|part| sum(part) / all.len() as f64).collect()
}

/// The interval of the sum of all parts; of shares, whose sum is 1, that of the lowest part.
fn interval(of: Segments, runs: &[&Run]) -> Option<(f64, f64)> {
    super::interval(runs.iter().filter_map(|run| {
        let values = segments::values(of, run)?;
        let shown = if of == Segments::Handshakes { values[0] } else { values.iter().sum() };
        Some((run.round, shown))
    }))
}

fn said_once(place: &str, label: &str) -> String {
    match (place, label) {
        ("1", "customers at a time") => "one customer at a time".into(),
        _ => format!("{place} {label}"),
    }
}

#[cfg(test)]
mod tests {
    use super::super::groups::groups;
    use super::*;
    use crate::analysis::runs;
    use crate::record::tests::record;

    const TEXT: &str = "name = \"x\"\nabout = \"x\"\n[system]\ntrace = true\n\
        [[factors]]\nkey = \"policy\"\nlevels = [\"tide\", \"off\"]\n\
        [[factors]]\nkey = \"load\"\nlevels = [4, 0.9, 2]\n\
        [[figures]]\nid = \"f\"\ntitle = \"t\"\nsegments = \"gate\"\n";

    /// Two rounds of each combination: the handshake takes 10 ms at the load of 0.9, with `off`
    /// 10 times the load beyond it, and in the second round 2 ms more.
    fn measured() -> Vec<Run> {
        let mut all = Vec::new();
        for policy in ["off", "tide"] {
            for load in ["0.9", "2", "4"] {
                for round in 0..2 {
                    let times =
                        if policy == "off" { load.parse::<f64>().unwrap().max(1.0) } else { 1.0 };
                    let id = format!("{policy}{load}{round}");
                    let figures =
                        [("requests_per_s", 50.0), ("full_handshake_share", times / 10.0)];
                    let mut one =
                        record(&id, round, &[("policy", policy), ("load", load)], &figures);
                    let handshake = 10.0 * times + 2.0 * f64::from(round);
                    one.phases.insert("gate.handshake_full".into(), handshake);
                    one.phases.insert("gate.idle".into(), 100.0);
                    all.push(one);
                }
            }
        }
        runs(&all)
    }

    fn bars(text: &str) -> Bars {
        let experiment = Experiment::from_toml(text, "x").unwrap();
        let (rule, runs) = (&experiment.figures[0], measured());
        let crate::experiment::Shows::Segments(of) = rule.shows else { panic!("lines") };
        let selected = runs.iter().filter(|run| rule.runs.contains(&run.levels)).collect();
        let groups = groups(&experiment, rule, selected);
        Bars::of(&experiment, rule, of, groups, "processors")
    }

    /// Group, bar, and the sum of its values.
    fn sums(bars: &Bars) -> Vec<(&str, &str, f64)> {
        bars.groups
            .iter()
            .flat_map(|group| {
                group.bars.iter().map(|bar| (&*group.name, &*bar.name, bar.values.iter().sum()))
            })
            .collect()
    }

    #[test]
    fn bars_stand_by_load_in_groups_in_the_order_of_the_file() {
        let bars = bars(TEXT);
        assert_eq!(
            sums(&bars),
            [
                ("tide", "0.9", 111.0),
                ("tide", "2", 111.0),
                ("tide", "4", 111.0),
                ("off", "0.9", 111.0),
                ("off", "2", 121.0),
                ("off", "4", 141.0),
            ]
        );
        assert_eq!(bars.stacked().x_label, "times the capacity");
        assert!(!bars.is_empty());
    }

    #[test]
    fn below_and_above_the_knee_are_the_loads_below_the_capacity_and_in_overload() {
        let text = TEXT.replace("segments = \"gate\"", "segments = \"handshakes\"\nx = \"knee\"");
        let bars = bars(&text);
        let full: Vec<f64> =
            bars.groups.iter().flat_map(|it| &it.bars).map(|bar| bar.values[0]).collect();
        for (full, expected) in full.iter().zip([0.1, 0.1, 0.1, 0.3]) {
            assert!((full - expected).abs() < 1e-9, "{full} {expected}");
        }
        let names: Vec<&str> = bars.groups[0].bars.iter().map(|bar| &*bar.name).collect();
        assert_eq!(names, ["below", "above"]);
        assert!(sums(&bars).iter().all(|(.., sum)| (sum - 1.0).abs() < 1e-9));
        assert_eq!(bars.stacked().y_max, Some(1.0));
    }

    #[test]
    fn a_load_that_does_not_vary_stands_on_the_axis_and_not_below_each_bar() {
        let bars = bars(&TEXT.replace("title = \"t\"", "title = \"t\"\nwhere = { load = 2 }"));
        assert_eq!(sums(&bars), [("tide", "", 111.0), ("off", "", 121.0)]);
        assert_eq!(bars.stacked().x_label, "2 times the capacity");
    }

    #[test]
    fn a_bar_has_the_interval_of_its_sum_over_the_rounds() {
        let bars = bars(TEXT);
        // Rounds of 110 and 112: 111 ± 12.706 · √2/√2.
        let (low, high) = bars.groups[0].bars[0].interval.unwrap();
        assert!((low - 98.294).abs() < 1e-2 && (high - 123.706).abs() < 1e-2, "{low} {high}");
    }

    #[test]
    fn a_load_that_one_group_lacks_keeps_its_place_there() {
        let experiment = Experiment::from_toml(TEXT, "x").unwrap();
        let (rule, runs) = (&experiment.figures[0], measured());
        let is_missing = |run: &&Run| run.levels["policy"] == "tide" && run.levels["load"] == "2";
        let some = runs.iter().filter(|run| !is_missing(run)).collect();
        let groups = groups(&experiment, rule, some);
        let bars = Bars::of(&experiment, rule, Segments::Gate, groups, "processors");
        let names = |group: &Group| group.bars.iter().map(|it| it.name.clone()).collect::<Vec<_>>();
        assert_eq!(names(&bars.groups[0]), names(&bars.groups[1]));
        assert!(bars.groups[0].bars[1].values.is_empty());
    }

    #[test]
    fn runs_without_the_segments_have_no_bars() {
        let bars = bars(&TEXT.replace("\"gate\"", "\"gate_cpu\""));
        assert!(bars.is_empty() && bars.groups.is_empty());
    }

    #[test]
    fn a_place_that_does_not_vary_is_said_on_the_axis() {
        assert_eq!(said_once("1", "customers at a time"), "one customer at a time");
        assert_eq!(said_once("10", "customers at a time"), "10 customers at a time");
    }
}
