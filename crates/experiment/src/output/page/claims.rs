//! The claims of a page, with their verdicts.

use maud::{Markup, html};

use super::Report;
use super::tables::is_share;
use crate::claim::{Claim, Verdict};

/// How many conditions a claim has.
fn conditions(claim: &Claim) -> usize {
    claim.evidence.get("conditions").and_then(|it| it.as_array()).map_or(1, Vec::len)
}

/// Every claim: verdict, figure with its interval, and limit. Claims that are checked for
/// several levels stand together.
pub(super) fn table(report: &Report<'_>) -> Markup {
    let mut rows: Vec<Vec<&Claim>> = Vec::new();
    for claim in &report.summary.claims {
        match rows.last_mut() {
            Some(group) if group[0].text == claim.text => group.push(claim),
            _ => rows.push(vec![claim]),
        }
    }
    html! { div.scroll { table.claims {
        thead { tr { th.text { "claim" } th.text { "for" } th.text { "here" } th { "measured" } th { "95 % interval" } th { "limit" } th { "runs" } } }
        tbody { @for group in rows {
            @if group.iter().all(|claim| text(claim, "values") == "0") {
                tr {
                    td.claim { (group[0].text) small { (group[0].source) } }
                    td.text { "all" } td.text { span.undecided { "not measured" } }
                    td { "–" } td { "–" } td.figure { (limit(group[0])) } td { "0" }
                }
            } @else { @for (index, claim) in group.iter().enumerate() {
                tr.part[index + 1 < group.len()] {
                    @if index == 0 { td.claim rowspan=(group.len()) { (claim.text) small { (claim.source) } } }
                    td.text { (level(report, claim)) }
                    td.text { (verdict(claim)) }
                    td.figure { (figure(claim, "mean")) }
                    td.figure { (interval(claim)) }
                    td.figure { (limit(claim)) }
                    td { (text(claim, "values")) }
                }
            } }
        } }
    } } }
}

fn verdict(claim: &Claim) -> Markup {
    let words = |name: &str| claim.evidence.get(name).and_then(|it| it.as_str());
    let (class, text) = match claim.verdict {
        Verdict::Holds => ("holds", "✓ holds"),
        Verdict::DoesNotHold => ("does-not-hold", "✗ does not hold"),
        Verdict::Undecided => ("undecided", "≈ undecided"),
    };
    html! { span class=(class) { (text)
        @if let Some(why) = words("undecided_because") { small { (why) } }
        @if let Some(decides) = words("decided_by") {
            small { @match claim.verdict {
                Verdict::Holds => { "in all of " (conditions(claim)) "; least clearly with " (decides) }
                _ => { "with " (decides) ", of " (conditions(claim)) }
            } }
        }
    } }
}

/// The levels that the claim was checked for.
fn level(report: &Report<'_>, claim: &Claim) -> String {
    let factors = report.experiment.factors.iter();
    let level = |name: &str| claim.evidence.get(name).and_then(|level| level.as_str());
    let levels: Vec<&str> = factors.filter_map(|factor| level(&factor.name)).collect();
    if levels.is_empty() { "all".into() } else { levels.join(", ") }
}

/// A ratio as a percentage or a factor, another figure as a number.
fn shown(claim: &Claim, value: f64) -> String {
    let truth =
        |name: &str| claim.evidence.get(name).and_then(|it| it.as_bool()).unwrap_or_default();
    let metric = claim.evidence.get("metric").and_then(|it| it.as_str());
    let is_share = metric.is_some_and(is_share);
    let limits =
        ["at_least", "at_most"].map(|it| claim.evidence.get(it).and_then(|it| it.as_f64()));
    let small = limits.into_iter().flatten().all(|limit| limit <= 1.0);
    match truth("is_ratio") {
        true if !small => format!("{value:.2}×"),
        false if !is_share => format!("{value:.3}"),
        _ if value.abs() < 0.1 => format!("{:.1}\u{a0}%", 100.0 * value),
        _ => format!("{:.0}\u{a0}%", 100.0 * value),
    }
}

fn figure(claim: &Claim, name: &str) -> String {
    let value = claim.evidence.get(name).and_then(|value| value.as_f64());
    value.map_or_else(|| "–".into(), |value| shown(claim, value))
}

fn interval(claim: &Claim) -> String {
    match claim.evidence.contains_key("low_95") {
        true => format!("{} to {}", figure(claim, "low_95"), figure(claim, "high_95")),
        false => "–".into(),
    }
}

fn limit(claim: &Claim) -> String {
    let has = |name: &str| claim.evidence.contains_key(name);
    match (has("at_least"), has("at_most")) {
        (true, true) => format!("{} to {}", figure(claim, "at_least"), figure(claim, "at_most")),
        (true, false) => format!("≥ {}", figure(claim, "at_least")),
        _ => format!("≤ {}", figure(claim, "at_most")),
    }
}

fn text(claim: &Claim, name: &str) -> String {
    claim.evidence.get(name).map(ToString::to_string).unwrap_or_default()
}
