//! Axes of a chart: their range, ticks, and where a value lies on the figure.

use crate::chart::{Chart, Scale, Size};

pub(crate) const LEFT: f64 = 56.0;
pub(crate) const TOP: f64 = 26.0;
pub(crate) const BOTTOM: f64 = 42.0;
/// Least width of the names at the lines' ends; the widths of their letters and of others.
const RIGHT: f64 = 58.0;
const BOLD: f64 = 8.6;
pub(crate) const LETTER: f64 = 7.6;
/// Width to the right of a figure without names: half a tick's label.
const NO_NAMES: f64 = 18.0;

/// At most the width of a name at a line's end: in bold type m and w are half as wide again as
/// other letters.
pub(crate) fn name_width(name: &str) -> f64 {
    let wide = |letter| if matches!(letter, 'm' | 'w' | 'M' | 'W') { 1.5 } else { 1.0 };
    BOLD * name.chars().map(wide).sum::<f64>()
}

/// The ranges of both axes, fitted to a chart.
pub(crate) struct Axis {
    pub(crate) width: f64,
    pub(crate) height: f64,
    pub(crate) right: f64,
    x_max: f64,
    /// Lower end of a logarithmic x axis.
    x_min: Option<f64>,
    y_min: f64,
    y_max: f64,
    pub(crate) y_ticks: Vec<f64>,
    scale: Scale,
}

impl Axis {
    pub(crate) fn fit(chart: &Chart, size: Size) -> Self {
        let ys = || {
            chart.lines.iter().flat_map(|l| l.points.iter().map(|p| p.1)).filter(|y| y.is_finite())
        };
        let ends = chart.intervals.iter().flatten().map(|(.., high)| *high);
        let ends = ends.filter(|high| high.is_finite());
        let drawn = ys().chain(ends).chain(chart.reference.map(|r| r.0));
        let highest = drawn.fold(0.0, f64::max).max(1e-9);
        // A point beyond the last tick belongs into the frame as well.
        let xs = || chart.lines.iter().flat_map(|line| line.points.iter().map(|point| point.0));
        let lowest = xs().filter(|x| *x > 0.0).fold(f64::INFINITY, f64::min);
        let x_min = (chart.x_scale == Scale::Log && lowest.is_finite()).then_some(lowest);
        let x_max = chart
            .x_max
            .unwrap_or_else(|| xs().chain(chart.x_ticks.iter().copied()).fold(0.0, f64::max));
        let (y_min, y_max, y_ticks) = match chart.scale {
            Scale::Linear => {
                let step = round_step(chart.y_max.unwrap_or(highest * 1.08) / 5.0);
                let top = chart.y_max.unwrap_or((highest * 1.04 / step).ceil() * step);
                (0.0, top, ticks(step, top))
            }
            Scale::Log => {
                let lowest = ys().filter(|y| *y > 0.0).fold(f64::INFINITY, f64::min);
                let (lowest, highest) =
                    if lowest.is_finite() { (lowest, highest) } else { (1.0, 10.0) };
                let steps = log_ticks(lowest, highest);
                (steps[0], steps[steps.len() - 1], steps)
            }
        };
        let (width, height) = size.pixels();
        let names = chart.lines.iter().map(|line| name_width(&line.name)).fold(0.0, f64::max);
        let right = match size {
            Size::Wide => RIGHT.max(14.0 + names),
            Size::Narrow => NO_NAMES,
        };
        Self { width, height, right, x_max, x_min, y_min, y_max, y_ticks, scale: chart.scale }
    }

    /// The right and the lower edge of the frame.
    pub(crate) fn edges(&self) -> (f64, f64) {
        (self.width - self.right, self.height - BOTTOM)
    }

    pub(crate) fn x(&self, x: f64) -> f64 {
        let (right, _) = self.edges();
        let share = match self.x_min {
            Some(min) => (x.max(min) / min).ln() / (self.x_max / min).ln().max(1e-9),
            None => x / self.x_max.max(1e-9),
        };
        LEFT + share * (right - LEFT)
    }

    pub(crate) fn y(&self, y: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => y / self.y_max,
            Scale::Log => (y.max(self.y_min) / self.y_min).ln() / (self.y_max / self.y_min).ln(),
        };
        let (_, lower) = self.edges();
        lower - share.clamp(0.0, 1.0) * (lower - TOP)
    }
}

pub(crate) fn ticks(step: f64, top: f64) -> Vec<f64> {
    (0..=10).map(|i| f64::from(i) * step).take_while(|y| *y <= top * 1.000_001).collect()
}

/// Ticks of a logarithmic axis from at or below `lowest` to at or above `highest`, at least
/// two: 1, 2 and 5 times powers of ten, or only powers of ten if these are more than seven.
pub(crate) fn log_ticks(lowest: f64, highest: f64) -> Vec<f64> {
    let (low, high) = (lowest.log10().floor() as i32, highest.log10().ceil() as i32);
    let fine = (low..=high).flat_map(|p| [1.0, 2.0, 5.0].map(|m| m * 10f64.powi(p)));
    let fine: Vec<f64> = enclosing(fine.collect(), lowest, highest);
    if fine.len() <= 7 {
        return fine;
    }
    enclosing((low..=high.max(low + 1)).map(|p| 10f64.powi(p)).collect(), lowest, highest)
}

