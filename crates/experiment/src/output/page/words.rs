//! The headline of a page, and the figures below it.

use super::Report;
use crate::analysis::tables::{OVERLOADED_COMPLETED, OVERLOADED_REQUESTS};
use crate::claim::Verdict;
use crate::experiment::{Settings, Windows};
use crate::summary::Row;

/// What is left of the capacity in overload with a policy, where it is least.
struct Kept {
    policy: String,
    requests: Share,
    completed: Option<Share>,
}

/// A share with its interval, where there is one.
struct Share {
    mean: f64,
    interval: Option<(f64, f64)>,
}

impl Share {
    fn of(row: &Row, name: &str) -> Option<Self> {
        let number = |name: &str| row.get(name).and_then(serde_json::Value::as_f64);
        let end = |end: &str| number(&format!("{name}_{end}_95"));
        Some(Self { mean: number(name)?, interval: end("low").zip(end("high")) })
    }

    /// The mean, at most 100 %: more shows that the baseline found too low a capacity.
    fn at_most_all(&self) -> String {
        percent(self.mean.min(1.0))
    }

    /// `93 % (91 to 95)`.
    fn words(&self) -> String {
        let ends = self
            .interval
            .map(|(low, high)| format!(" ({:.0} to {:.0})", 100.0 * low, 100.0 * high));
        percent(self.mean) + &ends.unwrap_or_default()
    }
}

/// By policy in the order of the file; empty unless policies are compared.
fn kept(report: &Report<'_>) -> Vec<Kept> {
    let Some(factor) = report.experiment.factors.iter().find(|factor| factor.name == "policy")
    else {
        return Vec::new();
    };
    let rows = report.summary.tables.get("knee").map(Vec::as_slice).unwrap_or_default();
    let least = |policy: &str| {
        let of = |row: &&Row| row.get("policy").and_then(serde_json::Value::as_str) == Some(policy);
        let all = rows.iter().filter(of).filter_map(|row| {
            let requests = Share::of(row, OVERLOADED_REQUESTS)?;
            let completed = Share::of(row, OVERLOADED_COMPLETED);
            Some(Kept { policy: policy.to_owned(), requests, completed })
        });
        all.min_by(|a, b| a.requests.mean.total_cmp(&b.requests.mean))
    };
    factor.levels(report.summary.quick).into_iter().filter_map(least).collect()
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

/// What is started when: `service and gate started anew`.
pub(super) fn starts(base: &Settings, windows: &Windows) -> String {
    match windows.warm_up_once_s {
        None => format!("{} started anew", servers(base)),
        Some(once_s) => format!(
            "on a service that started once and was warm after {once_s} s at least, with gates started anew"
        ),
    }
}

fn percent(share: f64) -> String {
    format!("{:.0}\u{a0}%", 100.0 * share)
}

/// The result in a sentence.
pub(super) fn headline(report: &Report<'_>) -> String {
    let kept = kept(report);
    if let Some(off) = kept.iter().find(|it| it.policy == "off")
        && kept.len() > 1
    {
        let others: Vec<String> = kept
            .iter()
            .filter(|it| it.policy != "off")
            .map(|it| format!("{} with {}", it.requests.at_most_all(), it.policy))
            .collect();
        return format!(
            "Overloaded, the server keeps {} of its capacity without admission control, {}.",
            off.requests.at_most_all(),
            and(&others)
        );
    }
    let claims = report.summary.claims.len();
    if claims > 0 {
        return format!("{} of {claims} claims hold here.", report.summary.count(Verdict::Holds));
    }
    report.experiment.about.clone()
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
pub(super) fn lead(report: &Report<'_>) -> String {
    let mut text = String::new();
    let kept = kept(report);
    if !kept.is_empty() {
        let shares: Vec<String> =
            kept.iter().map(|it| format!("{} with {}", it.requests.words(), it.policy)).collect();
        text += &format!(
            "Requests answered in overload, as a share of the capacity that the same round measured, in the configuration where it is least: {}. ",
            and(&shares)
        );
    }
    let (claims, count) = (report.summary.claims.len(), |verdict| report.summary.count(verdict));
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
    if kept.is_empty() { text + "The study: " + &report.experiment.about + "." } else { text }
}

/// The figures of the headline.
pub(super) fn cards(report: &Report<'_>) -> Vec<(String, String)> {
    let card = |share: &Share, what: &str, policy: &str| {
        (percent(share.mean), format!("of the capacity's {what} in overload, {policy}"))
    };
    let cards = |it: Kept| {
        let completed = it.completed.map(|share| card(&share, "completed sessions", &it.policy));
        [card(&it.requests, "requests", &it.policy)].into_iter().chain(completed)
    };
    kept(report).into_iter().flat_map(cards).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_warm_up_of_each_customer_is_told_where_there_is_one() {
        let usual =
            Windows { warm_up_s: 0.5, measured_s: 1.5, repetitions: 3, ..Windows::default() };
        assert_eq!(warm_up(&usual), "0.5 s");
        let longer = Windows { warm_up_per_customer_s: 0.03, ..usual };
        assert_eq!(warm_up(&longer), "0.5 s and 30 ms for each customer at a time");
    }

    #[test]
    fn a_service_that_is_kept_is_told() {
        let (base, anew) = (Settings { gate: true, ..Settings::default() }, Windows::default());
        assert_eq!(starts(&base, &anew), "service and gate started anew");
        let kept = starts(&base, &Windows { warm_up_once_s: Some(180.0), ..anew });
        assert!(kept.contains("started once and was warm after 180 s"), "{kept}");
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
