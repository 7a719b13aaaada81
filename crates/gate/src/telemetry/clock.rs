//! The time as of the piece of work that runs on this thread. A request is
//! timed at ten places, most of them microseconds apart; the kernel's clock is
//! read once for all of them.

use std::cell::Cell;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

thread_local! {
    static NOW: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Reads the clock, for all that follows in this piece of work.
#[inline]
pub fn read() -> Instant {
    let now = Instant::now();
    NOW.set(Some(now));
    now
}

/// The time of the last [`read`] on this thread; behind by no more than the
/// current piece of work has taken.
#[inline]
pub fn now() -> Instant {
    NOW.get().unwrap_or_else(read)
}

/// Seconds since 1970; 0 for a clock set before that.
pub fn unix_now() -> u64 {
    unix_now_ms() / 1000
}

/// Milliseconds since 1970; 0 for a clock set before that.
pub fn unix_now_ms() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or(Duration::ZERO).as_millis() as u64
}

/// Time between two ticks of the control loop.
pub const TICK: Duration = Duration::from_millis(100);

/// The ticks within a time.
pub fn ticks(time: Duration) -> u64 {
    (time.as_millis() / TICK.as_millis()) as u64
}
