//! The driver processes: start, messages, end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::ExitStatusExt;
use std::process::{ChildStdin, ExitStatus};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tidegate_lab::{Launch, Process};

use super::lead::{DriverEvent, Drivers};
use super::message::{DRIVER, Start};

/// Capacity of the queue of messages. Beyond it the drivers block on writing; their
/// measurement continues.
const UNREAD: usize = 64;

/// All drivers of a run. Those that are still running when it is dropped are killed.
pub struct DriverSet {
    drivers: Vec<Driver>,
    events: Receiver<(usize, DriverEvent)>,
}

struct Driver {
    process: Process,
    input: Option<ChildStdin>,
}

impl DriverSet {
    /// Starts a process for each job, with the arguments of this process.
    ///
    /// # Errors
    /// A process cannot be started.
    pub fn start(jobs: &[super::message::Job]) -> anyhow::Result<Self> {
        let (sender, events) = sync_channel(UNREAD);
        let mut set = Self { drivers: Vec::new(), events };
        for (index, job) in jobs.iter().enumerate() {
            let driver = Driver::start(index, sender.clone())
                .with_context(|| format!("driver {}: cannot be started", index + 1))?;
            set.drivers.push(driver);
            set.send(index, job);
        }
        Ok(set)
    }

    /// The process ids.
    pub fn ids(&self) -> Vec<u32> {
        self.drivers.iter().map(|driver| driver.process.id()).collect()
    }

    fn send(&mut self, index: usize, message: &impl serde::Serialize) {
        let Some(input) = &mut self.drivers[index].input else { return };
        let mut line = serde_json::to_vec(message).expect("plain data");
        line.push(b'\n');
        // The end of a driver is reported by its output.
        let _ = input.write_all(&line);
    }
}

impl Drivers for DriverSet {
    fn next_event(&mut self, timeout: Duration) -> Option<(usize, DriverEvent)> {
        self.events.recv_timeout(timeout).ok()
    }

    fn begin(&mut self, at: SystemTime) {
        let start = Start::from(at);
        (0..self.drivers.len()).for_each(|index| self.send(index, &start));
    }

    fn stop(&mut self) {
        self.drivers.iter_mut().for_each(|driver| driver.input = None);
    }

    fn ended(&mut self, index: usize) -> String {
        let driver = &mut self.drivers[index];
        driver.input = None;
        let end = driver.process.wait().map(|exit| exit.status);
        let output = driver.process.output();
        let last = output.lines().last().map(|line| format!(" ({line})"));
        end.map_or_else(|error| error.to_string(), ending) + &last.unwrap_or_default()
    }

    fn kill(&mut self, index: usize) {
        self.drivers[index].process.kill();
    }
}

impl Driver {
    /// Starts a driver with the arguments of this process. The calling thread must outlive
    /// it: the kernel ends the driver with that thread.
    fn start(index: usize, events: SyncSender<(usize, DriverEvent)>) -> anyhow::Result<Self> {
        let launch = Launch::this_program("driver").args(std::env::args_os().skip(1));
        let launch = launch.env(DRIVER, "1").log_unnamed()?.piped().grace(Duration::ZERO);
        let mut process = launch.start()?;
        let input = process.take_stdin();
        let output = process.take_stdout().expect("it is piped");
        std::thread::Builder::new()
            .name("driver-output".to_owned())
            .spawn(move || read_messages(index, output, &events))?;
        Ok(Self { process, input })
    }
}

/// Reads the output of a driver line by line.
fn read_messages(index: usize, output: impl Read, events: &SyncSender<(usize, DriverEvent)>) {
    let mut output = BufReader::with_capacity(64 * 1024, output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let event = match output.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => DriverEvent::End,
            Ok(_) => match serde_json::from_slice(&line) {
                Ok(message) => DriverEvent::Message(message),
                Err(error) => DriverEvent::Invalid(error.to_string()),
            },
        };
        let last = matches!(event, DriverEvent::End);
        if events.send((index, event)).is_err() || last {
            return;
        }
    }
}

/// How a process ended, in words.
pub fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(code), _) => format!("ended with exit code {code} before its run was complete"),
        (None, None) => "ended".to_owned(),
    }
}
