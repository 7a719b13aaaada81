//! A CPU quota that can be changed while the processes run: a control group of its own.

use std::process::{Command, Stdio};
use std::time::Duration;

use tidegate_host::CpuGroup;

use crate::error::{Error, Fault, Result};

/// A control group below that of this process, or below another such group.
#[derive(Debug)]
pub struct Quota {
    group: CpuGroup,
}

/// Longest period of the quota. With the kernel's default, 100 ms, a quota of one half would stop
/// the server for 50 ms at a time.
const LONGEST: Duration = Duration::from_millis(10);
/// The kernel accepts no shorter period, and no quota below it.
const SHORTEST: Duration = Duration::from_millis(1);

/// The remedy in error messages.
const REFUSED: &str = "a CPU quota needs a control group of its own: run as root, or in a control \
                       group that is delegated to you";

impl Quota {
    /// A group without a quota and without processes.
    ///
    /// # Errors
    /// This process may not make one, or the kernel takes no processes into it.
    pub fn new() -> Result<Self> {
        let own = CpuGroup::own()
            .ok_or_else(|| Error::Machine("this system has no control groups".into()))?;
        let name = format!("tidegate-{}", std::process::id());
        let quota = Self { group: own.create_below(&name).of_machine(REFUSED)? };
        quota.try_it()?;
        Ok(quota)
    }

    /// A group below this one, without a quota of its own and without processes. The kernel
    /// accepts no quota above that of this group (version 1), or keeps to the smaller of both.
    ///
    /// # Errors
    /// The kernel refuses, or there is one of this name.
    pub fn below(&self, name: &str) -> Result<Self> {
        Ok(Self { group: self.group.create_below(name).of_machine(REFUSED)? })
    }

    /// Moves a process into the group and ends it: that a group can be made does not say that
    /// it takes processes.
    fn try_it(&self) -> Result<()> {
        let mut command = Command::new("sleep");
        command.arg("60").stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = command.spawn().of_machine("cannot try a control group with `sleep`")?;
        let moved = self.add(&[child.id()]);
        // An error means that it has ended already.
        let _ = child.kill();
        let _ = child.wait();
        moved
    }

    /// Moves processes with all their threads into the group.
    ///
    /// # Errors
    /// The kernel refuses, or a process has ended.
    pub fn add(&self, processes: &[u32]) -> Result<()> {
        processes.iter().try_for_each(|process| self.group.add(*process)).of_machine(REFUSED)
    }

    /// Limits the group to so many processors; `None` removes the limit. A group below another one
    /// is limited within the same short period.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn set(&self, cpus: Option<f64>) -> Result<()> {
        let period = cpus.map_or(LONGEST, quota_period);
        self.group.set_quota(cpus, period).of_machine(REFUSED)
    }
}

impl Drop for Quota {
    /// The processes have ended by now; the kernel may count them for some milliseconds.
    fn drop(&mut self) {
        for _ in 0..50 {
            if self.group.remove().is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} is left behind: rmdir it", self.group.folder().display());
    }
}

/// The shortest period in which the kernel limits a group to so many processors: one whose quota
/// is a millisecond, from 1 to 10 ms. A request that meets the end of its quota waits for the next
/// period, so with few customers a long period would be most of the response time.
pub fn quota_period(cpus: f64) -> Duration {
    let seconds = SHORTEST.as_secs_f64() / cpus.max(f64::MIN_POSITIVE);
    // Of whole microseconds: the quota of the rounded period is no less than a millisecond.
    let micros = (seconds.min(LONGEST.as_secs_f64()) * 1e6 - 1e-6).ceil();
    Duration::from_micros(micros as u64).clamp(SHORTEST, LONGEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_period_is_the_shortest_whose_quota_the_kernel_accepts() {
        let micros = |cpus: f64| quota_period(cpus).as_micros();
        assert_eq!(
            [1.0, 0.5, 0.25, 0.3, 0.1, 0.01].map(micros),
            [1000, 2000, 4000, 3334, 10000, 10000]
        );
        assert_eq!(micros(1.5), 1000);
        assert!((0.3_f64 * 3334.0).round() >= 1000.0);
    }

    #[test]
    fn a_group_below_another_takes_and_limits_a_part_of_its_processes() {
        let outer = match Quota::new() {
            Ok(outer) => outer,
            Err(error) => return eprintln!("skipped: {error}"),
        };
        outer.set(Some(0.5)).unwrap();
        let inner = outer.below("inner").unwrap();
        inner.set(Some(0.1)).unwrap();
        let mut child = Command::new("sleep").arg("60").spawn().unwrap();
        let added = inner.add(&[child.id()]);
        let groups = std::fs::read_to_string(format!("/proc/{}/cgroup", child.id())).unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        added.unwrap();
        assert!(groups.contains(&format!("tidegate-{}/inner", std::process::id())), "{groups}");
    }
}
