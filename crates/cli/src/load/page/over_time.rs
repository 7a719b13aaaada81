//! Charts over the time of the run.

use maud::{Markup, html};
use tidegate_load::{Point, Summary};
use tidegate_report::number::{plural, seconds};
use tidegate_report::{Chart, Line, Scale, figure, time_ticks};

use super::percentile::Percentile;

/// Most points of a line.
const POINTS: usize = 240;
/// Most labels of the time axis.
const TICKS: usize = 8;

/// One or several seconds of the run.
#[derive(Clone, Copy)]
pub(super) struct Step {
    /// Its end.
    at_s: f64,
    /// Means of the rates. Percentiles cannot be averaged: those of the slowest second.
    second: Point,
}

/// The time axis: seconds, or minutes or hours in a longer run.
struct TimeAxis {
    unit_s: f64,
    label: &'static str,
    ticks: Vec<f64>,
    end: f64,
}

impl TimeAxis {
    fn of(run: &Summary) -> Self {
        let end_s = end_s(run);
        let (unit_s, label) = match end_s {
            hours if hours > 3.0 * 3600.0 => (3600.0, "hours since the start"),
            minutes if minutes > 300.0 => (60.0, "minutes since the start"),
            _ => (1.0, "seconds since the start"),
        };
        let end = end_s / unit_s;
        Self { unit_s, label, ticks: time_ticks(end, TICKS), end }
    }
}

/// When a run ended, since its start.
fn end_s(run: &Summary) -> f64 {
    let planned = run.warm_up_s + run.measured_s;
    run.series.last().map_or(planned, |second| second.at_s).max(1e-3)
}

/// A rate of a second.
type Rate = fn(&Point) -> f64;

/// What one chart shows.
struct Plot<'a> {
    title: &'a str,
    note: String,
    lines: Vec<Line>,
    chart: Chart<'a>,
}

impl<'a> Plot<'a> {
    fn new(title: &'a str, note: impl Into<String>, y_unit: &'a str, lines: Vec<Line>) -> Self {
        let chart = Chart { y_unit, readings: true, ..Chart::default() };
        Self { title, note: note.into(), lines, chart }
    }

    fn draw(&self, run: &Summary, axis: &TimeAxis) -> Markup {
        let warm_up = run.warm_up_s.min(end_s(run)) / axis.unit_s;
        let chart = Chart {
            lines: &self.lines,
            x_label: axis.label,
            x_ticks: &axis.ticks,
            x_max: Some(axis.end),
            band: (warm_up > 0.0).then_some((0.0, warm_up, "warm-up")),
            ..self.chart
        };
        figure(self.title, &self.note, &chart)
    }
}

