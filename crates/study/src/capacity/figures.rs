//! The figures of a study as data for charts.

use tidegate_report::{Figure, Line, Palette, Scale, round_step};
use tidegate_stats::Interval;

use super::analysis::follows;
use super::beyond::compared;
use super::{Report, words};
use crate::site::step::Step;

/// Name of the figure of the first page.
pub(super) const FIRST: &str = "throughput";
/// Lines that have a colour of their own, by its index, and whether they are dashed. Those that
/// share one are in different figures.
const LOOKS: [(&str, usize, bool); 10] = [
    ("offered", 6, true),
    ("completed", 0, false),
    ("p50", 0, false),
    ("p90", 3, false),
    ("p95", 3, false),
    ("p99", 3, false),
    ("law", 6, true),
    ("step", 0, false),
    ("without", 1, false),
    ("gate", 0, false),
];

/// How the lines of a study's figures look.
pub(super) fn palette(all: &[Figure]) -> Palette<'_> {
    Palette::with(all.iter().flat_map(|figure| &figure.lines), &LOOKS)
}

/// A figure of the steps that say something of the site, by rate; those at one rate are one point,
/// their mean.
fn by_rate(name: &str, steps: &[Step], value: impl Fn(&Step) -> f64) -> Line {
    let sound = steps.iter().filter(|step| step.is_sound() && step.offered_per_s.is_finite());
    let mut of: Vec<(f64, f64)> = sound.map(|step| (step.offered_per_s, value(step))).collect();
    of.sort_by(|a, b| a.0.total_cmp(&b.0));
    // Rates around the limit are close to each other: a line through every step would zigzag.
    let mut points: Vec<(f64, f64, f64)> = Vec::new();
    for (rate, value) in of {
        match points.last_mut() {
            Some((first, sum, count)) if rate <= 1.06 * (*first / *count) => {
                (*first, *sum, *count) = (*first + rate, *sum + value, *count + 1.0);
            }
            _ => points.push((rate, value, 1.0)),
        }
    }
    let mean = |(rate, sum, count)| (rate / count, sum / count);
    line(name, points.into_iter().map(mean).collect())
}

fn line(name: &str, points: Vec<(f64, f64)>) -> Line {
    Line { name: name.to_owned(), points }
}

/// Round ticks from 0 to at least `end`.
pub(crate) fn ticks(end: f64) -> Vec<f64> {
    let step = round_step(end.max(1e-6) / 6.0);
    (0..=7).map(|n| f64::from(n) * step).take_while(|at| *at < end + step * 0.999).collect()
}

/// A figure over the offered rate, with the carried rate as a band from the lower to the upper end
/// of its interval.
fn over_rates(report: &Report) -> Figure {
    let band = |carried: Interval| {
        let wide = (carried.high - carried.low).max(0.01 * carried.value);
        let from = carried.value - wide / 2.0;
        (from.min(carried.low), (from + wide).max(carried.high))
    };
    let end = report.steps.iter().map(|step| step.offered_per_s).fold(1e-6, f64::max);
    Figure {
        x_label: format!("{} that arrive per second", words::sessions(report)),
        x_ticks: ticks(end),
        band: report.analysis.carried_per_s.map(band),
        ..Figure::default()
    }
}

/// The figure of the first page.
fn throughput(report: &Report) -> Figure {
    let (noun, limit) = (words::sessions(report), report.options.limit);
    let empty = over_rates(report);
    let last = empty.x_ticks.last().copied().unwrap_or(1.0);
    let completed = by_rate("completed", &report.steps, |step| step.completed_per_s);
    let highest = completed.points.iter().map(|(_, y)| *y).fold(1e-6, f64::max);
    // What arrives, up to the top of the figure.
    let top = (1.25 * highest).min(last);
    Figure {
        id: FIRST,
        title: format!("What the site completes of the {noun} that arrive"),
        note: match report.analysis.carried_per_s {
            Some(_) => {
                format!("Shaded: the highest rate carried within {limit}, with its 95 % interval")
            }
            None => "No rate was carried".to_owned(),
        },
        lines: vec![line("offered", vec![(0.0, 0.0), (top, top)]), completed],
        y_unit: format!("{noun}/s"),
        ..empty
    }
}

/// Response times over the offered rate.
fn response(report: &Report) -> Figure {
    let limit = report.options.limit;
    let mut lines = vec![by_rate("p50", &report.steps, |step| step.response_p50_ms)];
    if limit.percentile != 50 {
        let name = format!("p{}", limit.percentile);
        lines.push(by_rate(&name, &report.steps, |step| step.response.ms));
    }
    Figure {
        id: "response-time",
        title: "Response time".into(),
        note: "Requests without a response count as longer than all others".into(),
        lines,
        y_unit: "ms".into(),
        scale: Scale::Log,
        reference: Some((limit.ms, format!("limit, {limit}"))),
        ..over_rates(report)
    }
}

