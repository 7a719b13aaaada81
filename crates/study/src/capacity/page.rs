//! The page: what a manager asks first, and the numbers for the engineer below.

use maud::{Markup, PreEscaped, html};
use tidegate_report::{Palette, figure};

use super::analysis::Law;
use super::beyond::{BASELINE, compared};
use super::bottleneck::{Resource, digits, ms};
use super::figures::Figure;
use super::step::{Outcome, Step};
use super::updown::Interval;
use super::{Report, words};

/// The whole page. `drawn` are all its figures, `palette` how their lines look.
pub(super) fn page(report: &Report, drawn: &[Figure], palette: &Palette) -> String {
    let bottleneck = &report.analysis.bottleneck;
    let content = html! {
        style { (PreEscaped(palette.style())) }
        p.kicker { "Capacity of " span.address { (report.target) } " · scenario " (report.scenario) @if report.quick { " · short study, rough figures" } }
        h1 { (words::headline(report)) }
        p.lead { (words::lead(report)) }
        (cards(report))
        div.charts.single { @for it in drawn.iter().filter(|it| it.is_first()) { (on_page(it)) } }
        div.columns {
            section {
                h2 { "What limits it" }
                p { b { (bottleneck.headline) } }
                @for sentence in bottleneck.drift.iter().chain(bottleneck.evidence.first()) { p { (sentence) } }
            }
            section {
                h2 { "What happens beyond" }
                @for sentence in words::beyond(report) { p { (sentence) } }
                @if words::beyond(report).is_empty() { p { "No load beyond what the site carries was measured." } }
            }
        }
        h2 { "For the engineer" }
        div.charts { @for it in drawn.iter().filter(|it| !it.is_first()) { (on_page(it)) } }
        h3 { "The limit and its evidence" }
        ul { @for sentence in bottleneck.drift.iter().chain(&bottleneck.evidence) { li { (sentence) } } }
        h3 { "Scalability" }
        (law(report))
        @if !report.windows.is_empty() {
            h3 { "Without and with the gate" }
            (gate(report))
        }
        h3 { "Every step" }
        (steps(report))
        h2 { "How it was measured" }
        (setting(report))
    };
    tidegate_report::page(&format!("Capacity of {}", report.target), &content)
}

fn on_page(it: &Figure) -> Markup {
    it.with(|chart| figure(&it.title, &it.note, chart))
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
            (card(ms(1000.0 * cpu), format!("CPU time of the site per {}", noun.trim_end_matches('s'))))
        }
    } }
}

fn law(report: &Report) -> Markup {
    html! {
        @for sentence in words::law(report) { p { (sentence) } }
        @if let Law::Fitted { fit, .. } = &report.analysis.law {
            @let row = |name: &str, meaning: &str, it: tidegate_experiment::scalability::Coefficient| html! {
                tr { td { (name) span.meaning { (meaning) } } td { (exact(it.value)) } td { (exact(it.low)) " to " (exact(it.high)) } }
            };
            div.scroll { table.facts {
                tr { th { "X(N) = λN / (1 + α(N − 1) + βN(N − 1))" } th { "coefficient" } th { "95 % of the draws" } }
                (row("λ", "sessions per second of one customer at a time", fit.single))
                (row("α, contention", "share of the work that is done one at a time", fit.contention))
                @if let Some(beta) = fit.coherency {
                    (row("β, coherency", "cost of each pair that has to agree", beta))
                }
            } }
            p.soft { (format!("Of {} steps. The largest deviation of a step is {:.0} % of it; r² is {:.3}.", fit.points, (100.0 * fit.largest_error).min(1e6), fit.r_squared)) }
        }
    }
}

/// A coefficient: small ones by powers of ten.
fn exact(value: f64) -> String {
    match value.abs() {
        0.0 => "0".to_owned(),
        small if small < 0.001 => format!("{value:.2e}"),
        middle if middle < 10.0 => format!("{value:.4}"),
        _ => digits(value),
    }
}

