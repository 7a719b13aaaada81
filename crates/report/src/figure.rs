//! A figure on a page: caption, legend and the chart in a wide and a narrow form, of which
//! the style sheet shows the one that fits.

use maud::{Markup, PreEscaped, html};

use crate::Palette;
use crate::bars::Bars;
use crate::chart::{Chart, Line, Scale, Size};
use crate::stacked::StackedBars;
use crate::svg::class;

/// A line chart with its caption, which owns what it shows. Its marks are at every point, and the
/// values at an x are shown where the pointer is.
#[derive(Default)]
pub struct Figure {
    /// Short name, also of its file.
    pub id: &'static str,
    /// Its title.
    pub title: String,
    /// A sentence below the title.
    pub note: String,
    /// See [`Chart::lines`].
    pub lines: Vec<Line>,
    /// See [`Chart::x_label`].
    pub x_label: String,
    /// See [`Chart::x_ticks`].
    pub x_ticks: Vec<f64>,
    /// See [`Chart::x_tick`].
    pub x_tick: Option<fn(f64) -> String>,
    /// See [`Chart::y_unit`].
    pub y_unit: String,
    /// See [`Chart::scale`].
    pub scale: Scale,
    /// See [`Chart::reference`].
    pub reference: Option<(f64, String)>,
    /// A span of the x axis that is shaded.
    pub band: Option<(f64, f64)>,
    /// Lines have no marks where one has more points than this; 0: any number.
    pub most_marks: usize,
    /// See [`Chart::unmarked`].
    pub unmarked: &'static [&'static str],
    /// See [`Chart::unjoined`].
    pub unjoined: &'static [&'static str],
}

impl Figure {
    /// The chart.
    pub fn chart(&self) -> Chart<'_> {
        let few = |line: &Line| self.most_marks == 0 || line.points.len() <= self.most_marks;
        Chart {
            lines: &self.lines,
            x_label: &self.x_label,
            x_ticks: &self.x_ticks,
            x_tick: self.x_tick,
            y_unit: &self.y_unit,
            scale: self.scale,
            reference: self.reference.as_ref().map(|(at, label)| (*at, label.as_str())),
            band: self.band.map(|(from, to)| (from, to, "")),
            marks: self.lines.iter().all(few),
            readings: true,
            unmarked: self.unmarked,
            unjoined: self.unjoined,
            ..Chart::default()
        }
    }

    /// With its caption, for a page.
    pub fn on_page(&self) -> Markup {
        figure(&self.title, &self.note, &self.chart())
    }

    /// As a file of its own.
    pub fn file(&self, palette: &Palette) -> String {
        palette.file(&self.chart().svg(), &self.title)
    }
}

/// A line chart with its caption.
pub fn figure(title: &str, note: &str, chart: &Chart) -> Markup {
    let legend = html! {
        @if chart.lines.len() > 1 {
            ul.legend.narrow { @for line in chart.lines {
                li class=(class(&line.name)) { (line.name) }
            } }
        }
    };
    framed(title, note, legend, |size| chart.svg_of(size))
}

/// A line chart with its caption in one size: for a page that has hundreds of them.
pub fn plain_figure(title: &str, note: &str, chart: &Chart) -> Markup {
    html! { figure { (caption(title, note)) (PreEscaped(chart.svg())) } }
}

/// A histogram with its caption.
pub fn histogram(title: &str, note: &str, bars: &Bars) -> Markup {
    framed(title, note, html! {}, |size| bars.svg_of(size))
}

/// Stacked bars with their caption.
pub fn stacked(title: &str, note: &str, bars: &StackedBars) -> Markup {
    let legend = html! {
        ul.legend.narrow.parts { @for (_, part) in bars.shown() {
            li class=(part.class()) { @if part.striped { i.striped {} } @else { i {} } (part.name) }
        } }
    };
    framed(title, note, legend, |size| bars.svg_of(size))
}

fn framed(title: &str, note: &str, legend: Markup, svg: impl Fn(Size) -> String) -> Markup {
    html! { figure {
        (caption(title, note))
        (legend)
        div.wide { (PreEscaped(svg(Size::Wide))) }
        div.narrow { (PreEscaped(svg(Size::Narrow))) }
    } }
}

fn caption(title: &str, note: &str) -> Markup {
    html! { figcaption { (title) @if !note.is_empty() { small { (note) } } } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Line;
    use crate::{Bar, Group, Part};

    #[test]
    fn a_figure_has_both_forms_and_a_legend_where_names_are_left_out() {
        let lines = ["p50", "p<95>"].map(|name| Line { name: name.into(), points: vec![] });
        let chart = Chart { lines: &lines, x_ticks: &[1.0], ..Chart::default() };
        let html = figure("a <title>", "", &chart).into_string();
        assert_eq!(html.matches("<svg").count(), 2);
        assert!(html.contains("a &lt;title&gt;"), "{html}");
        assert!(html.contains(r#"<li class="p-95-">p&lt;95&gt;</li>"#), "{html}");
    }

    #[test]
    fn stacked_bars_have_a_legend_of_the_parts_that_occur_where_the_figure_has_none() {
        let parts = [("a", 1, false), ("b < c", 2, true), ("never", 3, false)];
        let parts =
            parts.map(|(name, colour, striped)| Part { name: name.into(), colour, striped });
        let bar = Bar { name: "1".into(), values: vec![1.0, 2.0, 0.0], ..Bar::default() };
        let groups = [Group { name: "x".into(), bars: vec![bar] }];
        let bars = StackedBars { parts: &parts, groups: &groups, ..StackedBars::default() };
        let html = stacked("a title", "a note", &bars).into_string();
        assert_eq!(html.matches("<svg").count(), 2);
        assert!(html.contains(r#"<li class="part-1"><i></i>a</li>"#), "{html}");
        assert!(html.contains(r#"<li class="part-2"><i class="striped"></i>b &lt; c</li>"#));
        assert!(!html.contains("never"), "{html}");
    }
}
