//! Resources as viewers show them: what grows as its rate per second, the rest as it is.

use crate::format::metric::Metric;
use crate::read::Process;
use std::collections::BTreeMap;

/// A resource: the metric, and which processor or address it is of.
pub(super) type Resource = (Metric, u32);

/// A value to show.
pub(super) struct Point {
    pub(super) at_ns: u64,
    pub(super) resource: Resource,
    value: u64,
    /// What grows grew by the value in this time.
    in_ns: Option<u64>,
}

impl Point {
    /// The value, per second for what grows.
    pub(super) fn shown(&self) -> f64 {
        let per_s = |in_ns| self.value as f64 * 1e9 / in_ns as f64;
        self.in_ns.map_or(self.value as f64, per_s)
    }

    /// The same, without its fraction.
    pub(super) fn whole(&self) -> u64 {
        let per_s = |in_ns| u128::from(self.value) * 1_000_000_000 / u128::from(in_ns);
        self.in_ns.map_or(self.value, |in_ns| per_s(in_ns) as u64)
    }
}

/// The values of a process in the order of its samples. The first sample of what grows has none.
pub(super) fn points(process: &Process) -> impl Iterator<Item = Point> {
    let mut last: BTreeMap<Resource, (u64, u64)> = BTreeMap::new();
    let samples = process.samples.iter();
    let values = samples.flat_map(|sample| sample.values.iter().map(|it| (sample.at_ns, *it)));
    values.filter_map(move |(at_ns, (metric, of, value))| {
        let resource = (metric, of);
        let before = last.insert(resource, (at_ns, value));
        if !metric.is_counter() {
            return Some(Point { at_ns, resource, value, in_ns: None });
        }
        let (then_ns, then) = before.filter(|(then_ns, _)| at_ns > *then_ns)?;
        let (value, in_ns) = (value.saturating_sub(then), Some(at_ns - then_ns));
        Some(Point { at_ns, resource, value, in_ns })
    })
}

/// A resource's name; `rate` is the unit of what grows.
pub(super) fn name((metric, of): Resource, rate: &str) -> String {
    match metric {
        Metric::CoreBusy | Metric::AcceptQueue => format!("{} {of}", metric.name()),
        metric if metric.is_counter() => format!("{}{rate}", metric.name()),
        metric => metric.name().to_owned(),
    }
}
