//! Tables of sessions, answers, failures, pages, classes and arrivals.

use std::collections::BTreeMap;

use maud::{Markup, html};

use super::format::{Percentile, bytes, count, number, share};
use super::kinds::meaning;
use tidegate_load::Summary;
use tidegate_load::outcome::Name;
use tidegate_load::result::figures::{GroupFigures, PageFigures};

/// Most rows of a table; all are in the JSON.
const ROWS: usize = 200;

/// How sessions ended, and how requests were answered.
pub(super) fn outcomes(run: &Summary) -> Markup {
    let totals = &run.totals;
    let ended = [totals.refused, totals.abandoned, totals.failed];
    let ended = ended.into_iter().fold(totals.completed, u64::saturating_add);
    let requests = totals.requests();
    let class = |name: &str| totals.responses_by_class.get(name).copied().unwrap_or_default();
    let usual = ["2xx", "3xx", "4xx", "5xx"];
    let rare = totals.responses_by_class.iter().filter(|(name, _)| !usual.contains(&&***name));
    html! { div.columns {
        section {
            h3 { "Sessions" }
            div.scroll { table.facts {
                thead { tr { th { "" } th { "sessions" } th { "of those ended" } } }
                tbody {
                    (row("offered", totals.offered, None))
                    @if totals.sessions_returned > 0 { (row("returned after a refusal or lost patience", totals.sessions_returned, None)) }
                    @if totals.not_started > 0 { (row("not started: too many in flight", totals.not_started, None)) }
                    (row("completed", totals.completed, Some(ended)))
                    (row("refused", totals.refused, Some(ended)))
                    (kinds(&totals.refused_by_kind))
                    (row("abandoned: patience ran out", totals.abandoned, Some(ended)))
                    (kinds(&totals.abandoned_by_stage))
                    (row("failed", totals.failed, Some(ended)))
                    (kinds(&totals.failed_by_kind))
                    (row("unfinished at the end of the run", totals.cut_off, None))
                }
            } }
        }
        section {
            h3 { "Requests" }
            div.scroll { table.facts {
                thead { tr { th { "" } th { "requests" } th { "share" } } }
                tbody {
                    (row("ok", totals.requests_ok, Some(requests)))
                    (row("failed", totals.requests_failed, Some(requests)))
                    @for name in usual {
                        (row(&format!("status {name}"), class(name), Some(requests)))
                        (statuses(name, &run.responses_by_status))
                    }
                    @for (name, count) in rare { (row(&format!("status {name}"), *count, Some(requests))) }
                    (row("connection errors", totals.connection_errors, Some(requests)))
                    (row("timed out", totals.timed_out(), Some(requests)))
                    @if totals.soft_checks_failed > 0 { (row("soft checks failed", totals.soft_checks_failed, None)) }
                    @if totals.redirects > 0 { (row("redirects followed", totals.redirects, None)) }
                    @if totals.requests_reloaded > 0 { (row("repeated by impatient customers", totals.requests_reloaded, None)) }
                    @if totals.retries > 0 { (row("sent again on a new connection", totals.retries, None)) }
                }
            } }
            p.soft { (bytes(totals.received_bytes as f64)) " received"
                @if run.measured_s > 0.0 { ", " (bytes(totals.received_bytes as f64 / run.measured_s)) "/s" } "." }
        }
    } }
}

fn row(name: &str, number: u64, of: Option<u64>) -> Markup {
    html! { tr {
        td { (name) } td { (count(number)) }
        td { @if let Some(of) = of { (share(number, of)) } }
    } }
}

/// The statuses of a class of errors.
fn statuses(class: &str, all: &BTreeMap<u16, u64>) -> Markup {
    let is_of = |status: u16| status >= 400 && class.starts_with(&(status / 100).to_string());
    let mut all: Vec<_> = all.iter().filter(|(status, _)| is_of(**status)).collect();
    all.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    html! { @for (status, number) in all.into_iter().take(ROWS) {
        tr.part { td { (status) } td { (count(*number)) } td { "" } }
    } }
}

