//! The part of a service that a gate may use, where several gates share it.

use crate::reading::{Reading, Usage};
use crate::resource::ResourceName;

/// The part of the service behind the gate that is this gate's own, in one [`Reading`].
///
/// A gate's processors are its own. Those behind it are shared, and their CPU time is measured
/// for all gates together.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Part {
    /// Share of the capacity that this gate may use, 0 to 1.
    pub share: f64,
    /// Requests that the service answered to other gates in the time of the reading.
    pub others: f64,
    /// Whether `others` is measured. If not, it follows from the cost of a request, which is not
    /// learned from it then.
    pub measured: bool,
}

impl Part {
    /// All of it: a gate alone.
    pub const WHOLE: Self = Self { share: 1.0, others: 0.0, measured: true };
    /// Less is no part: what is divided by it stays finite.
    const LEAST: f64 = 1e-6;

    /// The same with a share above 0 and at most 1; what is no number is all.
    #[must_use]
    pub fn sane(self) -> Self {
        let share = if self.share.is_nan() { 1.0 } else { self.share.clamp(Self::LEAST, 1.0) };
        Self { share, others: crate::sane(self.others), ..self }
    }

    /// Of the work that the service did for all gates, the share that was for this one, which
    /// got so many responses.
    fn work(&self, own: u64) -> f64 {
        let own = own as f64;
        if own + self.others > 0.0 { own / (own + self.others) } else { 1.0 }
    }
}

impl Default for Part {
    fn default() -> Self {
        Self::WHOLE
    }
}

impl Reading {
    /// The same as this gate sees it, whose part of the service is `part`: of the capacity its
    /// share, and of the CPU time that was used what its own requests used.
    ///
    /// `idle` stays: whether processors have time to spare is the same for all gates. The gate's
    /// own processors stay. Where gate and upstream share the processors of a host, the host is
    /// what is divided: a gate uses of its share what its own process and its part of the
    /// upstream's work take. So it is the same whether all gates work on that host or one does.
    #[must_use]
    pub fn part_of_fleet(mut self, part: Part) -> Self {
        let part = part.sane();
        let work = part.work(self.upstream_responses);
        let upstream_s = self.usage_of(ResourceName::Upstream).and_then(|it| it.used_cpu_s);
        let of_others_s = upstream_s.map_or(0.0, |used_s| crate::sane(used_s) * (1.0 - work));
        self.usage = self.usage.map(|resource, usage| {
            let used_cpu_s = |of: &dyn Fn(f64) -> f64| usage.used_cpu_s.map(of);
            let used_cpu_s = match resource {
                ResourceName::Gate => return usage,
                ResourceName::Upstream | ResourceName::Routed => {
                    used_cpu_s(&|used_s| used_s * work)
                }
                ResourceName::Host => used_cpu_s(&|used_s| (used_s - of_others_s).max(0.0)),
            };
            Usage { capacity_cpus: usage.capacity_cpus * part.share, used_cpu_s, ..usage }
        });
        self.part = part;
        self
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ByResource;

    fn usage(capacity_cpus: f64, used_cpu_s: f64) -> Usage {
        Usage { capacity_cpus, used_cpu_s: Some(used_cpu_s), idle: Some(0.25) }
    }

    #[test]
    fn a_gate_sees_its_share_of_the_service_and_the_whole_of_itself() {
        let usage_of = ByResource::default()
            .with(ResourceName::Gate, usage(2.0, 0.1))
            .with(ResourceName::Upstream, usage(8.0, 0.6))
            .with(ResourceName::Host, usage(8.0, 0.7));
        let reading = Reading { usage: usage_of, upstream_responses: 50, ..Reading::default() };
        let part =
            reading.clone().part_of_fleet(Part { share: 0.25, others: 50.0, measured: true });
        assert_eq!(part.gate(), usage(2.0, 0.1));
        assert_eq!(part.usage_of(ResourceName::Upstream), Some(usage(2.0, 0.3)));
        // 0.1 of its own, and half of 0.6.
        let host = part.usage_of(ResourceName::Host).unwrap();
        assert!((host.used_cpu_s.unwrap() - 0.4).abs() < 1e-12 && host.capacity_cpus == 2.0);
        assert_eq!(reading.clone().part_of_fleet(Part::WHOLE), reading);
    }

    #[test]
    fn a_part_that_cannot_be_true_is_between_nothing_and_all() {
        let part = Part { share: f64::NAN, others: -1.0, measured: true }.sane();
        assert_eq!(part, Part::WHOLE);
        assert_eq!(Part { share: -1.0, ..part }.sane().share, Part::LEAST);
    }
}
