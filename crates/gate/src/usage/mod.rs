//! How much CPU the gate and its upstream may use, and how much they do use,
//! read live from the kernel: affinity, control groups, process clocks.

mod affinity;
mod cgroup;
mod family;
mod idle;
mod kernel;
mod note;
mod sockets;
#[cfg(test)]
mod tests;
mod upstream;

pub use affinity::{own_affinity, parse_cpu_list};
pub use note::Note;

use crate::config::Upstream;
use cgroup::{Membership, Mounts};
use idle::Idle;
use kernel::{Files, Kernel, Live};
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tidegate_control::Usage;
use upstream::Watched;

/// The folder of the control group whose CPU quota concerns this process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuGroup {
    /// Version 1: the quota is in `cpu.cfs_quota_us` and `cpu.cfs_period_us`.
    V1(PathBuf),
    /// Version 2: the quota is in `cpu.max`.
    V2(PathBuf),
}

impl CpuGroup {
    /// That of this process; none without control groups.
    pub fn own() -> Option<Self> {
        let files = Files::new("/");
        let mounts = Mounts::parse(&files.read("/proc/self/mountinfo")?);
        let groups = Membership::parse(&files.read("/proc/self/cgroup")?);
        let v1 = || Some(Self::V1(cgroup::folder(mounts.cpu.as_ref()?, groups.cpu.as_ref()?)));
        let v2 =
            || Some(Self::V2(cgroup::folder(mounts.unified.as_ref()?, groups.unified.as_ref()?)));
        v1().or_else(v2)
    }
}

/// What one look at the kernel showed, in the form that a controller's reading
/// takes it. `capacity_cpus` is above 0: the least of the affinity and of every
/// quota above the process. `used_cpu_s` is since the sample before, never
/// negative; none in the first sample and where the kernel did not tell.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Sample {
    /// The whole gate process.
    pub gate: Usage,
    /// The upstream; none when it is not on this host or cannot be seen.
    pub upstream: Option<Usage>,
    /// Both together, when they may run on the same processors or are limited by
    /// a common quota; none when neither can take from the other, and when the
    /// upstream cannot be seen.
    pub shared: Option<Usage>,
}

/// How long capacities are taken to be what they were: a change of affinity or
/// quota shows within half a second.
const CAPACITY_EVERY: Duration = Duration::from_millis(450);
/// How often mounts are read again: there may be thousands, and they rarely change.
const MOUNTS_EVERY: Duration = Duration::from_secs(10);
/// The smallest capacity: the kernel's smallest quota, 1 ms of 1 s.
const LEAST_CPUS: f64 = 0.001;

/// Takes samples; keeps what the next needs.
pub struct UsageMeter {
    files: Files,
    kernel: Box<dyn Kernel>,
    own: u32,
    cores: BTreeSet<usize>,
    upstream: Watched,
    mounts: Mounts,
    mounts_read: Option<Instant>,
    idle: Idle,
    capacity: Capacity,
    capacity_read: Option<Instant>,
    last: Option<Duration>,
}

/// Capacities as last read.
#[derive(Clone, Debug, Default, PartialEq)]
struct Capacity {
    gate: Processors,
    upstream: Option<Processors>,
    shared: Option<Processors>,
}

/// How many processors' worth of time there is, and on which.
#[derive(Clone, Debug, Default, PartialEq)]
struct Processors {
    cpus: f64,
    on: BTreeSet<usize>,
}