fn gate(report: &Report) -> Markup {
    let all = compared(&report.windows);
    html! {
        div.scroll { table.dense {
            tr { th { "load" } th { "gate" } th { "offered /s" } th { "completed /s" } th { "rounds" } th { (format!("p{}", report.limit.percentile)) } th { "refused /s" } th { "lost /s" } }
            @for it in &all { tr {
                td { (it.multiple) "×" }
                td { @if it.gate { "with" } @else { "without" } }
                td { (words::round(it.offered_per_s)) }
                td { (words::round(it.completed.value)) }
                td { (words::range(it.completed)) }
                td { (words::bound(it)) }
                td { (words::round(it.refused_per_s)) }
                td { (words::round(it.lost_per_s)) }
            } }
        } }
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

fn steps(report: &Report) -> Markup {
    let mut steps: Vec<&Step> = report.steps.iter().collect();
    steps.sort_by(|a, b| a.rate_per_s.total_cmp(&b.rate_per_s));
    let with_host = steps.iter().any(|step| step.host.is_some());
    let percentile = report.limit.percentile;
    html! { div.scroll { table.dense {
        tr {
            th { "no." } th { "rate /s" } th.text { "outcome" } th { "arrived /s" } th { "completed /s" } th { "expected /s" } th { "lost /s" }
            th { "p50" } th { (format!("p{percentile}")) } th { "in progress" } th { "first byte" } th { "full handshakes" }
            @if with_host { th { "site, CPUs" } th { "busiest thread" } th { "machine, CPUs" } th { "accept queue" } }
            th { "driver" }
        }
        @for step in steps { tr {
            td { (step.number) } td { (digits(step.rate_per_s)) }
            td.text.missed[step.outcome != Outcome::Carried] { (step.outcome.in_words()) }
            td { (digits(step.offered_per_s)) } td { (digits(step.completed_per_s)) } td { (digits(step.expected_per_s)) }
            td { (digits(step.lost_per_s())) }
            td { (words::time(step.response_p50_ms)) }
            td { @if step.response.is_lower_bound { ">\u{a0}" } (words::time(step.response.ms)) }
            td { (digits(step.in_flight)) }
            td { @match step.phases.first_byte_ms { Some(it) => (words::time(it)), None => "–" } }
            td { (format!("{:.0} %", 100.0 * step.full_handshake_share)) }
            @if with_host {
                @match &step.host {
                    Some(host) => {
                        td { (format!("{:.2}", host.cpus)) } td { (format!("{:.2}", host.busiest_thread)) }
                        td { @match host.machine_busy { Some(busy) => (format!("{busy:.2}")), None => "–" } }
                        td { (host.accept_queue) }
                    }
                    None => { td { "–" } td { "–" } td { "–" } td { "–" } }
                }
            }
            td { (format!("{:.0} %", 100.0 * step.driver_cpu_share)) }
        } }
    } }
    p.soft { "Expected: what completes of the sessions that arrived if the site keeps up, by the lengths of the scenario's sessions." } }
}

fn setting(report: &Report) -> Markup {
    let machine = tidegate_host::Machine::read();
    let noun = words::sessions(report);
    html! { dl.how {
        dt { "Load" } dd { (format!("New {noun} arrive as a Poisson process, whether or not earlier ones are over (open model); {} requests a session; steps of {} s after a warm-up of {} s, within which 99 of 100 sessions end.", digits(report.requests), digits(report.step_s), digits(report.warm_up_s))) }
        dt { "Think time" } dd { @if report.think_s == 0.0 { "None." } @else if report.time_scale < 1.0 {
            (format!("{} s a session. In the steps customers thought {} times as long, so that the study ended in time; customers at a time are for real times: rate × (measured time of a session + think time that was left out).", digits(report.think_s), exact(report.time_scale)))
        } @else { (format!("{} s a session.", digits(report.think_s))) } }
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
