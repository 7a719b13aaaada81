//! How fast a customer takes a response, as far as they are what limits it.
//!
//! A response waits for the customer while the kernel accepts no more of it. Whether the
//! customer still reads cannot be told from the kernel accepting more: it reports room
//! only when a third of a send buffer of up to 4 MB is free, which takes 20 s at 60 kB/s.
//! So progress is what the customer's kernel has acknowledged. It is measured when a
//! wait begins and when its deadline is near, never while all is accepted at once.

use std::cell::Cell;
use std::time::{Duration, Instant};

/// What a customer must take of a response that waits for them.
#[derive(Clone, Copy, Debug)]
pub struct DeliveryLimits {
    /// Longest time in which nothing is acknowledged.
    pub pause: Duration,
    /// Bytes per second, averaged over the time that the response waits; 0 demands none.
    pub rate: u64,
}

/// Deliveries to one customer.
#[derive(Debug)]
pub struct Delivery {
    limits: DeliveryLimits,
    /// Bytes that the kernel accepted, on the whole connection.
    sent: Cell<u64>,
    /// Those of them that were acknowledged at the last measurement.
    acknowledged: Cell<u64>,
    /// When that was.
    measured_at: Cell<Instant>,
    /// Last progress of the wait.
    progress: Cell<Instant>,
    /// Since when the response waits; `None` if it does not.
    waits: Cell<Option<Instant>>,
    /// How long it has waited before that.
    waited: Cell<Duration>,
    /// What was acknowledged when it first waited.
    base: Cell<Option<u64>>,
    /// A measurement is due.
    measurement_due: Cell<bool>,
}

impl Delivery {
    /// Nothing has been sent.
    pub fn new(limits: DeliveryLimits, now: Instant) -> Self {
        Self {
            limits,
            sent: Cell::new(0),
            acknowledged: Cell::new(0),
            measured_at: Cell::new(now),
            progress: Cell::new(now),
            waits: Cell::new(None),
            waited: Cell::new(Duration::ZERO),
            base: Cell::new(None),
            measurement_due: Cell::new(false),
        }
    }

    /// The next response begins.
    pub fn begin(&self) {
        self.waits.set(None);
        self.waited.set(Duration::ZERO);
        self.base.set(None);
        self.measurement_due.set(false);
    }

    /// The kernel accepted so many bytes. Returns whether others wait.
    pub fn sent(&self, bytes: usize, now: Instant) -> bool {
        self.sent.set(self.sent.get() + bytes as u64);
        let waits = self.waits();
        if waits {
            self.progress.set(now);
        }
        waits
    }

    /// Whether the response waits for the customer.
    pub fn waits(&self) -> bool {
        self.waits.get().is_some()
    }

    /// The kernel accepts no more. `unacknowledged` returns the bytes in its queue; it is
    /// called when the wait begins and when a measurement is due.
    pub fn wait(&self, now: Instant, unacknowledged: impl FnOnce() -> u64) {
        let due = self.measurement_due.take();
        if self.waits() {
            if due {
                self.note(now, unacknowledged());
            }
            return;
        }
        self.note(now, unacknowledged());
        self.progress.set(now);
        self.waits.set(Some(now));
        if self.base.get().is_none() {
            self.base.set(Some(self.acknowledged.get()));
        }
    }

    /// The kernel has accepted all that there is.
    pub fn accepted(&self, now: Instant) {
        if let Some(since) = self.waits.take() {
            self.waited.set(self.waited.get() + now.saturating_duration_since(since));
        }
    }

    /// So many bytes are in the kernel's queue, of all that it has accepted: the response
    /// waits until there are none.
    pub fn measured(&self, now: Instant, unacknowledged: u64) {
        match unacknowledged {
            0 => self.accepted(now),
            bytes => self.wait(now, || bytes),
        }
        self.measurement_due.set(false);
    }

    /// Demands a measurement by the next [`Delivery::wait`] or [`Delivery::measured`].
    pub fn demand_measurement(&self) {
        self.measurement_due.set(true);
    }

    /// Whether a measurement is due.
    pub fn is_measurement_due(&self) -> bool {
        self.measurement_due.get()
    }

    /// When the next measurement is due, while the response waits. Not later than the last
    /// one where the customer, by that one, takes too little.
    pub fn next_measurement(&self) -> Option<Instant> {
        let (stalls, slow) = self.ends()?;
        let next = self.measured_at.get() + self.limits.pause / 4;
        Some(slow.map_or(stalls, |slow| slow.min(stalls)).min(next))
    }

    /// When the wait has lasted too long without progress, and when it falls below the
    /// least rate.
    fn ends(&self) -> Option<(Instant, Option<Instant>)> {
        let since = self.waits.get()?;
        let Self { limits, .. } = self;
        let taken = self.acknowledged.get().saturating_sub(self.base.get().unwrap_or_default());
        let millis = taken.saturating_mul(1_000).checked_div(limits.rate);
        let allowed = millis.map(|millis| limits.pause + Duration::from_millis(millis));
        let slow = allowed
            .and_then(|allowed| since.checked_add(allowed.saturating_sub(self.waited.get())));
        Some((self.progress.get() + limits.pause, slow))
    }