impl std::fmt::Debug for UsageMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsageMeter")
            .field("upstream", &self.upstream)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl UsageMeter {
    /// Watches this process and the upstream that the configuration names.
    pub fn new(upstream: &Upstream) -> Self {
        Self::with(Files::new("/"), Box::new(Live), std::process::id(), upstream)
    }

    /// Says on which processors the gate's threads work; unsaid, or said of
    /// none, on all of its affinity. It can use no more than these, whatever
    /// the process's affinity becomes.
    pub fn on_cores(mut self, cores: &[usize]) -> Self {
        self.cores = cores.iter().copied().collect();
        self
    }

    fn with(files: Files, kernel: Box<dyn Kernel>, own: u32, upstream: &Upstream) -> Self {
        Self {
            upstream: Watched::new(upstream, &files, own),
            files,
            kernel,
            own,
            cores: BTreeSet::new(),
            mounts: Mounts::default(),
            mounts_read: None,
            idle: Idle::default(),
            capacity: Capacity::default(),
            capacity_read: None,
            last: None,
        }
    }

    /// Looks at the kernel; call it once per tick, from one thread. Mostly two
    /// clocks and one file; every half second a few small files, every 10 s the processes
    /// and descriptors where the upstream is looked for. Never waits.
    pub fn sample(&mut self) -> Sample {
        self.sample_at(Instant::now())
    }

    /// Why the upstream cannot be seen, or not all of it, and what to do: a
    /// sentence for the operator. None when all is well, and where the
    /// configuration wants nothing seen.
    pub fn upstream_note(&self) -> Option<&str> {
        self.upstream.note.as_deref()
    }

    fn sample_at(&mut self, now: Instant) -> Sample {
        let due = |read: Option<Instant>, every| {
            read.is_none_or(|at| now.saturating_duration_since(at) >= every)
        };
        if due(self.mounts_read, MOUNTS_EVERY) {
            self.mounts =
                Mounts::parse(&self.files.read("/proc/self/mountinfo").unwrap_or_default());
            self.mounts_read = Some(now);
        }
        self.upstream.find(now, &self.files, &self.mounts, &*self.kernel);
        let upstream_used = self.upstream.used(&self.files, &self.mounts, &*self.kernel);
        if due(self.capacity_read, CAPACITY_EVERY)
            || self.upstream.is_visible() != self.capacity.upstream.is_some()
        {
            self.capacity = self.read_capacity();
            self.capacity_read = Some(now);
        }
        let clock = self.kernel.cpu_time(self.own);
        let used = clock.zip(self.last).and_then(|(now, last)| now.checked_sub(last));
        self.last = clock;
        self.idle.look(&self.files);
        let usage = |processors: &Processors, used: Option<Duration>| Usage {
            capacity_cpus: processors.cpus,
            used_cpu_s: used.map(|used| used.as_secs_f64()),
            idle: self.idle.share(&processors.on),
        };
        let capacity = &self.capacity;
        let both = used.zip(upstream_used).map(|(gate, upstream)| gate + upstream);
        Sample {
            gate: usage(&capacity.gate, used),
            upstream: capacity.upstream.as_ref().map(|theirs| usage(theirs, upstream_used)),
            shared: capacity.shared.as_ref().map(|shared| usage(shared, both)),
        }
    }

    fn read_capacity(&self) -> Capacity {
        let groups = Membership::of_process(&self.files, self.own);
        let quota = |groups: &Membership| cgroup::quota(&self.files, &self.mounts, groups);
        let mine = self.own_processors();
        let gate = limit(mine.len() as f64, quota(&groups));
        let capacity =
            Capacity { gate: Processors { cpus: gate, on: mine }, ..Capacity::default() };
        let theirs = self.upstream.processors(&self.files, &*self.kernel);
        if !self.upstream.is_visible() || theirs.is_empty() {
            return capacity;
        }
        let mine = &capacity.gate.on;
        let their_groups = self.upstream.groups(&self.files);
        let common = |groups: &Membership, other: &Membership| groups.common(other);
        let top = their_groups.iter().cloned().reduce(|a, b| common(&a, &b)).unwrap_or_default();
        // Groups without a quota of their own make the sum unlimited.
        let sum = their_groups.iter().map(quota).sum::<Option<f64>>();
        let upstream = limit(limit(theirs.len() as f64, sum), quota(&top));

        let union: BTreeSet<usize> = mine.union(&theirs).copied().collect();
        let both = limit(union.len() as f64, quota(&common(&groups, &top))).min(gate + upstream);
        let contend = !mine.is_disjoint(&theirs) || both < gate + upstream;
        Capacity {
            upstream: Some(Processors { cpus: upstream, on: theirs }),
            shared: contend.then_some(Processors { cpus: both, on: union }),
            ..capacity
        }
    }

    /// Processors that the gate's threads work on: its cores, as far as its
    /// affinity still allows them.
    fn own_processors(&self) -> BTreeSet<usize> {
        let allowed: BTreeSet<usize> =
            self.kernel.affinity(self.own).into_iter().flatten().collect();
        let working: BTreeSet<usize> = allowed.intersection(&self.cores).copied().collect();
        match (working.is_empty(), allowed.is_empty()) {
            (false, _) => working,
            (true, false) => allowed,
            (true, true) => [0].into(),
        }
    }
}

/// The lesser of a number of processors and a quota, at least the smallest quota.
fn limit(cpus: f64, quota: Option<f64>) -> f64 {
    quota.map_or(cpus, |quota| quota.min(cpus)).max(LEAST_CPUS)
}
