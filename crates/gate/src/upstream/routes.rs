//! Where requests go: routes lead to upstreams, and an upstream has members, each a server
//! with a pool of connections. There is one of each: the configuration has one upstream
//! with one URL.

use crate::context::CoreContext;
use crate::http::forwarding::Forwarding;
use crate::upstream::connector::Connector;
use crate::upstream::pool::Pool;
use http::request::Parts;
use std::rc::Rc;

/// The upstreams of one core, and which requests go to each.
pub struct Routes {
    /// For all requests.
    only: Upstream,
}

impl Routes {
    /// The configured routes, with empty pools.
    pub fn new(context: &CoreContext, connector: Connector) -> Rc<Self> {
        Rc::new(Self { only: Upstream::new(context, connector) })
    }

    /// The upstream of a request.
    pub fn find(&self, _request: &Parts) -> &Upstream {
        &self.only
    }

    /// The pools of all members.
    fn pools(&self) -> impl Iterator<Item = &Rc<Pool>> {
        self.only.members.iter()
    }

    /// Retires all pools: see [`Pool::retire`].
    pub fn retire(&self) {
        self.pools().for_each(|pool| pool.retire());
    }

    /// Frees all pools of stale connections; call it about once a second.
    pub fn sweep(&self) {
        self.pools().for_each(|pool| pool.sweep());
    }
}

/// A service behind the gate.
pub struct Upstream {
    /// The pool of each server.
    members: [Rc<Pool>; 1],
    /// How its requests name the customer.
    pub forwarding: Forwarding,
}

impl Upstream {
    fn new(context: &CoreContext, connector: Connector) -> Self {
        let upstream = &context.config.upstream;
        let (size, idle) = (upstream.pool_size, upstream.idle_timeout);
        Self {
            members: [Pool::new(connector, size, idle, context.counters.clone())],
            forwarding: Forwarding::of(upstream),
        }
    }

    /// The pool of the member for the next request.
    pub fn choose(&self) -> &Rc<Pool> {
        let [only] = &self.members;
        only
    }
}
