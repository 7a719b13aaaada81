//! Whether the program that is measured as the upstream does the work, or passes it on: a relay
//! in front of the true service (a sidecar, a proxy of a container's port), or a program that
//! waits for a database.
//!
//! Where the limit is the program's processor, responses become slower while that processor is
//! busy, and an undisturbed response takes about as long as its CPU time. A program that passes
//! the work on shows neither: responses become slower while its processor has time to spare, and
//! its CPU time is a small part of the calm response time. Both together, for a second, say that
//! the limit is out of view. This is reported to the operator and changes no decision: response
//! times bound the load in any case. One alone does not say it: a service that waits for a timer
//! is slow at little CPU time without a queue, and a service whose work is bursty has queues on a
//! processor that is not always busy.

use crate::reading::Reading;
use crate::resource::ResourceName;

/// CPU time of a response, as a share of the calm response time, below which the work is done
/// elsewhere.
const LITTLE: f64 = 0.1;
/// The same from which the program works itself.
const MUCH: f64 = 0.3;
/// Utilization of the processors in view below which they have time to spare.
const SPARE: f64 = 0.5;
/// Time of such evidence that is needed, in seconds.
const EVIDENCE_S: f64 = 1.0;
/// Memory of use and responses, in seconds.
const MEMORY_S: f64 = 1.0;
/// Fewer responses within the memory are no evidence.
const FEWEST: f64 = 20.0;

/// What response times say of a queue at the upstream.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Queue {
    /// Whether it stands.
    pub(crate) stands: bool,
    /// The response time without it, in seconds.
    pub(crate) calm_s: f64,
}

/// What is known of the program that is measured as the upstream.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Relay {
    /// Over the memory, faded: CPU time, responses, utilization times seconds, seconds.
    cpu_s: f64,
    responses: f64,
    used_s: f64,
    span_s: f64,
    evidence_s: f64,
    is_one: bool,
    calm_s: f64,
}

impl Relay {
    /// Takes a reading and what the response times of the one before said.
    pub(crate) fn observe(&mut self, reading: &Reading, interval_s: f64, queue: Option<Queue>) {
        let upstream = reading.usage_of(ResourceName::Upstream);
        let Some((upstream, cpu_s)) = upstream.and_then(|it| Some((it, it.used_cpu_s?))) else {
            *self = Self::default();
            return;
        };
        let host = reading.usage_of(ResourceName::Host);
        let in_use = host.map_or(0.0, |host| host.in_use(interval_s));
        let keep = (-interval_s / MEMORY_S).exp();
        let add = |sum: &mut f64, more: f64| *sum = *sum * keep + more;
        add(&mut self.cpu_s, crate::sane(cpu_s));
        add(&mut self.responses, reading.upstream_responses as f64);
        add(&mut self.used_s, interval_s * upstream.in_use(interval_s).max(in_use));
        add(&mut self.span_s, interval_s);
        let Some(queue) = queue.filter(|_| self.responses >= FEWEST) else { return };
        let (utilization, share) = (self.used_s / self.span_s, self.cpu_each_s() / queue.calm_s);
        if utilization >= SPARE || share >= MUCH {
            (self.evidence_s, self.is_one) = (0.0, false);
        } else if queue.stands && share < LITTLE {
            self.evidence_s += interval_s;
            self.is_one |= self.evidence_s > EVIDENCE_S;
            self.calm_s = queue.calm_s;
        }
    }

    fn cpu_each_s(&self) -> f64 {
        self.cpu_s / self.responses
    }

    /// Why the work is done elsewhere; `None` while it may be done here.
    pub(crate) fn why(&self) -> Option<String> {
        self.is_one.then(|| {
            format!(
                "the program that is measured as the upstream uses {:.2} ms of CPU for a response \
                 that takes {:.1} ms without a queue, and has time to spare while a queue stands: \
                 it passes the work on, or waits for something else",
                self.cpu_each_s() * 1e3,
                self.calm_s * 1e3
            )
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ByResource, Usage};

    /// Ticks with 100 responses of so much CPU time each, on one processor.
    fn after(ticks: u32, each_s: f64, others: f64, queue: Queue) -> Relay {
        let mut relay = Relay::default();
        (0..ticks).for_each(|_| relay.observe(&reading(each_s, others), 0.1, Some(queue)));
        relay
    }

    /// `others`: what else uses the processor, as a share.
    fn reading(each_s: f64, others: f64) -> Reading {
        let used_s = 100.0 * each_s;
        let idle = Some((1.0 - used_s / 0.1 - others).max(0.0));
        let usage = Usage { capacity_cpus: 1.0, used_cpu_s: Some(used_s), idle };
        let usage = ByResource::default().with(ResourceName::Upstream, usage);
        Reading { usage, upstream_responses: 100, ..Reading::default() }
    }

    const QUEUE: Queue = Queue { stands: true, calm_s: 0.005 };
    const CALM: Queue = Queue { stands: false, calm_s: 0.005 };

    #[test]
    fn little_cpu_time_at_a_standing_queue_means_that_the_work_is_done_elsewhere() {
        // 0.1 of 5 ms, and a tenth of the processor.
        assert!(after(10, 0.0001, 0.0, QUEUE).why().is_none(), "a second is not over");
        let relay = after(12, 0.0001, 0.0, QUEUE);
        assert_eq!(
            relay.why().unwrap(),
            "the program that is measured as the upstream uses 0.10 ms of CPU for a response that \
             takes 5.0 ms without a queue, and has time to spare while a queue stands: it passes \
             the work on, or waits for something else"
        );
    }

    #[test]
    fn slow_responses_without_a_queue_busy_processors_and_own_work_are_no_evidence() {
        assert!(after(100, 0.0001, 0.0, CALM).why().is_none());
        assert!(after(100, 0.0001, 0.6, QUEUE).why().is_none(), "others use the processor");
        assert!(after(100, 0.0006, 0.0, QUEUE).why().is_none(), "it works for 0.6 of 5 ms");
    }

    #[test]
    fn a_service_that_works_again_or_is_gone_is_no_relay() {
        let mut relay = after(12, 0.0001, 0.0, QUEUE);
        relay.observe(&reading(0.0001, 0.0), 0.1, Some(CALM));
        assert!(relay.why().is_some(), "calm says nothing");
        (0..30).for_each(|_| relay.observe(&reading(0.0009, 0.0), 0.1, Some(QUEUE)));
        assert!(relay.why().is_none());
        let mut relay = after(12, 0.0001, 0.0, QUEUE);
        relay.observe(&Reading::default(), 0.1, Some(QUEUE));
        assert_eq!(relay.why(), None);
    }
}
