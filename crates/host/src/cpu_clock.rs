//! CPU clocks: the processor time, user and system, that a thread or a process has used.
//! Waiting, also for a processor, does not count.
//!
//! Source: `clock_gettime(2)`, `clock_getcpuclockid(3)`.

use std::io;
use std::time::Duration;

use nix::unistd::Pid;
use rustix::time::{ClockId, clock_gettime};

use crate::Files;

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

/// CPU time of a process since its start, and of those of its children that have ended and were
/// waited for, to the kernel's tick (usually 10 ms).
///
/// Source: `proc_pid_stat(5)`, `cutime` and `cstime`.
///
/// # Errors
/// There is no such process.
pub fn with_children(files: &Files, pid: u32) -> io::Result<Duration> {
    let stat = files.read(format!("/proc/{pid}/stat")).unwrap_or_default();
    Ok(of_process(pid)? + ended_children(&stat).unwrap_or_default())
}

/// The two fields, 16 and 17 of the line; 14 and 15 after the name, which may hold anything.
fn ended_children(stat: &str) -> Option<Duration> {
    let after_name = &stat[stat.rfind(')')? + 1..];
    let fields = after_name.split_whitespace().skip(13).take(2);
    let ticks: Vec<u64> = fields.map_while(|field| field.parse().ok()).collect();
    let [user, system] = ticks[..] else { return None };
    let per_s = rustix::param::clock_ticks_per_second() as f64;
    Some(Duration::from_secs_f64((user + system) as f64 / per_s))
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
    fn the_time_of_children_counts_once_they_were_waited_for() {
        let stat = "7 (a) (b c) S 1 7 7 0 -1 4194560 1 2 0 0 3 4 120 30 20 0 1 0 5";
        assert_eq!(ended_children(stat), Some(Duration::from_millis(1500)));
        assert_eq!(ended_children("7 (a) S 1"), None);
        let files = Files::new("/");
        let children = || {
            let stat = files.read(format!("/proc/{}/stat", std::process::id())).unwrap();
            ended_children(&stat).unwrap()
        };
        let before = children();
        let busy = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done";
        std::process::Command::new("sh").args(["-c", busy]).status().unwrap();
        let after = children();
        assert!(after > before, "the shell took longer than a tick");
        assert!(with_children(&files, std::process::id()).unwrap() >= after);
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
