//! Lines and numbers of the answer.

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

/// The words with a capital letter first.
pub fn capital(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
}

/// Milliseconds with three digits or so.
pub fn ms(ms: f64) -> String {
    match ms {
        ms if ms >= 1000.0 => format!("{:.2} s", ms / 1e3),
        ms if ms >= 100.0 => format!("{ms:.0} ms"),
        ms if ms >= 1.0 => format!("{ms:.1} ms"),
        ms => format!("{:.0} us", ms * 1e3),
    }
}

/// A share of 0 to 1.
pub fn percent(share: f64) -> String {
    match share * 100.0 {
        percent if percent >= 10.0 => format!("{percent:.0} %"),
        percent => format!("{percent:.1} %"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_have_about_three_digits() {
        let shown = [0.0004, 0.5, 1.5, 123.4, 4567.0].map(ms);
        assert_eq!(shown, ["0 us", "500 us", "1.5 ms", "123 ms", "4.57 s"]);
        assert_eq!([0.004, 0.5].map(percent), ["0.4 %", "50 %"]);
        assert_eq!(capital("processors"), "Processors");
    }
}
