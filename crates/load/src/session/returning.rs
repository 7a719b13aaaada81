//! The end of a session, and what a customer keeps for the next one.

use std::pin::pin;
use std::sync::Arc;
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
    /// Number of the customer; drawn if it is not set.
    pub(crate) customer: Option<u64>,
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
        rest_until(context, &mut self.connection, at).await;
    }

    /// Closes the connection.
    pub(crate) fn finish(self, context: &ThreadContext) {
        finish(context, self.connection);
    }
}

/// Waits; closes the connection if the server does, or if the run ends.
pub(super) async fn rest_until(
    context: &ThreadContext,
    connection: &mut Option<Connection>,
    at: Instant,
) {
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

/// Closes a connection in the plan's way.
pub(super) fn finish(context: &ThreadContext, connection: Option<Connection>) {
    if let Some(connection) = connection {
        connection.finish(context.close);
    }
}
