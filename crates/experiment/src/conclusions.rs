//! The first table of a study: what was concluded elsewhere, what is measured here, and why the
//! verdict is what it is.

use std::collections::BTreeMap;

use serde_json::Value;

use crate::claim::{Claim, ClaimKind, Verdict};
use crate::wording::is_share;

/// A row of the table, in words.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Conclusion {
    /// The claim.
    pub(crate) text: String,
    /// Where it is made.
    pub(crate) source: String,
    /// The level that it is checked for; empty for all.
    pub(crate) of: String,
    /// The figure of the source.
    pub(crate) paper: String,
    /// The figure here with its interval: `32 % (16 to 47)`.
    pub(crate) here: String,
    /// Its verdict.
    pub(crate) verdict: Verdict,
    /// One sentence.
    pub(crate) why: String,
}

/// The tables: a heading, and the kind of claims below it.
pub(crate) const TABLES: [(&str, ClaimKind); 3] = [
    ("The paper's conclusions", ClaimKind::Paper),
    ("Claims of this project", ClaimKind::Own),
    ("Checks of the measurement", ClaimKind::Check),
];

/// The heads of a table's columns.
pub(crate) const HEADS: [&str; 5] = ["conclusion", "paper", "here, 95 %", "verdict", "why"];

/// Every table that has rows.
pub(crate) fn tables(claims: &[Claim]) -> Vec<(&'static str, Vec<Conclusion>)> {
    let of = |kind: ClaimKind| {
        let claims = claims.iter().filter(|claim| claim.kind == kind);
        claims.map(Conclusion::of).collect::<Vec<_>>()
    };
    let all = TABLES.map(|(heading, kind)| (heading, of(kind)));
    all.into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
}

impl Conclusion {
    fn of(claim: &Claim) -> Self {
        let evidence = Evidence(&claim.evidence);
        Self {
            text: claim.text.clone(),
            source: claim.source.clone(),
            of: evidence.text("of").to_owned(),
            paper: evidence.text("paper").to_owned(),
            here: evidence.here(),
            verdict: claim.verdict,
            why: evidence.why(claim.verdict),
        }
    }
}

/// What a claim was decided by.
struct Evidence<'c>(&'c BTreeMap<String, Value>);

impl Evidence<'_> {
    fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(Value::as_str).unwrap_or_default()
    }

    fn number(&self, name: &str) -> Option<f64> {
        self.0.get(name).and_then(Value::as_f64)
    }

    fn conditions(&self) -> &[Value] {
        self.0.get("conditions").and_then(Value::as_array).map_or(&[], Vec::as_slice)
    }

    fn here(&self) -> String {
        let Some(mean) = self.number("mean") else { return self.without_mean() };
        let mean = self.shown(mean);
        match (self.number("low_95"), self.number("high_95")) {
            (Some(low), Some(high)) => {
                let [low, high] = [low, high].map(|end| self.shown(end));
                let ends = [low.as_str(), &high].map(|end| end.trim_end_matches(UNITS));
                format!("{mean} ({} to {})", ends[0], ends[1])
            }
            _ => mean,
        }
    }

    /// Of ratios to 0 there is a lower end at most.
    fn without_mean(&self) -> String {
        match (self.number("ratios_to_zero"), self.number("low_95")) {
            (Some(_), Some(low)) => format!("over {}", self.shown(low)),
            (Some(_), None) => "∞".into(),
            (None, _) if self.number("rounds_without_value").is_some() => "no value".into(),
            (None, _) => "not measured".into(),
        }
    }

    /// A share as a percentage, a ratio as a factor, another figure as a number.
    fn shown(&self, value: f64) -> String {
        let is_ratio = self.0.get("is_ratio").and_then(Value::as_bool).unwrap_or_default();
        let limits = [self.number("at_least"), self.number("at_most")];
        let small = limits.into_iter().flatten().all(|limit| limit <= 1.0);
        match is_ratio {
            true if !small => format!("{value:.2}×"),
            false if !is_share(self.text("metric")) => {
                tidegate_report::number::significant(value, 3)
            }
            _ if value.abs() < 0.1 && value != 0.0 => format!("{:.1}\u{a0}%", 100.0 * value),
            _ => format!("{:.0}\u{a0}%", 100.0 * value),
        }
    }

    /// `at most 25 %`.
    fn limit(&self) -> String {
        let shown = |name: &str| self.number(name).map(|limit| without_zeros(&self.shown(limit)));
        match (shown("at_least"), shown("at_most")) {
            (Some(least), Some(most)) => format!("{least} to {most}"),
            (Some(least), None) => format!("at least {least}"),
            (None, Some(most)) => format!("at most {most}"),
            (None, None) => "none".into(),
        }
    }

    /// ` with load 2, processors 1`; nothing where there is one condition.
    fn at(&self) -> String {
        let decides = self.text("decided_by");
        if decides.is_empty() { String::new() } else { format!(" with {decides}") }
    }

    fn why(&self, verdict: Verdict) -> String {
        let (limit, at) = (self.limit(), self.at());
        let because = self.text("undecided_because");
        if !because.is_empty() {
            let mut letters = because.chars();
            let first: String = letters.next().into_iter().flat_map(char::to_uppercase).collect();
            return format!("{first}{}{at} (limit: {limit}).", letters.as_str());
        }
        let beyond = match self.number("ratios_to_zero") {
            Some(1.0) => " What it is compared with was 0 in one round.".into(),
            Some(rounds) => format!(" What it is compared with was 0 in {rounds} rounds."),
            None => String::new(),
        };
        self.compared(verdict) + &beyond
    }

    fn compared(&self, verdict: Verdict) -> String {
        let (limit, all, at) = (self.limit(), self.conditions(), self.at());
        let count =
            |verdict: &str| all.iter().filter(|it| it["verdict"].as_str() == Some(verdict)).count();
        match verdict {
            Verdict::Holds if all.len() > 1 => format!(
                "The interval keeps the limit ({limit}) in each of {} conditions; it comes nearest{at}.",
                all.len()
            ),
            Verdict::Holds => format!("The interval keeps the limit ({limit})."),
            Verdict::DoesNotHold if all.len() > 1 => format!(
                "The interval is beyond the limit ({limit}) in {} of {} conditions, furthest{at}.",
                count(Verdict::DoesNotHold.words()),
                all.len()
            ),
            Verdict::DoesNotHold => format!("The interval is beyond the limit ({limit})."),
            Verdict::Undecided if all.len() > 1 => format!(
                "The interval contains the limit ({limit}){at}; the claim holds in {} of {} conditions.",
                count(Verdict::Holds.words()),
                all.len()
            ),
            Verdict::Undecided => format!("The interval contains the limit ({limit})."),
        }
    }
}

