//! The report page.

use maud::{Markup, PreEscaped, html};

use super::summary::{Goal, POLICIES, Point, Setting, Summary};
use tidegate_report::{Chart, Line, Scale};
use tidegate_stats::Verdict;

/// The whole page.
pub fn page(summary: &Summary) -> String {
    let content = html! {
        h1 { (headline(summary)) }
        p.lead { (lead(summary)) }
        (cards(summary))
        (curves(summary))
        h2 { "Goals" }
        (goals(&summary.goals))
        @if summary.goals.iter().any(|goal| goal.verdict == Verdict::Undecided) {
            p { "≈ undecided: the spread of this run contains the limit, so it shows neither that the goal is met nor that it is missed." }
        }
        @for remark in &summary.remarks { p { (remark) } }
        h2 { "The overload, second by second" }
        (overload(summary))
        h2 { "Every point" }
        (table(summary))
        h2 { "How it was measured" }
        (setting(summary))
    };
    tidegate_report::page("Tidegate: the auction site beyond its capacity", &content)
}

/// The highest multiple that was measured, and the two policies there.
fn worst(summary: &Summary) -> Option<(&Point, &Point)> {
    let tide = *summary.curve("tide").last()?;
    Some((summary.point("off", tide.multiple)?, tide))
}

/// With a space that does not break, for running text.
fn share_of_peak(point: &Point, summary: &Summary) -> String {
    format!("{:.0}\u{a0}%", 100.0 * summary.share_of_peak(point))
}

/// The same, at most 100 %, for the headline.
fn kept(point: &Point, summary: &Summary) -> String {
    format!("{:.0}\u{a0}%", 100.0 * summary.share_of_peak(point).min(1.0))
}

fn headline(summary: &Summary) -> String {
    match worst(summary) {
        Some((off, tide)) => format!(
            "At {} times its capacity the site completes {} of its peak with the gate, {} without.",
            tide.multiple,
            kept(tide, summary),
            kept(off, summary)
        ),
        None => "The auction site beyond its capacity".into(),
    }
}

fn lead(summary: &Summary) -> String {
    format!(
        "An auction site with an embedded database, served over TLS on one processor core, is offered up to \
         {:.0} new sessions per second; its capacity is {:.0}. Without admission control every session is \
         admitted, response times grow until customers leave, and the work for them is lost. The gate \
         recognises new sessions before the TLS handshake, and admits as many as the site can serve to \
         their end.",
        summary.points.iter().map(|p| p.offered_per_s).fold(0.0, f64::max),
        worst(summary).map_or(summary.capacity_sessions_per_s, |(_, tide)| tide.capacity_per_s)
    )
}

fn cards(summary: &Summary) -> Markup {
    let card = |value: String, label: &str| html! { div.card { b { (value) } span { (label) } } };
    html! { div.cards {
        @if let Some((off, tide)) = worst(summary) {
            (card(format!("{:.0}/s", tide.capacity_per_s), "capacity at that time, sessions per second"))
            (card(format!("{:.0}/s", tide.completed_per_s), &format!("sessions completed at {}×, tide", tide.multiple)))
            (card(format!("{:.0}/s", off.completed_per_s), &format!("sessions completed at {}×, off", off.multiple)))
            (card(format!("{:.0} ms", tide.response_p95_ms), &format!("p95 response time at {}×, tide", tide.multiple)))
        }
    } }
}

fn lines(summary: &Summary, y: impl Fn(&Point) -> f64) -> Vec<Line> {
    let line = |policy: &&str| Line {
        name: policy.to_string(),
        points: summary.curve(policy).iter().map(|p| (p.multiple, y(p))).collect(),
    };
    POLICIES.iter().map(line).filter(|line| !line.points.is_empty()).collect()
}

