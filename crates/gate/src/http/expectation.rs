//! `Expect: 100-continue`: the request's body waits until the upstream asks for it.
//!
//! Source: RFC 9110, section 10.1.1: a client must not wait without end, since a server may
//! not know the expectation.

use std::pin::Pin;
use std::sync::{Arc, Mutex, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;
use tokio::time::{Sleep, sleep};

/// How long a body waits for the upstream's 100 at most, as with curl.
const PATIENCE: Duration = Duration::from_secs(1);

/// Tells that the upstream asks for the body. The HTTP library demands that it can be shared
/// between threads; it is not.
#[derive(Clone, Default)]
pub struct Continue(Arc<Mutex<(bool, Option<Waker>)>>);

impl Continue {
    /// The upstream asks for the body.
    pub fn arrived(&self) {
        let mut state = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        state.0 = true;
        if let Some(waker) = state.1.take() {
            waker.wake();
        }
    }
}

/// A body that waits.
pub struct Expectation {
    asked: Continue,
    until: Pin<Box<Sleep>>,
}

impl Expectation {
    /// Waits for this signal.
    pub fn new(asked: Continue) -> Self {
        Self { asked, until: Box::pin(sleep(PATIENCE)) }
    }

    /// Ready when the body may be sent.
    pub fn poll(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        {
            let mut state = self.asked.0.lock().unwrap_or_else(PoisonError::into_inner);
            if state.0 {
                return Poll::Ready(());
            }
            state.1 = Some(cx.waker().clone());
        }
        self.until.as_mut().poll(cx)
    }
}
