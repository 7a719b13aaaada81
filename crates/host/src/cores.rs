//! Sets of processors, and the affinity of threads and processes to them.

use std::fmt;
use std::io;
use std::str::FromStr;

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

/// Processors by the kernel's numbers, such as `0`, `0,2` or `0-3,8`: ascending,
/// without repeats, never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

impl Cores {
    /// The processors that the calling thread may run on.
    ///
    /// # Errors
    /// The kernel does not tell.
    pub fn of_this_thread() -> io::Result<Self> {
        Self::of(None)
    }

    /// The processors that the main thread of a process may run on. Threads that
    /// were pinned do not change it.
    ///
    /// # Errors
    /// There is no such process, or the kernel does not tell.
    pub fn of_process(pid: u32) -> io::Result<Self> {
        let pid = i32::try_from(pid).ok().and_then(Pid::from_raw);
        Self::of(Some(pid.ok_or(io::ErrorKind::InvalidInput)?))
    }

    fn of(pid: Option<Pid>) -> io::Result<Self> {
        let set = sched_getaffinity(pid)?;
        let list: Vec<usize> = (0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect();
        if list.is_empty() { Err(io::ErrorKind::InvalidData.into()) } else { Ok(Self(list)) }
    }

    /// One processor.
    ///
    /// # Errors
    /// The number is above any that an affinity can hold.
    pub fn one(cpu: usize) -> io::Result<Self> {
        if cpu < CpuSet::MAX_CPU {
            Ok(Self(vec![cpu]))
        } else {
            Err(io::ErrorKind::InvalidInput.into())
        }
    }

    /// The numbers, ascending, without repeats; at least one.
    pub fn list(&self) -> &[usize] {
        &self.0
    }

    /// One of these processors alone, by its place in the list.
    pub fn only(&self, place: usize) -> Option<Self> {
        self.0.get(place).map(|cpu| Self(vec![*cpu]))
    }

    /// Binds the calling thread, and the threads and processes that it starts
    /// later, to these processors. Allocates nothing, so a child may call it
    /// between fork and exec.
    ///
    /// # Errors
    /// None of them exists or is allowed here.
    pub fn pin_this_thread(&self) -> io::Result<()> {
        let mut set = CpuSet::new();
        self.0.iter().for_each(|cpu| set.set(*cpu));
        Ok(sched_setaffinity(None, &set)?)
    }
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
            number.filter(|cpu| *cpu < CpuSet::MAX_CPU).ok_or_else(rule)
        };
        let mut list = Vec::new();
        for part in text.trim().split(',') {
            let (first, last) = part.split_once('-').unwrap_or((part, part));
            let (first, last) = (number(first)?, number(last)?);
            if last < first {
                return Err(rule());
            }
            list.extend(first..=last);
        }
        list.sort_unstable();
        list.dedup();
        Ok(Self(list))
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
        assert!(Cores::one(CpuSet::MAX_CPU - 1).unwrap().pin_this_thread().is_err());
    }
}
