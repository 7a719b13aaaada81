//! Lines of a metric over the load, the processors or the time.

use std::collections::BTreeMap;

use tidegate_report::{Chart, Line, Scale, round_step, time_ticks};
use tidegate_stats::mean;

use super::groups::{groups, load_of};
use crate::analysis::{Run, load_factor, pairs};
use crate::experiment::{Experiment, FigureRule, OverheadRule, Windows, XAxis};
use crate::metrics;
use crate::record::Second;

/// Most points of a course whose lines have marks.
const MOST_MARKS: usize = 20;

/// A figure of lines.
pub(super) struct Lines {
    pub(super) lines: Vec<Line>,
    /// Of each line the intervals of its points over the rounds.
    intervals: Vec<Vec<(f64, f64, f64)>>,
    x_label: String,
    x_ticks: Vec<f64>,
    x_tick: Option<fn(f64) -> String>,
    x_max: Option<f64>,
    x_scale: Scale,
    unit: String,
    log: bool,
    marks: bool,
    warm_up_s: Option<f64>,
    is_share: bool,
    reference: Option<(f64, String)>,
}

impl Lines {
    /// The lines of a metric. `unit` says what processors are.
    pub(super) fn of(
        experiment: &Experiment,
        rule: &FigureRule,
        metric: &str,
        mut selected: Vec<&Run>,
        (unit, windows): (&str, Windows),
    ) -> Self {
        if rule.x == XAxis::Time {
            let highest = selected.iter().map(|run| load_of(run)).fold(0.0, f64::max);
            selected.retain(|run| load_of(run) >= highest);
        }
        let warm_up_s = (rule.x == XAxis::Time)
            .then(|| selected.first().map(|run| windows.of_run(&run.settings).warm_up_s));
        let groups = groups(experiment, rule, selected);
        let line = |(name, runs): (String, Vec<&Run>)| {
            let (points, intervals) = points(&runs, rule.x, metric);
            (Line { name, points }, intervals)
        };
        let (lines, intervals): (Vec<Line>, Vec<_>) = groups.into_iter().map(line).unzip();
        let load = load_factor(experiment).unwrap_or_default();
        let (x_label, x_ticks, x_max) = x_axis(rule.x, &lines, load, unit);
        Self {
            lines,
            intervals,
            x_label,
            x_ticks,
            x_tick: None,
            x_max,
            x_scale: Scale::Linear,
            unit: rule.unit.clone(),
            log: rule.log,
            marks: rule.x != XAxis::Time,
            is_share: matches!(
                metric,
                "full_handshake_share" | "completed_ratio" | "handshake_time_share"
            ),
            warm_up_s: warm_up_s.flatten(),
            reference: None,
        }
    }

    /// The lines of a course: the mean over the rounds at each position.
    pub(super) fn of_course(
        experiment: &Experiment,
        rule: &FigureRule,
        name: &str,
        selected: Vec<&Run>,
    ) -> Self {
        let line = |(line, runs): (String, Vec<&Run>)| {
            let (points, intervals) = of_rounds(course(&runs, name));
            (Line { name: line, points }, intervals)
        };
        let groups = groups(experiment, rule, selected).into_iter();
        let (lines, intervals): (Vec<Line>, Vec<_>) = groups.map(line).unzip();
        let course = metrics::course(name);
        let by_bytes = course.is_some_and(|course| course.by_bytes);
        let mut xs: Vec<f64> = lines.iter().flat_map(|line| &line.points).map(|at| at.0).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let last = xs.last().copied().unwrap_or(1.0);
        let marks = lines.iter().all(|line| line.points.len() <= MOST_MARKS);
        Self {
            lines,
            // Among many points they would hide the lines.
            intervals: if marks { intervals } else { Vec::new() },
            x_label: course.map_or("", |course| course.x).to_owned(),
            x_ticks: if by_bytes { xs } else { time_ticks(last, 8) },
            x_tick: by_bytes.then_some(bytes),
            x_max: Some(last),
            x_scale: if by_bytes { Scale::Log } else { Scale::Linear },
            unit: rule.unit.clone(),
            log: rule.log,
            marks,
            is_share: false,
            warm_up_s: None,
            reference: None,
        }
    }

