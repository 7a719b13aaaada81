//! Raises the CPU cost of the pages, to try how an admission controller follows
//! a site whose later pages are costlier.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};

/// The same pages; from the instant `from` on, each but the front page takes
/// `extra_cpu` of CPU time more.
pub(super) fn with_extra_cpu(router: Router, extra_cpu: Duration, from: Instant) -> Router {
    if extra_cpu.is_zero() {
        return router;
    }
    router.layer(from_fn(move |request: Request, next: Next| async move {
        if request.uri().path() != "/" && Instant::now() >= from {
            burn(extra_cpu);
        }
        next.run(request).await
    }))
}

/// Keeps the processor busy until this thread has used `cpu` of CPU time.
fn burn(cpu: Duration) {
    let until = thread_cpu() + cpu;
    while thread_cpu() < until {
        (0..50).for_each(|_| spin_loop());
    }
}

/// CPU time of this thread, so that waiting for the processor does not count.
fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the call writes to the local variable passed; this clock always exists.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &mut time) };
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burning_takes_the_requested_cpu_time() {
        let before = thread_cpu();
        burn(Duration::from_millis(5));
        assert!(thread_cpu() - before >= Duration::from_millis(5));
    }
}
