//! What the connections of one core share: counters, limits, the phase of shutdown.

use crate::config::Config;
use crate::shared::Shared;
use crate::shutdown::Shutdown;
use crate::telemetry::counters::{Count, Counters};
use std::rc::Rc;
use std::sync::Arc;

/// The context of one core.
pub struct CoreContext {
    /// The state shared with the other cores.
    pub shared: Arc<Shared>,
    /// The configuration that connections of this context began with.
    pub config: Arc<Config>,
    /// This core's counters.
    pub counters: Arc<Counters>,
    /// The phase of the gate's closing.
    pub shutdown: Rc<Shutdown>,
    /// Most open connections: this core's share of the limit.
    max_open: u64,
}

impl CoreContext {
    /// The context of the core of this index in `shared`.
    pub fn new(shared: Arc<Shared>, index: usize) -> Rc<Self> {
        let (counters, config) = (shared.cores[index].clone(), shared.config());
        Self::make(shared, config, counters, Rc::default())
    }

    /// The context for connections that begin from now on, with another configuration.
    /// Counters and shutdown stay the same.
    pub fn renewed(&self, config: Arc<Config>) -> Rc<Self> {
        Self::make(self.shared.clone(), config, self.counters.clone(), self.shutdown.clone())
    }

    fn make(
        shared: Arc<Shared>,
        config: Arc<Config>,
        counters: Arc<Counters>,
        shutdown: Rc<Shutdown>,
    ) -> Rc<Self> {
        let max_open = share(&shared, config.limits.max_connections) as u64;
        Rc::new(Self { shared, config, counters, shutdown, max_open })
    }

    /// This core's share of a limit for the whole gate.
    pub fn share_of(&self, limit: usize) -> usize {
        share(&self.shared, limit)
    }

    /// Whether no further connection may be open.
    pub fn is_full(&self) -> bool {
        self.counters.open.get() >= self.max_open
    }

    /// Whether the rest of the connection limit is reserved for active sessions.
    pub fn is_full_for_new_sessions(&self) -> bool {
        self.counters.open.get() >= self.max_open - self.max_open / 8
    }

    /// Whether no further connection of unknown class may be open. Connections with an
    /// incomplete first flight are what a flood consists of, and a returning customer
    /// whose hello came in two segments may be among them: so they may use half of the
    /// limit whatever else is open, and the last sixteenth of it is reserved for
    /// connections that show a ticket at once.
    pub fn is_full_for_first_flights(&self) -> bool {
        // One at least: the smallest gate serves hellos in two segments too.
        let half = (self.max_open / 2).max(1);
        self.counters.in_first_flight.get() >= half
            || self.counters.open.get() >= self.max_open - self.max_open / 16
    }

    /// Adds one to a gauge of the core until the guard is dropped.
    pub fn count(self: &Rc<Self>, gauge: fn(&Counters) -> &Count) -> Counted {
        gauge(&self.counters).add(1);
        Counted { context: self.clone(), gauge }
    }

    /// Counts an open connection.
    pub fn count_open(self: &Rc<Self>) -> Counted {
        self.count(|counters| &counters.open)
    }
}

fn share(shared: &Shared, limit: usize) -> usize {
    limit.div_ceil(shared.cores.len())
}

/// One in a gauge.
pub struct Counted {
    context: Rc<CoreContext>,
    gauge: fn(&Counters) -> &Count,
}

impl Drop for Counted {
    fn drop(&mut self) {
        (self.gauge)(&self.context.counters).sub(1);
    }
}
