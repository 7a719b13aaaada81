//! The page of several runs: means with their intervals, and then each run.

use maud::{Markup, PreEscaped, html};

use super::format::{NONE, Percentile, count, number, percent, share};
use super::headline::Headline;
use tidegate_load::compare::Unit;
use tidegate_load::{RepeatedFigure, Summary};

/// Most runs that are shown in full.
const IN_FULL: usize = 20;

pub(super) fn page(runs: &[&Summary], figures: &[RepeatedFigure]) -> String {
    let verdicts: Vec<Headline> = runs.iter().map(|run| Headline::of(run)).collect();
    // The worst one is the verdict on all.
    let worst = verdicts.iter().max_by_key(|verdict| verdict.level);
    let first = runs[0];
    let title = format!("{} at {}: {} runs", first.scenario, first.target, runs.len());
    let content = html! {
        p.kicker { "Load test · " (super::setting::started(first)) " · " (runs.len()) " runs with seeds " (first.seed) " to " (runs[runs.len() - 1].seed) }
        h1 { (first.scenario) " at " span.address { (first.target) } }
        @if let Some(worst) = worst { (over_all(worst, &verdicts)) }
        h2 { "Means and 95 % confidence intervals" }
        p.soft { "Each run is one measurement; the interval is by Student's t. Dots are runs, the line is the interval, the stroke its mean." }
        (intervals(figures))
        h2 { "Runs" }
        (table(runs, &verdicts))
        @for (index, (run, verdict)) in runs.iter().zip(&verdicts).take(IN_FULL).enumerate() {
            details { summary { "Run " (index + 1) ", seed " (run.seed) }
                (verdict.markup())
                (super::headline::thresholds(run))
                (super::content(run))
            }
        }
        @if runs.len() > IN_FULL { p.soft { "Runs after the first " (IN_FULL) " are in the JSON." } }
    };
    tidegate_report::page(&title, &content)
}

fn over_all(worst: &Headline, all: &[Headline]) -> Markup {
    let alike = all.iter().filter(|verdict| verdict.level == worst.level).count();
    let title = if alike == all.len() {
        format!("In all {} runs: {}", all.len(), lower(&worst.title))
    } else {
        format!("In {alike} of {} runs: {}", all.len(), lower(&worst.title))
    };
    Headline { level: worst.level, title, reasons: worst.reasons.clone() }.markup()
}

fn lower(text: &str) -> String {
    let mut letters = text.chars();
    letters.next().map_or(String::new(), |first| first.to_lowercase().chain(letters).collect())
}

fn intervals(figures: &[RepeatedFigure]) -> Markup {
    html! { div.scroll { table.facts {
        thead { tr { th { "figure" } th { "mean" } th { "95 % interval" } th.text.bars { "runs" } } }
        tbody { @for figure in figures { tr {
            td { code { (figure.figure) } }
            @match &figure.mean {
                Some(mean) => {
                    td { (text(mean.value, figure.unit)) }
                    td { (text(mean.low, figure.unit)) " to " (text(mean.high, figure.unit)) }
                }
                None => { td { (NONE) } td { (NONE) } }
            }
            td.text.bars { (PreEscaped(strip(figure))) }
        } } }
    } } }
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

fn table(runs: &[&Summary], verdicts: &[Headline]) -> Markup {
    html! { div.scroll { table.dense {
        thead { tr {
            th { "run" } th { "seed" } th.text { "verdict" } th { "completed/s" } th { "requests/s" } th { "failed requests" } th { "failed share" }
            @for of in [Percentile::P50, Percentile::P95, Percentile::P99] { th { (of.name()) " ms" } }
        } }
        tbody { @for (index, (run, verdict)) in runs.iter().zip(verdicts).enumerate() { tr {
            td { (index + 1) } td { (run.seed) }
            td.text { (verdict.level.sign()) " " (verdict.title) }
            td { (number(run.completed_per_s)) } td { (number(run.requests_per_s)) }
            td { (count(run.totals.requests_failed)) } td { (share(run.totals.requests_failed, run.totals.requests())) }
            @for of in [Percentile::P50, Percentile::P95, Percentile::P99] { td { (of.text(&run.response)) } }
        } } }
    } } }
}
