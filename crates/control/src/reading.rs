//! What the gate measured between two ticks.

use std::time::Duration;

use crate::number::{sane, times};
use crate::part::Part;
use crate::prices::KindWork;
use crate::priority::RouteWork;
use crate::resource::{ByResource, ResourceName};
use crate::think_time_census::AGES;

/// Everything measured since the previous tick. Counters are differences;
/// gauges are values at the tick. Any value may be wrong: the controller
/// ignores what is not finite or is negative.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Reading {
    /// Time since the previous reading.
    pub elapsed: Duration,
    /// The processors in view: the whole gate process, always; the service behind the
    /// gate, where it runs on this host and its processes are known; upstreams of routes, where
    /// they have processors of their own; and the host, gate and upstream together, where they
    /// share processors.
    pub usage: ByResource<Usage>,
    /// Connections of admitted new sessions.
    pub new: ClassWork,
    /// Connections of sessions that were admitted before.
    pub returning: ClassWork,
    /// The handshakes of `new` by kind; kinds without any may be left out.
    pub kinds: Vec<KindWork>,
    /// Admitted connections whose handshake is still to be worked on, of both classes.
    /// A handshake that waits for the client is not counted.
    pub in_flight_handshakes: u32,
    /// CPU seconds of these at the prices that they were charged; `None`: not known, and
    /// each counts as a new one does on average.
    pub in_flight_handshake_cpu_s: Option<f64>,
    /// Requests that are with the upstream: passed on in full, and no response has
    /// begun. A slow sender or reader is not counted.
    pub in_flight_requests: u32,
    /// New sessions in the admission queue.
    pub held: u32,
    /// Active sessions: admitted and not known to have ended. A session counts from its
    /// admission, through its handshake, for as long as it has a connection open and,
    /// where the gate closed an idle connection, for a grace time in which it may
    /// return. A session whose customer closed the last connection has ended.
    pub sessions_active: u32,
    /// Active sessions that are thinking: no request and no handshake is under way. By
    /// the number of ticks for which they have been, see [`age`](crate::age). A session
    /// with several connections may think on each.
    pub thinking: [u64; AGES],
    /// Requests of thinking sessions since the previous tick, by the age of the session.
    pub requests_by_age: [u64; AGES],
    /// Sessions admitted since the previous tick.
    pub sessions_started: u64,
    /// Requests that were answered from files or refused by their priority: no upstream had any
    /// part in them. They are among those of the classes.
    pub static_requests: u64,
    /// Responses whose first byte came from an upstream.
    pub upstream_responses: u64,
    /// Sum over those responses of the time from the request's departure to
    /// the first byte, in seconds.
    pub upstream_time_s: f64,
    /// Sum over them of the natural logarithm of that time in nanoseconds: over
    /// their number, the logarithm of their geometric mean, which a few slow pages
    /// do not move.
    pub upstream_time_ln: f64,
    /// Requests that were with the upstream and ended without a response: the customer
    /// left, or the request timed out.
    pub upstream_given_up: u64,
    /// Sum over those of the natural logarithm of their waiting time in nanoseconds.
    pub given_up_time_ln: f64,
    /// The part of the service that [`usage`](Self::usage) shows; the whole where the gate is
    /// alone. See [`part_of_fleet`](Self::part_of_fleet).
    pub part: Part,
    /// The requests of each route, in the order of [`set_routes`](crate::Controller::set_routes);
    /// empty where there are no routes.
    pub routes: Vec<RouteWork>,
}

impl Reading {
    /// The processors of the gate; none where the reading does not have them.
    pub fn gate(&self) -> Usage {
        self.usage_of(ResourceName::Gate).unwrap_or_default()
    }

    /// The processors of a resource, if they are in view.
    pub fn usage_of(&self, name: ResourceName) -> Option<Usage> {
        self.usage.get(name).copied()
    }

    /// Processors of gate and upstreams, those that they share counted once.
    pub fn capacity_cpus(&self) -> f64 {
        let capacity = |name| self.usage_of(name).map(|usage: Usage| usage.capacity_cpus);
        let together = capacity(ResourceName::Host).unwrap_or_else(|| {
            self.gate().capacity_cpus + capacity(ResourceName::Upstream).unwrap_or(0.0)
        });
        together + capacity(ResourceName::Routed).unwrap_or(0.0)
    }

    /// The average stretch of it of so many seconds, where it is longer than that, as
    /// after a pause without readings.
    pub(crate) fn within(&self, seconds: f64) -> Self {
        let share = seconds / self.elapsed.as_secs_f64();
        if share.is_nan() || share >= 1.0 {
            return self.clone();
        }
        let usage = |_, usage: Usage| Usage {
            used_cpu_s: usage.used_cpu_s.map(|used_s| used_s * share),
            ..usage
        };
        let class = |class: ClassWork| ClassWork {
            handshake_cpu_s: class.handshake_cpu_s * share,
            request_cpu_s: class.request_cpu_s * share,
            ..class
        };
        let kind = |kind: &KindWork| KindWork { cpu_s: kind.cpu_s * share, ..*kind };
        let part = self.counting(share);
        Self {
            elapsed: Duration::from_secs_f64(seconds),
            usage: part.usage.map(usage),
            new: class(part.new),
            returning: class(part.returning),
            kinds: part.kinds.iter().map(kind).collect(),
            ..part
        }
    }

