//! Programs that run to their end: load generators, whose CPU time is measured.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use anyhow::bail;

/// Starts a command on one core and discards its output. The kernel ends it when this
/// thread ends.
///
/// # Errors
/// It cannot be started, or the core is not allowed.
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

/// Runs a command to its end and returns its CPU time, user and system. An exit code
/// other than 0 is not an error: a load generator that saturates its processor may
/// report that by its exit code.
///
/// # Errors
/// It does not start, is ended by a signal, or does not end within `most`.
pub fn run(command: Command, core: usize, most: Duration) -> anyhow::Result<Duration> {
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

/// Status and CPU time of a child that has ended; `None` while it runs.
fn reap(child: &Child) -> io::Result<Option<(ExitStatus, Duration)>> {
    let (mut status, mut usage) = (0, std::mem::MaybeUninit::<libc::rusage>::zeroed());
    let id = child.id().cast_signed();
    // SAFETY: both pointers are valid through the call, and the id is that of a child
    // that nothing else waits for.
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
    fn a_command_returns_its_cpu_time_whatever_its_exit_code() {
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
