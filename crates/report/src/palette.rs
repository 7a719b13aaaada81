//! How the lines of a page look, by name, and a figure as a file of its own.

use std::fmt::Write;

use crate::Line;
use crate::svg::{class, escape};

/// How many colours there are.
pub(crate) const COLOURS: usize = 8;
/// The colours, in light and dark: distinct also for people who see fewer colours.
const ALL: [(&str, &str); COLOURS] = [
    ("#0b6e99", "#55b8e0"),
    ("#c8502b", "#f0825f"),
    ("#2f8f6b", "#5fc79f"),
    ("#7d4fc4", "#ab85ee"),
    ("#a98310", "#d9b549"),
    ("#b0448c", "#e07fc0"),
    ("#5b6875", "#9aa7b3"),
    ("#6f8f1f", "#a9cc55"),
];
/// Names that have the same colour on every page.
const KNOWN: [(&str, usize); 3] = [("off", 1), ("eac", 4), ("tide", 0)];
/// What a figure needs beside the colours of its lines, in a file of its own.
const FILE_STYLE: &str = "text { font-family: 'DejaVu Sans', 'Noto Sans', 'Liberation Sans', sans-serif; } \
    .grid { stroke: #e3e1da; stroke-width: 1; } .reference { stroke: #5b6875; stroke-width: 1; stroke-dasharray: 4 4; } \
    .tick { fill: #5b6875; font-size: 12px; } .unit { fill: #5b6875; font-size: 12px; } \
    .line { fill: none; stroke-width: 2.5; stroke-linejoin: round; } path.error { fill: none; stroke: #16202a; stroke-width: 1.2; } .mark { stroke: #ffffff; stroke-width: 1.5; } \
    .name { font-size: 13px; font-weight: bold; paint-order: stroke; stroke: #ffffff; stroke-width: 4px; stroke-linejoin: round; } .band { fill: #e3e1da; opacity: .45; } .bar-of { fill: #0b6e99; } \
    .part { stroke: #ffffff; stroke-width: .75; } .stripes { fill: none; stroke: #ffffff; stroke-width: 1.5; stroke-opacity: .75; } \
    .title { fill: #16202a; font-weight: bold; } .at { visibility: hidden; }";

/// Size of a title's letters, and the mean width of a bold one as a part of its size.
const TITLE: f64 = 15.0;
const BOLD_WIDTH: f64 = 0.67;

/// How the lines of a page look.
#[derive(Clone, Debug)]
pub struct Palette<'a>(Vec<Look<'a>>);

/// How the lines of a name look.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Look<'a> {
    name: &'a str,
    /// Index of its colour.
    colour: usize,
    /// 0: a solid line and full marks. Above: dashed, each number otherwise, and hollow marks.
    dash: usize,
}

/// For what a style sheet is made.
#[derive(Clone, Copy)]
enum Scheme {
    Light,
    Dark,
    /// A file of its own, on white paper; its readers know no variables.
    File,
}

impl Scheme {
    fn colour(self, index: usize) -> &'static str {
        let (light, dark) = ALL[index % COLOURS];
        if matches!(self, Self::Dark) { dark } else { light }
    }

    fn paper(self) -> &'static str {
        if matches!(self, Self::File) { "#ffffff" } else { "var(--card)" }
    }
}

impl<'a> Palette<'a> {
    /// A look for each name of these lines. No two names have the same: once the colours are
    /// used up, lines are dashed and marks hollow.
    pub fn of(lines: impl IntoIterator<Item = &'a Line>) -> Self {
        Self::with(lines, &[])
    }

