//! A driver process that `--drivers` starts.

use std::io::{BufRead, BufReader, Read, Write};
use std::sync::mpsc;

use anyhow::Context;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use tidegate_load::{Plan, Stop};

use super::message::{Job, Message, Start};
use crate::exit::{Outcome, code_of, in_words};
use crate::load::results::run_error;

/// Most bytes from the lead: the files of a test, in base64.
const LARGEST_INPUT: u64 = 24 << 20;

/// Generates its shard of the test. `plan` builds the plan of a job.
pub fn run(plan: impl FnOnce(&Job) -> anyhow::Result<Plan>) -> anyhow::Result<Outcome> {
    let mut input = BufReader::new(std::io::stdin().take(LARGEST_INPUT));
    let mut job: Job = line(&mut input)?.context("the lead has ended")?;
    let done = match job.files.take() {
        None => drive(plan, &job, input),
        Some(files) => {
            let decoded = files.into_iter().map(|(path, text)| {
                Ok((path, BASE64_STANDARD.decode(text).context("a file is not base64")?))
            });
            let files = decoded.collect::<anyhow::Result<_>>()?;
            tidegate_config::with_files(files, || drive(plan, &job, input))
        }
    };
    let message = done.unwrap_or_else(|error| Message::Failed {
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
    let fingerprint = plan.fingerprint();
    let mut ready = || {
        send_or_stop(&Message::Ready { fingerprint: fingerprint.clone() }, &stop);
        let start: Start = start.recv().ok()?;
        Some(start.into())
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
