//! A driver process that `--drivers` starts.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc;
use std::time::{Duration, UNIX_EPOCH};

use anyhow::Context;
use tidegate_load::{Plan, Stop};

use super::message::{Job, Message, Start};
use crate::exit::{Outcome, code_of, in_words};
use crate::load::results::run_error;

/// Longest line from the lead.
const LONGEST_LINE: u64 = 1 << 20;

/// Generates its shard of the test. `plan` builds the plan of a job.
pub fn run(plan: impl FnOnce(&Job) -> anyhow::Result<Plan>) -> anyhow::Result<Outcome> {
    let mut input = BufReader::new(std::io::stdin().take(LONGEST_LINE));
    let job: Job = line(&mut input)?.context("the lead has ended")?;
    let message = drive(plan, &job, input).unwrap_or_else(|error| Message::Failed {
        exit_code: code_of(&error),
        message: in_words(&error),
    });
    send(&message)?;
    Ok(Outcome::Done)
}

fn drive(
    plan: impl FnOnce(&Job) -> anyhow::Result<Plan>,
    job: &Job,
    mut input: impl BufRead + Send + 'static,
) -> anyhow::Result<Message> {
    let plan = plan(job)?;
    let stop = plan.stop.clone();
    let (sender, start) = mpsc::channel();
    let stop_at_end = stop.clone();
    std::thread::Builder::new().name("lead".into()).spawn(move || {
        while let Ok(Some(start)) = line::<Start>(&mut input) {
            // The run may have ended.
            let _ = sender.send(start);
        }
        stop_at_end.stop();
    })?;
    let mut ready = || {
        send_or_stop(&Message::Ready, &stop);
        let start: Start = start.recv().ok()?;
        Some(UNIX_EPOCH + Duration::from_nanos(start.at_unix_ns))
    };
    let summary = tidegate_load::run_when(plan, &mut ready, &mut |snapshot| {
        send_or_stop(&Message::Snapshot(Box::new(snapshot.clone())), &stop);
    });
    let summary = summary.map_err(run_error)?;
    Ok(Message::Done(summary.shard_result.expect("the plan has a shard")))
}

/// Sends a message; stops the run if the lead has ended.
fn send_or_stop(message: &Message, stop: &Stop) {
    if send(message).is_err() {
        stop.stop();
    }
}

fn send(message: &Message) -> anyhow::Result<()> {
    let mut line = serde_json::to_vec(message)?;
    line.push(b'\n');
    let mut out = std::io::stdout().lock();
    out.write_all(&line).and_then(|()| out.flush()).context("the lead has ended")
}

/// Reads the next line; `None` at the end of the input.
fn line<T: serde::de::DeserializeOwned>(input: &mut impl BufRead) -> anyhow::Result<Option<T>> {
    let mut text = String::new();
    if input.read_line(&mut text)? == 0 {
        return Ok(None);
    }
    Ok(Some(serde_json::from_str(&text)?))
}
