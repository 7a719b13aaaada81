//! The report page.

use maud::{Markup, html};

use super::summary::{Goal, POLICIES, Point, Second, Setting, Summary};
use tidegate_report::number::fixed;
use tidegate_report::{Cell, Chart, HeadAndCell, Line, Page, Scale, Table, plain_figure};
use tidegate_stats::Verdict;

/// The whole page.
pub fn page(summary: &Summary) -> String {
    let undecided = summary.goals.iter().any(|goal| goal.verdict == Verdict::Undecided);
    Page::new("Tidegate: the auction site beyond its capacity")
        .headline(&headline(summary), html! { (lead(summary)) })
        .cards("", cards(summary))
        .figures(curves(summary))
        .heading("Goals")
        .raw(goals(&summary.goals))
        .paragraphs(undecided.then_some(UNDECIDED))
        .paragraphs(&summary.remarks)
        .heading("The overload, second by second")
        .figures(overload(summary))
        .heading("Every point")
        .table(&table(summary))
        .heading("How it was measured")
        .facts(setting(&summary.setting, summary.capacity_sessions_per_s))
        .html()
}

const UNDECIDED: &str = "≈ undecided: the spread of this run contains the limit, so it shows \
    neither that the goal is met nor that it is missed.";

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

fn cards(summary: &Summary) -> Vec<(String, String)> {
    let Some((off, tide)) = worst(summary) else { return Vec::new() };
    let per_s = |value: f64| fixed(value, 0) + "/s";
    let of = |what: &str, it: &Point| format!("{what} at {}×, {}", it.multiple, it.policy);
    let capacity = "capacity at that time, sessions per second".to_owned();
    vec![
        (per_s(tide.capacity_per_s), capacity),
        (per_s(tide.completed_per_s), of("sessions completed", tide)),
        (per_s(off.completed_per_s), of("sessions completed", off)),
        (fixed(tide.response_p95_ms, 0) + " ms", of("p95 response time", tide)),
    ]
}

fn lines(summary: &Summary, y: impl Fn(&Point) -> f64) -> Vec<Line> {
    let line = |policy: &&str| Line {
        name: policy.to_string(),
        points: summary.curve(policy).iter().map(|p| (p.multiple, y(p))).collect(),
    };
    POLICIES.iter().map(line).filter(|line| !line.points.is_empty()).collect()
}

fn curves(summary: &Summary) -> [Markup; 4] {
    let mut multiples: Vec<f64> = summary.points.iter().map(|p| p.multiple).collect();
    multiples.sort_by(f64::total_cmp);
    multiples.dedup();
    let figure = |title: &str, note: &str, lines: &[Line], chart: Chart| {
        let x_label = "offered load, as a multiple of the capacity";
        let chart = Chart { lines, x_label, x_ticks: &multiples, marks: true, ..chart };
        plain_figure(title, note, &chart)
    };
    let share = lines(summary, |p| 100.0 * summary.share_of_peak(p));
    let times = lines(summary, |p| p.response_p95_ms);
    let requests = lines(summary, |p| p.requests_per_s);
    let full = lines(summary, |p| 100.0 * p.full_handshake_share);
    let of = |y_unit| Chart { y_unit, ..Chart::default() };
    let share_of = Chart { reference: Some((100.0, "peak")), ..of("% of the peak") };
    let note = "From the intended start to the last byte, logarithmic. A request given up counts \
                for as long as it waited.";
    let [peak, answered, of_all] = [
        "Completed sessions as a share of the peak at that time.",
        "Requests answered, including those of sessions that do not complete.",
        "Share of full handshakes, which new sessions make, in all handshakes.",
    ];
    [
        figure("Completed sessions", peak, &share, share_of),
        figure("Response time, p95", note, &times, Chart { scale: Scale::Log, ..of("ms") }),
        figure("Throughput", answered, &requests, of("requests/s")),
        figure("Full handshakes", of_all, &full, Chart { y_max: Some(100.0), ..of("%") }),
    ]
}