    /// The same with so many times as much of all that was counted. Gauges and CPU
    /// seconds stay.
    pub fn counting(&self, factor: f64) -> Self {
        let class = |class: ClassWork| ClassWork {
            connections: times(class.connections, factor),
            handshakes: times(class.handshakes, factor),
            in_clear: times(class.in_clear, factor),
            requests: times(class.requests, factor),
            ..class
        };
        let route = |route: &RouteWork| RouteWork {
            requests: times(route.requests, factor),
            refused: times(route.refused, factor),
            responses: times(route.responses, factor),
        };
        Self {
            new: class(self.new),
            returning: class(self.returning),
            routes: self.routes.iter().map(route).collect(),
            kinds: self.kinds.iter().map(|kind| kind.counting(factor)).collect(),
            requests_by_age: self
                .requests_by_age
                .map(|requests_by_age| times(requests_by_age, factor)),
            sessions_started: times(self.sessions_started, factor),
            static_requests: times(self.static_requests, factor),
            upstream_responses: times(self.upstream_responses, factor),
            upstream_time_s: self.upstream_time_s * factor,
            upstream_time_ln: self.upstream_time_ln * factor,
            upstream_given_up: times(self.upstream_given_up, factor),
            part: Part { others: self.part.others * factor, ..self.part },
            given_up_time_ln: self.given_up_time_ln * factor,
            ..self.clone()
        }
    }
}

/// A process's (or group's) processors, and its use of them.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Usage {
    /// CPU seconds per second that it may use: affinity and quota together.
    pub capacity_cpus: f64,
    /// CPU seconds used since the previous reading; `None`: unknown.
    pub used_cpu_s: Option<f64>,
    /// Share of that time, 0 to 1, that its processors had nothing to do, or
    /// nothing that would not yield, for anybody; `None`: unknown.
    pub idle: Option<f64>,
}

impl Usage {
    /// The same without negative and non-finite values.
    pub(crate) fn sane(self) -> Self {
        Self {
            capacity_cpus: sane(self.capacity_cpus),
            used_cpu_s: self.used_cpu_s.map(sane),
            idle: self.idle.map(sane),
        }
    }

    /// The share of the processors that was used in an interval of so many seconds, 0 to
    /// 1, by other processes included; 0 where that is not known.
    pub(crate) fn in_use(&self, interval_s: f64) -> f64 {
        let Self { capacity_cpus, used_cpu_s, idle } = self.sane();
        let used = used_cpu_s.map_or(0.0, |used_s| used_s / interval_s / capacity_cpus.max(0.01));
        used.max(idle.map_or(0.0, |idle| 1.0 - idle)).min(1.0)
    }
}

/// What one class of connections did since the previous reading. CPU times
/// are the gate's own.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct ClassWork {
    /// Connections admitted.
    pub connections: u64,
    /// Handshakes finished, successfully or not.
    pub handshakes: u64,
    /// Connections without a handshake: plain HTTP.
    pub in_clear: u64,
    /// CPU seconds spent on handshakes.
    pub handshake_cpu_s: f64,
    /// Requests answered.
    pub requests: u64,
    /// CPU seconds spent on requests.
    pub request_cpu_s: f64,
}

impl ClassWork {
    /// Connections that are established, with a handshake or as plain HTTP: the first
    /// request of each is still to come.
    pub(crate) fn entries(&self) -> u64 {
        self.handshakes.saturating_add(self.in_clear)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_reading_is_cut_to_an_average_stretch_and_a_short_one_stays() {
        let new = ClassWork {
            connections: 40,
            requests: 400,
            request_cpu_s: 0.4,
            ..ClassWork::default()
        };
        let gate = Usage { capacity_cpus: 2.0, used_cpu_s: Some(3.0), idle: Some(0.25) };
        let long = Reading {
            elapsed: Duration::from_secs(4),
            usage: ByResource::default().with(ResourceName::Gate, gate),
            new,
            sessions_active: 70,
            upstream_responses: 400,
            upstream_time_s: 8.0,
            ..Reading::default()
        };
        let second = long.within(1.0);
        assert_eq!((second.new.connections, second.new.requests), (10, 100));
        assert_eq!((second.upstream_responses, second.upstream_time_s), (100, 2.0));
        // Gauges and shares are what they were.
        assert_eq!((second.sessions_active, second.gate().idle), (70, Some(0.25)));
        assert!((second.gate().in_use(1.0) - long.gate().in_use(4.0)).abs() < 1e-12);
        assert_eq!(long.within(5.0), long);
        assert_eq!(Reading::default().within(1.0), Reading::default());
    }
}
