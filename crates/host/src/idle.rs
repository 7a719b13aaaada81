//! The shares of their time in which processors are idle, and in which they run programs.
//!
//! Sources: `proc_stat(5)`, `proc_uptime(5)`. The kernel counts idle time by a clock. Without
//! `CONFIG_VIRT_CPU_ACCOUNTING_GEN` it counts the time of programs by what runs at the ticks of its
//! timer, 100 to 1000 times a second. Programs in a control group that limits them in each of its
//! periods can be in step with the ticks: then every tick finds them, or none does. So a share here is
//! one of the time that passed, and programs have had what was not idle.

use std::collections::BTreeSet;

use crate::Files;

/// Time of one processor in `/proc/stat`, in ticks (mostly of 10 ms).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
struct Ticks {
    /// Idle, waiting for disks, or in work of low priority.
    idle: u64,
    /// Idle or waiting for disks: the part that the kernel counts by a clock.
    unused: u64,
    all: u64,
}

/// The idle time of each processor between the last two updates.
#[derive(Clone, Debug, Default)]
pub struct IdleTimes {
    /// As of the last update, by number of the processor; `None` where the kernel
    /// reported none.
    total: Vec<Option<Ticks>>,
    /// Between the last two updates.
    passed: Vec<Option<Ticks>>,
    /// Time since the machine started, as of the last update, in ticks; `None` where the kernel
    /// reported none.
    up: Option<u64>,
}

impl IdleTimes {
    /// Reads `/proc/stat` and `/proc/uptime` again.
    pub fn update(&mut self, files: &Files) {
        let now = parse(&files.read("/proc/stat").unwrap_or_default());
        let up = files.read("/proc/uptime").and_then(|text| uptime(&text));
        let elapsed = up.zip(self.up).and_then(|(up, before)| up.checked_sub(before));
        let passed = now.iter().enumerate().map(|(cpu, now)| {
            let before = self.total.get(cpu).copied().flatten()?;
            let now = now.as_ref()?;
            // Time spent waiting for disks may decrease.
            let idle = now.idle.saturating_sub(before.idle);
            let unused = now.unused.saturating_sub(before.unused);
            let counted = now.all.checked_sub(before.all)?;
            Some(Ticks { idle, unused, all: elapsed.unwrap_or(counted) })
        });
        self.passed = passed.collect();
        (self.total, self.up) = (now, up);
    }

    /// The share of these processors' time between the last two updates in which they
    /// were idle or ran work of low priority (nice), which yields to any other: 0 to 1.
    /// `None` where the kernel does not report one of them, or no time has passed.
    pub fn share(&self, cpus: &BTreeSet<usize>) -> Option<f64> {
        self.share_of(cpus, |ticks| ticks.idle)
    }

    /// The share of these processors' time between the last two updates in which they ran
    /// programs of any priority, in and out of the kernel, or were taken away by the
    /// hypervisor: 0 to 1. `None` as for [`Self::share`].
    pub fn share_of_programs(&self, cpus: &BTreeSet<usize>) -> Option<f64> {
        self.share_of(cpus, |ticks| ticks.all.saturating_sub(ticks.unused))
    }

    fn share_of(&self, cpus: &BTreeSet<usize>, of: fn(&Ticks) -> u64) -> Option<f64> {
        let (mut part, mut all) = (0_u64, 0_u64);
        for cpu in cpus {
            let passed = self.passed.get(*cpu).copied().flatten()?;
            part = part.saturating_add(of(&passed));
            all = all.saturating_add(passed.all);
        }
        (all > 0).then(|| (part as f64 / all as f64).min(1.0))
    }
}

/// The highest processor number that is accepted.
const HIGHEST: usize = 8191;

/// The time since the machine started, in ticks of 10 ms, which both files use, by the first word
/// of `/proc/uptime`, as in `12345.67 23456.78`.
fn uptime(text: &str) -> Option<u64> {
    let (seconds, hundredths) = text.split_ascii_whitespace().next()?.split_once('.')?;
    let hundredths = hundredths.parse().ok().filter(|it| *it < 100)?;
    seconds.parse::<u64>().ok()?.checked_mul(100)?.checked_add(hundredths)
}

