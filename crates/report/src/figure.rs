//! A figure on a page: caption, legend and the chart in a wide and a narrow form, of which
//! the style sheet shows the one that fits.

use maud::{Markup, PreEscaped, html};

use crate::bars::Bars;
use crate::chart::{Chart, Size};
use crate::svg::class;

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

/// A histogram with its caption.
pub fn histogram(title: &str, note: &str, bars: &Bars) -> Markup {
    framed(title, note, html! {}, |size| bars.svg_of(size))
}

fn framed(title: &str, note: &str, legend: Markup, svg: impl Fn(Size) -> String) -> Markup {
    html! { figure {
        figcaption { (title) @if !note.is_empty() { small { (note) } } }
        (legend)
        div.wide { (PreEscaped(svg(Size::Wide))) }
        div.narrow { (PreEscaped(svg(Size::Narrow))) }
    } }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::chart::Line;

    #[test]
    fn a_figure_has_both_forms_and_a_legend_where_names_are_left_out() {
        let lines = ["p50", "p<95>"].map(|name| Line { name: name.into(), points: vec![] });
        let chart = Chart { lines: &lines, x_ticks: &[1.0], ..Chart::default() };
        let html = figure("a <title>", "", &chart).into_string();
        assert_eq!(html.matches("<svg").count(), 2);
        assert!(html.contains("a &lt;title&gt;"), "{html}");
        assert!(html.contains(r#"<li class="p-95-">p&lt;95&gt;</li>"#), "{html}");
    }
}