    /// What each kind of connection adds, over the work of the transactions.
    pub(super) fn of_overhead(experiment: &Experiment, rule: &OverheadRule, runs: &[Run]) -> Self {
        let factor = experiment.factors.iter().find(|factor| factor.name == rule.factor);
        let levels = factor.map(|factor| factor.levels(false)).unwrap_or_default();
        let line = |level: &str| {
            let mut pairs = pairs::pairs(rule, runs);
            pairs.retain(|pair| pair.run.levels.get(&rule.factor).is_some_and(|it| it == level));
            let all = pairs::points(&pairs);
            let points = all.iter().map(|it| (it.work_ms, it.share)).collect();
            let ends = all.iter().filter_map(|it| Some((it.work_ms, it.ends?.0, it.ends?.1)));
            (Line { name: level.to_owned(), points }, ends.collect::<Vec<Interval>>())
        };
        let drawn = levels.into_iter().map(line).filter(|(line, _)| line.points.len() > 1);
        let (lines, intervals): (Vec<Line>, Vec<Vec<Interval>>) = drawn.unzip();
        let most = lines.iter().flat_map(|line| &line.points).map(|at| at.0).fold(0.0, f64::max);
        let all = lines.iter().flat_map(|line| &line.points).map(|at| at.0);
        let least = all.fold(f64::INFINITY, f64::min);
        let decades = (-3..4).map(|power| 10_f64.powi(power));
        Self {
            lines,
            intervals,
            x_label: "CPU time of the transaction in the clear, ms".into(),
            x_ticks: decades.filter(|tick| (least..=most).contains(tick)).collect(),
            x_tick: None,
            x_max: Some(most),
            x_scale: Scale::Log,
            unit: "of the work".into(),
            log: true,
            marks: true,
            warm_up_s: None,
            is_share: false,
            reference: Some((rule.share, format!("{} %", rule.share * 100.0))),
        }
    }

    /// The chart.
    pub(super) fn chart(&self) -> Chart<'_> {
        Chart {
            lines: &self.lines,
            intervals: &self.intervals,
            x_label: &self.x_label,
            x_ticks: &self.x_ticks,
            x_tick: self.x_tick,
            x_max: self.x_max,
            x_scale: self.x_scale,
            y_unit: &self.unit,
            y_max: self.is_share.then_some(1.0),
            scale: if self.log { Scale::Log } else { Scale::Linear },
            marks: self.marks,
            band: self.warm_up_s.map(|end| (0.0, end, "warm-up")),
            readings: true,
            reference: self.reference.as_ref().map(|(at, label)| (*at, label.as_str())),
            ..Chart::default()
        }
    }
}

/// An x with the ends of an interval.
type Interval = (f64, f64, f64);

/// The points of a line: the mean over the rounds at each x, and the intervals of those that have
/// one.
fn points(runs: &[&Run], x: XAxis, metric: &str) -> (Vec<(f64, f64)>, Vec<Interval>) {
    let mut at: BTreeMap<u64, Vec<(f64, f64)>> = BTreeMap::new();
    let mut rounds: BTreeMap<u64, Vec<(u32, f64)>> = BTreeMap::new();
    for run in runs {
        match x {
            XAxis::Time => {
                for second in &run.seconds {
                    let whole = second.at_s.round();
                    at.entry(whole.to_bits()).or_default().push((whole, of_second(second, metric)));
                }
            }
            // Lines have no knee for an axis: the reader of experiments refuses it.
            XAxis::OfferedPerS | XAxis::Load | XAxis::Processors | XAxis::Knee => {
                let Some(y) = run.figure(metric) else { continue };
                let (key, x) = match x {
                    XAxis::OfferedPerS => {
                        (load_of(run), run.figure("offered_per_s").unwrap_or_default())
                    }
                    XAxis::Load => (load_of(run), load_of(run)),
                    _ => (run.settings.processors.into(), run.settings.processors.into()),
                };
                at.entry(key.to_bits()).or_default().push((x, y));
                rounds.entry(key.to_bits()).or_default().push((run.round, y));
            }
        }
    }
    let interval = |(key, rounds): (u64, Vec<(u32, f64)>)| {
        let xs = at.get(&key)?.iter().map(|(x, _)| *x);
        let (low, high) = super::interval(rounds)?;
        Some((mean(xs)?, low, high))
    };
    let intervals = rounds.into_iter().filter_map(interval).collect();
    (means(at), intervals)
}

/// The means of points that stand together, by ascending x.
fn means(at: BTreeMap<u64, Vec<(f64, f64)>>) -> Vec<(f64, f64)> {
    let mean = |points: Vec<(f64, f64)>| {
        let count = points.len() as f64;
        let sum = points.iter().fold((0.0, 0.0), |sum, (x, y)| (sum.0 + x, sum.1 + y));
        (sum.0 / count, sum.1 / count)
    };
    let mut points: Vec<(f64, f64)> = at.into_values().map(mean).collect();
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    points
}

/// Bytes in their unit: `16 KiB`.
fn bytes(size: f64) -> String {
    match size {
        size if size < 1024.0 => format!("{size} B"),
        size if size < 1024.0 * 1024.0 => format!("{} KiB", size / 1024.0),
        size => format!("{} MiB", size / 1024.0 / 1024.0),
    }
}

/// The values of a course over runs at each position, each with its round; by ascending position.
pub(in crate::analysis) fn course(runs: &[&Run], name: &str) -> Vec<(f64, Vec<(u32, f64)>)> {
    let mut at: BTreeMap<u64, (f64, Vec<(u32, f64)>)> = BTreeMap::new();
    for run in runs {
        for (x, y) in run.courses.get(name).into_iter().flatten() {
            at.entry(x.to_bits()).or_insert((*x, Vec::new())).1.push((run.round, *y));
        }
    }
    let mut course: Vec<_> = at.into_values().collect();
    course.sort_by(|a, b| a.0.total_cmp(&b.0));
    course
}

