//! A core's idle connections to the upstream. The last one returned is used first, so that
//! as few as possible stay in use and the rest reach the idle timeout.

use crate::telemetry::clock;
use crate::telemetry::counters::Counters;
use crate::upstream::connector::{Connector, UpstreamConnection};
use crate::upstream::error::ConnectError;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// The pool of one core.
pub struct Pool {
    connector: Connector,
    idle: RefCell<VecDeque<(Box<UpstreamConnection>, Instant)>>,
    size: Cell<usize>,
    idle_timeout: Duration,
    counters: Arc<Counters>,
}

impl Pool {
    /// An empty pool of at most `size` idle connections.
    pub fn new(
        connector: Connector,
        size: usize,
        idle_timeout: Duration,
        counters: Arc<Counters>,
    ) -> Rc<Self> {
        Rc::new(Self {
            connector,
            idle: RefCell::default(),
            size: Cell::new(size),
            idle_timeout,
            counters,
        })
    }

    /// Closes the idle connections, and from now on each other one after its request: new
    /// connections of customers use another pool.
    pub fn retire(&self) {
        self.size.set(0);
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        self.counters.upstream_open.sub(idle.len() as u64);
    }

    /// Removes an idle connection that accepts a request, if there is one.
    pub fn pop(self: &Rc<Self>, cx: &mut Context<'_>) -> Option<Pooled> {
        loop {
            let (mut connection, since) = self.idle.borrow_mut().pop_back()?;
            let idle = clock::now().saturating_duration_since(since);
            if idle < self.idle_timeout && connection.is_ready(cx) {
                return Some(Pooled::new(connection, self));
            }
            self.counters.upstream_open.sub(1);
        }
    }

    /// Opens a new connection.
    ///
    /// # Errors
    /// It could not be opened.
    pub async fn connect(self: &Rc<Self>) -> Result<Pooled, ConnectError> {
        let connection = self.connector.connect().await?;
        self.counters.upstream_connects.add(1);
        self.counters.upstream_open.add(1);
        Ok(Pooled::new(Box::new(connection), self))
    }

    /// Drops connections that ended or reached the idle timeout; call it about once a
    /// second.
    pub fn sweep(&self) {
        let cx = &mut Context::from_waker(Waker::noop());
        let now = clock::read();
        let timeout = self.idle_timeout;
        let mut idle = self.idle.borrow_mut();
        let before = idle.len();
        idle.retain_mut(|(connection, since)| {
            now.saturating_duration_since(*since) < timeout && connection.is_ready(cx)
        });
        self.counters.upstream_open.sub((before - idle.len()) as u64);
    }
}

/// A connection in use. Dropped, it is closed; see [`Pooled::release`].
pub struct Pooled {
    connection: Option<Box<UpstreamConnection>>,
    pool: Rc<Pool>,
    reusable: bool,
}

impl Pooled {
    fn new(connection: Box<UpstreamConnection>, pool: &Rc<Pool>) -> Self {
        Self { connection: Some(connection), pool: pool.clone(), reusable: true }
    }

    /// Closes it after the response under way, instead of returning it to the pool.
    pub fn close_after_response(&mut self) {
        self.reusable = false;
    }

    /// The connection.
    pub fn get(&mut self) -> &mut UpstreamConnection {
        self.connection.as_mut().expect("present until released")
    }

    /// Returns it to the pool: the response was read to its end.
    pub fn release(mut self) {
        if !self.reusable {
            return;
        }
        let Some(connection) = self.connection.take() else { return };
        let mut idle = self.pool.idle.borrow_mut();
        if !connection.is_reusable() || idle.len() >= self.pool.size.get() {
            self.pool.counters.upstream_open.sub(1);
        } else {
            idle.push_back((connection, clock::now()));
        }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        if self.connection.is_some() {
            self.pool.counters.upstream_open.sub(1);
        }
    }
}
