//! The page: for each course the estimates beside the true cost, and their errors. One
//! self-contained HTML file.

use maud::{Markup, html};
use tidegate_report::{Chart, Line, Page, plain_figure, time_ticks};
use tidegate_sim::estimators::{ConnectionCosts, Course, Moment, NAMES};

use super::{Comparison, Source, table};

/// The whole page.
pub fn page(comparison: &Comparison) -> String {
    let title = match comparison.source {
        Source::Simulated { .. } => "Cost of a connection: estimators, simulated",
        Source::Real => "Cost of a connection: estimators, on the real gate",
    };
    let lead = html! {
        "CTN is the cost of a connection of a new session, its requests included; CTO is that of \
        a returning session. All estimators but "
        em { "attributed" }
        ", which the gate uses, see only the CPU time used and the work done. "
        (table::truth_of(comparison.source))
    };
    let page = Page::new("Tidegate: cost of a connection").headline(title, lead);
    let with = |page: Page, course: &Course| {
        page.anchor(&course.name, &course.name)
            .paragraphs([&course.about])
            .table(&table::accuracies(course))
            .figures([
                chart(course, "CTN", |costs| costs.new_cpu_s),
                chart(course, "CTO", |costs| costs.returning_cpu_s),
            ])
    };
    comparison.courses.iter().fold(page, with).html()
}

/// The estimates of the first run, a point per second.
fn chart(course: &Course, title: &str, of: fn(&ConnectionCosts) -> f64) -> Markup {
    let ticks = course.runs.first().map_or(&[][..], Vec::as_slice);
    let line = |name: &str, costs: &dyn Fn(&Moment) -> ConnectionCosts| {
        let point = |tick: &Moment| (tick.at_s, of(&costs(tick)) * 1e3);
        Line {
            name: name.to_owned(),
            points: ticks.iter().skip(9).step_by(10).map(point).collect(),
        }
    };
    let estimates = NAMES
        .iter()
        .enumerate()
        .map(|(index, name)| line(name, &move |tick: &Moment| tick.estimates[index]));
    let lines: Vec<Line> =
        [line("truth", &|tick: &Moment| tick.truth)].into_iter().chain(estimates).collect();
    let highest = ticks.iter().map(|tick| of(&tick.truth)).fold(0.0, f64::max) * 1e3;
    let end = ticks.last().map_or(1.0, |tick| tick.at_s);
    let x_ticks = time_ticks(end.ceil(), 10);
    let chart = Chart {
        lines: &lines,
        x_label: "seconds",
        x_ticks: &x_ticks,
        y_unit: "ms of CPU",
        // Estimates beyond this are drawn at the edge.
        y_max: Some(if highest > 0.0 { 1.6 * highest } else { 1.0 }),
        ..Chart::default()
    };
    plain_figure(title, "One run; values above the frame are drawn at its edge.", &chart)
}
