//! The live view of the demo: a full screen on a terminal, plain lines in a pipe. Both show
//! the same.

use std::io::{IsTerminal, Write};

use ratatui::prelude::Color;

use super::summary::{POLICIES, Point};
use super::table;
use crate::screen::{self, Screen};
use tidegate_load::Point as Second;

/// Shows what happens as it comes.
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

    /// Where the gates can be watched in a browser.
    pub fn watch(&mut self, pages: &str) {
        self.show(|state| state.watch = pages.to_owned(), || format!("{pages}\n"));
    }

    /// A new phase begins; the text describes it.
    pub fn phase(&mut self, text: &str) {
        self.show(|state| state.title = text.to_owned(), || format!("{text}\n"));
    }

    /// The figures of about one second.
    pub fn second(&mut self, label: &Label, second: &Second) {
        let fold = |state: &mut screen::State| {
            state.label = label.to_string();
            state.colour = colour(&label.policy);
            state.figures = figures(second);
            let Second { offered_per_s, completed_per_s, response, .. } = *second;
            let response_p95_ms = response.p95_ms;
            state.push(&screen::Second { offered_per_s, completed_per_s, response_p95_ms });
        };
        self.show(fold, || line(label, second));
    }

    /// The capacity was found, in sessions per second.
    pub fn capacity(&mut self, per_s: f64) {
        let line = || format!("capacity: {per_s:.0} sessions/s\n");
        self.show(|state| state.capacity = Some(per_s), line);
    }

    /// A point was measured.
    pub fn point(&mut self, point: &Point, share_of_peak: f64) {
        let row = || (colour(&point.policy), cells(point, share_of_peak));
        let line = || format!("  = {}", table::row(point, share_of_peak));
        self.show(|state| state.rows.push(row()), line);
    }

    /// A terminal that goes away does not stop the run, nor does a broken pipe.
    fn show(&mut self, fold: impl FnOnce(&mut screen::State), line: impl FnOnce() -> String) {
        match self {
            Self::Screen(screen) => {
                fold(&mut screen.state);
                screen.draw();
            }
            Self::Plain => {
                let mut out = std::io::stdout().lock();
                let _ = out.write_all(line().as_bytes()).and_then(|()| out.flush());
            }
        }
    }
}

/// The run that a second belongs to: `ramp`, `probe`, `baseline`, or a policy at a
/// multiple of the capacity.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Label {
    pub policy: String,
    pub multiple: Option<f64>,
}

impl std::fmt::Display for Label {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self.multiple {
            Some(multiple) => write!(f, "{} {multiple}×", self.policy),
            None => f.write_str(&self.policy),
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

/// A second as a line of its own.
fn line(label: &Label, second: &Second) -> String {
    format!("  {:<9} {:>3.0} s  {}\n", label.to_string(), second.at_s, figures(second))
}

#[cfg(test)]
mod tests {
    use super::*;

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
        let line = line(&label, &second);
        assert!(
            line.contains("tide 4×") && line.contains("offered   400/s") && line.contains("25 %"),
            "{line}"
        );
    }
}
