//! A line chart as an SVG element. It uses no scripts and no fonts; colours come
//! from the page's style sheet by class.

use std::fmt::Write;

/// One line of a chart.
pub struct Line {
    /// Its label at the end, and the CSS class of its colour.
    pub name: String,
    /// Points by ascending x; a y that is not finite leaves a gap.
    pub points: Vec<(f64, f64)>,
}

/// The scale of the y axis.
#[derive(Clone, Copy, PartialEq)]
pub enum Scale {
    /// From zero.
    Linear,
    /// Logarithmic, from the power of ten at or below the lowest positive value.
    Log,
}

/// A line chart.
pub struct Chart<'a> {
    /// The lines, drawn in this order.
    pub lines: &'a [Line],
    /// Label of the x axis.
    pub x_label: &'a str,
    /// Ticks of the x axis, which runs from 0 to the largest of them.
    pub x_ticks: &'a [f64],
    /// Unit of the y axis.
    pub y_unit: &'a str,
    /// Scale of the y axis.
    pub scale: Scale,
    /// A horizontal reference line and its label, such as the peak.
    pub reference: Option<(f64, &'a str)>,
    /// Upper end of the y axis; `None`: the highest value drawn.
    pub y_max: Option<f64>,
    /// Whether a mark is drawn at every point.
    pub marks: bool,
}

const WIDTH: f64 = 560.0;
const HEIGHT: f64 = 300.0;
const LEFT: f64 = 56.0;
/// Least width of the names at the lines' ends, and the width of a letter.
const RIGHT: f64 = 58.0;
const LETTER: f64 = 7.6;
/// Height of a line of text.
const LINE: f64 = 16.0;
/// Least distance between two labels on the x axis.
const TICK: f64 = 26.0;
const TOP: f64 = 26.0;
const BOTTOM: f64 = 42.0;

