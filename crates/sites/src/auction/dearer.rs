//! Makes the site dearer, to try what later pages that weigh more do to it.

use std::hint::spin_loop;
use std::time::{Duration, Instant};

use axum::Router;
use axum::extract::Request;
use axum::middleware::{Next, from_fn};
use tidegate_host::cpu_clock::of_this_thread;

/// The same pages, of which each but the front page burns so much CPU time more
/// from an instant on.
pub(super) fn dearer(router: Router, extra_cpu: Duration, from: Instant) -> Router {
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

/// Keeps this thread's processor busy, for so much of its own CPU time.
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
    fn burning_takes_the_cpu_time_asked_for() {
        let before = of_this_thread();
        burn(Duration::from_millis(5));
        assert!(of_this_thread() - before >= Duration::from_millis(5));
    }
}
