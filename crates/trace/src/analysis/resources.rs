//! What a process and the machine used in a time.

use crate::format::metric::Metric;
use crate::format::record::Sample;
use crate::read::Process;
use serde::Serialize;

/// Resources in a time; `None` where the kernel does not report it or there are fewer than two
/// samples.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Resources {
    /// Use of the processors that the process may use, by all processes of the machine, 0 to 1.
    pub processors_busy: Option<f64>,
    /// Use of the busiest of them, 0 to 1.
    pub busiest: Option<f64>,
    /// CPU time of the process per second.
    pub process_cpus: Option<f64>,
    /// Mean number of tasks of the machine that run or wait for a processor.
    pub running: Option<f64>,
    /// Seconds per second for which threads of the process were ready and waited for a processor;
    /// above 1 if several waited.
    pub run_queue_wait: Option<f64>,
    /// Context switches per second in which another task got the processor.
    pub involuntary_per_s: Option<f64>,
    /// Context switches per second to wait for something.
    pub voluntary_per_s: Option<f64>,
    /// Mean number of connections that waited to be accepted, on all ports of the process.
    pub accept_queue: Option<f64>,
    /// Most of them at a sample.
    pub accept_queue_most: Option<u64>,
    /// Connections that the machine dropped because an accept queue was full.
    pub listen_overflows: Option<u64>,
    /// TCP segments that the machine sent again.
    pub retransmitted: Option<u64>,
    /// Most memory of the process at a sample, bytes.
    pub resident_most: Option<u64>,
    /// Its memory at the first sample, bytes.
    pub resident_first: Option<u64>,
    /// Its memory at the last sample, bytes.
    pub resident_last: Option<u64>,
    /// Share of the time in which some task of the machine waited for a processor, 0 to 1.
    pub pressure_cpu: Option<f64>,
    /// The same for memory.
    pub pressure_memory: Option<f64>,
    /// The same for input and output.
    pub pressure_io: Option<f64>,
    /// Share of the time for which its quota stopped the control group.
    pub throttled: Option<f64>,
    /// CPU time of the control group per second.
    pub group_cpus: Option<f64>,
    /// Processors that its quota allows it, the mean of the samples; `None` without a quota.
    pub group_quota: Option<f64>,
    /// Most memory of the control group at a sample, bytes.
    pub group_memory_most: Option<u64>,
    /// Share of the time in which some task of the control group waited for a processor, 0 to 1.
    pub group_pressure_cpu: Option<f64>,
    /// The same for memory.
    pub group_pressure_memory: Option<f64>,
    /// The same for input and output.
    pub group_pressure_io: Option<f64>,
}

impl Resources {
    /// The resources of a process between two times of the monotonic clock.
    pub fn of(process: &Process, from_ns: u64, to_ns: u64) -> Self {
        // The sample at the beginning has the counters' values there.
        let first = process.samples.partition_point(|sample| sample.at_ns < from_ns);
        let end = process.samples.partition_point(|sample| sample.at_ns <= to_ns);
        let within = &process.samples[first.saturating_sub(1).min(end)..end];
        let seconds = match within {
            [first, .., last] => last.at_ns.saturating_sub(first.at_ns) as f64 / 1e9,
            _ => 0.0,
        };
        if seconds <= 0.0 {
            return Self::default();
        }
        let grown = |metric| {
            let value = |sample: &Sample| sum(sample, metric);
            let values: Vec<u64> = within.iter().filter_map(value).collect();
            Some(values.last()?.saturating_sub(*values.first()?))
        };
        let rate = |metric, unit: f64| grown(metric).map(|grown| grown as f64 / unit / seconds);
        let pressure = |metric| rate(metric, 1e6).map(|share| share.min(1.0));
        let gauge = |metric| -> Vec<u64> {
            within.iter().skip(1).filter_map(|sample| sum(sample, metric)).collect()
        };
        let busy: Vec<Vec<u64>> = within
            .iter()
            .skip(1)
            .map(|sample| {
                let cores = sample.values.iter().filter(|(metric, ..)| *metric == Metric::CoreBusy);
                cores.map(|(.., value)| *value).collect()
            })
            .collect();
        let cores = busy.iter().map(Vec::len).min().unwrap_or(0);
        let of_core = |core: usize| {
            mean(&busy.iter().map(|sample| sample[core]).collect::<Vec<_>>()).map(|b| b / 1e3)
        };
        let each: Vec<f64> = (0..cores).filter_map(of_core).collect();
        Self {
            processors_busy: (!each.is_empty())
                .then(|| each.iter().sum::<f64>() / each.len() as f64),
            busiest: each.iter().copied().reduce(f64::max),
            process_cpus: rate(Metric::ProcessCpu, 1e9),
            running: mean(&gauge(Metric::Running)),
            run_queue_wait: rate(Metric::RunQueueWait, 1e9),
            involuntary_per_s: rate(Metric::Involuntary, 1.0),
            voluntary_per_s: rate(Metric::Voluntary, 1.0),
            accept_queue: mean(&gauge(Metric::AcceptQueue)),
            accept_queue_most: gauge(Metric::AcceptQueue).into_iter().max(),
            listen_overflows: grown(Metric::ListenOverflows),
            retransmitted: grown(Metric::Retransmitted),
            resident_most: gauge(Metric::Resident).into_iter().max(),
            resident_first: within.iter().find_map(|sample| sum(sample, Metric::Resident)),
            resident_last: within.iter().rev().find_map(|sample| sum(sample, Metric::Resident)),
            pressure_cpu: pressure(Metric::PressureCpu),
            pressure_memory: pressure(Metric::PressureMemory),
            pressure_io: pressure(Metric::PressureIo),
            throttled: rate(Metric::GroupThrottled, 1e9),
            group_cpus: rate(Metric::GroupCpu, 1e9),
            group_quota: mean(&gauge(Metric::GroupQuota)).map(|quota| quota / 1e3),
            group_memory_most: gauge(Metric::GroupMemory).into_iter().max(),
            group_pressure_cpu: pressure(Metric::GroupPressureCpu),
            group_pressure_memory: pressure(Metric::GroupPressureMemory),
            group_pressure_io: pressure(Metric::GroupPressureIo),
        }
    }

