//! `--drivers`: several processes of this program generate the load of one test. This
//! process is the lead: it starts them, shows their sum and merges their results. It
//! generates no load itself.

pub mod child;
mod files;
pub mod message;
mod set;

use std::time::{Duration, Instant, SystemTime};

use tidegate_load::{
    Aborted, LiveMerge, MissingShard, Plan, Shard, ShardResult, Snapshot, Stop, Summary,
    merge_available, write_seconds,
};

use crate::exit::bad_input;
use files::Files;
use message::{Job, Message};
use set::{DriverEvent, DriverSet};

/// Time until all drivers must be ready.
const READY: Duration = Duration::from_secs(120);
/// From the last driver being ready to the common start.
const START_DELAY: Duration = Duration::from_millis(200);
/// Time after the end of the run until a driver must have sent its result.
const RESULT: Duration = Duration::from_secs(60);
/// Silence of a driver after which it is reported to the user.
const SILENT: Duration = Duration::from_secs(3);
/// Interval between snapshots.
const SHOW: Duration = Duration::from_millis(250);

/// Shows a run to the user.
pub trait Observer {
    /// A message for the user.
    fn note(&mut self, text: &str);
    /// The state of all drivers together.
    fn show(&mut self, snapshot: &Snapshot);
}

/// Runs a plan with this number of drivers. `run` is the number of the run among those of
/// `--repeat`.
///
/// # Errors
/// A driver could not start, or every driver was lost.
pub fn run(
    plan: &Plan,
    run: u32,
    drivers: u32,
    stop: &Stop,
    notes: &mut dyn Observer,
) -> anyhow::Result<Summary> {
    let files = Files::new(plan.raw.as_deref(), plan.parquet.as_deref(), drivers)?;
    let jobs: Vec<Job> = (1..=drivers)
        .map(|number| {
            let index = number as usize - 1;
            let shard = Shard::new(number, drivers).expect("the flag has the same limit");
            let cores = plan.cores.iter().copied().skip(index).step_by(drivers as usize);
            let (raw, parquet) = files.of(index);
            Job { shard, run, cores: cores.collect(), raw, parquet }
        })
        .collect();
    let set = DriverSet::start(&jobs)?;
    let ids: Vec<String> = set.ids().iter().map(u32::to_string).collect();
    notes.note(&format!("{drivers} drivers: processes {}", ids.join(", ")));
    let mut lead = Lead {
        drivers: set,
        shards: jobs.iter().map(|job| job.shard).collect(),
        states: jobs.iter().map(|_| State::default()).collect(),
        live: LiveMerge::new(drivers),
        started: None,
        stopped: None,
        length: plan.warm_up + plan.measure,
        start_at: plan.start_at,
        aborted: None,
    };
    lead.work(plan, stop, notes)?;
    let aborted = lead.aborted.take();
    let (mut summary, lost) = lead.result()?;
    if let Some(aborted) = aborted {
        summary.abort(aborted);
    }
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
    drivers: DriverSet,
    shards: Vec<Shard>,
    states: Vec<State>,
    live: LiveMerge,
    /// When the run began or begins.
    started: Option<Instant>,
    /// When all drivers were requested to stop.
    stopped: Option<Instant>,
    /// Length of the run, warm-up included.
    length: Duration,
    start_at: Option<SystemTime>,
    /// The threshold that ended the test.
    aborted: Option<Aborted>,
}

/// State of a driver.
#[derive(Default)]
struct State {
    ready: bool,
    shard_result: Option<Box<ShardResult>>,
    failed: Option<(String, u8)>,
    /// Why its result is lost.
    lost: Option<String>,
    over: bool,
    last_message: Option<Instant>,
    /// Its silence was reported to the user.
    silence_noted: bool,
}

