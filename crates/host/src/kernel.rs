//! System calls about processes and addresses, behind a trait so that tests can answer in
//! place of the kernel.

use std::net::IpAddr;
use std::time::Duration;

use crate::addresses::is_own_address;
use crate::{Cores, cpu_clock};

/// What a meter of CPU usage asks the kernel for beside its files.
pub trait Kernel: Send {
    /// Processors that the main thread of a process may run on; `None` if it has ended.
    fn affinity(&self, pid: u32) -> Option<Cores>;
    /// CPU time that a process has used since its start, all its threads together; `None`
    /// if it has ended.
    fn cpu_time(&self, pid: u32) -> Option<Duration>;
    /// Whether an address belongs to this host.
    fn is_own_address(&self, address: IpAddr) -> bool;
}

/// The running kernel.
#[derive(Clone, Copy, Debug)]
pub struct Live;

impl Kernel for Live {
    fn affinity(&self, pid: u32) -> Option<Cores> {
        Cores::of_process(pid).ok()
    }

    fn cpu_time(&self, pid: u32) -> Option<Duration> {
        cpu_clock::of_process(pid).ok()
    }

    fn is_own_address(&self, address: IpAddr) -> bool {
        is_own_address(address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cpu_time_of_a_busy_process_grows() {
        let own = std::process::id();
        let before = Live.cpu_time(own).unwrap();
        let mut sum = 0_u64;
        while Live.cpu_time(own).unwrap() < before + Duration::from_millis(2) {
            sum = std::hint::black_box(sum + 1);
        }
        assert!(sum > 0);
    }

    #[test]
    fn a_process_that_does_not_exist_has_no_cpu_time() {
        assert_eq!(Live.cpu_time(0), None);
        assert_eq!(Live.cpu_time(u32::MAX), None);
        // Above the kernel's largest pid.
        assert_eq!(Live.cpu_time(4_194_305), None);
    }
}
