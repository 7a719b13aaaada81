//! Answers by class of status, and the figures of each page.

use super::cohorts::shortened;
use super::paragraph::paragraph;
use super::percentiles::percentile;
use crate::result::figures::PageFigures;
use crate::result::summary::Summary;
use crate::result::totals::Totals;

/// Most pages that are listed.
const PAGES: usize = 30;
/// Columns of a page's name.
const NAME: usize = 36;

/// Responses by class of status, and requests without a response: two entries.
pub(super) fn answers(totals: &Totals) -> [String; 2] {
    let classes = &totals.responses_by_class;
    let count = |class: &str| classes.get(class).copied().unwrap_or_default();
    let usual = ["2xx", "3xx", "4xx", "5xx"];
    let mut parts = usual.map(|class| format!("{class} {}", count(class))).to_vec();
    let rare = classes.iter().filter(|(class, _)| !usual.contains(class));
    parts.extend(rare.map(|(class, count)| format!("{class} {count}")));
    let answered: u64 = classes.values().sum();
    let requests = totals.requests_ok + totals.requests_failed;
    let unanswered = requests.saturating_sub(answered);
    let errors = totals.connection_errors;
    let timed_out = unanswered.saturating_sub(errors);
    [
        paragraph("answers         ", &parts.join(", ")),
        format!(
            "no answer       connection errors {errors}, timed out {timed_out}, open at the end {}",
            totals.requests_cut_off
        ),
    ]
}

/// A table of the pages, the most requested first.
pub(super) fn pages(summary: &Summary) -> Vec<String> {
    if summary.pages.is_empty() {
        return Vec::new();
    }
    let mut pages: Vec<(&String, &PageFigures)> = summary.pages.iter().collect();
    pages.sort_by_key(|(_, page)| std::cmp::Reverse(page.ok + page.failed));
    let head =
        format!("{:NAME$} {:>10} {:>9} {:>9} {:>9} ms", "page", "requests", "failed", "p50", "p95");
    let row = |(name, page): &(&String, &PageFigures)| {
        let time = |q| match page.response.is_empty() {
            true => "-".to_owned(),
            false => percentile(&page.response, q),
        };
        format!(
            "{:NAME$} {:>10} {:>9} {:>9} {:>9}",
            shortened(name, NAME),
            page.ok + page.failed,
            page.failed,
            time(0.5),
            time(0.95)
        )
    };
    let mut lines = vec![head];
    lines.extend(pages.iter().take(PAGES).map(row));
    if let Some(more @ 1..) = pages.len().checked_sub(PAGES) {
        lines.push(format!("and {more} more pages, all in the JSON"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_stand_by_class_with_those_that_never_came() {
        let mut totals = Totals { requests_ok: 12, requests_failed: 9, ..Totals::default() };
        totals.responses_by_class = [("2xx", 11), ("3xx", 1), ("5xx", 4)].into();
        totals.connection_errors = 3;
        let expected = [
            "answers         2xx 11, 3xx 1, 4xx 0, 5xx 4",
            "no answer       connection errors 3, timed out 2, open at the end 0",
        ];
        assert_eq!(answers(&totals), expected);
        totals.responses_by_class = [("2xx", 19), ("other", 2)].into();
        totals.connection_errors = 0;
        let expected = [
            "answers         2xx 19, 3xx 0, 4xx 0, 5xx 0, other 2",
            "no answer       connection errors 0, timed out 0, open at the end 0",
        ];
        assert_eq!(answers(&totals), expected);
    }
}
