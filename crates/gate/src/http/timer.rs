//! The timer of a connection or stream.

use crate::telemetry::clock;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Instant;
use tokio::time::Sleep;

/// Ready when a deadline has passed. Armed lazily: the timer moves only when it fires, or
/// when the deadline came nearer.
pub fn poll_deadline(
    mut sleep: Pin<&mut Sleep>,
    deadline: Instant,
    cx: &mut Context<'_>,
) -> Poll<()> {
    if sleep.deadline() > deadline.into() {
        sleep.as_mut().reset(deadline.into());
    }
    loop {
        ready!(sleep.as_mut().poll(cx));
        if deadline <= clock::read() {
            return Poll::Ready(());
        }
        sleep.as_mut().reset(deadline.into());
    }
}
