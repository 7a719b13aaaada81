//! Stacked bars in groups as an SVG element, such as the time of a connection by phase. It uses
//! no scripts and no fonts; colours come from the page's style sheet by class.

mod shapes;

use crate::axis::{BOTTOM, LEFT, LETTER, TOP, number, round_step, ticks};
use crate::chart::Size;
use crate::svg::{At, Svg, escape};
use shapes::{SWATCH, entry, figure, rectangle, wrapped};

/// Stacked bars in groups.
#[derive(Clone, Copy, Default)]
pub struct StackedBars<'a> {
    /// What bars consist of, from bottom to top.
    pub parts: &'a [Part],
    /// The groups, from left to right. Where there is one, its name is not drawn.
    pub groups: &'a [Group],
    /// Label of the x axis: what the names of bars are.
    pub x_label: &'a str,
    /// Unit of the values.
    pub y_unit: &'a str,
    /// Upper end of the y axis; `None`: the highest bar.
    pub y_max: Option<f64>,
}

/// What bars consist of. Two parts with the same colour, of which one is striped, differ on paper
/// without colours as well.
#[derive(Clone, Debug, PartialEq)]
pub struct Part {
    /// Its name.
    pub name: String,
    /// Its colour: an index into those of the palette, which has eight.
    pub colour: usize,
    /// Whether it is striped.
    pub striped: bool,
}

/// Bars that stand side by side.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Its name.
    pub name: String,
    /// Its bars, from left to right.
    pub bars: Vec<Bar>,
}

/// A bar.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Bar {
    /// Its name.
    pub name: String,
    /// Its values, in the order of the parts; none where nothing was measured. What is missing,
    /// negative or not finite is 0.
    pub values: Vec<f64>,
    /// Lower and upper end of an error bar.
    pub interval: Option<(f64, f64)>,
}

/// Width to the right of the bars: half a label.
const RIGHT: f64 = 18.0;
/// Height of a line of names of groups, and of the legend.
const LINE: f64 = 15.0;
const LEGEND_LINE: f64 = 18.0;
/// Room between two groups, in bars.
const BETWEEN: f64 = 0.8;
/// Part of its place that a bar fills, and its largest width.
const FILLED: f64 = 0.8;
const WIDEST: f64 = 46.0;

impl Bar {
    fn value(&self, part: usize) -> f64 {
        self.values.get(part).copied().filter(|it| it.is_finite()).unwrap_or_default().max(0.0)
    }
}

/// Where things are.
struct Frame {
    width: f64,
    height: f64,
    right: f64,
    lower: f64,
    y_max: f64,
    y_ticks: Vec<f64>,
    /// Width of the place of a bar.
    place: f64,
    /// The lines of each group's name; none where there is one group.
    names: Vec<Vec<String>>,
    /// The parts of each line of the legend; none where the page has it.
    legend: Vec<Vec<usize>>,
}

impl Frame {
    fn y(&self, value: f64) -> f64 {
        self.lower - (value / self.y_max).clamp(0.0, 1.0) * (self.lower - TOP)
    }
}

