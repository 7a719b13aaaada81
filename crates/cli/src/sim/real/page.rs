//! The page: for each scenario and policy the measured and the simulated course in one
//! plot.

use maud::{Markup, html};
use tidegate_report::{Chart, Line, Page, Scale, plain_figure, time_ticks};

use super::observed::{Observed, Second};
use super::{Comparison, Pair, table};

/// The whole page.
pub fn page(comparisons: &[Comparison]) -> String {
    let lead = html! {
        "Site and gate run on one processor, the customers on another. The simulator knows only \
        how many sessions per second this machine could complete during the run."
    };
    let page = Page::new("Tidegate: measured and simulated")
        .headline("Scenarios on the real gate, and simulated", lead);
    let with = |page: Page, it: &Comparison| {
        page.anchor(&it.scenario.name, &format!("{} at {}×", it.scenario.name, it.load))
            .paragraphs([&it.scenario.about])
            .table(&table::figures(it))
            .figures(charts(it))
    };
    comparisons.iter().fold(page, with).html()
}

fn charts(comparison: &Comparison) -> impl Iterator<Item = Markup> {
    let answered = |second: &Second| second.responses_per_s;
    let response = |second: &Second| second.response_ms.unwrap_or(f64::NAN);
    let highest = comparison
        .pairs
        .iter()
        .flat_map(|pair| [&pair.measured, &pair.simulated])
        .flat_map(|observed| observed.course.iter().map(answered))
        .fold(0.0, f64::max);
    let rate = Chart { y_unit: "responses/s", y_max: Some(highest), ..Chart::default() };
    let times = Chart { y_unit: "ms", scale: Scale::Log, ..Chart::default() };
    let end_s = comparison.scenario.duration_s;
    comparison.pairs.iter().flat_map(move |pair| {
        [
            course(end_s, pair, "answered", rate, answered),
            course(end_s, pair, "response time, mean", times, response),
        ]
    })
}

fn course(
    end_s: f64,
    pair: &Pair,
    title: &str,
    chart: Chart,
    y: impl Fn(&Second) -> f64,
) -> Markup {
    let line = |name: &str, observed: &Observed| Line {
        name: name.to_owned(),
        points: observed.course.iter().map(|second| (second.at_s, y(second))).collect(),
    };
    let lines = &[line("simulated", &pair.simulated), line("measured", &pair.measured)];
    let x_ticks = &time_ticks(end_s, 10);
    let chart = Chart { lines, x_label: "seconds", x_ticks, ..chart };
    plain_figure(&format!("{}: {title}", pair.policy), "", &chart)
}
