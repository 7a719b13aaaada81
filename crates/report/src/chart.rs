//! A line chart as an SVG element. It uses no scripts and no fonts; colours come
//! from the page's style sheet by class.

use crate::axis::{Axis, LEFT, LETTER, TOP, name_width, number};
use crate::svg::{At, Svg, class, escape};

/// One line of a chart.
pub struct Line {
    /// Its label at the end. In lower case, with hyphens for other characters than letters and
    /// digits, it is the CSS class of its colour.
    pub name: String,
    /// Points by ascending x; a y that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
}

/// The scale of an axis.
#[derive(Clone, Copy, Default, PartialEq)]
pub enum Scale {
    /// From zero.
    #[default]
    Linear,
    /// Logarithmic, from a round number at or below the lowest positive value.
    Log,
}

/// The place that a figure has on its page.
#[derive(Clone, Copy, PartialEq)]
pub enum Size {
    /// At least 460 pixels; the names are at the lines' ends.
    Wide,
    /// The width of a phone; the names are left to a legend.
    Narrow,
}

/// A line chart.
#[derive(Clone, Copy, Default)]
pub struct Chart<'a> {
    /// The lines, drawn in this order.
    pub lines: &'a [Line],
    /// Label of the x axis.
    pub x_label: &'a str,
    /// Ticks of the x axis.
    pub x_ticks: &'a [f64],
    /// Text of a tick of the x axis; `None`: the number.
    pub x_tick: Option<fn(f64) -> String>,
    /// Upper end of the x axis, which begins at 0; `None`: the largest tick.
    pub x_max: Option<f64>,
    /// Scale of the x axis; a logarithmic one begins at the lowest x of a point.
    pub x_scale: Scale,
    /// Unit of the y axis.
    pub y_unit: &'a str,
    /// Scale of the y axis.
    pub scale: Scale,
    /// A horizontal reference line and its label, such as the peak.
    pub reference: Option<(f64, &'a str)>,
    /// A span of the x axis that is shaded, and its label, such as the warm-up.
    pub band: Option<(f64, f64, &'a str)>,
    /// Moments of the x axis, each a vertical line with its short label at the upper end.
    pub moments: &'a [(f64, String)],
    /// Upper end of the y axis; `None`: the highest value drawn.
    pub y_max: Option<f64>,
    /// Whether a mark is drawn at every point.
    pub marks: bool,
    /// Whether the values at an x are shown where the pointer is.
    pub readings: bool,
    /// Of each line the intervals of its points, drawn as error bars: x, lower and upper end. Empty
    /// where there are none.
    pub intervals: &'a [Vec<(f64, f64, f64)>],
    /// Names of lines that have no marks.
    pub unmarked: &'a [&'a str],
    /// Names of lines whose points are not joined: only their marks are drawn.
    pub unjoined: &'a [&'a str],
}

/// Height of a line of text.
const LINE: f64 = 16.0;
/// Least distance between two labels on the x axis.
const TICK: f64 = 26.0;

impl Size {
    /// Width and height of a figure.
    pub(crate) fn pixels(self) -> (f64, f64) {
        match self {
            Self::Wide => (560.0, 300.0),
            Self::Narrow => (330.0, 240.0),
        }
    }
}