/// Throughput over sessions in progress, with the law; `None` without a fit.
fn law(report: &Report) -> Option<Figure> {
    let fit = report.analysis.law.as_ref().ok()?;
    let sound = report.steps.iter().filter(|step| step.is_sound());
    let mut measured: Vec<(f64, f64)> =
        sound.map(|step| (step.in_flight, step.completed_per_s)).collect();
    measured.sort_by(|a, b| a.0.total_cmp(&b.0));
    let last = measured.last()?.0.max(1e-6);
    let curve = (0..=60).map(|n| last * f64::from(n) / 60.0);
    let curve = curve.filter_map(|n| Some((n, fit.throughput(n).filter(|x| *x >= 0.0)?)));
    let explained = 100.0 * fit.r_squared.max(0.0);
    let peak = fit.peak.filter(|_| follows(fit));
    Some(Figure {
        id: "scalability",
        title: "Throughput over customers at a time, and the Universal Scalability Law".into(),
        note: format!("The law explains {explained:.0} % of the differences"),
        lines: vec![line("law", curve.collect()), line("step", measured)],
        x_ticks: ticks(last),
        x_label: "customers at a time".into(),
        y_unit: format!("{}/s", words::sessions(report)),
        reference: peak.map(|peak| (peak, "highest by the law".into())),
        unmarked: &["law"],
        unjoined: &["step"],
        ..Figure::default()
    })
}

/// Completed sessions without and with the gate; `None` without a comparison.
fn gate(report: &Report) -> Option<Figure> {
    let all = compared(&report.windows);
    let of = |name: &str, gate: bool| {
        let of = all.iter().filter(|it| it.gate == gate);
        line(name, of.map(|it| (it.multiple, it.completed.value)).collect())
    };
    (!all.is_empty()).then(|| Figure {
        id: "gate",
        title: "The same crowd without and with the gate".into(),
        note: "Completed, by the load as a multiple of the carried rate".into(),
        lines: vec![of("without", false), of("gate", true)],
        x_ticks: vec![0.0, 1.0, 2.0, 3.0, 4.0],
        x_label: "times the carried rate".into(),
        y_unit: format!("{}/s", words::sessions(report)),
        reference: report.analysis.carried_per_s.map(|it| (it.value, "carried".into())),
        ..Figure::default()
    })
}

/// All figures, that of the first page first.
pub(super) fn all(report: &Report) -> Vec<Figure> {
    let more = [law(report), gate(report)].into_iter().flatten();
    [throughput(report), response(report)].into_iter().chain(more).collect()
}

#[cfg(test)]
mod tests {
    use super::super::page::tests::report;
    use super::*;
    use crate::site::step::tests::step;

    #[test]
    fn steps_at_about_one_rate_are_one_point() {
        let steps = [
            step(50.0, 50.0, 10.0),
            step(100.0, 100.0, 10.0),
            step(104.0, 96.0, 10.0),
            step(120.0, 90.0, 10.0),
        ];
        let line = by_rate("completed", &steps, |step| step.completed_per_s);
        assert_eq!(line.points, [(50.0, 50.0), (102.0, 98.0), (120.0, 90.0)]);
    }

    #[test]
    fn ticks_are_round_and_reach_the_end() {
        for end in [0.07, 1.0, 37.0, 400.0, 12_345.0] {
            let ticks = ticks(end);
            assert!(*ticks.last().unwrap() >= end && ticks.len() <= 8, "{end}: {ticks:?}");
        }
    }

    #[test]
    fn every_figure_of_a_study_is_drawn_without_nonsense() {
        let all = all(&report(true));
        let names: Vec<_> = all.iter().map(|figure| figure.id).collect();
        assert_eq!(names, [FIRST, "response-time", "scalability", "gate"]);
        let palette = palette(&all);
        for figure in &all {
            let file = figure.file(&palette);
            assert!(!file.contains("NaN") && !file.contains("inf"), "{}: {file}", figure.id);
            assert!(file.starts_with("<svg xmlns=") && file.contains(&figure.title), "{file}");
        }
    }

    #[test]
    fn the_law_is_a_curve_and_steps_are_points() {
        let all = all(&report(true));
        let law = all.iter().find(|figure| figure.id == "scalability").unwrap();
        let svg = law.chart().svg();
        assert!(svg.contains("\"line law\"") && !svg.contains("\"mark law\""), "{svg}");
        assert!(!svg.contains("\"line step\"") && svg.contains("\"mark step\""), "{svg}");
    }
}
