//! The page: what a manager asks first, and the numbers for the engineer below.

use maud::{Markup, html};
use tidegate_experiment::scalability::Coefficient;
use tidegate_host::Machine;
use tidegate_report::number::{number, time};
use tidegate_report::{Cell, Figure, HeadAndCell, Page, Palette, Table};

use super::analysis::Knee;
use super::beyond::Compared;
use super::beyond::{BASELINE, compared};
use super::bottleneck::Resource;
use super::figures::FIRST;
use super::{Report, columns, words};
use crate::site::step::Step;
use tidegate_stats::Interval;

/// The whole page. `drawn` are all its figures, `palette` how their lines look.
pub(super) fn page(report: &Report, drawn: &[Figure], palette: &Palette) -> String {
    let (options, limit) = (&report.options, &report.analysis.bottleneck);
    let mut beyond = words::beyond(report);
    if beyond.is_empty() {
        beyond.push("No load beyond what the site carries was measured.".to_owned());
    }
    let (first, more): (Vec<&Figure>, Vec<&Figure>) = drawn.iter().partition(|it| it.id == FIRST);
    let mut steps: Vec<&Step> = report.steps.iter().collect();
    steps.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let observed = steps.iter().any(|step| step.host.is_some());
    let mut page = Page::new(format!("Capacity of {}", options.site()))
        .style(palette.style())
        .kicker(html! { "Capacity of " span.address { (options.site()) } " · scenario " (options.plan.scenario.name()) @if options.quick { " · short study, rough figures" } })
        .headline(&words::headline(report), html! { (words::lead(report)) })
        .cards("key", cards(report))
        .figure(&html! { @for it in first { (it.on_page()) } })
        .columns([
            Page::default()
                .heading("What limits it")
                .raw(html! { p { b { (limit.headline) } } })
                .paragraphs(limit.drift.iter().chain(limit.evidence.first())),
            Page::default().heading("What happens beyond").paragraphs(&beyond),
        ])
        .heading("For the engineer")
        .figures(more.into_iter().map(Figure::on_page))
        .subheading("The limit and its evidence")
        .list(limit.drift.iter().chain(&limit.evidence))
        .subheading("Scalability")
        .paragraphs(words::law(report))
        .raw(law(report));
    if !report.windows.is_empty() {
        page = page.subheading("Without and with the gate").raw(gate(report));
    }
    page.subheading("Every step")
        .table(&columns::table(steps, options.limit, observed).class("dense"))
        .soft(html! { "Expected: what completes of the sessions that arrived if the site keeps up, by the lengths of the scenario's sessions." })
        .heading("How it was measured")
        .definitions(setting(report))
        .html()
}

/// The key figures, each with what it is.
fn cards(report: &Report) -> Vec<(String, String)> {
    let (analysis, noun) = (&report.analysis, words::sessions(report));
    let per_s = |rate: f64| format!("{}/s", words::round(rate));
    let with = |label: String, it: Interval| match it.low == it.high {
        true => label,
        false => format!("{label}; 95 %: {}", words::range(it)),
    };
    let carried = |it: Interval| {
        let label = format!("{noun} carried within {}", report.options.limit);
        (per_s(it.value), with(label, it))
    };
    let knee = |it: Knee| {
        let label = match it.broke_at_per_s {
            Some(broke) => format!(
                "the knee: {noun} still completed as they arrive; at {} no longer",
                words::round(broke)
            ),
            None => format!("{noun} completed as they arrive; no rate was too high"),
        };
        (per_s(it.followed_per_s), label)
    };
    let cpu = |it: f64| {
        let label = format!("CPU time of the site per {}", noun.trim_end_matches('s'));
        (time(1000.0 * it), label)
    };
    let all = [
        analysis.carried_per_s.map(carried),
        analysis
            .customers
            .map(|it| (words::round(it.value), with("customers at a time".into(), it))),
        analysis.knee.filter(|it| it.followed_per_s > 0.0).map(knee),
        Some((per_s(analysis.peak_per_s), format!("most {noun} completed in any step"))),
        analysis.bottleneck.cpu_s_per_session.map(cpu),
    ];
    all.into_iter().flatten().collect()
}

