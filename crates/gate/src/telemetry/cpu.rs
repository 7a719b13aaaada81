//! Attribution of processor time to what it is spent on.
//!
//! Each piece of work names its [`Bucket`] with [`enter`] before it runs, and the
//! thread's CPU clock is read only where the bucket, or the kind of a full handshake, changes. So
//! nothing that the thread spends is left out (what the runtime does between two pieces counts to the
//! former), and a core that works on one kind of request rarely reads the clock.
//!
//! Requests also name their route, where routes are configured. What a connection spends before
//! its request's route is known counts to that route.

use crate::telemetry::counters::Counters;
use crate::telemetry::labels::Bucket;
use crate::telemetry::route_counts::RouteCounts;
use pin_project_lite::pin_project;
use std::cell::{Cell, RefCell};
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use tidegate_control::FullHandshake;
use tidegate_host::cpu_clock;

/// The state of attribution on one thread.
struct Attribution {
    counters: RefCell<Option<Arc<Counters>>>,
    bucket: Cell<Bucket>,
    /// The kind of the full handshake that it is spent on.
    kind: Cell<Option<FullHandshake>>,
    /// The route of the request that runs, if it is known.
    route: RefCell<Option<Arc<RouteCounts>>>,
    since_ns: Cell<u64>,
}

thread_local! {
    static ATTRIBUTION: Attribution = const { Attribution {
        counters: RefCell::new(None), bucket: Cell::new(Bucket::Upkeep), kind: Cell::new(None),
        route: RefCell::new(None), since_ns: Cell::new(0),
    } };
}

/// Begins attribution on this thread, into these counters.
pub fn attach(counters: Arc<Counters>) {
    ATTRIBUTION.with(|attribution| {
        *attribution.counters.borrow_mut() = Some(counters);
        attribution.bucket.set(Bucket::Upkeep);
        attribution.since_ns.set(thread_cpu_ns());
    });
}

/// What this thread spends from now on counts to `bucket`.
#[inline]
pub fn enter(bucket: Bucket) {
    enter_kind(bucket, None);
}

/// The same for a full handshake of a kind, to which it counts as well.
#[inline]
fn enter_kind(bucket: Bucket, kind: Option<FullHandshake>) {
    ATTRIBUTION.with(|attribution| {
        if (attribution.bucket.get(), attribution.kind.get()) != (bucket, kind) {
            charge(attribution);
            attribution.bucket.set(bucket);
            attribution.kind.set(kind);
            attribution.route.take();
        }
    });
}

/// What this thread spends from now on counts to the route as well, until another one, or none,
/// is entered; and so does what it has spent on a request whose route was not known.
#[inline]
pub fn enter_route(route: Option<&Arc<RouteCounts>>) {
    ATTRIBUTION.with(|attribution| {
        let former = attribution.route.borrow();
        if former.as_ref().map(Arc::as_ptr) == route.map(Arc::as_ptr) {
            return;
        }
        let was_known = former.is_some();
        drop(former);
        if was_known {
            charge(attribution);
        }
        attribution.route.replace(route.cloned());
    });
}

/// Brings the counters up to now; the bucket stays.
pub fn settle() {
    ATTRIBUTION.with(charge);
}

fn charge(attribution: &Attribution) {
    let now = thread_cpu_ns();
    let spent = now.saturating_sub(attribution.since_ns.replace(now));
    if let Some(counters) = attribution.counters.borrow().as_ref() {
        counters.cpu_ns[attribution.bucket.get()].add(spent);
        if let Some(kind) = attribution.kind.get() {
            counters.handshake_ns_by_kind[kind].add(spent);
        }
    }
    if let Some(route) = attribution.route.borrow().as_ref() {
        route.cpu_ns.add(spent);
    }
}

/// Processor time that this thread has used, in nanoseconds.
fn thread_cpu_ns() -> u64 {
    cpu_clock::of_this_thread().as_nanos() as u64
}

pin_project! {
    /// A future whose polls count to a bucket.
    pub struct Metered<F> {
        bucket: Bucket,
        kind: Option<FullHandshake>,
        #[pin]
        inner: F,
    }
}

impl<F> Metered<F> {
    /// Attributes every poll of `inner` to `bucket`.
    pub fn new(bucket: Bucket, inner: F) -> Self {
        Self { bucket, kind: None, inner }
    }

    /// The same for a handshake: a full one is of a kind.
    pub fn handshake(bucket: Bucket, kind: Option<FullHandshake>, inner: F) -> Self {
        Self { bucket, kind, inner }
    }
}

impl<F: Future> Future for Metered<F> {
    type Output = F::Output;

    #[inline]
    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<F::Output> {
        let this = self.project();
        enter_kind(*this.bucket, *this.kind);
        this.inner.poll(cx)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn processor_time_goes_to_the_bucket_that_was_entered() {
        let counters = Arc::new(Counters::default());
        attach(counters.clone());
        enter(Bucket::HandshakeNew);
        let start = thread_cpu_ns();
        while thread_cpu_ns() - start < 3_000_000 {}
        enter(Bucket::Upkeep);
        let spent = counters.cpu_ns[Bucket::HandshakeNew].get();
        assert!(spent >= 3_000_000, "{spent} ns");
        assert_eq!(counters.cpu_ns[Bucket::RequestNew].get(), 0);
    }

    #[test]
    fn requests_are_charged_to_their_routes_also_before_these_are_known() {
        let spend = |ns: u64| {
            let start = thread_cpu_ns();
            while thread_cpu_ns() - start < ns {}
        };
        let counters = Arc::new(Counters::default());
        let [one, two] = [(); 2].map(|()| Arc::new(RouteCounts::default()));
        attach(counters.clone());
        enter(Bucket::RequestNew);
        spend(3_000_000);
        enter_route(Some(&one));
        spend(1_000_000);
        enter_route(None);
        spend(2_000_000);
        enter_route(Some(&two));
        enter(Bucket::Upkeep);
        spend(1_000_000);
        settle();
        let [one, two] = [one, two].map(|route| route.cpu_ns.get());
        assert!(one >= 4_000_000 && two >= 2_000_000, "{one} and {two} ns");
        assert_eq!(one + two, counters.cpu_ns[Bucket::RequestNew].get(), "and nothing else");
    }
}