/// Reads the lines `cpuN user nice system idle iowait irq softirq steal …`; others are
/// skipped.
///
/// Not by procfs's `KernelStats`: it drops the number N, so that the times behind an
/// offline processor belong to the wrong one, and one bad line loses the whole file.
fn parse(stat: &str) -> Vec<Option<Ticks>> {
    let mut cpus = Vec::new();
    for line in stat.lines() {
        let mut words = line.split_ascii_whitespace();
        let number = words.next().and_then(|name| name.strip_prefix("cpu")?.parse::<usize>().ok());
        let Some(cpu) = number.filter(|cpu| *cpu <= HIGHEST) else { continue };
        // The time of guests, which follows, is part of user and nice.
        let times: Option<Vec<u64>> = words.take(8).map(|word| word.parse().ok()).collect();
        let Some(times) = times.filter(|times| times.len() >= 4) else { continue };
        let sum = |times: &[u64]| times.iter().fold(0_u64, |a, b| a.saturating_add(*b));
        let (nice, idle, iowait) = (times[1], times[3], times.get(4).copied().unwrap_or(0));
        let unused = sum(&[idle, iowait]);
        let ticks = Ticks { idle: sum(&[nice, unused]), unused, all: sum(&times) };
        if cpus.len() <= cpu {
            cpus.resize(cpu + 1, None);
        }
        cpus[cpu] = Some(ticks);
    }
    cpus
}

#[cfg(test)]
mod tests {
    use super::*;

    fn idle(stats: &[&str]) -> IdleTimes {
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let mut idle = IdleTimes::default();
        for stat in stats {
            std::fs::write(root.path().join("proc/stat"), stat).unwrap();
            idle.update(&Files::new(root.path()));
        }
        idle
    }

    #[test]
    fn waiting_for_disks_and_work_of_low_priority_count_as_idle() {
        // Of cpu0's 20 ticks: 4 user, 2 nice, 5 idle, 1 for disks, 8 stolen.
        let stats = [
            "cpu  0 0 0 0\ncpu0 10 10 10 10 10 10 10 10 99 9\ncpu1 0 0 0 0\nintr 5\n",
            "cpu  9 9 9 9\ncpu0 14 12 10 15 11 10 10 18 99 9\ncpu1 0 0 0 20\nintr 6\n",
        ];
        let idle = idle(&stats);
        assert_eq!(idle.share(&[0].into()), Some(0.4));
        assert_eq!(idle.share_of_programs(&[0].into()), Some(0.7));
        assert_eq!(idle.share(&[1].into()), Some(1.0));
        assert_eq!(idle.share(&[0, 1].into()), Some(0.7));
        assert_eq!(idle.share(&[0, 2].into()), None);
    }

    #[test]
    fn work_in_step_with_the_ticks_does_not_count_twice() {
        // In 12 s a processor was idle for 8: of the other 4 the ticks found 5.8.
        let root = tempfile::tempdir().unwrap();
        std::fs::create_dir(root.path().join("proc")).unwrap();
        let mut idle = IdleTimes::default();
        for (stat, up) in
            [("cpu0 0 0 0 0", "700.00 1.0\n"), ("cpu0 365 0 215 762 38 0", "712.00 9.0\n")]
        {
            std::fs::write(root.path().join("proc/stat"), stat).unwrap();
            std::fs::write(root.path().join("proc/uptime"), up).unwrap();
            idle.update(&Files::new(root.path()));
        }
        assert_eq!(idle.share(&[0].into()), Some(800.0 / 1200.0));
        assert_eq!(idle.share_of_programs(&[0].into()), Some(400.0 / 1200.0));
    }

    #[test]
    fn an_uptime_that_is_none_is_not_used() {
        assert_eq!(uptime("12345.67 23456.78\n"), Some(1_234_567));
        assert_eq!(uptime("0.05 0.00"), Some(5));
        for junk in ["", "7", "-1.00", "1.234", "a.b", "99999999999999999999.00"] {
            assert_eq!(uptime(junk), None);
        }
    }

    #[test]
    fn there_is_no_share_before_time_has_passed() {
        let stat = "cpu0 1 1 1 1\n";
        assert_eq!(idle(&[stat]).share(&[0].into()), None);
        assert_eq!(idle(&[stat, stat]).share(&[0].into()), None);
        assert_eq!(idle(&[stat, "cpu0 1 1 1 2\n"]).share(&[0].into()), Some(1.0));
    }

    #[test]
    fn junk_is_skipped() {
        for junk in ["", "cpu0\n", "cpu0 a b c d\n", "cpu99999999999 1 1 1 1\n", "cpu-1 1 1 1 1\n"]
        {
            assert_eq!(parse(junk), []);
        }
        // Counters that decrease, and counters at their end.
        let (late, early) = ("cpu0 9 9 9 9\n", "cpu0 1 1 1 1\n");
        assert_eq!(idle(&[late, early]).share(&[0].into()), None);
        let most = format!("cpu0 {0} {0} {0} {0}\n", u64::MAX);
        assert_eq!(idle(&[early, &most, &most]).share(&[0].into()), None);
    }
}
