//! `--drivers`: several processes of this program drive one test, and one report
//! comes of it. This process leads: it measures nothing itself.

pub mod child;
mod crew;
mod files;
pub mod message;

use std::time::{Duration, Instant, SystemTime};

use tidegate_load::{
    Missing, Part, Plan, Portion, Snapshot, Stop, Summary, Together, merge_what_is_left,
    write_seconds,
};

use crate::exit::bad_input;
use crew::{Crew, Heard};
use files::Files;
use message::{Job, Message};

/// Set for the processes that are drivers.
pub const DRIVER: &str = "TIDEGATE_LOAD_DRIVER";
/// How long drivers may take until they are ready.
const READY: Duration = Duration::from_secs(120);
/// From all being ready to the common start.
const MOMENT: Duration = Duration::from_millis(200);
/// How long a driver may take after its end to say what it measured.
const RESULT: Duration = Duration::from_secs(60);
/// A driver that says nothing for so long is told of.
const SILENT: Duration = Duration::from_secs(3);
/// How often the observer is called.
const LOOK: Duration = Duration::from_millis(250);

/// What the user sees besides the snapshots.
pub trait Notes {
    /// Something that she should know now.
    fn note(&mut self, text: &str);
    /// How all drivers stand together.
    fn show(&mut self, snapshot: &Snapshot);
}

/// Runs a plan by so many drivers. `run` is its number among those of `--repeat`.
pub fn run(
    plan: &Plan,
    run: u32,
    drivers: u32,
    stop: &Stop,
    notes: &mut dyn Notes,
) -> anyhow::Result<Summary> {
    let files = Files::new(plan.raw.as_deref(), plan.parquet.as_deref(), drivers)?;
    let jobs: Vec<Job> = (1..=drivers)
        .map(|number| {
            let index = number as usize - 1;
            let part = Part::new(number, drivers).expect("as many as the flag may say");
            let cores = plan.cores.iter().copied().skip(index).step_by(drivers as usize);
            let (raw, parquet) = files.of(index);
            Job { part, run, cores: cores.collect(), raw, parquet }
        })
        .collect();
    let crew = Crew::start(&jobs)?;
    let ids: Vec<String> = crew.ids().iter().map(u32::to_string).collect();
    notes.note(&format!("{drivers} drivers: processes {}", ids.join(", ")));
    let mut lead = Lead {
        crew,
        parts: jobs.iter().map(|job| job.part).collect(),
        states: jobs.iter().map(|_| State::default()).collect(),
        together: Together::new(drivers),
        started: None,
        stopped: None,
        longest: plan.warm_up + plan.measure,
        start_at: plan.start_at,
    };
    lead.work(stop, notes)?;
    let (mut summary, lost) = lead.result()?;
    let mut errors: Vec<String> = summary.raw_error.take().into_iter().collect();
    errors.extend(files.join(&lost));
    if let Some(csv) = &plan.csv
        && let Err(error) = write_seconds(&summary.series, csv)
    {
        errors.push(format!("{}: {error}", csv.display()));
    }
    summary.raw_error = (!errors.is_empty()).then(|| errors.join("; "));
    Ok(summary)
}

struct Lead {
    crew: Crew,
    parts: Vec<Part>,
    states: Vec<State>,
    together: Together,
    /// When the run began or begins.
    started: Option<Instant>,
    /// When all were asked to stop.
    stopped: Option<Instant>,
    /// Of a run, warm-up included.
    longest: Duration,
    start_at: Option<SystemTime>,
}

/// What is known of a driver.
#[derive(Default)]
struct State {
    ready: bool,
    portion: Option<Box<Portion>>,
    failed: Option<(String, u8)>,
    /// Why its part is lost.
    lost: Option<String>,
    over: bool,
    heard: Option<Instant>,
    /// It was told that it says nothing.
    noted: bool,
}

impl Lead {
    /// Until no driver is left.
    fn work(&mut self, stop: &Stop, notes: &mut dyn Notes) -> anyhow::Result<()> {
        let begun = Instant::now();
        let (mut fresh, mut shown) = (false, Instant::now());
        while self.states.iter().any(|state| !state.over) {
            if let Some((index, heard)) = self.crew.listen(Duration::from_millis(50)) {
                fresh |= matches!(heard, Heard::Says(Message::Stands(_)));
                self.hear(index, heard, notes)?;
            }
            if fresh && shown.elapsed() >= LOOK {
                (fresh, shown) = (false, Instant::now());
                self.together.snapshot().iter().for_each(|snapshot| notes.show(snapshot));
            }
            if stop.is_stopped() {
                self.stop();
            }
            if self.started.is_none() && self.stopped.is_none() && begun.elapsed() > READY {
                anyhow::bail!(
                    "driver {} was not ready within {} s",
                    1 + self.states.iter().position(|state| !state.ready).unwrap_or_default(),
                    READY.as_secs()
                );
            }
            self.watch(notes);
        }
        if fresh {
            self.together.snapshot().iter().for_each(|snapshot| notes.show(snapshot));
        }
        Ok(())
    }

