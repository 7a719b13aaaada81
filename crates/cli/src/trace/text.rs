//! Lines of the answer.

use std::fmt::Write as _;

/// Adds a line. Writing to a String cannot fail.
pub fn line(text: &mut String, words: &str) {
    let _ = writeln!(text, "{words}");
}

/// Adds a heading, after an empty line unless it is the first.
pub fn heading(text: &mut String, words: &str) {
    if !text.is_empty() {
        text.push('\n');
    }
    line(text, words);
}

/// Adds a sentence, in lines that fit a terminal.
pub fn say(text: &mut String, words: &str) {
    line(text, &tidegate_load::paragraph("", words));
}