/// What may stand behind a figure.
const UNITS: [char; 3] = ['\u{a0}', '%', '×'];

/// A figure that somebody chose, without decimals of nothing: `2×` in place of `2.00×`.
fn without_zeros(figure: &str) -> String {
    let number = figure.trim_end_matches(UNITS);
    let unit = &figure[number.len()..];
    match number.contains('.') {
        true => format!("{}{unit}", number.trim_end_matches('0').trim_end_matches('.')),
        false => figure.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn conclusion(verdict: Verdict, evidence: Value) -> Conclusion {
        let evidence = serde_json::from_value(evidence).unwrap();
        let text = String::from("it falls");
        let (id, source, kind) = (text.clone(), text.clone(), ClaimKind::Paper);
        Conclusion::of(&Claim { id, source, kind, text, verdict, evidence })
    }

    #[test]
    fn a_conclusion_names_its_limit_and_the_condition_that_decides() {
        let conditions = json!([{ "verdict": "does not hold" }, { "verdict": "holds" }]);
        let evidence = json!({
            "metric": "requests_of_capacity", "at_most": 0.25, "mean": 0.63, "low_95": 0.5,
            "high_95": 0.76, "decided_by": "load 2", "conditions": conditions, "paper": "20 %",
        });
        let fails = conclusion(Verdict::DoesNotHold, evidence);
        assert_eq!(fails.here, "63\u{a0}% (50 to 76)");
        assert_eq!(fails.paper, "20 %");
        let why = "The interval is beyond the limit (at most 25\u{a0}%) in 1 of 2 conditions, furthest with load 2.";
        assert_eq!(fails.why, why);
    }

    #[test]
    fn what_was_measured_too_seldom_or_not_at_all_says_so() {
        let evidence = json!({ "metric": "requests_per_s", "at_least": 10.0, "mean": 12.3456, "undecided_because": "3 rounds; a verdict takes 5" });
        let open = conclusion(Verdict::Undecided, evidence);
        assert_eq!(open.here, "12.3");
        assert_eq!(open.why, "3 rounds; a verdict takes 5 (limit: at least 10).");
        let none = conclusion(
            Verdict::Undecided,
            json!({ "undecided_because": "not measured", "at_most": 1.5, "is_ratio": true }),
        );
        assert_eq!(
            (none.here.as_str(), none.why.as_str()),
            ("not measured", "Not measured (limit: at most 1.5×).")
        );
    }

    #[test]
    fn a_condition_without_a_value_and_a_ratio_to_zero_say_so() {
        let why = "no value in 5 of 5 rounds; a verdict takes 5";
        let evidence = json!({
            "at_most": 1.5, "is_ratio": true, "undecided_because": why,
            "rounds_without_value": 5, "decided_by": "load 4",
        });
        let none = conclusion(Verdict::Undecided, evidence);
        assert_eq!(none.here, "no value");
        let why = "No value in 5 of 5 rounds; a verdict takes 5 with load 4 (limit: at most 1.5×).";
        assert_eq!(none.why, why);
        let ratio = |more: Value| {
            let mut evidence = json!({ "at_most": 1.5, "is_ratio": true, "ratios_to_zero": 2 });
            evidence.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            conclusion(Verdict::DoesNotHold, evidence)
        };
        assert_eq!(
            (ratio(json!({})).here, ratio(json!({ "low_95": 3.0 })).here),
            ("∞".into(), "over 3.00×".into())
        );
        let why = ratio(json!({})).why;
        assert!(why.ends_with("What it is compared with was 0 in 2 rounds."), "{why}");
    }

    #[test]
    fn the_papers_conclusions_stand_apart_from_the_projects_claims() {
        let claim = |kind| {
            let text = String::from("a");
            let (id, source, evidence) = (text.clone(), text.clone(), BTreeMap::new());
            Claim { id, source, kind, text, verdict: Verdict::Holds, evidence }
        };
        let all = [ClaimKind::Own, ClaimKind::Paper, ClaimKind::Own].map(claim);
        let tables = tables(&all);
        let counts: Vec<(&str, usize)> = tables.iter().map(|it| (it.0, it.1.len())).collect();
        assert_eq!(counts, [("The paper's conclusions", 1), ("Claims of this project", 2)]);
    }
}
