//! Claims and figures of an experiment.

use serde::{Deserialize, Serialize};
use tidegate_config::{Key, Section, Text, Value, did_you_mean};

use super::factors::Factor;
use super::keys::{AXES, CLAIM, CLAIM_KINDS, FIGURE, SEGMENTS, TAKES};
use super::selection::Selection;
use crate::claim::ClaimKind;
use crate::{metrics, phases};

/// What is taken of the selected runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Take {
    /// Each run.
    Each,
    /// The mean over runs of a round.
    Mean,
    /// The runs with the load at which the metric is highest.
    Peak,
}

/// A claim to check.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClaimRule {
    /// Short name.
    pub id: String,
    /// The figure of the source, in words; empty if it has none.
    #[serde(default)]
    pub paper: String,
    /// Where it is made.
    pub source: String,
    /// Whose it is.
    #[serde(default)]
    pub kind: ClaimKind,
    /// The claim.
    pub text: String,
    /// What is compared: a metric, or a phase.
    pub metric: String,
    /// What is highest at the peak, if it is not `metric`.
    #[serde(default)]
    pub peak_of: Option<String>,
    /// The runs, and what is taken of them.
    pub runs: (Selection, Take),
    /// What they are compared with.
    pub compared_with: Option<(Selection, Take)>,
    /// The metric of these, if it is not `metric`.
    #[serde(default)]
    pub compared_metric: Option<String>,
    /// Two selections whose ratio theirs is divided by.
    #[serde(default)]
    pub relative_to: Option<(Selection, Selection)>,
    /// Least figure with which it holds.
    pub at_least: Option<f64>,
    /// Largest figure with which it holds.
    pub at_most: Option<f64>,
    /// Factor for each of whose levels it is checked.
    pub each: Option<String>,
    /// Whether a quick run checks it.
    #[serde(default)]
    pub quick: bool,
}

/// What the x axis of a figure shows.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum XAxis {
    /// Sessions that arrive per second.
    OfferedPerS,
    /// The same as multiples of the capacity.
    Load,
    /// Processors.
    Processors,
    /// Seconds since the run began.
    Time,
    /// Below and above the knee.
    Knee,
}

/// What a figure shows.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Shows {
    /// A metric, as lines.
    Metric(String),
    /// Parts of a whole, as stacked bars.
    Segments(Segments),
    /// Metrics, as stacked bars by level.
    Stack(Vec<String>),
    /// A course, as lines.
    Course(String),
}

/// What stacked bars consist of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Segments {
    /// Mean time of a connection by phase, as the gate traced it.
    Gate,
    /// CPU time of the gate in these phases.
    GateCpu,
    /// Mean time of an answered request by where it is: gate, site, database, or between them.
    Request,
    /// Mean time of an answered request by phase, as the customers observe it.
    Customer,
    /// The shares of full and resumed handshakes.
    Handshakes,
    /// CPU time of a request in each tier of the brokerage.
    Tiers,
}

impl Segments {
    /// Unit of the y axis.
    fn unit(self) -> &'static str {
        match self {
            Self::Gate => "ms per connection",
            Self::GateCpu => "CPU ms per connection",
            Self::Request | Self::Customer => "ms per request",
            Self::Handshakes => "share",
            Self::Tiers => "CPU ms per request",
        }
    }

    /// Whether they come from the gate's trace.
    pub(super) fn are_traced(self) -> bool {
        matches!(self, Self::Gate | Self::GateCpu | Self::Request)
    }
}

/// A figure to draw.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct FigureRule {
    /// Short name, also of its files.
    pub id: String,
    /// Its title.
    pub title: String,
    /// A sentence below it.
    pub note: String,
    /// What it shows.
    #[serde(flatten)]
    pub shows: Shows,
    /// Unit of the y axis.
    pub unit: String,
    /// What the x axis shows.
    pub x: XAxis,
    /// The factor with a line for each level.
    pub lines: Option<String>,
    /// The runs.
    pub runs: Selection,
    /// Factor for each of whose levels there is a figure.
    pub each: Option<String>,
    /// Whether the y axis is logarithmic.
    pub log: bool,
}