    /// The resources in several windows of the same length, in their order: the mean of shares and
    /// rates, the largest of what is most, the sum of counts. `None` where no window has a value.
    pub fn of_windows(windows: &[&Self]) -> Self {
        let each = |of: fn(&Self) -> Option<f64>| -> Option<f64> {
            let values: Vec<f64> = windows.iter().filter_map(|it| of(it)).collect();
            (!values.is_empty()).then(|| values.iter().sum::<f64>() / values.len() as f64)
        };
        let most = |of: fn(&Self) -> Option<u64>| windows.iter().filter_map(|it| of(it)).max();
        let all = |of: fn(&Self) -> Option<u64>| {
            windows.iter().filter_map(|it| of(it)).reduce(u64::saturating_add)
        };
        Self {
            processors_busy: each(|it| it.processors_busy),
            busiest: each(|it| it.busiest),
            process_cpus: each(|it| it.process_cpus),
            running: each(|it| it.running),
            run_queue_wait: each(|it| it.run_queue_wait),
            involuntary_per_s: each(|it| it.involuntary_per_s),
            voluntary_per_s: each(|it| it.voluntary_per_s),
            accept_queue: each(|it| it.accept_queue),
            accept_queue_most: most(|it| it.accept_queue_most),
            listen_overflows: all(|it| it.listen_overflows),
            retransmitted: all(|it| it.retransmitted),
            resident_most: most(|it| it.resident_most),
            resident_first: windows.iter().find_map(|it| it.resident_first),
            resident_last: windows.iter().rev().find_map(|it| it.resident_last),
            pressure_cpu: each(|it| it.pressure_cpu),
            pressure_memory: each(|it| it.pressure_memory),
            pressure_io: each(|it| it.pressure_io),
            throttled: each(|it| it.throttled),
            group_cpus: each(|it| it.group_cpus),
            group_quota: each(|it| it.group_quota),
            group_memory_most: most(|it| it.group_memory_most),
            group_pressure_cpu: each(|it| it.group_pressure_cpu),
            group_pressure_memory: each(|it| it.group_pressure_memory),
            group_pressure_io: each(|it| it.group_pressure_io),
        }
    }
}

/// The sum of a metric's values in a sample; `None` if it has none.
fn sum(sample: &Sample, metric: Metric) -> Option<u64> {
    let values = sample.values.iter().filter(|(found, ..)| *found == metric);
    values.map(|(.., value)| *value).reduce(u64::saturating_add)
}

fn mean(values: &[u64]) -> Option<f64> {
    (!values.is_empty())
        .then(|| values.iter().map(|value| *value as f64).sum::<f64>() / values.len() as f64)
}
