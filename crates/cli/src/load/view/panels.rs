//! The panels of counts: customers, requests and handshakes, failures.

use ratatui::layout::Rect;
use ratatui::prelude::{Frame, Line, Span, Style};
use ratatui::widgets::{Block, Paragraph, Sparkline};
use tidegate_load::outcome::Name;
use tidegate_load::{Point, Snapshot};

use super::text::{BAD, BOLD, GOOD, MAIN, SOFT, WARN, bar, bounded, count, rate};

/// Cells of a name, a count, and a rate.
const NAME: usize = 9;
const COUNT: usize = 8;
const RATE: usize = 6;
/// Cells before a sparkline.
const SPARK: u16 = (1 + NAME + COUNT + 1) as u16;

/// A line with a name, a count and a rate.
fn row<'a>(name: &'a str, number: u64, per_s: Option<f64>, style: Style) -> Line<'a> {
    // A zero has no colour.
    let style = if number == 0 { SOFT } else { style };
    let per_s = per_s.map(rate).unwrap_or_default();
    Line::from(vec![
        Span::raw(format!(" {name:<NAME$}")),
        Span::styled(format!("{:>COUNT$}", count(number)), style),
        Span::styled(format!("{per_s:>RATE$}"), SOFT),
    ])
}

fn head(counted: &str) -> Line<'_> {
    Line::styled(format!(" {counted:<width$}{:>RATE$}", "per s", width = NAME + COUNT), SOFT)
}

/// A line with a name, a value, and a bar that fills the rest.
fn gauge(name: &str, value: String, share: f64, width: u16, style: Style) -> Line<'static> {
    let text = format!(" {name:<NAME$}{value:>6} ");
    let cells = width.saturating_sub(text.chars().count() as u16 + 1);
    let [full, rest] = bar(share, cells, style);
    Line::from(vec![Span::raw(text), full, rest])
}

fn panel(frame: &mut Frame, area: Rect, title: &str, lines: Vec<Line<'_>>) {
    let block =
        Block::bordered().title(Line::styled(format!(" {title} "), BOLD)).border_style(SOFT);
    frame.render_widget(Paragraph::new(lines).block(block), area);
}

/// Draws the last values as a sparkline in a line of a panel, after its text.
fn spark(frame: &mut Frame, area: Rect, line: u16, text: u16, values: impl Iterator<Item = f64>) {
    let width = area.width.saturating_sub(text + 3);
    if width == 0 || line + 2 >= area.height {
        return;
    }
    let place = Rect::new(area.x + 1 + text, area.y + 1 + line, width, 1);
    let values: Vec<u64> = values.map(|value| value.round() as u64).collect();
    let newest = &values[values.len().saturating_sub(usize::from(width))..];
    frame.render_widget(Sparkline::default().data(newest).style(MAIN), place);
}

/// Active sessions, and how sessions ended.
pub fn customers<'p>(
    frame: &mut Frame,
    area: Rect,
    now: &Snapshot,
    seconds: impl Iterator<Item = &'p Point>,
    second: &Point,
) {
    let (t, p) = (&now.totals, second);
    let mut lines = vec![
        Line::from(vec![
            Span::raw(format!(" {:<NAME$}", "active")),
            Span::styled(format!("{:>COUNT$}", count(now.in_flight)), MAIN.patch(BOLD)),
        ]),
        head("sessions"),
        row("offered", t.offered, Some(p.offered_per_s), Style::new()),
        row("admitted", t.admitted, Some(p.admitted_per_s), Style::new()),
        row("completed", t.completed, Some(p.completed_per_s), GOOD),
        row("refused", t.refused, Some(p.refused_per_s), WARN),
        row("abandoned", t.abandoned, Some(p.abandoned_per_s), BAD),
        row("failed", t.failed, Some(p.failed_per_s), BAD),
    ];
    if t.sessions_returned > 0 {
        lines.push(row("returned", t.sessions_returned, None, Style::new()));
    }
    panel(frame, area, "customers", lines);
    spark(frame, area, 0, SPARK, seconds.map(|point| point.in_flight as f64));
}