impl ClaimRule {
    /// Reads a table `[[claims]]`. `None` after a mistake.
    pub(super) fn read(table: &Section<'_>, factors: &[Factor]) -> Option<Self> {
        table.known(&CLAIM);
        let id = id(table, &CLAIM.id);
        let (source, text) = (table.read(&CLAIM.source), table.read(&CLAIM.text));
        let kind = match table.given(&CLAIM.kind) {
            Some(index) => match CLAIM_KINDS[index] {
                "paper" => ClaimKind::Paper,
                "own" => ClaimKind::Own,
                _ => ClaimKind::Check,
            },
            None => ClaimKind::of_source(source.unwrap_or_default()),
        };
        let (metric, peak_of) = (compared(table), another(table, &CLAIM.peak_of));
        let compared_metric = another(table, &CLAIM.compared_metric);
        let each = factor(table, &CLAIM.each, factors);
        let selection =
            table.given(&CLAIM.r#where).map(|it| Selection::read(&it, factors)).unwrap_or_default();
        let taken = |index: usize| match TAKES[index] {
            "each" => Take::Each,
            "mean" => Take::Mean,
            _ => Take::Peak,
        };
        let runs = (selection, taken(table.read(&CLAIM.take)?));
        // Its words are the last two of the others.
        let compared_take = taken(table.read(&CLAIM.compared_take)? + 1);
        let compared_with = table
            .given(&CLAIM.compared_with)
            .map(|it| (Selection::read(&it, factors), compared_take));
        let of_ratios = |key: &str| {
            if compared_with.is_none()
                && let Some(given) = table.get(key)
            {
                given.wrong("is for a ratio", "add compared_with, or leave it out");
            }
        };
        [CLAIM.compared_metric.name, CLAIM.relative_to.name].into_iter().for_each(of_ratios);
        let relative_to = relative_to(table, factors);
        let (at_least, at_most) =
            (table.optional(&CLAIM.at_least)?, table.optional(&CLAIM.at_most)?);
        if at_least.is_none() && at_most.is_none() {
            table.wrong("must have a limit", "add at_least or at_most, such as at_most = 0.2");
        }
        if let (Some(least), Some(most)) = (at_least, at_most)
            && least > most
        {
            table.get("at_most")?.wrong("must be at least `at_least`", "swap them");
        }
        let is_peak = |side: &(Selection, Take)| side.1 == Take::Peak;
        if let Some(given) = table.get(CLAIM.peak_of.name)
            && !is_peak(&runs)
            && !compared_with.as_ref().is_some_and(is_peak)
        {
            given.wrong("is for peaks", "add take = \"peak\", or leave it out");
        }
        if let Some((compared, Take::Peak)) = &compared_with
            && compared.overlaps(&runs.0, factors)
        {
            table.get("compared_with")?.wrong(
                "has runs that are compared with their own peak",
                "check their share of the capacity, metric = \"requests_of_capacity\", or select other runs",
            );
        }
        let quick = table.read(&CLAIM.quick)?;
        let paper = table.optional(&CLAIM.paper)?.unwrap_or_default().to_owned();
        Some(Self {
            quick,
            paper,
            id: id?,
            source: source?.to_owned(),
            kind,
            text: text?.to_owned(),
            metric: metric?,
            peak_of: peak_of?,
            runs,
            compared_with,
            compared_metric: compared_metric?,
            relative_to: relative_to?,
            at_least,
            at_most,
            each: each?,
        })
    }
}

impl FigureRule {
    /// Reads a table `[[figures]]`. `None` after a mistake.
    pub(super) fn read(table: &Section<'_>, factors: &[Factor]) -> Option<Self> {
        table.known(&FIGURE);
        let (id, title) = (id(table, &FIGURE.id), table.read(&FIGURE.title));
        let note = table.optional(&FIGURE.note)?.unwrap_or_default();
        let shows = shows(table);
        let unit = table.optional(&FIGURE.unit)?;
        let x = x_axis(table, shows.as_ref());
        let (lines, each) =
            (factor(table, &FIGURE.lines, factors), factor(table, &FIGURE.each, factors));
        let runs = table
            .given(&FIGURE.r#where)
            .map(|it| Selection::read(&it, factors))
            .unwrap_or_default();
        let log = table.read(&FIGURE.scale)? == 1;
        let shows = shows?;
        let are_bars = matches!(shows, Shows::Segments(_) | Shows::Stack(_));
        if let (true, true, Some(scale)) = (are_bars, log, table.get("scale")) {
            scale.wrong("is for lines: the parts of a stack would mislead", "leave it out");
        }
        let usual = match &shows {
            Shows::Metric(name) => metrics::of(name).map_or("", |metric| metric.unit),
            Shows::Segments(segments) => segments.unit(),
            Shows::Stack(names) => metrics::of(&names[0]).map_or("", |metric| metric.unit),
            Shows::Course(name) => metrics::course(name).map_or("", |course| course.unit),
        };
        Some(Self {
            id: id?,
            title: title?.to_owned(),
            note: note.to_owned(),
            unit: unit.unwrap_or(usual).to_owned(),
            shows,
            x: x?,
            lines: lines?,
            runs,
            each: each?,
            log,
        })
    }
}

/// What a figure shows. `None` after a mistake.
fn shows(table: &Section<'_>) -> Option<Shows> {
    let given = ["metric", "segments", "stack", "course"].map(|key| Some((key, table.get(key)?)));
    let given: Vec<_> = given.into_iter().flatten().collect();
    match &given[..] {
        [("metric", _)] => metric(table, &FIGURE.metric).map(Shows::Metric),
        [("segments", _)] => {
            Some(Shows::Segments(match SEGMENTS[table.read(&FIGURE.segments)?] {
                "gate" => Segments::Gate,
                "gate_cpu" => Segments::GateCpu,
                "request" => Segments::Request,
                "customer" => Segments::Customer,
                "tiers" => Segments::Tiers,
                _ => Segments::Handshakes,
            }))
        }
        [("stack", value)] => {
            let names = table.given(&FIGURE.stack)?;
            listed(value, &names, |_| false).map(Shows::Stack)
        }
        [(_, value)] => {
            let name = table.given(&FIGURE.course)?;
            if metrics::course(name).is_none() {
                let names: Vec<&str> = metrics::COURSES.iter().map(|course| course.name).collect();
                unknown(value, "is no course", name, &names);
                return None;
            }
            Some(Shows::Course(name.to_owned()))
        }
        [(first, _), .., (_, last)] => {
            last.wrong(format!("excludes `{first}`"), "leave one of them out");
            None
        }
        [] => {
            table.wrong(
                "must have `metric` or `segments`",
                "metric = \"requests_per_s\" draws lines, segments = \"gate\" stacked bars",
            );
            None
        }
    }
}

/// The names of metrics in a list, or of others that pass. `None` after a mistake.
pub(super) fn listed(
    value: &Value<'_>,
    names: &[&str],
    passes: fn(&str) -> bool,
) -> Option<Vec<String>> {
    let other = names.iter().find(|name| metrics::of(name).is_none() && !passes(name));
    if let Some(name) = other.or(names.is_empty().then_some(&"")) {
        unknown(value, "must name metrics", name, &metrics::names());
        return None;
    }
    Some(names.iter().map(|&name| name.to_owned()).collect())
}

/// The x axis of a figure. `None` after a mistake.
fn x_axis(table: &Section<'_>, shows: Option<&Shows>) -> Option<XAxis> {
    let given = table.get("x");
    let x = match AXES[table.read(&FIGURE.x)?] {
        "load" => XAxis::Load,
        "processors" => XAxis::Processors,
        "time" => XAxis::Time,
        "knee" => XAxis::Knee,
        _ => XAxis::OfferedPerS,
    };
    match (shows, x, given) {
        (Some(Shows::Metric(name)), XAxis::Time, _) if !OVER_TIME.contains(&name.as_str()) => {
            let rule = "has no values over time";
            table.get("metric")?.wrong(rule, format!("choose of {}", OVER_TIME.join(", ")));
        }
        (Some(Shows::Metric(_)), XAxis::Knee, Some(given)) => {
            given.wrong("is for `segments`", "choose load");
        }
        (Some(Shows::Stack(_) | Shows::Course(_)), _, Some(given)) => {
            given.wrong("is for `metric` and `segments`", "leave it out");
        }
        (Some(Shows::Segments(_)), _, None) => return Some(XAxis::Load),
        (Some(Shows::Segments(_)), XAxis::Time | XAxis::OfferedPerS, Some(given)) => {
            given.wrong("is for lines", "choose load, processors or knee");
        }
        _ => {}
    }
    Some(x)
}

/// The metrics that each second of a run has.
pub(crate) const OVER_TIME: [&str; 8] = [
    "completed_per_s",
    "refused_per_s",
    "abandoned_per_s",
    "requests_per_s",
    "response_p95_ms",
    "full_handshake_share",
    "offered_per_s",
    "cpu_ms_per_request",
];

/// A short name. `None` after a mistake.
pub(super) fn id(table: &Section<'_>, key: &Key<Text>) -> Option<String> {
    let id = table.read(key)?;
    let sound = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    if id.is_empty() || id.len() > 60 || !id.bytes().all(sound) {
        let rule = "must have letters, digits and hyphens only, at most 60";
        table.get(key.name)?.wrong(rule, "choose a short name");
        return None;
    }
    Some(id.to_owned())
}

/// The name of a metric. `None` after a mistake.
fn metric(table: &Section<'_>, key: &Key<Text>) -> Option<String> {
    let name = table.read(key)?;
    if metrics::of(name).is_none() {
        unknown(&table.get(key.name)?, "is no metric", name, &metrics::names());
        return None;
    }
    Some(name.to_owned())
}

/// The name of what a claim compares: a metric, or a phase. `None` after a mistake.
fn compared(table: &Section<'_>) -> Option<String> {
    let name = table.read(&CLAIM.metric)?;
    if metrics::of(name).is_none() && !phases::is_known(name) {
        let value = table.get("metric")?;
        // A metric has no point in its name.
        if !name.contains('.') {
            unknown(&value, "is no metric", name, &metrics::names());
            return None;
        }
        let names: Vec<&str> = phases::all().iter().map(|phase| phase.name.as_str()).collect();
        let near = did_you_mean(name, &names).map_or_else(String::new, |near| near + " ");
        value.wrong("is no phase", format!("{near}{}", phases::of_the_observer_of(name)));
        return None;
    }
    Some(name.to_owned())
}

/// A metric beside that of the claim, if one is given. `None` after a mistake.
fn another(table: &Section<'_>, key: &Key<Text>) -> Option<Option<String>> {
    if table.get(key.name).is_none() { Some(None) } else { metric(table, key).map(Some) }
}

/// The two selections that a ratio is relative to, if they are given. `None` after a mistake.
fn relative_to(table: &Section<'_>, factors: &[Factor]) -> Option<Option<(Selection, Selection)>> {
    let Some(given) = table.given(&CLAIM.relative_to) else { return Some(None) };
    let [first, second] = &given[..] else {
        let remedy = "write [{ policy = \"tide\" }, { policy = \"off\" }]";
        table.get(CLAIM.relative_to.name)?.wrong("must be two selections of runs", remedy);
        return None;
    };
    Some(Some((Selection::read(first, factors), Selection::read(second, factors))))
}

/// The name of a factor, if one is given. `None` after a mistake.
pub(super) fn factor(
    table: &Section<'_>,
    key: &Key<Text>,
    factors: &[Factor],
) -> Option<Option<String>> {
    let Some(name) = table.optional(key)? else { return Some(None) };
    if !factors.iter().any(|factor| factor.name == name) {
        let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        unknown(&table.get(key.name)?, "is no factor of this file", name, &names);
        return None;
    }
    Some(Some(name.to_owned()))
}

/// Says that a name is none of these, and which is meant.
pub(super) fn unknown(value: &Value<'_>, rule: &str, given: &str, names: &[&str]) {
    let remedy = did_you_mean(given, names);
    value.wrong(rule, remedy.unwrap_or_else(|| format!("choose of {}", names.join(", "))));
}
