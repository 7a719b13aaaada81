//! Use of processors in a window: by the processes that are observed, and by all others.

use std::collections::BTreeSet;

use crate::{Cores, Files, IdleTimes};

/// Follows the use of processors from the first look to the last one.
///
/// The CPU time of the observed processes comes from their clocks, that of all programs is the time in
/// which the processors were not idle; the difference is the others' use. Both begin and end with the
/// same looks.
#[derive(Debug)]
pub struct CoreUse {
    files: Files,
    cores: BTreeSet<usize>,
    first: Option<Look>,
    last: Option<Look>,
    /// Times of the processors as of the first look.
    begun: IdleTimes,
    /// Share of the processors' time in which they ran programs, as of the last look.
    programs: Option<f64>,
}

#[derive(Clone, Copy, Debug)]
struct Look {
    at_s: f64,
    cpu_s: f64,
}

impl CoreUse {
    /// Share of the processors from which on what others use changes the figures of what is
    /// observed.
    pub const DISTURBING: f64 = 0.1;

    /// Observes these processors. `files` is the root of the machine's file system.
    pub fn of(files: Files, cores: &Cores) -> Self {
        Self {
            files,
            cores: cores.list().iter().copied().collect(),
            first: None,
            last: None,
            begun: IdleTimes::default(),
            programs: None,
        }
    }

    /// Looks: at this time, in seconds of any clock, the observed processes have used so many
    /// CPU seconds. The window begins with the first look.
    pub fn look(&mut self, at_s: f64, cpu_s: f64) {
        let look = Look { at_s, cpu_s };
        self.last = Some(look);
        if self.first.is_none() {
            self.first = Some(look);
            self.begun.update(&self.files);
        } else {
            let mut now = self.begun.clone();
            now.update(&self.files);
            self.programs = now.share_of_programs(&self.cores);
        }
    }

    /// Length of the window, in seconds.
    pub fn seconds(&self) -> f64 {
        let (Some(first), Some(last)) = (self.first, self.last) else { return 0.0 };
        (last.at_s - first.at_s).max(0.0)
    }

    /// Processors that the observed processes used on average; 0 where no time has passed.
    pub fn cpus(&self) -> f64 {
        let (Some(first), Some(last)) = (self.first, self.last) else { return 0.0 };
        let seconds = self.seconds();
        if seconds > 0.0 { (last.cpu_s - first.cpu_s) / seconds } else { 0.0 }
    }

    /// Share of the processors' time, 0 to 1, that other programs used, or that the hypervisor
    /// took away. `None` where no time has passed, or the kernel does not report it.
    pub fn others_use(&self) -> Option<f64> {
        let own = self.cpus() / self.cores.len() as f64;
        self.programs.map(|programs| (programs - own).max(0.0))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A machine with these ticks of user time and of idleness of two processors.
    fn machine(root: &std::path::Path, ticks: [(u64, u64); 2]) {
        std::fs::create_dir_all(root.join("proc")).unwrap();
        let line =
            |(cpu, (user, idle)): (usize, (u64, u64))| format!("cpu{cpu} {user} 0 0 {idle}\n");
        let text: String = ticks.into_iter().enumerate().map(line).collect();
        std::fs::write(root.join("proc/stat"), text).unwrap();
    }

    #[test]
    fn others_have_what_programs_used_but_the_observed_did_not() {
        let root = tempfile::tempdir().unwrap();
        let cores = Cores::new([0, 1]).unwrap();
        let mut core_use = CoreUse::of(Files::new(root.path()), &cores);
        machine(root.path(), [(100, 100), (50, 50)]);
        core_use.look(10.0, 3.0);
        assert_eq!((core_use.cpus(), core_use.seconds(), core_use.others_use()), (0.0, 0.0, None));
        // In the first of two seconds, and then in both: looks in between change nothing.
        machine(root.path(), [(150, 150), (50, 150)]);
        core_use.look(11.0, 3.1);
        machine(root.path(), [(300, 100), (150, 150)]);
        core_use.look(12.0, 4.0);
        // Programs ran on three quarters of both processors: 200 and 100 of 200 ticks each.
        assert_eq!((core_use.cpus(), core_use.seconds()), (0.5, 2.0));
        assert_eq!(core_use.others_use(), Some(0.75 - 0.25));
    }

    #[test]
    fn clocks_that_are_read_one_after_the_other_do_not_give_a_use_below_zero() {
        let root = tempfile::tempdir().unwrap();
        let mut core_use = CoreUse::of(Files::new(root.path()), &Cores::one(0).unwrap());
        machine(root.path(), [(0, 0), (0, 0)]);
        core_use.look(0.0, 0.0);
        machine(root.path(), [(100, 0), (0, 100)]);
        core_use.look(1.0, 1.01);
        assert_eq!(core_use.others_use(), Some(0.0));
    }

    #[test]
    fn a_kernel_that_does_not_report_its_processors_gives_none() {
        let root = tempfile::tempdir().unwrap();
        let mut core_use = CoreUse::of(Files::new(root.path()), &Cores::one(0).unwrap());
        core_use.look(0.0, 0.0);
        core_use.look(1.0, 0.4);
        assert_eq!((core_use.cpus(), core_use.others_use()), (0.4, None));
    }
}
