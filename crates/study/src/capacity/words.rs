//! What was found, in sentences.

use super::Report;
use super::analysis::{EXPLAINED, follows};
use super::beyond::Compared;
use super::beyond::compared;
use super::kept::{KEPT, Kept, kept, undecided_because, verdict};
use super::staircase::End;
use crate::site::step::{Outcome, Step};
use tidegate_experiment::Verdict;
use tidegate_report::number::{self, significant, time};
use tidegate_stats::Interval;

/// Measured throughput above the highest of the law by this factor contradicts it.
const BEYOND_LAW: f64 = 1.05;

/// A number of a few digits for people: two that count below 10, else whole.
pub(super) fn round(value: f64) -> String {
    significant(value, 2)
}

/// `a to b`, or the value where both are the same.
pub(super) fn range(it: Interval) -> String {
    number::range(it.not_negative().ends(), round)
}

/// `1 session` or `2 sessions`; visits where the scenario is one page.
pub(super) fn sessions(report: &Report) -> &'static str {
    if report.options.one_page { "visits" } else { "sessions" }
}

/// The sentence for a manager.
pub fn headline(report: &Report) -> String {
    let (analysis, limit, noun) = (&report.analysis, report.options.limit, sessions(report));
    let Some(carried) = analysis.carried_per_s else {
        if analysis.end == End::Driver {
            return "How much your site carries is not known: the load generator was saturated \
                    first."
                .to_owned();
        }
        return format!("Your site exceeds {limit} even at the lightest load.");
    };
    let least = if analysis.end == End::Found { "" } else { "at least " };
    let rate = round(carried.value);
    let customers = match analysis.customers {
        Some(customers) if customers.value >= 0.95 => {
            let customers = round(customers.value);
            let noun = if customers == "1.0" { "customer" } else { "customers" };
            format!(", about {customers} {noun} at a time")
        }
        Some(_) => ", less than one customer at a time".to_owned(),
        None => String::new(),
    };
    format!("Your site carries {least}{rate} {noun} per second{customers}, within {limit}.")
}

/// What that means, and how certain it is.
pub(super) fn lead(report: &Report) -> String {
    let (analysis, noun) = (&report.analysis, sessions(report));
    let percentile = report.options.limit.percentile;
    let limit = report.options.limit;
    let within = format!(
        "{percentile} of 100 responses take at most {limit}, from the customer's click to the last byte"
    );
    match (analysis.end, analysis.carried_per_s) {
        (End::Found, Some(carried)) => format!(
            "Up to {} {noun} per second (95 % interval {}), {within}. With more, {}.{}",
            round(carried.value),
            range(carried),
            with_more(report, carried),
            contradiction(report, carried),
        ),
        (End::MaxRate, _) => format!(
            "At {} {noun} per second, the highest rate that was allowed, {within}. The site's limit is beyond: it was not looked for.",
            round(report.options.max_rate)
        ),
        (End::Driver, Some(carried)) => format!(
            "At {} {noun} per second, {within}. Beyond that the load generator was saturated, not the site: the site's limit is not known.",
            round(carried.value)
        ),
        (End::Driver, None) => {
            "Even at the lightest load that was offered the load generator fell behind, so that the figures say nothing of the site. Give it processors of its own, or another machine.".to_owned()
        }
        _ => {
            let lightest = report.steps.iter().min_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
            let what = match lightest.map(|step| step.outcome) {
                Some(Outcome::TooSlow) => {
                    format!("fewer than {percentile} of 100 responses take at most {limit}")
                }
                other => other.and_then(|it| became(it, noun)).unwrap_or_default(),
            };
            format!("At the lightest load that was offered, {what}.")
        }
    }
}

/// What became of a step that was not carried; `None` if it was, or says nothing of the site.
fn became(outcome: Outcome, noun: &str) -> Option<String> {
    match outcome {
        Outcome::Carried | Outcome::Driver => None,
        Outcome::TooSlow => Some("responses take longer".to_owned()),
        Outcome::Behind => {
            Some(format!("fewer {noun} complete than arrive, so that they accumulate"))
        }
        Outcome::Lost => Some(format!("{noun} fail, are abandoned or are refused")),
    }
}

