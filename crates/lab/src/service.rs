//! A part of the lab that runs as a process of its own, so that its
//! processors can be set apart from the customers'.

use std::fs::File;
use std::io::{BufRead, BufReader};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};

use tidegate_host::Cores;

/// A child process that has said where it listens.
pub struct Service {
    name: &'static str,
    child: Child,
    /// Addresses by the word before them, in the order in which they were said.
    addresses: Vec<(String, String)>,
    log: PathBuf,
}

/// Long enough to open a small database on a slow disk.
const START: Duration = Duration::from_secs(60);
/// Longer than the services take to drain.
const STOP: Duration = Duration::from_secs(5);

impl Service {
    /// Starts this binary with `args` on `cores` and waits until it says that
    /// it listens; what it reports goes to `log`.
    ///
    /// # Errors
    /// When it cannot be started, ends, or stays silent for a minute; with
    /// the end of its log.
    pub fn start(
        name: &'static str,
        args: &[String],
        cores: &Cores,
        log: &Path,
    ) -> anyhow::Result<Self> {
        let binary = std::env::current_exe().context("cannot find the own binary")?;
        let file = File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        let mut command = Command::new(binary);
        command.args(args).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(file);
        // Ctrl-C in the terminal goes to this process alone, which ends its
        // services in order; should it be killed, the kernel ends them.
        command.process_group(0);
        let cores = cores.clone();
        // SAFETY: both calls are bare system calls that touch only the child.
        unsafe {
            command.pre_exec(move || {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                cores.pin_this_thread()
            });
        }
        let mut child = command.spawn().with_context(|| format!("cannot start the {name}"))?;
        let said = listen(child.stdout.take().expect("stdout was piped"));
        let mut service = Self { name, child, addresses: Vec::new(), log: log.to_owned() };
        service.wait_until_ready(&said)?;
        Ok(service)
    }

    /// CPU seconds that the process has used since it began.
    ///
    /// # Errors
    /// When it is gone.
    pub fn cpu_s(&self) -> anyhow::Result<f64> {
        let pid = libc::pid_t::try_from(self.child.id())?;
        let mut clock = 0;
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: both calls write to the local variables passed.
        let status = unsafe {
            match libc::clock_getcpuclockid(pid, &mut clock) {
                0 => libc::clock_gettime(clock, &mut time),
                error => error,
            }
        };
        if status != 0 {
            bail!("the {} has ended: {}", self.name, self.log_end());
        }
        Ok(time.tv_sec as f64 + time.tv_nsec as f64 * 1e-9)
    }

    /// The process's number.
    pub fn process(&self) -> u32 {
        self.child.id()
    }

    /// The address that the service announced with this word.
    ///
    /// # Errors
    /// When it announced none, which is our mistake.
    pub fn address(&self, word: &str) -> anyhow::Result<&str> {
        let found = self.addresses.iter().find(|(said, _)| said == word);
        found
            .map(|(_, address)| address.as_str())
            .with_context(|| format!("the {} named no `{word}` address", self.name))
    }

    /// Asks the process to end, waits, and ends it if it does not.
    pub fn stop(mut self) {
        self.end();
    }

    fn end(&mut self) {
        let Ok(pid) = libc::pid_t::try_from(self.child.id()) else { return };
        // SAFETY: the child was not waited for yet, so the id is still its own.
        unsafe { libc::kill(pid, libc::SIGTERM) };
        let deadline = Instant::now() + STOP;
        while Instant::now() < deadline {
            if !matches!(self.child.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }

    fn wait_until_ready(&mut self, said: &mpsc::Receiver<String>) -> anyhow::Result<()> {
        let deadline = Instant::now() + START;
        loop {
            let left = deadline.saturating_duration_since(Instant::now());
            match said.recv_timeout(left) {
                Ok(line) if line == READY => return Ok(()),
                Ok(line) => self.addresses.extend(announcement(&line)),
                Err(mpsc::RecvTimeoutError::Timeout) => {
                    bail!(
                        "the {} did not start within {} s: {}",
                        self.name,
                        START.as_secs(),
                        self.log_end()
                    );
                }
                Err(mpsc::RecvTimeoutError::Disconnected) => {
                    bail!("the {} ended at once: {}", self.name, self.log_end());
                }
            }
        }
    }

    fn log_end(&self) -> String {
        let text = std::fs::read_to_string(&self.log).unwrap_or_default();
        let lines: Vec<_> = text.lines().rev().take(3).collect();
        let end: Vec<_> = lines.into_iter().rev().collect();
        format!("{} (from {})", end.join(" / "), self.log.display())
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        self.end();
    }
}

/// The line by which a service says that it serves from now on.
pub const READY: &str = "ready";

/// `admin: http://127.0.0.1:1` as word and address.
fn announcement(line: &str) -> Option<(String, String)> {
    let (word, address) = line.split_once(": ")?;
    Some((word.to_owned(), address.to_owned()))
}

/// Reads lines until the stream ends, also when nobody listens any more, so
/// that the child never blocks on a full pipe.
fn listen(stdout: impl std::io::Read + Send + 'static) -> mpsc::Receiver<String> {
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

    #[test]
    fn an_announcement_is_a_word_and_an_address() {
        let said = announcement("admin: http://127.0.0.1:1");
        assert_eq!(said, Some(("admin".into(), "http://127.0.0.1:1".into())));
        assert_eq!(announcement(READY), None);
    }
}
