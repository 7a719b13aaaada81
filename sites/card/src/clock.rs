//! The time of day, which tests can replace.

use std::sync::Arc;
use std::time::{SystemTime, UNIX_EPOCH};

use tokio::time::Instant;

/// Tells the time in milliseconds since 1970 (UTC).
#[derive(Clone)]
pub struct Clock(Arc<dyn Fn() -> i64 + Send + Sync>);

impl Clock {
    /// The clock of this machine.
    pub fn system() -> Self {
        Self(Arc::new(|| {
            let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
            i64::try_from(since.as_millis()).unwrap_or(i64::MAX)
        }))
    }

    /// A clock that begins at `start_ms` and goes on with tokio's time, which a test can
    /// pause and advance.
    pub fn of_tokio(start_ms: i64) -> Self {
        let begin = Instant::now();
        Self(Arc::new(move || {
            let passed = i64::try_from(begin.elapsed().as_millis()).unwrap_or(i64::MAX);
            start_ms.saturating_add(passed)
        }))
    }

    /// Now, in milliseconds since 1970.
    pub fn now_ms(&self) -> i64 {
        (self.0)()
    }
}

impl std::fmt::Debug for Clock {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Clock({})", self.now_ms())
    }
}
