//! The time as of the piece of work that runs on this thread. A request is
//! timed at ten places; most of them are microseconds apart, and asking the
//! kernel at each would cost more than it tells.

use std::cell::Cell;
use std::time::Instant;

thread_local! {
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Looks at the clock, for all that follows in this piece of work.
#[inline]
pub fn look() -> Instant {
    let now = Instant::now();
    NOW.set(Some(now));
    now
}

/// The time of the last [`look`] on this thread; behind by no more than the
/// current piece of work has taken.
#[inline]
pub fn now() -> Instant {
    NOW.get().unwrap_or_else(look)
}
