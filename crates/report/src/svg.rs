//! Pieces of SVG: elements, escaped text, and names of CSS classes.

use std::fmt::Write;

/// Appends an element.
pub(crate) fn put(svg: &mut String, element: std::fmt::Arguments) {
    svg.write_fmt(element).expect("writing to a string does not fail");
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
