//! The headline of a page, and the figures below it.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::Page;
use crate::claim::Verdict;
use crate::experiment::{Settings, Windows};
use crate::summary::Row;

/// Mean share of the peak that is left in overload, and of the peak's completed sessions, by
/// policy in the order of the file; empty unless policies are compared.
fn kept(page: &Page<'_>) -> Vec<(String, f64, f64)> {
    let Some(factor) = page.experiment.factors.iter().find(|factor| factor.name == "policy") else {
        return Vec::new();
    };
    let rows = page.summary.tables.get("knee").map(Vec::as_slice).unwrap_or_default();
    let mut by_policy: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let number = |name: &str| row.get(name).and_then(serde_json::Value::as_f64);
        let policy = row.get("policy").and_then(serde_json::Value::as_str);
        let reference = peak_of_off(rows, row).unwrap_or(row);
        let peak = |name: &str| reference.get(name).and_then(serde_json::Value::as_f64);
        let share = |of: &str, whole: &str| Some(number(of)? / peak(whole)?);
        let requests = share("overloaded_requests_per_s", "peak_requests_per_s");
        let sessions = share("overloaded_completed_per_s", "peak_completed_per_s");
        if let (Some(policy), Some(requests), Some(sessions)) = (policy, requests, sessions) {
            by_policy.entry(policy).or_default().push((requests, sessions));
        }
    }
    let mean = |values: &[(f64, f64)], of: fn(&(f64, f64)) -> f64| {
        values.iter().map(of).sum::<f64>() / values.len() as f64
    };
    let levels = factor.levels(page.summary.quick).into_iter();
    levels
        .filter_map(|policy| {
            let values = by_policy.get(policy)?;
            Some((policy.to_owned(), mean(values, |it| it.0), mean(values, |it| it.1)))
        })
        .collect()
}

/// The row of the policy `off` with the same other levels.
fn peak_of_off<'a>(rows: &'a [Row], row: &Row) -> Option<&'a Row> {
    let same = |other: &&Row| {
        other.get("policy").and_then(serde_json::Value::as_str) == Some("off")
            && row.iter().all(|(name, value)| {
                name == "policy" || !value.is_string() || other.get(name) == Some(value)
            })
    };
    rows.iter().find(same)
}

/// The time before the measured window of a run: `0.5 s and 30 ms for each customer at a time`.
pub(super) fn warm_up(windows: &Windows) -> String {
    let all = format!("{} s", windows.warm_up_s);
    let each_ms = (1e6 * windows.warm_up_per_customer_s).round() / 1e3;
    if each_ms > 0.0 { format!("{all} and {each_ms} ms for each customer at a time") } else { all }
}

/// What is started for a run.
pub(super) fn servers(base: &Settings) -> &'static str {
    if base.gate { "service and gate" } else { "the service" }
}

fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
}

/// The result in a sentence.
pub(super) fn headline(page: &Page<'_>) -> String {
    let kept = kept(page);
    if let Some((_, requests, _)) = kept.iter().find(|(policy, ..)| policy == "off")
        && kept.len() > 1
    {
        let others: Vec<String> = kept
            .iter()
            .filter(|(policy, ..)| policy != "off")
            .map(|(policy, requests, _)| format!("{} with {policy}", percent(*requests)))
            .collect();
        return format!(
            "Overloaded, the server keeps {} of its peak throughput without admission control, {}.",
            percent(*requests),
            and(&others)
        );
    }
    let claims = page.summary.claims.len();
    if claims > 0 {
        return format!("{} of {claims} claims hold here.", page.summary.count(Verdict::Holds));
    }
    page.experiment.about.clone()
}

/// `a`, `a and b`, `a, b and c`.
fn and(words: &[String]) -> String {
    match words {
        [] => String::new(),
        [only] => only.clone(),
        [first @ .., last] => format!("{} and {last}", first.join(", ")),
    }
}

/// What the headline is about.
pub(super) fn lead(page: &Page<'_>) -> String {
    let mut text = String::new();
    let kept = kept(page);
    if !kept.is_empty() {
        let sessions: Vec<String> = kept
            .iter()
            .map(|(policy, _, sessions)| format!("{} with {policy}", percent(*sessions)))
            .collect();
        text += &format!(
            "Of the sessions that the server completes at its peak without admission control it completes in overload {}. ",
            and(&sessions)
        );
    }
    let (claims, count) = (page.summary.claims.len(), |verdict| page.summary.count(verdict));
    let (fail, open) = (count(Verdict::DoesNotHold), count(Verdict::Undecided));
    if claims > 0 && kept.is_empty() {
        // How many hold is the headline.
        text = format!("{} do not, and {} are undecided. ", fail, open);
    } else if claims > 0 {
        let hold = count(Verdict::Holds);
        text += &format!(
            "Of {claims} claims {hold} hold here, {fail} do not, and {open} are undecided."
        );
    }
    if kept.is_empty() { text + "The study: " + &page.experiment.about + "." } else { text }
}

/// The figures of the headline.
pub(super) fn cards(page: &Page<'_>) -> Markup {
    let kept = kept(page);
    html! { @if !kept.is_empty() { div.cards.key {
        @for (policy, requests, sessions) in &kept {
            div.card { b { (percent(*requests)) } span { "of the peak throughput in overload, " (policy) } }
            div.card { b { (percent(*sessions)) } span { "of the peak's completed sessions in overload, " (policy) } }
        }
    } } }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_of_each_customer_is_told_where_there_is_one() {
        let usual = Windows {
            warm_up_s: 0.5,
            measured_s: 1.5,
            repetitions: 3,
            warm_up_per_customer_s: 0.0,
        };
        assert_eq!(warm_up(&usual), "0.5 s");
        let longer = Windows { warm_up_per_customer_s: 0.03, ..usual };
        assert_eq!(warm_up(&longer), "0.5 s and 30 ms for each customer at a time");
    }

    #[test]
    fn words_are_joined_as_in_a_sentence() {
        let words = ["a", "b", "c"].map(String::from);
        assert_eq!(
            [and(&words[..0]), and(&words[..1]), and(&words[..2]), and(&words)],
            ["", "a", "a and b", "a, b and c"]
        );
    }
}
