//! Raises the CPU cost of the pages, to try how an admission controller follows
//! a site whose later pages are costlier.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use tidegate_host::cpu_clock::of_this_thread;

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
    let until = of_this_thread() + cpu;
    while of_this_thread() < until {
        (0..50).for_each(|_| spin_loop());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn burning_takes_the_requested_cpu_time() {
        let before = of_this_thread();
        burn(Duration::from_millis(5));
        assert!(of_this_thread() - before >= Duration::from_millis(5));
    }
}
