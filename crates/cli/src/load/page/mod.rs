//! A result as a page: one HTML file that needs nothing else.

mod distribution;
mod failures;
mod headline;
mod over_time;
mod percentile;
mod repeated;
mod setting;
mod tables;

#[cfg(test)]
mod tests;

use maud::html;
use tidegate_report::Page;
use tidegate_report::number::{count, number, seconds, share};

use headline::Headline;
use percentile::Percentile;
use tidegate_load::{RepeatedFigure, Summary};

/// The page of a result; `figures` are those over several runs.
pub fn page(runs: &[&Summary], figures: &[RepeatedFigure]) -> String {
    let [run] = runs else { return repeated::page(runs, figures) };
    let verdict = Headline::of(run);
    let page = Page::new(format!("{} at {}: {}", run.scenario, run.target, verdict.title))
        .kicker(html! { "Load test · " (setting::started(run)) " · " (seconds(run.measured_s)) " measured after " (seconds(run.warm_up_s)) " of warm-up" })
        .raw(html! { h1 { (run.scenario) " at " span.address { (run.target) } } });
    content(page, run, &verdict).html()
}

/// The verdict on a run and everything below it.
fn content(page: Page, run: &Summary, verdict: &Headline) -> Page {
    let page = headline::thresholds(page.raw(verdict), run);
    let page = cards(page, run).heading("Over time").raw(over_time::charts(run));
    let page = page.heading("Response times").raw(distribution::figures(run));
    let page = page.table(&distribution::table(run));
    let page = tables::outcomes(page.heading("Answers and failures"), run);
    let page = tables::failed_checks(failures::failures(page, run), run);
    let page = tables::pages(page, run);
    let page = tables::groups(page, "Classes of customers", "class", &run.classes, run.measured_s);
    let page = tables::groups(page, "Arrivals", "entry", &run.models, run.measured_s);
    let page = page.heading("The load generator").raw(over_time::driver_charts(run));
    let page = setting::drivers(page, run).heading("How it was run");
    page.facts(setting::how(run))
}

/// The key figures.
fn cards(page: Page, run: &Summary) -> Page {
    let totals = &run.totals;
    let card = |value: String, unit: &str, name: String| {
        (html! { (value) @if !unit.is_empty() { small { (unit) } } }, name)
    };
    let time = |of: Percentile, name: &str| {
        let unit = if of.of(&run.response).is_some() { "ms" } else { "" };
        card(of.text(&run.response), unit, name.to_owned())
    };
    let (failed, all) = (totals.requests_failed, totals.requests());
    page.cards(
        "key",
        [
            card(
                number(run.requests_per_s),
                "/s",
                format!("requests answered, {} in all", count(totals.requests_ok)),
            ),
            card(
                share(failed, all),
                "",
                format!("requests failed, {} of {}", count(failed), count(all)),
            ),
            time(Percentile::P50, "median response time"),
            time(Percentile::P95, "95th percentile"),
            time(Percentile::P99, "99th percentile"),
            card(
                number(run.completed_per_s),
                "/s",
                format!("sessions completed, {}/s offered", number(run.offered_per_s)),
            ),
        ],
    )
}
