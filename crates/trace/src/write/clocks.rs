//! The clocks that recording reads on the threads that are traced. Tests count the readings.

use std::time::Instant;

use tidegate_host::{clock, cpu_clock};

/// The monotonic clock, nanoseconds.
#[inline]
pub fn monotonic_ns() -> u64 {
    count();
    clock::monotonic_ns()
}

/// CPU time of this thread, nanoseconds.
#[inline]
pub fn thread_cpu_ns() -> u64 {
    count();
    cpu_clock::of_this_thread().as_nanos() as u64
}

/// Time since an instant, nanoseconds.
#[inline]
pub fn since_ns(at: Instant) -> u64 {
    count();
    u64::try_from(at.elapsed().as_nanos()).unwrap_or(u64::MAX)
}

#[cfg(not(test))]
#[inline]
fn count() {}

#[cfg(test)]
use counted::count;

#[cfg(test)]
pub mod counted {
    use std::cell::Cell;

    thread_local! {
        static READINGS: Cell<u64> = const { Cell::new(0) };
    }

    pub fn count() {
        READINGS.set(READINGS.get() + 1);
    }

    /// Readings of this thread until now.
    pub fn readings() -> u64 {
        READINGS.get()
    }
}
