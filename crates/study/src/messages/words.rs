//! Figures in words.

use serde_json::Value;

use tidegate_experiment::{Row, Summary};

/// A table of the summary.
pub(super) fn table<'a>(summary: &'a Summary, name: &str) -> &'a [Row] {
    summary.tables.get(name).map(Vec::as_slice).unwrap_or_default()
}

/// A number of a row.
pub(super) fn number(row: &Row, name: &str) -> Option<f64> {
    row.get(name).and_then(Value::as_f64)
}

/// A number with three significant digits, without an exponent.
pub(super) fn round(value: f64) -> String {
    match value.abs() {
        size if size >= 100.0 => grouped(value.round() as i64),
        size if size >= 10.0 => format!("{value:.1}"),
        size if size >= 1.0 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// With a thin space between groups of three digits.
fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push('\u{2009}');
        }
        text.push(digit);
    }
    if value < 0 { format!("−{text}") } else { text }
}

/// The result in a sentence.
pub(super) fn headline(summary: &Summary) -> String {
    let ratio = |name: &str| {
        let rows = table(summary, "overheads").iter();
        let row = rows.into_iter().find(|row| row["configuration"] == name)?;
        number(row, "clear_by_secured")
    };
    match (ratio("jsp-https"), ratio("soap-wss"), ratio("rust-https"), ratio("rust-jose")) {
        (Some(tls), Some(wss), ..) => format!(
            "On Java, security per connection divides the requests per second by {}, per message by {}. In the paper it was 2.9 and 17.4.",
            round(tls),
            round(wss)
        ),
        (_, _, Some(tls), Some(jose)) => format!(
            "Security per connection divides the requests per second by {}, per message with JOSE by {}.",
            round(tls),
            round(jose)
        ),
        _ => "What the security of messages costs".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_three_digits_and_groups() {
        let shown = [0.1234, 4.567, 45.67, 456.7, 4567.0, 1_234_567.0, -4567.0].map(round);
        let expected = [
            "0.123",
            "4.57",
            "45.7",
            "457",
            "4\u{2009}567",
            "1\u{2009}234\u{2009}567",
            "−4\u{2009}567",
        ];
        assert_eq!(shown, expected);
    }
}
