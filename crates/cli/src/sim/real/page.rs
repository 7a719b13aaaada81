//! The page: for each scenario and policy the measured and the simulated course in one
//! plot.

use maud::{Markup, html};

use super::observed::{Observed, Second};
use super::{Comparison, Pair, table};
use tidegate_report::{Chart, Line, Scale, time_ticks};

use super::super::report::figure;

/// The whole page.
pub fn page(comparisons: &[Comparison]) -> String {
    let content = html! {
        h1 { "Scenarios on the real gate, and simulated" }
        p.lead {
            "Site and gate run on one processor, the customers on another. The simulator knows only \
            how many sessions per second this machine could complete during the run."
        }
        @for comparison in comparisons {
            h2 id=(comparison.scenario.name) { (comparison.scenario.name) " at " (comparison.load) "×" }
            p { (comparison.scenario.about) }
            (table::figures(comparison).html())
            (charts(comparison))
        }
    };
    tidegate_report::page("Tidegate: measured and simulated", &content)
}

fn charts(comparison: &Comparison) -> Markup {
    let answered = |second: &Second| second.responses_per_s;
    let response = |second: &Second| second.response_ms.unwrap_or(f64::NAN);
    let highest = comparison
        .pairs
        .iter()
        .flat_map(|pair| [&pair.measured, &pair.simulated])
        .flat_map(|observed| observed.course.iter().map(answered))
        .fold(0.0, f64::max);
    html! { div.charts {
        @for pair in &comparison.pairs {
            (course(comparison, pair, "answered", "responses/s", Scale::Linear, Some(highest), answered))
            (course(comparison, pair, "response time, mean", "ms", Scale::Log, None, response))
        }
    } }
}

fn course(
    comparison: &Comparison,
    pair: &Pair,
    title: &str,
    unit: &str,
    scale: Scale,
    y_max: Option<f64>,
    y: impl Fn(&Second) -> f64,
) -> Markup {
    let line = |name: &str, observed: &Observed| Line {
        name: name.to_owned(),
        points: observed.course.iter().map(|second| (second.at_s, y(second))).collect(),
    };
    let lines = [line("simulated", &pair.simulated), line("measured", &pair.measured)];
    let ticks = time_ticks(comparison.scenario.duration_s, 10);
    let chart = Chart {
        lines: &lines,
        x_label: "seconds",
        x_ticks: &ticks,
        y_unit: unit,
        scale,
        y_max,
        ..Chart::default()
    };
    figure(&format!("{}: {title}", pair.policy), "", &chart)
}
