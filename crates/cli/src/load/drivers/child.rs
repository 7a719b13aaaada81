//! One of the drivers that `--drivers` starts.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use anyhow::Context;
use tidegate_load::{Plan, Stop};

use super::message::{Job, Message, Start};
use crate::exit::{BadInput, Outcome};

/// Longest line from the lead.
const LONGEST_LINE: u64 = 1 << 20;

/// Drives its part of the test as the lead says. `plan` gives the plan of a run by
/// its number.
pub fn run(plan: impl FnOnce(&Job) -> anyhow::Result<Plan>) -> anyhow::Result<Outcome> {
    let mut input = BufReader::new(std::io::stdin().take(LONGEST_LINE));
    let job: Job = line(&mut input)?.context("the lead is gone")?;
    let message = drive(plan, &job, input).unwrap_or_else(|error| Message::Failed {
        exit_code: if error.chain().any(|cause| cause.is::<BadInput>()) { 2 } else { 3 },
        message: format!("{error:#}"),
    });
    say(&message)?;
    Ok(Outcome::Done)
}

fn drive(
    plan: impl FnOnce(&Job) -> anyhow::Result<Plan>,
    job: &Job,
    mut input: impl BufRead + Send + 'static,
) -> anyhow::Result<Message> {
    let plan = plan(job)?;
    let stop = plan.stop.clone();
    let (tell, start) = mpsc::channel();
    let pulled = stop.clone();
    std::thread::Builder::new().name("lead".into()).spawn(move || {
        while let Ok(Some(start)) = line::<Start>(&mut input) {
            // Nobody may be waiting for it any more.
            let _ = tell.send(start);
        }
        pulled.stop();
    })?;
    let mut ready = || {
        say_or_stop(&Message::Ready, &stop);
        let start: Start = start.recv().ok()?;
        Some(UNIX_EPOCH + Duration::from_nanos(start.at_unix_ns))
    };
    let summary = tidegate_load::run_when(plan, &mut ready, &mut |snapshot| {
        say_or_stop(&Message::Stands(Box::new(snapshot.clone())), &stop);
    });
    let summary = summary.map_err(super::super::told)?;
    Ok(Message::Done(summary.portion.expect("a part's result has its portion")))
}

/// When the start is, in the lead's words.
pub fn start(at: SystemTime) -> Start {
    let since = at.duration_since(UNIX_EPOCH).unwrap_or_default();
    // Nanoseconds leave the range in the year 2554.
    Start { at_unix_ns: u64::try_from(since.as_nanos()).unwrap_or(u64::MAX) }
}

/// Without a lead nobody wants the result.
fn say_or_stop(message: &Message, stop: &Stop) {
    if say(message).is_err() {
        stop.stop();
    }
}

fn say(message: &Message) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).context("the lead is gone")
}

/// The next line; `None` at the end.
fn line<T: serde::de::DeserializeOwned>(input: &mut impl BufRead) -> anyhow::Result<Option<T>> {
    let mut text = String::new();
    if input.read_line(&mut text)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&text)?))
}
