//! The client on Java.

use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, ChildStdout};
use std::time::Duration;

use serde::Deserialize;
use tidegate_lab::services::{MessagesKeys, Services, messages_client};
use tidegate_lab::{Launch, Process};
use tidegate_load::Stop;

use super::series::{Kind, Sample};
use crate::{Error, Result};

/// Heap of the client.
const HEAP: &str = "-Xmx256m";

/// The client of a service on Tomcat: one process for all series, so that its code is compiled as
/// that of the service. It ends when this is dropped.
pub(crate) struct JavaClient {
    url: String,
    // Its end is that of the process.
    input: ChildStdin,
    output: BufReader<ChildStdout>,
    process: Process,
}

/// A line of the client: of a request, or the last of a series.
#[derive(Deserialize)]
#[serde(untagged)]
enum Line {
    Request { us: u64, bytes_out: u64, bytes_in: u64 },
    End { cpu_us: u64 },
}

impl JavaClient {
    /// Starts it, with its word for the security of messages.
    ///
    /// # Errors
    /// Java or the client is missing, or it does not start.
    pub(crate) fn start(url: &str, security: &str, keys: &MessagesKeys) -> Result<Self> {
        let mut command = messages_client(&Services::find()?, Some(keys), &[HEAP.to_owned()])?;
        command.args(["--url", url, "--security", security]);
        let mut process =
            Launch::new("the messages client", command).piped().log_unnamed()?.start()?;
        let input = process.take_stdin().expect("standard input is piped");
        let output = process.take_stdout().expect("standard output is piped");
        Ok(Self { url: url.to_owned(), input, output: BufReader::new(output), process })
    }

    /// Sends this number of requests. The second figure is the CPU time of its clients' threads in
    /// seconds.
    ///
    /// # Errors
    /// The client fails, with its last lines; the run was stopped.
    pub(crate) fn send(&mut self, kind: Kind, stop: &Stop) -> Result<(Vec<Sample>, f64)> {
        let Kind { requests, clients, reuse, payload, .. } = kind;
        let reuse = reuse.name();
        let series = format!(
            "--requests {requests} --clients {clients} --payload {payload} --connection {reuse}\n"
        );
        // If it has ended, so has its output.
        let _ = self.input.write_all(series.as_bytes()).and_then(|()| self.input.flush());
        let mut samples = Vec::with_capacity(requests);
        let mut text = String::new();
        while self.output.read_line(&mut text).is_ok_and(|length| length > 0) {
            if stop.is_stopped() {
                return Err(Error::Process("stopped".into()));
            }
            match serde_json::from_str(&text).ok() {
                Some(Line::Request { us, bytes_out, bytes_in }) if samples.len() < requests => {
                    samples.push(Sample { us, out: bytes_out, into: bytes_in });
                }
                Some(Line::End { cpu_us }) if samples.len() == requests => {
                    return Ok((samples, Duration::from_micros(cpu_us).as_secs_f64()));
                }
                _ => return Err(Error::Process("the messages client writes other lines".into())),
            }
            text.clear();
        }
        // Its last line is in the log once it has ended.
        let _ = self.process.wait();
        let last = self.process.last_lines();
        Err(Error::Process(format!("the messages client failed at {}: {last}", self.url)))
    }
}
