//! Where requests go: to a static tier, and to upstreams. An upstream has members, each a server
//! with a pool of connections; there is one, since its configuration has one URL.

use crate::config::{self, Config, Destination};
use crate::context::CoreContext;
use crate::http::forwarding::Forwarding;
use crate::path::{PathPrefix, for_routes};
use crate::static_tier::{Disk, FileCache, StaticTier};
use crate::telemetry::route_counts::RouteCounts;
use crate::upstream::connector::Connector;
use crate::upstream::health::UpstreamHealth;
use crate::upstream::pool::Pool;
use http::request::Parts;
use std::cmp::Reverse;
use std::rc::Rc;
use std::sync::Arc;

/// The routes of one core.
pub struct Routes {
    /// That of `[upstream]` first.
    upstreams: Vec<Rc<Upstream>>,
    /// The nearest to a path first.
    routes: Vec<Route>,
    /// The counts of requests that no route decides on.
    rest: Option<Arc<RouteCounts>>,
    cache: Rc<FileCache>,
    disk: Rc<Disk>,
}

struct Route {
    path: PathPrefix,
    /// The path as it is configured.
    name: Arc<str>,
    counts: Option<Arc<RouteCounts>>,
    to: To,
}

enum To {
    Tier(StaticTier),
    /// By its place among the upstreams.
    Upstream(usize),
}

/// Where a request goes.
#[derive(Clone, Copy)]
pub struct Way<'r> {
    /// What is asked first, if anything.
    pub tier: Option<&'r StaticTier>,
    /// What is asked then.
    pub upstream: &'r Upstream,
    /// The path of the nearest route, if there is one.
    pub route: Option<&'r Arc<str>>,
    /// What its requests count to, where routes are configured.
    pub counts: Option<&'r Arc<RouteCounts>>,
}

impl Routes {
    /// The configured routes, with empty pools. The connectors are those of
    /// [`Config::upstreams`].
    pub fn new(context: &CoreContext, connectors: &[Connector]) -> Rc<Self> {
        let share = context.share_of(context.config.static_tier.cache_bytes);
        let (cache, disk) = (Rc::new(FileCache::new(share)), Rc::default());
        Rc::new(Self::with(context, connectors, cache, disk, &[]))
    }

    /// The routes of another configuration. Pools stay where they lead to the same upstream as
    /// before; the others are retired. Files stay where they have as much memory.
    pub fn renewed(
        &self,
        context: &CoreContext,
        connectors: &[Connector],
        former: &Config,
    ) -> Rc<Self> {
        let share = context.share_of(context.config.static_tier.cache_bytes);
        let cache = match self.cache.most() == share {
            true => self.cache.clone(),
            false => Rc::new(FileCache::new(share)),
        };
        let kept = match context.config.keeps_connections_of(former) {
            true => &self.upstreams[..],
            false => &[],
        };
        let routes = Self::with(context, connectors, cache, self.disk.clone(), kept);
        let in_use =
            |former: &Rc<Upstream>| routes.upstreams.iter().any(|new| Rc::ptr_eq(new, former));
        self.upstreams.iter().filter(|former| !in_use(former)).for_each(|former| former.retire());
        Rc::new(routes)
    }

    fn with(
        context: &CoreContext,
        connectors: &[Connector],
        cache: Rc<FileCache>,
        disk: Rc<Disk>,
        kept: &[Rc<Upstream>],
    ) -> Self {
        let config = &context.config;
        let named = config.upstreams();
        let upstreams = named.iter().zip(connectors).map(|(upstream, connector)| {
            let health = context.shared.upstreams.of(&upstream.url);
            let same = |former: &&Rc<Upstream>| {
                former.config == **upstream && Arc::ptr_eq(&former.health, &health)
            };
            let former = kept.iter().find(same);
            let new =
                || Rc::new(Upstream::new(context, upstream, connector.clone(), health.clone()));
            former.cloned().unwrap_or_else(new)
        });
        let upstreams = upstreams.collect();
        let to = |destination: &Destination| match destination {
            Destination::Directory(directory) => {
                let interval = config.static_tier.check_interval;
                To::Tier(StaticTier::new(directory, cache.clone(), disk.clone(), interval))
            }
            Destination::Upstream(upstream) => {
                let place = named.iter().position(|named| named.url == upstream.url);
                To::Upstream(place.unwrap_or_default())
            }
        };
        let route = |route: &config::Route| {
            let (path, name) = (route.path.clone(), route.path.to_string());
            let counts = context.shared.routes.of(Some(&name), context.core);
            Route { path, name: name.into(), counts, to: to(&route.to) }
        };
        let mut routes: Vec<_> = config.routes.iter().map(route).collect();
        routes.sort_by_key(|route| Reverse(route.path.len()));
        let rest = context.shared.routes.of(None, context.core);
        Self { upstreams, routes, rest, cache, disk }
    }

    /// Where a request goes. The nearest route decides; what its directory does not have is for
    /// the nearest one that leads to an upstream, or for that of `[upstream]`.
    pub fn find(&self, request: &Parts) -> Way<'_> {
        let mut way = Way { tier: None, upstream: &self.upstreams[0], route: None, counts: None };
        if self.routes.is_empty() {
            return way;
        }
        way.counts = self.rest.as_ref();
        let path = for_routes(request.uri.path());
        for route in self.routes.iter().filter(|route| route.path.begins(&path)) {
            if way.route.is_none() {
                (way.route, way.counts) = (Some(&route.name), route.counts.as_ref());
            }
            match &route.to {
                To::Tier(tier) if way.tier.is_none() => way.tier = Some(tier),
                To::Tier(_) => {}
                To::Upstream(place) => {
                    way.upstream = &self.upstreams[*place];
                    break;
                }
            }
        }
        way
    }

    /// Frees all pools of stale connections; call it about once a second.
    pub fn sweep(&self) {
        self.upstreams.iter().for_each(|upstream| upstream.choose().sweep());
    }
}

/// A service behind the gate.
pub struct Upstream {
    config: config::Upstream,
    /// The pool of each server.
    members: [Rc<Pool>; 1],
    /// How its requests name the customer.
    pub forwarding: Forwarding,
    health: Arc<UpstreamHealth>,
    core: usize,
}

impl Upstream {
    fn new(
        context: &CoreContext,
        config: &config::Upstream,
        connector: Connector,
        health: Arc<UpstreamHealth>,
    ) -> Self {
        let (size, idle) = (config.pool_size, config.idle_timeout);
        Self {
            config: config.clone(),
            members: [Pool::new(connector, size, idle, context.counters.clone())],
            forwarding: Forwarding::of(config),
            health,
            core: context.core,
        }
    }

    /// The pool of the member for the next request.
    pub fn choose(&self) -> &Rc<Pool> {
        let [only] = &self.members;
        only
    }

    /// Its URL, if it is that of a route.
    pub fn name(&self) -> Option<&Arc<str>> {
        self.health.name.as_ref()
    }

    /// Counts a response.
    pub fn responded(&self) {
        self.health.responded(self.core);
    }

    /// Retires its pools: see [`Pool::retire`].
    fn retire(&self) {
        self.members.iter().for_each(|pool| pool.retire());
    }
}
