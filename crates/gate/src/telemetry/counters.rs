//! What the gate did, counted: one set of counters per core, written by that
//! core's thread alone and read by anyone.
//!
//! Processor time is attributed by *stretches*: each piece of work names its
//! bucket with [`enter`] before it runs, and the thread's CPU clock is read
//! only where the bucket changes. So nothing that the thread spends goes
//! unattributed (what the runtime does between two pieces counts to the former)
//! and a core that works on one kind of request reads the clock hardly ever.

use crate::telemetry::metrics::Durations;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::task::{Context, Poll};
use std::time::Duration;
use tidegate_control::{CensusCounts, ThinkTimeCensus};
use tidegate_hello::OtherProtocol;

/// Which customers a connection belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Class {
    /// Someone who is not inside yet.
    New = 0,
    /// Someone with a session, shown by a ticket that our own key opened.
    Returning = 1,
}

impl Class {
    /// Both, in the order of the counters' indices.
    pub const ALL: [Self; 2] = [Self::New, Self::Returning];

    /// The label in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::New => "new",
            Self::Returning => "returning",
        }
    }
}

/// What processor time is spent on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Bucket {
    /// Accepting, reading and judging hellos; holding and refusing.
    Arrival = 0,
    /// Handshakes of new connections.
    HandshakeNew = 1,
    /// Handshakes of returning connections.
    HandshakeReturning = 2,
    /// Requests on connections that came in as new.
    RequestNew = 3,
    /// Requests on connections that came in as returning.
    RequestReturning = 4,
    /// Timers and upkeep.
    Upkeep = 5,
}

impl Bucket {
    /// All, in the order of the counters' indices.
    pub const ALL: [Self; 6] = [
        Self::Arrival,
        Self::HandshakeNew,
        Self::HandshakeReturning,
        Self::RequestNew,
        Self::RequestReturning,
        Self::Upkeep,
    ];

    /// The label in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Arrival => "arrival",
            Self::HandshakeNew => "handshake_new",
            Self::HandshakeReturning => "handshake_returning",
            Self::RequestNew => "request_new",
            Self::RequestReturning => "request_returning",
            Self::Upkeep => "upkeep",
        }
    }

    /// The bucket of a handshake for customers of a class.
    pub const fn handshake(class: Class) -> Self {
        match class {
            Class::New => Self::HandshakeNew,
            Class::Returning => Self::HandshakeReturning,
        }
    }

    /// The bucket of requests for customers of a class.
    pub const fn request(class: Class) -> Self {
        match class {
            Class::New => Self::RequestNew,
            Class::Returning => Self::RequestReturning,
        }
    }
}

/// The kind of a TLS handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Kind {
    /// With a signature by the certificate's key.
    Full = 0,
    /// From a ticket.
    Resumed = 1,
}

impl Kind {
    /// Both, in the order of the counters' indices.
    pub const ALL: [Self; 2] = [Self::Full, Self::Resumed];

    /// The label in metrics.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Full => "full",
            Self::Resumed => "resumed",
        }
    }
}

