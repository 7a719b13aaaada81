//! Answers by class of status, and the figures of each page.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::groups::shortened;
use super::paragraph::paragraph;
use super::percentiles::percentile;
use crate::outcome::status_class;
use crate::result::figures::PageFigures;
use crate::result::summary::Summary;
use crate::totals::Totals;
use tidegate_stats::Percentiles;

/// Most pages that are listed.
const PAGES: usize = 30;
/// Columns of a page's name.
const NAME: usize = 36;

/// Responses by class of status, and requests without a response: two entries.
pub(super) fn answers(totals: &Totals, statuses: &BTreeMap<u16, u64>) -> [String; 2] {
    let classes = &totals.responses_by_class;
    let count = |class: &str| classes.get(class).copied().unwrap_or_default();
    let usual = ["2xx", "3xx", "4xx", "5xx"];
    let named = |class: &str| {
        let detail = if class < "4xx" { String::new() } else { by_status(class, statuses) };
        format!("{class} {}{detail}", count(class))
    };
    let mut parts = usual.map(named).to_vec();
    let rare = classes.iter().filter(|(class, _)| !usual.contains(&&***class));
    parts.extend(rare.map(|(class, count)| format!("{class} {count}")));
    let (errors, timed_out) = (totals.connection_errors, totals.timed_out());
    [
        paragraph("answers         ", &parts.join(", ")),
        format!(
            "no answer       connection errors {errors}, timed out {timed_out}, open at the end {}",
            totals.requests_cut_off
        ),
    ]
}

/// Most statuses of a class that are named.
const STATUSES: usize = 5;

/// The statuses of a class of errors, the most frequent first: ` (404 10, 405 2)`.
fn by_status(class: &str, statuses: &BTreeMap<u16, u64>) -> String {
    let of_class = |it: &(&u16, &u64)| status_class(*it.0) == class;
    let mut all: Vec<(&u16, &u64)> = statuses.iter().filter(of_class).collect();
    if all.is_empty() {
        return String::new();
    }
    all.sort_by_key(|(status, count)| (Reverse(**count), **status));
    let named = all.iter().take(STATUSES).map(|(status, count)| format!("{status} {count}"));
    let more = if all.len() > STATUSES { ", …" } else { "" };
    format!(" ({}{more})", named.collect::<Vec<_>>().join(", "))
}

/// How customers went on where a page did not offer the next one; `None` if all did.
pub(super) fn not_offered(totals: &Totals) -> Option<String> {
    let (last_id, via, back) = (totals.fallback_last_id, totals.fallback_via, totals.fallback_back);
    (last_id + via + back > 0).then(|| {
        let ways = format!("moves with the last id {last_id}, by another page {via}, back {back}");
        paragraph("not offered     ", &ways)
    })
}

/// A table of the pages, the most requested first.
pub(super) fn pages(summary: &Summary) -> Vec<String> {
    if summary.pages.is_empty() {
        return Vec::new();
    }
    let mut pages: Vec<(&String, &PageFigures)> = summary.pages.iter().collect();
    pages.sort_by_key(|(_, page)| Reverse(page.ok + page.failed));
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
    for entry in pages.iter().take(PAGES) {
        lines.push(row(entry));
        lines.extend(with_assets(entry.1));
    }
    if let Some(more @ 1..) = pages.len().checked_sub(PAGES) {
        lines.push(format!("and {more} more pages, all in the JSON"));
    }
    lines
}

/// Lines for the assets of a page, and for the page with them; none for a page without.
fn with_assets(page: &PageFigures) -> Vec<String> {
    let (Some(assets), Some(load)) = (&page.assets, &page.page_load) else { return Vec::new() };
    let line = |name: &str, requests: u64, failed: &str, times: &Percentiles| {
        let [p50, p95] = [0.5, 0.95].map(|q| match times.is_empty() {
            true => "-".to_owned(),
            false => percentile(times, q),
        });
        format!(
            "  {name:name_width$} {requests:>10} {failed:>9} {p50:>9} {p95:>9}",
            name_width = NAME - 2
        )
    };
    let requests = assets.ok + assets.failed;
    vec![
        line("assets", requests, &assets.failed.to_string(), &assets.response),
        line("page load", load.count, "", load),
    ]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::result::assets::AssetFigures;

    #[test]
    fn answers_stand_by_class_with_those_that_never_came() {
        let mut totals = Totals { requests_ok: 12, requests_failed: 9, ..Totals::default() };
        totals.responses_by_class =
            [("2xx".into(), 11), ("3xx".into(), 1), ("5xx".into(), 4)].into();
        totals.connection_errors = 3;
        let statuses = [(200, 11), (302, 1), (500, 1), (503, 3)].into();
        let expected = [
            "answers         2xx 11, 3xx 1, 4xx 0, 5xx 4 (503 3, 500 1)",
            "no answer       connection errors 3, timed out 2, open at the end 0",
        ];
        assert_eq!(answers(&totals, &statuses), expected);
        totals.responses_by_class = [("2xx".into(), 19), ("other".into(), 2)].into();
        totals.connection_errors = 0;
        let expected = [
            "answers         2xx 19, 3xx 0, 4xx 0, 5xx 0, other 2",
            "no answer       connection errors 0, timed out 0, open at the end 0",
        ];
        assert_eq!(answers(&totals, &BTreeMap::new()), expected);
    }

    #[test]
    fn moves_that_no_page_offered_have_a_line_if_there_are_any() {
        let mut totals = Totals::default();
        assert_eq!(not_offered(&totals), None);
        totals.fallback_via = 12;
        totals.fallback_back = 3;
        let expected = "not offered     moves with the last id 0, by another page 12, back 3";
        assert_eq!(not_offered(&totals).as_deref(), Some(expected));
    }

    #[test]
    fn a_page_with_assets_has_a_line_for_them_and_one_for_all_of_it() {
        let times =
            |ms| Percentiles { count: 400, p50_ms: ms, p95_ms: 2.0 * ms, ..Percentiles::default() };
        let assets = AssetFigures { ok: 20, failed: 1, response: times(1.0) };
        let page = PageFigures {
            assets: Some(assets),
            page_load: Some(times(3.0)),
            ..PageFigures::default()
        };
        let lines = with_assets(&page);
        assert_eq!(
            lines[0],
            "  assets                                     21         1      1.00      2.00"
        );
        assert_eq!(
            lines[1],
            "  page load                                 400                3.00      6.00"
        );
        assert!(with_assets(&PageFigures::default()).is_empty());
    }
}
