//! The result in the form of all studies: tables and claims.

use serde::Serialize;
use serde_json::{Value, json};

use super::analysis::{Analysis, EXPLAINED, follows};
use super::beyond::compared;
use super::kept::{KEPT, kept, undecided_because, verdict};
use super::staircase::End;
use super::{NAME, Report};
use tidegate_experiment::{Claim, ClaimKind, Row, Summary, Verdict};

/// The summary of a study.
pub(super) fn summary(report: &Report) -> Summary {
    let provenance = report.provenance.clone();
    let mut summary = Summary::new(NAME, report.options.quick, provenance);
    let windows = &report.windows;
    let mut tables = vec![
        ("result", vec![result(report)]),
        ("steps", report.steps.iter().map(flat).collect()),
        ("law", law(report).into_iter().collect()),
    ];
    if !windows.is_empty() {
        tables.push(("gate", compared(windows).iter().map(flat).collect()));
        tables.push(("windows", windows.iter().map(flat).collect()));
    }
    summary.tables = tables.into_iter().map(|(name, rows)| (name.to_owned(), rows)).collect();
    summary.claims = claims(report);
    summary
}

/// A value as a row: fields of fields are joined by underscores, lists stay.
pub(crate) fn flat(of: &impl Serialize) -> Row {
    fn add(row: &mut Row, name: &str, value: Value) {
        match value {
            Value::Object(fields) => {
                for (field, value) in fields {
                    let joined = match name {
                        "" => field,
                        name => format!("{name}_{field}"),
                    };
                    add(row, &joined, value);
                }
            }
            value => {
                row.insert(name.to_owned(), value);
            }
        }
    }
    let mut row = Row::new();
    add(&mut row, "", serde_json::to_value(of).unwrap_or_default());
    row
}

fn result(report: &Report) -> Row {
    let analysis = &report.analysis;
    flat(&json!({
        "target": report.options.site(),
        "scenario": report.options.plan.scenario.name(),
        "limit": report.options.limit,
        "end": analysis.end,
        "carried_per_s": analysis.carried_per_s,
        "customers": analysis.customers,
        "session_s": analysis.session_s,
        "knee": analysis.knee,
        "peak_completed_per_s": analysis.peak_per_s,
        "time_scale": report.times.scale,
        "resource": analysis.bottleneck.resource,
        "requests_at_a_time": analysis.bottleneck.at_a_time,
        "cpu_s_per_session": analysis.bottleneck.cpu_s_per_session,
        "cpu_bound_per_s": analysis.bottleneck.cpu_bound_per_s,
        "evidence": analysis.bottleneck.evidence,
        "drift": analysis.bottleneck.drift,
    }))
}

fn law(report: &Report) -> Option<Row> {
    let mut row = flat(report.analysis.law.as_ref().ok()?);
    row.insert("unsettled_steps".into(), json!(report.analysis.unsettled));
    Some(row)
}

fn claims(report: &Report) -> Vec<Claim> {
    let analysis = &report.analysis;
    let mut claims = vec![limit_found(analysis), law_is_physical(analysis)];
    if let (Some(carried), false) = (analysis.carried_per_s, report.windows.is_empty()) {
        claims.push(gate_keeps_throughput(report, carried.value));
    }
    claims
}

/// A claim of this study; `evidence` is an object.
fn claim(id: &str, text: String, verdict: Verdict, evidence: Value) -> Claim {
    let evidence = serde_json::from_value(evidence).unwrap_or_default();
    let (id, source, kind) = (id.to_owned(), "this study".to_owned(), ClaimKind::Own);
    Claim { id, source, kind, text, verdict, evidence }
}

fn limit_found(analysis: &Analysis) -> Claim {
    let verdict = match analysis.end {
        End::Found => Verdict::Holds,
        End::NothingCarried => Verdict::DoesNotHold,
        End::MaxRate | End::Driver => Verdict::Undecided,
    };
    let text = "The rate is known above which the site exceeds its response-time limit.".into();
    let evidence = json!({ "end": analysis.end, "carried_per_s": analysis.carried_per_s });
    claim("limit-found", text, verdict, evidence)
}

fn law_is_physical(analysis: &Analysis) -> Claim {
    let (verdict, evidence) = match &analysis.law {
        Ok(fit) => (
            Verdict::exactly(follows(fit)),
            json!({ "r_squared": fit.r_squared, "at_least": EXPLAINED, "warnings": fit.unphysical }),
        ),
        Err(why) => (Verdict::Undecided, json!({ "undecided_because": why })),
    };
    let text = "Throughput over customers at a time follows the Universal Scalability Law.".into();
    claim("law-is-physical", text, verdict, evidence)
}

