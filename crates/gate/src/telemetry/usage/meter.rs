//! The meter of CPU capacity and use.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use tidegate_agent::Secret;
use tidegate_control::{ByResource, ResourceName, Usage};
use tidegate_host::cgroup::{self, Membership, Mounts};
use tidegate_host::{Files, IdleTimes, Kernel, Live};

use super::measured::Measured;
use crate::config::Upstream;

/// How long capacities are assumed constant: a change of affinity or quota shows within
/// half a second.
const CAPACITY_EVERY: Duration = Duration::from_millis(450);
/// Interval at which mounts are read again: there may be thousands, and they rarely
/// change.
const MOUNTS_EVERY: Duration = Duration::from_secs(10);

/// Samples the CPU time that the gate and its upstream may use and do use.
pub struct UsageMeter {
    files: Files,
    kernel: Box<dyn Kernel>,
    own: u32,
    cores: BTreeSet<usize>,
    /// That of `[upstream]` first, then those of routes.
    upstreams: Vec<Measured>,
    /// Which of them have processors of their own, as last read.
    apart: Vec<bool>,
    mounts: Mounts,
    mounts_read: Option<Instant>,
    idle: IdleTimes,
    /// Capacities as last read.
    capacity: ByResource<Processors>,
    capacity_read: Option<Instant>,
    last: Option<Duration>,
    sampled: Option<Instant>,
}

/// A capacity in processors, and the processors that provide it.
#[derive(Clone, Debug, Default, PartialEq)]
struct Processors {
    cpus: f64,
    /// Those of this host.
    on: BTreeSet<usize>,
    /// Whether others are on other hosts.
    elsewhere: bool,
}

impl std::fmt::Debug for UsageMeter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("UsageMeter")
            .field("upstreams", &self.upstreams)
            .field("capacity", &self.capacity)
            .finish_non_exhaustive()
    }
}

impl UsageMeter {
    /// A meter of this process and of these upstreams, that of `[upstream]` first. Agents are
    /// asked with this secret.
    pub fn new(upstreams: &[Upstream], secret: Option<&Secret>) -> Self {
        Self::with(Files::new("/"), Box::new(Live), std::process::id(), (upstreams, secret))
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
        (upstreams, secret): (&[Upstream], Option<&Secret>),
    ) -> Self {
        let usage = |upstream| Measured::new(upstream, &files, own, secret);
        Self {
            upstreams: upstreams.iter().map(usage).collect(),
            apart: vec![false; upstreams.len()],
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
            sampled: None,
        }
    }

    /// Takes a sample of the whole gate process; of the upstream, where it is on this host
    /// and can be measured; and of both together, where they may run on the same
    /// processors or share a quota, so that one can reduce the capacity of the other. An upstream
    /// of a route is a part of the upstream, unless it has processors that neither that nor the
    /// gate may use: all such upstreams together are a resource of their own.
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

    /// Takes the upstreams' own reports of their load, which came in responses: the number of
    /// responses since the gate's start, and the sum of the reports in them (`orca_addend`).
    pub fn reported(&mut self, responses: u64, reports: u64) {
        let now = Instant::now();
        for upstream in &mut self.upstreams {
            upstream.reported(now, responses, reports);
        }
    }

    /// Why the upstream, or a part of it, cannot be measured, and the remedy: a sentence
    /// for the operator. `None` when it is measured, and where the configuration asks for
    /// no measurement.
    pub fn upstream_note(&self) -> Option<&str> {
        self.upstreams.iter().find_map(Measured::note)
    }

    pub(super) fn sample_at(&mut self, now: Instant) -> ByResource<Usage> {
        let due = |read: Option<Instant>, every| {
            read.is_none_or(|at| now.saturating_duration_since(at) >= every)
        };
        if due(self.mounts_read, MOUNTS_EVERY) {
            self.mounts = Mounts::read(&self.files);
            self.mounts_read = Some(now);
        }
        let before = self.visible();
        let passed = self.sampled.map(|then| now.saturating_duration_since(then));
        self.sampled = Some(now);
        let mut used_by = Vec::new();
        for upstream in &mut self.upstreams {
            upstream.find(now, &self.files, &self.mounts, &*self.kernel);
            used_by.push(upstream.used(passed, &self.files, &self.mounts, &*self.kernel));
        }
        if due(self.capacity_read, CAPACITY_EVERY) || self.visible() != before {
            (self.capacity, self.apart) = self.read_capacity();
            self.capacity_read = Some(now);
        }
        // What is known of some of them is a part of what is used.
        let sum = |apart: bool| {
            let used = used_by.iter().zip(&self.apart).filter(|(_, is_apart)| **is_apart == apart);
            used.filter_map(|(used, _)| *used).reduce(|one, other| one + other)
        };
        let (upstream_used, routed_used) = (sum(false), sum(true));
        let clock = self.kernel.cpu_time(self.own);
        let used = clock.zip(self.last).and_then(|(now, last)| now.checked_sub(last));
        self.last = clock;
        self.idle.update(&self.files);
        let used_of = |name| match name {
            ResourceName::Gate => used,
            ResourceName::Upstream => upstream_used,
            ResourceName::Routed => routed_used,
            ResourceName::Host => Some(used? + upstream_used?),
        };
        let mut sample = ByResource::default();
        for (name, processors) in self.capacity.iter() {
            let usage = Usage {
                capacity_cpus: processors.cpus,
                used_cpu_s: used_of(name).map(|used| used.as_secs_f64()),
                idle: match processors.elsewhere {
                    false => self.idle.share(&processors.on),
                    true => self.idle_elsewhere(name, processors),
                },
            };
            sample.set(name, usage);
        }
        sample
    }

