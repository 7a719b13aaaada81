//! The page: what a manager asks first, and the numbers for the engineer below.

use maud::{Markup, html};
use tidegate_experiment::scalability::Coefficient;
use tidegate_report::number::{number, or_none, time};
use tidegate_report::{Cell, Figure, HeadAndCell, Page, Palette, Table};

use super::analysis::Law;
use super::beyond::{BASELINE, compared};
use super::bottleneck::Resource;
use super::figures::FIRST;
use super::host_use::HostUse;
use super::step::{Outcome, Step};
use super::{Compared, Report, words};
use tidegate_stats::Interval;

/// The whole page. `drawn` are all its figures, `palette` how their lines look.
pub(super) fn page(report: &Report, drawn: &[Figure], palette: &Palette) -> String {
    let limit = &report.analysis.bottleneck;
    let beyond = words::beyond(report);
    let (first, more): (Vec<&Figure>, Vec<&Figure>) = drawn.iter().partition(|it| it.id == FIRST);
    let evidence = || limit.drift.iter().chain(&limit.evidence);
    let mut page = Page::new(format!("Capacity of {}", report.target))
        .style(palette.style())
        .kicker(html! { "Capacity of " span.address { (report.target) } " · scenario " (report.scenario) @if report.quick { " · short study, rough figures" } })
        .headline(&words::headline(report), html! { (words::lead(report)) })
        .raw(cards(report))
        .raw(html! { div.charts.single { @for it in first { (it.on_page()) } } })
        .raw(html! { div.columns {
            section {
                h2 { "What limits it" }
                p { b { (limit.headline) } }
                @for sentence in limit.drift.iter().chain(limit.evidence.first()) { p { (sentence) } }
            }
            section {
                h2 { "What happens beyond" }
                @for sentence in &beyond { p { (sentence) } }
                @if beyond.is_empty() { p { "No load beyond what the site carries was measured." } }
            }
        } })
        .heading("For the engineer")
        .figures(more.into_iter().map(Figure::on_page))
        .subheading("The limit and its evidence")
        .raw(html! { ul { @for sentence in evidence() { li { (sentence) } } } })
        .subheading("Scalability")
        .paragraphs(words::law(report))
        .raw(law(report));
    if !report.windows.is_empty() {
        page = page.subheading("Without and with the gate").raw(gate(report));
    }
    page.subheading("Every step")
        .table(&steps(report))
        .soft(html! { "Expected: what completes of the sessions that arrived if the site keeps up, by the lengths of the scenario's sessions." })
        .heading("How it was measured")
        .raw(setting(report))
        .html()
}

fn cards(report: &Report) -> Markup {
    let analysis = &report.analysis;
    let noun = words::sessions(report);
    let card = |value: String, label: String| html! { div.card { b { (value) } span { (label) } } };
    let interval = |it: Interval| {
        if it.low == it.high { String::new() } else { format!("; 95 %: {}", words::range(it)) }
    };
    html! { div.cards.key {
        @if let Some(carried) = analysis.carried_per_s {
            (card(format!("{}/s", words::round(carried.value)), format!("{noun} carried within {}{}", report.limit, interval(carried))))
        }
        @if let Some(customers) = analysis.customers {
            (card(words::round(customers.value), format!("customers at a time{}", interval(customers))))
        }
        @if let Some(knee) = analysis.knee.filter(|knee| knee.followed_per_s > 0.0) {
            (card(format!("{}/s", words::round(knee.followed_per_s)), match knee.broke_at_per_s {
                Some(broke) => format!("the knee: {noun} still completed as they arrive; at {} no longer", words::round(broke)),
                None => format!("{noun} completed as they arrive; no rate was too high"),
            }))
        }
        (card(format!("{}/s", words::round(analysis.peak_per_s)), format!("most {noun} completed in any step")))
        @if let Some(cpu) = analysis.bottleneck.cpu_s_per_session {
            (card(time(1000.0 * cpu), format!("CPU time of the site per {}", noun.trim_end_matches('s'))))
        }
    } }
}

