//! The errors of each estimator, as text and as JSON.

use serde_json::{Value, json};
use tidegate_report::number::or_none;
use tidegate_report::{Cell, Table};
use tidegate_sim::estimators::{ConnectionCosts, Course, Error, NAMES};

use super::{Comparison, Source};

/// Course by course.
pub fn text(comparison: &Comparison) -> String {
    let mut text = String::new();
    for course in &comparison.courses {
        text += &format!("{}: {}\n{}\n", course.name, course.about, accuracies(course).text());
    }
    text + &format!(
        "Error of an estimate: |estimate / truth - 1|. {}\n",
        truth_of(comparison.source)
    )
}

/// The errors of each estimator in a course.
pub fn accuracies(course: &Course) -> Table {
    let errors = ["estimator", "CTN, median\nerror, %", "p95", "CTO, median\nerror, %", "p95"];
    let recovery = course.step_s.map(|_| "within 10 %\nafter, s");
    let mut table = Table::new(errors.into_iter().chain(recovery));
    for (index, name) in NAMES.iter().enumerate() {
        let accuracy = course.accuracy(index);
        let errors = [accuracy.new, accuracy.returning].map(percent).concat();
        let recovered = || match accuracy.recovered_s {
            Some(after_s) => format!("{after_s:.1}"),
            None => "never".to_owned(),
        };
        let cells = errors.into_iter().chain(course.step_s.map(|_| recovered()));
        let name = Cell::from(*name).class(*name);
        table.row([name].into_iter().chain(cells.map(Cell::from)));
    }
    table
}

/// The source of the true costs.
pub fn truth_of(source: Source) -> String {
    match source {
        Source::Simulated { seeds } => format!(
            "The true cost is what the simulator draws from; {seeds} {}.",
            if seeds == 1 { "run" } else { "runs" }
        ),
        Source::Real => "The true cost is measured by the CPU clocks of the gate's threads and of \
                         the site over the surrounding 5 s."
            .to_owned(),
    }
}

/// Median and p95 in percent.
fn percent(error: Option<Error>) -> [String; 2] {
    [error.map(|it| it.median), error.map(|it| it.p95)]
        .map(|share| or_none(share, |share| format!("{:.1}", 100.0 * share)))
}

/// For programs: the accuracy of each estimator in each course, and the first
/// run, tick by tick, costs in milliseconds.
pub fn json(comparison: &Comparison) -> Value {
    let source = match comparison.source {
        Source::Simulated { .. } => "simulated",
        Source::Real => "real",
    };
    let courses: Vec<Value> = comparison.courses.iter().map(course).collect();
    json!({ "source": source, "courses": courses })
}

fn course(course: &Course) -> Value {
    let ticks = course.runs.first().map_or(&[][..], Vec::as_slice);
    // To the tenth of a microsecond: more is below any clock.
    let ms = |costs: &ConnectionCosts| {
        [costs.new_cpu_s, costs.returning_cpu_s].map(|cpu_s| (cpu_s * 1e7).round() / 1e4)
    };
    let error = |error: Option<Error>| {
        error.map(|error| json!({ "median": error.median, "p95": error.p95 }))
    };
    let estimators: Vec<Value> = (0..NAMES.len())
        .map(|index| {
            let accuracy = course.accuracy(index);
            json!({
                "estimator": NAMES[index],
                "ctn_error": error(accuracy.new),
                "cto_error": error(accuracy.returning),
                "within_a_tenth_after_s": accuracy.recovered_s,
                "ctn_cto_ms": ticks.iter().map(|tick| ms(&tick.estimates[index])).collect::<Vec<_>>(),
            })
        })
        .collect();
    json!({
        "course": course.name,
        "about": course.about,
        "runs": course.runs.len(),
        "watch_from_s": course.watch_from_s,
        "step_s": course.step_s,
        "at_s": ticks.iter().map(|tick| tick.at_s).collect::<Vec<_>>(),
        "truth_ctn_cto_ms": ticks.iter().map(|tick| ms(&tick.truth)).collect::<Vec<_>>(),
        "estimators": estimators,
    })
}
