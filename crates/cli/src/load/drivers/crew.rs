//! The processes of the drivers: started, heard, told, and never left behind.

use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use anyhow::Context;

use super::message::Message;
use super::{DRIVER, child};

/// Messages of drivers that the lead has not read yet; then drivers wait, not
/// their measurement.
const UNREAD: usize = 64;
/// Bytes kept of what a driver writes to its standard error: the last.
const KEPT: usize = 4096;

/// All drivers of a run. Dropping it ends those that are left.
pub struct Crew {
    drivers: Vec<Driver>,
    heard: Receiver<(usize, Heard)>,
}

/// What is heard of a driver.
pub enum Heard {
    /// It says something.
    Says(Message),
    /// It says something that cannot be understood.
    Nonsense(String),
    /// It will say nothing more.
    Silence,
}

struct Driver {
    process: Child,
    input: Option<ChildStdin>,
    /// The end of what it wrote to its standard error.
    last_words: Arc<Mutex<Vec<u8>>>,
    listener: Option<JoinHandle<()>>,
}

impl Crew {
    /// Starts a process for each job, with the arguments of this one.
    ///
    /// # Errors
    /// A process cannot be started.
    pub fn start(jobs: &[super::message::Job]) -> anyhow::Result<Self> {
        let (tell, heard) = sync_channel(UNREAD);
        let mut crew = Self { drivers: Vec::new(), heard };
        for (index, job) in jobs.iter().enumerate() {
            let driver = Driver::start(index, tell.clone())
                .with_context(|| format!("driver {}: cannot be started", index + 1))?;
            crew.drivers.push(driver);
            crew.tell(index, job);
        }
        Ok(crew)
    }

    /// Their process ids.
    pub fn ids(&self) -> Vec<u32> {
        self.drivers.iter().map(|driver| driver.process.id()).collect()
    }

    /// The next that is heard; `None` if nothing is within this time.
    pub fn listen(&self, patience: Duration) -> Option<(usize, Heard)> {
        self.heard.recv_timeout(patience).ok()
    }

    /// Lets all begin at an instant.
    pub fn begin(&mut self, at: std::time::SystemTime) {
        let start = child::start(at);
        (0..self.drivers.len()).for_each(|index| self.tell(index, &start));
    }

    /// Asks all to stop and to say what they have measured.
    pub fn stop(&mut self) {
        self.drivers.iter_mut().for_each(|driver| driver.input = None);
    }

    /// Waits for a driver that says nothing more, and gives in words how it ended.
    pub fn ended(&mut self, index: usize) -> String {
        let driver = &mut self.drivers[index];
        driver.input = None;
        let status = driver.process.wait();
        driver.listener.take().map(JoinHandle::join);
        let words = driver.last_words.lock().unwrap_or_else(PoisonError::into_inner);
        let words = String::from_utf8_lossy(&words);
        let last = words.trim().lines().last().map(|line| format!(" ({line})"));
        status.map_or_else(|error| error.to_string(), ending) + &last.unwrap_or_default()
    }

    /// Ends a driver that does not by itself.
    pub fn kill(&mut self, index: usize) {
        // It may have ended just now.
        let _ = self.drivers[index].process.kill();
    }

    fn tell(&mut self, index: usize, what: &impl serde::Serialize) {
        let Some(input) = &mut self.drivers[index].input else { return };
        let mut line = serde_json::to_vec(what).expect("plain data");
        line.push(b'\n');
        // One that is gone is heard of in its own way.
        let _ = input.write_all(&line);
    }
}

impl Drop for Crew {
    fn drop(&mut self) {
        for driver in &mut self.drivers {
            let _ = driver.process.kill();
            let _ = driver.process.wait();
        }
    }
}

impl Driver {
    fn start(index: usize, tell: SyncSender<(usize, Heard)>) -> std::io::Result<Self> {
        let mut given = std::env::args_os();
        let name = given.next().unwrap_or_else(|| "tidegate".into());
        // The program that runs, even if its file has been replaced since.
        let mut process = Command::new("/proc/self/exe");
        process
            .arg0(name)
            .args(given)
            .env(DRIVER, "1")
            // A Ctrl-C is for the lead, which tells the drivers.
            .process_group(0)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped());
        let mut process = process.spawn()?;
        let (input, output) = (process.stdin.take(), process.stdout.take());
        let errors = process.stderr.take().expect("it is piped");
        let last_words = Arc::<Mutex<Vec<u8>>>::default();
        let mut driver = Self { process, input, last_words: last_words.clone(), listener: None };
        let output = output.expect("it is piped");
        let thread = |name: &str| std::thread::Builder::new().name(name.to_owned());
        let started = thread("driver-says")
            .spawn(move || listen(index, output, &tell))
            .and_then(|_| thread("driver-errors").spawn(move || keep_last(errors, &last_words)));
        match started {
            Ok(listener) => driver.listener = Some(listener),
            Err(error) => {
                let _ = driver.process.kill();
                let _ = driver.process.wait();
                return Err(error);
            }
        }
        Ok(driver)
    }
}

/// Passes on what a driver says, line by line.
fn listen(index: usize, output: impl Read, tell: &SyncSender<(usize, Heard)>) {
    let mut output = BufReader::with_capacity(64 * 1024, output);
    let mut line = Vec::new();
    loop {
        line.clear();
        let heard = match output.read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => Heard::Silence,
            Ok(_) => match serde_json::from_slice(&line) {
                Ok(message) => Heard::Says(message),
                Err(error) => Heard::Nonsense(error.to_string()),
            },
        };
        let last = matches!(heard, Heard::Silence);
        if tell.send((index, heard)).is_err() || last {
            return;
        }
    }
}

fn keep_last(mut errors: impl Read, last_words: &Mutex<Vec<u8>>) {
    let mut some = [0; 1024];
    while let Ok(read @ 1..) = errors.read(&mut some) {
        let mut kept = last_words.lock().unwrap_or_else(PoisonError::into_inner);
        kept.extend_from_slice(&some[..read]);
        let surplus = kept.len().saturating_sub(KEPT);
        kept.drain(..surplus);
    }
}

fn ending(status: ExitStatus) -> String {
    match (status.code(), status.signal()) {
        (_, Some(signal)) => format!("was killed by signal {signal}"),
        (Some(code), _) => format!("ended with exit code {code} before it was done"),
        (None, None) => "ended".to_owned(),
    }
}
