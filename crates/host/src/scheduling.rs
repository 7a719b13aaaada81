//! What the scheduler did with a process: context switches and waits for a processor.

use crate::Files;
use nix::sys::resource::{UsageWho, getrusage};

/// Context switches of the calling process since its start, all its threads together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Switches {
    /// It waited for something.
    pub voluntary: u64,
    /// Another task got its processor.
    pub involuntary: u64,
}

/// Context switches of the calling process; `None` where the kernel does not report them.
///
/// Source: `getrusage(2)`.
pub fn switches() -> Option<Switches> {
    let usage = getrusage(UsageWho::RUSAGE_SELF).ok()?;
    Some(Switches {
        voluntary: usage.voluntary_context_switches().cast_unsigned(),
        involuntary: usage.involuntary_context_switches().cast_unsigned(),
    })
}

/// Context switches of the living threads of these processes since their start.
///
/// Source: `proc_pid_status(5)`.
pub fn switches_of(files: &Files, processes: &[u32]) -> u64 {
    let mut all = 0_u64;
    for pid in processes {
        let tasks = files.names(format!("/proc/{pid}/task")).into_iter().flatten();
        for task in tasks.take(THREADS) {
            let status = files.read(format!("/proc/{pid}/task/{task}/status")).unwrap_or_default();
            let counts =
                status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
            for (_, count) in counts {
                all = all.saturating_add(count.trim().parse().unwrap_or(0));
            }
        }
    }
    all
}

/// CPU time and waiting of a thread since its start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct ThreadTimes {
    /// On a processor, in nanoseconds.
    pub ran_ns: u64,
    /// Ready to run, and waiting for a processor, in nanoseconds.
    pub waited_ns: u64,
}

/// The times of a thread; `None` where the kernel does not report them.
///
/// Source: kernel documentation, `scheduler/sched-stats`, `/proc/<pid>/schedstat`.
pub(crate) fn thread_times(
    files: &Files,
    pid: u32,
    thread: impl std::fmt::Display,
) -> Option<ThreadTimes> {
    parse_times(&files.read(format!("/proc/{pid}/task/{thread}/schedstat"))?)
}

/// `ran waited slices`, the first two in nanoseconds.
fn parse_times(text: &str) -> Option<ThreadTimes> {
    let mut words = text.split_whitespace().map(str::parse);
    Some(ThreadTimes { ran_ns: words.next()?.ok()?, waited_ns: words.next()?.ok()? })
}

/// Most threads whose waits are added up.
const THREADS: usize = 256;

/// Nanoseconds for which the living threads of a process were ready to run and waited for a
/// processor; `None` where the kernel does not report them.
pub fn run_queue_wait_ns(files: &Files, pid: u32) -> Option<u64> {
    let threads = files.names(format!("/proc/{pid}/task")).ok()?.take(THREADS);
    let waits = threads.filter_map(|thread| Some(thread_times(files, pid, thread)?.waited_ns));
    waits.reduce(u64::saturating_add)
}

/// Tasks of the machine that run or wait for a processor; `None` where the kernel does not
/// report them.
///
/// Source: `proc_stat(5)`, `procs_running`.
pub fn running(files: &Files) -> Option<u64> {
    let text = files.read("/proc/loadavg")?;
    let (running, _) = text.split_whitespace().nth(3)?.split_once('/')?;
    running.parse().ok()
}

/// Resident memory of a process in bytes; `None` where the kernel does not report it.
///
/// Source: `proc_pid_statm(5)`.
pub fn resident_bytes(files: &Files, pid: u32) -> Option<u64> {
    let pages: u64 =
        files.read(format!("/proc/{pid}/statm"))?.split_whitespace().nth(1)?.parse().ok()?;
    pages.checked_mul(rustix::param::page_size() as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_of_all_threads_are_added_up() {
        let root = tempfile::tempdir().unwrap();
        for (thread, text) in [(7, "100 20 3\n"), (8, "100 22 3\n"), (9, "junk"), (10, "1")] {
            let folder = root.path().join(format!("proc/7/task/{thread}"));
            std::fs::create_dir_all(&folder).unwrap();
            std::fs::write(folder.join("schedstat"), text).unwrap();
            let switches =
                "Name:\tx\nvoluntary_ctxt_switches:\t5\nnonvoluntary_ctxt_switches:\t2\n";
            std::fs::write(folder.join("status"), if thread < 9 { switches } else { "" }).unwrap();
        }
        std::fs::write(root.path().join("proc/loadavg"), "0.1 0.2 0.3 4/180 99\n").unwrap();
        std::fs::write(root.path().join("proc/7/statm"), "900 3 1 1 0 1 0\n").unwrap();
        let files = Files::new(root.path());
        assert_eq!(run_queue_wait_ns(&files, 7), Some(42));
        assert_eq!(run_queue_wait_ns(&files, 8), None);
        assert_eq!((switches_of(&files, &[7, 8]), switches_of(&files, &[])), (14, 0));
        assert_eq!(running(&files), Some(4));
        assert_eq!(resident_bytes(&files, 7), Some(3 * rustix::param::page_size() as u64));
    }

    #[test]
    fn this_process_has_switched() {
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(switches().unwrap().voluntary > 0);
    }
}
