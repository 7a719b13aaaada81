//! Pieces of SVG: elements, escaped text, and names of CSS classes.

/// An `svg` element that is being drawn. Places are in pixels, from the upper left corner.
pub(crate) struct Svg(String);

/// Which end of a text is at its place.
#[derive(Clone, Copy)]
pub(crate) enum At {
    Start,
    Middle,
    End,
}

impl Svg {
    /// An empty one of this size, with its attributes and what stands before the drawing.
    pub(crate) fn new((width, height): (f64, f64), attributes: &str) -> Self {
        Self(format!(r#"<svg viewBox="0 0 {width} {height}" role="img"{attributes}>"#))
    }

    pub(crate) fn line(&mut self, class: &str, from: (f64, f64), to: (f64, f64)) {
        let [(x1, y1), (x2, y2)] = [tenths(from), tenths(to)];
        self.put(&format!(r#"<line class="{class}" x1="{x1}" x2="{x2}" y1="{y1}" y2="{y2}"/>"#));
    }

    pub(crate) fn text(&mut self, class: &str, place: (f64, f64), at: At, text: &str) {
        let ((x, y), text) = (tenths(place), escape(text));
        let anchor = match at {
            At::Start => "",
            At::Middle => r#" text-anchor="middle""#,
            At::End => r#" text-anchor="end""#,
        };
        self.put(&format!(r#"<text class="{class}" x="{x}" y="{y}"{anchor}>{text}</text>"#));
    }

    /// A rectangle with a tooltip, unless that is empty.
    pub(crate) fn rect(&mut self, class: &str, from: (f64, f64), size: (f64, f64), title: &str) {
        let [(x, y), (wide, high)] = [tenths(from), tenths(size)];
        let rect =
            format!(r#"<rect class="{class}" x="{x}" y="{y}" width="{wide}" height="{high}""#);
        self.put(&match title {
            "" => rect + "/>",
            title => format!("{rect}><title>{}</title></rect>", escape(title)),
        });
    }

    pub(crate) fn circle(&mut self, class: &str, centre: (f64, f64), radius: f64) {
        let (x, y) = tenths(centre);
        self.put(&format!(r#"<circle class="{class}" cx="{x}" cy="{y}" r="{radius}"/>"#));
    }

    /// A vertical line with a dash at each end.
    pub(crate) fn error_bar(&mut self, class: &str, x: f64, (low, high): (f64, f64)) {
        let (left, right) = (x - 3.5, x + 3.5);
        self.put(&format!(
            r#"<path class="{class}" style="stroke-dasharray:none" d="M{x:.1} {low:.1}V{high:.1}M{left:.1} {low:.1}H{right:.1}M{left:.1} {high:.1}H{right:.1}"/>"#
        ));
    }

    /// A column of the figure that shows a text, and a line where `middle` is, under the pointer.
    pub(crate) fn reading(
        &mut self,
        (from, to): (f64, f64),
        (upper, lower): (f64, f64),
        middle: Option<f64>,
        text: &str,
    ) {
        let ((from, upper), (wide, high)) =
            (tenths((from, upper)), tenths(((to - from).max(0.0), lower - upper)));
        self.put(&format!(
            r#"<g class="at"><rect x="{from}" y="{upper}" width="{wide}" height="{high}"/>"#
        ));
        if let Some(x) = middle {
            let (x, lower) = tenths((x, lower));
            self.put(&format!(r#"<line x1="{x}" x2="{x}" y1="{upper}" y2="{lower}"/>"#));
        }
        self.put(&format!("<title>{}</title></g>", escape(text)));
    }

    /// The lines of a grid with their labels, and the units of both axes.
    pub(crate) fn axes(
        &mut self,
        ticks: impl IntoIterator<Item = (f64, String)>,
        (left, right): (f64, f64),
        y_unit: &str,
        (x_label, below): (&str, f64),
    ) {
        for (y, text) in ticks {
            self.line("grid", (left, y), (right, y));
            self.text("tick", (left - 8.0, y + 4.0), At::End, &text);
        }
        self.text("unit", (4.0, 14.0), At::Start, y_unit);
        self.text("unit", ((left + right) / 2.0, below), At::Middle, x_label);
    }

    /// Any other element.
    pub(crate) fn put(&mut self, element: &str) {
        self.0.push_str(element);
    }

    pub(crate) fn end(self) -> String {
        self.0 + "</svg>"
    }
}

/// To the tenth of a pixel: more is not seen.
fn tenths((x, y): (f64, f64)) -> (f64, f64) {
    ((x * 10.0).round() / 10.0, (y * 10.0).round() / 10.0)
}

/// A text as content of an element or of an attribute in double quotes.
pub(crate) fn escape(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('"', "&quot;")
}

/// The CSS class of a line's name: letters, digits and hyphens.
pub(crate) fn class(name: &str) -> String {
    let letter = |c: char| if c.is_ascii_alphanumeric() { c.to_ascii_lowercase() } else { '-' };
    name.chars().map(letter).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_text_ends_its_element_or_attribute() {
        assert_eq!(escape(r#"a<b> & "c""#), "a&lt;b&gt; &amp; &quot;c&quot;");
        assert_eq!(class("p99.9 \"x\""), "p99-9--x-");
        assert_eq!(class("gradient2-admission"), "gradient2-admission");
    }
}
