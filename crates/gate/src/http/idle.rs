//! An idle connection of HTTP/1: when it lets go of what serves it, and when it leaves.

use crate::connection::exchange::Activity;
use crate::connection::state::ConnectionState;
use crate::shutdown::{Shutdown, Stage, Subscription};
use crate::telemetry::clock;
use pin_project_lite::pin_project;
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use std::time::Duration;
use tokio::time::{Sleep, sleep_until};

/// A connection that is idle for so long rests: the HTTP library with its buffers, some 20 KB, is
/// made anew with the next request.
pub const REST: Duration = Duration::from_secs(1);

/// What is due on a connection.
pub enum Due {
    /// Its deadline has passed.
    Deadline,
    /// It has been idle for [`REST`].
    Rest,
}

pin_project! {
    /// The timer of a connection for its deadline and its rest. Armed lazily: on a busy connection
    /// it moves once in [`REST`], not with each request.
    pub struct Timer {
        #[pin]
        sleep: Sleep,
    }
}

impl Timer {
    /// The timer of a connection.
    pub fn new(state: &ConnectionState) -> Self {
        let at = state.deadline().min(clock::now() + REST);
        Self { sleep: sleep_until(at.into()) }
    }

    /// Ready when something is due.
    pub fn poll(self: Pin<&mut Self>, state: &ConnectionState, cx: &mut Context<'_>) -> Poll<Due> {
        let mut sleep = self.project().sleep;
        let deadline = state.deadline();
        let rest = state.idle_since().map(|since| since + REST);
        if sleep.deadline() > deadline.into() {
            sleep.as_mut().reset(deadline.into());
        }
        if let Some(rest) = rest
            && sleep.deadline() > (rest + REST).into()
        {
            sleep.as_mut().reset(rest.into());
        }
        loop {
            ready!(sleep.as_mut().poll(cx));
            let now = clock::read();
            if deadline <= now {
                return Poll::Ready(Due::Deadline);
            }
            if rest.is_some_and(|rest| rest <= now) {
                return Poll::Ready(Due::Rest);
            }
            sleep.as_mut().reset(rest.unwrap_or(deadline).min(deadline).into());
        }
    }
}

/// Whether a connection of a gate that closes ends.
pub enum Leave {
    /// Not yet.
    No,
    /// After the request that is under way.
    Next,
    /// At once.
    Now,
}

/// What the closing of a gate means for a connection.
pub struct Leaves<'s> {
    shutdown: &'s Rc<Shutdown>,
    subscription: Option<Subscription>,
}

impl<'s> Leaves<'s> {
    /// Without a subscription yet.
    pub fn new(shutdown: &'s Rc<Shutdown>) -> Self {
        Self { shutdown, subscription: None }
    }

    /// Whether the connection ends. Wakes the task when that may change.
    pub fn poll(&mut self, state: &ConnectionState, cx: &mut Context<'_>) -> Leave {
        self.subscription.get_or_insert_with(|| self.shutdown.subscribe(cx.waker()));
        let idle = state.activity() == Activity::Idle;
        match self.shutdown.stage() {
            Stage::Open => Leave::No,
            Stage::Leaving if idle => Leave::No,
            Stage::Closed => Leave::Now,
            Stage::Draining if idle => Leave::Now,
            Stage::Leaving | Stage::Draining => Leave::Next,
        }
    }
}