/// Declares an enum of reasons with its labels.
macro_rules! reasons {
    ($(
        $(#[doc = $about:literal])*
        pub enum $Name:ident { $( $(#[doc = $doc:literal])* $Variant:ident = $label:literal, )* }
    )*) => {$(
        $(#[doc = $about])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $Name { $( $(#[doc = $doc])* $Variant, )* }

        impl $Name {
            /// All, in the order of the counters' indices.
            pub const ALL: &'static [Self] = &[$(Self::$Variant),*];

            /// The label in metrics.
            pub const fn name(self) -> &'static str {
                match self { $(Self::$Variant => $label),* }
            }
        }
    )*};
}

reasons! {
    /// Why a connection ended.
    pub enum End {
        /// The customer closed it between two requests.
        Customer = "customer",
        /// No request within the idle deadline.
        Idle = "idle",
        /// The response, or a request that asked for it, closed the connection.
        Finished = "finished",
        /// The gate is draining.
        Drain = "drain",
        /// The hello was not complete in time; in clear, nothing came.
        HelloDeadline = "hello_deadline",
        /// The customer hung up before the hello was complete; in clear, before she
        /// said anything.
        HelloHungUp = "hello_hung_up",
        /// HTTP in clear on the TLS port; answered with a 400.
        ClearHttp = "clear_http",
        /// Something else that is not TLS.
        NotTls = "not_tls",
        /// TLS or junk on the port in clear; answered with a 400.
        NotHttp = "not_http",
        /// A hello that breaks TLS or a cap.
        MalformedHello = "malformed_hello",
        /// Refused at once.
        Refused = "refused",
        /// Held, then refused because the time was up.
        HoldExpired = "hold_expired",
        /// Held, and hung up meanwhile.
        HoldLeft = "hold_left",
        /// Too many connections.
        TooMany = "too_many",
        /// The handshake was not complete in time.
        HandshakeDeadline = "handshake_deadline",
        /// The handshake failed.
        HandshakeFailed = "handshake_failed",
        /// A request's head was not complete in time.
        HeadDeadline = "head_deadline",
        /// No progress in a body in time, in either direction.
        BodyDeadline = "body_deadline",
        /// A request that breaks HTTP.
        BadRequest = "bad_request",
        /// The response was cut by the upstream.
        Truncated = "truncated",
        /// The connection broke while a request or response was on its way.
        Broken = "broken",
    }

    /// What went wrong with the upstream.
    pub enum UpstreamFault {
        /// It took no connection.
        Connect = "connect",
        /// It did not answer in time.
        Timeout = "timeout",
        /// It broke off, or broke HTTP, before its response's head was there.
        Broken = "broken",
        /// It broke off in the middle of its response.
        Truncated = "truncated",
    }

    /// What became of the ticket in a hello.
    pub enum TicketFate {
        /// Opened, and rustls will resume from it.
        Good = "good",
        /// Sealed by no key of ours.
        Foreign = "foreign",
        /// Ours, older than the lifetime.
        Expired = "expired",
        /// Ours, made for another server name, version, suite or mode.
        Unfit = "unfit",
        /// More identities than the cap.
        TooMany = "too_many",
        /// Ours and good, but its session connects more often than it may.
        OverRate = "over_rate",
    }
}

/// What junk on the TLS port looks like, in the order of the counters' indices.
pub const LOOKS: [OtherProtocol; 5] = [
    OtherProtocol::PlainHttp,
    OtherProtocol::Ssh,
    OtherProtocol::SslV2,
    OtherProtocol::ProxyProtocol,
    OtherProtocol::Unknown,
];

/// First and last status code that is counted by itself.
const CODES: std::ops::Range<usize> = 100..600;

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

/// Declares the counters of a core and their sum over cores.
macro_rules! counters {
    ($( $(#[doc = $doc:literal])* $name:ident [$n:expr], )*) => {
        /// The counters of one core.
        #[derive(Debug)]
        #[repr(align(128))]
        pub struct Counters {
            /// Connections on which a customer thinks: answered, and with nothing under way.
            pub thinking: ThinkTimeCensus,
            $( $(#[doc = $doc])* pub $name: [Count; $n], )*
        }

        impl Default for Counters {
            fn default() -> Self {
                Self {
                    thinking: ThinkTimeCensus::default(),
                    $( $name: std::array::from_fn(|_| Count::default()), )*
                }
            }
        }

        /// The counters of all cores together, at one moment.
        #[derive(Clone, Debug)]
        pub struct Totals {
            /// Those who think.
            pub thoughts: CensusCounts,
            $( $(#[doc = $doc])* pub $name: [u64; $n], )*
        }

        impl Default for Totals {
            fn default() -> Self {
                Self { thoughts: CensusCounts::default(), $( $name: [0; $n], )* }
            }
        }

        impl Totals {
            /// Adds one core's counters.
            pub fn add(&mut self, core: &Counters) {
                core.thinking.add_to(&mut self.thoughts);
                $( for (sum, count) in self.$name.iter_mut().zip(&core.$name) {
                    *sum = sum.wrapping_add(count.get());
                } )*
            }
        }
    };
}

counters! {
    /// Connections whose first verdict was to admit, by [`Class`].
    admitted[2],
    /// Connections whose first verdict was to hold, by [`Class`].
    held[2],
    /// Connections whose first verdict was to refuse, by [`Class`].
    refused[2],
    /// Held connections that were admitted in the end.
    hold_admitted[1],
    /// Held connections whose time was up.
    hold_expired[1],
    /// Held connections that hung up.
    hold_left[1],
    /// Nanoseconds that held connections waited, all outcomes.
    hold_ns[1],
    /// Connections held now.
    holding[1],
    /// Bytes of hellos, and of requests in clear, held now.
    holding_bytes[1],
    /// Handshakes finished, by [`Kind`].
    handshakes_ok[2],
    /// Handshakes failed or late, by the [`Kind`] that was expected.
    handshakes_failed[2],
    /// Handshakes finished, by [`Class`].
    handshakes_by_class[2],
    /// Connections let in in clear, which have no handshake.
    in_clear[1],
    /// Connections let in now whose first turn is still to come.
    due[1],
    /// Handshakes under way now.
    in_handshake[1],
    /// Processor nanoseconds, by [`Bucket`].
    cpu_ns[6],
    /// Connections accepted.
    accepted[1],
    /// Connections open to customers now, those being judged or held included.
    open[1],
    /// Those of them of whom nobody knows yet who they are: their hello is not
    /// whole, or in clear they have said nothing.
    in_opening[1],
    /// Why connections ended, by [`End`].
    ends[21],
    /// What became of tickets, by [`TicketFate`].
    tickets[6],
    /// What was not TLS, in the order of [`LOOKS`].
    junk[5],
    /// Errors of `accept`, such as too many open files.
    accept_errors[1],
    /// Requests over, answered or given up, by [`Class`].
    requests[2],
    /// Requests under way now: head read, response not complete.
    in_requests[1],
    /// Those of them that are with the upstream now: passed on in full, and no
    /// response has begun.
    waiting[1],
    /// Responses begun to customers, by status code less 100.
    codes[500],
    /// Requests by duration, from head read to response complete: see
    /// [`Durations`].
    duration[17],
    /// Nanoseconds of all request durations.
    duration_ns[1],
    /// Responses of which the upstream sent the head.
    upstream_responses[1],
    /// Nanoseconds from request sent to response head, over those.
    upstream_ns[1],
    /// Millionths of the natural logarithms of these nanoseconds, over those.
    upstream_ln_micros[1],
    /// Requests that were with the upstream and ended without a response.
    given_up[1],
    /// Millionths of the natural logarithms of the nanoseconds that they waited.
    given_up_ln_micros[1],
    /// Connections opened to the upstream.
    upstream_connects[1],
    /// What went wrong with it, by [`UpstreamFault`].
    upstream_faults[4],
    /// Requests sent a second time since the first connection had gone stale.
    upstream_retries[1],
    /// Connections open to the upstream now.
    upstream_open[1],
    /// Bytes received from customers, TLS included, after the hello.
    bytes_in[1],
    /// Bytes sent to customers, TLS included.
    bytes_out[1],
}

impl Counters {
    /// Counts the end of a connection.
    #[inline]
    pub fn end(&self, end: End) {
        self.ends[end as usize].add(1);
    }

    /// Counts a connection that was not TLS.
    pub fn not_tls(&self, looks: OtherProtocol) {
        if let Some(index) = LOOKS.iter().position(|known| *known == looks) {
            self.junk[index].add(1);
        }
    }

    /// Counts a response's status code.
    #[inline]
    pub fn code(&self, code: u16) {
        if CODES.contains(&usize::from(code)) {
            self.codes[usize::from(code) - CODES.start].add(1);
        }
    }

    /// Counts a request's duration.
    pub fn duration(&self, took: Duration) {
        self.duration[Durations::bucket(took.as_secs_f64())].add(1);
        self.duration_ns[0].add(took.as_nanos() as u64);
    }

    /// Counts a response head from the upstream.
    pub fn upstream(&self, took: Duration) {
        let ns = took.as_nanos() as u64;
        self.upstream_responses[0].add(1);
        self.upstream_ns[0].add(ns);
        self.upstream_ln_micros[0].add(ln_micros(took));
    }

    /// Counts a request that the upstream did not answer, after so long.
    pub fn gave_up(&self, waited: Duration) {
        self.given_up[0].add(1);
        self.given_up_ln_micros[0].add(ln_micros(waited));
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
        let counted = self.codes.iter().zip(CODES).filter(|(count, _)| **count > 0);
        counted.map(|(count, code)| (code as u16, *count))
    }
}

/// The state of attribution on one thread.
struct Stretch {
    counters: RefCell<Option<Arc<Counters>>>,
    bucket: Cell<Bucket>,
    since_ns: Cell<u64>,
}

thread_local! {
    static STRETCH: Stretch = const { Stretch {
        counters: RefCell::new(None), bucket: Cell::new(Bucket::Upkeep), since_ns: Cell::new(0),
    } };
}

/// Begins attribution on this thread, into these counters.
pub fn attach(counters: Arc<Counters>) {
    STRETCH.with(|stretch| {
        *stretch.counters.borrow_mut() = Some(counters);
        stretch.bucket.set(Bucket::Upkeep);
        stretch.since_ns.set(thread_cpu_ns());
    });
}

/// What this thread spends from now on counts to `bucket`.
#[inline]
pub fn enter(bucket: Bucket) {
    STRETCH.with(|stretch| {
        if stretch.bucket.get() != bucket {
            charge(stretch);
            stretch.bucket.set(bucket);
        }
    });
}

/// Brings the counters up to now; the bucket stays.
pub fn settle() {
    STRETCH.with(charge);
}

fn charge(stretch: &Stretch) {
    let now = thread_cpu_ns();
    let spent = now.saturating_sub(stretch.since_ns.replace(now));
    if let Some(counters) = stretch.counters.borrow().as_ref() {
        counters.cpu_ns[stretch.bucket.get() as usize].add(spent);
    }
}

/// Processor time that this thread has used, in nanoseconds.
fn thread_cpu_ns() -> u64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the kernel to write to.
    let failed = unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    if failed != 0 {
        return 0;
    }
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

/// A future whose polls count to a bucket.
pub struct Metered<F> {
    bucket: Bucket,
    inner: F,
}

impl<F> Metered<F> {
    /// Attributes every poll of `inner` to `bucket`.
    pub fn new(bucket: Bucket, inner: F) -> Self {
        Self { bucket, inner }
    }
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        enter(self.bucket);
        // SAFETY: `inner` is pinned with `self` and never moved out of it.
        unsafe { self.map_unchecked_mut(|this| &mut this.inner) }.poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_reason_has_its_counter() {
        let counters = Counters::default();
        assert_eq!(counters.ends.len(), End::ALL.len());
        assert_eq!(counters.tickets.len(), TicketFate::ALL.len());
        assert_eq!(counters.upstream_faults.len(), UpstreamFault::ALL.len());
        assert_eq!(counters.junk.len(), LOOKS.len());
        assert_eq!(counters.cpu_ns.len(), Bucket::ALL.len());
        assert_eq!(counters.duration.len(), Durations::default().buckets.len());
    }

    #[test]
    fn processor_time_goes_to_the_bucket_that_was_entered() {
        let counters = Arc::new(Counters::default());
        attach(counters.clone());
        enter(Bucket::HandshakeNew);
        let begun = thread_cpu_ns();
        while thread_cpu_ns() - begun < 3_000_000 {}
        enter(Bucket::Upkeep);
        let spent = counters.cpu_ns[Bucket::HandshakeNew as usize].get();
        assert!(spent >= 3_000_000, "{spent} ns");
        assert_eq!(counters.cpu_ns[Bucket::RequestNew as usize].get(), 0);
    }

    #[test]
    fn durations_fall_into_the_bucket_up_to_their_bound() {
        let counters = Counters::default();
        counters.duration(Duration::from_micros(10));
        counters.duration(Duration::from_millis(1));
        counters.duration(Duration::from_secs(60));
        let filled: Vec<_> = counters.duration.iter().map(Count::get).collect();
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
