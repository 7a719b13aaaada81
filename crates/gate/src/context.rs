//! What the connections of one core share: counters, limits, the phase of shutdown.

use crate::places::{Places, PrefixLengths};
use crate::shared::Shared;
use crate::shutdown::Shutdown;
use crate::telemetry::counters::{Count, Counters};
use std::rc::Rc;
use std::sync::Arc;

/// The context of one core.
pub struct CoreContext {
    /// The state shared with the other cores.
    pub shared: Arc<Shared>,
    /// This core's counters.
    pub counters: Arc<Counters>,
    /// The phase of the gate's closing.
    pub shutdown: Rc<Shutdown>,
    /// The places for open connections: this core's share of the limit.
    pub places: Rc<Places>,
}

impl CoreContext {
    /// The context of the core of this index in `shared`.
    pub fn new(shared: Arc<Shared>, index: usize) -> Rc<Self> {
        let counters = shared.cores[index].clone();
        let limits = &shared.config.limits;
        let most = share(&shared, limits.max_connections);
        let lengths = PrefixLengths { ipv4: limits.prefix_ipv4, ipv6: limits.prefix_ipv6 };
        let places = Places::new(most, lengths, counters.clone());
        Rc::new(Self { counters, shutdown: Rc::default(), places, shared })
    }

    /// This core's share of a limit for the whole gate.
    pub fn share_of(&self, limit: usize) -> usize {
        share(&self.shared, limit)
    }

    /// Adds one to a gauge of the core until the guard is dropped.
    pub fn count(self: &Rc<Self>, gauge: fn(&Counters) -> &Count) -> Counted {
        gauge(&self.counters).add(1);
        Counted { context: self.clone(), gauge }
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
