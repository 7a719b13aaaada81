//! What the requests of each route are and cost: a set of counters per route and core.

use crate::config::Config;
use crate::telemetry::counters::Count;
use arc_swap::ArcSwap;
use serde::Serialize;
use std::sync::Arc;
use std::time::Duration;
use tidegate_control::{Priority, RouteWork};

/// Name of the requests that no route decides on: that of their table.
const REST: &str = "upstream";

/// Counts of one route on one core.
#[derive(Debug, Default)]
#[repr(align(128))]
pub struct RouteCounts {
    /// Requests over, answered or given up.
    requests: Count,
    /// Nanoseconds from their heads to the ends of their responses.
    duration_ns: Count,
    /// Responses of which an upstream sent the head.
    upstream_responses: Count,
    /// Nanoseconds from request sent to response head, over those.
    upstream_ns: Count,
    /// Requests for an upstream, where routes have priorities; those refused included.
    pub asked: Count,
    /// Of these, those refused by their priority.
    pub refused: Count,
    /// Processor nanoseconds of the gate.
    pub cpu_ns: Count,
}

impl RouteCounts {
    /// Counts a request that is over.
    pub fn request(&self, took: Duration) {
        self.requests.add(1);
        self.duration_ns.add(took.as_nanos() as u64);
    }

    /// Counts a response head from an upstream.
    pub fn upstream_response(&self, took: Duration) {
        self.upstream_responses.add(1);
        self.upstream_ns.add(took.as_nanos() as u64);
    }
}

/// The counts of a route on all cores, at one moment.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct RouteTotals {
    /// The host and path of the route; `upstream` for the requests that no route decides on.
    pub route: String,
    /// Requests over.
    pub requests: u64,
    /// Seconds from their heads to the ends of their responses, over all.
    pub duration_s: f64,
    /// Responses of which an upstream sent the head.
    pub upstream_responses: u64,
    /// Requests for an upstream, where routes have priorities; those refused included.
    pub asked: u64,
    /// Of these, those refused by their priority.
    pub refused: u64,
    /// Seconds from request sent to response head, over those.
    pub upstream_s: f64,
    /// CPU seconds of the gate.
    pub cpu_s: f64,
}

/// The counts of all routes. There are none while no route is configured: the counters of the
/// cores say the same then.
#[derive(Debug)]
pub struct RouteTable {
    known: ArcSwap<Vec<Known>>,
    cores: usize,
}

#[derive(Clone, Debug)]
struct Known {
    name: Arc<str>,
    priority: Priority,
    cores: Arc<[Arc<RouteCounts>]>,
}

impl RouteTable {
    /// Those of a configuration, for so many cores.
    pub fn new(config: &Config, cores: usize) -> Self {
        let new = Self { known: ArcSwap::default(), cores };
        new.renew(config);
        new
    }

    /// Those of another configuration. A route of the same host and path goes on counting.
    pub fn renew(&self, config: &Config) {
        let former = self.known.load();
        let known = |(name, priority): (String, Priority)| {
            let same = former.iter().find(|known| *known.name == *name);
            let cores = || (0..self.cores).map(|_| Arc::default()).collect();
            let cores = same.map_or_else(cores, |same| same.cores.clone());
            Known { name: name.into(), priority, cores }
        };
        let names = config.routes.iter().map(|route| (route.name(), route.priority.into()));
        let rest = (!config.routes.is_empty()).then(|| (REST.to_owned(), Priority::Normal));
        self.known.store(Arc::new(names.chain(rest).map(known).collect()));
    }

    /// The counts of a core for the route of this name, or for the requests of none.
    pub fn of(&self, name: Option<&str>, core: usize) -> Option<Arc<RouteCounts>> {
        let known = self.known.load();
        let found = known.iter().find(|known| *known.name == *name.unwrap_or(REST));
        found.map(|known| known.cores[core].clone())
    }

