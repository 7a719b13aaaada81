//! The tables of the page, and its key figures.

use super::{Span, View, rate, time_words};
use crate::telemetry::durations::quantile;
use crate::telemetry::history::Stretch;
use crate::telemetry::snapshot::MemberStatus;
use maud::{Markup, html};
use std::time::Duration;
use tidegate_report::number::{count, or_none, percent, time};
use tidegate_report::{Cell, Page, Table};

/// The time over which the key figures are averaged.
const NOW: Duration = Duration::from_secs(5);
/// Events in the table.
const EVENTS: usize = 20;

fn answer(stretch: &Stretch, share: f64) -> String {
    or_none(quantile(&stretch.durations, share).map(|s| s * 1e3), time)
}

/// Key figures as cards.
pub fn key(view: &View) -> Page {
    let last = view.last(NOW);
    let per_s = |count: u64| html! { (rate(last.per_s(count))) small { "/s" } };
    let limit = view.now.control.as_ref().and_then(|control| {
        let share = |it: &tidegate_control::Resource| Some(it.used_cpus? / it.capacity_cpus);
        let known = control.resources.iter().filter_map(|it| Some((it.resource, share(it)?)));
        known.max_by(|a, b| a.1.total_cmp(&b.1))
    });
    let cpu = limit.map_or_else(
        || (html! { (or_none(None, percent)) }, "CPU time in use".to_owned()),
        |(name, share)| {
            (html! { (percent(share)) }, format!("of the {}'s CPU time", name.as_str()))
        },
    );
    let cards: [(Markup, String); 6] = [
        (html! { (count(view.now.sessions_active)) }, "sessions inside".into()),
        (per_s(last.admitted), format!("admitted of {}/s offered", rate(last.per_s(last.offered)))),
        (per_s(last.refused), "refused".into()),
        (html! { (count(view.now.waiting)) }, "wait".into()),
        (html! { (answer(&last, 0.95)) }, "response time, p95".into()),
        cpu,
    ];
    Page::default().cards("key", cards)
}