/// The coefficients of the law; nothing without a fit.
fn law(report: &Report) -> Markup {
    let Law::Fitted { fit, .. } = &report.analysis.law else { return html! {} };
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
        (&format!("p{}", report.limit.percentile), words::bound),
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

fn steps(report: &Report) -> Table {
    let mut steps: Vec<&Step> = report.steps.iter().collect();
    steps.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let percentile = format!("p{}", report.limit.percentile);
    let mut columns: Vec<HeadAndCell<'_, Step, Cell>> = vec![
        ("no.", |it| it.number.to_string().into()),
        ("rate /s", |it| number(it.rate_per_s).into()),
        ("outcome", outcome),
        ("arrived /s", |it| number(it.offered_per_s).into()),
        ("completed /s", |it| number(it.completed_per_s).into()),
        ("expected /s", |it| number(it.expected_per_s).into()),
        ("lost /s", |it| number(it.lost_per_s()).into()),
        ("p50", |it| time(it.response_p50_ms).into()),
        (&percentile, response),
        ("in progress", |it| number(it.in_flight).into()),
        ("first byte", |it| or_none(it.phases.first_byte_ms, time).into()),
        ("full handshakes", |it| percent(it.full_handshake_share)),
    ];
    if steps.iter().any(|step| step.host.is_some()) {
        columns.extend([
            ("site, CPUs", (|it| of_host(it, |host| Some(host.cpus))) as fn(&Step) -> Cell),
            ("busiest thread", |it| of_host(it, |host| Some(host.busiest_thread))),
            ("machine, CPUs", |it| of_host(it, |host| host.machine_busy)),
            ("accept queue", |it| {
                or_none(it.host.as_ref(), |it| it.accept_queue.to_string()).into()
            }),
        ]);
    }
    columns.push(("driver", |it| percent(it.driver_cpu_share)));
    Table::of(steps, &columns).class("dense").words(&[2])
}

fn outcome(step: &Step) -> Cell {
    let missed = if step.outcome == Outcome::Carried { "" } else { "missed" };
    Cell::from(step.outcome.in_words()).class(missed)
}

fn response(step: &Step) -> Cell {
    let bound = if step.response.is_lower_bound { ">\u{a0}" } else { "" };
    format!("{bound}{}", time(step.response.ms)).into()
}

fn percent(share: f64) -> Cell {
    format!("{:.0} %", 100.0 * share).into()
}

fn of_host(step: &Step, of: fn(&HostUse) -> Option<f64>) -> Cell {
    or_none(step.host.as_ref().and_then(of), |cpus| format!("{cpus:.2}")).into()
}

fn setting(report: &Report) -> Markup {
    let machine = tidegate_host::Machine::read();
    let noun = words::sessions(report);
    html! { dl.how {
        dt { "Load" } dd { (format!("New {noun} arrive as a Poisson process, whether or not earlier ones are over (open model); {} requests a session; steps of {} s after a warm-up of {} s, within which 99 of 100 sessions end.", number(report.requests), number(report.step_s), number(report.warm_up_s))) }
        dt { "Think time" } dd { @if report.think_s == 0.0 { "None." } @else if report.time_scale < 1.0 {
                (format!("{} s a session. In the steps customers thought {} times as long, so that the study ended in time; customers at a time are for real times: rate × (measured time of a session + think time that was left out).", number(report.think_s), exact(report.time_scale)))
            } @else { (format!("{} s a session.", number(report.think_s))) } }
        dt { "Carried" } dd { (format!("At least 98 % of the {noun} that end complete, as many complete as their lengths let one expect, and the {}th percentile of response times is at most {}. The rate is the one at which a step is as likely to be carried as not, by the method of up and down.", report.limit.percentile, report.limit)) }
        dt { "Customers at a time" } dd { "Little's law: rate × mean time of a session." }
        dt { "The site's process" } dd { @match &report.processes { Some(it) => (it), None => "not observed: the site was seen from outside" } @if report.analysis.bottleneck.resource == Resource::Machine { "; the load generator ran on the same processors" } }
        dt { "Load generator" } dd { (machine.to_string()) " · " (machine.system) }
        dt { "Command" } dd { code { (report.provenance.command) } }
        dt { "Commit" } dd { (report.provenance.commit) }
        dt { "Figures" } dd { code { "figures/" } ", as SVG and PNG" }
        dt { "Raw data" } dd { "steps/: the result of each step with its histograms (JSON), and every request (Parquet)" }
    } }
}

#[cfg(test)]
pub(super) mod tests {
    use super::super::analysis::analyse;
    use super::super::beyond::{MULTIPLES, Window};
    use super::super::figures::{all, palette};
    use super::super::staircase::End;
    use super::super::step::tests::{LIMIT, step};
    use super::*;
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
        Report {
            target: "https://shop.example".into(),
            scenario: "shop <b>".into(),
            one_page: false,
            limit: LIMIT,
            quick: true,
            max_rate: 1000.0,
            time_scale: 0.5,
            think_s: 10.0,
            requests: 5.0,
            warm_up_s: 5.0,
            step_s: 10.0,
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
        report.analysis.law = Law::None("too few".into());
        let html = html(&report);
        assert!(!html.contains("with the gate") && html.contains("could not be fitted: too few"));
    }
}
