//! The figures: the curve of each operation, and the prediction beside what was measured.

use tidegate_report::{Figure, Line, Palette};

use super::Report;
use super::costs::site_cpus;
use crate::capacity::ticks;

/// Lines that have a colour of their own, by its index, and whether they are dashed.
const LOOKS: [(&str, usize, bool); 3] =
    [("measured", 0, false), ("predicted", 6, true), ("fit", 6, true)];

/// How the lines look.
pub(super) fn palette<'f>(all: impl IntoIterator<Item = &'f Figure>) -> Palette<'f> {
    Palette::with(all.into_iter().flat_map(|figure| &figure.lines), &LOOKS)
}

fn line(name: &str, mut points: Vec<(f64, f64)>) -> Line {
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    Line { name: name.to_owned(), points }
}

/// The processor time of the verification, predicted and measured.
pub(super) fn verification(report: &Report) -> Option<Figure> {
    let points = |of: &dyn Fn(&super::Verification) -> Option<f64>| {
        let each = report.steps.iter().filter_map(|it| Some((it.step.offered_per_s, of(it)?)));
        each.collect::<Vec<_>>()
    };
    let measured = points(&|it| it.cpus());
    let end = report.steps.iter().map(|it| it.step.offered_per_s).fold(1e-6, f64::max);
    let (measured, predicted, unit, title) = match measured.is_empty() {
        false => (
            measured,
            points(&|it| Some(it.predicted_cpus)),
            "CPUs",
            "Processor time: predicted and measured",
        ),
        true => {
            let most = report.predicted.peak_per_s().unwrap_or(f64::INFINITY);
            (
                points(&|it| Some(it.step.completed_per_s)),
                points(&|it| Some(it.step.offered_per_s.min(most))),
                "sessions/s",
                "Sessions completed: predicted and measured",
            )
        }
    };
    (!report.steps.is_empty()).then(|| Figure {
        id: "verification",
        title: title.into(),
        note: "The scenario itself, at shares of the predicted capacity".into(),
        lines: vec![line("predicted", predicted), line("measured", measured)],
        x_label: "sessions that arrive per second".into(),
        x_ticks: ticks(end),
        y_unit: unit.into(),
        ..Figure::default()
    })
}

/// The curve of each operation alone: processors over operations per second, with the line whose
/// slope is its cost and that of what is on its way.
pub(super) fn curves(report: &Report) -> Vec<Figure> {
    let of = |operation: usize| {
        let own = report
            .runs
            .iter()
            .filter(|run| run.operation == Some(operation) && !run.search && run.is_sound());
        let points: Vec<(f64, f64)> =
            own.map(|run| (run.count(operation), site_cpus(run, &report.resources))).collect();
        let end = points.iter().map(|(x, _)| *x).fold(0.0, f64::max);
        let cost = &report.costs.operations[operation];
        let fitted = cost.curve.map(|it| {
            let at = |x: f64| (x, it.idle + it.cost.value * x);
            line("fit", vec![at(0.0), at(it.up_to)])
        });
        let note = match cost.curve {
            Some(it) if it.ends => "Beyond the end of the line costs rise".to_owned(),
            Some(_) => "Costs are constant up to the highest load".to_owned(),
            None => "No line fits".to_owned(),
        };
        (points.len() > 1 && end > 0.0).then(|| Figure {
            id: "curve",
            title: cost.operation.clone(),
            note: format!("{note}. {}", report.ways[operation]),
            lines: fitted.into_iter().chain([line("measured", points)]).collect(),
            x_label: "per second".into(),
            x_ticks: ticks(end),
            y_unit: "CPUs".into(),
            unmarked: &["fit"],
            unjoined: &["measured"],
            ..Figure::default()
        })
    };
    let counted = report.resources.iter().any(|it| it.per_s.is_some());
    (0..report.costs.operations.len()).filter(|_| counted).filter_map(of).collect()
}