/// The coefficients of the law; nothing without a fit.
fn law(report: &Report) -> Markup {
    let Ok(fit) = &report.analysis.law else { return html! {} };
    let heads = ["X(N) = λN / (1 + α(N − 1) + βN(N − 1))", "coefficient", "95 % of the draws"];
    let mut table = Table::new(heads).class("facts");
    let mut row = |name: &str, meaning: &str, it: Coefficient| {
        let name = Cell::default().markup(html! { (name) span.meaning { (meaning) } });
        let draws = format!("{} to {}", exact(it.low), exact(it.high));
        table.row([name, exact(it.value).into(), draws.into()]);
    };
    row("λ", "sessions per second of one customer at a time", fit.single);
    row("α, contention", "share of the work that is done one at a time", fit.contention);
    if let Some(beta) = fit.coherency {
        row("β, coherency", "cost of each pair that has to agree", beta);
    }
    html! {
        (table.html())
        p.soft { (format!("Of {} steps. The largest deviation of a step is {:.0} % of it; r² is {:.3}.", fit.points, (100.0 * fit.largest_error).min(1e6), fit.r_squared)) }
    }
}

/// A coefficient: small ones by powers of ten.
fn exact(value: f64) -> String {
    match value.abs() {
        small if small > 0.0 && small < 0.001 => format!("{value:.2e}"),
        middle if middle > 0.0 && middle < 10.0 => format!("{value:.4}"),
        _ => number(value),
    }
}

fn gate(report: &Report) -> Markup {
    let all = compared(&report.windows);
    let columns: &[HeadAndCell<'_, Compared, String>] = &[
        ("load", |it| format!("{}×", it.multiple)),
        ("gate", |it| if it.gate { "with" } else { "without" }.to_owned()),
        ("offered /s", |it| words::round(it.offered_per_s)),
        ("completed /s", |it| words::round(it.completed.value)),
        ("rounds", |it| words::range(it.completed)),
        (&format!("p{}", report.options.limit.percentile), words::bound),
        ("refused /s", |it| words::round(it.refused_per_s)),
        ("lost /s", |it| words::round(it.lost_per_s)),
    ];
    let table = Table::of(&all, columns).class("dense");
    html! {
        (table.html())
        p.soft { "Windows in random turns, each round after a baseline at " (BASELINE) " times the carried rate: "
            (baselines(report))
            ". The gate ran on this machine with its default policy and a self-signed certificate of its own." }
        @if all.iter().any(|it| it.saturated > 0) {
            p { "Warning: windows in which the load generator was saturated are left out; a lower rate or more processors for it would show them." }
        }
    }
}

fn baselines(report: &Report) -> String {
    let baselines = report.windows.iter().filter(|window| window.multiple.is_none());
    let share = |step: &Step| 100.0 * step.completed_per_s / step.offered_per_s.max(1e-9);
    let each = baselines.map(|it| format!("{:.0} % completed", share(&it.step)));
    each.collect::<Vec<_>>().join(", ")
}

