//! Conditions that have no value in some rounds or in all, and ratios to 0.

use super::*;

#[test]
fn runs_of_a_saturated_load_generator_have_no_value_and_leave_their_condition_undecided() {
    let mut all = measured(0.0);
    let of = |record: &mut Record| record.driver_saturated = vec!["late".into()];
    all.iter_mut().filter(|record| record.planned.levels["load"] == "4").for_each(of);
    let experiment = experiment(&format!("{COLLAPSE}at_most = 0.3"));
    let claims = check(&experiment, &crate::analysis::planned_runs(&all), false);
    assert_eq!(claims[0].evidence["values"], json!(12));
    assert_eq!(claims[0].verdict, Verdict::Undecided, "load 2 does not decide for load 4");
    let left_out = crate::analysis::unsound(&all);
    assert_eq!(left_out, [("the load generator was saturated", 24)].into());
}

/// What two processors answer of `off` as a multiple of what one does, at each load; the values of
/// one and of two processors at load 4 by round, all others 100 and 200.
fn speedup(limits: &str, at_four: impl Fn(u32) -> (Option<f64>, Option<f64>)) -> Claim {
    let mut all = measured(0.0);
    for record in &mut all {
        let (levels, round) = (&record.planned.levels, record.planned.round);
        let one = levels["processors"] == "1";
        let (of_one, of_two) = match levels["load"].as_str() {
            "4" => at_four(round),
            _ => (Some(100.0), Some(200.0)),
        };
        match if one { of_one } else { of_two } {
            Some(value) => record.figures.insert("requests_per_s".into(), value),
            None => record.figures.remove("requests_per_s"),
        };
    }
    let claim = format!(
        "where = {{ policy = \"off\", processors = 2, load = \">= 2\" }}\n\
         compared_with = {{ policy = \"off\", processors = 1, load = \">= 2\" }}\n\
         take = \"mean\"\ncompared_take = \"mean\"\n{limits}"
    );
    check(&experiment(&claim), &runs(&all), false).remove(0)
}

#[test]
fn a_load_at_which_nothing_is_answered_is_undecided_and_does_not_vanish() {
    let nothing = speedup("at_least = 1.7\nat_most = 2.3", |_| (Some(0.0), Some(0.0)));
    assert_eq!(nothing.verdict, Verdict::Undecided, "{:?}", nothing.evidence);
    assert_eq!(nothing.evidence["decided_by"], json!("load 4"));
    let why = "no value in 6 of 6 rounds; a verdict takes 5";
    assert_eq!(nothing.evidence["undecided_because"], json!(why));
    let conditions = nothing.evidence["conditions"].as_array().unwrap();
    assert_eq!(conditions[0]["levels"], json!({ "load": "2" }), "the factor keeps its name");
    assert_eq!(conditions[0]["verdict"], json!("holds"));
    assert_eq!(conditions[1]["rounds_without_value"], json!(6));
}

#[test]
fn rounds_without_a_value_are_counted_and_five_others_decide() {
    let some = |missing: u32| {
        let at_four = move |round| match round < missing {
            true => (Some(100.0), None),
            false => (Some(100.0), Some(200.0)),
        };
        speedup("at_least = 1.7\nat_most = 2.3", at_four)
    };
    let one = some(1);
    assert_eq!(one.verdict, Verdict::Holds, "{:?}", one.evidence);
    assert_eq!(one.evidence["conditions"][1]["rounds_without_value"], json!(1));
    let two = some(2);
    assert_eq!(two.verdict, Verdict::Undecided);
    let why = "no value in 2 of 6 rounds; a verdict takes 5";
    assert_eq!(two.evidence["undecided_because"], json!(why));
}

#[test]
fn a_ratio_to_zero_is_beyond_every_upper_limit_and_keeps_every_lower_one() {
    let all = |limits| speedup(limits, |_| (Some(0.0), Some(3.0)));
    assert_eq!(all("at_least = 1.7").verdict, Verdict::Holds);
    let most = all("at_least = 1.7\nat_most = 2.3");
    assert_eq!(most.verdict, Verdict::DoesNotHold, "{:?}", most.evidence);
    assert_eq!(most.evidence["fails_at"], json!(["load 4"]));
    assert_eq!(most.evidence["ratios_to_zero"], json!(6));
    assert_eq!(most.evidence.get("mean"), None, "no number of JSON is infinite");
}

#[test]
fn some_ratios_to_zero_leave_the_lower_end_to_the_other_rounds() {
    // Four rounds with 2.0, and two of 3 requests and none: at least 2.0 each.
    let some = |limits| {
        speedup(limits, |round| match round {
            0 | 3 => (Some(0.0), Some(3.0)),
            _ => (Some(100.0), Some(200.0)),
        })
    };
    for (limits, verdict, why) in [
        ("at_least = 1.7", "holds", "at least 2.0"),
        ("at_least = 2.1", "undecided", "alone they decide nothing"),
        ("at_most = 2.3", "undecided", "there is no upper end"),
        ("at_most = 1.9", "does not hold", "more than 2.0 at least"),
    ] {
        let claim = some(limits);
        let at_four = &claim.evidence["conditions"][1];
        assert_eq!(at_four["verdict"], json!(verdict), "{limits}: {why}: {at_four}");
        assert_eq!(at_four["ratios_to_zero"], json!(2));
    }
}

#[test]
fn a_mean_of_two_loads_is_none_without_one_of_them() {
    let mut all = measured(0.0);
    let left_out = |record: &&mut Record| {
        record.planned.levels["load"] == "2" && record.planned.levels["policy"] == "off"
    };
    all.iter_mut().filter(left_out).for_each(|record| record.figures.clear());
    let claim = "where = { policy = \"tide\", load = 1 }\n\
                 compared_with = { policy = \"off\", load = \"<= 2\" }\n\
                 compared_take = \"mean\"\nat_most = 3";
    let claim = check(&experiment(claim), &runs(&all), false).remove(0);
    assert_eq!(claim.verdict, Verdict::Undecided, "{:?}", claim.evidence);
}
