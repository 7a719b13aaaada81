//! Colours of lines by name, and a figure as a file of its own.

use std::fmt::Write;

use crate::Line;
use crate::svg::{class, escape};

/// Names that have a colour of their own on every page, in light and dark.
const KNOWN: [(&str, &str, &str); 3] =
    [("off", "#c8502b", "#f0825f"), ("eac", "#a98310", "#d9b549"), ("tide", "#0b6e99", "#55b8e0")];
/// The colours of others, in light and dark: distinct also for people who see fewer colours.
const OTHERS: [(&str, &str); 9] = [
    ("#0b6e99", "#55b8e0"),
    ("#c8502b", "#f0825f"),
    ("#2f8f6b", "#5fc79f"),
    ("#7d4fc4", "#ab85ee"),
    ("#a98310", "#d9b549"),
    ("#b0448c", "#e07fc0"),
    ("#5b6875", "#9aa7b3"),
    ("#6f8f1f", "#a9cc55"),
    ("#7c1f2c", "#ff9aa2"),
];
/// What a figure needs beside the colours of its lines, in a file of its own.
const FILE_STYLE: &str = "text { font-family: 'DejaVu Sans', 'Noto Sans', 'Liberation Sans', sans-serif; } \
    .grid { stroke: #e3e1da; stroke-width: 1; } .reference { stroke: #5b6875; stroke-width: 1; stroke-dasharray: 4 4; } \
    .tick { fill: #5b6875; font-size: 12px; } .unit { fill: #5b6875; font-size: 12px; } \
    .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; } .mark { stroke: #ffffff; stroke-width: 1.5; } \
    .name { font-size: 13px; font-weight: bold; } .band { fill: #e3e1da; opacity: .45; } .bar-of { fill: #0b6e99; } \
    .title { fill: #16202a; font-size: 15px; font-weight: bold; } .at { visibility: hidden; }";

/// A colour for each name, in light and dark.
fn colours<'a>(names: &[&'a str]) -> Vec<(&'a str, &'static str, &'static str)> {
    let mut next = OTHERS.iter().cycle();
    let colour = |name: &&'a str| match KNOWN.iter().find(|(known, ..)| known == name) {
        Some((_, light, dark)) => (*name, *light, *dark),
        None => {
            let (light, dark) = next.next().expect("a circle does not end");
            (*name, *light, *dark)
        }
    };
    names.iter().map(colour).collect()
}

/// The rules that colour the lines of these names.
fn rules(names: &[&str], dark: bool) -> String {
    let mut css = String::new();
    for (name, in_light, in_dark) in colours(names) {
        let (class, colour) = (class(name), if dark { in_dark } else { in_light });
        let _ = writeln!(
            css,
            "polyline[class~=\"{class}\"] {{ stroke: {colour}; }} \
             circle[class~=\"{class}\"], text[class~=\"{class}\"] {{ fill: {colour}; }} \
             .legend [class~=\"{class}\"] {{ color: {colour}; }}"
        );
    }
    css
}

/// The names of lines, each once, in the order in which colours are given.
pub fn names<'a>(lines: impl IntoIterator<Item = &'a Line>) -> Vec<&'a str> {
    let mut names: Vec<&str> = lines.into_iter().map(|line| line.name.as_str()).collect();
    names.sort_unstable();
    names.dedup();
    names
}

/// A style sheet for a page whose figures have lines of these names.
pub fn palette(names: &[&str]) -> String {
    format!(
        "{}@media (prefers-color-scheme: dark) {{\n{}}}\n@media print {{\n{}}}\n",
        rules(names, false),
        rules(names, true),
        rules(names, false)
    )
}

/// A figure, as of [`Chart::svg`](crate::Chart::svg), as an SVG file with a title, for light
/// paper.
pub fn svg_file(svg: &str, title: &str, names: &[&str]) -> String {
    const OPEN: &str = "<svg viewBox=\"0 0 ";
    const ABOVE: f64 = 34.0;
    let Some(rest) = svg.strip_prefix(OPEN) else { return svg.to_owned() };
    let Some((size, rest)) = rest.split_once('"') else { return svg.to_owned() };
    let mut numbers = size.split(' ').map(|number| number.parse::<f64>().unwrap_or_default());
    let (width, height) = (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
    let height = height + ABOVE;
    let Some((attributes, content)) = rest.split_once('>') else { return svg.to_owned() };
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -{ABOVE} {width} {height}\" width=\"{}\" height=\"{}\"{attributes}>\
         <style>{FILE_STYLE}\n{}</style>\
         <rect x=\"0\" y=\"-{ABOVE}\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\
         <text class=\"title\" x=\"4\" y=\"-12\">{}</text>{content}",
        2.0 * width,
        2.0 * height,
        // Letters that a style element would read as markup are not in colours or classes.
        rules(names, false),
        escape(title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chart, Line};

    #[test]
    fn names_have_colours_that_do_not_change_with_other_names_where_they_are_known() {
        let css = palette(&["1 processor", "off", "2 <b>"]);
        assert!(css.contains("polyline[class~=\"1-processor\"] { stroke: #0b6e99; }"), "{css}");
        assert!(css.contains("polyline[class~=\"off\"] { stroke: #c8502b; }"), "{css}");
        assert!(css.contains("[class~=\"2--b-\"]") && !css.contains("<b>"), "{css}");
        assert!(css.contains("prefers-color-scheme: dark"), "{css}");
        let many: Vec<String> = (0..30).map(|n| format!("n{n}")).collect();
        let names: Vec<&str> = many.iter().map(String::as_str).collect();
        assert_eq!(palette(&names).matches("polyline").count(), 90);
    }

    #[test]
    fn a_file_is_an_svg_document_with_its_title_and_style() {
        let lines = [Line { name: "a".into(), points: vec![(0.0, 1.0), (1.0, 2.0)] }];
        let svg = Chart { lines: &lines, x_ticks: &[1.0], ..Chart::default() }.svg();
        let file = svg_file(&svg, "A < B", &["a"]);
        assert!(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{file}");
        assert!(file.contains("A &lt; B") && file.contains("stroke: #0b6e99"), "{file}");
        assert!(file.ends_with("</svg>"), "{file}");
        assert_eq!(svg_file("<p>", "x", &[]), "<p>");
    }
}