/// What became of the steps above the carried rate: each of their outcomes once.
fn with_more(report: &Report, carried: Interval) -> String {
    let mut outcomes: Vec<String> = Vec::new();
    for outcome in [Outcome::TooSlow, Outcome::Behind, Outcome::Lost] {
        let beyond = |step: &Step| step.rate_per_s > carried.value && step.outcome == outcome;
        if report.steps.iter().any(beyond) {
            outcomes.extend(became(outcome, sessions(report)));
        }
    }
    match outcomes.split_last() {
        None => "it does not".to_owned(),
        Some((last, [])) => last.clone(),
        Some((last, others)) => format!("{}, or {last}", others.join(", ")),
    }
}

/// Steps far above the carried rate that were carried: the figure does not hold for their time.
fn contradiction(report: &Report, carried: Interval) -> String {
    let above = |step: &&Step| {
        step.outcome == Outcome::Carried
            && step.rate_per_s > (1.1 * carried.value).max(carried.high)
    };
    match report.steps.iter().filter(above).count() {
        0 => String::new(),
        count => format!(
            " Warning: {count} {} carried far above this rate, so the site or the machine changed during the study. Repeat it while nobody else uses the machine.",
            if count == 1 { "step was" } else { "steps were" },
        ),
    }
}

/// What happens when more customers come than the site carries.
pub(super) fn beyond(report: &Report) -> Vec<String> {
    let noun = sessions(report);
    let mut text = Vec::new();
    let carried = report.analysis.carried_per_s.map_or(0.0, |it| it.value);
    let steps = report.steps.iter().filter(|step| step.is_sound());
    let most = steps.max_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    if let Some(step) = most.filter(|step| step.rate_per_s > 1.1 * carried && carried > 0.0) {
        // Within the limit it carries less than it completes if it may take its time.
        let limit = report.options.limit;
        let of_that = match step.completed_per_s / carried {
            share if share <= 1.0 => format!("{:.0} % of that", 100.0 * share),
            _ => format!("but not within {limit}"),
        };
        let (arrive, completes) = (round(step.offered_per_s), round(step.completed_per_s));
        let times = step.offered_per_s / carried;
        text.push(match step.outcome {
            Outcome::Carried => format!(
                "When {arrive} {noun} per second arrive, {times:.1} times the carried rate, the site carries them as well."
            ),
            _ => format!(
                "When {arrive} {noun} per second arrive, {times:.1} times what the site carries, it completes {completes} per second, {of_that}. {} of 100 responses then take {}{}.",
                limit.percentile,
                if step.response.is_lower_bound { "at least " } else { "up to " },
                time(step.response.ms),
            ),
        });
    }
    let all = compared(&report.windows);
    let at = |gate: bool| all.iter().rev().find(|it| it.gate == gate && it.multiple > 1.0);
    if let (Some(without), Some(with)) = (at(false), at(true)) {
        let completes = |it: &Compared| {
            format!("{} {noun} per second within {}", round(it.completed.value), bound(it))
        };
        text.push(format!(
            "At {} times the carried rate the site alone completes {}; behind the gate it completes {}, and {} per second are refused.",
            with.multiple,
            completes(without),
            completes(with),
            round(with.refused_per_s),
        ));
    }
    if !report.windows.is_empty() && carried > 0.0 {
        text.push(keeps(&kept(&report.windows, carried), report.options.quick));
    }
    text
}

/// Whether the site keeps its throughput behind the gate: the verdict with its figures.
fn keeps(loads: &[Kept], quick: bool) -> String {
    let share = |share: f64| format!("{:.0}", 100.0 * share);
    let each = loads.iter().filter_map(|it| {
        let interval = it
            .interval
            .map(|it| format!(" (95 % interval {} to {})", share(it.low), share(it.high)));
        let (mean, interval) = (share(it.mean?), interval.unwrap_or_default());
        Some(format!("{mean} %{interval} at {} times the load", it.multiple))
    });
    let (each, least) = (each.collect::<Vec<_>>().join(" and "), share(KEPT));
    let mut text = String::new();
    if !each.is_empty() {
        text += &format!(
            "By the baseline of each round, the site behind the gate completes {each}, of the rate that it carries within the limit. "
        );
    }
    text += &match (verdict(loads), undecided_because(loads, quick)) {
        (Verdict::Holds, _) => format!("So it keeps at least {least} %."),
        (Verdict::DoesNotHold, _) => format!("So it does not keep {least} %."),
        (Verdict::Undecided, why) => format!(
            "Whether it keeps at least {least} % behind the gate is undecided: {}.",
            why.map_or(format!("an interval contains {least} %"), str::to_owned)
        ),
    };
    text
}

