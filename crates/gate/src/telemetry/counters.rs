//! What the gate did, counted: one set of counters per core, written by that
//! core's thread alone and read by any.

use crate::telemetry::durations::DurationBucket;
use crate::telemetry::labels::{
    Bucket, By, Class, CookieResult, End, Flood, HandshakeKind, Malformed, OTHER_PROTOCOLS,
    RoomVisit, StatusCode, StreamEnd, TicketResult, Tier, TunnelEnd, UpstreamFault,
};
use crate::telemetry::troubles::Troubles;
use crate::telemetry::usage::orca_addend;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::time::Duration;
use tidegate_control::{CensusCounts, FullHandshake, ThinkTimeCensus};
use tidegate_hello::OtherProtocol;

/// A counter or gauge written by one thread: no locked instruction is needed.
#[derive(Debug, Default)]
pub struct Count(AtomicU64);

impl Count {
    /// Adds; only the owning thread may.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).wrapping_add(n), Relaxed);
    }

    /// Subtracts from a gauge; only the owning thread may.
    #[inline]
    pub fn sub(&self, n: u64) {
        self.0.store(self.0.load(Relaxed).saturating_sub(n), Relaxed);
    }

    /// The value now; any thread.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }
}

type Scalar<T> = T;
type PerClass<T> = By<Class, T, { Class::COUNT }>;
type PerHandshakeKind<T> = By<HandshakeKind, T, { HandshakeKind::COUNT }>;
type PerKind<T> = By<FullHandshake, T, { FullHandshake::COUNT }>;
type PerBucket<T> = By<Bucket, T, { Bucket::COUNT }>;
type PerEnd<T> = By<End, T, { End::COUNT }>;
type PerTicketResult<T> = By<TicketResult, T, { TicketResult::COUNT }>;
type PerCookieResult<T> = By<CookieResult, T, { CookieResult::COUNT }>;
type PerProtocol<T> = By<OtherProtocol, T, { OTHER_PROTOCOLS.len() }>;
type PerFlood<T> = By<Flood, T, { Flood::COUNT }>;
type PerStreamEnd<T> = By<StreamEnd, T, { StreamEnd::COUNT }>;
type PerTunnelEnd<T> = By<TunnelEnd, T, { TunnelEnd::COUNT }>;
type PerRoomVisit<T> = By<RoomVisit, T, { RoomVisit::COUNT }>;
type PerTier<T> = By<Tier, T, { Tier::COUNT }>;
type PerFault<T> = By<UpstreamFault, T, { UpstreamFault::COUNT }>;
type PerMalformed<T> = By<Malformed, T, { Malformed::COUNT }>;
type PerCode<T> = By<StatusCode, T, { StatusCode::COUNT }>;
type PerDuration<T> = By<DurationBucket, T, { DurationBucket::COUNT }>;

/// A sum of counts over cores.
trait Sum<C> {
    fn add(&mut self, count: &C);
}

impl Sum<Count> for u64 {
    fn add(&mut self, count: &Count) {
        *self = self.wrapping_add(count.get());
    }
}

impl<K, const N: usize> Sum<By<K, Count, N>> for By<K, u64, N> {
    fn add(&mut self, counts: &By<K, Count, N>) {
        for (sum, count) in self.values_mut().iter_mut().zip(counts.values()) {
            sum.add(count);
        }
    }
}

