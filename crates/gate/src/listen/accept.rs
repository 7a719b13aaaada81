//! The accept loops of a core: each accepts the connections of one listener and passes them
//! to the pipeline.

use crate::listen::listener;
use crate::listen::pipeline::Pipeline;
use crate::listen::spare::{Spare, is_out_of_files};
use crate::refusal;
use crate::socket::Scheme;
use crate::telemetry::counters::Counters;
use crate::telemetry::cpu::enter;
use crate::telemetry::labels::{Bucket, End};
use crate::telemetry::seldom::Seldom;
use std::cell::{Cell, RefCell};
use std::io;
use std::net::TcpListener;
use std::rc::Rc;
use std::sync::Arc;
use std::time::{Duration, Instant};
use tokio::io::unix::AsyncFd;

/// Connections accepted before other tasks run.
const BATCH: usize = 64;
/// Pause after `accept` failed for lack of a resource, such as descriptors.
const PAUSE: Duration = Duration::from_millis(20);

/// What the accept loops of a core share.
pub struct Acceptor {
    /// For the connections that are accepted from now on.
    pipeline: RefCell<Rc<Pipeline>>,
    counters: Arc<Counters>,
    spare: RefCell<Spare>,
    failures: Cell<u64>,
    failures_line: RefCell<Seldom>,
    begun: Instant,
}

impl Acceptor {
    /// Passes connections to this pipeline.
    pub fn new(pipeline: Rc<Pipeline>, counters: Arc<Counters>) -> Rc<Self> {
        Rc::new(Self {
            pipeline: RefCell::new(pipeline),
            counters,
            spare: RefCell::default(),
            failures: Cell::default(),
            failures_line: RefCell::default(),
            begun: Instant::now(),
        })
    }

    /// The pipeline in use.
    pub fn pipeline(&self) -> Rc<Pipeline> {
        self.pipeline.borrow().clone()
    }

    /// Passes connections to the next pipeline from now on.
    pub fn renew(&self, next: impl FnOnce(&Pipeline) -> Rc<Pipeline>) {
        let next = next(&self.pipeline());
        self.pipeline.replace(next);
    }

    /// Refuses a connection for which there is no file descriptor, by a reset: its customer
    /// learns it at once. The control loop logs it.
    ///
    /// # Errors
    /// `WouldBlock` if no connection waits; otherwise the error of `accept`.
    fn refuse_one(&self, listener: &TcpListener) -> io::Result<()> {
        let accept = || listener::accept(listener, Scheme::Https);
        self.spare.borrow_mut().lend(|| accept().map(refusal::reset))?;
        self.counters.accepted.add(1);
        self.counters.accept_errors.add(1);
        self.counters.end(End::NoFiles);
        Ok(())
    }

    fn note_failure(&self, error: &io::Error) {
        self.counters.accept_errors.add(1);
        self.failures.set(self.failures.get() + 1);
        let due = self.failures_line.borrow_mut().due(self.begun.elapsed(), [self.failures.get()]);
        if let Some([times]) = due {
            tracing::warn!(%error, times, "cannot accept connections");
        }
    }

    /// Accepts the connections of a listener until dropped.
    ///
    /// # Errors
    /// The runtime cannot register the listener.
    pub fn accept_on(
        self: Rc<Self>,
        listener: Arc<TcpListener>,
        scheme: Scheme,
    ) -> io::Result<impl Future<Output = ()>> {
        // SAFETY: the listener owns its descriptor and keeps it until its last owner drops it.
        let listener =
            unsafe { AsyncFd::register_with_interest(listener, tokio::io::Interest::READABLE) }?;
        Ok(self.accept_loop(listener, scheme))
    }

    async fn accept_loop(self: Rc<Self>, listener: AsyncFd<Arc<TcpListener>>, scheme: Scheme) {
        loop {
            let Ok(mut ready) = listener.readable().await else { return };
            let pipeline = self.pipeline();
            self.spare.borrow_mut().restore();
            for _ in 0..BATCH {
                enter(Bucket::Arrival);
                let accepted = match listener::accept(listener.get_ref(), scheme) {
                    Ok(arrival) => {
                        pipeline.accepted(arrival);
                        Ok(())
                    }
                    Err(error) if is_out_of_files(&error) => self.refuse_one(listener.get_ref()),
                    Err(error) => Err(error),
                };
                match accepted {
                    Ok(()) => {}
                    Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                        ready.clear_ready();
                        break;
                    }
                    Err(error) if is_of_the_connection(&error) => {}
                    Err(error) => {
                        self.note_failure(&error);
                        tokio::time::sleep(PAUSE).await;
                        break;
                    }
                }
            }
            tokio::task::yield_now().await;
        }
    }
}

/// Whether `accept` failed because of one connection only.
fn is_of_the_connection(error: &io::Error) -> bool {
    use io::ErrorKind::{ConnectionAborted, ConnectionReset, Interrupted};
    matches!(error.kind(), ConnectionAborted | ConnectionReset | Interrupted)
        || matches!(error.raw_os_error(), Some(libc::EPROTO))
}
