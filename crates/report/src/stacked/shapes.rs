//! Rectangles with stripes, and texts that fit.

use super::Part;
use crate::axis::number;
use crate::palette::COLOURS;
use crate::svg::Svg;

/// Side of a colour in the legend.
pub(super) const SWATCH: f64 = 11.0;
/// Most lines of a group's name.
const MOST_LINES: usize = 5;
/// Distance of stripes.
const STRIPE: f64 = 7.0;

impl Part {
    /// Its CSS class.
    pub(crate) fn class(&self) -> String {
        format!("part-{}", self.colour % COLOURS)
    }
}

/// Width of a part in the legend.
pub(super) fn entry(part: &Part) -> f64 {
    SWATCH + 5.0 + 6.8 * part.name.chars().count() as f64 + 14.0
}

/// A value with as many digits as it has a meaning.
pub(super) fn figure(value: f64) -> String {
    match value.abs() {
        large if large >= 100.0 => number(value.round()),
        middle if middle >= 10.0 => number((value * 10.0).round() / 10.0),
        _ => number(value),
    }
}

/// A rectangle in the colour of a part, with its stripes.
pub(super) fn rectangle(part: &Part, (x, y): (f64, f64), (wide, high): (f64, f64), svg: &mut Svg) {
    // Finer than other places: parts stand on each other without a gap.
    svg.put(&format!(
        r#"<rect class="part {}" x="{x:.1}" y="{y:.2}" width="{wide:.1}" height="{high:.2}"/>"#,
        part.class()
    ));
    if part.striped {
        let path = stripes((x, y), (wide, high));
        svg.put(&format!(r#"<path class="stripes" d="{path}"/>"#));
    }
}

/// Lines from the lower left to the upper right of a rectangle, cut where they leave it. Not a
/// pattern of SVG: those need an id that is unique on the page, and some browsers do not draw
/// them where the first of that id is hidden.
fn stripes((x, y): (f64, f64), (wide, high): (f64, f64)) -> String {
    let mut path = String::new();
    // On a line the sum of both coordinates is the same.
    let mut sum = STRIPE / 2.0;
    while sum < wide + high {
        let (from, to) = ((sum - high).max(0.0), sum.min(wide));
        let [(x1, y1), (x2, y2)] = [from, to].map(|at| (x + at, y + sum - at));
        path += &format!("M{x1:.1} {y1:.1}L{x2:.1} {y2:.1}");
        sum += STRIPE;
    }
    path
}

/// A name in lines that are no wider than `wide`. A long word is parted after `+`, `-` and `/`;
/// what has no room at the end is cut off.
pub(super) fn wrapped(name: &str, wide: f64) -> Vec<String> {
    let most = ((wide / 6.8) as usize).max(2);
    let mut lines: Vec<String> = Vec::new();
    let pieces = name.split_whitespace().flat_map(|word| {
        let parted = word.chars().count() > most;
        let parts = word.split_inclusive(move |sign| parted && matches!(sign, '+' | '-' | '/'));
        parts.enumerate().map(|(index, part)| (if index == 0 { " " } else { "" }, part))
    });
    for (joint, piece) in pieces {
        match lines.last_mut() {
            Some(line) if line.chars().count() + joint.len() + piece.chars().count() <= most => {
                line.push_str(joint);
                line.push_str(piece);
            }
            _ => lines.push(piece.to_owned()),
        }
    }
    let is_whole = lines.len() <= MOST_LINES;
    lines.truncate(MOST_LINES);
    let last = lines.len().saturating_sub(1);
    for (index, line) in lines.iter_mut().enumerate() {
        let too_long = line.chars().count() > most;
        if too_long || (index == last && !is_whole) {
            let kept: String = line.chars().take(most - 1).collect();
            *line = kept + "…";
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stripes_begin_and_end_at_the_edges() {
        for (wide, high) in [(20.0, 100.0), (100.0, 4.0), (3.0, 3.0)] {
            let path = stripes((10.0, 50.0), (wide, high));
            let numbers: Vec<f64> = path
                .split(['M', 'L', ' '])
                .filter(|it| !it.is_empty())
                .map(|it| it.parse().unwrap())
                .collect();
            assert!(numbers.len() >= 4, "{path}");
            for point in numbers.chunks(2) {
                assert!((10.0..=10.0 + wide + 0.06).contains(&point[0]), "{path}");
                assert!((49.9..=50.0 + high + 0.06).contains(&point[1]), "{path}");
            }
        }
    }

    #[test]
    fn long_names_are_wrapped_and_cut() {
        assert_eq!(wrapped("1 processor", 100.0), ["1 processor"]);
        assert_eq!(wrapped("1 processor", 64.0), ["1", "processor"]);
        assert_eq!(wrapped("tls+backend, cgi", 80.0), ["tls+", "backend,", "cgi"]);
        assert_eq!(wrapped("tls+backend, cgi", 88.0), ["tls+backend,", "cgi"]);
        assert_eq!(wrapped("incomprehensibilities", 50.0), ["incomp…"]);
        let many = wrapped("a bb ccc dddd eeee ffff gggg", 30.0);
        assert_eq!(many, ["a bb", "ccc", "dddd", "eeee", "fff…"]);
    }
}
