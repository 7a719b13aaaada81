//! The lead of several drivers, wherever they run: waits until all are ready, starts them together,
//! shows their sum, and merges their results.

use std::time::{Duration, Instant, SystemTime};

use tidegate_load::{
    Aborted, AgentOf, LiveMerge, MissingShard, Plan, Shard, ShardResult, Snapshot, Stop, Summary,
    merge_available,
};

use super::message::Message;
use crate::exit::bad_input;

/// Time until all drivers must be ready.
const READY: Duration = Duration::from_secs(120);
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

/// The drivers of a run.
pub trait Drivers {
    /// The next event and the index of its driver; `None` after the timeout.
    fn next_event(&mut self, timeout: Duration) -> Option<(usize, DriverEvent)>;
    /// Sends the common start to all drivers.
    fn begin(&mut self, at: SystemTime);
    /// Requests all drivers to stop and to send their results.
    fn stop(&mut self);
    /// How a driver ended whose output has ended, in words.
    fn ended(&mut self, index: usize) -> String;
    /// Ends a driver at once.
    fn kill(&mut self, index: usize);
    /// Its name in messages.
    fn name(&self, index: usize) -> String {
        format!("driver {}", index + 1)
    }
    /// The agent that runs it, if there is one.
    fn agent(&self, _: usize) -> Option<AgentOf> {
        None
    }
    /// Whether the test goes on when one was lost.
    fn go_on_without(&self) -> bool {
        false
    }
    /// From the last driver being ready to the common start.
    fn start_delay(&self) -> Duration {
        Duration::from_millis(200)
    }
}

/// What comes of a driver.
pub enum DriverEvent {
    /// A message.
    Message(Message),
    /// It is not a message, and why.
    Invalid(String),
    /// End of its output.
    End,
}

/// Leads the drivers of a plan, each with its shard. Returns the merged result and the indices of
/// lost drivers.
///
/// # Errors
/// A driver could not start, or every driver was lost.
pub fn lead(
    plan: &Plan,
    drivers: impl Drivers,
    shards: Vec<Shard>,
    stop: &Stop,
    notes: &mut dyn Observer,
) -> anyhow::Result<(Summary, Vec<usize>)> {
    let mut live = LiveMerge::new(shards.len() as u32);
    for (index, shard) in shards.iter().enumerate() {
        drivers.agent(index).iter().for_each(|agent| live.name(*shard, &agent.name));
    }
    let mut lead = Lead {
        drivers,
        states: shards.iter().map(|_| State::default()).collect(),
        shards,
        live,
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
    Ok((summary, lost))
}

struct Lead<D> {
    drivers: D,
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

impl<D: Drivers> Lead<D> {
    /// Runs until all drivers have ended.
    fn work(&mut self, plan: &Plan, stop: &Stop, notes: &mut dyn Observer) -> anyhow::Result<()> {
        let begun = Instant::now();
        let (mut fresh, mut shown) = (false, Instant::now());
        while self.states.iter().any(|state| !state.over) {
            if let Some((index, event)) = self.drivers.next_event(Duration::from_millis(50)) {
                fresh |= matches!(event, DriverEvent::Message(Message::Snapshot(_)));
                self.handle(plan, index, event, notes)?;
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
                let late = (0..self.states.len()).filter(|index| !self.states[*index].ready);
                let late: Vec<String> = late.map(|index| self.drivers.name(index)).collect();
                let within = READY.as_secs();
                anyhow::bail!(
                    "not ready within {within} s: {}; nothing was measured",
                    late.join(", ")
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
        plan: &Plan,
        index: usize,
        event: DriverEvent,
        notes: &mut dyn Observer,
    ) -> anyhow::Result<()> {
        let state = &mut self.states[index];
        state.last_message = Some(Instant::now());
        state.silence_noted = false;
        match event {
            DriverEvent::Message(Message::Ready { fingerprint }) => {
                if fingerprint != plan.fingerprint() {
                    let name = self.drivers.name(index);
                    anyhow::bail!("{name} made another test of the same flags and files");
                }
                state.ready = true;
                if self.states.iter().all(|state| state.ready) {
                    self.begin(notes);
                }
            }
            DriverEvent::Message(Message::Snapshot(snapshot)) => {
                self.live.add(self.shards[index], *snapshot);
            }
            DriverEvent::Message(Message::Done(mut shard_result)) => {
                if let Some(agent) = self.drivers.agent(index) {
                    shard_result.set_agent(agent);
                }
                state.shard_result = Some(shard_result);
            }
            DriverEvent::Message(Message::Failed { message, exit_code }) => {
                state.failed = Some((message, exit_code));
            }
            DriverEvent::Invalid(why) => {
                state.lost = Some(format!("sent an invalid message: {why}"));
                self.drivers.kill(index);
            }
            DriverEvent::Message(Message::Ended(_)) | DriverEvent::End => {
                return self.ended(index, notes);
            }
        }
        Ok(())
    }

    fn begin(&mut self, notes: &mut dyn Observer) {
        let delay = self.drivers.start_delay();
        let soon = SystemTime::now() + delay;
        let at = self.start_at.unwrap_or(soon);
        let ahead = at.duration_since(SystemTime::now()).unwrap_or_default();
        if ahead > delay * 2 {
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
        let name = self.drivers.name(index);
        let begun = self.started.is_some_and(|started| Instant::now() >= started);
        if let (Some((message, 2)), false) = (&state.failed, begun) {
            return Err(match self.drivers.agent(index) {
                // Bad input is the same for every process of a machine.
                None => bad_input(message),
                Some(_) => bad_input(format!("{name}: {message}")),
            });
        }
        let why = match (state.lost.take(), state.failed.take()) {
            (Some(why), _) => why,
            (None, Some((message, _))) => format!("failed: {message}"),
            (None, None) => ending,
        };
        if !begun {
            anyhow::bail!("{name} {why}; nothing was measured");
        }
        let after = self.started.map(|started| started.elapsed().as_secs_f64());
        let why = format!("{why} after {:.1} s", after.unwrap_or_default());
        self.states[index].lost = Some(match self.drivers.agent(index) {
            Some(agent) => format!("on {} {why}", agent.name),
            None => why.clone(),
        });
        if self.drivers.go_on_without() {
            notes.note(&format!(
                "{name} {why}: the others go on, and its part of the load is missing"
            ));
        } else {
            notes.note(&format!("{name} {why}: the others stop as well"));
            // Without its shard the load is not that of the test.
            self.stop();
        }
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
                let name = self.drivers.name(index);
                notes.note(&format!("{name} has sent nothing for {} s", SILENT.as_secs()));
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
