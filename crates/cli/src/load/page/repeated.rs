//! The page of several runs: means with their intervals, and then each run.

use maud::{PreEscaped, html};
use tidegate_report::number::{NONE, count, number, percent, share};
use tidegate_report::{Cell, Column, Page, Table};

use super::headline::Headline;
use super::percentile::Percentile;
use tidegate_load::compare::Unit;
use tidegate_load::{RepeatedFigure, Summary};
use tidegate_report::words::small;

/// Most runs that are shown in full.
const IN_FULL: usize = 20;

pub(super) fn page(runs: &[&Summary], figures: &[RepeatedFigure]) -> String {
    let verdicts: Vec<Headline> = runs.iter().map(|run| Headline::of(run)).collect();
    // The worst one is the verdict on all.
    let worst = verdicts.iter().max_by_key(|verdict| verdict.level);
    let (first, last) = (runs[0], runs[runs.len() - 1]);
    let title = format!("{} at {}: {} runs", first.scenario, first.target, runs.len());
    let mut page = Page::new(title)
        .kicker(html! { "Load test · " (super::setting::started(first)) " · " (runs.len()) " runs with seeds " (first.seed) " to " (last.seed) })
        .raw(html! { h1 { (first.scenario) " at " span.address { (first.target) } } })
        .raw(html! { @if let Some(worst) = worst { (over_all(worst, &verdicts)) } })
        .heading("Means and 95 % confidence intervals")
        .soft(html! { "Each run is one measurement; the interval is by Student's t. Dots are runs, the line is the interval, the stroke its mean." })
        .table(&intervals(figures))
        .heading("Runs")
        .table(&table(runs, &verdicts));
    for (index, (run, verdict)) in runs.iter().zip(&verdicts).take(IN_FULL).enumerate() {
        let title = format!("Run {}, seed {}", index + 1, run.seed);
        page = page.folded(&title, super::content(Page::default(), run, verdict));
    }
    let more = runs.len() > IN_FULL;
    page.only_if(more, |it| {
        it.soft(html! { "Runs after the first " (IN_FULL) " are in the JSON." })
    })
    .html()
}

fn over_all(worst: &Headline, all: &[Headline]) -> Headline {
    let alike = all.iter().filter(|verdict| verdict.level == worst.level).count();
    let title = match (alike == all.len(), all.len(), small(&worst.title)) {
        (true, all, worst) => format!("In all {all} runs: {worst}"),
        (false, all, worst) => format!("In {alike} of {all} runs: {worst}"),
    };
    Headline { level: worst.level, title, reasons: worst.reasons.clone() }
}

fn intervals(figures: &[RepeatedFigure]) -> Table {
    let runs = |cell: Cell| cell.class("text bars");
    let heads = ["figure", "mean", "95 % interval"].map(Column::from);
    let mut table =
        Table::new(heads.into_iter().chain([Column::new(runs("runs".into()))])).class("facts");
    for figure in figures {
        let [mean, interval] = match &figure.mean {
            Some(mean) => {
                let [low, high] = [mean.low, mean.high].map(|it| text(it, figure.unit));
                [text(mean.value, figure.unit), format!("{low} to {high}")]
            }
            None => [NONE, NONE].map(str::to_owned),
        };
        table.row([
            Cell::default().markup(html! { code { (figure.figure) } }),
            mean.into(),
            interval.into(),
            runs(Cell::default().markup(PreEscaped(strip(figure)))),
        ]);
    }
    table
}

fn text(value: f64, unit: Unit) -> String {
    match unit {
        Unit::PerSecond => format!("{}/s", number(value)),
        Unit::Share => percent(value),
        Unit::Ms => format!("{}\u{a0}ms", number(value)),
    }
}

/// The runs and the interval of their mean on a line.
fn strip(figure: &RepeatedFigure) -> String {
    const WIDTH: f64 = 220.0;
    let values = || figure.values.iter().copied().flatten().filter(|value| value.is_finite());
    let ends = figure.mean.iter().flat_map(|mean| [mean.low, mean.high, mean.value]);
    let all: Vec<f64> = values().chain(ends).filter(|value| value.is_finite()).collect();
    let low = all.iter().copied().fold(f64::INFINITY, f64::min);
    let span = all.iter().copied().fold(f64::NEG_INFINITY, f64::max) - low;
    if !span.is_finite() || all.is_empty() {
        return String::new();
    }
    let x = |value: f64| {
        let share = if span > 0.0 { (value - low) / span } else { 0.5 };
        8.0 + share * (WIDTH - 16.0)
    };
    let mut svg =
        format!(r#"<svg class="strip" viewBox="0 0 {WIDTH} 20" role="img" aria-label="runs">"#);
    if let Some(mean) = &figure.mean {
        svg += &format!(
            r#"<line class="interval" x1="{:.1}" x2="{:.1}" y1="10" y2="10"/><line class="mean" x1="{2:.1}" x2="{2:.1}" y1="3" y2="17"/>"#,
            x(mean.low),
            x(mean.high),
            x(mean.value)
        );
    }
    for value in values() {
        svg += &format!(r#"<circle class="run" cx="{:.1}" cy="10" r="3.5"/>"#, x(value));
    }
    svg + "</svg>"
}

fn table(runs: &[&Summary], verdicts: &[Headline]) -> Table {
    let heads = ["run", "seed", "verdict", "completed/s", "requests/s", "failed requests"];
    let more = ["failed share", "p50 ms", "p95 ms", "p99 ms"];
    let mut table = Table::new(heads.into_iter().chain(more)).class("dense").words(&[2]);
    for (index, (run, verdict)) in runs.iter().zip(verdicts).enumerate() {
        let failed = run.totals.requests_failed;
        let figures = [
            (index + 1).to_string(),
            run.seed.to_string(),
            format!("{} {}", verdict.level.shown().1, verdict.title),
            number(run.completed_per_s),
            number(run.requests_per_s),
            count(failed),
            share(failed, run.totals.requests()),
        ];
        table.row(figures.into_iter().chain(Percentile::MAIN.map(|of| of.text(&run.response))));
    }
    table
}
