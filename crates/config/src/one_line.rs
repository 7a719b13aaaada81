//! Text for messages: on one line, printable, and not too long.

/// Longest piece of a value that is repeated in a message, in characters.
const VALUE: usize = 60;
/// Longest rule or remedy in a message, in characters.
const SENTENCE: usize = 300;

/// A text on one line: runs of white space become one space, control characters
/// are escaped, and the text is cut after 60 characters.
pub fn one_line(text: &str) -> String {
    cut_at(text, VALUE)
}

/// The same, cut after 300 characters.
pub fn one_sentence(text: &str) -> String {
    cut_at(text, SENTENCE)
}

fn cut_at(text: &str, most: usize) -> String {
    let mut line = String::new();
    for (index, word) in text.split_whitespace().enumerate() {
        if index > 0 {
            line.push(' ');
        }
        for c in word.chars() {
            if c.is_control() { line.extend(c.escape_default()) } else { line.push(c) }
        }
        if line.len() > 4 * most {
            break;
        }
    }
    if line.chars().count() > most {
        line = line.chars().take(most - 1).collect();
        line.push('…');
    }
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_repeated_text_is_short_and_printable() {
        assert_eq!(one_line("a\n\tb\u{1b}[31m"), "a b\\u{1b}[31m");
        assert_eq!(one_line(&"x".repeat(1000)).chars().count(), VALUE);
    }
}