    fn hear(&mut self, index: usize, heard: Heard, notes: &mut dyn Notes) -> anyhow::Result<()> {
        let state = &mut self.states[index];
        state.heard = Some(Instant::now());
        state.noted = false;
        match heard {
            Heard::Says(Message::Ready) => {
                state.ready = true;
                if self.states.iter().all(|state| state.ready) {
                    self.begin(notes);
                }
            }
            Heard::Says(Message::Stands(snapshot)) => {
                self.together.take(self.parts[index], *snapshot);
            }
            Heard::Says(Message::Done(portion)) => state.portion = Some(portion),
            Heard::Says(Message::Failed { message, exit_code }) => {
                state.failed = Some((message, exit_code));
            }
            Heard::Nonsense(what) => {
                state.lost = Some(format!("said what cannot be understood: {what}"));
                self.crew.kill(index);
            }
            Heard::Silence => return self.ended(index, notes),
        }
        Ok(())
    }

    fn begin(&mut self, notes: &mut dyn Notes) {
        let moment = SystemTime::now() + MOMENT;
        let at = self.start_at.unwrap_or(moment);
        let ahead = at.duration_since(SystemTime::now()).unwrap_or_default();
        if ahead > MOMENT * 2 {
            notes.note(&format!("all are ready; the test starts in {:.0} s", ahead.as_secs_f64()));
        }
        self.started = Some(Instant::now() + ahead);
        self.crew.begin(at);
    }

    /// A driver's process is over.
    fn ended(&mut self, index: usize, notes: &mut dyn Notes) -> anyhow::Result<()> {
        let ending = self.crew.ended(index);
        self.together.without(self.parts[index]);
        let state = &mut self.states[index];
        state.over = true;
        if state.portion.is_some() && state.lost.is_none() {
            return Ok(());
        }
        if let (Some((message, 2)), None) = (&state.failed, self.started) {
            // It would be the same for each of them.
            return Err(bad_input(message));
        }
        let why = match (state.lost.take(), state.failed.take()) {
            (Some(why), _) => why,
            (None, Some((message, _))) => format!("failed: {message}"),
            (None, None) => ending,
        };
        if self.started.is_none() {
            anyhow::bail!("driver {} {why}; nothing was measured", index + 1);
        }
        let after = self.started.map(|started| started.elapsed().as_secs_f64());
        let why = format!("{why} after {:.1} s", after.unwrap_or_default());
        notes.note(&format!("driver {} {why}: the others stop, too", index + 1));
        self.states[index].lost = Some(why);
        // Without its part the load is another one.
        self.stop();
        Ok(())
    }

    fn stop(&mut self) {
        if self.stopped.is_none() {
            self.stopped = Some(Instant::now());
            self.crew.stop();
        }
    }

    /// Tells of drivers that say nothing, and ends those that would for ever.
    fn watch(&mut self, notes: &mut dyn Notes) {
        let Some(started) = self.started else {
            // Until the start there is nothing to say. A stop ends it.
            if self.stopped.is_some_and(|stopped| stopped.elapsed() > RESULT) {
                (0..self.states.len()).for_each(|index| self.crew.kill(index));
            }
            return;
        };
        let end = self.stopped.unwrap_or(started + self.longest).min(started + self.longest);
        let late = Instant::now().saturating_duration_since(end) > RESULT;
        for (index, state) in self.states.iter_mut().enumerate().filter(|(_, state)| !state.over) {
            let heard = state.heard.map_or(started, |heard| heard.max(started));
            let silent = Instant::now().saturating_duration_since(heard);
            if late && state.lost.is_none() && state.portion.is_none() {
                state.lost = Some(format!("gave no result within {} s", RESULT.as_secs()));
                self.crew.kill(index);
            } else if silent > SILENT && !state.noted {
                state.noted = true;
                notes.note(&format!(
                    "driver {} has said nothing for {} s",
                    index + 1,
                    SILENT.as_secs()
                ));
            }
        }
    }

    /// What all measured, and which drivers were lost.
    fn result(self) -> anyhow::Result<(Summary, Vec<usize>)> {
        let (mut portions, mut missing, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (state, part)) in self.states.into_iter().zip(self.parts).enumerate() {
            match state.portion.filter(|_| state.lost.is_none()) {
                Some(portion) => portions.push((format!("driver {}", index + 1), *portion)),
                None => {
                    let why = state.lost.unwrap_or_else(|| "was lost".to_owned());
                    missing.push(Missing { part, why });
                    lost.push(index);
                }
            }
        }
        if portions.is_empty() {
            let why: Vec<String> = missing
                .iter()
                .map(|missing| format!("driver {} {}", missing.part.number(), missing.why))
                .collect();
            anyhow::bail!(
                "all drivers were lost, and what they measured with them: {}",
                why.join("; ")
            );
        }
        let summary = merge_what_is_left(portions, &missing).map_err(anyhow::Error::msg)?;
        Ok((summary, lost))
    }
}