/// Requests, and full and resumed handshakes.
pub fn requests<'p>(
    frame: &mut Frame,
    area: Rect,
    now: &Snapshot,
    seconds: impl Iterator<Item = &'p Point>,
    second: &Point,
) {
    let (t, p) = (&now.totals, second);
    let share = t.full_handshake_share();
    let text = match t.full_ok + t.resumed_ok {
        0 => "-".to_owned(),
        _ => format!("{:.0} %", 100.0 * share),
    };
    let response = &now.response;
    let [p50, p95, p99, max] =
        [response.p50(), response.p95(), response.p99(), response.max()].map(bounded);
    let mut lines = vec![
        Line::raw(format!(" {:<NAME$}{:>COUNT$}", "per s", rate(p.requests_per_s))),
        head("requests"),
        row("answered", t.requests_ok, Some(p.requests_per_s), GOOD),
        row("failed", t.requests_failed, None, BAD),
        head("handshakes"),
        row("full", t.full_ok, Some(p.full_handshakes_per_s), WARN),
        row("resumed", t.resumed_ok, Some(p.resumed_handshakes_per_s), GOOD),
        gauge("full", text, share, area.width.saturating_sub(2), WARN),
    ];
    if !response.is_empty() && area.height > 10 {
        lines.push(Line::styled(" response time so far", SOFT));
        lines.push(Line::raw(format!(" p50 {p50}  p95 {p95}")));
        lines.push(Line::raw(format!(" p99 {p99}  max {max}")));
    }
    panel(frame, area, "requests and handshakes", lines);
    spark(frame, area, 0, SPARK, seconds.map(|point| point.requests_per_s));
}

/// The load generator's own state, and failures by kind.
pub fn condition(frame: &mut Frame, area: Rect, now: &Snapshot) {
    let (cpu, t) = (now.last.driver_cpu_share, &now.totals);
    let style = match cpu {
        cpu if cpu < 0.7 => GOOD,
        cpu if cpu < 0.9 => WARN,
        _ => BAD,
    };
    let late = match t.starts {
        0 => 0.0,
        starts => 100.0 * t.missed_starts as f64 / starts as f64,
    };
    let late_style = if t.missed_starts > 0 { WARN } else { SOFT };
    let inner = area.width.saturating_sub(2);
    let mut lines = vec![
        gauge("CPU", format!("{:.0} %", 100.0 * cpu), cpu, inner, style),
        Line::from(vec![
            Span::raw(format!(" {:<NAME$}", "late")),
            Span::styled(format!("{:>COUNT$}{late:>5.1} %", count(t.missed_starts)), late_style),
        ]),
    ];
    if !now.driver_warnings.is_empty() {
        lines.push(Line::styled(" SATURATED, see above", BAD.patch(BOLD)));
    }
    let wrong = wrong(now);
    lines.push(Line::styled(if wrong.is_empty() { " no failures" } else { " failures" }, SOFT));
    let room = usize::from(area.height.saturating_sub(2)).saturating_sub(lines.len());
    let shown = if wrong.len() > room { room.saturating_sub(1) } else { wrong.len() };
    for (name, number, style) in &wrong[..shown] {
        let cells = usize::from(inner).saturating_sub(2).saturating_sub(name.chars().count());
        let number = format!("{:>cells$}", count(*number));
        lines.push(Line::from(vec![Span::raw(format!(" {name}")), Span::styled(number, *style)]));
    }
    if shown < wrong.len() {
        lines.push(Line::styled(format!(" and {} more kinds", wrong.len() - shown), SOFT));
    }
    panel(frame, area, "load generator and failures", lines);
}

/// Refusals, abandonments and failures by kind, the most frequent first.
fn wrong(now: &Snapshot) -> Vec<(String, u64, Style)> {
    let t = &now.totals;
    let of = |what: &str, kinds: &std::collections::BTreeMap<Name, u64>, style| {
        let named = kinds.iter().filter(|(_, n)| **n > 0);
        named.map(|(kind, n)| (format!("{what} {kind}"), *n, style)).collect::<Vec<_>>()
    };
    let mut all = of("refused:", &t.refused_by_kind, WARN);
    all.extend(of("abandoned:", &t.abandoned_by_stage, BAD));
    all.extend(of("failed:", &t.failed_by_kind, BAD));
    if t.not_started > 0 {
        all.push(("not started: limit in flight".to_owned(), t.not_started, BAD));
    }
    all.sort_by_key(|(_, number, _)| std::cmp::Reverse(*number));
    all
}