impl StackedBars<'_> {
    /// The bars as an `svg` element.
    pub fn svg(&self) -> String {
        self.svg_of(Size::Wide)
    }

    /// The bars in one of both sizes.
    pub fn svg_of(&self, size: Size) -> String {
        let frame = self.frame(size);
        let title = escape(&format!("{} by {}", self.y_unit, self.x_label));
        let mut svg = Svg::new((frame.width, frame.height), "");
        let description = escape(&self.description());
        svg.put(&format!("<title>{title}</title><desc>{description}</desc>"));
        self.draw_axes(&frame, &mut svg);
        self.draw_bars(&frame, &mut svg);
        self.draw_legend(&frame, &mut svg);
        svg.end()
    }

    /// The parts that some bar has: those of the legend.
    pub(crate) fn shown(&self) -> impl Iterator<Item = (usize, &Part)> {
        let has = |part: usize| self.bars().any(|(_, bar)| bar.value(part) > 0.0);
        self.parts.iter().enumerate().filter(move |(part, _)| has(*part))
    }

    fn bars(&self) -> impl Iterator<Item = (&Group, &Bar)> {
        self.groups.iter().flat_map(|group| group.bars.iter().map(move |bar| (group, bar)))
    }

    fn total(&self, bar: &Bar) -> f64 {
        (0..self.parts.len()).map(|part| bar.value(part)).sum()
    }

    fn frame(&self, size: Size) -> Frame {
        let (width, height) = size.pixels();
        let right = width - RIGHT;
        let places: f64 = self.groups.iter().map(|it| it.bars.len() as f64 + BETWEEN).sum();
        let place = (right - LEFT) / places.max(1.0);
        let names: Vec<Vec<String>> = match self.groups {
            [] | [_] => Vec::new(),
            groups => groups
                .iter()
                .map(|it| wrapped(&it.name, (it.bars.len() as f64 + BETWEEN) * place))
                .collect(),
        };
        let legend = match size {
            Size::Wide => self.legend(width),
            Size::Narrow => Vec::new(),
        };
        let top = |bar: &Bar| bar.interval.map_or(0.0, |(_, high)| high).max(self.total(bar));
        let highest = self.bars().map(|(_, bar)| top(bar)).fold(0.0, f64::max).max(1e-9);
        let step = round_step(self.y_max.unwrap_or(highest) / 5.0);
        let y_max = self.y_max.unwrap_or((highest / step - 1e-9).ceil() * step);
        let below = LINE * names.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let legend_height = match legend.len() {
            0 => 0.0,
            lines => LEGEND_LINE * lines as f64 + 8.0,
        };
        Frame {
            width,
            height: height + below + legend_height,
            right,
            lower: height - BOTTOM,
            y_max,
            y_ticks: ticks(step, y_max),
            place,
            names,
            legend,
        }
    }

    /// The parts that are shown, in as many lines as they take.
    fn legend(&self, width: f64) -> Vec<Vec<usize>> {
        let mut lines: Vec<Vec<usize>> = Vec::new();
        let mut free = 0.0;
        for (index, part) in self.shown() {
            let wide = entry(part);
            match lines.last_mut() {
                Some(line) if wide <= free => line.push(index),
                _ => {
                    lines.push(vec![index]);
                    free = width - 8.0;
                }
            }
            free -= wide;
        }
        lines
    }

    fn draw_axes(&self, frame: &Frame, svg: &mut Svg) {
        let ticks = frame.y_ticks.iter().map(|tick| (frame.y(*tick), number(*tick)));
        let below = LINE * frame.names.iter().map(Vec::len).max().unwrap_or(0) as f64;
        let label = (self.x_label, frame.lower + 36.0 + below);
        svg.axes(ticks, (LEFT, frame.right), self.y_unit, label);
    }

    fn draw_bars(&self, frame: &Frame, svg: &mut Svg) {
        let wide = (frame.place * FILLED).min(WIDEST);
        let (mut at, mut free) = (LEFT, 0.0);
        for (index, group) in self.groups.iter().enumerate() {
            let from = at;
            at += frame.place * BETWEEN / 2.0;
            for bar in &group.bars {
                let middle = at + frame.place / 2.0;
                self.draw_bar(bar, (middle - wide / 2.0, wide), frame, svg);
                let letters: f64 = bar.name.chars().map(|c| if c == '.' { 0.5 } else { 1.0 }).sum();
                let half = LETTER * letters / 2.0;
                if middle - half >= free {
                    free = middle + half + 1.5;
                    svg.text("tick", (middle, frame.lower + 18.0), At::Middle, &bar.name);
                }
                self.draw_reading(group, bar, (at, frame.place), frame, svg);
                at += frame.place;
            }
            at += frame.place * BETWEEN / 2.0;
            for (line, name) in frame.names.get(index).into_iter().flatten().enumerate() {
                let (x, y) = ((from + at) / 2.0, frame.lower + 18.0 + LINE * (line + 1) as f64);
                svg.text("unit", (x, y), At::Middle, name);
            }
        }
    }

    fn draw_bar(&self, bar: &Bar, (x, wide): (f64, f64), frame: &Frame, svg: &mut Svg) {
        let mut below = 0.0;
        for (index, part) in self.parts.iter().enumerate() {
            let value = bar.value(index);
            let (lower, upper) = (frame.y(below), frame.y(below + value));
            below += value;
            // Thinner than this nothing is seen of it.
            if lower - upper >= 0.05 {
                rectangle(part, (x, upper), (wide, lower - upper), svg);
            }
        }
        if let Some((low, high)) = bar.interval {
            svg.error_bar("error", x + wide / 2.0, (frame.y(low), frame.y(high)));
        }
    }

    /// A column over the bar with its values as the tooltip.
    fn draw_reading(
        &self,
        group: &Group,
        bar: &Bar,
        (x, wide): (f64, f64),
        frame: &Frame,
        svg: &mut Svg,
    ) {
        let mut text = self.name(group, bar);
        // In the order in which they stand, from top to bottom.
        for (index, part) in self.shown().collect::<Vec<_>>().into_iter().rev() {
            if bar.value(index) > 0.0 {
                text += &format!("\n{} {} {}", part.name, figure(bar.value(index)), self.y_unit);
            }
        }
        text += &match bar.values[..] {
            [] => "\nnot measured".to_owned(),
            _ => format!("\nin all {} {}", figure(self.total(bar)), self.y_unit),
        };
        svg.reading((x, x + wide), (TOP, frame.lower), None, &text);
    }

    fn draw_legend(&self, frame: &Frame, svg: &mut Svg) {
        let first = frame.height - LEGEND_LINE * frame.legend.len() as f64 - 2.0;
        for (line, parts) in frame.legend.iter().enumerate() {
            let (mut x, y) = (4.0, first + LEGEND_LINE * line as f64);
            for index in parts {
                let part = &self.parts[*index];
                rectangle(part, (x, y), (SWATCH, SWATCH), svg);
                let place = (x + SWATCH + 5.0, y + SWATCH - 1.0);
                svg.text("unit", place, At::Start, &part.name);
                x += entry(part);
            }
        }
    }

    fn name(&self, group: &Group, bar: &Bar) -> String {
        match self.groups {
            [_] => format!("{} {}", bar.name, self.x_label),
            _ => format!("{}: {} {}", group.name, bar.name, self.x_label),
        }
    }

    /// Each bar in a sentence, for those who do not see it.
    fn description(&self) -> String {
        let of = |(group, bar): (&Group, &Bar)| {
            let name = self.name(group, bar);
            if bar.values.is_empty() {
                return format!("{name}: not measured.");
            }
            let all = format!("{name}: {} {}", figure(self.total(bar)), self.y_unit);
            let most = self.parts.iter().enumerate();
            let most = most.max_by(|a, b| bar.value(a.0).total_cmp(&bar.value(b.0)));
            match most.filter(|(index, _)| bar.value(*index) > 0.0) {
                Some((index, part)) => {
                    format!(
                        "{all}, the largest part {} with {}.",
                        part.name,
                        figure(bar.value(index))
                    )
                }
                None => all + ".",
            }
        };
        self.bars().map(of).collect::<Vec<_>>().join(" ")
    }
}

#[cfg(test)]
mod tests;