fn curves(summary: &Summary) -> Markup {
    let mut multiples: Vec<f64> = summary.points.iter().map(|p| p.multiple).collect();
    multiples.sort_by(f64::total_cmp);
    multiples.dedup();
    let figure = |title: &str, note: &str, lines: &[Line], unit: &str, scale, reference, y_max| {
        let x_label = "offered load, as a multiple of the capacity";
        let chart = Chart {
            lines,
            x_label,
            x_ticks: &multiples,
            y_unit: unit,
            scale,
            reference,
            y_max,
            marks: true,
            ..Chart::default()
        };
        html! { figure { figcaption { (title) small { (note) } } (PreEscaped(chart.svg())) } }
    };
    let peak = Some((100.0, "peak"));
    html! { div.charts {
        (figure("Completed sessions", "Completed sessions as a share of the peak at that time.",
            &lines(summary, |p| 100.0 * summary.share_of_peak(p)), "% of the peak", Scale::Linear, peak, None))
        (figure("Response time, p95", "From the intended start to the last byte, logarithmic. A request given up counts for as long as it waited.",
            &lines(summary, |p| p.response_p95_ms), "ms", Scale::Log, None, None))
        (figure("Throughput", "Requests answered, including those of sessions that do not complete.",
            &lines(summary, |p| p.requests_per_s), "requests/s", Scale::Linear, None, None))
        (figure("Full handshakes", "Share of full handshakes, which new sessions make, in all handshakes.",
            &lines(summary, |p| 100.0 * p.full_handshake_share), "%", Scale::Linear, None, Some(100.0)))
    } }
}

fn overload(summary: &Summary) -> Markup {
    let Some((_, tide)) = worst(summary) else { return html! {} };
    let multiple = tide.multiple;
    let series = |y: fn(&super::summary::Second) -> f64| -> Vec<Line> {
        let points = |policy: &str| {
            summary
                .point(policy, multiple)
                .map(|p| p.series.iter().map(|s| (s.at_s, y(s))).collect())
        };
        let line =
            |policy: &&str| points(policy).map(|points| Line { name: policy.to_string(), points });
        POLICIES.iter().filter_map(line).collect()
    };
    let end = summary.setting.warm_up_s + summary.setting.window_s;
    let step = if end > 12.0 { 5.0 } else { 2.0 };
    let ticks: Vec<f64> =
        (0..).map(|i| f64::from(i) * step).take_while(|t| *t <= end + 1e-9).chain([end]).collect();
    let figure = |title: &str, lines: &[Line], unit: &str, scale, reference| {
        let chart = Chart {
            lines,
            x_label: "seconds since the load began",
            x_ticks: &ticks,
            y_unit: unit,
            scale,
            reference,
            ..Chart::default()
        };
        html! { figure { figcaption { (title) small { "At " (multiple) " times the capacity." } } (PreEscaped(chart.svg())) } }
    };
    // A second without responses has no response time: a gap.
    let response = |s: &super::summary::Second| match s.response_p95_ms {
        ms if ms > 0.0 => ms,
        _ => f64::NAN,
    };
    let peak = Some((summary.peak_beside(tide), "peak at that time"));
    html! { div.charts {
        (figure("Completed sessions", &series(|s| s.completed_per_s), "sessions/s", Scale::Linear, peak))
        (figure("Response time, p95", &series(response), "ms", Scale::Log, None))
    } }
}

fn goals(goals: &[Goal]) -> Markup {
    html! { ul.goals { @for goal in goals {
        li {
            @match goal.verdict {
                Verdict::Holds => span.mark-met { "✓" },
                Verdict::Undecided => span.mark-close title="undecided: the limit is within the spread of this run" { "≈" },
                Verdict::DoesNotHold => span.mark-missed { "✗" },
            }
            span { (goal.text) } em { (goal.measured) }
        }
    } } }
}

fn table(summary: &Summary) -> Markup {
    html! { div.scroll { table.dense {
        thead { tr {
            @for head in ["policy", "load", "offered/s", "admitted/s", "refused/s", "completed/s", "abandoned/s",
                "share of peak", "completed of admitted", "p50 ms", "p95 ms", "p99 ms", "requests/s", "full handshakes", "machine speed"] { th { (head) } }
        } }
        tbody { @for p in &summary.points { tr {
            td class=(p.policy) { (p.policy) }
            td { (p.multiple) "×" }
            td { (one(p.offered_per_s)) } td { (one(p.admitted_per_s)) } td { (one(p.refused_per_s)) }
            td { (one(p.completed_per_s)) } td { (one(p.abandoned_per_s)) } td { (share_of_peak(p, summary)) }
            td { (one(100.0 * p.admitted_completed_ratio)) " %" }
            td { (one(p.response_p50_ms)) } td { (one(p.response_p95_ms)) } td { (one(p.response_p99_ms)) }
            td { (format!("{:.0}", p.requests_per_s)) }
            td { (one(100.0 * p.full_handshake_share)) " %" @if let Some(what) = p.disturbance() { " (" (what) ")" } }
            td { (format!("{:.2}", p.machine_speed)) }
        } } }
    } } }
}