/// Mean and interval over the rounds at each position.
fn of_rounds(course: Vec<(f64, Vec<(u32, f64)>)>) -> (Vec<(f64, f64)>, Vec<Interval>) {
    let (mut points, mut intervals) = (Vec::new(), Vec::new());
    for (x, rounds) in course {
        points.extend(mean(rounds.iter().map(|it| it.1)).map(|y| (x, y)));
        intervals.extend(super::interval(rounds).map(|(low, high)| (x, low, high)));
    }
    (points, intervals)
}

/// The figure of a second. One without a response has no response time: a gap.
fn of_second(second: &Second, metric: &str) -> f64 {
    match metric {
        "completed_per_s" => second.completed_per_s,
        "refused_per_s" => second.refused_per_s,
        "abandoned_per_s" => second.abandoned_per_s,
        "requests_per_s" => second.requests_per_s,
        "offered_per_s" => second.offered_per_s,
        "full_handshake_share" => second.full_handshake_share,
        "response_p95_ms" if second.response_p95_ms > 0.0 => second.response_p95_ms,
        "cpu_ms_per_request" => second.cpu_ms_per_request.unwrap_or(f64::NAN),
        _ => f64::NAN,
    }
}

/// Label, ticks and end of the x axis.
fn x_axis(x: XAxis, lines: &[Line], load: &str, unit: &str) -> (String, Vec<f64>, Option<f64>) {
    let mut xs: Vec<f64> =
        lines.iter().flat_map(|line| line.points.iter().map(|point| point.0)).collect();
    xs.sort_by(f64::total_cmp);
    xs.dedup();
    let last = xs.last().copied().unwrap_or(1.0);
    match x {
        XAxis::Time => ("seconds since the load began".into(), time_ticks(last, 8), Some(last)),
        XAxis::Processors => (unit.to_owned(), xs, None),
        XAxis::Load if load == "load" => {
            ("offered load, as a multiple of the capacity".into(), xs, None)
        }
        XAxis::Load if load == "customers" => {
            let step = round_step(last.max(1.0) / 8.0);
            let even = (0..=8).map(|n| f64::from(n) * step).take_while(|at| *at <= last);
            let ticks = if xs.len() > 8 { even.collect() } else { xs };
            ("customers at a time".into(), ticks, Some(last))
        }
        XAxis::Load | XAxis::OfferedPerS | XAxis::Knee => {
            ("new clients per second".into(), time_ticks(last, 7), Some(last))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::record::tests::record;

    #[test]
    fn a_point_has_the_interval_over_its_rounds() {
        let of = |(round, value): (usize, &f64)| {
            let mut one = crate::analysis::run(
                &record("a", round as u32, &[], &[("requests_per_s", *value)]),
                None,
            );
            one.settings.load = Some(2.0);
            one
        };
        // Mean 12, s = 2: ± 4.3027 · 2/√3.
        let runs: Vec<Run> = [10.0, 12.0, 14.0].iter().enumerate().map(of).collect();
        let runs: Vec<&Run> = runs.iter().collect();
        let (means, intervals) = points(&runs, XAxis::Load, "requests_per_s");
        assert_eq!(means, [(2.0, 12.0)]);
        let [(x, low, high)] = intervals[..] else { panic!("{intervals:?}") };
        assert!(x == 2.0 && (low - 7.0317).abs() < 1e-3 && (high - 16.9683).abs() < 1e-3);
        let (means, intervals) = points(&runs[..1], XAxis::Load, "requests_per_s");
        assert_eq!((means.len(), intervals.len()), (1, 0), "one round tells no spread");
    }

    #[test]
    fn a_course_has_the_interval_over_its_rounds_at_each_position() {
        let of = |(round, value): (u32, f64)| {
            let mut record = record("a", round, &[], &[]);
            let course = vec![(200.0, 1.0), (100.0, value)];
            record.courses.insert("batches".into(), course);
            crate::analysis::run(&record, None)
        };
        let runs: Vec<Run> = [(0, 10.0), (1, 12.0), (2, 14.0)].map(of).into();
        let (points, intervals) = of_rounds(course(&runs.iter().collect::<Vec<_>>(), "batches"));
        assert_eq!(points, [(100.0, 12.0), (200.0, 1.0)]);
        // Mean 12, s = 2: ± 4.3027 · 2/√3.
        let (x, low, high) = intervals[0];
        assert!(x == 100.0 && (low - 7.0317).abs() < 1e-3 && (high - 16.9683).abs() < 1e-3);
        assert_eq!(intervals[1], (200.0, 1.0, 1.0));
    }

    #[test]
    fn payloads_are_labelled_in_their_unit() {
        let labels = [200.0, 1024.0, 16384.0, 131_072.0, 1_048_576.0].map(bytes);
        assert_eq!(labels, ["200 B", "1 KiB", "16 KiB", "128 KiB", "1 MiB"]);
    }
}
