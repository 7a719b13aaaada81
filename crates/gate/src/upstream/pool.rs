//! A core's connections to one server of an upstream. Of the idle ones the last one returned is
//! used first, so that as few as possible stay in use and the rest reach the idle timeout.

use crate::telemetry::clock;
use crate::telemetry::counters::Counters;
use crate::upstream::connector::{Connector, UpstreamConnection, UpstreamSocket};
use crate::upstream::error::ConnectError;
use crate::upstream::health::{MemberCounts, MemberHealth};
use crate::upstream::queue::Queue;
use bytes::Bytes;
use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// The bounds of a pool.
#[derive(Clone, Copy, Debug)]
pub struct Bounds {
    /// Most connections in use.
    pub in_use: u64,
    /// Most idle connections.
    pub idle: usize,
    /// How long one is idle.
    pub idle_timeout: Duration,
}

/// The pool of one core for one server.
pub struct Pool {
    connector: Connector,
    /// What is known of the server.
    pub health: Arc<MemberHealth>,
    core: usize,
    idle: RefCell<VecDeque<(Box<UpstreamConnection>, Instant)>>,
    bounds: Cell<Bounds>,
    /// Who waits for a place.
    queue: Rc<Queue>,
    counters: Arc<Counters>,
}

impl Pool {
    /// An empty pool of a core.
    pub fn new(
        connector: Connector,
        (health, core): (Arc<MemberHealth>, usize),
        bounds: Bounds,
        queue: Rc<Queue>,
        counters: Arc<Counters>,
    ) -> Rc<Self> {
        let (idle, bounds) = (RefCell::default(), Cell::new(bounds));
        Rc::new(Self { connector, health, core, idle, bounds, queue, counters })
    }

    /// What this core counts of the server.
    pub fn counts(&self) -> &MemberCounts {
        self.health.counts(self.core)
    }

    /// Takes a place for a request, if the server has one.
    pub fn slot(self: &Rc<Self>) -> Option<Slot> {
        self.has_room().then(|| {
            self.counts().in_use.add(1);
            Slot { pool: self.clone() }
        })
    }

    /// Whether the server has a place for a request.
    pub fn has_room(&self) -> bool {
        self.counts().in_use.get() < self.bounds.get().in_use
    }

    /// Sets other bounds, for connections from now on.
    pub fn set_bounds(&self, bounds: Bounds) {
        self.bounds.set(bounds);
    }

    /// Closes the idle connections, and from now on each other one after its request: new
    /// connections of customers use another pool.
    pub fn retire(&self) {
        self.set_bounds(Bounds { idle: 0, ..self.bounds.get() });
        let idle = std::mem::take(&mut *self.idle.borrow_mut());
        self.counters.upstream_open.sub(idle.len() as u64);
    }

    /// Drops connections that ended or reached the idle timeout; call it about once a
    /// second.
    pub fn sweep(&self) {
        let cx = &mut Context::from_waker(Waker::noop());
        let now = clock::read();
        let timeout = self.bounds.get().idle_timeout;
        let mut idle = self.idle.borrow_mut();
        let before = idle.len();
        idle.retain_mut(|(connection, since)| {
            now.saturating_duration_since(*since) < timeout && connection.is_ready(cx)
        });
        self.counters.upstream_open.sub((before - idle.len()) as u64);
    }
}

/// A place for one request at a server, until it is dropped.
pub struct Slot {
    pool: Rc<Pool>,
}

impl Slot {
    /// The pool of the server.
    pub fn pool(&self) -> &Rc<Pool> {
        &self.pool
    }

    /// Removes an idle connection that accepts a request, if there is one; else gives the place
    /// back.
    pub fn pop(self, cx: &mut Context<'_>) -> Result<Pooled, Self> {
        let timeout = self.pool.bounds.get().idle_timeout;
        loop {
            let Some((mut connection, since)) = self.pool.idle.borrow_mut().pop_back() else {
                return Err(self);
            };
            let idle = clock::now().saturating_duration_since(since);
            if idle < timeout && connection.is_ready(cx) {
                return Ok(Pooled::new(connection, self));
            }
            self.pool.counters.upstream_open.sub(1);
        }
    }

    /// Opens a new connection.
    ///
    /// # Errors
    /// It could not be opened.
    pub async fn connect(self) -> Result<Pooled, ConnectError> {
        let connection = self.pool.connector.connect().await?;
        self.pool.counters.upstream_connects.add(1);
        self.pool.counters.upstream_open.add(1);
        Ok(Pooled::new(Box::new(connection), self))
    }

    /// A second one at the same server, in place of this one, which is dropped soon.
    fn again(&self) -> Self {
        self.pool.counts().in_use.add(1);
        Self { pool: self.pool.clone() }
    }
}

impl Drop for Slot {
    fn drop(&mut self) {
        self.pool.counts().in_use.sub(1);
        self.pool.queue.wake_first();
    }
}

/// A connection in use. Dropped, it is closed; see [`Pooled::release`].
pub struct Pooled {
    connection: Option<Box<UpstreamConnection>>,
    slot: Slot,
    reusable: bool,
}

impl Pooled {
    fn new(connection: Box<UpstreamConnection>, slot: Slot) -> Self {
        Self { connection: Some(connection), slot, reusable: true }
    }

    /// Closes it after the response under way, instead of returning it to the pool.
    pub fn close_after_response(&mut self) {
        self.reusable = false;
    }

    /// The connection.
    pub fn get(&mut self) -> &mut UpstreamConnection {
        self.connection.as_mut().expect("present until released")
    }

    /// What this core counts of the server.
    pub fn counts(&self) -> &MemberCounts {
        self.slot.pool.counts()
    }

    /// Closes it, and takes its place for another one to the same server.
    pub fn into_slot(mut self) -> Slot {
        self.close();
        self.slot.again()
    }

    /// Takes the connection out of the pool for good: it is no longer of HTTP. It keeps its place
    /// at the server.
    pub fn detach(mut self) -> (UpstreamSocket, Bytes, Detached) {
        let connection = self.connection.take().expect("present until released");
        let (socket, read) = connection.into_socket();
        (socket, read, Detached { slot: self.slot.again() })
    }

    /// Returns it to the pool: the response was read to its end.
    pub fn release(mut self) {
        if !self.reusable {
            return;
        }
        let Some(connection) = self.connection.take() else { return };
        let pool = &self.slot.pool;
        let mut idle = pool.idle.borrow_mut();
        if !connection.is_reusable() || idle.len() >= pool.bounds.get().idle {
            pool.counters.upstream_open.sub(1);
        } else {
            idle.push_back((connection, clock::now()));
        }
    }

    fn close(&mut self) {
        if self.connection.take().is_some() {
            self.slot.pool.counters.upstream_open.sub(1);
        }
    }
}

impl Drop for Pooled {
    fn drop(&mut self) {
        self.close();
    }
}

/// A connection that is open, and of HTTP no more.
pub struct Detached {
    slot: Slot,
}

impl Drop for Detached {
    fn drop(&mut self) {
        self.slot.pool.counters.upstream_open.sub(1);
    }
}
