//! A result as a page: one HTML file that needs nothing else.

mod distribution;
mod failures;
mod format;
mod headline;
mod kinds;
mod over_time;
mod repeated;
mod setting;
mod tables;

#[cfg(test)]
mod tests;

use maud::{Markup, html};

use format::{Percentile, count, number, seconds, share};
use headline::Headline;
use tidegate_load::{RepeatedFigure, Summary};

/// The page of a result; `figures` are those over several runs.
pub fn page(runs: &[&Summary], figures: &[RepeatedFigure]) -> String {
    match runs {
        [run] => {
            let title = format!("{} at {}: {}", run.scenario, run.target, Headline::of(run).title);
            tidegate_report::page(&title, &single(run))
        }
        runs => repeated::page(runs, figures),
    }
}

fn single(run: &Summary) -> Markup {
    html! {
        p.kicker { "Load test · " (setting::started(run)) " · " (seconds(run.measured_s)) " measured after " (seconds(run.warm_up_s)) " of warm-up" }
        h1 { (run.scenario) " at " span.address { (run.target) } }
        (Headline::of(run).markup())
        (headline::thresholds(run))
        (content(run))
    }
}

/// Everything below the verdict.
fn content(run: &Summary) -> Markup {
    html! {
        (cards(run))
        h2 { "Over time" }
        (over_time::charts(run))
        h2 { "Response times" }
        (distribution::figures(run))
        (distribution::table(run))
        h2 { "Answers and failures" }
        (tables::outcomes(run))
        (failures::failures(run))
        (tables::failed_checks(run))
        (tables::pages(run))
        (tables::groups("Classes of customers", "class", &run.classes, run.measured_s))
        (tables::groups("Arrivals", "entry", &run.models, run.measured_s))
        h2 { "The load generator" }
        (over_time::driver_charts(run))
        (setting::drivers(run))
        h2 { "How it was run" }
        (setting::how(run))
    }
}

/// The key figures.
fn cards(run: &Summary) -> Markup {
    let totals = &run.totals;
    let card = |value: String, unit: &str, label: String| {
        html! { div.card { b { (value) @if !unit.is_empty() { small { (unit) } } } span { (label) } } }
    };
    let time = |of: Percentile, label: &str| {
        let unit = if of.of(&run.response).is_some() { "ms" } else { "" };
        card(of.text(&run.response), unit, label.to_owned())
    };
    html! { div.cards.key {
        (card(number(run.requests_per_s), "/s", format!("requests answered, {} in all", count(totals.requests_ok))))
        (card(share(totals.requests_failed, totals.requests()), "", format!("requests failed, {} of {}", count(totals.requests_failed), count(totals.requests()))))
        (time(Percentile::P50, "median response time"))
        (time(Percentile::P95, "95th percentile"))
        (time(Percentile::P99, "99th percentile"))
        (card(number(run.completed_per_s), "/s", format!("sessions completed, {}/s offered", number(run.offered_per_s))))
    } }
}
