//! The page: all policies in one table, goals, and for each scenario the figures over the
//! loads and the course of its heaviest run. One self-contained HTML file.

use maud::{Markup, PreEscaped, html};
use tidegate_sim::{Evaluated, Measure, Scenario, Tenth};

use super::goals_page;
use super::results::Result;
use super::summary::Summary;
use super::table::runs;
use tidegate_report::{Chart, Line, Scale, time_ticks};

/// The whole page.
pub fn page(summary: &Summary) -> String {
    let results = summary.expectation_results();
    let missed: Vec<_> = results.iter().filter(|result| !result.met).collect();
    let several = summary.scenarios.len() > 1;
    let content = html! {
        h1 { "Admission policies, simulated" }
        p.lead {
            "Virtual time, the production controller; figures are those of "
            @if summary.seeds == 1 { "one run." } @else { (summary.seeds) " runs, in the mean." }
            @if !results.is_empty() {
                " " (results.len() - missed.len()) " of " (results.len())
                " expectations of the scenario files are met."
            }
        }
        @if !missed.is_empty() {
            ul.goals { @for result in &missed {
                li { span.mark-missed { "missed" } span { (result.text()) } }
            } }
        }
        (goals_page::overview(summary))
        @if several {
            nav { @for (scenario, _) in summary.by_scenario() {
                a href={ "#" (scenario.name) } { (scenario.name) } " "
            } }
        }
        @for (scenario, results) in summary.by_scenario() {
            h2 id=(scenario.name) { (scenario.name) }
            p { (scenario.about) }
            (charts(scenario, results))
            (runs(scenario, results).html())
        }
    };
    tidegate_report::page("Tidegate: simulated", &content)
}

fn charts(scenario: &Scenario, results: &[Result]) -> Markup {
    let heaviest = scenario.loads.iter().copied().fold(0.0, f64::max);
    html! { div.charts {
        @if scenario.loads.len() > 1 {
            (over_loads(scenario, results, "Completed sessions", "Share of the best possible.", "%", Scale::Linear,
                |run| run.value(Measure::Goodput).map(|share| 100.0 * share)))
            (over_loads(scenario, results, "Response time, p95", "Logarithmic.", "ms", Scale::Log,
                |run| run.value(Measure::P95)))
        }
        (course(scenario, results, heaviest, "Answered", "responses/s", |tenth| tenth.responses as f64 * 10.0))
        (course(scenario, results, heaviest, "Queue", "ms of work", |tenth| tenth.owed_s.1 * 1e3))
    } }
}

fn over_loads(
    scenario: &Scenario,
    results: &[Result],
    title: &str,
    note: &str,
    unit: &str,
    scale: Scale,
    y: impl Fn(&Evaluated) -> Option<f64>,
) -> Markup {
    let lines: Vec<Line> = results
        .iter()
        .map(|result| Line {
            name: result.policy.to_owned(),
            points: result.runs.iter().map(|run| (run.load, y(run).unwrap_or(f64::NAN))).collect(),
        })
        .collect();
    let chart = Chart {
        lines: &lines,
        x_label: "offered load, as a multiple of the capacity",
        x_ticks: &scenario.loads,
        y_unit: unit,
        scale,
        reference: (unit == "%").then_some((100.0, "best")),
        marks: true,
        ..Chart::default()
    };
    figure(title, note, &chart)
}

/// The course of the first run at a load, smoothed over half a second.
fn course(
    scenario: &Scenario,
    results: &[Result],
    load: f64,
    title: &str,
    unit: &str,
    y: impl Fn(&Tenth) -> f64,
) -> Markup {
    let point = |tenths: &[Tenth]| {
        let mean = tenths.iter().map(&y).sum::<f64>() / tenths.len() as f64;
        (tenths[tenths.len() - 1].at_s, mean)
    };
    let lines: Vec<Line> = results
        .iter()
        .filter_map(|result| {
            let run = result.runs.iter().find(|run| run.load == load)?;
            let points = run.first.course.chunks(5).map(point).collect();
            Some(Line { name: result.policy.to_owned(), points })
        })
        .collect();
    let ticks = time_ticks(scenario.duration_s, 10);
    let chart = Chart {
        lines: &lines,
        x_label: "seconds",
        x_ticks: &ticks,
        y_unit: unit,
        ..Chart::default()
    };
    figure(&format!("{title} at {load}×"), "The course of one run.", &chart)
}

/// A chart with its caption, in one size: a page has hundreds of them.
pub fn figure(title: &str, note: &str, chart: &Chart) -> Markup {
    html! { figure {
        figcaption { (title) @if !note.is_empty() { small { (note) } } }
        (PreEscaped(chart.svg()))
    } }
}