    /// The priorities, in the order of the configuration; of the requests of none last.
    pub fn priorities(&self) -> Vec<Priority> {
        self.known.load().iter().map(|known| known.priority).collect()
    }

    /// What the requests were since the totals `before`, which are replaced, in the order of
    /// [`priorities`](Self::priorities).
    pub fn work_since(&self, before: &mut Vec<RouteTotals>) -> Vec<RouteWork> {
        let now = self.totals();
        let work = |now: &RouteTotals| {
            let known = before.iter().find(|before| before.route == now.route);
            // A route that was taken out and came back counts from 0.
            let since = |of: fn(&RouteTotals) -> u64| of(now).saturating_sub(known.map_or(0, of));
            RouteWork {
                requests: since(|it| it.asked),
                refused: since(|it| it.refused),
                responses: since(|it| it.upstream_responses),
            }
        };
        let work = now.iter().map(work).collect();
        *before = now;
        work
    }

    /// The sums over the cores, in the order of the configuration.
    pub fn totals(&self) -> Vec<RouteTotals> {
        let total = |Known { name, cores, .. }: &Known| {
            let sum = |of: fn(&RouteCounts) -> &Count| -> u64 {
                cores.iter().map(|core| of(core).get()).sum()
            };
            let seconds = |of| sum(of) as f64 / 1e9;
            RouteTotals {
                route: name.to_string(),
                requests: sum(|core| &core.requests),
                duration_s: seconds(|core| &core.duration_ns),
                upstream_responses: sum(|core| &core.upstream_responses),
                asked: sum(|core| &core.asked),
                refused: sum(|core| &core.refused),
                upstream_s: seconds(|core| &core.upstream_ns),
                cpu_s: seconds(|core| &core.cpu_ns),
            }
        };
        self.known.load().iter().map(total).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(paths: &[&str]) -> Config {
        let mut text = "[upstream]\nurl = \"http://127.0.0.1:9\"\n".to_owned();
        for path in paths {
            text += &format!("[[routes]]\npath = \"{path}\"\nurl = \"http://127.0.0.1:8\"\n");
        }
        Config::from_toml(&text, "t").unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    #[test]
    fn a_route_that_stays_goes_on_counting_across_a_reload() {
        let table = RouteTable::new(&config(&["/a/", "/b/"]), 2);
        let second = Duration::from_secs(1);
        for core in 0..2 {
            table.of(Some("/b"), core).unwrap().request(second);
            table.of(None, core).unwrap().upstream_response(second);
        }
        table.renew(&config(&["/b/"]));
        let totals = table.totals();
        assert_eq!(totals.len(), 2);
        assert_eq!((&*totals[0].route, totals[0].requests, totals[0].duration_s), ("/b", 2, 2.0));
        assert_eq!((&*totals[1].route, totals[1].upstream_responses), ("upstream", 2));
        assert!(table.of(Some("/a"), 0).is_none(), "nobody asks for it any more");
    }

    #[test]
    fn work_is_told_since_the_last_time_and_a_route_that_comes_back_begins_anew() {
        let table = RouteTable::new(&config(&["/a/"]), 1);
        let mut before = table.totals();
        let ask = |table: &RouteTable, times| table.of(Some("/a"), 0).unwrap().asked.add(times);
        ask(&table, 5);
        assert_eq!(table.work_since(&mut before)[0].requests, 5);
        ask(&table, 2);
        assert_eq!(table.work_since(&mut before)[0].requests, 2);
        table.renew(&config(&[]));
        table.renew(&config(&["/a/"]));
        ask(&table, 3);
        assert_eq!(table.work_since(&mut before)[0].requests, 0, "not less than none");
        ask(&table, 1);
        assert_eq!(table.work_since(&mut before)[0].requests, 1);
    }

    #[test]
    fn without_routes_nothing_is_counted_twice() {
        let table = RouteTable::new(&config(&[]), 1);
        assert!(table.of(None, 0).is_none() && table.totals().is_empty());
    }
}