/// All charts over time but that of the load generator.
pub(super) fn charts(run: &Summary) -> Markup {
    let (steps, each_s) = steps(&run.series);
    if steps.is_empty() {
        return html! { p.soft { "The run ended before its first second was over: there is nothing to draw." } };
    }
    let axis = TimeAxis::of(run);
    let line = |name: &str, of: &dyn Fn(&Point) -> f64| curve(name, &steps, &axis, of);
    // Said where a point stands for several seconds.
    let each = |what: &str| match each_s > 1.5 {
        true => format!(" A point is the {what} {}.", seconds(each_s)),
        false => String::new(),
    };
    let (joined, slowest) = (each("mean of"), each("slowest second of"));
    let mut sessions =
        vec![line("offered", &|s| s.offered_per_s), line("completed", &|s| s.completed_per_s)];
    let lost: [(&str, Rate); 3] = [
        ("refused", |s| s.refused_per_s),
        ("abandoned", |s| s.abandoned_per_s),
        ("failed", |s| s.failed_per_s),
    ];
    let lost = lost.into_iter().filter(|(_, of)| run.series.iter().any(|s| of(s) > 0.0));
    let lost: Vec<Line> = lost.map(|(name, of)| line(name, &of)).collect();
    let none_lost = if lost.is_empty() { " None was refused, abandoned or failed." } else { "" };
    sessions.extend(lost);
    let failed = failed_requests(run, &steps, &axis);
    let note = match &failed {
        Some(_) => "Answered as the page allows, and all others.",
        None => "Answered as the page allows. None failed.",
    };
    let requests = [line("ok", &|s| s.requests_per_s)].into_iter().chain(failed).collect();
    let times = Percentile::MAIN.map(|of| {
        line(of.name(), &move |second| of.of(&second.response).map_or(f64::NAN, |it| it.ms))
    });
    let mut times = Plot::new(
        "Response times",
        format!(
            "From the intended start to the last byte; logarithmic. A gap is a second without a response.{slowest}"
        ),
        "ms",
        times.into(),
    );
    times.chart.scale = Scale::Log;
    let offered = format!("Offered by the schedule, completed and lost.{none_lost}{joined}");
    let in_flight = vec![line("in flight", &|s| s.in_flight as f64)];
    let mut plots = vec![
        Plot::new("Sessions", offered, "sessions/s", sessions),
        Plot::new("Requests", format!("{note}{joined}"), "requests/s", requests),
        times,
        Plot::new(
            "Sessions in flight",
            "Begun and not over: thinking, waiting or receiving.",
            "sessions",
            in_flight,
        ),
    ];
    if run.totals.full_attempted > 0 || run.totals.resumed_attempted > 0 {
        let lines = vec![
            line("full", &|s| s.full_handshakes_per_s),
            line("resumed", &|s| s.resumed_handshakes_per_s),
        ];
        let note = format!("Completed: with certificate and signature, and from a ticket.{joined}");
        plots.push(Plot::new("TLS handshakes", note, "handshakes/s", lines));
    }
    html! { div.charts { @for plot in plots { (plot.draw(run, &axis)) } } }
}

/// The charts of the load generator.
pub(super) fn driver_charts(run: &Summary) -> Markup {
    let (steps, _) = steps(&run.series);
    if steps.is_empty() {
        return html! {};
    }
    let axis = TimeAxis::of(run);
    let mut cpu = Plot::new(
        "CPU of the busiest thread",
        "Beyond 95 % the load generator delays its own requests.",
        "% of a processor",
        vec![curve("cpu", &steps, &axis, |s| 100.0 * s.driver_cpu_share)],
    );
    (cpu.chart.reference, cpu.chart.y_max) = (Some((95.0, "saturated")), Some(100.0));
    let late =
        run.series.iter().fold(0, |sum: u64, second| sum.saturating_add(second.missed_starts));
    let late_of = plural(late, "start", "starts");
    let note = format!("{late_of} more than 10 ms after the intended time, warm-up included.");
    let per_s = |s: &Point| s.missed_starts as f64 / s.length_s.max(1e-3);
    let lines = vec![curve("late", &steps, &axis, per_s)];
    let missed = Plot::new("Late starts", note, "starts/s", lines);
    html! { div.charts {
        (cpu.draw(run, &axis))
        @if late > 0 { (missed.draw(run, &axis)) }
    } }
}

fn curve(name: &str, steps: &[Step], axis: &TimeAxis, of: impl Fn(&Point) -> f64) -> Line {
    let point = |step: &Step| (step.at_s / axis.unit_s, of(&step.second));
    Line { name: name.to_owned(), points: steps.iter().map(point).collect() }
}

/// Failed requests per second, which the stretches of the window have; `None` if there are
/// none.
fn failed_requests(run: &Summary, steps: &[Step], axis: &TimeAxis) -> Option<Line> {
    if run.totals.requests_failed == 0 {
        return None;
    }
    // A stretch can be shorter or longer than a step.
    let rate = |from_s: f64, to_s: f64| {
        let (mut begin, mut failed, mut length) = (run.warm_up_s, 0.0, 0.0);
        for stretch in &run.stretches {
            let end = begin + stretch.length_s;
            let common = (end.min(to_s) - begin.max(from_s)).max(0.0);
            failed += stretch.requests_failed as f64 * common / stretch.length_s.max(1e-3);
            length += common;
            begin = end;
        }
        // The warm-up has no stretches.
        if length > 1e-6 { failed / length } else { f64::NAN }
    };
    let begins = std::iter::once(0.0).chain(steps.iter().map(|step| step.at_s));
    let points = steps.iter().zip(begins);
    let points = points.map(|(step, from_s)| (step.at_s / axis.unit_s, rate(from_s, step.at_s)));
    Some(Line { name: "failed".to_owned(), points: points.collect() })
}