/// Declares the counters of a core and their sum over cores.
macro_rules! counters {
    ($( $(#[doc = $doc:literal])* $name:ident: $Shape:ident, )*) => {
        /// The counters of one core.
        #[derive(Debug, Default)]
        #[repr(align(128))]
        pub struct Counters {
            /// Think times of the customers on open connections: answered, and with no
            /// request under way.
            pub think_times: ThinkTimeCensus,
            /// How the upstream failed requests.
            pub troubles: Troubles,
            $( $(#[doc = $doc])* pub $name: $Shape<Count>, )*
        }

        /// The counters of all cores together, at one moment.
        #[derive(Clone, Debug, Default)]
        pub struct Totals {
            /// Think times.
            pub think_times: CensusCounts,
            $( $(#[doc = $doc])* pub $name: $Shape<u64>, )*
        }

        impl Totals {
            /// Adds one core's counters.
            pub fn add(&mut self, core: &Counters) {
                core.think_times.add_to(&mut self.think_times);
                $( self.$name.add(&core.$name); )*
            }
        }
    };
}

counters! {
    /// Connections whose first verdict was to admit.
    admitted: PerClass,
    /// Connections whose first verdict was to hold.
    held: PerClass,
    /// Connections whose first verdict was to refuse.
    refused: PerClass,
    /// Held connections that were admitted in the end.
    hold_admitted: Scalar,
    /// Held connections whose time was up.
    hold_expired: Scalar,
    /// Held connections that the customer closed.
    hold_left: Scalar,
    /// Held connections that are of a session or visit which was decided on by another connection.
    hold_joined: Scalar,
    /// Nanoseconds that held connections waited, all outcomes.
    hold_ns: Scalar,
    /// Connections held now.
    holding: Scalar,
    /// Bytes of hellos, and of plain HTTP requests, held now.
    holding_bytes: Scalar,
    /// Visits of the waiting room, by what became of them.
    room_visits: PerRoomVisit,
    /// Requests from the waiting room that ask the controller now.
    room_asking: Scalar,
    /// Handshakes finished.
    handshakes_ok: PerHandshakeKind,
    /// Handshakes failed or late, by the kind that was expected.
    handshakes_failed: PerHandshakeKind,
    /// Handshakes finished.
    handshakes_by_class: PerClass,
    /// New connections admitted, by the kind of their handshake.
    admitted_by_kind: PerKind,
    /// Processor nanoseconds that these were charged.
    charged_ns_by_kind: PerKind,
    /// Full handshakes finished, by the kind that was expected.
    handshakes_by_kind: PerKind,
    /// Processor nanoseconds spent on them.
    handshake_ns_by_kind: PerKind,
    /// New sessions by plain HTTP admitted, which have no handshake.
    in_clear: Scalar,
    /// Connections admitted whose task has not run yet.
    starting: Scalar,
    /// Processor nanoseconds that these were charged.
    starting_ns: Scalar,
    /// Handshakes under way now.
    in_handshake: Scalar,
    /// Processor nanoseconds.
    cpu_ns: PerBucket,
    /// Connections accepted.
    accepted: Scalar,
    /// Connections open to customers now, those being classified or held included.
    open: Scalar,
    /// Those of them whose class is not known yet: the hello is incomplete, or no
    /// byte of plain HTTP has arrived.
    in_first_flight: Scalar,
    /// Why connections ended.
    ends: PerEnd,
    /// What became of tickets.
    tickets: PerTicketResult,
    /// What became of session cookies.
    session_cookies: PerCookieResult,
    /// What arrived on the TLS port and was not TLS.
    not_tls: PerProtocol,
    /// Errors of `accept`, such as too many open files.
    accept_errors: Scalar,
    /// Requests over, answered or given up.
    requests: PerClass,
    /// Requests by what answers them: those passed to an upstream, and those answered from
    /// files.
    tiers: PerTier,
    /// Files of a static tier that are there and could not be read.
    file_errors: Scalar,
    /// Requests under way now: head read, response not complete.
    in_requests: Scalar,
    /// Those of them that are with the upstream now: passed on in full, and no
    /// response has begun.
    at_upstream: Scalar,
    /// Responses begun to customers.
    codes: PerCode,
    /// Requests by duration, from head read to response complete.
    durations: PerDuration,
    /// Nanoseconds of all request durations.
    duration_ns: Scalar,
    /// Responses of which the upstream sent the head.
    upstream_responses: Scalar,
    /// Nanoseconds from request sent to response head, over those.
    upstream_ns: Scalar,
    /// Millionths of the natural logarithms of these nanoseconds, over those.
    upstream_ln_micros: Scalar,
    /// What upstreams told of their load in responses, where that is asked for, added up
    /// ([`orca_addend`]).
    load_reports: Scalar,
    /// Requests that were with the upstream and ended without a response.
    given_up: Scalar,
    /// Millionths of the natural logarithms of the nanoseconds that they waited.
    given_up_ln_micros: Scalar,
    /// Requests that break HTTP.
    malformed_requests: PerMalformed,
    /// Responses of the upstream that break HTTP.
    malformed_responses: PerMalformed,
    /// Connections closed since the customer sent too much by HTTP/2.
    http2_floods: PerFlood,
    /// Streams of HTTP/2 that ended before their response was complete.
    streams_reset: PerStreamEnd,
    /// Connections that rest: idle, without what serves requests.
    resting: Scalar,
    /// Tunnels open now, and those that the upstream is being asked for.
    tunnels: Scalar,
    /// Messages of tunnels: of customers, and of upstreams unasked; as far as they come one by one.
    tunnel_messages: PerClass,
    /// Why tunnels ended.
    tunnels_ended: PerTunnelEnd,
    /// Bytes of tunnels from customers to upstreams.
    tunnel_bytes_in: Scalar,
    /// Bytes of tunnels from upstreams to customers.
    tunnel_bytes_out: Scalar,
    /// Connections opened to the upstream.
    upstream_connects: Scalar,
    /// Failures of the upstream.
    upstream_faults: PerFault,
    /// Requests sent a second time since the first connection had gone stale.
    upstream_retries: Scalar,
    /// Connections open to the upstream now.
    upstream_open: Scalar,
    /// Lines of the access log.
    log_lines: Scalar,
    /// Lines of the access log that were dropped, since its buffer had no room.
    log_dropped: Scalar,
    /// Bytes received from customers, TLS included, after the hello.
    bytes_in: Scalar,
    /// Bytes sent to customers, TLS included.
    bytes_out: Scalar,
}

impl Totals {
    /// New sessions that wait now, in the admission queue or in the waiting room, which has `in_room`
    /// customers. Those who are in both count once.
    pub fn waiting(&self, in_room: u64) -> u64 {
        (self.holding + in_room).saturating_sub(self.room_asking)
    }
}

impl Counters {
    /// Counts the end of a connection.
    #[inline]
    pub fn end(&self, end: End) {
        self.ends[end].add(1);
    }

    /// Counts a response's status code.
    #[inline]
    pub fn code(&self, code: u16) {
        if let Some(code) = StatusCode::new(code) {
            self.codes[code].add(1);
        }
    }

    /// Counts a request's duration.
    pub fn duration(&self, took: Duration) {
        self.durations[DurationBucket::of(took.as_secs_f64())].add(1);
        self.duration_ns.add(took.as_nanos() as u64);
    }

    /// Counts a response head from the upstream.
    pub fn upstream_response(&self, took: Duration) {
        self.upstream_responses.add(1);
        self.upstream_ns.add(took.as_nanos() as u64);
        self.upstream_ln_micros.add(ln_micros(took));
    }

    /// Counts an upstream's report of its utilization, a share.
    pub fn load_report(&self, utilization: f64) {
        self.load_reports.add(orca_addend(utilization));
    }

    /// Counts a request that ended without a response of the upstream, after a wait.
    pub fn gave_up(&self, waited: Duration) {
        self.given_up.add(1);
        self.given_up_ln_micros.add(ln_micros(waited));
    }
}

/// Millionths of the natural logarithm of its nanoseconds.
fn ln_micros(time: Duration) -> u64 {
    ((time.as_nanos().max(1) as f64).ln() * 1e6) as u64
}

impl Totals {
    /// Sums the cores' counters.
    pub fn of<'a>(cores: impl IntoIterator<Item = &'a Arc<Counters>>) -> Self {
        let mut totals = Self::default();
        cores.into_iter().for_each(|core| totals.add(core));
        totals
    }

    /// Responses with a status code, for codes that occurred.
    pub fn codes(&self) -> impl Iterator<Item = (u16, u64)> + '_ {
        let counted = self.codes.values().iter().enumerate().filter(|(_, count)| **count > 0);
        counted.map(|(place, count)| (StatusCode::at(place), *count))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn durations_fall_into_the_bucket_up_to_their_bound() {
        let counters = Counters::default();
        counters.duration(Duration::from_micros(10));
        counters.duration(Duration::from_millis(1));
        counters.duration(Duration::from_secs(60));
        let filled: Vec<_> = counters.durations.values().iter().map(Count::get).collect();
        assert_eq!((filled[0], filled[14], filled.iter().sum()), (2, 1, 3));
    }

    #[test]
    fn totals_add_up_the_cores() {
        let cores = [Arc::new(Counters::default()), Arc::new(Counters::default())];
        cores[0].code(200);
        cores[1].code(200);
        cores[1].code(503);
        let totals = Totals::of(&cores);
        assert_eq!(totals.codes().collect::<Vec<_>>(), [(200, 2), (503, 1)]);
    }
}
