//! The figures of a study: lines of points, ready to be drawn.

use std::collections::BTreeMap;

use tidegate_report::{Chart, Line, Scale, time_ticks};

use super::{Run, load_factor};
use crate::experiment::{Experiment, FigureRule, Selection, XAxis};
use crate::metrics;
use crate::record::Second;

/// A figure to draw.
pub struct Drawn {
    /// Short name, also of its files.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// Its lines.
    pub lines: Vec<Line>,
    /// The level that it is of; empty if it is of all.
    pub of: String,
    x_label: String,
    x_ticks: Vec<f64>,
    x_max: Option<f64>,
    unit: String,
    log: bool,
    marks: bool,
    warm_up_s: Option<f64>,
    is_share: bool,
}

impl Drawn {
    /// What tells it from another figure of the same title.
    pub fn subtitle(&self) -> &str {
        &self.of
    }

    /// The chart.
    pub fn chart(&self) -> Chart<'_> {
        Chart {
            lines: &self.lines,
            x_label: &self.x_label,
            x_ticks: &self.x_ticks,
            x_max: self.x_max,
            y_unit: &self.unit,
            y_max: self.is_share.then_some(1.0),
            scale: if self.log { Scale::Log } else { Scale::Linear },
            marks: self.marks,
            band: self.warm_up_s.map(|end| (0.0, end, "warm-up")),
            readings: true,
            ..Chart::default()
        }
    }
}

/// Every figure that has a point. `unit` says what processors are.
pub fn figures(experiment: &Experiment, runs: &[Run], quick: bool, unit: &str) -> Vec<Drawn> {
    let usual;
    let rules = if experiment.figures.is_empty() {
        usual = defaults(experiment);
        &usual
    } else {
        &experiment.figures
    };
    let warm_up_s = experiment.windows(quick).warm_up_s;
    let mut drawn = Vec::new();
    for rule in rules {
        let factor = experiment.factors.iter().find(|it| Some(&it.name) == rule.each.as_ref());
        let Some(factor) = factor else {
            drawn.push(figure(experiment, rule, None, runs, (unit, warm_up_s)));
            continue;
        };
        for (number, level) in factor.levels(quick).into_iter().enumerate() {
            let of = Some((factor.name.as_str(), level, number + 1));
            drawn.push(figure(experiment, rule, of, runs, (unit, warm_up_s)));
        }
    }
    drawn.retain(|figure| figure.lines.iter().any(|line| !line.points.is_empty()));
    drawn
}

/// Throughput, completed sessions and response time, for experiments without figures.
fn defaults(experiment: &Experiment) -> Vec<FigureRule> {
    let x = match load_factor(experiment) {
        Some("load") => XAxis::Load,
        Some(_) => XAxis::OfferedPerS,
        None => XAxis::Time,
    };
    let rule = |id: &str, title: &str, metric: &str, log| FigureRule {
        id: id.into(),
        title: title.into(),
        note: String::new(),
        metric: metric.into(),
        unit: metrics::of(metric).map_or("", |metric| metric.unit).into(),
        x,
        lines: None,
        runs: Selection::default(),
        each: None,
        log,
    };
    vec![
        rule("throughput", "Throughput", "requests_per_s", false),
        rule("completed", "Completed sessions", "completed_per_s", false),
        rule("response", "Response time, 95th percentile", "response_p95_ms", true),
    ]
}

fn figure(
    experiment: &Experiment,
    rule: &FigureRule,
    of: Option<(&str, &str, usize)>,
    runs: &[Run],
    (unit, warm_up_s): (&str, f64),
) -> Drawn {
    let selection = match of {
        Some((factor, level, _)) => rule.runs.and(factor, level),
        None => rule.runs.clone(),
    };
    let load = load_factor(experiment).unwrap_or_default();
    let mut selected: Vec<&Run> =
        runs.iter().filter(|run| selection.contains(&run.levels)).collect();
    if rule.x == XAxis::Time {
        let highest = selected.iter().map(|run| load_of(run)).fold(0.0, f64::max);
        selected.retain(|run| load_of(run) >= highest);
    }
    // Factors of which the selected runs have one level say nothing in a line's name.
    let varied: Vec<&str> = experiment
        .factors
        .iter()
        .map(|factor| factor.name.as_str())
        .filter(|name| *name != load)
        .filter(|name| !(*name == "processors" && rule.x == XAxis::Processors))
        .filter(|name| {
            let mut levels: Vec<_> =
                selected.iter().filter_map(|run| run.levels.get(*name)).collect();
            levels.sort();
            levels.dedup();
            levels.len() > 1
        })
        .collect();
    let mut groups: BTreeMap<Vec<usize>, (String, Vec<&Run>)> = BTreeMap::new();
    for run in selected {
        let place = experiment
            .factors
            .iter()
            .filter(|factor| varied.contains(&factor.name.as_str()))
            .map(|factor| factor.place(&run.levels, ""));
        let group = groups
            .entry(place.collect())
            .or_insert_with(|| (name(run, &varied, rule.lines.as_deref()), Vec::new()));
        group.1.push(run);
    }
    let lines: Vec<Line> = groups
        .into_values()
        .map(|(name, runs)| Line { name, points: points(&runs, rule) })
        .collect();
    let (x_label, x_ticks, x_max) = x_axis(rule, &lines, load, unit);
    let (id, note) = match of {
        Some((_, level, number)) => {
            (format!("{}-{number}", rule.id), format!("{level}. {}", rule.note))
        }
        None => (rule.id.clone(), rule.note.clone()),
    };
    Drawn {
        id,
        title: rule.title.clone(),
        note: note.trim().to_owned(),
        lines,
        of: of.map_or("", |(_, level, _)| level).to_owned(),
        x_label,
        x_ticks,
        x_max,
        unit: rule.unit.clone(),
        log: rule.log,
        marks: rule.x != XAxis::Time,
        is_share: matches!(rule.metric.as_str(), "full_handshake_share" | "completed_ratio"),
        warm_up_s: (rule.x == XAxis::Time).then_some(warm_up_s),
    }
}