    fn note(&self, now: Instant, unacknowledged: u64) {
        self.measured_at.set(now);
        let acknowledged = self.sent.get().saturating_sub(unacknowledged);
        if acknowledged > self.acknowledged.replace(acknowledged.max(self.acknowledged.get())) {
            self.progress.set(now);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: Duration = Duration::from_secs(1);

    /// A customer with a send buffer of 4 MB that is full.
    struct Customer {
        delivery: Delivery,
        begun: Instant,
    }

    /// Whether the customer takes too little, by a measurement at this time.
    fn is_over(delivery: &Delivery, at: Instant) -> bool {
        delivery
            .ends()
            .is_some_and(|(stalls, slow)| stalls <= at || slow.is_some_and(|slow| slow <= at))
    }

    impl Customer {
        fn new(rate: u64) -> Self {
            let begun = Instant::now();
            let delivery = Delivery::new(DeliveryLimits { pause: 60 * SECOND, rate }, begun);
            delivery.sent(4_000_000, begun);
            delivery.wait(begun, || 4_000_000);
            Self { delivery, begun }
        }

        /// After how many seconds the customer, of whom so much is acknowledged after as
        /// many, is cut; `None` if that is not within three hours.
        fn is_cut(&self, acknowledged: impl Fn(u64) -> u64) -> Option<u64> {
            let mut at = self.delivery.next_measurement().unwrap();
            while at < self.begun + 10_800 * SECOND {
                let seconds = (at - self.begun).as_secs();
                self.delivery.demand_measurement();
                self.delivery.wait(at, || 4_000_000 - acknowledged(seconds));
                if is_over(&self.delivery, at) {
                    return Some(seconds);
                }
                let next = self.delivery.next_measurement().unwrap();
                assert!(next > at, "it would measure without end");
                at = next;
            }
            None
        }
    }

    #[test]
    fn a_steady_customer_is_never_cut_however_coarse_their_acknowledgements() {
        // 10 kB/s, acknowledged in steps of 350 kB, to the last of ten steps.
        let steps = |seconds: u64| (seconds / 35).min(10) * 350_000;
        let cut = Customer::new(64).is_cut(steps).unwrap();
        assert!((350 + 60..=350 + 75).contains(&cut), "{cut}");
    }

    #[test]
    fn a_customer_who_takes_nothing_is_cut_after_the_pause() {
        assert_eq!(Customer::new(64).is_cut(|_| 0), Some(60));
        // The last of it is seen after 30 s.
        assert_eq!(Customer::new(0).is_cut(|seconds| seconds.min(20)), Some(90));
    }

    #[test]
    fn a_customer_below_the_least_rate_is_cut_although_they_make_progress() {
        assert_eq!(Customer::new(64).is_cut(|seconds| seconds), Some(60));
        assert_eq!(Customer::new(0).is_cut(|seconds| seconds), None, "no rate is demanded");
        // 60 s and what 32 bytes per second pay for: 60 + 32 s / 64 = s.
        assert_eq!(Customer::new(64).is_cut(|seconds| 32 * seconds), Some(119));
        assert_eq!(Customer::new(64).is_cut(|seconds| 65 * seconds), None);
    }

    #[test]
    fn time_in_which_nothing_waits_is_not_counted() {
        let Customer { delivery, begun } = Customer::new(64);
        delivery.accepted(begun + 30 * SECOND);
        assert!(
            delivery.next_measurement().is_none() && !is_over(&delivery, begun + 3_600 * SECOND)
        );
        let later = begun + 3_600 * SECOND;
        delivery.wait(later, || 4_000_000);
        assert!(!is_over(&delivery, later + 29 * SECOND));
        assert!(is_over(&delivery, later + 30 * SECOND), "60 s in all, and nothing was taken");
        delivery.begin();
        delivery.wait(later, || 4_000_000);
        assert!(!is_over(&delivery, later + 59 * SECOND), "each response has its own time");
    }

    #[test]
    fn what_the_kernel_accepts_is_progress() {
        let Customer { delivery, begun } = Customer::new(0);
        assert!(delivery.sent(1_000_000, begun + 50 * SECOND));
        assert!(!is_over(&delivery, begun + 109 * SECOND));
        assert!(is_over(&delivery, begun + 110 * SECOND));
    }

    #[test]
    fn the_kernel_is_asked_only_when_a_wait_begins_and_when_a_measurement_is_due() {
        let Customer { delivery, begun } = Customer::new(64);
        delivery.wait(begun + SECOND, || unreachable!("no measurement is due"));
        delivery.demand_measurement();
        let asked = Cell::new(0);
        (0..3).for_each(|_| {
            delivery.wait(begun + SECOND, || {
                asked.set(asked.get() + 1);
                0
            });
        });
        assert_eq!(asked.get(), 1);
    }
}
