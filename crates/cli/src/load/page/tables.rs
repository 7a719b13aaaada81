//! Tables of sessions, answers, failed checks, pages, classes and arrivals.

use std::collections::BTreeMap;

use maud::html;
use tidegate_report::number::{bytes, count, number, share};
use tidegate_report::{Cell, HeadAndCell, Page, Table};

use super::percentile::Percentile;
use tidegate_load::Summary;
use tidegate_load::outcome::{Name, meaning};
use tidegate_load::result::figures::{GroupFigures, PageFigures};

/// Most rows of a table; all are in the JSON.
const ROWS: usize = 200;

/// A heading and a table of items with its classes and its columns of words; nothing where there
/// are no items.
pub(super) fn listed<T>(
    page: Page,
    title: &str,
    (class, words): (&str, &[usize]),
    items: &[T],
    columns: &[HeadAndCell<'_, T, Cell>],
) -> Page {
    if items.is_empty() {
        return page;
    }
    let table = Table::of(items.iter().take(ROWS), columns).class(class).words(words);
    let more = items.len().saturating_sub(ROWS);
    page.heading(title)
        .table(&table)
        .only_if(more > 0, |page| page.soft(html! { "And " (more) " more, all in the JSON." }))
}

/// How sessions ended, and how requests were answered.
pub(super) fn outcomes(page: Page, run: &Summary) -> Page {
    page.columns([
        Page::default().subheading("Sessions").table(&sessions(run)),
        Page::default().subheading("Requests").table(&requests(run)).soft(html! {
            (bytes(run.totals.received_bytes as f64)) " received"
            @if run.measured_s > 0.0 { ", " (bytes(run.totals.received_bytes as f64 / run.measured_s)) "/s" } "."
        }),
    ])
}

fn sessions(run: &Summary) -> Table {
    let totals = &run.totals;
    let ended = [totals.refused, totals.abandoned, totals.failed];
    let ended = ended.into_iter().fold(totals.completed, u64::saturating_add);
    let mut table = Table::new(["", "sessions", "of those ended"]).class("facts");
    row(&mut table, "offered", totals.offered, None);
    if_any(&mut table, "returned after a refusal or lost patience", totals.sessions_returned);
    if_any(&mut table, "not started: too many in flight", totals.not_started);
    row(&mut table, "completed", totals.completed, Some(ended));
    row(&mut table, "refused", totals.refused, Some(ended));
    kinds(&mut table, &totals.refused_by_kind);
    row(&mut table, "abandoned: patience ran out", totals.abandoned, Some(ended));
    kinds(&mut table, &totals.abandoned_by_stage);
    row(&mut table, "failed", totals.failed, Some(ended));
    kinds(&mut table, &totals.failed_by_kind);
    row(&mut table, "unfinished at the end of the run", totals.cut_off, None);
    table
}

fn requests(run: &Summary) -> Table {
    let totals = &run.totals;
    let requests = Some(totals.requests());
    let usual = ["2xx", "3xx", "4xx", "5xx"];
    let rare = totals.responses_by_class.iter().filter(|(name, _)| !usual.contains(&&***name));
    let mut table = Table::new(["", "requests", "share"]).class("facts");
    row(&mut table, "ok", totals.requests_ok, requests);
    row(&mut table, "failed", totals.requests_failed, requests);
    for class in usual {
        row(&mut table, &format!("status {class}"), totals.responses(class), requests);
        statuses(&mut table, class, &run.responses_by_status);
    }
    rare.for_each(|(name, count)| row(&mut table, &format!("status {name}"), *count, requests));
    row(&mut table, "connection errors", totals.connection_errors, requests);
    row(&mut table, "timed out", totals.timed_out(), requests);
    if_any(&mut table, "soft checks failed", totals.soft_checks_failed);
    if_any(&mut table, "redirects followed", totals.redirects);
    if_any(&mut table, "pages of a waiting room", totals.waiting_pages);
    if_any(&mut table, "let in from a waiting room", totals.waited);
    if_any(&mut table, "repeated by impatient customers", totals.requests_reloaded);
    if_any(&mut table, "sent again on a new connection", totals.retries);
    table
}

fn row(table: &mut Table, name: &str, number: u64, of: Option<u64>) {
    table.row([name.into(), count(number), of.map_or(String::new(), |of| share(number, of))]);
}

/// A row of what seldom happens.
fn if_any(table: &mut Table, name: &str, number: u64) {
    if number > 0 {
        row(table, name, number, None);
    }
}

/// Rows of the parts of the row before, the largest first.
fn parts<N>(table: &mut Table, parts: impl Iterator<Item = (N, u64)>, name: fn(N) -> String) {
    let mut parts: Vec<_> = parts.collect();
    parts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    for (part, number) in parts.into_iter().take(ROWS) {
        table.part([name(part), count(number), String::new()]);
    }
}

/// The statuses of a class of errors.
fn statuses(table: &mut Table, class: &str, all: &BTreeMap<u16, u64>) {
    let is_of = |status: u16| status >= 400 && class.starts_with(&(status / 100).to_string());
    let all = all.iter().map(|(status, count)| (*status, *count));
    parts(table, all.filter(|(status, _)| is_of(*status)), |status| status.to_string());
}

fn kinds(table: &mut Table, counts: &BTreeMap<Name, u64>) {
    parts(table, counts.iter().map(|(kind, count)| (kind, *count)), |kind| meaning(kind));
}

/// What answers did not meet, with an example of each.
pub(super) fn failed_checks(page: Page, run: &Summary) -> Page {
    listed(
        page,
        "Failed checks",
        ("dense wrapped", &[1, 3, 4]),
        &run.failed_checks,
        &[
            ("page", |it| it.page.as_str().into()),
            ("what failed", |it| meaning(&it.kind).into()),
            ("times", |it| count(it.count).into()),
            ("expected", |it| it.expected.as_str().into()),
            ("found the first time", |it| Cell::default().markup(html! { code { (it.example) } })),
        ],
    )
}

/// The pages, the most requested first.
pub(super) fn pages(page: Page, run: &Summary) -> Page {
    fn requests(page: &PageFigures) -> u64 {
        page.ok.saturating_add(page.failed)
    }
    let mut pages: Vec<(&String, &PageFigures)> = run.pages.iter().collect();
    pages.sort_by_key(|(_, page)| std::cmp::Reverse(requests(page)));
    listed(
        page,
        "Pages",
        ("dense", &[]),
        &pages,
        &[
            ("page", |(name, _)| Cell::from(name.as_str()).class("title")),
            ("requests", |(_, it)| count(requests(it)).into()),
            ("failed", |(_, it)| Cell::failures(it.failed)),
            ("failed share", |(_, it)| share(it.failed, requests(it)).into()),
            ("p50 ms", |(_, it)| Percentile::P50.text(&it.response).into()),
            ("p90 ms", |(_, it)| Percentile::P90.text(&it.response).into()),
            ("p95 ms", |(_, it)| Percentile::P95.text(&it.response).into()),
            ("p99 ms", |(_, it)| Percentile::P99.text(&it.response).into()),
            ("p99.9 ms", |(_, it)| Percentile::P999.text(&it.response).into()),
            ("max ms", |(_, it)| Percentile::MAX.text(&it.response).into()),
        ],
    )
}

/// Classes of customers, or entries of the arrivals, if there are several.
pub(super) fn groups(
    page: Page,
    title: &str,
    kind: &str,
    groups: &[GroupFigures],
    measured_s: f64,
) -> Page {
    let groups: Vec<_> = groups.iter().map(|group| (group, measured_s)).collect();
    listed(
        page,
        title,
        ("dense", &[]),
        &groups,
        &[
            (kind, |(it, _)| Cell::from(it.name.as_str()).class("title")),
            ("offered", |(it, _)| count(it.offered).into()),
            ("completed", |(it, _)| count(it.completed).into()),
            // Without a window the rate is not finite, which is shown as a dash.
            ("completed/s", |(it, measured_s)| number(it.completed as f64 / measured_s).into()),
            ("refused", |(it, _)| count(it.refused).into()),
            ("abandoned", |(it, _)| count(it.abandoned).into()),
            ("failed", |(it, _)| count(it.failed).into()),
            ("requests ok", |(it, _)| count(it.requests_ok).into()),
            ("requests failed", |(it, _)| Cell::failures(it.requests_failed)),
            ("p50 ms", |(it, _)| Percentile::P50.text(&it.response).into()),
            ("p95 ms", |(it, _)| Percentile::P95.text(&it.response).into()),
            ("p99 ms", |(it, _)| Percentile::P99.text(&it.response).into()),
        ],
    )
}
