//! The operator's page: what the gate does now and did in the last hour, and why. It is complete
//! without its script, which keeps it up to date.

mod figures;
pub mod live;
mod state;
mod tables;

use crate::telemetry::history::{History, Stretch};
use crate::telemetry::snapshot::Snapshot;
use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use std::time::{Duration, SystemTime};
use tidegate_report::{Page, number};

const STYLE: &str = include_str!("page.css");
const SCRIPT: &str = include_str!("page.js");

/// The time that a page's figures show.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Span {
    /// Five minutes, with a point every three seconds.
    Minutes,
    /// An hour, with a point every thirty seconds.
    Hour,
}

impl Span {
    /// That of a request's query.
    pub fn of(query: Option<&str>) -> Self {
        match query {
            Some("span=hour") => Self::Hour,
            _ => Self::Minutes,
        }
    }

    fn length(self) -> Duration {
        match self {
            Self::Minutes => Duration::from_mins(5),
            Self::Hour => Duration::from_hours(1),
        }
    }

    /// The time between two points.
    fn step(self) -> Duration {
        match self {
            Self::Minutes => Duration::from_secs(3),
            Self::Hour => Duration::from_secs(30),
        }
    }

    fn words(self) -> &'static str {
        match self {
            Self::Minutes => "last 5 minutes",
            Self::Hour => "last hour",
        }
    }

    fn address(self) -> &'static str {
        match self {
            Self::Minutes => "/",
            Self::Hour => "/?span=hour",
        }
    }
}

/// What a page is drawn from.
#[derive(Clone, Copy)]
pub struct View<'a> {
    /// The counters, and what the controller knows.
    pub now: &'a Snapshot,
    /// The last hour.
    pub history: &'a History,
    /// The time that the figures show.
    pub span: Span,
}

impl View<'_> {
    /// The end of the time that the figures show: they change at every step alone.
    fn end(&self) -> Duration {
        let step = self.span.step().as_secs();
        Duration::from_secs(self.history.now().as_secs() / step * step)
    }

    fn last(&self, time: Duration) -> Stretch {
        Stretch::of(self.history.last(time))
    }

    /// The parts that change, by the identifier of their element; figures where these are due.
    fn parts(&self, figures: bool) -> Vec<(&'static str, Page)> {
        let mut parts = vec![
            ("state", Page::default().raw(state::State::of(self))),
            ("key", tables::key(self)),
            ("events", tables::events(self)),
            ("numbers", tables::numbers(self)),
            ("resources", tables::resources(self)),
            ("pools", tables::pools(self)),
            (
                "as-of",
                Page::default().soft(html! {
                    "Figures of " (httpdate::fmt_http_date(SystemTime::now()))
                }),
            ),
        ];
        if figures {
            parts.push(("figures", figures::figures(self)));
        }
        parts
    }

    /// The page.
    pub fn page(&self) -> Page {
        let now = self.now;
        let mut parts = self.parts(true);
        let mut part = |id| {
            let at = parts.iter().position(|(name, _)| *name == id);
            element(id, &at.map(|at| parts.swap_remove(at).1).unwrap_or_default())
        };
        let uptime = time_words(Duration::from_secs_f64(now.uptime_s.max(0.0)));
        Page::new(format!("Tidegate {}", now.address))
            .style(figures::style() + STYLE)
            .kicker(html! { "Tidegate " (now.version) ", up for " (uptime) })
            .raw(html! { h1 {
                span.address { "https://" (now.address) }
                " → " span.address { (now.upstream) }
            } })
            .raw(html! { p #live role="status" {} })
            .raw(part("state"))
            .raw(part("key"))
            .raw(html! { p.spans { @for span in [Span::Minutes, Span::Hour] {
                a href=(span.address()) aria-current=[(span == self.span).then_some("page")] {
                    "The " (span.words())
                }
            } } })
            .raw(part("figures"))
            .raw(part("events"))
            .raw(part("numbers"))
            .raw(part("resources"))
            .raw(part("pools"))
            .raw(part("as-of"))
            .raw(html! { nav aria-label="Other pages" {
                a href="/status" { "/status: all of it as JSON" } " "
                a href="/metrics" { "/metrics: for Prometheus" } " "
                a href="/healthz" { "/healthz: for load balancers" } " "
                a href="/livez" { "/livez: for supervisors" }
            } })
            .script(SCRIPT)
    }

    /// The parts as an event for the script: a line of JSON, by the identifiers of the elements.
    pub fn event(&self, figures: bool) -> String {
        let parts = self.parts(figures).into_iter();
        let parts =
            parts.map(|(id, part)| (id.to_owned(), element(id, &part).into_string().into()));
        let parts: serde_json::Map<String, serde_json::Value> = parts.collect();
        format!("retry: 1000\ndata: {}\n\n", serde_json::Value::from(parts))
    }
}

fn element(id: &str, part: &Page) -> Markup {
    html! { div id=(id) { (part) } }
}

/// The Content-Security-Policy of a page: what it has inline, and the stream of its address.
pub fn policy(page: &Page) -> String {
    let hash =
        |text: &str| format!(" 'sha256-{}'", STANDARD.encode(digest(&SHA256, text.as_bytes())));
    let (styles, scripts) = page.inlined();
    let (styles, scripts): (String, String) =
        (styles.map(hash).collect(), scripts.map(hash).collect());
    format!(
        "default-src 'none'; style-src{styles}; script-src{scripts}; connect-src 'self'; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
    )
}

/// A time with the one or two units that matter.
fn time_words(time: Duration) -> String {
    let s = time.as_secs();
    let (minutes, hours) = (s / 60, s / 3600);
    match s {
        ..60 => format!("{s} s"),
        60..3600 => format!("{minutes} min"),
        3600..86_400 => format!("{hours} h {} min", minutes % 60),
        _ => format!("{} d {} h", hours / 24, hours % 24),
    }
}

/// A rate, with a decimal below 100; a dash where there is none.
fn rate(per_s: f64) -> String {
    match per_s {
        0.0 => "0".to_owned(),
        many if many >= 100.0 && many.is_finite() => number::count(many.round() as u64),
        few => number::fixed(few, 1),
    }
}

#[cfg(test)]
mod tests;
