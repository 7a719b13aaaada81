//! SIGUSR2: the gate starts its program again, and hands over to it.
//!
//! Deviation: nginx passes its sockets by their numbers, and both processes accept until the
//! operator stops one. Here the next process says when it accepts, and the first one drains
//! then; the operator sends one signal.

use super::systemd;
use std::ffi::OsString;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::{Child, Command, Stdio};
use tidegate_gate::handover::Service;

/// Tells a process that its standard input is the gate in service.
const VARIABLE: &str = "TIDEGATE_TAKES_OVER_BY_STDIN";

/// The program of this process, as it was started: found by the same path, it may be another
/// version by then.
pub struct Program {
    name: OsString,
    arguments: Vec<OsString>,
}

impl Program {
    /// That of this process.
    pub fn of_this_process() -> Self {
        let mut words = std::env::args_os();
        let name = words.next().unwrap_or_else(|| "tidegate".into());
        Self { name, arguments: words.collect() }
    }

    /// Starts the program, and hands over to it on a thread of its own. If that fails, the log
    /// says why, and the gate stays in service.
    pub fn start(&self, service: Service) {
        let started = self.spawn().and_then(|(child, stream)| {
            let thread = std::thread::Builder::new().name("successor".into());
            thread.spawn(move || hand_over(&service, child, &stream)).map(|_| ())
        });
        if let Err(error) = started {
            let name = self.name.display();
            tracing::error!("the gate stays in service: {name} cannot be started: {error}");
        }
    }

    fn spawn(&self) -> std::io::Result<(Child, UnixStream)> {
        let (here, there) = UnixStream::pair()?;
        let child = Command::new(&self.name)
            .args(&self.arguments)
            .env(VARIABLE, "1")
            // Those were for this process.
            .env_remove("LISTEN_FDS")
            .env_remove("LISTEN_PID")
            .env_remove("LISTEN_FDNAMES")
            .stdin(Stdio::from(OwnedFd::from(there)))
            .spawn()?;
        tracing::info!("process {} is to take this gate's place", child.id());
        Ok((child, here))
    }
}

fn hand_over(service: &Service, mut child: Child, stream: &UnixStream) {
    if let Err(error) = service.hand_over(stream, systemd::main_pid) {
        let _ = child.kill();
        let status = child.wait().map(|status| status.to_string()).unwrap_or_default();
        tracing::error!("the gate stays in service: {error} ({status})");
    }
}

/// The gate in service that started this process to take its place.
///
/// # Errors
/// The standard input is not open.
pub fn predecessor() -> std::io::Result<Option<UnixStream>> {
    if std::env::var_os(VARIABLE).is_none() {
        return Ok(None);
    }
    let stdin = std::io::stdin().as_fd().try_clone_to_owned()?;
    Ok(Some(UnixStream::from(stdin)))
}
