//! The live view of the demo: a full screen on a terminal, plain lines in a pipe. Both show
//! the same events.

use std::io::{IsTerminal, Write};

use ratatui::prelude::Color;

use super::event::Event;
use super::summary::{POLICIES, Point};
use super::table;
use crate::screen::{self, Screen};
use tidegate_load::Point as Second;

/// Shows events as they come.
pub enum View {
    Screen(Box<Screen>),
    Plain,
}

impl View {
    /// A screen where standard output is a terminal, unless plain lines are
    /// asked for or the terminal does not do it.
    pub fn open(plain: bool) -> Self {
        if plain || !std::io::stdout().is_terminal() {
            return Self::Plain;
        }
        let Ok(mut screen) = Screen::open() else { return Self::Plain };
        screen.state.columns = &COLUMNS;
        Self::Screen(Box::new(screen))
    }

    /// Shows one event. A terminal that goes away does not stop the run.
    pub fn show(&mut self, event: &Event) {
        match self {
            Self::Screen(screen) => {
                fold(event, &mut screen.state);
                screen.draw();
            }
            Self::Plain => plain(event, &mut std::io::stdout().lock()),
        }
    }
}

const COLUMNS: [(&str, u16); 11] = [
    ("policy", 8),
    ("load", 6),
    ("offered/s", 10),
    ("admitted", 9),
    ("refused", 9),
    ("completed", 10),
    ("of peak", 8),
    ("p50 ms", 8),
    ("p95 ms", 8),
    ("full hs", 8),
    ("adm. compl.", 12),
];

fn fold(event: &Event, state: &mut screen::State) {
    match event {
        Event::Phase(text) => state.title = text.to_string(),
        Event::Capacity(rate) => state.capacity = Some(*rate),
        Event::Point { point, share_of_peak } => {
            state.rows.push((colour(&point.policy), cells(point, *share_of_peak)))
        }
        Event::Second { label, second } => {
            state.label = label.to_string();
            state.colour = colour(&label.policy);
            state.figures = figures(second);
            let Second { offered_per_s, completed_per_s, response, .. } = **second;
            let response_p95_ms = response.p95_ms;
            state.push(&screen::Second { offered_per_s, completed_per_s, response_p95_ms });
        }
    }
}

fn colour(policy: &str) -> Color {
    match POLICIES.iter().position(|p| *p == policy) {
        Some(0) => Color::Red,
        Some(1) => Color::Yellow,
        Some(2) => Color::Cyan,
        _ => Color::Green,
    }
}

fn cells(p: &Point, share_of_peak: f64) -> Vec<String> {
    let whole = |value: f64| format!("{value:.0}");
    let tenth = |value: f64| format!("{value:.1}");
    vec![
        p.policy.clone(),
        format!("{}×", p.multiple),
        whole(p.offered_per_s),
        whole(p.admitted_per_s),
        whole(p.refused_per_s),
        whole(p.completed_per_s),
        format!("{:.0} %", 100.0 * share_of_peak),
        tenth(p.response_p50_ms),
        tenth(p.response_p95_ms),
        format!("{:.0} %", 100.0 * p.full_handshake_share),
        format!("{:.1} %", 100.0 * p.admitted_completed_ratio),
    ]
}

/// One second as a line of text with fixed widths.
fn figures(second: &Second) -> String {
    let handshakes = second.full_handshakes_per_s + second.resumed_handshakes_per_s;
    let full = if handshakes > 0.0 { second.full_handshakes_per_s / handshakes } else { 0.0 };
    format!(
        "offered {:>5.0}/s  completed {:>5.0}/s  refused {:>5.0}/s  abandoned {:>5.0}/s  p95 {:>6.1} ms  full handshakes {:>3.0} %",
        second.offered_per_s,
        second.completed_per_s,
        second.refused_per_s,
        second.abandoned_per_s,
        second.response.p95_ms,
        100.0 * full,
    )
}

/// Shows an event as a line. Write errors are dropped: a broken pipe does not end the run.
fn plain(event: &Event, out: &mut impl Write) {
    let _ = match event {
        Event::Phase(text) => writeln!(out, "{text}"),
        Event::Capacity(rate) => writeln!(out, "capacity: {rate:.0} sessions/s"),
        Event::Point { point, share_of_peak } => {
            write!(out, "  = {}", table::row(point, *share_of_peak))
        }
        Event::Second { label, second } => {
            let figures = figures(second);
            writeln!(out, "  {:<9} {:>3.0} s  {figures}", label.to_string(), second.at_s)
        }
    };
    let _ = out.flush();
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::event::Label;

    #[test]
    fn plain_lines_name_policy_and_multiple() {
        let label = Label { policy: "tide".into(), multiple: Some(4.0) };
        let second = Second {
            at_s: 3.0,
            offered_per_s: 400.0,
            full_handshakes_per_s: 100.0,
            resumed_handshakes_per_s: 300.0,
            ..Second::default()
        };
        let mut out = Vec::new();
        plain(&Event::Second { label: &label, second: &second }, &mut out);
        let line = String::from_utf8(out).unwrap();
        assert!(
            line.contains("tide 4×") && line.contains("offered   400/s") && line.contains("25 %"),
            "{line}"
        );
    }
}