fn one(value: f64) -> String {
    if value.is_finite() { format!("{value:.1}") } else { "–".into() }
}

fn setting(summary: &Summary) -> Markup {
    let Setting { think_mean_ms, patience_ms, warm_up_s, window_s, .. } = summary.setting;
    let s = &summary.setting;
    html! { dl {
        dt { "Customers" } dd {
            (s.scenario) ": sessions of " (format!("{:.1}", s.mean_session_requests)) " requests on average arrive in a Poisson \
            process; they think " (format!("{think_mean_ms:.0}")) " ms on average and leave after waiting " (format!("{patience_ms:.0}")) " ms \
            (times of people × " (format!("{:.4}", s.time_scale)) ")" }
        dt { "Window" } dd { (format!("{window_s:.0} s after {warm_up_s:.0} s of warm-up, for each point; two of them for tide under overload")) }
        dt { "Peak" } dd {
            "the most sessions completed per second over any window in which at least 98 % of those that ended were completed" }
        dt { "Load" } dd {
            "the ramp found a capacity of " (format!("{:.0}", summary.capacity_sessions_per_s)) " sessions per second; each load is \
            a multiple of the capacity by the baseline right before it (capacity_per_s in summary.json)" }
        dt { "Share of the peak" } dd {
            "the machine's speed drifts, so each window is compared with the service without admission control right \
            before and after it: baselines of " (format!("{:.0}", s.baseline_window_s)) " s just below the capacity, extrapolated to full \
            use of the processor" }
        dt { "Machine speed" } dd {
            "short TCP conversations and RSA signatures are timed on the server's processor throughout the run, in CPU seconds; \
            1 is the run's median. Shares of the peak are corrected for it; all other figures are as counted" }
        dt { "Processors" } dd { "site and gate on " (s.server_cores) ", customers on " (s.driver_cores) }
        dt { "Certificate" } dd { (s.certificate) }
        dt { "Seed" } dd { (s.seed) }
        dt { "Machine" } dd { (s.machine) }
        dt { "Version" } dd { (s.version) }
        dt { "Command" } dd { code { (s.command) } }
        dt { "Took" } dd { (format!("{:.0} s", s.elapsed_s)) }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::summary::Second;

    fn summary() -> Summary {
        let point = |policy: &str, multiple: f64, completed: f64| Point {
            policy: policy.into(),
            multiple,
            completed_per_s: completed,
            response_p95_ms: 4.0 * multiple,
            machine_speed: 1.0,
            series: vec![Second { at_s: 1.0, completed_per_s: completed, ..Second::default() }],
            ..Point::default()
        };
        let points =
            POLICIES.iter().flat_map(|p| [point(p, 0.5, 50.0), point(p, 4.0, 90.0)]).collect();
        Summary {
            capacity_sessions_per_s: 100.0,
            peak_completed_per_s: 100.0,
            points,
            goals: vec![Goal::new("a <b> goal".into(), "1".into(), Verdict::Holds)],
            ..Summary::default()
        }
    }

    #[test]
    fn the_page_refers_to_no_other_file() {
        let page = page(&summary());
        for outside in ["http:", "https:", "<script", "<link", "<img", "@import", "url("] {
            assert!(!page.contains(outside), "{outside}");
        }
    }

    #[test]
    fn text_is_escaped_and_every_policy_is_drawn() {
        let page = page(&summary());
        assert!(page.contains("a &lt;b&gt; goal"));
        for policy in POLICIES {
            assert!(page.contains(&format!("line {policy}")), "{policy}");
        }
    }

    #[test]
    fn a_run_without_points_gives_a_page() {
        let empty = Summary { points: Vec::new(), ..summary() };
        assert!(page(&empty).contains("</html>"));
    }
}