fn gate_keeps_throughput(report: &Report, carried_per_s: f64) -> Claim {
    let loads = kept(&report.windows, carried_per_s);
    let mut evidence = json!({ "at_least": KEPT });
    for it in &loads {
        for (name, value) in [
            ("rounds", json!(it.rounds)),
            ("mean", json!(it.mean)),
            ("low_95", json!(it.interval.map(|it| it.low))),
            ("high_95", json!(it.interval.map(|it| it.high))),
        ] {
            evidence[format!("share_at_{}_{name}", it.multiple)] = value;
        }
    }
    if let Some(why) = undecided_because(&loads, report.options.quick) {
        evidence["undecided_because"] = json!(why);
    }
    let text = format!(
        "Behind the gate the site completes at least {:.0} % of what it carries, at twice and four times the load.",
        100.0 * KEPT
    );
    claim("gate-keeps-throughput", text, verdict(&loads), evidence)
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::report;
    use super::*;
    use tidegate_experiment::scalability::Unphysical;

    #[test]
    fn a_row_has_no_fields_of_fields_and_names_them_by_their_path() {
        let row = flat(&json!({ "a": { "b": 1, "c": { "d": [2] } }, "e": null }));
        assert_eq!(Value::Object(row), json!({ "a_b": 1, "a_c_d": [2], "e": null }));
    }

    #[test]
    fn the_summary_has_the_result_every_step_and_the_claims() {
        let report = report(true);
        let summary = summary(&report);
        let result = &summary.tables["result"][0];
        assert_eq!(result["carried_per_s_value"], json!(100.0));
        assert_eq!(result["limit_percentile"], json!(95));
        assert_eq!(summary.tables["steps"].len(), report.steps.len());
        assert_eq!(summary.tables["gate"].len(), 6);
        let verdicts: Vec<_> =
            summary.claims.iter().map(|claim| (claim.id.as_str(), claim.verdict)).collect();
        assert_eq!(verdicts[0], ("limit-found", Verdict::Holds));
        assert_eq!(verdicts[2], ("gate-keeps-throughput", Verdict::Holds));
        let evidence = &summary.claims[2].evidence;
        assert_eq!(evidence["share_at_4_rounds"], json!(3));
        assert!((evidence["share_at_4_mean"].as_f64().unwrap() - 0.95).abs() < 1e-9);
        assert!(evidence["share_at_2_low_95"].as_f64().unwrap() < 0.94);
        let text = serde_json::to_string(&summary).unwrap();
        let read: Summary = serde_json::from_str(&text).unwrap();
        assert_eq!(read.tables["steps"].len(), report.steps.len());
    }

    #[test]
    fn a_single_round_does_not_decide_about_the_gate_and_the_evidence_says_why() {
        let mut report = report(true);
        report.windows.retain(|it| it.round == 0);
        let claims = claims(&report);
        assert_eq!(claims[2].verdict, Verdict::Undecided);
        let why = claims[2].evidence["undecided_because"].as_str().unwrap();
        assert!(why.contains("one round has no interval"), "{why}");
        assert_eq!(claims[2].evidence["share_at_2_low_95"], Value::Null);
    }

    #[test]
    fn a_law_that_explains_little_does_not_hold_even_with_possible_coefficients() {
        let mut report = report(false);
        for (r_squared, unphysical, expected) in [
            (0.95, Vec::new(), Verdict::Holds),
            (0.89, Vec::new(), Verdict::DoesNotHold),
            (0.95, vec![Unphysical::NegativeContention], Verdict::DoesNotHold),
        ] {
            let fit = report.analysis.law.as_mut().unwrap();
            (fit.r_squared, fit.unphysical) = (r_squared, unphysical);
            assert_eq!(claims(&report)[1].verdict, expected, "{r_squared}");
        }
        report.analysis.law = Err("too few".into());
        let claim = &claims(&report)[1];
        assert_eq!(
            (claim.verdict, &claim.evidence["undecided_because"]),
            (Verdict::Undecided, &json!("too few"))
        );
    }

    #[test]
    fn a_limit_that_was_not_reached_is_undecided() {
        let mut report = report(false);
        report.analysis.end = End::Driver;
        let claims = claims(&report);
        assert_eq!((claims[0].verdict, claims.len()), (Verdict::Undecided, 2));
    }
}
