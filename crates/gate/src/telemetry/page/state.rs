//! What state the gate is in, in words: whether new sessions are admitted, and why some wait.

use super::View;
use crate::telemetry::doors::shut;
use maud::{Markup, Render, html};
use std::time::{Duration, UNIX_EPOCH};
use tidegate_report::words::capital;

/// The time in which somebody was refused or waited, for the state to say so.
const RECENT: Duration = Duration::from_secs(10);

/// The state of the gate.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct State {
    level: Level,
    /// It holds no figures: a screen reader says it when it changes.
    title: &'static str,
    reasons: Vec<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Level {
    Fine,
    Quiet,
    Noted,
    Failed,
}

impl Level {
    /// CSS class and sign.
    fn shown(self) -> (&'static str, &'static str) {
        match self {
            Self::Fine => ("passed", "✓"),
            Self::Quiet => ("measured", "–"),
            Self::Noted => ("noted", "!"),
            Self::Failed => ("failed", "✗"),
        }
    }
}

impl State {
    /// That of a gate.
    pub fn of(view: &View) -> Self {
        let now = view.now;
        let recent = view.last(RECENT);
        let unused = || {
            let several = now.pools.iter().filter(|pool| pool.members.len() > 1);
            several.flat_map(|pool| &pool.members).filter(|member| member.share == 0.0)
        };
        let problems: Vec<String> = {
            let main = now.upstream_problem.iter();
            let main = main.map(|why| format!("the upstream cannot be reached: {why}"));
            let routed = now.routed_upstreams.iter();
            let routed = routed.filter_map(|it| Some((&it.url, it.problem.as_ref()?)));
            main.chain(
                routed.map(|(url, why)| format!("the upstream {url} cannot be reached: {why}")),
            )
            .collect()
        };
        let waits = recent.most_waiting > 0 || recent.refused > 0;
        let (level, title) = if now.draining {
            (Level::Noted, "The gate drains: it accepts no new connections")
        } else if now.upstream_problem.is_some() {
            (Level::Failed, "The upstream cannot be reached")
        } else if !problems.is_empty() {
            (Level::Failed, "The upstream of a route cannot be reached")
        } else if let Some(title) = shut(now.waiting_room.doors) {
            (Level::Noted, title)
        } else if now.waiting_room.waiting > 0 {
            (Level::Noted, "The service is full: new customers are in the waiting room")
        } else if recent.refused > 0 {
            (Level::Noted, "The service is full: new sessions are refused")
        } else if recent.most_waiting > 0 {
            (Level::Noted, "New sessions wait for a short time")
        } else if unused().next().is_some() {
            (Level::Noted, "A server of a pool gets no requests")
        } else if !now.upstream_failures.is_empty() {
            (Level::Noted, "The upstream failed requests in the last minute")
        } else if view.last(Duration::from_mins(1)).offered == 0 && now.sessions_active == 0 {
            (Level::Quiet, "No customers at present: every new session is admitted")
        } else {
            (Level::Fine, "Every new session is admitted")
        };
        let mut reasons = problems;
        reasons.extend(now.waiting_room.until_unix_s.map(|at| {
            let at = httpdate::fmt_http_date(UNIX_EPOCH + Duration::from_secs(at));
            format!("until {at}, unless the service or the configuration says otherwise before")
        }));
        reasons.extend(now.upstream_failures.iter().map(|it| {
            let of = it.upstream.as_ref().map(|url| format!(" {url}")).unwrap_or_default();
            format!("the upstream{of} {} ({} requests)", it.cause, it.requests)
        }));
        if let Some(control) = &now.control {
            let why_not = control.why_not.as_ref().filter(|_| waits);
            reasons.extend(why_not.map(|why| format!("why the last one had to wait: {why}")));
            reasons.extend(control.why_refused.clone());
            reasons.push(control.why.clone());
            reasons.push(control.sustainable.text.clone());
        }
        reasons.extend(now.upstream_note.clone());
        Self { level, title, reasons }
    }
}

impl Render for State {
    fn render(&self) -> Markup {
        let (class, sign) = self.level.shown();
        html! { div class={ "verdict " (class) } {
            span.sign aria-hidden="true" { (sign) }
            div {
                b role="status" { (capital(self.title)) }
                ul { @for reason in &self.reasons { li { (capital(reason)) } } }
            }
        } }
    }
}

#[cfg(test)]
mod tests {
    use super::super::Span;
    use super::*;
    use crate::telemetry::history::{History, Record};
    use crate::telemetry::snapshot::Snapshot;
    use tidegate_control::waiting_room::Doors;

    fn title(now: &Snapshot, record: Record) -> &'static str {
        let mut history = History::default();
        history.push(record);
        State::of(&View { now, history: &history, span: Span::Minutes }).title
    }

    #[test]
    fn the_worst_that_holds_is_the_state() {
        let second = Duration::from_secs(1);
        let idle = Record { at: second, length: second, ..Record::default() };
        let crowd = Record { offered: 9, refused: 5, waiting: 2, ..idle };
        let dead = Snapshot { upstream_problem: Some("refused".into()), ..Snapshot::default() };
        let fine = Snapshot::default();
        assert!(title(&fine, idle).starts_with("No customers"));
        assert_eq!(title(&fine, Record { offered: 3, ..idle }), "Every new session is admitted");
        assert!(title(&fine, Record { waiting: 1, ..idle }).starts_with("New sessions wait"));
        assert_eq!(title(&fine, crowd), "The service is full: new sessions are refused");
        let mut with_room = Snapshot::default();
        with_room.waiting_room.waiting = 3;
        assert!(title(&with_room, crowd).ends_with("new customers are in the waiting room"));
        for doors in [Doors::Before, Doors::Closed, Doors::Maintenance] {
            with_room.waiting_room.doors = doors;
            for record in [idle, crowd] {
                assert!(title(&with_room, record).contains("nobody"), "{doors:?}");
            }
        }
        with_room.waiting_room.until_unix_s = Some(1_764_612_000);
        let history = History::default();
        let state = State::of(&View { now: &with_room, history: &history, span: Span::Minutes });
        assert!(state.reasons[0].starts_with("until Mon, 01 Dec 2025 18:00:00 GMT"));
        assert_eq!(title(&dead, crowd), "The upstream cannot be reached");
        let draining = Snapshot { draining: true, ..dead };
        assert!(title(&draining, crowd).starts_with("The gate drains"));
    }
}