impl Lead {
    /// Runs until all drivers have ended.
    fn work(&mut self, plan: &Plan, stop: &Stop, notes: &mut dyn Observer) -> anyhow::Result<()> {
        let begun = Instant::now();
        let (mut fresh, mut shown) = (false, Instant::now());
        while self.states.iter().any(|state| !state.over) {
            if let Some((index, event)) = self.drivers.next_event(Duration::from_millis(50)) {
                fresh |= matches!(event, DriverEvent::Message(Message::Snapshot(_)));
                self.handle(index, event, notes)?;
            }
            if fresh && shown.elapsed() >= SHOW {
                (fresh, shown) = (false, Instant::now());
                self.live.snapshot().iter().for_each(|snapshot| notes.show(snapshot));
                if self.aborted.is_none() && self.stopped.is_none() {
                    self.aborted = self.live.aborted(plan);
                }
            }
            if self.aborted.is_some() {
                // Also for the runs that would follow.
                stop.stop();
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
            self.check_silence(notes);
        }
        if fresh {
            self.live.snapshot().iter().for_each(|snapshot| notes.show(snapshot));
        }
        Ok(())
    }

    fn handle(
        &mut self,
        index: usize,
        event: DriverEvent,
        notes: &mut dyn Observer,
    ) -> anyhow::Result<()> {
        let state = &mut self.states[index];
        state.last_message = Some(Instant::now());
        state.silence_noted = false;
        match event {
            DriverEvent::Message(Message::Ready) => {
                state.ready = true;
                if self.states.iter().all(|state| state.ready) {
                    self.begin(notes);
                }
            }
            DriverEvent::Message(Message::Snapshot(snapshot)) => {
                self.live.add(self.shards[index], *snapshot);
            }
            DriverEvent::Message(Message::Done(shard_result)) => {
                state.shard_result = Some(shard_result)
            }
            DriverEvent::Message(Message::Failed { message, exit_code }) => {
                state.failed = Some((message, exit_code));
            }
            DriverEvent::Invalid(why) => {
                state.lost = Some(format!("sent an invalid message: {why}"));
                self.drivers.kill(index);
            }
            DriverEvent::End => return self.ended(index, notes),
        }
        Ok(())
    }

    fn begin(&mut self, notes: &mut dyn Observer) {
        let soon = SystemTime::now() + START_DELAY;
        let at = self.start_at.unwrap_or(soon);
        let ahead = at.duration_since(SystemTime::now()).unwrap_or_default();
        if ahead > START_DELAY * 2 {
            notes.note(&format!(
                "all drivers are ready; the test starts in {:.0} s",
                ahead.as_secs_f64()
            ));
        }
        self.started = Some(Instant::now() + ahead);
        self.drivers.begin(at);
    }

    /// A driver's process has ended.
    fn ended(&mut self, index: usize, notes: &mut dyn Observer) -> anyhow::Result<()> {
        let ending = self.drivers.ended(index);
        self.live.remove(self.shards[index]);
        let state = &mut self.states[index];
        state.over = true;
        if state.shard_result.is_some() && state.lost.is_none() {
            return Ok(());
        }
        if let (Some((message, 2)), None) = (&state.failed, self.started) {
            // Bad input is the same for every driver.
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
        notes.note(&format!("driver {} {why}: the others stop as well", index + 1));
        self.states[index].lost = Some(why);
        // Without its shard the load is not that of the test.
        self.stop();
        Ok(())
    }

    fn stop(&mut self) {
        if self.stopped.is_none() {
            self.stopped = Some(Instant::now());
            self.drivers.stop();
        }
    }

    /// Reports silent drivers, and kills those without a result long after the end.
    fn check_silence(&mut self, notes: &mut dyn Observer) {
        let Some(started) = self.started else {
            // Before the start drivers send nothing. After a stop they must end.
            if self.stopped.is_some_and(|stopped| stopped.elapsed() > RESULT) {
                (0..self.states.len()).for_each(|index| self.drivers.kill(index));
            }
            return;
        };
        let end = self.stopped.unwrap_or(started + self.length).min(started + self.length);
        let late = Instant::now().saturating_duration_since(end) > RESULT;
        for (index, state) in self.states.iter_mut().enumerate().filter(|(_, state)| !state.over) {
            let last = state.last_message.map_or(started, |last| last.max(started));
            let silent = Instant::now().saturating_duration_since(last);
            if late && state.lost.is_none() && state.shard_result.is_none() {
                state.lost = Some(format!("sent no result within {} s", RESULT.as_secs()));
                self.drivers.kill(index);
            } else if silent > SILENT && !state.silence_noted {
                state.silence_noted = true;
                notes.note(&format!(
                    "driver {} has sent nothing for {} s",
                    index + 1,
                    SILENT.as_secs()
                ));
            }
        }
    }

    /// The merged result, and the indices of lost drivers.
    fn result(self) -> anyhow::Result<(Summary, Vec<usize>)> {
        let (mut shard_results, mut missing, mut lost) = (Vec::new(), Vec::new(), Vec::new());
        for (index, (state, shard)) in self.states.into_iter().zip(self.shards).enumerate() {
            match state.shard_result.filter(|_| state.lost.is_none()) {
                Some(shard_result) => {
                    shard_results.push((format!("driver {}", index + 1), *shard_result))
                }
                None => {
                    let why = state.lost.unwrap_or_else(|| "was lost".to_owned());
                    missing.push(MissingShard { shard, why });
                    lost.push(index);
                }
            }
        }
        if shard_results.is_empty() {
            let why: Vec<String> = missing
                .iter()
                .map(|missing| format!("driver {} {}", missing.shard.number(), missing.why))
                .collect();
            anyhow::bail!("all drivers were lost, with all results: {}", why.join("; "));
        }
        let summary = merge_available(shard_results, &missing).map_err(anyhow::Error::msg)?;
        Ok((summary, lost))
    }
}
