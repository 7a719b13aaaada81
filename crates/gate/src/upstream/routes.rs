//! Where requests go: to a static tier, and to upstreams.

use crate::config::{self, Config, Destination, RouteRules};
use crate::context::CoreContext;
use crate::host::{self, HostPattern};
use crate::path::{PathPrefix, for_routes};
use crate::static_tier::{Disk, FileCache, StaticTier};
use crate::telemetry::route_counts::RouteCounts;
use crate::upstream::balance::Upstream;
use crate::upstream::connector::Connector;
use crate::upstream::rules::ExchangeRules;
use http::header::HOST;
use http::request::Parts;
use std::cell::Cell;
use std::cmp::Ordering;
use std::rc::Rc;
use std::sync::Arc;
use tidegate_control::Priority;

/// The routes of one core.
pub struct Routes {
    /// In the order of [`Config::pools`].
    upstreams: Vec<Rc<Upstream>>,
    /// The nearest to a path first.
    routes: Vec<Route>,
    /// The counts of requests that no route decides on.
    rest: Option<Arc<RouteCounts>>,
    /// What holds for those that no route to an upstream decides on.
    rules: ExchangeRules,
    /// Whether the routes differ in their priorities.
    has_priorities: bool,
    /// Requests without a session so far.
    turns: Cell<u32>,
    cache: Rc<FileCache>,
    disk: Rc<Disk>,
}

struct Route {
    host: Option<HostPattern>,
    path: PathPrefix,
    /// Host and path as they are configured.
    name: Arc<str>,
    counts: Option<Arc<RouteCounts>>,
    priority: Priority,
    to: To,
}

enum To {
    Tier(StaticTier),
    /// Where requests would go without the route.
    Onward,
    /// By its place among the upstreams.
    Upstream(usize, ExchangeRules),
}

/// Where a request goes.
#[derive(Clone, Copy)]
pub struct Way<'r> {
    /// What is asked first, if anything.
    pub tier: Option<&'r StaticTier>,
    /// What is asked then.
    pub upstream: &'r Upstream,
    /// What holds for that.
    pub rules: &'r ExchangeRules,
    /// The name of the nearest route, if there is one.
    pub route: Option<&'r Arc<str>>,
    /// What its requests count to, where routes are configured.
    pub counts: Option<&'r Arc<RouteCounts>>,
    /// How important it is; none where all requests are alike.
    pub priority: Option<Priority>,
}

impl Routes {
    /// The configured routes, with empty pools. The connectors are those of
    /// [`Config::pools`].
    pub fn new(context: &CoreContext, connectors: &[Vec<Connector>]) -> Rc<Self> {
        let share = context.share_of(context.config.static_tier.cache_bytes);
        let (cache, disk) = (Rc::new(FileCache::new(share)), Rc::default());
        Rc::new(Self::with(context, connectors, cache, disk, &[]))
    }

    /// The routes of another configuration. Connections stay where they lead to the same server as
    /// before; the others are retired. Files stay where they have as much memory.
    pub fn renewed(
        &self,
        context: &CoreContext,
        connectors: &[Vec<Connector>],
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
        self.upstreams
            .iter()
            .filter(|former| !in_use(former))
            .for_each(|former| former.retire_but(&routes.upstreams));
        Rc::new(routes)
    }