impl Chart<'_> {
    /// The chart as an `svg` element.
    pub fn svg(&self) -> String {
        self.svg_of(Size::Wide)
    }

    /// The chart in one of both sizes.
    pub fn svg_of(&self, size: Size) -> String {
        let axis = Axis::fit(self, size);
        let label = escape(&format!("{} against {}", self.y_unit, self.x_label));
        let mut svg = Svg::new((axis.width, axis.height), &format!(r#" aria-label="{label}""#));
        self.draw_band(&axis, &mut svg);
        self.draw_axes(&axis, &mut svg);
        self.draw_reference(&axis, &mut svg);
        self.draw_moments(&axis, &mut svg);
        for (index, line) in self.lines.iter().enumerate() {
            for (x, low, high) in self.intervals.get(index).into_iter().flatten() {
                let ends = (axis.y(*low), axis.y(*high));
                svg.error_bar(&format!("error line {}", class(&line.name)), axis.x(*x), ends);
            }
            self.draw_line(line, &axis, &mut svg);
        }
        if size == Size::Wide {
            self.draw_names(&axis, &mut svg);
        }
        if self.readings {
            self.draw_readings(&axis, &mut svg);
        }
        svg.end()
    }

    fn draw_band(&self, axis: &Axis, svg: &mut Svg) {
        let Some((from, to, label)) = self.band else { return };
        let (from, to) = (axis.x(from), axis.x(to));
        let (_, lower) = axis.edges();
        svg.rect("band", (from, TOP), ((to - from).max(0.0), lower - TOP), "");
        if to - from >= 8.0 + LETTER * label.len() as f64 {
            svg.text("tick", (from + 6.0, TOP + 14.0), At::Start, label);
        }
    }

    fn draw_axes(&self, axis: &Axis, svg: &mut Svg) {
        let (right, lower) = axis.edges();
        let ticks = axis.y_ticks.iter().map(|tick| (axis.y(*tick), number(*tick)));
        svg.axes(ticks, (LEFT, right), self.y_unit, (self.x_label, axis.height - 6.0));
        let mut free = 0.0;
        for tick in self.x_ticks {
            let text = self.x_tick.unwrap_or(number)(*tick);
            let (x, wide) = (axis.x(*tick), LETTER * escape(&text).len() as f64);
            // Wider labels than those of most numbers need more room.
            if x < free + (wide - TICK).max(0.0) / 2.0 {
                continue;
            }
            free = x + TICK + (wide - TICK).max(0.0) / 2.0;
            svg.text("tick", (x, lower + 18.0), At::Middle, &text);
        }
    }

    fn draw_reference(&self, axis: &Axis, svg: &mut Svg) {
        let Some((value, label)) = self.reference else { return };
        let (y, (right, _)) = (axis.y(value), axis.edges());
        svg.line("reference", (LEFT, y), (right, y));
        // The label of a band is at the left.
        let (x, at) = match self.band {
            Some(_) => (right - 4.0, At::End),
            None => (LEFT + 4.0, At::Start),
        };
        // Below the line where its label would leave the frame.
        svg.text("tick", (x, if y < TOP + LINE { y + 14.0 } else { y - 5.0 }), at, label);
    }

    /// Without the labels for which there is no room beside the one before.
    fn draw_moments(&self, axis: &Axis, svg: &mut Svg) {
        let (_, lower) = axis.edges();
        let mut free = 0.0;
        for (at, label) in self.moments {
            let (x, half) = (axis.x(*at), LETTER * label.chars().count() as f64 / 2.0);
            svg.line("reference", (x, TOP), (x, lower));
            if x - half >= free {
                svg.text("tick", (x, TOP - 4.0), At::Middle, label);
                free = x + half + 3.0;
            }
        }
    }

    fn draw_line(&self, line: &Line, axis: &Axis, svg: &mut Svg) {
        let colour = class(&line.name);
        let is_joined = !self.unjoined.contains(&line.name.as_str());
        let has_marks = !is_joined || self.marks && !self.unmarked.contains(&line.name.as_str());
        let placed = |(x, y): &(f64, f64)| (axis.x(*x), axis.y(*y));
        for piece in line.points.split(|(_, y)| !y.is_finite()) {
            if let [alone] = piece {
                // A line of one point has no length.
                svg.circle(&format!("mark {colour}"), placed(alone), 2.5);
            }
            if piece.len() > 1 && is_joined {
                let path = piece.iter().map(placed).map(|(x, y)| format!("{x:.1},{y:.1}"));
                let path = path.collect::<Vec<_>>().join(" ");
                svg.put(&format!(r#"<polyline class="line {colour}" points="{path}"/>"#));
            }
            if has_marks {
                for centre in piece.iter().map(placed) {
                    svg.circle(&format!("mark {colour}"), centre, 4.0);
                }
            }
        }
    }

    /// Names at the lines' ends, moved apart where they would overlap.
    fn draw_names(&self, axis: &Axis, svg: &mut Svg) {
        let last = |line: &Line| line.points.iter().rfind(|(_, y)| y.is_finite()).copied();
        let mut labels: Vec<_> = self
            .lines
            .iter()
            .filter_map(|line| last(line).map(|(x, y)| (axis.x(x), axis.y(y), line.name.as_str())))
            .collect();
        // Only the labels of lines that end beside each other can overlap.
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        for labels in labels.chunk_by_mut(|a, b| b.0 - a.0 < name_width(a.2)) {
            labels.sort_by(|a, b| a.1.total_cmp(&b.1));
            spread(labels, axis.edges().1);
            for (x, y, name) in labels {
                let class = format!("name {}", class(name));
                svg.text(&class, (*x + 9.0, *y + 4.0), At::Start, name);
            }
        }
    }

    /// A column for each x with the values of all lines as its tooltip.
    fn draw_readings(&self, axis: &Axis, svg: &mut Svg) {
        let points = || self.lines.iter().flat_map(|line| &line.points);
        let mut xs: Vec<f64> = points().filter(|(_, y)| y.is_finite()).map(|(x, _)| *x).collect();
        xs.sort_by(f64::total_cmp);
        xs.dedup();
        let (right, lower) = axis.edges();
        for (index, &x) in xs.iter().enumerate() {
            let at = axis.x(x);
            let before = index.checked_sub(1).map(|before| (axis.x(xs[before]) + at) / 2.0);
            let after = xs.get(index + 1).map(|after| (axis.x(*after) + at) / 2.0);
            let column = (before.unwrap_or(LEFT), after.unwrap_or(right));
            svg.reading(column, (TOP, lower), Some(at), &self.reading(x));
        }
    }

    /// The values of all lines at an x.
    fn reading(&self, x: f64) -> String {
        let mut text = format!("{} {}", self.x_tick.unwrap_or(number)(x), self.x_label);
        for (index, line) in self.lines.iter().enumerate() {
            let at = line.points.iter().find(|(at, y)| *at == x && y.is_finite());
            let intervals = self.intervals.get(index).into_iter().flatten();
            let interval = intervals
                .filter(|(at, ..)| *at == x)
                .map(|(_, low, high)| format!(" ({} to {})", number(*low), number(*high)));
            if let Some((_, y)) = at {
                text += &format!("\n{} {} {}", line.name, number(*y), self.y_unit);
                text.extend(interval);
            }
        }
        text
    }
}

/// Moves labels down until none covers another, then up until all are within
/// the frame, whose lower edge is given.
fn spread(labels: &mut [(f64, f64, &str)], lower: f64) {
    let mut free = TOP;
    for (_, y, _) in labels.iter_mut() {
        *y = y.max(free);
        free = *y + LINE;
    }
    let mut free = lower + LINE / 2.0;
    for (_, y, _) in labels.iter_mut().rev() {
        *y = y.min(free);
        free = *y - LINE;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chart<'a>(lines: &'a [Line], scale: Scale) -> Chart<'a> {
        Chart {
            lines,
            x_label: "x",
            x_ticks: &[0.5, 4.0],
            y_unit: "y < z",
            scale,
            marks: true,
            ..Chart::default()
        }
    }

    fn line(points: &[(f64, f64)]) -> Vec<Line> {
        vec![Line { name: "tide".into(), points: points.to_vec() }]
    }

    #[test]
    fn every_point_lies_inside_the_frame() {
        for (scale, size) in [
            (Scale::Linear, Size::Wide),
            (Scale::Log, Size::Wide),
            (Scale::Linear, Size::Narrow),
            (Scale::Log, Size::Narrow),
        ] {
            // One of them beyond the last tick.
            let lines = line(&[(0.5, 1.0), (4.0, 1000.0), (5.0, 900.0)]);
            let chart = chart(&lines, scale);
            let axis = Axis::fit(&chart, size);
            let (right, lower) = axis.edges();
            for (x, y) in &lines[0].points {
                assert!((LEFT..=right).contains(&axis.x(*x)));
                assert!((TOP - 0.1..=lower).contains(&axis.y(*y)));
            }
        }
    }

    #[test]
    fn a_point_that_is_not_finite_leaves_a_gap_in_its_line() {
        let points = [
            (0.5, 1.0),
            (1.0, 2.0),
            (2.0, f64::NAN),
            (3.0, 3.0),
            (3.5, f64::NAN),
            (3.8, 1.0),
            (4.0, 2.0),
        ];
        let lines = line(&points);
        let svg = Chart { marks: false, ..chart(&lines, Scale::Linear) }.svg();
        let pieces: Vec<usize> = svg
            .split("<polyline")
            .skip(1)
            .map(|piece| piece.split("points=\"").nth(1).unwrap().split('"').next().unwrap())
            .map(|points| points.split(' ').count())
            .collect();
        assert_eq!(pieces, [2, 2], "{svg}");
        assert_eq!(svg.matches("<circle").count(), 1, "a point between two gaps: {svg}");
    }

    #[test]
    fn an_interval_is_a_bar_within_the_frame_and_in_the_reading() {
        let lines = line(&[(0.5, 10.0), (4.0, 20.0)]);
        let intervals = [vec![(4.0, 0.0, 40.0)]];
        for scale in [Scale::Linear, Scale::Log] {
            let chart = Chart { intervals: &intervals, readings: true, ..chart(&lines, scale) };
            let axis = Axis::fit(&chart, Size::Wide);
            assert!(axis.y(40.0) >= TOP && axis.y(40.0) < axis.y(20.0), "it has room above");
            let svg = chart.svg();
            assert_eq!(svg.matches("class=\"error line tide\"").count(), 1, "{svg}");
            assert!(svg.contains("tide 20 y &lt; z (0 to 40)"), "{svg}");
            assert!(!svg.contains("NaN"), "{svg}");
        }
    }

    #[test]
    fn a_line_can_be_without_marks_and_marks_without_a_line() {
        let points = || vec![(0.5, 1.0), (1.0, 2.0), (4.0, 3.0)];
        let line = |name: &str| Line { name: name.into(), points: points() };
        let lines = [line("law"), line("step"), line("both")];
        let chart =
            Chart { unmarked: &["law"], unjoined: &["step"], ..chart(&lines, Scale::Linear) };
        let svg = chart.svg();
        let count = |text: &str| svg.matches(text).count();
        assert_eq!((count("\"line law\""), count("\"mark law\"")), (1, 0), "{svg}");
        assert_eq!((count("\"line step\""), count("\"mark step\"")), (0, 3), "{svg}");
        assert_eq!((count("\"line both\""), count("\"mark both\"")), (1, 3), "{svg}");
    }

    #[test]
    fn gaps_and_empty_lines_draw_without_nonsense() {
        for points in [&[][..], &[(0.5, f64::NAN)], &[(0.5, 0.0), (1.0, f64::INFINITY)]] {
            for scale in [Scale::Linear, Scale::Log] {
                let lines = line(points);
                let svg = Chart { readings: true, ..chart(&lines, scale) }.svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn names_of_many_lines_that_end_together_stay_apart_and_in_the_frame() {
        let lower = 258.0;
        let mut labels: Vec<_> = (0..13).map(|n| (0.0, 250.0 + f64::from(n), "x")).collect();
        spread(&mut labels, lower);
        assert!(labels.windows(2).all(|two| two[1].1 - two[0].1 >= LINE - 1e-9));
        assert!(labels[0].1 >= TOP && labels[12].1 <= lower + LINE / 2.0);
        let mut apart = [(0.0, 50.0, "a"), (0.0, 100.0, "b")];
        spread(&mut apart, lower);
        assert_eq!(apart, [(0.0, 50.0, "a"), (0.0, 100.0, "b")]);
    }

    #[test]
    fn names_of_lines_that_end_beside_each_other_do_not_touch() {
        let ends = |name: &str, x| Line { name: name.into(), points: vec![(0.5, 1.0), (x, 2.0)] };
        let svg = chart(&[ends("one", 4.0), ends("two", 4.0 - 1e-9)], Scale::Linear).svg();
        let y_of = |name: &str| {
            let label =
                svg.split("<text").find(|text| text.contains(&format!(">{name}<"))).unwrap();
            let y = label.split("y=\"").nth(1).unwrap().split('"').next().unwrap();
            y.parse::<f64>().unwrap()
        };
        assert!((y_of("one") - y_of("two")).abs() >= LINE - 0.11, "{svg}");
    }

    #[test]
    fn moments_are_lines_with_labels_where_there_is_room_for_these() {
        let lines = line(&[(0.5, 1.0), (4.0, 2.0)]);
        let moments = [(1.0, "1".into()), (1.01, "<2>".into()), (3.0, "<3>".into())];
        let svg = Chart { moments: &moments, ..chart(&lines, Scale::Linear) }.svg();
        assert_eq!(svg.matches("class=\"reference\"").count(), 3, "{svg}");
        assert!(svg.contains(">1</text>") && svg.contains(">&lt;3&gt;</text>"), "{svg}");
        assert!(!svg.contains("2&gt;"), "it would cover that of the first: {svg}");
    }

    #[test]
    fn labels_and_names_are_escaped() {
        let lines = [Line { name: "<b>\"".into(), points: vec![(0.5, 1.0), (4.0, 2.0)] }];
        let chart =
            Chart { readings: true, band: Some((0.0, 4.0, "<i>")), ..chart(&lines, Scale::Linear) };
        let svg = chart.svg();
        assert!(svg.contains("y &lt; z") && svg.contains("&lt;b&gt;&quot;"), "{svg}");
        assert!(!svg.contains("<b>") && !svg.contains("<i>"), "{svg}");
    }

    #[test]
    fn each_x_has_the_values_of_all_lines_as_a_tooltip() {
        let lines = [
            Line { name: "a".into(), points: vec![(1.0, 5.0), (2.0, f64::NAN)] },
            Line { name: "b".into(), points: vec![(1.0, 7.0), (2.0, 8.0)] },
        ];
        let svg = Chart { readings: true, ..chart(&lines, Scale::Linear) }.svg();
        assert!(svg.contains("<title>1 x\na 5 y &lt; z\nb 7 y &lt; z</title>"), "{svg}");
        assert!(svg.contains("<title>2 x\nb 8 y &lt; z</title>"), "{svg}");
    }
}
