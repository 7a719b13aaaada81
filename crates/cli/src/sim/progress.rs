//! Progress of a simulation: a line on a terminal, rewritten in place, and a message when
//! the command is interrupted.

use std::io::{IsTerminal, Write};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use crate::signals::Signals;

/// Counts finished runs; shared by the threads that run them.
pub struct Progress {
    state: Mutex<State>,
    total: usize,
    begun: Instant,
    /// Whether standard error is a terminal.
    shown: bool,
}

struct State {
    done: usize,
    written: bool,
}

impl Progress {
    /// Of `total` to be done. From now on Ctrl-C and SIGTERM end the command with
    /// exit code 3, and a line that states whether results were written.
    ///
    /// # Errors
    /// When the handlers or their thread cannot be started.
    pub fn begin(total: usize) -> anyhow::Result<Arc<Self>> {
        let progress = Arc::new(Self {
            state: Mutex::new(State { done: 0, written: false }),
            total,
            begun: Instant::now(),
            shown: std::io::stderr().is_terminal(),
        });
        let mut signals = Signals::catch()?;
        let interrupted = Arc::clone(&progress);
        std::thread::Builder::new().name("signals".into()).spawn(move || {
            signals.wait();
            interrupted.interrupt();
        })?;
        Ok(progress)
    }

    /// One more is done, with this name.
    pub fn done(&self, name: &str) {
        let mut state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        state.done += 1;
        if self.shown {
            let line = line(state.done, self.total, self.begun.elapsed(), name);
            // The run goes on if the terminal is gone.
            let _ = write!(std::io::stderr().lock(), "{CLEAR}{line}");
        }
    }

    /// All is done; the line is cleared.
    pub fn end(&self) {
        if self.shown {
            let _ = write!(std::io::stderr().lock(), "{CLEAR}");
        }
    }

    /// The results are written.
    pub fn written(&self) {
        self.state.lock().unwrap_or_else(PoisonError::into_inner).written = true;
    }

    fn interrupt(&self) -> ! {
        // Held to the end: no other line comes after this one.
        let state = self.state.lock().unwrap_or_else(PoisonError::into_inner);
        let clear = if self.shown { CLEAR } else { "" };
        match state.written {
            true => eprintln!("{clear}tidegate: interrupted; the results are written"),
            false => eprintln!(
                "{clear}tidegate: interrupted when {} of {} were simulated; no results are written",
                state.done, self.total
            ),
        }
        std::process::exit(3)
    }
}

/// To the beginning of the line, which is emptied.
const CLEAR: &str = "\r\x1b[K";

/// `37 of 180 simulated, about 2 min left: ramp, tide`, short enough for one line of
/// a narrow terminal.
fn line(done: usize, total: usize, passed: Duration, name: &str) -> String {
    let left = passed.as_secs_f64() / done.max(1) as f64 * (total - done.min(total)) as f64;
    let left = match left {
        s if s < 90.0 => format!("{s:.0} s"),
        s => format!("{:.0} min", s / 60.0),
    };
    let line = format!("{done} of {total} simulated, about {left} left: {name}");
    line.chars().take(78).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remaining_time_follows_from_the_time_per_run() {
        let at = |done, seconds| line(done, 180, Duration::from_secs(seconds), "ramp, tide");
        assert_eq!(at(60, 30), "60 of 180 simulated, about 60 s left: ramp, tide");
        assert_eq!(at(45, 60), "45 of 180 simulated, about 3 min left: ramp, tide");
        assert_eq!(at(180, 60), "180 of 180 simulated, about 0 s left: ramp, tide");
        assert!(line(1, 2, Duration::ZERO, &"x".repeat(200)).len() < 80);
    }
}