fn setting(report: &Report) -> Markup {
    let Report { options, times, look, .. } = report;
    let (noun, think_s, machine) = (words::sessions(report), options.think_s(), Machine::read());
    let [step_s, warm_up_s] = [times.measure, times.warm_up].map(|it| number(it.as_secs_f64()));
    html! {
        dt { "Load" } dd { (format!("New {noun} arrive as a Poisson process, whether or not earlier ones are over (open model); {} requests a session; steps of {step_s} s after a warm-up of {warm_up_s} s, within which 99 of 100 sessions end.", number(look.requests))) }
        dt { "Think time" } dd { @if think_s == 0.0 { "None." } @else if times.scale < 1.0 {
                (format!("{} s a session. In the steps customers thought {} times as long, so that the study ended in time; customers at a time are for real times: rate × (measured time of a session + think time that was left out).", number(think_s), exact(times.scale)))
            } @else { (format!("{} s a session.", number(think_s))) } }
        dt { "Carried" } dd { (format!("At least 98 % of the {noun} that end complete, as many complete as their lengths let one expect, and the {}th percentile of response times is at most {}. The rate is the one at which a step is as likely to be carried as not, by the method of up and down.", options.limit.percentile, options.limit)) }
        dt { "Customers at a time" } dd { "Little's law: rate × mean time of a session." }
        dt { "The site's process" } dd { @match &report.processes { Some(it) => (it), None => "not observed: the site was seen from outside" } @if report.analysis.bottleneck.resource == Resource::Machine { "; the load generator ran on the same processors" } }
        dt { "Load generator" } dd { (machine.to_string()) " · " (machine.system) }
        dt { "Command" } dd { code { (report.provenance.command) } }
        dt { "Commit" } dd { (report.provenance.commit) }
        dt { "Figures" } dd { code { "figures/" } ", as SVG and PNG" }
        dt { "Raw data" } dd { "steps/: the result of each step with its histograms (JSON), and every request (Parquet)" }
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::analysis::analyse;
    use super::super::beyond::{MULTIPLES, Window};
    use super::super::figures::{all, palette};
    use super::super::options::tests::of_pages;
    use super::super::staircase::End;
    use super::*;
    use crate::site::measure::Look;
    use crate::site::step::tests::{LIMIT, step};
    use crate::site::times::Times;
    use std::time::Duration;
    use tidegate_host::Provenance;

    /// A study of a site that carries 100 per s and collapses beyond.
    pub(in crate::capacity) fn report(with_gate: bool) -> Report {
        let steps: Vec<Step> = [
            (25.0, 25.0, 50.0),
            (50.0, 50.0, 60.0),
            (95.0, 95.0, 300.0),
            (110.0, 108.0, 700.0),
            (150.0, 60.0, 3000.0),
            (200.0, 30.0, 9000.0),
        ]
        .into_iter()
        .map(|(rate, completed, ms)| step(rate, completed, ms))
        .collect();
        let carried = Interval { value: 100.0, low: 95.0, high: 105.0 };
        let analysis = analyse(&steps, End::Found, Some(carried), LIMIT, (0.0, 1.0), 10.0);
        // Four think times of 2.5 s.
        let mut options = of_pages("shop <b>", 5, "2.5s");
        (options.plan.target, options.one_page) = ("https://shop.example".into(), false);
        let times = Times {
            scale: 0.5,
            warm_up: Duration::from_secs(5),
            measure: Duration::from_secs(10),
            ..options.times(0.01).unwrap()
        };
        Report {
            options,
            times,
            look: Look { response_s: 0.01, service_ms: 10.0, requests: 5.0 },
            processes: None,
            provenance: Provenance::default(),
            steps,
            analysis,
            windows: if with_gate { (0..3).flat_map(round).collect() } else { Vec::new() },
        }
    }

    /// A round of its comparison with the gate, behind which it completes 94, 95 or 96 per s.
    fn round(round: u32) -> Vec<Window> {
        let baseline = step(90.0, 90.0, 200.0);
        let mut windows = vec![Window { round, multiple: None, gate: false, step: baseline }];
        for (multiple, gate) in MULTIPLES.into_iter().flat_map(|it| [(it, false), (it, true)]) {
            let completed = if gate { 94.0 + f64::from(round) } else { 40.0 / multiple };
            let step = step(100.0 * multiple, completed, 200.0);
            windows.push(Window { round, multiple: Some(multiple), gate, step });
        }
        windows
    }

    fn html(report: &Report) -> String {
        let drawn = all(report);
        page(report, &drawn, &palette(&drawn))
    }

    #[test]
    fn the_page_begins_with_what_a_manager_asks() {
        let html = html(&report(true));
        let at = |text: &str| html.find(text).unwrap_or_else(|| panic!("{text} is missing"));
        let order = [
            "<h1>Your site carries 100",
            "What the site completes",
            "What limits it",
            "What happens beyond",
            "For the engineer",
            "Every step",
            "How it was measured",
        ];
        assert!(order.windows(2).all(|pair| at(pair[0]) < at(pair[1])));
        assert!(html.contains("shop &lt;b&gt;") && !html.contains("shop <b>"));
        assert!(!html.contains("NaN") && !html.contains("src=\"http"));
    }

    #[test]
    fn a_page_without_gate_or_law_leaves_them_out() {
        let mut report = report(false);
        report.analysis.law = Err("too few".into());
        let html = html(&report);
        assert!(!html.contains("with the gate") && html.contains("could not be fitted: too few"));
    }
}
