//! The end of a session, and what a customer keeps for the next one.

use std::pin::pin;
use std::sync::Arc;
use std::task::Poll;
use std::time::Instant;

use super::context::ThreadContext;
use crate::client::connection::Connection;
use crate::client::tls::tickets::Tickets;
use crate::outcome::Outcome;

/// What a customer keeps from one session to the next.
#[derive(Default)]
pub(crate) struct ReturningState {
    pub(crate) connection: Option<Connection>,
    pub(crate) tickets: Option<Arc<Tickets>>,
    /// The same of hosts other than the target.
    pub(crate) others: Vec<HostState>,
    /// Number of the customer; drawn if it is not set.
    pub(crate) customer: Option<u64>,
}

/// What an agent has of a host.
pub(crate) struct HostState {
    /// Its index.
    pub(crate) host: u8,
    pub(crate) tickets: Arc<Tickets>,
    pub(crate) connection: Option<Connection>,
}

/// The end of a session.
pub(crate) struct Departure {
    pub(crate) kept: ReturningState,
    pub(crate) outcome: Outcome,
    /// Number of the customer.
    pub(crate) customer: u64,
}

impl Departure {
    /// The state of the same customer without connection and tickets.
    pub(crate) fn anew(self, context: &ThreadContext) -> ReturningState {
        self.kept.finish(context);
        ReturningState { customer: Some(self.customer), ..ReturningState::default() }
    }
}

impl ReturningState {
    /// Waits; closes the connection if the server does.
    pub(crate) async fn rest_until(&mut self, context: &ThreadContext, at: Instant) {
        rest_until(context, &mut self.connection, &mut self.others, at).await;
    }

    /// Closes the connection.
    pub(crate) fn finish(self, context: &ThreadContext) {
        finish(context, self.connection);
        self.others.into_iter().for_each(|other| finish(context, other.connection));
    }
}

/// Waits; closes a connection if the server does, and all if the run ends.
pub(super) async fn rest_until(
    context: &ThreadContext,
    connection: &mut Option<Connection>,
    others: &mut [HostState],
    at: Instant,
) {
    // Boxed, so that customers of one host need no room for it.
    if !others.is_empty() {
        return Box::pin(rest_with_others(context, connection, others, at)).await;
    }
    let mut timer = pin!(context.timers.at(at));
    if let Some(open) = connection {
        tokio::select! {
            biased;
            () = &mut timer => return,
            () = context.timers.ended() => {
                finish(context, connection.take());
                return std::future::pending().await;
            }
            () = open.closed() => {}
        }
        finish(context, connection.take());
    }
    timer.await;
}

async fn rest_with_others(
    context: &ThreadContext,
    connection: &mut Option<Connection>,
    others: &mut [HostState],
    at: Instant,
) {
    let mut timer = pin!(context.timers.at(at));
    let own = std::iter::once(connection);
    let mut all: Vec<_> = own.chain(others.iter_mut().map(|other| &mut other.connection)).collect();
    loop {
        let closed = std::future::poll_fn(|cx| {
            let is_closed = |place: &mut &mut Option<Connection>| {
                place.as_mut().is_some_and(|open| open.poll_idle(cx).is_ready())
            };
            all.iter_mut().position(is_closed).map_or(Poll::Pending, Poll::Ready)
        });
        tokio::select! {
            biased;
            () = &mut timer => return,
            () = context.timers.ended() => {
                all.into_iter().for_each(|place| finish(context, place.take()));
                return std::future::pending().await;
            }
            closed = closed => finish(context, all[closed].take()),
        }
    }
}

/// Closes a connection in the plan's way.
pub(super) fn finish(context: &ThreadContext, connection: Option<Connection>) {
    if let Some(connection) = connection {
        connection.finish(context.close);
    }
}
