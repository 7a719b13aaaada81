//! Whether a run passed, and everything that a reader must know before its figures.

use maud::{Markup, Render, html};
use tidegate_report::number::{number, percent, plural, seconds};
use tidegate_report::{Cell, Page, Table};

use tidegate_load::{Summary, ThresholdResult};
use tidegate_report::words::capital;

/// How a run ended, from best to worst.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Level {
    /// No threshold judges it.
    Measured,
    /// All thresholds are met.
    Passed,
    /// All are met, and of some chance decides that.
    Chance,
    /// A threshold is missed: exit code 1.
    Missed,
    /// Its figures are not those of the target, or there are none: exit code 3.
    Failed,
}

impl Level {
    /// Its CSS class and its sign.
    pub(super) fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Measured => ("measured", "●"),
            Self::Passed => ("passed", "✓"),
            Self::Chance => ("noted", "?"),
            Self::Missed => ("missed", "✗"),
            Self::Failed => ("failed", "!"),
        }
    }
}

/// The verdict on a run.
pub(super) struct Headline {
    pub(super) level: Level,
    /// A few words.
    pub(super) title: String,
    /// Each a sentence.
    pub(super) reasons: Vec<String>,
}

impl Headline {
    /// Agrees with the exit code of the run ([`tidegate_load::Summary::exit_code`]).
    pub(super) fn of(run: &Summary) -> Self {
        let missed = run.thresholds.iter().filter(|threshold| !threshold.met).count() as u64;
        let all = run.thresholds.len() as u64;
        let by_chance = run.thresholds.iter().filter(|it| it.met && it.few.is_some()).count();
        let saturated = &run.driver.saturated_because;
        let failed = if !saturated.is_empty() {
            Some("The load generator was saturated: these figures are not those of the target")
        } else if !run.incomplete.is_empty() {
            Some("The result is incomplete")
        } else if run.raw_error.is_some() {
            Some("An output file is incomplete")
        } else if run.interrupted && run.measured_s <= 0.0 {
            Some("Stopped in the warm-up: nothing was measured")
        } else if run.totals.requests_ok == 0 {
            Some("No request succeeded")
        } else {
            None
        };
        let of = plural(all, "threshold", "thresholds");
        let (level, title) = match failed {
            Some(why) => (Level::Failed, why.to_owned()),
            None if run.aborted.is_some() => {
                (Level::Missed, "Ended early by a threshold".to_owned())
            }
            None if missed > 0 => (Level::Missed, format!("{missed} of {of} missed")),
            None if by_chance > 0 => {
                (Level::Chance, format!("Too few answers for {by_chance} of {of}: chance decides"))
            }
            None if all > 1 => (Level::Passed, format!("All {all} thresholds are met")),
            None if all == 1 => (Level::Passed, "The threshold is met".to_owned()),
            None => (Level::Measured, "Measured, without thresholds".to_owned()),
        };
        let mut reasons = Vec::new();
        reasons.extend(saturated.iter().cloned());
        reasons.extend(run.incomplete.iter().cloned());
        reasons.extend(
            run.raw_error.iter().map(|error| format!("An output file is incomplete: {error}")),
        );
        if let Some(aborted) = &run.aborted {
            reasons.push(format!(
                "Ended {} after the start: {} was {} ({}).",
                seconds(aborted.at_s),
                aborted.verdict.metric,
                value(&aborted.verdict),
                limit(&aborted.verdict)
            ));
        } else if run.interrupted {
            reasons.push(format!("Stopped early: {} were measured.", seconds(run.measured_s)));
        }
        if let Some(result) = &run.shard_result {
            reasons.push(format!(
                "Only shard {} of the load; `tidegate load merge` adds up all shards.",
                result.shard()
            ));
        }
        reasons.extend(run.warnings.iter().cloned());
        Self { level, title, reasons }
    }
}

impl Render for Headline {
    fn render(&self) -> Markup {
        let (class, sign) = self.level.shown();
        html! {
            div class={ "verdict " (class) } role="status" {
                span.sign aria-hidden="true" { (sign) }
                div {
                    b { (self.title) }
                    @if !self.reasons.is_empty() {
                        ul { @for reason in &self.reasons { li { (capital(reason)) } } }
                    }
                }
            }
        }
    }
}

/// A table of the thresholds, those that are missed first; nothing where there are none.
pub(super) fn thresholds(page: Page, run: &Summary) -> Page {
    if run.thresholds.is_empty() {
        return page;
    }
    let mut rows: Vec<&ThresholdResult> = run.thresholds.iter().collect();
    rows.sort_by_key(|threshold| threshold.met);
    let heads = ["threshold", "value", "must be"];
    let mut table = Table::new(heads).class("facts thresholds").words(&[2]);
    for threshold in rows {
        let (class, word) = match (threshold.met, threshold.few) {
            (true, None) => ("mark-met", "✓ met "),
            (true, Some(_)) => ("mark-chance", "? chance "),
            (false, _) => ("mark-missed", "✗ missed "),
        };
        let name = html! { span class=(class) { (word) } code { (threshold.metric) } };
        let few = threshold
            .few
            .map(|few| format!(", of {} answers; it takes {}", few.answers, few.needed));
        table.row([
            Cell::default().markup(name),
            Cell::from(value(threshold)).class(if threshold.met { "" } else { "missed" }),
            (limit(threshold) + &few.unwrap_or_default()).into(),
        ]);
    }
    page.table(&table)
}

fn value(threshold: &ThresholdResult) -> String {
    threshold.value.map_or("no data".to_owned(), |value| figure(value, &threshold.metric))
}

fn limit(threshold: &ThresholdResult) -> String {
    let limit = |value: f64| {
        // A limit is shown as it was written.
        let value = if threshold.metric.ends_with("_ratio") { value * 100.0 } else { value };
        let rounded = (value * 1e6).round() / 1e6;
        format!("{rounded}{}", unit(&threshold.metric))
    };
    threshold.limits(limit)
}

/// A value in the unit that the end of its name gives.
fn figure(value: f64, metric: &str) -> String {
    if metric.ends_with("_ratio") {
        percent(value)
    } else {
        format!("{}{}", number(value), unit(metric))
    }
}

fn unit(metric: &str) -> &'static str {
    let units = [("_ms", "\u{a0}ms"), ("_per_s", "/s"), ("_ratio", "\u{a0}%")];
    units.into_iter().find(|(end, _)| metric.ends_with(end)).map_or("", |(_, unit)| unit)
}
