//! A process that announces its addresses on standard output and reports that it is
//! ready, as `tidegate gate` and `tidegate site` do.

use std::io::{BufRead, BufReader};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use crate::error::{Error, Result};
use crate::process::{Exit, Launch, Process};

/// The line by which a service reports that it accepts connections.
pub const READY: &str = "ready";

/// Longest time to start: a small database on a slow disk is opened in it.
const START: Duration = Duration::from_secs(60);
/// Time from SIGTERM to SIGKILL: longer than a gate drains.
const GRACE: Duration = Duration::from_secs(5);

/// A service that is ready. It ends when this is dropped.
#[derive(Debug)]
pub struct Service {
    process: Process,
    /// Addresses by the word before them, in the order of the announcement.
    addresses: Vec<(String, String)>,
}

impl Service {
    /// Starts a process and waits until it reports that it is ready.
    ///
    /// # Errors
    /// It cannot be started, ends, or is not ready within a minute; with the last lines of
    /// its log.
    pub fn start(launch: Launch) -> Result<Self> {
        let mut process = launch.piped().grace(GRACE).start()?;
        let lines = lines(process.take_stdout().expect("standard output is piped"));
        let mut service = Self { process, addresses: Vec::new() };
        service.wait_until_ready(&lines)?;
        Ok(service)
    }

    /// The process.
    pub fn process(&self) -> &Process {
        &self.process
    }

    /// How the process ended; `None` while it runs.
    ///
    /// # Errors
    /// The kernel does not report it.
    pub fn exit(&mut self) -> Result<Option<Exit>> {
        self.process.exit()
    }

    /// Kills it where it is.
    pub fn kill(&mut self) {
        self.process.kill();
    }

    /// CPU seconds that the process has used since its start.
    ///
    /// # Errors
    /// It has ended.
    pub fn cpu_s(&self) -> Result<f64> {
        Ok(self.process.cpu_time()?.as_secs_f64())
    }

    /// The address that the service announced with this word.
    ///
    /// # Errors
    /// It announced none.
    pub fn address(&self, word: &str) -> Result<&str> {
        let found = self.addresses.iter().find(|(announced, _)| announced == word);
        found.map(|(_, address)| address.as_str()).ok_or_else(|| {
            Error::Process(format!("the {} announced no `{word}` address", self.process.name()))
        })
    }

    fn wait_until_ready(&mut self, lines: &mpsc::Receiver<String>) -> Result<()> {
        let deadline = Instant::now() + START;
        let (name, last) = (self.process.name(), || self.process.last_lines());
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match lines.recv_timeout(left) {
                Ok(line) if line == READY => return Ok(()),
                Ok(line) => self.addresses.extend(announcement(&line)),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    let (seconds, last) = (START.as_secs(), last());
                    let text = format!(
                        "the {name} was not ready within {seconds} s; look at its log: {last}"
                    );
                    return Err(Error::Process(text));
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    return Err(Error::Process(format!("the {name} ended at once: {}", last())));
                }
            }
        }
    }
}

/// `admin: http://127.0.0.1:1` as word and address.
fn announcement(line: &str) -> Option<(String, String)> {
    let (word, address) = line.split_once(": ")?;
    Some((word.to_owned(), address.to_owned()))
}

/// Reads lines until the stream ends, also after the receiver is gone, so that the
/// process never blocks on a full pipe.
fn lines(stdout: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
    let (sender, receiver) = mpsc::channel();
    std::thread::spawn(move || {
        for line in BufReader::new(stdout).lines().map_while(Result::ok) {
            let _ = sender.send(line);
        }
    });
    receiver
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    fn shell(script: &str) -> Result<Service> {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Service::start(Launch::new("shell", command).log_unnamed()?)
    }

    #[test]
    fn an_announcement_is_a_word_and_an_address() {
        let parsed = announcement("admin: http://127.0.0.1:1");
        assert_eq!(parsed, Some(("admin".into(), "http://127.0.0.1:1".into())));
        assert_eq!(announcement(READY), None);
    }

    #[test]
    fn a_ready_service_has_the_addresses_that_it_announced() {
        let service = shell("echo site: http://x; echo ready; sleep 100").unwrap();
        assert_eq!(service.address("site").unwrap(), "http://x");
        let error = service.address("admin").unwrap_err().to_string();
        assert_eq!(error, "the shell announced no `admin` address");
    }

    #[test]
    fn a_service_that_ends_before_it_is_ready_is_an_error_with_its_log() {
        let error = shell("echo no such table >&2").unwrap_err().to_string();
        assert_eq!(error, "the shell ended at once: no such table");
    }
}
