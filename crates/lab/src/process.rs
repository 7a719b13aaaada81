//! Child processes: pinned, logged, counted, and ended by id.

use anyhow::{Context, bail};
use std::fs::File;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, TcpListener, TcpStream};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to start.
const START: Duration = Duration::from_secs(10);

/// How long a server may take to stop before it is killed.
const STOP: Duration = Duration::from_secs(2);

/// A running server and its children; all of them end when this is dropped.
#[derive(Debug)]
pub struct Process {
    child: Child,
    log: PathBuf,
}

impl Process {
    /// Starts a program on one core, its output in a log file, and waits until
    /// all of `ready` accept connections.
    ///
    /// # Errors
    /// It does not start, ends, or does not listen in time; with its output.
    pub fn start(
        mut command: Command,
        core: usize,
        log: &Path,
        ready: &[SocketAddr],
    ) -> anyhow::Result<Self> {
        let output =
            File::create(log).with_context(|| format!("cannot write {}", log.display()))?;
        command.stdin(Stdio::null()).stdout(output.try_clone()?).stderr(output);
        // SAFETY: between fork and exec the closure only makes system calls.
        unsafe {
            command.pre_exec(move || {
                tidegate_host::Cores::one(core)?.pin_this_thread()?;
                // Asked politely, nginx's master ends its worker too.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGTERM);
                Ok(())
            });
        }
        let child = command.spawn().with_context(|| format!("cannot start {command:?}"))?;
        let mut process = Self { child, log: log.to_owned() };
        process.wait_until_ready(ready).with_context(|| format!("{command:?}"))?;
        Ok(process)
    }

    fn wait_until_ready(&mut self, ready: &[SocketAddr]) -> anyhow::Result<()> {
        let deadline = Instant::now() + START;
        for address in ready {
            while TcpStream::connect(address).is_err() {
                if let Some(status) = self.child.try_wait()? {
                    bail!("ended at once ({status}): {}", self.output());
                }
                if Instant::now() > deadline {
                    bail!("does not listen on {address}: {}", self.output());
                }
                std::thread::sleep(Duration::from_millis(5));
            }
        }
        Ok(())
    }

    /// What the server has written so far, at most the last 2000 characters.
    pub fn output(&self) -> String {
        let text =
            String::from_utf8_lossy(&std::fs::read(&self.log).unwrap_or_default()).into_owned();
        let skip = text.chars().count().saturating_sub(2000);
        text.chars().skip(skip).collect::<String>().trim().to_owned()
    }

    /// CPU time of the process and all its descendants since they started.
    ///
    /// # Errors
    /// The server is gone.
    pub fn cpu_time(&self) -> io::Result<Duration> {
        self.ids().into_iter().map(tidegate_host::cpu_clock::of_process).sum()
    }

    fn ids(&self) -> Vec<u32> {
        let mut ids = vec![self.child.id()];
        let mut next = 0;
        while next < ids.len() {
            ids.extend(children(ids[next]));
            next += 1;
        }
        ids
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        let family: Vec<_> = self.ids().into_iter().map(|id| (id, started(id))).collect();
        signal(self.child.id(), libc::SIGTERM);
        let deadline = Instant::now() + STOP;
        while Instant::now() < deadline && matches!(self.child.try_wait(), Ok(None)) {
            std::thread::sleep(Duration::from_millis(2));
        }
        // Those that outlived their parent. An id that was given to another
        // process meanwhile has another start time.
        for (id, start) in family.into_iter().skip(1) {
            if start.is_some() && started(id) == start {
                signal(id, libc::SIGKILL);
            }
        }
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

/// When a process started, in the kernel's ticks since boot.
fn started(id: u32) -> Option<u64> {
    let stat = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name, in parentheses, may hold spaces: count from its end.
    stat.rsplit(')').next()?.split_whitespace().nth(19)?.parse().ok()
}

fn children(id: u32) -> Vec<u32> {
    let Ok(tasks) = std::fs::read_dir(format!("/proc/{id}/task")) else { return Vec::new() };
    tasks
        .flatten()
        .filter_map(|task| std::fs::read_to_string(task.path().join("children")).ok())
        .flat_map(|ids| ids.split_whitespace().filter_map(|id| id.parse().ok()).collect::<Vec<_>>())
        .collect()
}

fn signal(id: u32, signal: libc::c_int) {
    // SAFETY: sends a signal; the id is positive and that of a child of ours.
    unsafe { libc::kill(id.cast_signed(), signal) };
}

/// A port of 127.0.0.1 that was free a moment ago.
///
/// # Errors
/// There is none.
pub fn free_address() -> io::Result<SocketAddr> {
    TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?.local_addr()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> Command {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        command
    }

    #[test]
    fn a_server_that_ends_at_once_is_an_error_with_its_output() {
        let folder = tempfile::tempdir().unwrap();
        let core = tidegate_host::Cores::of_this_thread().unwrap().list()[0];
        let ready = [free_address().unwrap()];
        let log = folder.path().join("log");
        let error = Process::start(shell("echo broken; exit 3"), core, &log, &ready).unwrap_err();
        assert!(format!("{error:#}").contains("broken"));
    }

    #[test]
    fn dropping_a_process_ends_its_children() {
        let folder = tempfile::tempdir().unwrap();
        let core = tidegate_host::Cores::of_this_thread().unwrap().list()[0];
        let log = folder.path().join("log");
        let process = Process::start(shell("sleep 100 & wait"), core, &log, &[]).unwrap();
        while process.ids().len() < 2 {
            std::thread::yield_now();
        }
        let ids = process.ids();
        drop(process);
        let gone = |id: &u32| {
            let state = std::fs::read_to_string(format!("/proc/{id}/stat")).unwrap_or_default();
            state.is_empty() || state.contains(") Z ")
        };
        let deadline = Instant::now() + START;
        while !ids.iter().all(gone) {
            assert!(Instant::now() < deadline, "some of {ids:?} still run");
            std::thread::yield_now();
        }
    }
}
