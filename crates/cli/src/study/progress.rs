//! The progress of a study: a line that changes on a terminal, a line per run elsewhere.

use std::io::IsTerminal;
use std::time::Duration;

use indicatif::{ProgressBar, ProgressStyle};
use tidegate_experiment::Event;
use tidegate_experiment::record::{Kind, Record};
use tidegate_load::Snapshot;

/// Shows what a study does.
pub struct Progress {
    /// `None` where standard error is no terminal.
    bar: Option<ProgressBar>,
    what: String,
}

impl Progress {
    /// A view for standard error.
    pub fn new() -> Self {
        let bar = std::io::stderr().is_terminal().then(|| {
            let style = "{bar:30} {pos}/{len} runs  {msg}";
            let bar = ProgressBar::new(0);
            bar.set_style(ProgressStyle::with_template(style).expect("the template is valid"));
            bar
        });
        Self { bar, what: String::new() }
    }

    /// Shows an event.
    pub fn show(&mut self, event: &Event) {
        match event {
            Event::Note(text) => self.line(text),
            Event::Begin { what, done, left } => {
                let left = left.map_or("time left: known after this".into(), |left| {
                    format!("{} left", minutes(left))
                });
                self.what = format!("{what} ({left})");
                match &self.bar {
                    Some(bar) => {
                        bar.set_length(done.1 as u64);
                        bar.set_position(done.0 as u64);
                        bar.set_message(self.what.clone());
                    }
                    None => eprintln!("{}/{} {}", done.0, done.1, self.what),
                }
            }
            Event::Progress(snapshot) => self.second(snapshot),
            Event::Complete(record) => self.complete(record),
        }
    }

    /// Removes the line that changes.
    pub fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }

    fn second(&self, snapshot: &Snapshot) {
        if let (Some(bar), Some(second)) = (&self.bar, &snapshot.second) {
            bar.set_message(format!(
                "{}: {:.0} sessions/s offered, {:.0} completed, p95 {:.0} ms",
                self.what, second.offered_per_s, second.completed_per_s, second.response.p95_ms
            ));
        }
    }

    fn complete(&self, record: &Record) {
        if record.planned.kind != Kind::Run {
            return;
        }
        let figure = |name: &str| record.figure(name).unwrap_or_default();
        if record.planned.settings.is_of_messages() {
            return self.line(&format!(
                "{}: first request {:.1} ms, {:.2} ms once warm, {:.0} requests/s of two clients",
                record.planned.id,
                figure("first_request_ms"),
                figure("warm_up_ms"),
                figure("overall_per_s"),
            ));
        }
        let saturated = if record.is_sound() { "" } else { "  (load generator saturated)" };
        // In a closed loop what is offered is what is served.
        let sessions = match record.planned.settings.customers {
            Some(_) => String::new(),
            None => format!(
                "{:.1} sessions/s offered, {:.1} completed, ",
                figure("offered_per_s"),
                figure("completed_per_s")
            ),
        };
        self.line(&format!(
            "{}: {sessions}{:.0} requests/s, p95 {:.1} ms{saturated}",
            record.planned.id,
            figure("requests_per_s"),
            figure("response_p95_ms"),
        ));
    }

    fn line(&self, text: &str) {
        match &self.bar {
            Some(bar) => bar.println(text),
            None => eprintln!("{text}"),
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.end();
    }
}

/// `45 s`, `12 min`, `1 h 5 min`.
fn minutes(time: Duration) -> String {
    match time.as_secs() {
        seconds if seconds < 90 => format!("{seconds} s"),
        seconds if seconds < 5400 => format!("{} min", (seconds + 30) / 60),
        seconds => format!("{} h {} min", seconds / 3600, seconds % 3600 / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_shown_by_their_size() {
        let shown = [45, 89, 600, 3900, 5400].map(|it| minutes(Duration::from_secs(it)));
        assert_eq!(shown, ["45 s", "89 s", "10 min", "65 min", "1 h 30 min"]);
    }
}
