//! What the kernel tells: by system calls behind a trait, so that tests may
//! answer instead, and by files below a root that tests may choose.

use super::affinity;
use std::io::{self, Read};
use std::net::{IpAddr, UdpSocket};
use std::path::{Path, PathBuf};
use std::time::Duration;

/// System calls of the meter.
pub trait Kernel: Send {
    /// Processors that a process may run on; none if it is gone.
    fn affinity(&self, pid: u32) -> Option<Vec<usize>>;
    /// CPU time that a process used since its start, all threads; none if it is gone.
    fn cpu_time(&self, pid: u32) -> Option<Duration>;
    /// Whether an address is this host's own.
    fn is_own_address(&self, address: IpAddr) -> bool;
}

/// The running kernel.
#[derive(Debug)]
pub struct Live;

impl Kernel for Live {
    fn affinity(&self, pid: u32) -> Option<Vec<usize>> {
        affinity::of_process(pid).ok()
    }

    fn cpu_time(&self, pid: u32) -> Option<Duration> {
        let pid = libc::pid_t::try_from(pid).ok().filter(|pid| *pid > 0)?;
        let mut clock: libc::clockid_t = 0;
        // SAFETY: the pointer is to a live clockid_t.
        if unsafe { libc::clock_getcpuclockid(pid, &mut clock) } != 0 {
            return None;
        }
        let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        // SAFETY: the pointer is to a live timespec; the clock is checked by the kernel.
        if unsafe { libc::clock_gettime(clock, &mut time) } != 0 {
            return None;
        }
        let (seconds, nanos) = (u64::try_from(time.tv_sec), u32::try_from(time.tv_nsec));
        Some(Duration::new(seconds.ok()?, nanos.ok().filter(|nanos| *nanos < 1_000_000_000)?))
    }

    /// Only an own address can be bound.
    fn is_own_address(&self, address: IpAddr) -> bool {
        address.is_loopback() || UdpSocket::bind((address, 0)).is_ok()
    }
}

/// Files of the kernel, below a root.
#[derive(Debug, Clone)]
pub struct Files {
    root: PathBuf,
}

/// Most bytes read of one file: what is asked for stands at its beginning, and
/// a list of a million connections must not be read ten times a second.
const FILE_BYTES: u64 = 256 << 10;

impl Files {
    /// Below `/`, or another folder in tests.
    pub fn new(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// A path below the root.
    pub fn path(&self, path: impl AsRef<Path>) -> PathBuf {
        let path = path.as_ref();
        self.root.join(path.strip_prefix("/").unwrap_or(path))
    }

    /// The first 256 KiB of a file, as text; none if it cannot be read.
    pub fn read(&self, path: impl AsRef<Path>) -> Option<String> {
        let mut bytes = Vec::new();
        let file = std::fs::File::open(self.path(path)).ok()?;
        file.take(FILE_BYTES).read_to_end(&mut bytes).ok()?;
        Some(String::from_utf8_lossy(&bytes).into_owned())
    }

    /// The names in a folder.
    ///
    /// # Errors
    /// It is not there, or may not be read.
    pub fn names(&self, path: impl AsRef<Path>) -> io::Result<impl Iterator<Item = String>> {
        let entries = std::fs::read_dir(self.path(path))?;
        Ok(entries.filter_map(|entry| entry.ok()?.file_name().into_string().ok()))
    }

    /// What a link points to.
    pub fn link(&self, path: impl AsRef<Path>) -> Option<PathBuf> {
        std::fs::read_link(self.path(path)).ok()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_a_busy_process_grows_by_what_it_used() {
        let own = std::process::id();
        let before = Live.cpu_time(own).unwrap();
        let mut sum = 0_u64;
        while Live.cpu_time(own).unwrap() < before + Duration::from_millis(2) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }

    #[test]
    fn a_process_that_is_not_there_has_no_time() {
        assert_eq!(Live.cpu_time(0), None);
        assert_eq!(Live.cpu_time(u32::MAX), None);
        // Above the kernel's largest pid.
        assert_eq!(Live.cpu_time(4_194_305), None);
    }

    #[test]
    fn loopback_is_own_and_a_documentation_address_is_not() {
        assert!(Live.is_own_address("127.0.0.1".parse().unwrap()));
        assert!(!Live.is_own_address("192.0.2.1".parse().unwrap()));
    }
}
