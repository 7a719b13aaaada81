//! Which processors a process may run on: the value of `--cores` and its effect.

use std::fmt;
use std::str::FromStr;

use anyhow::Context;

use crate::exit::bad_input;

/// Processors by number, such as `0`, `0,2` or `0-3,8`; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Cores(Vec<usize>);

/// Processor numbers that an affinity mask of the C library can hold.
const NUMBERS: usize = libc::CPU_SETSIZE as usize;

impl Cores {
    /// The processors that this process may run on now.
    ///
    /// # Errors
    /// When the system does not tell.
    pub fn allowed() -> anyhow::Result<Self> {
        // SAFETY: a zeroed cpu_set_t is a valid empty set, and the size passed
        // is that of the set that the call fills.
        let set = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            if libc::sched_getaffinity(0, size_of::<libc::cpu_set_t>(), &mut set) != 0 {
                return Err(std::io::Error::last_os_error()).context("cannot read the affinity");
            }
            set
        };
        // SAFETY: every number is below CPU_SETSIZE.
        let member = |cpu: &usize| unsafe { libc::CPU_ISSET(*cpu, &set) };
        Ok(Self((0..NUMBERS).filter(member).collect()))
    }

    /// The processors, ascending, without repeats.
    pub fn list(&self) -> &[usize] {
        &self.0
    }

    /// Binds the calling thread, and the threads that it starts later, to
    /// these processors.
    ///
    /// # Errors
    /// When one of them does not exist or is not allowed here.
    pub fn pin_this_thread(&self) -> anyhow::Result<()> {
        self.apply().with_context(|| format!("cannot run on processors {self}"))
    }

    /// [`Self::pin_this_thread`] with the system's bare error; allocates
    /// nothing, so a child may call it between fork and exec.
    pub fn apply(&self) -> std::io::Result<()> {
        // SAFETY: as in `allowed`; every number was checked on parsing.
        let status = unsafe {
            let mut set: libc::cpu_set_t = std::mem::zeroed();
            self.0.iter().for_each(|cpu| libc::CPU_SET(*cpu, &mut set));
            libc::sched_setaffinity(0, size_of::<libc::cpu_set_t>(), &set)
        };
        if status == 0 { Ok(()) } else { Err(std::io::Error::last_os_error()) }
    }

    /// One of these processors alone, by its place in the list.
    pub fn only(&self, place: usize) -> Option<Self> {
        self.0.get(place).map(|cpu| Self(vec![*cpu]))
    }

    /// Processors for a server and for its customers: those asked for by
    /// `--server-cores` and `--driver-cores`, else the first and the second
    /// allowed. They must not share one: the customers would slow the very thing
    /// that they measure.
    ///
    /// # Errors
    /// When the processors are not there or overlap: bad input.
    pub fn apart(server: &Option<Self>, driver: &Option<Self>) -> anyhow::Result<(Self, Self)> {
        let allowed = Self::allowed()?;
        let pick = |given: &Option<Self>, place| given.clone().or_else(|| allowed.only(place));
        let too_few = || {
            bad_input(format!(
                "two processors are needed, one for site and gate and one for the customers; this process may use only {allowed}"
            ))
        };
        let server = pick(server, 0).ok_or_else(too_few)?;
        let driver = pick(driver, 1).ok_or_else(too_few)?;
        for (flag, cores) in [("--server-cores", &server), ("--driver-cores", &driver)] {
            if let Some(missing) = cores.0.iter().find(|cpu| !allowed.0.contains(cpu)) {
                return Err(bad_input(format!(
                    "{flag} {cores}: processor {missing} is not among those allowed here: {allowed}"
                )));
            }
        }
        if let Some(both) = server.0.iter().find(|cpu| driver.0.contains(cpu)) {
            return Err(bad_input(format!(
                "--server-cores {server} and --driver-cores {driver} share processor {both}: the customers would slow the server that they measure"
            )));
        }
        Ok((server, driver))
    }
}

impl FromStr for Cores {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let rule = || format!("`{text}`: must be processor numbers such as 0, 0,2 or 0-3");
        let number = |part: &str| {
            part.trim().parse::<usize>().ok().filter(|n| *n < NUMBERS).ok_or_else(rule)
        };
        let mut list = Vec::new();
        for part in text.split(',') {
            match part.split_once('-') {
                Some((first, last)) => list.extend(number(first)?..=number(last)?),
                None => list.push(number(part)?),
            }
        }
        list.sort_unstable();
        list.dedup();
        if list.is_empty() { Err(rule()) } else { Ok(Self(list)) }
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
    }

    #[test]
    fn nonsense_is_refused_with_the_rule() {
        for text in ["", "a", "1-", "3-1", "-1", "99999999", "0,,1"] {
            let message = text.parse::<Cores>().unwrap_err();
            assert!(message.contains("processor numbers"), "{text}: {message}");
        }
    }
}
