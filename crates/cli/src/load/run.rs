//! One run: shown while it goes on, then reported.

use std::time::SystemTime;

use tidegate_load::{Plan, Snapshot, Stop, Summary};

use super::args::Args;
use super::command;
use super::drivers;
use super::drivers::lead::Observer;
use super::exporters::Exporters;
use super::fleet;
use super::plan;
use super::results::run_error;
use super::view::View;
use crate::stdout::print;

/// Runs a plan and prints the report. `number` counts the runs of `--repeat` from 1.
pub(super) fn run_once(
    args: &Args,
    mut plan: Plan,
    number: u32,
    stop: &Stop,
    exporters: &mut Exporters,
) -> anyhow::Result<Summary> {
    let which = (args.repeat > 1).then(|| format!("run {number} of {}", args.repeat));
    let shown = plan.clone();
    // What is printed would mix with the live screen.
    let plain = args.plain || args.http_debug.is_some();
    let open = || View::open(plain, &shown, which.as_deref());
    let mut display = Display { open, view: None, deferred: Vec::new(), exporters, stop };
    if number == 1 {
        let window = plan.window(plan::run_times(args));
        match (args.sessions, args.duration) {
            (Some(1), None) => display.note("run: until 1 session is over"),
            (Some(count), None) => display.note(&format!("run: until {count} sessions are over")),
            _ => display.note(&format!("run: {window}")),
        }
        for warning in plan.warnings() {
            display.note(&tidegate_load::paragraph("WARNING: ", &warning));
        }
    }
    let result = if args.fleet.is_used() {
        fleet::run(&args.fleet, || plan::plan(args), &plan, number, stop, &mut display)
    } else if args.drivers > 1 {
        drivers::run(&plan, number, args.drivers, stop, &mut display)
    } else {
        if let Some(at) = plan.start_at {
            let left = at.duration_since(SystemTime::now()).unwrap_or_default();
            display.note(&format!("the test starts in {:.0} s", left.as_secs_f64()));
        }
        // Snapshots begin with the run, so a stop before it needs the signal itself.
        plan.stop = stop.clone();
        tidegate_load::run(plan, &mut |snapshot| display.show(snapshot)).map_err(run_error)
    };
    drop(display);
    let mut summary = result?;
    summary.command = command::line();
    print(tidegate_load::report(&summary))?;
    if let Some(trace) = &summary.trace {
        print(format!("{trace}\n"))?;
    }
    Ok(summary)
}

/// Shows a run on the terminal and to the exporters.
struct Display<'a, O> {
    open: O,
    /// Opened with the first snapshot.
    view: Option<View>,
    /// Notes that wait until the live screen is closed.
    deferred: Vec<String>,
    exporters: &'a mut Exporters,
    stop: &'a Stop,
}

impl<O: Fn() -> View> Observer for Display<'_, O> {
    fn note(&mut self, text: &str) {
        match self.view {
            Some(View::Live(_)) => self.deferred.push(text.to_owned()),
            // A broken pipe does not affect the measurement.
            _ => drop(print(format!("{text}\n"))),
        }
    }

    fn show(&mut self, snapshot: &Snapshot) {
        if self.view.get_or_insert_with(&self.open).show(snapshot) {
            self.stop.stop();
        }
        if let Some(failure) = self.exporters.show(snapshot) {
            self.note(&failure);
        }
    }
}

impl<O> Drop for Display<'_, O> {
    fn drop(&mut self) {
        // Closes the live screen before anything is printed.
        self.view = None;
        self.deferred.iter().for_each(|text| drop(print(format!("{text}\n"))));
    }
}
