//! One window: a generator runs, and its CPU time is set beside what the server saw.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::bail;
use serde::Serialize;

use super::site::Site;

/// How much longer than its window a generator may take.
const LONGER: Duration = Duration::from_secs(20);

/// A measured window.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Turn {
    /// CPU time of the generator, user and system, from its start to its end.
    pub cpu_s: f64,
    /// From its start to its end.
    pub wall_s: f64,
    /// Requests that the server answered.
    pub requests: u64,
    /// Full handshakes that the server made.
    pub full: u64,
    /// Resumed ones.
    pub resumed: u64,
    /// CPU time of the server.
    pub server_cpu_s: f64,
}

impl Turn {
    /// Runs a generator on a core to its end.
    ///
    /// # Errors
    /// It does not start, is killed by a signal, or takes too long.
    pub fn measure(
        command: Command,
        core: usize,
        window: Duration,
        site: &Site,
    ) -> anyhow::Result<Self> {
        let (before, server) = (site.seen()?, site.process.cpu_time()?);
        let begun = Instant::now();
        let used = run(command, core, window + LONGER)?;
        let wall = begun.elapsed();
        let (after, server_after) = (site.seen()?, site.process.cpu_time()?);
        Ok(Self {
            cpu_s: used.as_secs_f64(),
            wall_s: wall.as_secs_f64(),
            // The look at its end is itself a request.
            requests: (after.requests - before.requests).saturating_sub(1),
            full: after.full - before.full,
            resumed: after.resumed - before.resumed,
            server_cpu_s: server_after.saturating_sub(server).as_secs_f64(),
        })
    }

    /// CPU microseconds of the generator per request; not a number where there was none.
    pub fn cpu_us(&self) -> f64 {
        if self.requests == 0 { f64::NAN } else { 1e6 * self.cpu_s / self.requests as f64 }
    }
}

/// Starts a command on one core, its output thrown away.
pub fn spawn(mut command: Command, core: usize) -> io::Result<Child> {
    command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    // SAFETY: between fork and exec the closure only makes system calls.
    unsafe {
        command.pre_exec(move || {
            tidegate_host::Cores::one(core)?.pin_this_thread()?;
            libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            Ok(())
        });
    }
    command.spawn()
}

/// Runs a command to its end and gives the CPU time that it took. An exit code other
/// than 0 is no error: a generator that is asked for all that its processor gives may
/// rightly call itself the limit.
fn run(command: Command, core: usize, most: Duration) -> anyhow::Result<Duration> {
    let shown = format!("{command:?}");
    let mut child = spawn(command, core)?;
    let deadline = Instant::now() + most;
    loop {
        if let Some((status, used)) = reap(&child)? {
            if let Some(signal) = status.signal() {
                bail!("{shown} was ended by signal {signal}");
            }
            return Ok(used);
        }
        if Instant::now() > deadline {
            let _ = child.kill();
            let _ = child.wait();
            bail!("{shown} did not end in time");
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

/// What a child has used in all, if it has ended.
fn reap(child: &Child) -> io::Result<Option<(ExitStatus, Duration)>> {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    let id = child.id().cast_signed();
    // SAFETY: both pointers live through the call, and the id is that of our child,
    // which nobody else waits for.
    let ended = unsafe { libc::wait4(id, &raw mut status, libc::WNOHANG, usage.as_mut_ptr()) };
    match ended {
        0 => Ok(None),
        -1 => Err(io::Error::last_os_error()),
        _ => {
            // SAFETY: wait4 has filled it in, and zeroes were valid before.
            let usage = unsafe { usage.assume_init() };
            let time = |t: libc::timeval| {
                Duration::new(
                    t.tv_sec.cast_unsigned(),
                    u32::try_from(t.tv_usec).unwrap_or(0) * 1000,
                )
            };
            Ok(Some((ExitStatus::from_raw(status), time(usage.ru_utime) + time(usage.ru_stime))))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_of_a_command_is_its_own_and_its_exit_code_no_error() {
        let core = tidegate_host::Cores::of_this_thread().unwrap().list()[0];
        let shell = |script: &str| {
            let mut command = Command::new("sh");
            command.args(["-c", script]);
            command
        };
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; exit 3";
        let used = run(shell(busy), core, Duration::from_secs(60)).unwrap();
        assert!(used > run(shell("exit 0"), core, Duration::from_secs(60)).unwrap());
        let error = run(shell("sleep 100"), core, Duration::from_millis(50)).unwrap_err();
        assert!(error.to_string().contains("did not end in time"));
        let error = run(shell("kill -9 $$"), core, Duration::from_secs(60)).unwrap_err();
        assert!(error.to_string().contains("signal 9"));
    }
}
