//! What the gate and a service manager tell each other: sockets that are open already, and
//! what the service does. Without a service manager nothing happens.
//!
//! Source: sd_listen_fds(3), sd_notify(3).

use crate::exit::bad_input;
use sd_notify::NotifyState;
use std::os::fd::{FromRawFd, OwnedFd};

/// The sockets of the service manager, with their names. Call it once.
///
/// # Errors
/// The variables that describe them contradict each other.
pub fn sockets() -> anyhow::Result<Vec<(OwnedFd, String)>> {
    let wrong = |error| bad_input(format!("the service manager's sockets: {error}"));
    let passed = sd_notify::listen_fds_with_names().map_err(wrong)?;
    // SAFETY: by the protocol these descriptors are open and this process's own; the caller
    // takes them once.
    Ok(passed.map(|(fd, name)| (unsafe { OwnedFd::from_raw_fd(fd) }, name)).collect())
}

/// Customers can connect.
pub fn ready() {
    tell(&[NotifyState::Ready]);
}

/// The configuration is being read again; [`ready`] follows.
pub fn reloading() {
    // Which systemd needs with Type=notify-reload.
    match NotifyState::monotonic_usec_now() {
        Ok(now) => tell(&[NotifyState::Reloading, now]),
        Err(_) => tell(&[NotifyState::Reloading]),
    }
}

/// The gate drains.
pub fn stopping() {
    tell(&[NotifyState::Stopping]);
}

/// Another process is the service now.
pub fn main_pid(pid: u32) {
    tell(&[NotifyState::MainPid(pid), NotifyState::Ready]);
}

fn tell(state: &[NotifyState<'_>]) {
    if let Err(error) = sd_notify::notify(state) {
        tracing::debug!(%error, "the service manager does not listen");
    }
}