/// The response time of a comparison, as a bound.
pub(super) fn bound(it: &Compared) -> String {
    let more = if it.is_lower_bound { "more than " } else { "" };
    format!("{more}{}", time(it.response_ms))
}

/// What the law says, in sentences.
pub(super) fn law(report: &Report) -> Vec<String> {
    let fit = match &report.analysis.law {
        Ok(fit) => fit,
        Err(why) => {
            return vec![format!("The Universal Scalability Law could not be fitted: {why}.")];
        }
    };
    let explained = format!("{:.0} %", 100.0 * fit.r_squared.max(0.0));
    let mut text = vec![match follows(fit) {
        true => format!(
            "Throughput follows the Universal Scalability Law, which explains {explained} of its differences."
        ),
        false => "Throughput does not follow the Universal Scalability Law.".to_owned(),
    }];
    if let Some((at, peak)) = fit.peak_at.zip(fit.peak).filter(|_| follows(fit)) {
        // Steps that had not settled are not among those of the fit, but were measured.
        let most = report.analysis.peak_per_s;
        let (is_beyond, measured) = (most > BEYOND_LAW * peak, round(most));
        let (at, peak) = (round(at), round(peak));
        text.push(match is_beyond {
            false => format!(
                "By the law throughput is highest, {peak} per second, with {at} customers at a time, and falls beyond."
            ),
            true => format!(
                "Beyond the steps that it was fitted to it does not hold: by the law throughput is at most {peak} per second, and {measured} were measured."
            ),
        });
    }
    text.extend(fit.unphysical.iter().map(|it| format!("Warning: {}.", it.in_words())));
    if fit.r_squared < EXPLAINED {
        text.push(format!(
            "Warning: the law explains only {explained} of the differences in throughput; do not extrapolate by it."
        ));
    }
    let unsettled = report.analysis.unsettled;
    if unsettled > 0 {
        text.push(format!(
            "{unsettled} {} left out, in which customers accumulated faster than they left.",
            if unsettled == 1 { "step is" } else { "steps are" }
        ));
    }
    text
}