impl Chart<'_> {
    /// The chart as an `svg` element.
    pub fn svg(&self) -> String {
        let axis = Axis::fit(self);
        let mut svg = format!(
            r#"<svg viewBox="0 0 {WIDTH} {HEIGHT}" role="img" aria-label="{}">"#,
            escape(&format!("{} against {}", self.y_unit, self.x_label))
        );
        self.draw_axes(&axis, &mut svg);
        self.draw_reference(&axis, &mut svg);
        for line in self.lines {
            self.draw_line(line, &axis, &mut svg);
        }
        self.draw_labels(&axis, &mut svg);
        svg.push_str("</svg>");
        svg
    }

    fn draw_axes(&self, axis: &Axis, svg: &mut String) {
        for tick in &axis.y_ticks {
            let y = axis.y(*tick);
            put(
                svg,
                format_args!(
                    r#"<line class="grid" x1="{LEFT}" x2="{}" y1="{y:.1}" y2="{y:.1}"/>"#,
                    WIDTH - axis.right
                ),
            );
            put(
                svg,
                format_args!(
                    r#"<text class="tick" x="{}" y="{:.1}" text-anchor="end">{}</text>"#,
                    LEFT - 8.0,
                    y + 4.0,
                    number(*tick)
                ),
            );
        }
        let mut free = 0.0;
        for tick in self.x_ticks {
            let x = axis.x(*tick);
            if x < free {
                continue;
            }
            free = x + TICK;
            put(
                svg,
                format_args!(
                    r#"<text class="tick" x="{x:.1}" y="{}" text-anchor="middle">{}</text>"#,
                    HEIGHT - BOTTOM + 18.0,
                    number(*tick)
                ),
            );
        }
        put(
            svg,
            format_args!(r#"<text class="unit" x="{}" y="14">{}</text>"#, 4.0, escape(self.y_unit)),
        );
        put(
            svg,
            format_args!(
                r#"<text class="unit" x="{:.1}" y="{}" text-anchor="middle">{}</text>"#,
                (LEFT + WIDTH - axis.right) / 2.0,
                HEIGHT - 6.0,
                escape(self.x_label)
            ),
        );
    }

    fn draw_reference(&self, axis: &Axis, svg: &mut String) {
        let Some((value, label)) = self.reference else { return };
        let y = axis.y(value);
        put(
            svg,
            format_args!(
                r#"<line class="reference" x1="{LEFT}" x2="{}" y1="{y:.1}" y2="{y:.1}"/>"#,
                WIDTH - axis.right
            ),
        );
        put(
            svg,
            format_args!(
                r#"<text class="tick" x="{}" y="{:.1}">{}</text>"#,
                LEFT + 4.0,
                y - 5.0,
                escape(label)
            ),
        );
    }

    fn draw_line(&self, line: &Line, axis: &Axis, svg: &mut String) {
        let finite = line.points.iter().filter(|(_, y)| y.is_finite());
        let placed: Vec<_> = finite.map(|(x, y)| (axis.x(*x), axis.y(*y))).collect();
        let path: Vec<_> = placed.iter().map(|(x, y)| format!("{x:.1},{y:.1}")).collect();
        put(
            svg,
            format_args!(r#"<polyline class="line {}" points="{}"/>"#, line.name, path.join(" ")),
        );
        if self.marks {
            for (x, y) in placed {
                put(
                    svg,
                    format_args!(
                        r#"<circle class="mark {}" cx="{x:.1}" cy="{y:.1}" r="4"/>"#,
                        line.name
                    ),
                );
            }
        }
    }

    /// Names at the lines' ends, moved apart where they would overlap.
    fn draw_labels(&self, axis: &Axis, svg: &mut String) {
        let last = |line: &Line| line.points.iter().rfind(|(_, y)| y.is_finite()).copied();
        let mut labels: Vec<_> = self
            .lines
            .iter()
            .filter_map(|line| last(line).map(|(x, y)| (axis.x(x), axis.y(y), line.name.as_str())))
            .collect();
        // Only the labels of lines that end beside each other can overlap.
        labels.sort_by(|a, b| a.0.total_cmp(&b.0));
        for labels in labels.chunk_by_mut(|a, b| b.0 - a.0 < a.2.len() as f64 * LETTER) {
            labels.sort_by(|a, b| a.1.total_cmp(&b.1));
            spread(labels);
            for (x, y, name) in labels {
                put(
                    svg,
                    format_args!(
                        r#"<text class="name {name}" x="{:.1}" y="{:.1}">{name}</text>"#,
                        *x + 9.0,
                        *y + 4.0
                    ),
                );
            }
        }
    }
}

/// Moves labels down until none covers another, then up until all are within
/// the frame.
fn spread(labels: &mut [(f64, f64, &str)]) {
    let mut free = TOP;
    for (_, y, _) in labels.iter_mut() {
        *y = y.max(free);
        free = *y + LINE;
    }
    let mut free = HEIGHT - BOTTOM + LINE / 2.0;
    for (_, y, _) in labels.iter_mut().rev() {
        *y = y.min(free);
        free = *y - LINE;
    }
}

struct Axis {
    right: f64,
    x_min: f64,
    x_max: f64,
    y_min: f64,
    y_max: f64,
    y_ticks: Vec<f64>,
    scale: Scale,
}

impl Axis {
    fn fit(chart: &Chart) -> Self {
        let ys = || {
            chart.lines.iter().flat_map(|l| l.points.iter().map(|p| p.1)).filter(|y| y.is_finite())
        };
        let highest = ys().chain(chart.reference.map(|r| r.0)).fold(0.0, f64::max).max(1e-9);
        let x_max = chart.x_ticks.iter().copied().fold(0.0, f64::max);
        let (y_min, y_max, y_ticks) = match chart.scale {
            Scale::Linear => {
                let step = round_step(chart.y_max.unwrap_or(highest * 1.08) / 5.0);
                let top = chart.y_max.unwrap_or((highest * 1.04 / step).ceil() * step);
                (0.0, top, ticks(step, top))
            }
            Scale::Log => {
                let lowest = ys().filter(|y| *y > 0.0).fold(highest, f64::min);
                let (low, high) = (lowest.log10().floor(), highest.log10().ceil());
                let high = if high > low { high } else { low + 1.0 };
                let decades = (low as i32..=high as i32).map(|p| 10f64.powi(p)).collect();
                (10f64.powf(low), 10f64.powf(high), decades)
            }
        };
        let letters = chart.lines.iter().map(|line| line.name.len()).max().unwrap_or(0);
        let right = RIGHT.max(14.0 + LETTER * letters as f64);
        Self { right, x_min: 0.0, x_max, y_min, y_max, y_ticks, scale: chart.scale }
    }

    fn x(&self, x: f64) -> f64 {
        let span = (self.x_max - self.x_min).max(1e-9);
        LEFT + (x - self.x_min) / span * (WIDTH - LEFT - self.right)
    }

    fn y(&self, y: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => y / self.y_max,
            Scale::Log => (y.max(self.y_min) / self.y_min).ln() / (self.y_max / self.y_min).ln(),
        };
        HEIGHT - BOTTOM - share.clamp(0.0, 1.0) * (HEIGHT - TOP - BOTTOM)
    }
}

