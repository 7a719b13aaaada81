//! The figures of a study, ready to be drawn: lines of points, or stacked bars.

mod bars;
mod groups;
mod lines;

use std::collections::BTreeSet;

use maud::Markup;
use serde_json::json;
use tidegate_report::{Line, figure, stacked};
use tidegate_stats::Interval;

use super::{Run, load_factor, of_rounds};
use crate::experiment::{Experiment, FigureRule, Selection, Shows, Windows, XAxis};
use crate::metrics;
use crate::summary::Row;
use bars::Bars;
use groups::groups;
use lines::Lines;
pub(super) use lines::course;

/// A figure to draw.
pub struct Drawn {
    /// Short name, also of its files.
    pub id: String,
    /// What the experiment's file calls it: a rule can be drawn for each of several levels.
    rule: String,
    /// Its title.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// The level that it is of; empty if it is of all.
    pub of: String,
    content: Content,
}

enum Content {
    Lines(Lines),
    Bars(Bars),
}

impl Drawn {
    /// What tells it from another figure of the same title.
    pub fn subtitle(&self) -> &str {
        &self.of
    }

    /// Its lines; none if it has bars.
    pub fn lines(&self) -> &[Line] {
        match &self.content {
            Content::Lines(it) => &it.lines,
            Content::Bars(_) => &[],
        }
    }

    /// The figure with its caption, for a page.
    pub fn on_page(&self) -> Markup {
        match &self.content {
            Content::Lines(it) => figure(&self.title, &self.note, &it.chart()),
            Content::Bars(it) => stacked(&self.title, &self.note, &it.stacked()),
        }
    }

    /// The figure as an `svg` element.
    pub fn svg(&self) -> String {
        match &self.content {
            Content::Lines(it) => it.chart().svg(),
            Content::Bars(it) => it.stacked().svg(),
        }
    }

    fn is_empty(&self) -> bool {
        match &self.content {
            Content::Lines(it) => it.lines.iter().all(|line| line.points.is_empty()),
            Content::Bars(it) => it.is_empty(),
        }
    }
}

/// Every figure that shows something. `unit` says what processors are.
pub fn figures(experiment: &Experiment, runs: &[Run], quick: bool, unit: &str) -> Vec<Drawn> {
    let usual;
    let rules = if experiment.figures.is_empty() {
        usual = defaults(experiment);
        &usual
    } else {
        &experiment.figures
    };
    let windows = experiment.windows(quick);
    let mut drawn = Vec::new();
    for rule in rules {
        let factor = experiment.factors.iter().find(|it| Some(&it.name) == rule.each.as_ref());
        let Some(factor) = factor else {
            drawn.push(draw(experiment, rule, None, runs, (unit, windows)));
            continue;
        };
        let shown = |level: &&str| rule.runs.allows(&factor.name, level);
        let levels = factor.levels(quick).into_iter().filter(shown);
        for (number, level) in levels.enumerate() {
            let of = Some((factor.name.as_str(), level, number + 1));
            drawn.push(draw(experiment, rule, of, runs, (unit, windows)));
        }
    }
    drawn.extend(experiment.overhead.as_ref().map(|rule| Drawn {
        id: "overhead".into(),
        rule: "overhead".into(),
        title: "What a connection adds, against the work of a transaction".into(),
        note: format!(
            "CPU time that a kind of connection adds, as a share of the CPU time of the same \
             transaction in the clear. Every point is a transaction. Below the line it adds less \
             than {} %.",
            rule.share * 100.0
        ),
        of: String::new(),
        content: Content::Lines(Lines::of_overhead(experiment, rule, runs)),
    }));
    drawn.retain(|figure| !figure.is_empty());
    drawn
}

/// Figures that stand before the method of a page, each of another rule.
pub const FIRST: usize = 3;

/// The [`FIRST`] figures of a page, one of each rule in the order of the file, and the others.
pub fn split_first(drawn: &[Drawn]) -> (Vec<&Drawn>, Vec<&Drawn>) {
    let first: Vec<&str> = first_of_rules(drawn).take(FIRST).map(|it| it.id.as_str()).collect();
    drawn.iter().partition(|figure| first.contains(&figure.id.as_str()))
}

/// The first figure of each rule.
fn first_of_rules(drawn: &[Drawn]) -> impl Iterator<Item = &Drawn> {
    let mut rules = BTreeSet::new();
    drawn.iter().filter(move |figure| rules.insert(&figure.rule))
}

/// The table of the first figure of each rule: its file, and its title.
pub fn rows(drawn: &[Drawn]) -> Vec<Row> {
    let row = |figure: &Drawn| {
        let title = format!("{} ({})", figure.title, figure.of);
        let title = title.trim_end_matches(" ()");
        Row::from_iter([("id".to_owned(), json!(figure.id)), ("title".to_owned(), json!(title))])
    };
    first_of_rules(drawn).map(row).collect()
}

/// The ends of the interval over the rounds; none of a single round. No figure is below 0.
fn interval(values: impl IntoIterator<Item = (u32, f64)>) -> Option<(f64, f64)> {
    Interval::of_mean(&of_rounds(values)).map(|it| it.not_negative().ends())
}

/// Throughput, completed sessions and response time, for experiments without figures.
fn defaults(experiment: &Experiment) -> Vec<FigureRule> {
    let x = match load_factor(experiment) {
        Some("load" | "customers") => XAxis::Load,
        Some(_) => XAxis::OfferedPerS,
        None => XAxis::Time,
    };
    let rule = |id: &str, title: &str, metric: &str, log| FigureRule {
        id: id.into(),
        title: title.into(),
        note: String::new(),
        shows: Shows::Metric(metric.into()),
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

/// Draws a rule for all runs, or for those of one level of a factor: its name, the level and its
/// number.
fn draw(
    experiment: &Experiment,
    rule: &FigureRule,
    of: Option<(&str, &str, usize)>,
    runs: &[Run],
    (unit, windows): (&str, Windows),
) -> Drawn {
    let selection = match of {
        Some((factor, level, _)) => rule.runs.and(factor, level),
        None => rule.runs.clone(),
    };
    let selected = runs.iter().filter(|run| selection.contains(&run.levels)).collect();
    let content = match &rule.shows {
        Shows::Metric(metric) => {
            Content::Lines(Lines::of(experiment, rule, metric, selected, (unit, windows)))
        }
        Shows::Course(name) => Content::Lines(Lines::of_course(experiment, rule, name, selected)),
        Shows::Stack(metrics) => {
            let groups = groups(experiment, rule, selected);
            Content::Bars(Bars::of_levels(rule, metrics, groups))
        }
        Shows::Segments(segments) => {
            let groups = groups(experiment, rule, selected);
            Content::Bars(Bars::of(experiment, rule, *segments, groups, unit))
        }
    };
    let (id, note) = match of {
        Some((_, level, number)) => {
            (format!("{}-{number}", rule.id), format!("{level}. {}", rule.note))
        }
        None => (rule.id.clone(), rule.note.clone()),
    };
    Drawn {
        id,
        rule: rule.id.clone(),
        title: rule.title.clone(),
        note: note.trim().to_owned(),
        of: of.map_or("", |(_, level, _)| level).to_owned(),
        content,
    }
}
