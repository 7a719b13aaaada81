//! What one sees while a run goes on: a live view on a terminal, lines elsewhere.

mod dashboard;
mod panels;
mod plots;
mod text;

use std::io::{IsTerminal, Write};
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use tidegate_load::{Plan, Snapshot};

use crate::screen::FullScreen;
use dashboard::Dashboard;

/// Keys that are looked at between two pictures.
const KEYS: usize = 64;

/// The live view, or plain lines.
pub enum View {
    /// A terminal of its own.
    Live(Box<(FullScreen, Dashboard)>),
    /// A line per second on standard output.
    Plain,
}

impl View {
    /// The live view where standard output is a terminal, unless `plain`; `which`
    /// names the run among several.
    pub fn open(plain: bool, plan: &Plan, which: Option<&str>) -> Self {
        if plain || !std::io::stdout().is_terminal() {
            return Self::Plain;
        }
        let Ok(terminal) = FullScreen::new() else { return Self::Plain };
        let mut title = format!("{} against {}", plan.scenario.name(), plan.target);
        which.iter().for_each(|which| title += &format!(", {which}"));
        let mut view = Self::Live(Box::new((terminal, Dashboard::new(title, plan.warm_up))));
        view.draw();
        view
    }

    /// Shows how the run stands. Says whether its user wants it to end by q or Ctrl-D;
    /// or by Ctrl-C, where the terminal is not the standard input and makes no signal
    /// of it.
    pub fn show(&mut self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Live(live) => {
                live.1.take(snapshot);
                self.draw();
                asked_to_stop()
            }
            Self::Plain => {
                if let Some(line) = tidegate_load::line(snapshot) {
                    // A broken pipe is not the measurement's concern.
                    drop(writeln!(std::io::stdout(), "{line}"));
                }
                false
            }
        }
    }

    fn draw(&mut self) {
        if let Self::Live(live) = self {
            let (terminal, dashboard) = &mut **live;
            terminal.draw(|frame| dashboard.draw(frame));
        }
    }
}

/// Whether one of these keys was pressed since the last look. A terminal
/// that went away has none.
fn asked_to_stop() -> bool {
    let mut asked = false;
    for _ in 0..KEYS {
        match event::poll(Duration::ZERO).and_then(|ready| ready.then(event::read).transpose()) {
            Ok(Some(Event::Key(key))) => asked |= ends(key),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => break,
        }
    }
    asked
}

fn ends(key: KeyEvent) -> bool {
    match key.code {
        KeyCode::Char('c' | 'd') => key.modifiers.contains(KeyModifiers::CONTROL),
        KeyCode::Char('q') => true,
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ctrl_c_and_q_end_a_run_and_other_keys_do_not() {
        let key = |code, modifiers| ends(KeyEvent::new(code, modifiers));
        assert!(key(KeyCode::Char('c'), KeyModifiers::CONTROL));
        assert!(key(KeyCode::Char('q'), KeyModifiers::NONE));
        assert!(!key(KeyCode::Char('c'), KeyModifiers::NONE));
        assert!(!key(KeyCode::Enter, KeyModifiers::NONE));
    }
}