/// A row of a table of stretches: its name, and what it shows of one.
type Row = (&'static str, fn(&Stretch) -> String);

const ROWS: [Row; 14] = [
    ("New sessions offered, /s", |it| rate(it.per_s(it.offered))),
    ("Admitted, /s", |it| rate(it.per_s(it.admitted))),
    ("Refused, /s", |it| rate(it.per_s(it.refused))),
    ("Left while they waited, /s", |it| rate(it.per_s(it.left))),
    ("Waiting, at most", |it| count(it.most_waiting.into())),
    ("Sessions inside, at most", |it| count(it.most_sessions.into())),
    ("Returning connections, /s", |it| rate(it.per_s(it.returning))),
    ("Full handshakes, /s", |it| rate(it.per_s(it.full))),
    ("Resumed handshakes, /s", |it| rate(it.per_s(it.resumed))),
    ("Requests, /s", |it| rate(it.per_s(it.requests()))),
    ("Of these with a status of 500 or above, /s", |it| rate(it.per_s(it.errors))),
    ("Response time, p50", |it| answer(it, 0.5)),
    ("Response time, p95", |it| answer(it, 0.95)),
    ("Response time, p99", |it| answer(it, 0.99)),
];

/// What is happening, over times of different lengths.
pub fn numbers(view: &View) -> Page {
    let span = view.span;
    let stretches = [Duration::from_secs(10), Duration::from_mins(1), span.length()]
        .map(|time| view.last(time));
    let mut table = Table::new(["figure", "last 10 s", "last minute", span.words()]).class("facts");
    for (name, show) in ROWS {
        table.row([name.to_owned()].into_iter().chain(stretches.iter().map(show)));
    }
    Page::default().heading("In numbers").table(&table)
}

/// The figures as a table, the last row first.
pub fn over_time(view: &View) -> Table {
    let mut table = Table::new([
        "ended",
        "offered/s",
        "admitted/s",
        "refused/s",
        "waiting",
        "inside",
        "requests/s",
        "p50",
        "p95",
        "p99",
    ])
    .class("dense");
    for (from, to) in stretches(view) {
        let it = Stretch::of(view.history.between(from, to));
        table.row([
            ago(view, to),
            rate(it.per_s(it.offered)),
            rate(it.per_s(it.admitted)),
            rate(it.per_s(it.refused)),
            count(it.most_waiting.into()),
            count(it.most_sessions.into()),
            rate(it.per_s(it.requests())),
            answer(&it, 0.5),
            answer(&it, 0.95),
            answer(&it, 0.99),
        ]);
    }
    table
}

/// The stretches of the table over time, from the last one back: their begin, and their end.
fn stretches(view: &View) -> impl Iterator<Item = (Duration, Duration)> {
    let (end, length) = (view.end(), view.span.length());
    let each = match view.span {
        Span::Minutes => Duration::from_secs(30),
        Span::Hour => Duration::from_mins(5),
    };
    let count = (length.as_secs() / each.as_secs()) as u32;
    let of = move |back| (end.saturating_sub(each * (back + 1)), end.saturating_sub(each * back));
    // None before the gate's start.
    (0..count).map(of).filter(|(_, to)| !to.is_zero())
}

/// How long ago a moment was.
fn ago(view: &View, at: Duration) -> String {
    match view.history.now().saturating_sub(at) {
        short if short < Duration::from_secs(3) => "now".to_owned(),
        time => format!("{} ago", time_words(time)),
    }
}

/// What happened in the last hour, the latest first.
pub fn events(view: &View) -> Page {
    let mut table =
        Table::new(["no.", "when", "what happened"]).class("wrapped facts").words(&[1, 2]);
    for event in view.history.events().rev().take(EVENTS) {
        table.row([event.number.to_string(), ago(view, event.at), event.text.clone()]);
    }
    let all = view.history.events().count();
    let more = format!("{} before these, in the last hour.", all.saturating_sub(EVENTS));
    Page::default()
        .heading("Events")
        .soft(html! { "The figures show each by its number." })
        .only_if(all > 0, |page| page.table(&table))
        .only_if(all > EVENTS, |page| page.paragraphs([more]))
}

/// The work that has kinds.
const FULL_HANDSHAKE: &str = "Full handshake";

/// The processors, and what work costs.
pub fn resources(view: &View) -> Page {
    let Some(control) = &view.now.control else { return Page::default() };
    let limit = control.sustainable.limit;
    let mut resources =
        Table::new(["resource", "CPUs", "in use", "limit"]).class("facts").words(&[3]);
    for it in &control.resources {
        let used = it.used_cpus.map(|used| used / it.capacity_cpus);
        resources.row([
            it.resource.as_str().to_owned(),
            rate(it.capacity_cpus),
            or_none(used, percent),
            if limit == Some(it.resource) { "✓".into() } else { String::new() },
        ]);
    }
    let mut costs = Table::new(["work", "CPU time"]).class("facts");
    let learned = &control.costs;
    let works = [
        (FULL_HANDSHAKE, learned.new.handshake_cpu_s),
        ("Resumed handshake", learned.returning.handshake_cpu_s),
        ("Request, in the gate", learned.gate_request_cpu_s),
        ("Request, in the upstream", learned.upstream_request_cpu_s),
        ("All requests of a session", learned.session_cpu_s),
    ];
    let shown = |cpu_s: f64| or_none(Some(cpu_s * 1e3).filter(|ms| *ms > 0.0), time);
    for (name, cpu_s) in works {
        costs.row([name.to_owned(), shown(cpu_s)]);
        let kinds = control.kinds.iter().filter(|_| name == FULL_HANDSHAKE);
        kinds.for_each(|it| costs.part([it.kind.to_owned(), shown(it.handshake_cpu_s)]));
    }
    Page::default().columns([
        Page::default().heading("Resources").table(&resources),
        Page::default().heading("Costs, as learned").table(&costs),
    ])
}

/// The servers of upstreams.
pub fn pools(view: &View) -> Page {
    let mut table = Table::new([
        "server",
        "upstream",
        "state",
        "connections",
        "responses",
        "status ≥ 500",
        "failures",
        "taken out",
    ])
    .class("facts")
    .words(&[1, 2]);
    for pool in &view.now.pools {
        for member in &pool.members {
            let (class, state) = standing(member, pool.members.len() > 1);
            table.row([
                Cell::from(member.server.clone()),
                pool.pool.clone().into(),
                Cell::from(state).class(class),
                count(member.connections_in_use).into(),
                count(member.responses).into(),
                Cell::failures(member.server_errors),
                Cell::failures(member.failures),
                count(member.ejections).into(),
            ]);
        }
    }
    let waiting: u64 = view.now.pools.iter().map(|pool| pool.waiting).sum();
    let waiting = format!("{waiting} requests wait for a connection.");
    Page::default().heading("Upstreams").table(&table).soft(html! { (waiting) })
}

fn standing(member: &MemberStatus, several: bool) -> (&'static str, String) {
    match &member.problem {
        Some(_) => ("missed", "✗ cannot be reached".to_owned()),
        None if several && member.share == 0.0 => ("missed", "✗ taken out".to_owned()),
        None if several && member.share < 1.0 => {
            ("", format!("returning: {} of its share", percent(member.share)))
        }
        None => ("met", "✓ in use".to_owned()),
    }
}