    /// The same, where some names have the colour of this index, and are dashed or not. Two of
    /// these may look alike.
    pub fn with(lines: impl IntoIterator<Item = &'a Line>, fixed: &[(&str, usize, bool)]) -> Self {
        let mut names: Vec<&str> = lines.into_iter().map(|line| line.name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        let fixed = |name: &str| {
            let known = || KNOWN.iter().find(|it| it.0 == name).map(|it| (it.1, 0));
            let fixed = fixed.iter().find(|it| it.0 == name);
            fixed.map(|it| (it.1, usize::from(it.2))).or_else(known)
        };
        let taken: Vec<(usize, usize)> = names.iter().filter_map(|name| fixed(name)).collect();
        let all = (0..).flat_map(|dash| (0..COLOURS).map(move |colour| (colour, dash)));
        let mut others = all.filter(|look| !taken.contains(look));
        let look = |name: &'a str| {
            let (colour, dash) = fixed(name).or_else(|| others.next()).unwrap_or_default();
            Look { name, colour, dash }
        };
        Self(names.into_iter().map(look).collect())
    }

    /// A style sheet for the page, in light and dark.
    pub fn style(&self) -> String {
        format!(
            "{}@media (prefers-color-scheme: dark) {{\n{}}}\n@media print {{\n{}}}\n",
            self.rules(Scheme::Light),
            self.rules(Scheme::Dark),
            self.rules(Scheme::Light)
        )
    }

    /// A figure of the page, as of [`Chart::svg`](crate::Chart::svg) or
    /// [`StackedBars::svg`](crate::StackedBars::svg), as an SVG file with a title, for light
    /// paper.
    pub fn file(&self, svg: &str, title: &str) -> String {
        const OPEN: &str = "<svg viewBox=\"0 0 ";
        const ABOVE: f64 = 34.0;
        let Some(rest) = svg.strip_prefix(OPEN) else { return svg.to_owned() };
        let Some((size, rest)) = rest.split_once('"') else { return svg.to_owned() };
        let mut numbers = size.split(' ').map(|number| number.parse::<f64>().unwrap_or_default());
        let (width, height) =
            (numbers.next().unwrap_or_default(), numbers.next().unwrap_or_default());
        let height = height + ABOVE;
        let Some((attributes, content)) = rest.split_once('>') else { return svg.to_owned() };
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 -{ABOVE} {width} {height}\" width=\"{}\" height=\"{}\"{attributes}>\
             <style>{FILE_STYLE}\n{}</style>\
             <rect x=\"0\" y=\"-{ABOVE}\" width=\"{width}\" height=\"{height}\" fill=\"#ffffff\"/>\
             <text class=\"title\" style=\"font-size: {:.1}px\" x=\"4\" y=\"-12\">{}</text>{content}",
            2.0 * width,
            2.0 * height,
            // Letters that a style element would read as markup are not in colours or classes.
            self.rules(Scheme::File),
            // A long title is set in smaller letters, so that none of it is cut off.
            TITLE.min((width - 8.0) / (BOLD_WIDTH * title.chars().count().max(1) as f64)),
            escape(title)
        )
    }

    /// The rules for the lines, and for the parts of stacked bars.
    fn rules(&self, scheme: Scheme) -> String {
        let (mut css, paper) = (String::new(), scheme.paper());
        for Look { name, colour, dash } in &self.0 {
            let (class, colour) = (class(name), scheme.colour(*colour));
            let _ = writeln!(
                css,
                ".line[class~=\"{class}\"] {{ stroke: {colour}; }} \
                 .mark[class~=\"{class}\"], .name[class~=\"{class}\"] {{ fill: {colour}; }} \
                 .legend [class~=\"{class}\"] {{ color: {colour}; }}"
            );
            if *dash > 0 {
                let _ = writeln!(
                    css,
                    ".line[class~=\"{class}\"] {{ stroke-dasharray: {}; }} \
                     .mark[class~=\"{class}\"] {{ fill: {paper}; stroke: {colour}; }} \
                     .legend [class~=\"{class}\"]::before {{ border-top-style: {}; }}",
                    dashes(*dash),
                    border(*dash)
                );
            }
        }
        for number in 0..COLOURS {
            let colour = scheme.colour(number);
            let _ = writeln!(
                css,
                ".part.part-{number} {{ fill: {colour}; }} .legend .part-{number} {{ color: {colour}; }}"
            );
        }
        css
    }
}

