//! What the agent tells of the service beside it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tidegate_host::cgroup::{self, Mounts};
use tidegate_host::service::{Service, Target};
use tidegate_host::{Files, IdleTimes, Kernel, Live};

use crate::message::Reading;

/// A reading is used again for so long: however many ask, the kernel is asked twenty times a
/// second at most.
const FRESH: Duration = Duration::from_millis(45);
/// How long capacities and the idle share are used again. The kernel counts idle time in steps
/// of 10 ms.
const CAPACITY_EVERY: Duration = Duration::from_millis(450);
/// How long mounts are used again.
const MOUNTS_EVERY: Duration = Duration::from_secs(10);

/// Reads capacity and use of a service.
pub struct Sampler {
    files: Files,
    kernel: Box<dyn Kernel>,
    service: Service,
    mounts: Mounts,
    idle: IdleTimes,
    started: Instant,
    mounts_read: Option<Instant>,
    capacity_read: Option<Instant>,
    read: Option<Instant>,
    latest: Reading,
}

impl std::fmt::Debug for Sampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Sampler").field("latest", &self.latest).finish_non_exhaustive()
    }
}

impl Sampler {
    /// Of a service on this host.
    pub fn new(target: Target) -> Self {
        Self::with(target, Files::new("/"), Box::new(Live), Instant::now())
    }

    fn with(target: Target, files: Files, kernel: Box<dyn Kernel>, now: Instant) -> Self {
        let run = aws_lc_rs::rand::SystemRandom::new();
        let run = aws_lc_rs::rand::generate::<[u8; 8]>(&run).map_or([0; 8], |run| run.expose());
        let boot = boot_id(&files);
        let latest = Reading { run: u64::from_ne_bytes(run), boot, ..Reading::default() };
        Self {
            files,
            kernel,
            service: Service::new(target, std::process::id()),
            mounts: Mounts::default(),
            idle: IdleTimes::default(),
            started: now,
            mounts_read: None,
            capacity_read: None,
            read: None,
            latest,
        }
    }

    /// The reading of now. It never blocks.
    pub fn read(&mut self) -> &Reading {
        self.read_at(Instant::now())
    }

    fn read_at(&mut self, now: Instant) -> &Reading {
        let due = |read: Option<Instant>, every| {
            read.is_none_or(|at| now.saturating_duration_since(at) >= every)
        };
        if !due(self.read, FRESH) {
            return &self.latest;
        }
        if due(self.mounts_read, MOUNTS_EVERY) {
            (self.mounts, self.mounts_read) = (Mounts::read(&self.files), Some(now));
        }
        let seen_before = self.latest.seen;
        self.service.find(now, &self.files, &self.mounts, &*self.kernel);
        let used = self.service.used(&self.files, &self.mounts, &*self.kernel);
        let latest = &mut self.latest;
        latest.used += used.unwrap_or_default();
        latest.at = now.saturating_duration_since(self.started);
        latest.seen = self.service.is_visible();
        latest.note = self.service.unseen().map(ToString::to_string).unwrap_or_default();
        self.read = Some(now);
        if due(self.capacity_read, CAPACITY_EVERY) || seen_before != self.latest.seen {
            self.capacity_read = Some(now);
            self.read_capacity();
        }
        &self.latest
    }

    fn read_capacity(&mut self) {
        let (files, mounts) = (&self.files, &self.mounts);
        self.idle.update(files);
        let processors: BTreeSet<usize> = match self.latest.seen {
            true => self.service.processors(files, &*self.kernel),
            false => BTreeSet::new(),
        };
        let groups = self.service.groups(files);
        let (cpus, _) = cgroup::together(files, mounts, &groups, processors.len(), 0.0);
        let latest = &mut self.latest;
        latest.capacity_cpus = cpus;
        latest.idle = self.idle.share(&processors);
        latest.processors = processors;
    }
}

/// Which run of which machine's kernel this is; containers of one machine have the same. Zeros
/// where the kernel does not tell it.
pub fn boot_id(files: &Files) -> [u8; 16] {
    parse_boot_id(&files.read("/proc/sys/kernel/random/boot_id").unwrap_or_default())
}

/// The 16 bytes of a UUID; zeros where it is not one.
fn parse_boot_id(text: &str) -> [u8; 16] {
    let digits: String = text.trim().chars().filter(|char| *char != '-').collect();
    let sound = digits.len() == 32 && digits.bytes().all(|byte| byte.is_ascii_hexdigit());
    let number = sound.then(|| u128::from_str_radix(&digits, 16).ok()).flatten();
    number.map_or([0; 16], u128::to_be_bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use std::net::IpAddr;
    use std::sync::{Arc, Mutex};
    use tidegate_host::Cores;

    #[derive(Clone, Default)]
    struct Fake(Arc<Mutex<HashMap<u32, Duration>>>);

    impl Kernel for Fake {
        fn affinity(&self, pid: u32) -> Option<Cores> {
            self.0.lock().unwrap().get(&pid).and_then(|_| Cores::new([1, 2]).ok())
        }
        fn cpu_time(&self, pid: u32) -> Option<Duration> {
            self.0.lock().unwrap().get(&pid).copied()
        }
        fn is_own_address(&self, address: IpAddr) -> bool {
            address.is_loopback()
        }
    }

    #[test]
    fn use_is_summed_over_a_restart_and_capacity_is_affinity_or_quota() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let kernel = Fake::default();
        let set = |pid: u32, ms: u64| {
            kernel.0.lock().unwrap().insert(pid, Duration::from_millis(ms));
        };
        write("proc/sys/kernel/random/boot_id", "01020304-0506-0708-090a-0b0c0d0e0f10\n");
        let start = Instant::now();
        let target = Target::Processes(vec![7]);
        let files = Files::new(root.path());
        let mut sampler = Sampler::with(target, files, Box::new(kernel.clone()), start);
        let at = |ms: u64| start + Duration::from_millis(ms);

        let absent = sampler.read_at(at(0)).clone();
        assert!(!absent.seen && absent.used.is_zero(), "{absent:?}");
        assert_eq!(absent.note, "of the 1 processes that were named 0 can be seen");
        assert_eq!(absent.boot, [1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16]);

        set(7, 500);
        assert_eq!(*sampler.read_at(at(40)), absent, "a reading is used again for 45 ms");
        let first = sampler.read_at(at(600)).clone();
        assert!(first.seen && first.used.is_zero() && first.note.is_empty(), "{first:?}");
        assert_eq!((first.capacity_cpus, first.processors), (2.0, [1, 2].into()));
        set(7, 580);
        assert_eq!(sampler.read_at(at(700)).used, Duration::from_millis(80));
        // Another process with the same number: all that it used is new.
        set(7, 30);
        assert_eq!(sampler.read_at(at(800)).used, Duration::from_millis(110));

        write("proc/self/mountinfo", "41 31 0:38 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("proc/7/cgroup", "0::/shop\n");
        write("sys/fs/cgroup/shop/cpu.max", "50000 100000\n");
        let cut = sampler.read_at(at(11_000)).clone();
        assert_eq!((cut.capacity_cpus, cut.at), (0.5, Duration::from_secs(11)));
    }

    #[test]
    fn a_boot_id_that_is_none_is_zeros() {
        for text in ["", "xyz", "0102", "+1020304-0506-0708-090a-0b0c0d0e0f1"] {
            assert_eq!(parse_boot_id(text), [0; 16], "{text:?}");
        }
    }
}