    fn with(
        context: &CoreContext,
        connectors: &[Vec<Connector>],
        cache: Rc<FileCache>,
        disk: Rc<Disk>,
        kept: &[Rc<Upstream>],
    ) -> Self {
        let config = &context.config;
        let pools = config.pools();
        let upstreams = pools.iter().zip(connectors).map(|(pool, connectors)| {
            let health = context.shared.upstreams.of(pool);
            if let Some(same) = kept.iter().find(|former| former.is(pool, &health)) {
                return same.clone();
            }
            let former = kept.iter().find(|former| former.is_of(&health));
            let mut new = Upstream::new(context, pool, connectors, health);
            match former {
                Some(former) => new.take_over(former),
                None => new.refresh(),
            }
            Rc::new(new)
        });
        let upstreams = upstreams.collect();
        let to = |route: &config::Route| match &route.to {
            Destination::Directory(directory) => {
                let interval = config.static_tier.check_interval;
                To::Tier(StaticTier::new(directory, cache.clone(), disk.clone(), interval))
            }
            Destination::Onward => To::Onward,
            to => {
                let place = config.place_of(to).unwrap_or_default();
                let rules = ExchangeRules::of(config, pools[place].upstream, &route.rules);
                To::Upstream(place, rules)
            }
        };
        let route = |route: &config::Route| {
            let (host, path, name) = (route.host.clone(), route.path.clone(), route.name());
            let counts = context.shared.routes.of(Some(&name), context.core);
            let priority = route.priority.into();
            Route { host, path, name: name.into(), counts, priority, to: to(route) }
        };
        let mut routes: Vec<_> = config.routes.iter().map(route).collect();
        routes.sort_by(Route::nearer);
        let rest = context.shared.routes.of(None, context.core);
        let rules = ExchangeRules::of(config, &config.upstream, &RouteRules::default());
        let has_priorities = routes.iter().any(|route| route.priority != Priority::Normal);
        Self { upstreams, routes, rest, rules, has_priorities, turns: Cell::default(), cache, disk }
    }

    /// Where a request goes. The nearest route decides; what its directory does not have is for
    /// the nearest one that leads to an upstream, or for that of `[upstream]`.
    pub fn find(&self, request: &Parts) -> Way<'_> {
        let (upstream, rules) = (&self.upstreams[0], &self.rules);
        let mut way =
            Way { tier: None, upstream, rules, route: None, counts: None, priority: None };
        if self.routes.is_empty() {
            return way;
        }
        way.counts = self.rest.as_ref();
        way.priority = self.has_priorities.then_some(Priority::Normal);
        let path = for_routes(request.uri.path());
        // Only routes of hosts have these first.
        let host = self.routes[0].host.as_ref().and_then(|_| request.headers.get(HOST));
        let host = host.map_or(&[][..], |host| host::for_routes(host.as_bytes()));
        let fits = |route: &&Route| {
            route.host.as_ref().is_none_or(|pattern| pattern.matches(host))
                && route.path.begins(&path)
        };
        for route in self.routes.iter().filter(fits) {
            if way.route.is_none() {
                (way.route, way.counts) = (Some(&route.name), route.counts.as_ref());
                way.priority = self.has_priorities.then_some(route.priority);
            }
            match &route.to {
                To::Tier(tier) if way.tier.is_none() => way.tier = Some(tier),
                To::Tier(_) | To::Onward => {}
                To::Upstream(place, rules) => {
                    (way.upstream, way.rules) = (&self.upstreams[*place], rules);
                    break;
                }
            }
        }
        way
    }

    /// A number in place of a session's, for a request of none: evenly distributed from 0 to below
    /// 1, so that a share of such requests passes in turn.
    ///
    /// Source: Weyl 1916: the multiples of an irrational number are equidistributed modulo 1; the
    /// golden ratio spreads any number of them most evenly.
    pub fn turn(&self) -> f64 {
        let turn = self.turns.get();
        self.turns.set(turn.wrapping_add(1));
        (f64::from(turn) * 0.618_033_988_749_894_9).fract()
    }

    /// Takes over changes of servers, and frees all pools of stale connections; call it about once
    /// a second.
    pub fn sweep(&self) {
        self.upstreams.iter().for_each(|upstream| upstream.sweep());
    }
}

impl Route {
    /// The nearer of two routes first: one of a host before one of any, then the longer path.
    fn nearer(&self, other: &Self) -> Ordering {
        let hosts = match (&self.host, &other.host) {
            (Some(one), Some(other)) => one.nearer(other),
            (one, other) => other.is_some().cmp(&one.is_some()),
        };
        hosts.then(other.path.len().cmp(&self.path.len()))
    }
}