fn ticks(step: f64, top: f64) -> Vec<f64> {
    (0..=10).map(|i| f64::from(i) * step).take_while(|y| *y <= top * 1.000_001).collect()
}

/// The next of 1, 2, 2.5, 5 times a power of ten.
fn round_step(raw: f64) -> f64 {
    let power = 10f64.powf(raw.log10().floor());
    let fits = |m: &f64| m * power >= raw * 0.999_999;
    [1.0, 2.0, 2.5, 5.0].into_iter().find(fits).unwrap_or(10.0) * power
}

/// A tick with at most three decimals and no trailing zeros.
fn number(value: f64) -> String {
    let rounded = (value * 1000.0).round() / 1000.0;
    format!("{rounded}")
}

fn put(svg: &mut String, element: std::fmt::Arguments) {
    svg.write_fmt(element).expect("writing to a string does not fail");
}

fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('"', "&quot;")
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
            reference: None,
            y_max: None,
            marks: true,
        }
    }

    fn line(points: &[(f64, f64)]) -> Vec<Line> {
        vec![Line { name: "tide".into(), points: points.to_vec() }]
    }

    #[test]
    fn steps_are_round_numbers_above_the_raw_one() {
        assert_eq!([0.9, 1.1, 2.1, 26.0, 70.0].map(round_step), [1.0, 2.0, 2.5, 50.0, 100.0]);
    }

    #[test]
    fn every_point_lies_inside_the_frame() {
        for scale in [Scale::Linear, Scale::Log] {
            let lines = line(&[(0.5, 1.0), (4.0, 1000.0)]);
            let chart = chart(&lines, scale);
            let axis = Axis::fit(&chart);
            for (x, y) in &lines[0].points {
                assert!((LEFT..=WIDTH - axis.right).contains(&axis.x(*x)));
                assert!((TOP - 0.1..=HEIGHT - BOTTOM).contains(&axis.y(*y)));
            }
        }
    }

    #[test]
    fn gaps_and_empty_lines_draw_without_nonsense() {
        for points in [&[][..], &[(0.5, f64::NAN)], &[(0.5, 0.0), (1.0, f64::INFINITY)]] {
            for scale in [Scale::Linear, Scale::Log] {
                let svg = chart(&line(points), scale).svg();
                assert!(!svg.contains("NaN") && !svg.contains("inf"), "{svg}");
            }
        }
    }

    #[test]
    fn names_of_many_lines_that_end_together_stay_apart_and_in_the_frame() {
        let mut labels: Vec<_> = (0..13).map(|n| (0.0, 250.0 + f64::from(n), "x")).collect();
        spread(&mut labels);
        assert!(labels.windows(2).all(|two| two[1].1 - two[0].1 >= LINE - 1e-9));
        assert!(labels[0].1 >= TOP && labels[12].1 <= HEIGHT - BOTTOM + LINE / 2.0);
        let mut apart = [(0.0, 50.0, "a"), (0.0, 100.0, "b")];
        spread(&mut apart);
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
    fn labels_are_escaped() {
        assert!(chart(&line(&[]), Scale::Linear).svg().contains("y &lt; z"));
    }
}