/// The part of ascending ticks that encloses a range.
fn enclosing(ticks: Vec<f64>, lowest: f64, highest: f64) -> Vec<f64> {
    let first = ticks.iter().rposition(|tick| *tick <= lowest * 1.000_001).unwrap_or(0);
    let last = ticks.iter().position(|tick| *tick >= highest * 0.999_999);
    let last = last.unwrap_or(ticks.len() - 1).max(first + 1).min(ticks.len() - 1);
    ticks[first.min(last - 1)..=last].to_vec()
}

/// The next of 1, 2, 2.5, 5 times a power of ten.
pub fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let fits = |m: &f64| m * power >= raw * 0.999_999;
    [1.0, 2.0, 2.5, 5.0].into_iter().find(fits).unwrap_or(10.0) * power
}

/// Ticks of a time axis from 0 to `end`: at most `most` and 0, at steps that clocks have. The
/// unit is that of `end`.
pub fn time_ticks(end: f64, most: usize) -> Vec<f64> {
    const STEPS: [f64; 16] = [
        0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0, 60.0, 120.0, 300.0, 600.0, 1800.0, 3600.0,
        7200.0,
    ];
    let fits = |step: &f64| end / step <= most as f64;
    let step = STEPS.into_iter().find(fits).unwrap_or_else(|| round_step(end / most as f64));
    (0..=most).map(|n| n as f64 * step).take_while(|at| *at <= end * 1.000_001).collect()
}

/// A tick with at most three decimals, or three digits below 0.1, and no trailing zeros;
/// thousands from 100,000 on.
pub(crate) fn number(value: f64) -> String {
    let leading_zeros = (-value.abs().log10().ceil()).clamp(0.0, 9.0) as i32;
    let unit = 10f64.powi(3 + leading_zeros);
    let rounded = (value * unit).round() / unit;
    match rounded.abs() {
        million if million >= 1e6 => format!("{}M", (rounded / 1e4).round() / 100.0),
        thousand if thousand >= 1e5 => format!("{}k", (rounded / 1e2).round() / 10.0),
        _ => format!("{rounded}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_letters_need_more_room() {
        assert!((name_width("demand-moves") - 13.0 * BOLD).abs() < 1e-9);
    }

    #[test]
    fn steps_are_round_numbers_above_the_raw_one() {
        assert_eq!([0.9, 1.1, 2.1, 26.0, 70.0].map(round_step), [1.0, 2.0, 2.5, 50.0, 100.0]);
    }

    #[test]
    fn a_logarithmic_axis_is_as_fine_as_its_range_is_short() {
        assert_eq!(log_ticks(3.0, 18.0), [2.0, 5.0, 10.0, 20.0]);
        assert_eq!(log_ticks(1.0, 1.0), [1.0, 2.0]);
        assert_eq!(log_ticks(10.0, 100.0), [10.0, 20.0, 50.0, 100.0]);
        assert_eq!(log_ticks(0.3, 4000.0), [0.1, 1.0, 10.0, 100.0, 1000.0, 10_000.0]);
    }

    #[test]
    fn a_time_axis_has_the_steps_of_a_clock() {
        assert_eq!(time_ticks(10.0, 8), [0.0, 2.0, 4.0, 6.0, 8.0, 10.0]);
        assert_eq!(time_ticks(40.0, 8), [0.0, 5.0, 10.0, 15.0, 20.0, 25.0, 30.0, 35.0, 40.0]);
        assert_eq!(time_ticks(100.0, 8), [0.0, 15.0, 30.0, 45.0, 60.0, 75.0, 90.0]);
        assert_eq!(time_ticks(0.0, 8), [0.0]);
        assert!(time_ticks(1e300, 8).len() <= 9);
    }

    #[test]
    fn the_ticks_of_a_small_range_are_as_far_apart_as_they_look() {
        assert_eq!(
            [0.0, 0.0025, 0.005, 0.0075, 0.0125, 0.1, 1.0 / 3.0, -0.025, 1e-15].map(number),
            ["0", "0.0025", "0.005", "0.0075", "0.0125", "0.1", "0.333", "-0.025", "0"]
        );
    }

    #[test]
    fn a_logarithmic_x_axis_begins_at_the_lowest_point() {
        let line = |points: &[f64]| {
            [crate::Line { name: "a".into(), points: points.iter().map(|x| (*x, 1.0)).collect() }]
        };
        let lines = line(&[200.0, 2000.0, 20_000.0]);
        let chart = Chart { lines: &lines, x_scale: Scale::Log, ..Chart::default() };
        let axis = Axis::fit(&chart, Size::Narrow);
        let (right, _) = axis.edges();
        assert_eq!((axis.x(200.0), axis.x(20_000.0)), (LEFT, right));
        assert!((axis.x(2000.0) - (LEFT + right) / 2.0).abs() < 1e-9);
        assert_eq!(axis.x(0.0), LEFT, "what has no place is at the left");
        let lines = line(&[]);
        let chart = Chart { lines: &lines, x_scale: Scale::Log, ..Chart::default() };
        assert_eq!(Axis::fit(&chart, Size::Narrow).x(0.0), LEFT);
    }

    #[test]
    fn large_ticks_are_short() {
        assert_eq!(
            [0.25, 1500.0, 99_000.0, 250_000.0, 1.5e6].map(number),
            ["0.25", "1500", "99000", "250k", "1.5M"]
        );
    }
}
