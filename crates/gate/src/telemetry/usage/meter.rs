//! The meter of CPU capacity and use.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tidegate_control::{ByResource, ResourceName, Usage};
use tidegate_host::cgroup::{self, Membership, Mounts};
use tidegate_host::{Files, IdleTimes, Kernel, Live};

use super::upstream::UpstreamUsage;
use crate::config::Upstream;

/// How long capacities are assumed constant: a change of affinity or quota shows within
/// half a second.
const CAPACITY_EVERY: Duration = Duration::from_millis(450);
/// Interval at which mounts are read again: there may be thousands, and they rarely
/// change.
const MOUNTS_EVERY: Duration = Duration::from_secs(10);
/// The smallest capacity: the kernel's smallest quota, 1 ms of 1 s.
const LEAST_CPUS: f64 = 0.001;

/// Samples the CPU time that the gate and its upstream may use and do use.
pub struct UsageMeter {
    files: Files,
    kernel: Box<dyn Kernel>,
    own: u32,
    cores: BTreeSet<usize>,
    upstream: UpstreamUsage,
    mounts: Mounts,
    mounts_read: Option<Instant>,
    idle: IdleTimes,
    /// Capacities as last read.
    capacity: ByResource<Processors>,
    capacity_read: Option<Instant>,
    last: Option<Duration>,
}

/// A capacity in processors, and the processors that provide it.
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
    /// A meter of this process and of the upstream that the configuration names.
    pub fn new(upstream: &Upstream) -> Self {
        Self::with(Files::new("/"), Box::new(Live), std::process::id(), upstream)
    }

    /// Sets the processors that the gate's threads are pinned to. They bound its capacity,
    /// whatever the process's affinity becomes. By default, and for an empty list, they are
    /// those of its affinity.
    pub fn on_cores(mut self, cores: &[usize]) -> Self {
        self.cores = cores.iter().copied().collect();
        self
    }

    pub(super) fn with(
        files: Files,
        kernel: Box<dyn Kernel>,
        own: u32,
        upstream: &Upstream,
    ) -> Self {
        Self {
            upstream: UpstreamUsage::new(upstream, &files, own),
            files,
            kernel,
            own,
            cores: BTreeSet::new(),
            mounts: Mounts::default(),
            mounts_read: None,
            idle: IdleTimes::default(),
            capacity: ByResource::default(),
            capacity_read: None,
            last: None,
        }
    }

    /// Takes a sample of the whole gate process; of the upstream, where it is on this host
    /// and can be measured; and of both together, where they may run on the same
    /// processors or share a quota, so that one can reduce the capacity of the other.
    ///
    /// `capacity_cpus` is above 0: the least of the affinity and of every quota above the
    /// process. `used_cpu_s` is since the sample before and never negative; `None` in the
    /// first sample and where the kernel does not report it.
    ///
    /// Call it once per run of the control loop, from one thread. Mostly
    /// it reads two clocks and one file; every half second a few small files; every 1 to
    /// 10 s the processes and descriptors among which the upstream is searched. It never
    /// blocks.
    pub fn sample(&mut self) -> ByResource<Usage> {
        self.sample_at(Instant::now())
    }

    /// Why the upstream, or a part of it, cannot be measured, and the remedy: a sentence
    /// for the operator. `None` when it is measured, and where the configuration asks for
    /// no measurement.
    pub fn upstream_note(&self) -> Option<&str> {
        self.upstream.note.as_deref()
    }

    pub(super) fn sample_at(&mut self, now: Instant) -> ByResource<Usage> {
        let due = |read: Option<Instant>, every| {
            read.is_none_or(|at| now.saturating_duration_since(at) >= every)
        };
        if due(self.mounts_read, MOUNTS_EVERY) {
            self.mounts = Mounts::read(&self.files);
            self.mounts_read = Some(now);
        }
        self.upstream.find(now, &self.files, &self.mounts, &*self.kernel);
        let upstream_used = self.upstream.used(&self.files, &self.mounts, &*self.kernel);
        if due(self.capacity_read, CAPACITY_EVERY)
            || self.upstream.is_visible() != self.capacity.get(ResourceName::Upstream).is_some()
        {
            self.capacity = self.read_capacity();
            self.capacity_read = Some(now);
        }
        let clock = self.kernel.cpu_time(self.own);
        let used = clock.zip(self.last).and_then(|(now, last)| now.checked_sub(last));
        self.last = clock;
        self.idle.update(&self.files);
        let used_of = |name| match name {
            ResourceName::Gate => used,
            ResourceName::Upstream => upstream_used,
            ResourceName::Host => Some(used? + upstream_used?),
        };
        let mut sample = ByResource::default();
        for (name, processors) in self.capacity.iter() {
            let usage = Usage {
                capacity_cpus: processors.cpus,
                used_cpu_s: used_of(name).map(|used| used.as_secs_f64()),
                idle: self.idle.share(&processors.on),
            };
            sample.set(name, usage);
        }
        sample
    }

    fn read_capacity(&self) -> ByResource<Processors> {
        let groups = Membership::of_process(&self.files, self.own);
        let quota = |groups: &Membership| cgroup::quota(&self.files, &self.mounts, groups);
        let gate_on = self.own_processors();
        let gate = limit(gate_on.len() as f64, quota(&groups));
        let of_gate = Processors { cpus: gate, on: gate_on.clone() };
        let capacity = ByResource::default().with(ResourceName::Gate, of_gate);
        let upstream_on = self.upstream.processors(&self.files, &*self.kernel);
        if !self.upstream.is_visible() || upstream_on.is_empty() {
            return capacity;
        }
        let upstream_groups = self.upstream.groups(&self.files);
        let common = |groups: &Membership, other: &Membership| groups.common(other);
        let top = upstream_groups.iter().cloned().reduce(|a, b| common(&a, &b)).unwrap_or_default();
        // One group without a quota makes the sum unlimited.
        let sum = upstream_groups.iter().map(quota).sum::<Option<f64>>();
        let upstream = limit(limit(upstream_on.len() as f64, sum), quota(&top));

        let union: BTreeSet<usize> = gate_on.union(&upstream_on).copied().collect();
        let both = limit(union.len() as f64, quota(&common(&groups, &top))).min(gate + upstream);
        let contend = !gate_on.is_disjoint(&upstream_on) || both < gate + upstream;
        capacity
            .with(ResourceName::Upstream, Processors { cpus: upstream, on: upstream_on })
            .with(ResourceName::Host, contend.then_some(Processors { cpus: both, on: union }))
    }

    /// Processors that the gate's threads run on: its cores as far as its affinity still
    /// allows them, else its affinity; processor 0 where the kernel does not report it.
    fn own_processors(&self) -> BTreeSet<usize> {
        let affinity = self.kernel.affinity(self.own);
        let allowed: BTreeSet<usize> =
            affinity.map_or([0].into(), |cores| cores.list().iter().copied().collect());
        let pinned: BTreeSet<usize> = allowed.intersection(&self.cores).copied().collect();
        if pinned.is_empty() { allowed } else { pinned }
    }
}

/// The lesser of a number of processors and a quota, and at least [`LEAST_CPUS`].
fn limit(cpus: f64, quota: Option<f64>) -> f64 {
    quota.map_or(cpus, |quota| quota.min(cpus)).max(LEAST_CPUS)
}
