//! Charts over time.

use ratatui::layout::Rect;
use ratatui::prelude::{Frame, Line, Style};
use ratatui::symbols::Marker;
use ratatui::widgets::{Axis, Block, Chart, Dataset, GraphType};

use super::text::SOFT;

/// A curve: one value per second, `None` where there is none.
pub struct Curve {
    pub values: Vec<(f64, Option<f64>)>,
    pub style: Style,
    /// Drawn as dots, for offered values; distinguishable without colour.
    pub dotted: bool,
}

/// Frame, axes and titles of a chart.
pub struct Plot<'a> {
    pub title: Line<'a>,
    /// Title at the lower edge.
    pub below: Line<'a>,
    /// Range of the time axis in seconds.
    pub from_to_s: [f64; 2],
    /// Begin of the measured window, drawn if it lies in the range.
    pub mark_s: f64,
    pub axis: Scale,
}

/// The vertical axis.
pub enum Scale {
    /// From 0 to the largest value.
    FromZero,
    /// Logarithmic, whole decades of milliseconds.
    Decades,
}

/// Draws the curves; the last one is on top.
pub fn draw(frame: &mut Frame, area: Rect, plot: Plot<'_>, curves: Vec<Curve>) {
    let (bounds, labels) = plot.axis.fit(&curves);
    let scaled = |value: f64| match plot.axis {
        Scale::FromZero => value,
        Scale::Decades => value.max(f64::MIN_POSITIVE).log10().max(bounds[0]),
    };
    let pieces: Vec<(Vec<(f64, f64)>, &Curve)> = curves
        .iter()
        .flat_map(|curve| {
            pieces(&curve.values, scaled).into_iter().map(move |piece| (piece, curve))
        })
        .collect();
    let mark = [(plot.mark_s, bounds[0]), (plot.mark_s, bounds[1])];
    let mark = Dataset::default().data(&mark).marker(Marker::Braille).style(SOFT);
    let lines = pieces.iter().map(|(piece, curve)| {
        let marker = if curve.dotted { Marker::Dot } else { Marker::Braille };
        // A single value is drawn as a dot.
        let kind =
            if piece.len() > 1 && !curve.dotted { GraphType::Line } else { GraphType::Scatter };
        Dataset::default().data(piece).marker(marker).graph_type(kind).style(curve.style)
    });
    let shown = (plot.from_to_s[0]..=plot.from_to_s[1]).contains(&plot.mark_s) && plot.mark_s > 0.0;
    let mark = shown.then_some(mark.graph_type(GraphType::Line));
    let [begin, end] = plot.from_to_s.map(|at| format!("{at:.0} s"));
    let chart = Chart::new(mark.into_iter().chain(lines).collect())
        .block(Block::bordered().title(plot.title).title_bottom(plot.below).border_style(SOFT))
        .x_axis(Axis::default().bounds(plot.from_to_s).labels([begin, end]).style(SOFT))
        .y_axis(Axis::default().bounds(bounds).labels(labels).style(SOFT))
        .legend_position(None);
    frame.render_widget(chart, area);
}

/// Splits a curve at seconds without a value, so that no line crosses them.
fn pieces(values: &[(f64, Option<f64>)], scaled: impl Fn(f64) -> f64) -> Vec<Vec<(f64, f64)>> {
    let there = values.split(|(_, value)| value.is_none()).filter(|piece| !piece.is_empty());
    let point = |(at, value): &(f64, Option<f64>)| Some((*at, scaled((*value)?)));
    there.map(|piece| piece.iter().filter_map(point).collect()).collect()
}

impl Scale {
    /// The range and the labels of the axis.
    fn fit(&self, curves: &[Curve]) -> ([f64; 2], Vec<String>) {
        let values = || curves.iter().flat_map(|curve| curve.values.iter().filter_map(|v| v.1));
        let most = values().fold(0.0, f64::max);
        match self {
            Self::FromZero => {
                let top = round_up(most.max(1.0) * 1.05);
                ([0.0, top], [0.0, top / 2.0, top].map(|y| short(y, 5)).to_vec())
            }
            Self::Decades => {
                let least = values().filter(|v| *v > 0.0).fold(f64::INFINITY, f64::min);
                let low = if least.is_finite() { least.log10().floor() } else { 0.0 };
                let low = low.clamp(-2.0, 6.0);
                let high = most.max(1e-2).log10().ceil().clamp(low + 1.0, 7.0);
                let decades = low as i32..=high as i32;
                ([low, high], decades.map(|power| short(10f64.powi(power), 5)).collect())
            }
        }
    }
}

/// The next of 1, 2, 4, 6, 8 and 10 times a power of ten; half of it is round as well.
fn round_up(value: f64) -> f64 {
    let power = 10f64.powf(value.log10().floor());
    let found = [1.0, 2.0, 4.0, 6.0, 8.0].into_iter().find(|step| step * power >= value);
    found.unwrap_or(10.0) * power
}

/// A label of an axis, right-aligned.
fn short(value: f64, cells: usize) -> String {
    let text = match value {
        v if v >= 1e6 => format!("{}M", v / 1e6),
        v if v >= 1e4 => format!("{}k", v / 1e3),
        v => format!("{v}"),
    };
    format!("{text:>cells$}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(values: &[Option<f64>]) -> Curve {
        let values = values.iter().enumerate().map(|(at, value)| (at as f64, *value)).collect();
        Curve { values, style: SOFT, dotted: false }
    }

    #[test]
    fn axes_end_at_round_numbers_above_the_values() {
        let (bounds, labels) = Scale::FromZero.fit(&[curve(&[Some(37.0), None])]);
        assert_eq!((bounds, labels.join(" ")), ([0.0, 40.0], "    0    20    40".to_owned()));
        let (bounds, labels) = Scale::Decades.fit(&[curve(&[Some(0.4), Some(230.0)])]);
        assert_eq!(bounds, [-1.0, 3.0]);
        assert_eq!(
            labels.join("").split_whitespace().collect::<Vec<_>>(),
            ["0.1", "1", "10", "100", "1000"]
        );
        let nothing = Scale::Decades.fit(&[]).0;
        assert!(nothing[0] < nothing[1]);
        assert_eq!(
            [1.0, 1.05, 9.0, 450.0, 12_000.0].map(round_up),
            [1.0, 2.0, 10.0, 600.0, 20_000.0]
        );
    }

    #[test]
    fn a_second_without_a_value_splits_a_curve() {
        let values = curve(&[Some(1.0), Some(2.0), None, None, Some(3.0)]).values;
        assert_eq!(pieces(&values, |v| v), [vec![(0.0, 1.0), (1.0, 2.0)], vec![(4.0, 3.0)]]);
    }
}
