//! Work that may wait for a disk, off the thread of the core.
//!
//! A core's thread must never wait: it serves all connections of the core. So files are opened
//! and read by threads of the runtime's pool, which share the core's processor. At most so many
//! work for a core at once that a disk that hangs takes none from others who need such threads,
//! such as the resolver.

use crate::telemetry::clock;
use std::cell::Cell;
use std::io;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::sync::Semaphore;

/// Most pieces of work at once, per core.
const AT_ONCE: usize = 32;
/// How long the disk is not asked after it took too long to answer.
const PAUSE: Duration = Duration::from_secs(5);

/// The disk, as one core uses it.
#[derive(Debug)]
pub struct Disk {
    places: Arc<Semaphore>,
    hung_until: Cell<Option<Instant>>,
}

impl Default for Disk {
    fn default() -> Self {
        Self { places: Arc::new(Semaphore::new(AT_ONCE)), hung_until: Cell::new(None) }
    }
}

impl Disk {
    /// Does a piece of work on another thread, after others if there are many. A piece that was
    /// begun is finished, and keeps its place until then, also where nobody waits for it.
    ///
    /// # Errors
    /// Those of the work.
    pub fn work<T: Send + 'static>(
        &self,
        work: impl FnOnce() -> io::Result<T> + Send + 'static,
    ) -> impl Future<Output = io::Result<T>> + 'static {
        let places = self.places.clone();
        async move {
            let place = places.acquire_owned().await.map_err(io::Error::other)?;
            let done = tokio::task::spawn_blocking(move || {
                let done = work();
                drop(place);
                done
            });
            done.await.map_err(io::Error::other)?
        }
    }

    /// Whether it took too long to answer a short while ago.
    pub fn hangs(&self) -> bool {
        self.hung_until.get().is_some_and(|until| clock::now() < until)
    }

    /// Notes that it takes too long to answer.
    pub fn note_hanging(&self) {
        self.hung_until.set(Some(clock::now() + PAUSE));
    }
}
