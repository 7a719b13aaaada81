//! The driver processes: start, messages, end.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;

use super::message::{DRIVER, Message, Start};

/// Capacity of the queue of messages. Beyond it the drivers block on writing; their
/// measurement continues.
const UNREAD: usize = 64;
/// Last bytes kept of the standard error of a driver.
const STDERR_TAIL: usize = 4096;

/// All drivers of a run. Dropping it kills those that are still running.
pub struct DriverSet {
    drivers: Vec<Driver>,
    events: Receiver<(usize, DriverEvent)>,
}

/// Output of a driver process.
pub enum DriverEvent {
    /// A message.
    Message(Message),
    /// A line that is not a message, and why.
    Invalid(String),
    /// End of its output.
    End,
}

struct Driver {
    process: Child,
    input: Option<ChildStdin>,
    /// Last bytes of its standard error.
    stderr_tail: Arc<Mutex<Vec<u8>>>,
    reader: Option<JoinHandle<()>>,
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

    /// The next event and the index of its driver; `None` after the timeout.
    pub fn next_event(&self, timeout: Duration) -> Option<(usize, DriverEvent)> {
        self.events.recv_timeout(timeout).ok()
    }

    /// Sends the common start to all drivers.
    pub fn begin(&mut self, at: std::time::SystemTime) {
        let start = Start::from(at);
        (0..self.drivers.len()).for_each(|index| self.send(index, &start));
    }

    /// Requests all drivers to stop and to send their results.
    pub fn stop(&mut self) {
        self.drivers.iter_mut().for_each(|driver| driver.input = None);
    }

    /// Waits for the process of a driver whose output has ended; returns how it ended, in
    /// words.
    pub fn ended(&mut self, index: usize) -> String {
        let driver = &mut self.drivers[index];
        driver.input = None;
        let status = driver.process.wait();
        driver.reader.take().map(JoinHandle::join);
        let tail = driver.stderr_tail.lock().unwrap_or_else(PoisonError::into_inner);
        let tail = String::from_utf8_lossy(&tail);
        let last = tail.trim().lines().last().map(|line| format!(" ({line})"));
        status.map_or_else(|error| error.to_string(), ending) + &last.unwrap_or_default()
    }

    /// Kills a driver.
    pub fn kill(&mut self, index: usize) {
        // It may have ended already.
        let _ = self.drivers[index].process.kill();
    }

    fn send(&mut self, index: usize, message: &impl serde::Serialize) {
        let Some(input) = &mut self.drivers[index].input else { return };
        let mut line = serde_json::to_vec(message).expect("plain data");
        line.push(b'\n');
        // The end of a driver is reported by its output.
        let _ = input.write_all(&line);
    }
}

impl Drop for DriverSet {
    fn drop(&mut self) {
        for driver in &mut self.drivers {
            let _ = driver.process.kill();
            let _ = driver.process.wait();
        }
    }
}

impl Driver {
    fn start(index: usize, events: SyncSender<(usize, DriverEvent)>) -> std::io::Result<Self> {
        let mut arguments = std::env::args_os();
        let name = arguments.next().unwrap_or_else(|| "tidegate".into());
        // The running program, even if its file has been replaced.
        let mut process = Command::new("/proc/self/exe");
        process
            .arg0(name)
            .args(arguments)
            .env(DRIVER, "1")
            // Ctrl-C goes to the lead only, which then stops the drivers.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = process.spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let errors = process.stderr.take().expect("it is piped");
        let stderr_tail = Arc::<Mutex<Vec<u8>>>::default();
        let mut driver = Self { process, input, stderr_tail: stderr_tail.clone(), reader: None };
        let output = output.expect("it is piped");
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let started = thread("driver-output")
            .spawn(move || read_messages(index, output, &events))
            .and_then(|_| thread("driver-errors").spawn(move || keep_tail(errors, &stderr_tail)));
        match started {
            Ok(reader) => driver.reader = Some(reader),
            Err(error) => {
                let _ = driver.process.kill();
                let _ = driver.process.wait();
                return Err(error);
            }
        }
        Ok(driver)
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

fn keep_tail(mut errors: impl Read, stderr_tail: &Mutex<Vec<u8>>) {
    let mut buffer = [0; 1024];
    while let Ok(read @ 1..) = errors.read(&mut buffer) {
        let mut tail = stderr_tail.lock().unwrap_or_else(PoisonError::into_inner);
        tail.extend_from_slice(&buffer[..read]);
        let surplus = tail.len().saturating_sub(STDERR_TAIL);
        tail.drain(..surplus);
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(code), _) => format!("ended with exit code {code} before its run was complete"),
        (None, None) => "ended".to_owned(),
    }
}