fn kinds(counts: &BTreeMap<Name, u64>) -> Markup {
    let mut kinds: Vec<(&Name, &u64)> = counts.iter().collect();
    kinds.sort_by_key(|(_, count)| std::cmp::Reverse(**count));
    html! { @for (kind, number) in kinds.into_iter().take(ROWS) {
        tr.part { td { (meaning(kind)) } td { (count(*number)) } td { "" } }
    } }
}

/// What answers did not meet, with an example of each.
pub(super) fn failed_checks(run: &Summary) -> Markup {
    if run.failed_checks.is_empty() {
        return html! {};
    }
    let head = ["page", "what failed", "times", "expected", "found the first time"];
    html! {
        h2 { "Failed checks" }
        div.scroll { table.dense.wrapped {
            thead { tr { @for head in head { th.text[head != "times"] { (head) } } } }
            tbody { @for check in run.failed_checks.iter().take(ROWS) { tr {
                td { (check.page) }
                td.text { (meaning(&check.kind)) }
                td { (count(check.count)) }
                td.text { (check.expected) }
                td.text { code { (check.example) } }
            } } }
        } }
        (more(run.failed_checks.len()))
    }
}

/// The pages, the most requested first.
pub(super) fn pages(run: &Summary) -> Markup {
    if run.pages.is_empty() {
        return html! {};
    }
    let requests = |page: &PageFigures| page.ok.saturating_add(page.failed);
    let mut pages: Vec<(&String, &PageFigures)> = run.pages.iter().collect();
    pages.sort_by_key(|(_, page)| std::cmp::Reverse(requests(page)));
    html! {
        h2 { "Pages" }
        div.scroll { table.dense {
            thead { tr {
                th { "page" } th { "requests" } th { "failed" } th { "failed share" }
                @for of in Percentile::ALL { th { (of.name()) " ms" } }
            } }
            tbody { @for (name, page) in pages.iter().take(ROWS) { tr {
                td.title { (name) } td { (count(requests(page))) }
                td.missed[page.failed > 0] { (count(page.failed)) }
                td { (share(page.failed, requests(page))) }
                @for of in Percentile::ALL { td { (of.text(&page.response)) } }
            } } }
        } }
        (more(pages.len()))
    }
}

/// Classes of customers, or entries of the arrivals, if there are several.
pub(super) fn groups(title: &str, kind: &str, groups: &[GroupFigures], measured_s: f64) -> Markup {
    if groups.is_empty() {
        return html! {};
    }
    let per_s = |count: u64| {
        if measured_s > 0.0 { number(count as f64 / measured_s) } else { "–".to_owned() }
    };
    html! {
        h2 { (title) }
        div.scroll { table.dense {
            thead { tr {
                th { (kind) }
                @for head in ["offered", "completed", "completed/s", "refused", "abandoned", "failed", "requests ok", "requests failed"] { th { (head) } }
                @for of in [Percentile::P50, Percentile::P95, Percentile::P99] { th { (of.name()) " ms" } }
            } }
            tbody { @for group in groups.iter().take(ROWS) { tr {
                td.title { (group.name) }
                td { (count(group.offered)) } td { (count(group.completed)) } td { (per_s(group.completed)) }
                td { (count(group.refused)) } td { (count(group.abandoned)) } td { (count(group.failed)) }
                td { (count(group.requests_ok)) }
                td.missed[group.requests_failed > 0] { (count(group.requests_failed)) }
                @for of in [Percentile::P50, Percentile::P95, Percentile::P99] { td { (of.text(&group.response)) } }
            } } }
        } }
        (more(groups.len()))
    }
}

fn more(rows: usize) -> Markup {
    html! { @if rows > ROWS { p.soft { "And " (rows - ROWS) " more, all in the JSON." } } }
}