/// The lengths of dashes and gaps: dashes, dots, and then a dash with ever more dots.
fn dashes(dash: usize) -> String {
    match dash {
        1 => "7 4".to_owned(),
        2 => "2 4".to_owned(),
        more => "10 3".to_owned() + &" 2 3".repeat(more.saturating_sub(2)),
    }
}

/// The same in a legend, where a line is a border.
fn border(dash: usize) -> &'static str {
    match dash {
        1 => "dashed",
        2 => "dotted",
        _ => "double",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Chart, Part, StackedBars};

    fn lines(names: &[&str]) -> Vec<Line> {
        let points = vec![(0.0, 1.0), (1.0, 2.0)];
        names.iter().map(|name| Line { name: (*name).into(), points: points.clone() }).collect()
    }

    #[test]
    fn a_known_name_has_its_colour_and_no_other_name_has_it_too() {
        let lines = lines(&["1 processor", "tide", "off", "2 <b>"]);
        let css = Palette::of(&lines).style();
        for (class, colour) in [
            ("1-processor", "#2f8f6b"),
            ("2--b-", "#7d4fc4"),
            ("off", "#c8502b"),
            ("tide", "#0b6e99"),
        ] {
            assert!(css.contains(&format!(".line[class~=\"{class}\"] {{ stroke: {colour}; }}")));
        }
        assert!(!css.contains("<b>") && css.contains("prefers-color-scheme: dark"), "{css}");
    }

    #[test]
    fn no_two_names_look_alike_however_many_there_are() {
        let names: Vec<String> = (0..40).map(|n| format!("n{n}")).chain(["off".into()]).collect();
        let lines = lines(&names.iter().map(String::as_str).collect::<Vec<_>>());
        let Palette(looks) = Palette::of(&lines);
        let mut seen: Vec<(usize, String)> =
            looks.iter().map(|look| (look.colour, dashes(look.dash))).collect();
        seen.sort();
        seen.dedup();
        assert_eq!(seen.len(), 41);
        // Seven colours beside that of `off`, then the same with dashes.
        assert!(looks[..7].iter().all(|look| look.dash == 0) && looks[7].dash == 1);
        let css = Palette::of(&lines).style();
        assert!(css.contains("stroke-dasharray: 7 4;") && css.contains("fill: var(--card);"));
    }

    #[test]
    fn a_page_can_say_how_some_names_look() {
        let lines = lines(&["offered", "a", "completed"]);
        let Palette(looks) =
            Palette::with(&lines, &[("offered", 6, true), ("completed", 0, false)]);
        let of = |name| looks.iter().find(|look| look.name == name).unwrap();
        assert_eq!((of("offered").colour, of("offered").dash), (6, 1));
        assert_eq!((of("completed").colour, of("a").colour), (0, 1));
    }

    #[test]
    fn a_file_is_an_svg_document_with_its_title_and_style() {
        let lines = lines(&["a"]);
        let svg = Chart { lines: &lines, x_ticks: &[1.0], ..Chart::default() }.svg();
        let palette = Palette::of(&lines);
        let file = palette.file(&svg, "A < B");
        assert!(file.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""), "{file}");
        assert!(file.contains("A &lt; B") && file.contains("stroke: #0b6e99"), "{file}");
        assert!(file.ends_with("</svg>") && !file.contains("var("), "{file}");
        assert_eq!(palette.file("<p>", "x"), "<p>");
        assert!(file.contains("font-size: 15.0px"), "{file}");
        let long = palette.file(&svg, &"a long title ".repeat(8));
        assert!(long.contains("font-size: 7.9px"), "{long}");
    }

    #[test]
    fn a_file_of_stacked_bars_has_the_colours_of_their_parts() {
        let parts = [Part { name: "idle".into(), colour: 6, striped: false }];
        let bars = StackedBars { parts: &parts, ..StackedBars::default() };
        let file = Palette::of(&[]).file(&bars.svg(), "x");
        assert!(file.contains(".part.part-6 { fill: #5b6875; }"), "{file}");
    }
}
