//! The display of a running test: a live screen on a terminal, plain lines otherwise.

mod dashboard;
mod panels;
mod plots;
mod text;

use std::io::IsTerminal;
use std::time::Duration;

use ratatui::crossterm::event::{self, Event, KeyCode, KeyEvent, KeyModifiers};
use tidegate_load::{Plan, Snapshot};

use crate::screen::FullScreen;
use crate::stdout::{is_for_result, print};
use dashboard::Dashboard;

/// Most key events read between two frames.
const KEYS: usize = 64;

/// The live screen or plain lines.
pub enum View {
    /// The live screen.
    Live(Box<(FullScreen, Dashboard)>),
    /// A line per second on standard output.
    Plain,
}

impl View {
    /// Opens the live screen if standard output is a terminal and not `plain`; `which` names
    /// the run among several.
    pub fn open(plain: bool, plan: &Plan, which: Option<&str>) -> Self {
        if plain || is_for_result() || !std::io::stdout().is_terminal() {
            return Self::Plain;
        }
        let Ok(terminal) = FullScreen::new() else { return Self::Plain };
        let mut title = format!("{} against {}", plan.scenario.name(), plan.target);
        which.iter().for_each(|which| title += &format!(", {which}"));
        let mut view = Self::Live(Box::new((terminal, Dashboard::new(title, plan.warm_up))));
        view.draw();
        view
    }

    /// Shows a snapshot. Returns whether the user pressed q, Ctrl-D or Ctrl-C to end the run
    /// (Ctrl-C is a signal unless standard input is not the terminal).
    pub fn show(&mut self, snapshot: &Snapshot) -> bool {
        match self {
            Self::Live(live) => {
                live.1.add(snapshot);
                self.draw();
                stop_requested()
            }
            Self::Plain => {
                if let Some(line) = tidegate_load::line(snapshot) {
                    // A broken pipe does not affect the measurement.
                    drop(print(format!("{line}\n")));
                    for driver in &snapshot.drivers {
                        drop(print(format!("{}\n", text::driver_line(driver))));
                    }
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

/// Whether a key that ends the run was pressed since the last call. A closed terminal gives
/// no key.
fn stop_requested() -> bool {
    let mut requested = false;
    for _ in 0..KEYS {
        match event::poll(Duration::ZERO).and_then(|ready| ready.then(event::read).transpose()) {
            Ok(Some(Event::Key(key))) => requested |= ends(key),
            Ok(Some(_)) => {}
            Ok(None) | Err(_) => break,
        }
    }
    requested
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
