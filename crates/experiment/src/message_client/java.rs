//! The client on Java.

use std::io::{BufRead, BufReader};
use std::time::Duration;

use serde::Deserialize;
use tidegate_lab::Launch;
use tidegate_lab::services::{MessagesKeys, Services, messages_client};
use tidegate_load::Stop;

use super::series::{Kind, Sample};
use crate::{Error, Result};

/// Heap of the client.
const HEAP: &str = "-Xmx256m";
/// How long a client may take to end after its last line.
const END: Duration = Duration::from_secs(20);

/// The client of a service on Tomcat: a process for each series, whose code is not compiled at
/// first.
pub(crate) struct JavaClient {
    pub(crate) url: String,
    /// Its word for the security of messages.
    pub(crate) security: &'static str,
    pub(crate) keys: MessagesKeys,
}

/// A line of the client: of a request, or its last.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Request { us: u64, bytes_out: u64, bytes_in: u64 },
    End { cpu_us: u64 },
}

impl JavaClient {
    /// Sends this number of requests from a new process of clients. The second figure is the
    /// CPU time of its clients' threads in seconds.
    ///
    /// # Errors
    /// The client fails, with its last lines; the run was stopped.
    pub(crate) fn send(&self, kind: Kind, stop: &Stop) -> Result<(Vec<Sample>, f64)> {
        let Kind { requests, clients, reuse, payload, .. } = kind;
        let mut command =
            messages_client(&Services::find()?, Some(&self.keys), &[HEAP.to_owned()])?;
        command
            .args(["--url", &self.url, "--requests", &requests.to_string()])
            .args(["--clients", &clients.to_string(), "--payload", &payload.to_string()])
            .args(["--connection", reuse.name(), "--security", self.security]);
        let mut process =
            Launch::new("the messages client", command).piped().log_unnamed()?.start()?;
        let output = process.take_stdout().expect("standard output is piped");
        let mut samples = Vec::with_capacity(requests);
        let mut cpu_s = None;
        for line in BufReader::new(output).lines() {
            if stop.is_stopped() {
                return Err(Error::Process("stopped".into()));
            }
            let line: Option<Line> = line.ok().and_then(|line| serde_json::from_str(&line).ok());
            match line {
                Some(Line::Request { us, bytes_out, bytes_in }) if samples.len() < requests => {
                    samples.push(Sample { us, out: bytes_out, into: bytes_in });
                }
                Some(Line::End { cpu_us }) if samples.len() == requests => {
                    cpu_s = Some(Duration::from_micros(cpu_us).as_secs_f64());
                }
                _ => return Err(Error::Process("the messages client writes other lines".into())),
            }
        }
        let last = process.last_lines();
        process.finish(END)?;
        if let Some(cpu_s) = cpu_s {
            return Ok((samples, cpu_s));
        }
        Err(Error::Process(format!("the messages client failed at {}: {last}", self.url)))
    }
}
