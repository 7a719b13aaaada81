//! Samples what the machine, the process and its control group do.

use crate::format::metric::Metric;
use crate::format::record::Sample;
use std::collections::BTreeSet;
use std::time::Duration;
use tidegate_host::cgroup::{self, Membership, Mounts};
use tidegate_host::clock::monotonic_ns;
use tidegate_host::{Cores, Files, IdleTimes, cpu_clock, pressure, scheduling, tcp};

/// Samples resources. What the kernel does not report is left out.
pub struct Sampler {
    files: Files,
    interval: Duration,
    pid: u32,
    cores: Vec<usize>,
    idle: IdleTimes,
    mounts: Mounts,
    /// When the accept queues are read again.
    queues_due_ns: u64,
}

/// Reading the kernel's table of connections may take 0.1 % of a processor: where it has few, the
/// kernel searches many empty places, for milliseconds.
const QUEUES_SHARE: u64 = 1000;

impl Sampler {
    /// A sampler of the calling process.
    pub fn new(files: Files, interval: Duration) -> Self {
        let mounts = Mounts::read(&files);
        let cores = Cores::of_this_process().map_or(Vec::new(), |cores| cores.list().to_vec());
        Self {
            interval: interval.max(Duration::from_millis(10)),
            pid: std::process::id(),
            idle: IdleTimes::default(),
            cores,
            mounts,
            files,
            queues_due_ns: 0,
        }
    }

    /// Time between two samples.
    pub fn interval(&self) -> Duration {
        self.interval
    }

    /// Takes a sample, with the accept queues of these ports.
    pub fn sample(&mut self, ports: &[u16]) -> Sample {
        let mut values = Vec::with_capacity(32);
        let mut add = |metric, index: u32, value: Option<u64>| {
            values.extend(value.map(|value| (metric, index, value)));
        };
        let files = &self.files;
        self.idle.update(files);
        for core in &self.cores {
            let idle = self.idle.share(&BTreeSet::from([*core]));
            let busy = idle.map(|idle| ((1.0 - idle) * 1000.0).round() as u64);
            add(Metric::CoreBusy, *core as u32, busy);
        }
        let ns = |time: Duration| u64::try_from(time.as_nanos()).unwrap_or(u64::MAX);
        add(Metric::Running, 0, scheduling::running(files));
        add(Metric::ProcessCpu, 0, Some(ns(cpu_clock::of_this_process())));
        let switches = scheduling::switches();
        add(Metric::Voluntary, 0, switches.map(|switches| switches.voluntary));
        add(Metric::Involuntary, 0, switches.map(|switches| switches.involuntary));
        add(Metric::RunQueueWait, 0, scheduling::run_queue_wait_ns(files, self.pid));
        add(Metric::Resident, 0, scheduling::resident_bytes(files, self.pid));
        let now = monotonic_ns();
        if now >= self.queues_due_ns {
            let before = cpu_clock::of_this_thread();
            for port in ports {
                add(Metric::AcceptQueue, (*port).into(), tcp::accept_queue(files, *port));
            }
            let took = ns(cpu_clock::of_this_thread().saturating_sub(before));
            self.queues_due_ns = now.saturating_add(took.saturating_mul(QUEUES_SHARE));
        }
        let counts = tcp::counts(files);
        add(Metric::Retransmitted, 0, Some(counts.retransmitted));
        add(Metric::ListenOverflows, 0, Some(counts.listen_overflows));
        for (metric, resource) in [
            (Metric::PressureCpu, "cpu"),
            (Metric::PressureMemory, "memory"),
            (Metric::PressureIo, "io"),
        ] {
            add(metric, 0, pressure::of_machine(files, resource));
        }
        // The process may be moved to another group, and its quota be changed, at any time.
        let (mounts, groups) = (&self.mounts, &Membership::of_this_process(files));
        if let Some(group) = groups.cpu.as_ref().or(groups.unified.as_ref()) {
            add(Metric::GroupCpu, 0, cgroup::used(files, mounts, group).map(ns));
        }
        add(Metric::GroupThrottled, 0, cgroup::throttled(files, mounts, groups).map(ns));
        add(Metric::GroupMemory, 0, cgroup::memory_bytes(files, mounts, groups));
        let quota = cgroup::quota(files, mounts, groups);
        add(Metric::GroupQuota, 0, quota.map(|cpus| (cpus * 1000.0).round() as u64));
        if let Some(folder) = cgroup::unified(mounts, groups) {
            for (metric, resource) in [
                (Metric::GroupPressureCpu, "cpu"),
                (Metric::GroupPressureMemory, "memory"),
                (Metric::GroupPressureIo, "io"),
            ] {
                add(metric, 0, pressure::of_group(files, &folder, resource));
            }
        }
        Sample { at_ns: monotonic_ns(), values }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_process_and_the_machine_are_sampled() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let mut sampler = Sampler::new(Files::new("/"), Duration::ZERO);
        let sample = sampler.sample(&[port]);
        let value = |metric| {
            sample.values.iter().find(|(found, ..)| *found == metric).map(|(_, _, value)| *value)
        };
        assert!(value(Metric::Running).unwrap() >= 1);
        assert!(value(Metric::Resident).unwrap() > 1 << 16);
        assert!(value(Metric::ProcessCpu).is_some() && value(Metric::Voluntary).is_some());
        assert_eq!(value(Metric::AcceptQueue), Some(0));
    }

    #[test]
    fn a_quota_that_is_set_or_a_group_that_is_entered_later_is_sampled() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = root.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        write("proc/self/cgroup", "0::/first\n");
        let some = "some avg10=0.00 avg60=0.00 avg300=0.00 total=";
        for (resource, total) in [("cpu", 7), ("memory", 8), ("io", 9)] {
            let file = format!("sys/fs/cgroup/second/{resource}.pressure");
            write(&file, &format!("{some}{total}\n"));
        }
        let mut sampler = Sampler::new(Files::new(root.path()), Duration::ZERO);
        let mut quota = || {
            let sample = sampler.sample(&[]);
            let found = sample.values.iter().find(|(metric, ..)| *metric == Metric::GroupQuota);
            found.map(|(.., value)| *value)
        };
        assert_eq!(quota(), None);
        write("proc/self/cgroup", "0::/second\n");
        write("sys/fs/cgroup/second/cpu.max", "2500 10000\n");
        assert_eq!(quota(), Some(250));
        let sample = sampler.sample(&[]);
        for (metric, expected) in [
            (Metric::GroupPressureCpu, 7),
            (Metric::GroupPressureMemory, 8),
            (Metric::GroupPressureIo, 9),
        ] {
            assert!(sample.values.contains(&(metric, 0, expected)), "{metric:?}");
        }
    }

    #[test]
    fn what_the_kernel_does_not_report_is_left_out() {
        let root = tempfile::tempdir().unwrap();
        let mut sampler = Sampler::new(Files::new(root.path()), Duration::ZERO);
        let sample = sampler.sample(&[80]);
        assert!(sample.values.iter().all(|(metric, ..)| {
            !matches!(metric, Metric::Running | Metric::PressureCpu | Metric::AcceptQueue)
        }));
    }
}
