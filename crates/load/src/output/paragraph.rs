//! Text in lines of a terminal's width.

/// Columns of a line.
pub(super) const WIDTH: usize = 80;

/// A text behind a label, in lines of at most 80 columns; the lines after the first are indented
/// by the width of the label. A longer word has a line of its own.
pub fn paragraph(label: &str, text: &str) -> String {
    let indent = label.chars().count();
    let (mut out, mut column) = (label.to_owned(), indent);
    for word in text.split_whitespace() {
        let width = word.chars().count();
        if column > indent && column + 1 + width > WIDTH {
            out.push('\n');
            out.extend(std::iter::repeat_n(' ', indent));
            column = indent;
        } else if column > indent {
            out.push(' ');
            column += 1;
        }
        out.push_str(word);
        column += width;
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_end_before_column_80_and_begin_below_the_text() {
        let text = paragraph("note: ", &"word ".repeat(40));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[0], format!("note: {}", ["word"; 15].join(" ")));
        assert!(lines[1..].iter().all(|line| line.starts_with("      word")), "{text}");
        assert!(lines.iter().all(|line| line.len() <= WIDTH && !line.ends_with(' ')), "{text}");
        assert_eq!(text.matches("word").count(), 40);
        let long = "x".repeat(100);
        assert_eq!(paragraph("", &format!("a {long} b")), format!("a\n{long}\nb"));
    }
}
