//! What the connections of one core share: counters, limits, the stage of shutdown.

use crate::access_log::Sink;
use crate::config::{Config, Limits, Refusal};
use crate::open_files::connections_within;
use crate::places::{Places, PrefixLengths};
use crate::shared::Shared;
use crate::shutdown::Shutdown;
use crate::telemetry::counters::{Count, Counters};
use crate::telemetry::labels::{Class, End};
use std::net::SocketAddr;
use std::rc::Rc;
use std::sync::Arc;
use std::time::Duration;

/// The context of one core.
pub struct CoreContext {
    /// The state shared with the other cores.
    pub shared: Arc<Shared>,
    /// The number of this core in it.
    pub core: usize,
    /// The configuration that connections of this context began with.
    pub config: Arc<Config>,
    /// This core's counters.
    pub counters: Arc<Counters>,
    /// Where this core logs to, if it does.
    pub access_log: Option<Rc<Sink>>,
    /// The stage of the gate's closing.
    pub shutdown: Rc<Shutdown>,
    /// The places for open connections: this core's share of the limit.
    pub places: Rc<Places>,
}

impl CoreContext {
    /// The context of the core of this index in `shared`.
    pub fn new(shared: Arc<Shared>, index: usize) -> Rc<Self> {
        let (counters, config) = (shared.cores[index].clone(), shared.config());
        let (most, lengths) = places_of(&shared, &config.limits);
        let places = Places::new(most, lengths, counters.clone());
        let shutdown = Rc::default();
        let access_log = Sink::new(&shared.access_log, index, &counters, &config.access_log);
        Rc::new(Self { shared, core: index, config, counters, access_log, shutdown, places })
    }

    /// The context for connections that begin from now on, with another configuration.
    /// Counters, places and shutdown stay the same; the limits on places hold at once.
    pub fn renewed(&self, config: Arc<Config>) -> Rc<Self> {
        let (most, lengths) = places_of(&self.shared, &config.limits);
        self.places.set_limits(most, lengths);
        Rc::new(Self {
            access_log: Sink::new(
                &self.shared.access_log,
                self.core,
                &self.counters,
                &config.access_log,
            ),
            shared: self.shared.clone(),
            core: self.core,
            config,
            counters: self.counters.clone(),
            shutdown: self.shutdown.clone(),
            places: self.places.clone(),
        })
    }

    /// Whether new sessions that are not admitted wait in the room. A connection that began without
    /// one is served by what knows none.
    pub fn has_room(&self) -> bool {
        self.config.admission.refuse == Refusal::Page
    }

    /// This core's share of a limit for the whole gate.
    pub fn share_of(&self, limit: usize) -> usize {
        share(&self.shared, limit)
    }

    /// This core's part of a limit for the whole gate, so that the parts add up to it: at least 1.
    pub fn part_of(&self, limit: usize) -> usize {
        part(limit, self.shared.cores.len(), self.core)
    }

    /// Logs a connection that is not admitted, after it waited in the queue if it did.
    pub fn log_refusal(&self, peer: SocketAddr, class: Class, end: End, waited: Option<Duration>) {
        if let Some(log) = &self.access_log {
            log.refused(peer.ip(), class, end, waited);
        }
    }

    /// Adds one to a gauge of the core until the guard is dropped.
    pub fn count(self: &Rc<Self>, gauge: fn(&Counters) -> &Count) -> Counted {
        gauge(&self.counters).add(1);
        Counted { context: self.clone(), gauge }
    }
}

/// This core's share of the places, and the prefixes that share them.
fn places_of(shared: &Shared, limits: &Limits) -> (usize, PrefixLengths) {
    let lengths = PrefixLengths { ipv4: limits.prefix_ipv4, ipv6: limits.prefix_ipv6 };
    let files = tidegate_host::open_files::limit();
    let most = limits.max_connections.min(connections_within(files, shared.cores.len()));
    (share(shared, most), lengths)
}

fn share(shared: &Shared, limit: usize) -> usize {
    limit.div_ceil(shared.cores.len())
}

fn part(limit: usize, cores: usize, core: usize) -> usize {
    (limit / cores + usize::from(core < limit % cores)).max(1)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_of_a_limit_add_up_to_it_and_none_is_without() {
        let parts =
            |limit, cores| (0..cores).map(|core| part(limit, cores, core)).collect::<Vec<_>>();
        assert_eq!(parts(10, 4), [3, 3, 2, 2]);
        assert_eq!(parts(8, 4), [2; 4]);
        assert_eq!(parts(2, 4), [1; 4], "a core without a place would serve nobody");
    }
}
