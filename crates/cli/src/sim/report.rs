//! The page: all policies in one table, goals, and for each scenario the figures over the
//! loads and the course of its heaviest run. One self-contained HTML file.

use maud::{Markup, html};
use tidegate_report::{Chart, Line, Page, Scale, plain_figure, time_ticks};
use tidegate_sim::{Evaluated, Measure, Scenario, Tenth};

use super::goals_page;
use super::results::Result;
use super::summary::Summary;
use super::table::runs;

/// The whole page.
pub fn page(summary: &Summary) -> String {
    let results = summary.expectation_results();
    let missed: Vec<_> = results.iter().filter(|result| !result.met).collect();
    let lead = html! {
        "Virtual time, the production controller; figures are those of "
        @if summary.seeds == 1 { "one run." } @else { (summary.seeds) " runs, in the mean." }
        @if !results.is_empty() {
            " " (results.len() - missed.len()) " of " (results.len())
            " expectations of the scenario files are met."
        }
    };
    let missed = html! { @if !missed.is_empty() { ul.goals { @for result in &missed {
        li { span.mark-missed { "missed" } span { (result.text()) } }
    } } } };
    let page = Page::new("Tidegate: simulated").headline("Admission policies, simulated", lead);
    let mut page = goals_page::overview(page.raw(missed), summary);
    if summary.scenarios.len() > 1 {
        page = page.raw(html! { nav { @for (scenario, _) in summary.by_scenario() {
            a href={ "#" (scenario.name) } { (scenario.name) } " "
        } } });
    }
    for (scenario, results) in summary.by_scenario() {
        page = page
            .anchor(&scenario.name, &scenario.name)
            .paragraphs([&scenario.about])
            .figures(charts(scenario, results))
            .table(&runs(scenario, results));
    }
    page.html()
}

fn charts(scenario: &Scenario, results: &[Result]) -> Vec<Markup> {
    let heaviest = scenario.loads.iter().copied().fold(0.0, f64::max);
    let of = |y_unit| Chart { y_unit, ..Chart::default() };
    let mut charts = Vec::new();
    if scenario.loads.len() > 1 {
        let share = Chart { reference: Some((100.0, "best")), ..of("%") };
        let goodput = |run: &Evaluated| run.value(Measure::Goodput).map(|share| 100.0 * share);
        let (done, note) = ("Completed sessions", "Share of the best possible.");
        charts.push(over_loads(scenario, results, (done, note), share, goodput));
        let (times, p95) = (Chart { scale: Scale::Log, ..of("ms") }, "Response time, p95");
        let of_run = |run: &Evaluated| run.value(Measure::P95);
        charts.push(over_loads(scenario, results, (p95, "Logarithmic."), times, of_run));
    }
    let answered = |tenth: &Tenth| tenth.responses as f64 * 10.0;
    charts.push(course(scenario, results, heaviest, "Answered", of("responses/s"), answered));
    let owed = |tenth: &Tenth| tenth.owed_s.1 * 1e3;
    charts.push(course(scenario, results, heaviest, "Queue", of("ms of work"), owed));
    charts
}

fn over_loads(
    scenario: &Scenario,
    results: &[Result],
    (title, note): (&str, &str),
    chart: Chart,
    y: impl Fn(&Evaluated) -> Option<f64>,
) -> Markup {
    let lines: Vec<Line> = results
        .iter()
        .map(|result| Line {
            name: result.policy.to_owned(),
            points: result.runs.iter().map(|run| (run.load, y(run).unwrap_or(f64::NAN))).collect(),
        })
        .collect();
    let x_label = "offered load, as a multiple of the capacity";
    let x_ticks = &scenario.loads;
    plain_figure(title, note, &Chart { lines: &lines, x_label, x_ticks, marks: true, ..chart })
}

/// The course of the first run at a load, smoothed over half a second.
fn course(
    scenario: &Scenario,
    results: &[Result],
    load: f64,
    title: &str,
    chart: Chart,
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
    let x_ticks = &time_ticks(scenario.duration_s, 10);
    let chart = Chart { lines: &lines, x_label: "seconds", x_ticks, ..chart };
    plain_figure(&format!("{title} at {load}×"), "The course of one run.", &chart)
}
