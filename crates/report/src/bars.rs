//! A histogram as an SVG element: counts over a logarithmic axis.

use crate::axis::{BOTTOM, LEFT, LETTER, TOP, log_ticks, number, round_step, ticks};
use crate::chart::Size;
use crate::svg::{At, Svg, escape};

/// A histogram.
#[derive(Clone, Copy, Default)]
pub struct Bars<'a> {
    /// Edges of the bars, ascending and above 0: one more than bars.
    pub edges: &'a [f64],
    /// Height of each bar.
    pub counts: &'a [u64],
    /// Vertical lines and their labels, such as percentiles.
    pub marks: &'a [(f64, &'a str)],
    /// Label of the x axis, and the unit of the edges.
    pub x_label: &'a str,
    /// Unit of the edges.
    pub x_unit: &'a str,
    /// Unit of the counts.
    pub y_unit: &'a str,
}

const RIGHT: f64 = 18.0;
/// Height of a line of labels of the marks.
const LINE: f64 = 15.0;

impl Bars<'_> {
    /// The histogram as an `svg` element; without bars only its axes.
    pub fn svg_of(&self, size: Size) -> String {
        let (width, height) = size.pixels();
        let (right, lower) = (width - RIGHT, height - BOTTOM);
        let top = TOP + LINE * self.marks.len() as f64;
        let (low, high) = match self.edges {
            [low, .., high] => (*low, *high),
            _ => (1.0, 10.0),
        };
        let x = |value: f64| {
            let share = (value / low).ln() / (high / low).ln().max(1e-9);
            LEFT + share.clamp(0.0, 1.0) * (right - LEFT)
        };
        let most = self.counts.iter().copied().max().unwrap_or_default().max(1) as f64;
        let step = round_step(most / 4.0).max(1.0);
        let y_ticks = ticks(step, most);
        let y = |count: f64| lower - count / most * (lower - top);
        let label = escape(&format!("{} by {}", self.y_unit, self.x_label));
        let mut svg = Svg::new((width, height), &format!(r#" aria-label="{label}""#));
        let ticks = y_ticks.iter().map(|tick| (y(*tick), number(*tick)));
        svg.axes(ticks, (LEFT, right), self.y_unit, (self.x_label, height - 6.0));
        let mut free = 0.0;
        for tick in log_ticks(low, high).into_iter().filter(|tick| (low..=high).contains(tick)) {
            let (x, text) = (x(tick), number(tick));
            let half = LETTER * text.len() as f64 / 2.0;
            if x - half < free || x + half > width {
                continue;
            }
            free = x + half + 6.0;
            svg.text("tick", (x, lower + 18.0), At::Middle, &text);
        }
        for (edges, count) in self.edges.windows(2).zip(self.counts).filter(|(_, n)| **n > 0) {
            let (from, to, y) = (x(edges[0]), x(edges[1]), y(*count as f64));
            let size = ((to - from - 1.0).max(0.5), (lower - y).max(1.0));
            let [low, high] = [edges[0], edges[1]].map(number);
            let title = format!("{low} to {high} {}: {count} {}", self.x_unit, self.y_unit);
            svg.rect("bar-of", (from, y), size, &title);
        }
        self.draw_marks(&mut svg, x, lower, right);
        svg.end()
    }

    /// Each label has a line of its own, so that none covers another.
    fn draw_marks(&self, svg: &mut Svg, x: impl Fn(f64) -> f64, lower: f64, right: f64) {
        for (index, (value, label)) in self.marks.iter().enumerate() {
            let (x, y) = (x(*value), TOP + LINE * index as f64);
            let left = x + 6.0 + LETTER * label.len() as f64 > right;
            let (at, anchor) = if left { (x - 5.0, At::End) } else { (x + 5.0, At::Start) };
            svg.line("reference", (x, y - 4.0), (x, lower));
            svg.text("tick", (at, y + 6.0), anchor, label);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const BARS: Bars = Bars {
        edges: &[1.0, 2.0, 4.0, 8.0],
        counts: &[3, 0, 6],
        marks: &[(7.9, "p99 <1>")],
        x_label: "response time, ms",
        x_unit: "ms",
        y_unit: "responses",
    };

    #[test]
    fn a_bar_is_as_high_as_its_count_and_has_it_as_a_tooltip() {
        let svg = BARS.svg_of(Size::Wide);
        let heights: Vec<f64> = svg
            .split("<rect class=\"bar-of\"")
            .skip(1)
            .map(|bar| bar.split("height=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|height| height.parse().unwrap())
            .collect();
        assert_eq!(heights.len(), 2, "{svg}");
        assert!((heights[1] / heights[0] - 2.0).abs() < 0.01, "{heights:?}");
        assert!(svg.contains("<title>4 to 8 ms: 6 responses</title>"), "{svg}");
        assert!(svg.contains("p99 &lt;1&gt;"), "{svg}");
    }

    #[test]
    fn no_bars_draw_without_nonsense() {
        for bars in [Bars::default(), Bars { edges: &[1.0, 1.0], counts: &[0], ..BARS }] {
            let svg = bars.svg_of(Size::Narrow);
            assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
        }
    }
}