    /// Which upstreams are visible.
    fn visible(&self) -> Vec<bool> {
        self.upstreams.iter().map(Measured::is_visible).collect()
    }

    /// The capacities, and which upstreams have processors of their own.
    fn read_capacity(&self) -> (ByResource<Processors>, Vec<bool>) {
        let groups = Membership::of_process(&self.files, self.own);
        let quota = |groups: &Membership| cgroup::quota(&self.files, &self.mounts, groups);
        let gate_on = self.own_processors();
        let gate = cgroup::within(gate_on.len() as f64, quota(&groups));
        let of_gate = Processors { cpus: gate, on: gate_on.clone(), elsewhere: false };
        let capacity = ByResource::default().with(ResourceName::Gate, of_gate);
        let on = |upstream: &Measured| upstream.processors(&self.files, &*self.kernel);
        let each: Vec<_> = self.upstreams.iter().map(on).collect();
        let elsewhere: Vec<_> = self.upstreams.iter().map(Measured::is_elsewhere).collect();
        let apart = have_their_own(&gate_on, &each, &elsewhere);
        let together = |which: bool| {
            let members = self.upstreams.iter().zip(&each).zip(&apart);
            let members = members.filter(|((upstream, on), apart)| {
                **apart == which && (!on.is_empty() || upstream.is_elsewhere())
            });
            let (mut processors, mut groups) = (BTreeSet::new(), BTreeSet::new());
            let (mut told, mut away, mut elsewhere) = (0.0, 0.0, false);
            for ((upstream, on), _) in members {
                processors.extend(on);
                groups.extend(upstream.groups(&self.files));
                match upstream.load() {
                    Some(load) if on.is_empty() => {
                        (away, elsewhere) = (away + load.capacity_cpus, true);
                    }
                    Some(load) => told += load.capacity_cpus,
                    None => {}
                }
            }
            let count = processors.len();
            let (cpus, top) = cgroup::together(&self.files, &self.mounts, &groups, count, told);
            let cpus = if processors.is_empty() { away } else { cpus + away };
            let known = !processors.is_empty() || elsewhere;
            known.then_some((Processors { cpus, on: processors, elsewhere }, top))
        };
        let routed = together(true).map(|(routed, _)| routed);
        let capacity = capacity.with(ResourceName::Routed, routed);
        let Some((upstream, top)) = together(false) else { return (capacity, apart) };
        let union: BTreeSet<usize> = gate_on.union(&upstream.on).copied().collect();
        let sum = gate + upstream.cpus;
        let both = cgroup::within(union.len() as f64, quota(&groups.common(&top))).min(sum);
        let contend = !gate_on.is_disjoint(&upstream.on) || both < sum;
        let contend = contend && !upstream.on.is_empty();
        let host = contend.then_some(Processors { cpus: both, on: union, elsewhere: false });
        let capacity =
            capacity.with(ResourceName::Upstream, upstream).with(ResourceName::Host, host);
        (capacity, apart)
    }

    /// The idle share of a resource that is on other hosts; unknown where it is on this one too.
    fn idle_elsewhere(&self, name: ResourceName, processors: &Processors) -> Option<f64> {
        if !processors.on.is_empty() {
            return None;
        }
        let apart = name == ResourceName::Routed;
        let members = self.upstreams.iter().zip(&self.apart).filter(|(_, own)| **own == apart);
        let loads = members.filter_map(|(upstream, _)| upstream.load());
        loads.map(|load| Some(load.idle? * load.capacity_cpus / processors.cpus)).sum()
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

/// Which upstreams, of which the first is that of `[upstream]`, have processors that neither that
/// one nor the gate may use. Beside one that is elsewhere, all others do.
fn have_their_own(
    gate_on: &BTreeSet<usize>,
    each: &[BTreeSet<usize>],
    elsewhere: &[bool],
) -> Vec<bool> {
    let own = |(at, on): (usize, &BTreeSet<usize>)| {
        let disjoint = !on.is_empty() && on.is_disjoint(gate_on) && on.is_disjoint(&each[0]);
        at > 0 && (elsewhere[0] || elsewhere[at] || disjoint)
    };
    each.iter().enumerate().map(own).collect()
}