/// The run in at most [`POINTS`] steps, and the seconds of each. A remainder at the end that is
/// shorter than half of a step belongs to the step before it.
fn steps(series: &[Point]) -> (Vec<Step>, f64) {
    let each = series.len().div_ceil(POINTS).max(1);
    let mut groups: Vec<&[Point]> = series.chunks(each).collect();
    let length = |group: &[Point]| group.iter().map(|second| second.length_s).sum::<f64>();
    let usual = groups.first().map_or(1.0, |group| length(group));
    if let [.., before, last] = groups[..]
        && length(last) < usual / 2.0
    {
        let joined = series.len() - last.len() - before.len();
        groups.truncate(groups.len() - 2);
        groups.push(&series[joined..]);
    }
    (groups.into_iter().filter_map(step).collect(), usual)
}

fn step(seconds: &[Point]) -> Option<Step> {
    let last = seconds.last()?;
    let length_s = seconds.iter().map(|second| second.length_s).sum::<f64>();
    let slowest = seconds.iter().map(|second| second.response);
    let slowest = slowest.max_by(|a, b| a.p95_ms.total_cmp(&b.p95_ms)).unwrap_or_default();
    let mut joined = Point {
        at_s: last.at_s,
        length_s,
        measured: last.measured,
        in_flight: seconds.iter().map(|second| second.in_flight).max().unwrap_or_default(),
        response: slowest,
        missed_starts: seconds.iter().fold(0, |sum, s| sum.saturating_add(s.missed_starts)),
        ..Point::default()
    };
    for mut second in seconds.iter().copied().filter(|_| length_s > 0.0) {
        let weight = second.length_s / length_s;
        joined.driver_cpu_share += weight * second.driver_cpu_share;
        let rates = joined.rates_mut().into_iter().zip(second.rates_mut());
        rates.for_each(|(mean, rate)| *mean += weight * *rate);
    }
    Some(Step { at_s: last.at_s, second: joined })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_load::Percentiles;

    fn second(at_s: f64, length_s: f64, rate: f64, p95_ms: f64) -> Point {
        Point {
            at_s,
            length_s,
            offered_per_s: rate,
            completed_per_s: rate,
            requests_per_s: rate,
            in_flight: 1,
            response: Percentiles {
                count: u64::from(p95_ms > 0.0),
                p95_ms,
                max_ms: p95_ms,
                ..Percentiles::default()
            },
            driver_cpu_share: 0.1,
            missed_starts: 2,
            ..Point::default()
        }
    }

    #[test]
    fn a_short_remainder_belongs_to_the_step_before_it() {
        let series = [
            second(1.0, 1.0, 10.0, 5.0),
            second(2.0, 1.0, 20.0, 5.0),
            second(2.25, 0.25, 100.0, 9.0),
        ];
        let (steps, each_s) = steps(&series);
        assert_eq!((steps.len(), each_s), (2, 1.0));
        // (20 · 1 + 100 · 0.25) / 1.25
        assert_eq!((steps[1].at_s, steps[1].second.offered_per_s), (2.25, 36.0));
        assert_eq!((steps[1].second.response.p95_ms, steps[1].second.missed_starts), (9.0, 4));
    }

    #[test]
    fn a_long_run_has_means_of_rates_and_the_slowest_second() {
        let series: Vec<Point> = (1..=480)
            .map(|n| {
                second(
                    f64::from(n),
                    1.0,
                    f64::from(n % 2) * 10.0,
                    if n % 2 == 0 { 7.0 } else { 3.0 },
                )
            })
            .collect();
        let (steps, each_s) = steps(&series);
        assert_eq!((steps.len(), each_s), (240, 2.0));
        assert!(steps.iter().all(|step| step.second.offered_per_s == 5.0));
        assert!(steps.iter().all(|step| step.second.response.p95_ms == 7.0));
    }

    #[test]
    fn no_seconds_have_no_steps() {
        assert!(steps(&[]).0.is_empty());
        assert_eq!(steps(&[second(0.0, 0.0, 1.0, 0.0)]).0.len(), 1);
    }
}