/// What was found, as lines for a terminal.
pub fn terminal(report: &Report) -> String {
    let paragraph = |text: &str| tidegate_load::paragraph("", text) + "\n";
    let mut text = format!("\n{}\n", paragraph(&headline(report)));
    text += &paragraph(&lead(report));
    let bottleneck = &report.analysis.bottleneck;
    text += &format!("\n{}", paragraph(&bottleneck.headline));
    for sentence in bottleneck.drift.iter().chain(&bottleneck.evidence) {
        text += &(tidegate_load::paragraph("  ", sentence) + "\n");
    }
    for sentence in beyond(report) {
        text += &format!("\n{}", paragraph(&sentence));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::report;
    use super::*;
    use crate::site::step::tests::step;

    #[test]
    fn the_headline_is_what_a_manager_asks_for() {
        let mut report = report(false);
        assert_eq!(
            headline(&report),
            "Your site carries 100 sessions per second, about 200 customers at a time, within 500\u{a0}ms."
        );
        assert!(
            lead(&report)
                .starts_with("Up to 100 sessions per second (95 % interval 95 to 105), 95 of 100")
        );
        report.analysis.end = End::Driver;
        assert!(headline(&report).contains("at least 100"));
        assert!(lead(&report).contains("the load generator was saturated, not the site"));
        report.analysis.carried_per_s = None;
        assert!(headline(&report).contains("is not known"));
        assert!(lead(&report).contains("say nothing of the site"));
        report.analysis.end = End::NothingCarried;
        assert!(headline(&report).contains("even at the lightest load"));
        report.steps = vec![step(5.0, 5.0, 9000.0)];
        assert!(lead(&report).contains("fewer than 95 of 100 responses take"), "{}", lead(&report));
        report.steps = vec![step(5.0, 0.1, 9000.0)];
        assert!(lead(&report).contains("sessions fail, are abandoned or are refused"));
    }

    #[test]
    fn no_customer_is_called_lost_where_none_was() {
        let mut report = report(false);
        let slow = |rate: f64| step(rate, rate, 900.0);
        report.steps = vec![step(50.0, 50.0, 60.0), slow(110.0), slow(200.0)];
        assert!(lead(&report).ends_with("With more, responses take longer."), "{}", lead(&report));
        report.steps[2].outcome = Outcome::Behind;
        let told = lead(&report);
        assert!(
            told.ends_with(
                "take longer, or fewer sessions complete than arrive, so that they accumulate."
            ),
            "{told}"
        );
        report.steps[1].outcome = Outcome::Lost;
        assert!(lead(&report).contains("or sessions fail, are abandoned or are refused."));
    }

    #[test]
    fn what_completes_beyond_the_limit_is_no_share_of_what_is_carried_within_it() {
        let mut report = report(false);
        report.steps = vec![step(50.0, 50.0, 60.0), step(200.0, 135.0, 2000.0)];
        report.steps[1].outcome = Outcome::TooSlow;
        let told = beyond(&report).remove(0);
        assert!(
            told.contains("it completes 135 per second, but not within 500\u{a0}ms."),
            "{told}"
        );
        assert!(!told.contains("135 %"), "{told}");
    }

    #[test]
    fn a_rate_that_was_carried_above_the_figure_is_admitted() {
        let mut report = report(false);
        assert!(!lead(&report).contains("Warning"));
        report.steps.push(step(250.0, 250.0, 60.0));
        assert!(lead(&report).contains("Warning: 1 step was carried far above this rate"));
        assert!(beyond(&report)[0].contains("the site carries them as well"));
    }

    #[test]
    fn beyond_the_limit_the_site_alone_and_behind_the_gate_are_told_apart() {
        let told = beyond(&report(true));
        assert!(told[0].contains("2.0 times what the site carries"), "{told:?}");
        assert!(told[1].contains("the site alone completes 10 sessions"), "{told:?}");
        assert!(told[1].contains("behind the gate it completes 95"), "{told:?}");
        assert_eq!(beyond(&report(false)).len(), 1);
    }

    #[test]
    fn the_words_on_the_gate_are_those_of_the_verdict() {
        let mut report = report(true);
        let told = beyond(&report).pop().unwrap();
        // 94, 95 and 96 %: ± 4.3027 / √3.
        assert!(told.contains("95 % (95 % interval 93 to 97) at 2 times the load"), "{told}");
        assert!(told.ends_with("So it keeps at least 85 %."), "{told}");
        report.windows.retain(|it| it.round == 0);
        let told = beyond(&report).pop().unwrap();
        assert!(
            told.contains(
                "94 % at 4 times the load, of the rate that it carries within the limit."
            ),
            "{told}"
        );
        assert!(told.contains("is undecided: one round has no interval"), "{told}");
    }

    #[test]
    fn the_words_on_the_law_are_those_of_the_verdict() {
        let mut report = report(false);
        let fit = report.analysis.law.as_mut().unwrap();
        fit.unphysical.clear();
        fit.r_squared = 0.95;
        assert!(law(&report)[0].starts_with("Throughput follows the Universal Scalability Law"));
        let fit = report.analysis.law.as_mut().unwrap();
        fit.r_squared = 0.89;
        let told = law(&report);
        assert!(told[0].contains("does not follow"), "{told:?}");
        assert!(told[1].contains("only 89 %"), "{told:?}");
    }

    #[test]
    fn a_law_that_a_step_contradicts_is_not_read_beyond_its_steps() {
        let mut report = report(false);
        let fit = report.analysis.law.as_mut().unwrap();
        fit.unphysical.clear();
        (fit.r_squared, fit.peak, fit.peak_at) = (0.99, Some(180.0), Some(7.4));
        report.analysis.peak_per_s = 185.0;
        assert!(law(&report)[1].contains("is highest, 180 per second"), "{:?}", law(&report));
        report.analysis.peak_per_s = 199.0;
        assert!(law(&report)[1].contains("at most 180 per second, and 199 were measured"));
    }

    #[test]
    fn an_interval_is_as_exact_as_people_need_it() {
        assert_eq!(range(Interval { value: 1.0, low: 0.5, high: 12.2 }), "0.50 to 12");
    }
}
