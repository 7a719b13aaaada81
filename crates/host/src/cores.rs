//! Sets of processors, and the affinity of threads and processes to them.

use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::io::Errno;
use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use crate::Files;

/// Processors by the kernel's numbers, such as `0`, `0,2` or `0-3,8`: ascending,
/// without repeats, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

/// Kernels are built for at most 8192 processors, numbered from 0.
const LIMIT: usize = 8192;

impl Cores {
    /// A set of these processors.
    ///
    /// # Errors
    /// There is none, or a number is above any that the kernel uses (8191).
    pub fn new(numbers: impl IntoIterator<Item = usize>) -> io::Result<Self> {
        let mut list: Vec<usize> = numbers.into_iter().collect();
        list.sort_unstable();
        list.dedup();
        match list.last() {
            Some(last) if *last < LIMIT => Ok(Self(list)),
            _ => {
                let rule = "processors have numbers from 0 to 8191, and a set holds at least one";
                Err(io::Error::new(io::ErrorKind::InvalidInput, rule))
            }
        }
    }

    /// The processors that the calling thread may run on.
    ///
    /// # Errors
    /// The kernel does not report them.
    pub fn of_this_thread() -> io::Result<Self> {
        Self::read(None)
    }

    /// The processors that the main thread of this process may run on. Threads that
    /// were pinned do not change it.
    ///
    /// # Errors
    /// The kernel does not report them.
    pub fn of_this_process() -> io::Result<Self> {
        Self::of_process(std::process::id())
    }

    /// The processors that the main thread of a process may run on; or another of its threads, by
    /// the thread's number.
    ///
    /// # Errors
    /// There is no such process or thread, or the kernel does not report them.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Self::read(Some(pid.ok_or(io::ErrorKind::InvalidInput)?))
    }

    fn read(pid: Option<Pid>) -> io::Result<Self> {
        let set = match sched_getaffinity(pid) {
            // The set is smaller than what this kernel may have: `sched_getaffinity(2)`.
            Err(Errno::INVAL) => return Self::of_status(pid),
            set => set?,
        };
        Self::new((0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)))
    }

    /// The affinity as `/proc` shows it: for machines of more processors than `CpuSet`
    /// holds.
    fn of_status(pid: Option<Pid>) -> io::Result<Self> {
        let task = pid.map_or_else(|| "thread-self".to_owned(), |pid| pid.to_string());
        let status = Files::new("/").read(format!("/proc/{task}/status"));
        parse_status(&status.unwrap_or_default()).ok_or(io::ErrorKind::InvalidData.into())
    }

    /// One processor.
    ///
    /// # Errors
    /// The number is above any that the kernel uses (8191).
    pub fn one(cpu: usize) -> io::Result<Self> {
        Self::new([cpu])
    }

    /// The numbers, ascending, without repeats; at least one.
    pub fn list(&self) -> &[usize] {
        &self.0
    }

    /// The set of one of these processors, by its index in the list.
    pub fn only(&self, index: usize) -> Option<Self> {
        self.0.get(index).map(|cpu| Self(vec![*cpu]))
    }

    /// Binds the calling thread, and the threads and processes that it starts
    /// later, to these processors. Allocates nothing, so a child may call it
    /// between fork and exec.
    ///
    /// # Errors
    /// None of them exists or is allowed here, or one has a number above 1023.
    pub fn pin_this_thread(&self) -> io::Result<()> {
        let mut set = CpuSet::new();
        for cpu in &self.0 {
            if *cpu >= CpuSet::MAX_CPU {
                // As for any other processor that does not exist.
                return Err(Errno::INVAL.into());
            }
            set.set(*cpu);
        }
        Ok(sched_setaffinity(None, &set)?)
    }
}

/// The affinity in the text of `/proc/PID/status`.
///
/// Source: `proc_pid_status(5)`.
fn parse_status(status: &str) -> Option<Cores> {
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"));
    list?.parse().ok()
}

impl FromStr for Cores {
    type Err = String;

    /// Reads a list such as `0,2-3`, as the kernel writes it too.
    fn from_str(text: &str) -> Result<Self, String> {
        let rule = || format!("`{text}`: must be processor numbers such as 0, 0,2 or 0-3");
        let number = |part: &str| {
            let part = part.trim();
            let digits = !part.is_empty() && part.bytes().all(|byte| byte.is_ascii_digit());
            let number = if digits { part.parse::<usize>().ok() } else { None };
            number.filter(|cpu| *cpu < LIMIT).ok_or_else(rule)
        };
        let mut list = Vec::new();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            // Repeated ranges must not grow memory.
            if last < first || list.len() > LIMIT {
                return Err(rule());
            }
            list.extend(first..=last);
        }
        Self::new(list).map_err(|_| rule())
    }
}

impl fmt::Display for Cores {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let numbers: Vec<_> = self.0.iter().map(usize::to_string).collect();
        f.write_str(&numbers.join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_ranges_become_ascending_numbers() {
        assert_eq!("3,0-1,1".parse::<Cores>().unwrap().list(), [0, 1, 3]);
        assert_eq!("0".parse::<Cores>().unwrap().list(), [0]);
        assert_eq!("1,1,0".parse::<Cores>().unwrap().list(), [0, 1]);
        assert_eq!("8191".parse::<Cores>().unwrap().list(), [8191]);
        assert_eq!("0-3,8,10-11\n".parse::<Cores>().unwrap().to_string(), "0,1,2,3,8,10,11");
    }

    #[test]
    fn anything_else_is_refused_with_the_rule() {
        for text in
            ["", ",", "a", "0-", "3-1", "-1", "0-99999999999", "8192", "+1", "0 1", "0,,1", "0,3-1"]
        {
            let message = text.parse::<Cores>().unwrap_err();
            assert!(message.contains("processor numbers"), "{text}: {message}");
        }
        let repeats = vec!["0-8191"; 10_000].join(",");
        assert!(repeats.parse::<Cores>().is_err());
    }

    #[test]
    fn the_status_file_reports_the_affinity() {
        let status = "Name:\tx\nCpus_allowed:\tf0f\nCpus_allowed_list:\t0-3,1024-1025\nx\n";
        assert_eq!(parse_status(status).unwrap().list(), [0, 1, 2, 3, 1024, 1025]);
        assert_eq!(parse_status("Cpus_allowed_list:\n"), None);
        assert_eq!(parse_status(""), None);
        let own = Cores::of_this_thread().unwrap();
        assert_eq!(Cores::of_status(None).unwrap(), own);
        assert!(Cores::of_status(Pid::from_raw(i32::MAX)).is_err());
    }

    #[test]
    fn this_process_may_run_somewhere() {
        assert!(!Cores::of_this_process().unwrap().list().is_empty());
    }

    #[test]
    fn a_pinned_thread_may_run_on_its_processor_alone() {
        let last = *Cores::of_this_thread().unwrap().list().last().unwrap();
        std::thread::spawn(move || {
            Cores::one(last).unwrap().pin_this_thread().unwrap();
            assert_eq!(Cores::of_this_thread().unwrap().list(), [last]);
            assert!(Cores::of_process(std::process::id()).unwrap().list().contains(&last));
        })
        .join()
        .unwrap();
    }

    #[test]
    fn processors_and_processes_that_do_not_exist_are_errors() {
        assert!(Cores::one(100_000).is_err());
        assert!(Cores::of_process(u32::MAX).is_err());
        for cpu in [CpuSet::MAX_CPU - 1, LIMIT - 1] {
            assert!(Cores::one(cpu).unwrap().pin_this_thread().is_err());
        }
        assert!(Cores::new([]).is_err());
    }
}