fn load_of(run: &Run) -> f64 {
    run.settings.load.or(run.settings.rate).unwrap_or_default()
}

/// The levels that tell a line from others, the one of `first` first.
fn name(run: &Run, varied: &[&str], first: Option<&str>) -> String {
    let mut factors: Vec<&str> = varied.to_vec();
    factors.sort_by_key(|factor| Some(*factor) != first);
    let word = |factor: &&str| {
        let level = run.levels.get(*factor)?;
        Some(match *factor {
            "processors" if level == "1" => "1 processor".to_owned(),
            "processors" => format!("{level} processors"),
            _ => level.clone(),
        })
    };
    let words: Vec<String> = factors.iter().filter_map(word).collect();
    if words.is_empty() { "measured".into() } else { words.join(", ") }
}

/// The points of a line: the mean over the rounds at each x.
fn points(runs: &[&Run], rule: &FigureRule) -> Vec<(f64, f64)> {
    let mut at: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    for run in runs {
        match rule.x {
            XAxis::Time => {
                for second in &run.seconds {
                    let whole = second.at_s.round();
                    at.entry(whole.to_bits()).or_default().push((whole, of_second(second, rule)));
                }
            }
            XAxis::OfferedPerS | XAxis::Load | XAxis::Processors => {
                let Some(y) = run.figure(&rule.metric) else { continue };
                let (key, x) = match rule.x {
                    XAxis::OfferedPerS => {
                        (load_of(run), run.figure("offered_per_s").unwrap_or_default())
                    }
                    XAxis::Load => (load_of(run), load_of(run)),
                    _ => (run.settings.processors.into(), run.settings.processors.into()),
                };
                at.entry(key.to_bits()).or_default().push((x, y));
            }
        }
    }
    let mean = |points: Vec<(f64, f64)>| {
        let count = points.len() as f64;
        let sum = points.iter().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
        (sum.0 / count, sum.1 / count)
    };
    let mut points: Vec<(f64, f64)> = at.into_values().map(mean).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// The figure of a second. One without a response has no response time: a gap.
fn of_second(second: &Second, rule: &FigureRule) -> f64 {
    match rule.metric.as_str() {
        "completed_per_s" => second.completed_per_s,
        "refused_per_s" => second.refused_per_s,
        "abandoned_per_s" => second.abandoned_per_s,
        "requests_per_s" => second.requests_per_s,
        "offered_per_s" => second.offered_per_s,
        "full_handshake_share" => second.full_handshake_share,
        "response_p95_ms" if second.response_p95_ms > 0.0 => second.response_p95_ms,
        _ => f64::NAN,
    }
}

/// Label, ticks and end of the x axis.
fn x_axis(
    rule: &FigureRule,
    lines: &[Line],
    load: &str,
    unit: &str,
) -> (String, Vec<f64>, Option<f64>) {
    let mut xs: Vec<f64> =
        lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let last = xs.last().copied().unwrap_or(1.0);
    match rule.x {
        XAxis::Time => ("seconds since the load began".into(), time_ticks(last, 8), Some(last)),
        XAxis::Processors => (unit.to_owned(), xs, None),
        XAxis::Load if load == "load" => {
            ("offered load, as a multiple of the capacity".into(), xs, None)
        }
        XAxis::Load | XAxis::OfferedPerS => {
            ("new clients per second".into(), time_ticks(last, 7), Some(last))
        }
    }
}
