//! CPU clocks: the processor time, user and system, that a thread or a process has used.
//! Waiting, also for a processor, does not count.
//!
//! Source: `clock_gettime(2)`, `clock_getcpuclockid(3)`.

use std::io;
use std::time::Duration;

use nix::unistd::Pid;
use rustix::time::{ClockId, clock_gettime};

/// CPU time of a process since its start, all its threads together.
///
/// # Errors
/// There is no such process.
pub fn of_process(pid: u32) -> io::Result<Duration> {
    // 0 would mean the calling process.
    let pid = i32::try_from(pid).ok().filter(|pid| *pid > 0);
    let pid = Pid::from_raw(pid.ok_or(io::ErrorKind::InvalidInput)?);
    Ok(nix::time::clock_getcpuclockid(pid)?.now()?.into())
}

/// CPU time of the calling process since its start, all its threads together.
pub fn of_this_process() -> Duration {
    read(ClockId::ProcessCPUTime)
}

/// CPU time of the calling thread since its start. One system call, no allocation.
#[inline]
pub fn of_this_thread() -> Duration {
    read(ClockId::ThreadCPUTime)
}

#[inline]
fn read(clock: ClockId) -> Duration {
    let time = clock_gettime(clock);
    // The kernel keeps both parts in range: `clock_gettime(2)`.
    Duration::new(time.tv_sec.cast_unsigned(), time.tv_nsec as u32)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_clock_of_a_process_covers_the_work_of_its_threads() {
        let before = of_this_process();
        let own = std::thread::spawn(|| {
            while of_this_thread() < Duration::from_millis(5) {
                std::hint::spin_loop();
            }
            of_this_thread()
        })
        .join()
        .unwrap();
        assert!(of_this_process() - before >= own);
        assert!(of_process(std::process::id()).unwrap() >= before + own);
    }

    #[test]
    fn a_process_that_is_gone_has_no_clock() {
        let mut child = std::process::Command::new("true").spawn().unwrap();
        child.wait().unwrap();
        for pid in [child.id(), 0, u32::MAX, 4_194_305] {
            assert!(of_process(pid).is_err(), "{pid}");
        }
    }
}
