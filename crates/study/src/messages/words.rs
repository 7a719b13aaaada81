//! Figures in words.

use serde_json::Value;

use tidegate_experiment::{Row, Summary};
use tidegate_report::number::significant;

/// A table of the summary.
pub(super) fn table<'a>(summary: &'a Summary, name: &str) -> &'a [Row] {
    summary.tables.get(name).map(Vec::as_slice).unwrap_or_default()
}

/// A number of a row.
pub(super) fn number(row: &Row, name: &str) -> Option<f64> {
    row.get(name).and_then(Value::as_f64)
}

/// A number of a page.
pub(super) fn round(value: f64) -> String {
    significant(value, 3)
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