fn overload(summary: &Summary) -> Vec<Markup> {
    let Some((_, tide)) = worst(summary) else { return Vec::new() };
    let series = |y: fn(&Second) -> f64| -> Vec<Line> {
        let line = |policy: &&str| {
            let point = summary.point(policy, tide.multiple)?;
            let points = point.series.iter().map(|second| (second.at_s, y(second))).collect();
            Some(Line { name: policy.to_string(), points })
        };
        POLICIES.iter().filter_map(line).collect()
    };
    let end = summary.setting.warm_up_s + summary.setting.window_s;
    let step = if end > 12.0 { 5.0 } else { 2.0 };
    let ticks: Vec<f64> =
        (0..).map(|i| f64::from(i) * step).take_while(|t| *t <= end + 1e-9).chain([end]).collect();
    let note = format!("At {} times the capacity.", tide.multiple);
    let figure = |title: &str, lines: &[Line], chart: Chart| {
        let x_label = "seconds since the load began";
        plain_figure(title, &note, &Chart { lines, x_label, x_ticks: &ticks, ..chart })
    };
    // A second without responses has no response time: a gap.
    let response = |s: &Second| match s.response_p95_ms {
        ms if ms > 0.0 => ms,
        _ => f64::NAN,
    };
    let peak = Some((summary.peak_beside(tide), "peak at that time"));
    let completed = Chart { y_unit: "sessions/s", reference: peak, ..Chart::default() };
    let times = Chart { y_unit: "ms", scale: Scale::Log, ..Chart::default() };
    vec![
        figure("Completed sessions", &series(|s| s.completed_per_s), completed),
        figure("Response time, p95", &series(response), times),
    ]
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

fn table(summary: &Summary) -> Table {
    let rows: Vec<_> =
        summary.points.iter().map(|point| (point, share_of_peak(point, summary))).collect();
    let columns: &[HeadAndCell<'_, (&Point, String), Cell>] = &[
        ("policy", |(p, _)| Cell::from(p.policy.as_str()).class(&*p.policy)),
        ("load", |(p, _)| format!("{}×", p.multiple).into()),
        ("offered/s", |(p, _)| fixed(p.offered_per_s, 1).into()),
        ("admitted/s", |(p, _)| fixed(p.admitted_per_s, 1).into()),
        ("refused/s", |(p, _)| fixed(p.refused_per_s, 1).into()),
        ("completed/s", |(p, _)| fixed(p.completed_per_s, 1).into()),
        ("abandoned/s", |(p, _)| fixed(p.abandoned_per_s, 1).into()),
        ("share of peak", |(_, share)| share.as_str().into()),
        ("completed of admitted", |(p, _)| percent(p.admitted_completed_ratio).into()),
        ("p50 ms", |(p, _)| fixed(p.response_p50_ms, 1).into()),
        ("p95 ms", |(p, _)| fixed(p.response_p95_ms, 1).into()),
        ("p99 ms", |(p, _)| fixed(p.response_p99_ms, 1).into()),
        ("requests/s", |(p, _)| fixed(p.requests_per_s, 0).into()),
        ("full handshakes", |(p, _)| {
            let disturbed = p.disturbance().map(|what| format!(" ({what})"));
            (percent(p.full_handshake_share) + &disturbed.unwrap_or_default()).into()
        }),
        ("machine speed", |(p, _)| fixed(p.machine_speed, 2).into()),
    ];
    Table::of(&rows, columns).class("dense")
}

fn percent(share: f64) -> String {
    fixed(100.0 * share, 1) + " %"
}

fn setting(s: &Setting, capacity_per_s: f64) -> Vec<(&'static str, Markup)> {
    let Setting { think_mean_ms, patience_ms, warm_up_s, window_s, .. } = s;
    let whole = |value: f64| fixed(value, 0);
    vec![
        (
            "Customers",
            html! {
            (s.scenario) ": sessions of " (fixed(s.mean_session_requests, 1)) " requests on average arrive in a Poisson \
            process; they think " (whole(*think_mean_ms)) " ms on average and leave after waiting " (whole(*patience_ms)) " ms \
            (times of people × " (fixed(s.time_scale, 4)) ")" },
        ),
        (
            "Window",
            html! { (whole(*window_s)) " s after " (whole(*warm_up_s)) " s of warm-up, for each point; two of them for tide under overload" },
        ),
        (
            "Peak",
            html! {
            "the most sessions completed per second over any window in which at least 98 % of those that ended were completed" },
        ),
        (
            "Load",
            html! {
            "the ramp found a capacity of " (whole(capacity_per_s)) " sessions per second; each load is \
            a multiple of the capacity by the baseline right before it (capacity_per_s in summary.json)" },
        ),
        (
            "Share of the peak",
            html! {
            "the machine's speed drifts, so each window is compared with the service without admission control right \
            before and after it: baselines of " (whole(s.baseline_window_s)) " s just below the capacity, extrapolated to full \
            use of the processor" },
        ),
        (
            "Machine speed",
            html! {
            "short TCP conversations and RSA signatures are timed on the server's processor throughout the run, in CPU seconds; \
            1 is the run's median. Shares of the peak are corrected for it; all other figures are as counted" },
        ),
        (
            "Processors",
            html! { "site and gate on " (s.server_cores) ", customers on " (s.driver_cores) },
        ),
        ("Certificate", html! { (s.certificate) }),
        ("Seed", html! { (s.seed) }),
        ("Machine", html! { (s.machine) }),
        ("Version", html! { (s.version) }),
        ("Command", html! { code { (s.command) } }),
        ("Took", html! { (whole(s.elapsed_s)) " s" }),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;

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
