//! What the scheduler did with a process: context switches and waits for a processor.

use std::collections::HashMap;

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

/// Context switches of processes, looked at again and again, so that threads that end count as well.
///
/// Source: `proc_pid_status(5)`.
#[derive(Clone, Debug, Default)]
pub struct ProcessSwitches {
    /// Those of each thread until the last look.
    threads: Option<HashMap<(u32, String), u64>>,
    counted: u64,
}

impl ProcessSwitches {
    /// Context switches since the first look. Of a thread that has ended, those after the last look
    /// at it are missing.
    pub fn look(&mut self, files: &Files, processes: &[u32]) -> u64 {
        let now: HashMap<_, _> = processes
            .iter()
            .flat_map(|pid| {
                let tasks = files.names(format!("/proc/{pid}/task")).into_iter().flatten();
                tasks.take(THREADS).map(|task| (*pid, task))
            })
            .map(|(pid, task)| {
                let switches = thread_switches(files, pid, &task);
                ((pid, task), switches)
            })
            .collect();
        if let Some(before) = &self.threads {
            for (thread, &count) in &now {
                // Another thread can have the number of one that has ended.
                let known = before.get(thread).filter(|known| **known <= count);
                let new = count - known.copied().unwrap_or(0);
                self.counted = self.counted.saturating_add(new);
            }
        }
        self.threads = Some(now);
        self.counted
    }
}

/// Context switches of a thread since its start; 0 for one that has ended.
fn thread_switches(files: &Files, pid: u32, task: &str) -> u64 {
    let status = files.read(format!("/proc/{pid}/task/{task}/status")).unwrap_or_default();
    let counts = status.lines().filter_map(|line| line.split_once("voluntary_ctxt_switches:"));
    counts.filter_map(|(_, count)| count.trim().parse::<u64>().ok()).fold(0, u64::saturating_add)
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
        }
        std::fs::write(root.path().join("proc/loadavg"), "0.1 0.2 0.3 4/180 99\n").unwrap();
        std::fs::write(root.path().join("proc/7/statm"), "900 3 1 1 0 1 0\n").unwrap();
        let files = Files::new(root.path());
        assert_eq!(run_queue_wait_ns(&files, 7), Some(42));
        assert_eq!(run_queue_wait_ns(&files, 8), None);
        assert_eq!(running(&files), Some(4));
        assert_eq!(resident_bytes(&files, 7), Some(3 * rustix::param::page_size() as u64));
    }

    #[test]
    fn switches_of_threads_that_come_and_go_are_counted() {
        let root = tempfile::tempdir().unwrap();
        let thread = |task: u32| root.path().join(format!("proc/7/task/{task}"));
        let runs = |task: u32, voluntary: u32, other: u32| {
            std::fs::create_dir_all(thread(task)).unwrap();
            let status = format!(
                "Name:\tx\nvoluntary_ctxt_switches:\t{voluntary}\nnonvoluntary_ctxt_switches:\t{other}\n"
            );
            std::fs::write(thread(task).join("status"), status).unwrap();
        };
        let (files, mut switches) = (Files::new(root.path()), ProcessSwitches::default());
        runs(7, 100, 20);
        runs(8, 1000, 0);
        assert_eq!(switches.look(&files, &[7, 9]), 0, "the first look is the start");
        runs(7, 103, 21);
        runs(8, 1005, 0);
        assert_eq!(switches.look(&files, &[7, 9]), 9);
        std::fs::remove_dir_all(thread(8)).unwrap();
        runs(9, 2, 1);
        assert_eq!(switches.look(&files, &[7, 9]), 12, "one ended, and a new one began");
        runs(9, 1, 0);
        assert_eq!(switches.look(&files, &[7, 9]), 13, "a third one with the second one's number");
        assert_eq!(switches.look(&files, &[]), 13);
    }

    #[test]
    fn this_process_has_switched() {
        std::thread::sleep(std::time::Duration::from_millis(1));
        assert!(switches().unwrap().voluntary > 0);
    }
}
