//! A core's unused connections to the upstream: last in, first out, so that
//! the fewest are kept busy and the rest grow old and go.

use crate::http::upstream::{Lane, Route};
use crate::telemetry::clock;
use crate::telemetry::counters::{Counters, UpstreamFault};
use std::cell::RefCell;
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Waker};
use std::time::{Duration, Instant};

/// The pool of one core.
pub struct Pool {
    route: Route,
    idle: RefCell<VecDeque<(Box<Lane>, Instant)>>,
    size: usize,
    idle_timeout: Duration,
    counters: Arc<Counters>,
}

impl Pool {
    /// An empty pool of at most `size` unused connections.
    pub fn new(
        route: Route,
        size: usize,
        idle_timeout: Duration,
        counters: Arc<Counters>,
    ) -> Rc<Self> {
        Rc::new(Self { route, idle: RefCell::default(), size, idle_timeout, counters })
    }

    /// A connection that was used before and is still good, if there is one.
    pub fn take(self: &Rc<Self>, cx: &mut Context<'_>) -> Option<Borrowed> {
        loop {
            let (mut lane, since) = self.idle.borrow_mut().pop_back()?;
            let idle = clock::now().saturating_duration_since(since);
            if idle < self.idle_timeout && lane.is_ready(cx) {
                return Some(Borrowed { lane: Some(lane), pool: self.clone() });
            }
            self.counters.upstream_open[0].sub(1);
        }
    }

    /// A new connection.
    ///
    /// # Errors
    /// It could not be opened.
    pub async fn connect(self: &Rc<Self>) -> io::Result<Borrowed> {
        match self.route.connect().await {
            Ok(lane) => {
                self.counters.upstream_connects[0].add(1);
                self.counters.upstream_open[0].add(1);
                Ok(Borrowed { lane: Some(Box::new(lane)), pool: self.clone() })
            }
            Err(error) => {
                self.counters.upstream_faults[UpstreamFault::Connect as usize].add(1);
                Err(error)
            }
        }
    }

    /// Drops connections that ended or grew old; call it about once a second.
    pub fn sweep(&self) {
        let cx = &mut Context::from_waker(Waker::noop());
        let now = clock::look();
        let timeout = self.idle_timeout;
        let mut idle = self.idle.borrow_mut();
        let before = idle.len();
        idle.retain_mut(|(lane, since)| {
            now.saturating_duration_since(*since) < timeout && lane.is_ready(cx)
        });
        self.counters.upstream_open[0].sub((before - idle.len()) as u64);
    }
}

/// A connection in use. Dropped, it is closed; see [`Borrowed::give_back`].
pub struct Borrowed {
    lane: Option<Box<Lane>>,
    pool: Rc<Pool>,
}

impl Borrowed {
    /// The connection.
    pub fn lane(&mut self) -> &mut Lane {
        self.lane.as_mut().expect("present until given back")
    }

    /// Makes it available again: the response was read to its end.
    pub fn give_back(mut self) {
        let Some(lane) = self.lane.take() else { return };
        let mut idle = self.pool.idle.borrow_mut();
        if lane.ended() || idle.len() >= self.pool.size {
            self.pool.counters.upstream_open[0].sub(1);
        } else {
            idle.push_back((lane, clock::now()));
        }
    }
}

impl Drop for Borrowed {
    fn drop(&mut self) {
        if self.lane.is_some() {
            self.pool.counters.upstream_open[0].sub(1);
        }
    }
}
