//! Routes by host and path: the tables `[[routes]]`.

use super::Processes;
use super::fields::Upstream;
use super::load_from::{LoadFrom, LoadSources};
use super::origin::Urls;
use super::pools::NamedPool;
use super::rules::{CookieName, FieldText, GroupPath, MediaTypes, PathBeginning, ProcessList};
use super::upstream_rules::{HostName, PoolName};
use super::{Priority, RouteRules, WebSocket, route_rules};
use crate::host::HostPattern;
use crate::path::PathPrefix;
use http::HeaderValue;
use std::path::PathBuf;
use tidegate_config::Preset::{Else, Is, Required, Unset};
use tidegate_config::{
    Choice, FilePath, Keys, List, Problem, Section, Subtable, Table, Time, did_you_mean, keys,
};

/// The name of the tables.
pub const ROUTES: &str = "routes";

/// Most routes: each request is compared with all.
const MOST: usize = 100;

/// Where the requests of some paths go.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its place among the tables of the file, from 0.
    pub index: usize,
    /// The hosts that it is for; all if there is none.
    pub host: Option<HostPattern>,
    /// How these paths begin.
    pub path: PathPrefix,
    /// Where they go.
    pub to: Destination,
    /// What holds for them at an upstream.
    pub rules: RouteRules,
    /// How important their requests are.
    pub priority: Priority,
}

impl Route {
    /// Its host, if it has one, and its path: what names it in metrics.
    pub fn name(&self) -> String {
        let host = self.host.as_ref().map(ToString::to_string);
        format!("{}{}", host.unwrap_or_default(), self.path)
    }
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// To a static tier: files, and the upstream for what is not among them.
    Directory(Directory),
    /// To another upstream, by its URL.
    Upstream(Box<Upstream>),
    /// To the pool of this name.
    Pool(String),
    /// Where they would go without it.
    Onward,
}

/// A directory of files that the gate serves.
#[derive(Clone, Debug, PartialEq)]
pub struct Directory {
    /// The directory.
    pub path: PathBuf,
    /// The cookie whose value chooses among variants.
    pub variant_cookie: Option<String>,
    /// `Cache-Control` of its files.
    pub cache_control: HeaderValue,
}

keys! {
    /// Where the requests of some hosts and paths go, in a table `[[routes]]` of its own: to a
    /// directory of files, or to another upstream. Each table has one of `directory`, `pool` and
    /// `url`; with a `priority` none is needed, and requests go where they would go without the
    /// route. Routes with the request's host go before those of any host; of these the longest
    /// `path` that the request's path begins with decides. What a directory does not have goes on
    /// to the next one with a `pool` or `url`, or else to `[upstream]`. [static.md](static.md)
    /// describes what is served from a directory, and how paths are read; [pools.md](pools.md)
    /// describes pools, and [priorities.md](priorities.md) priorities.
    pub(super) static ROUTE: RouteKeys {
        /// The host that it is for, without a port: `shop.example.com`, or `*.example.com` for all
        /// names below `example.com`. Without it the route is for any host.
        host: HostName = Unset;
        /// How the paths begin, by whole segments and decoded: `/products/` is for `/products`,
        /// `/products/` and `/products/1`, not for `/products2`. Beside `host` it may be left out
        /// and is `/`.
        path: PathBeginning = Required("/products/");
        /// Directory of files. A GET or HEAD without query and body for the path P is answered
        /// with the first of the files `P`, `P.html` and `P/index.html` below it.
        directory: FilePath = Unset;
        /// Cookie that chooses a variant: with `zone`, a customer whose cookie `zone` is 2 gets
        /// the files below `@zone=2/` in the directory before those of the directory itself.
        variant_cookie: CookieName = Unset;
        /// `Cache-Control` of the files. `no-cache` lets browsers keep them and ask each time
        /// whether they have changed.
        cache_control: FieldText = Is("no-cache");
        /// Name of a table of `[[pools]]`.
        pool: PoolName = Unset;
        /// Another upstream, as `upstream.url`. Its other keys are those of `[upstream]`.
        url: Urls = Unset;
        /// As `upstream.processes`, for this upstream; `auto` if not set.
        processes: ProcessList = Unset;
        /// As `upstream.cgroup`, for this upstream.
        cgroup: GroupPath = Unset;
        /// Which requests are answered with 503 when the service cannot carry all of them: `low`
        /// ones first, and `normal` ones in favour of `high` ones. `high` is for what must not be
        /// lost, as a checkout, `low` for what nobody waits for, as a prefetch or a crawler. A
        /// request has the priority of the route that decides on it.
        priority: Choice<Priority>(Priority::ALL) = Else("`normal`");
        /// As `upstream.response_timeout`, for these paths: for long polls, reports and exports.
        response_timeout: Time("10ms", "1h") = Else("`upstream.response_timeout`");
        /// As `upstream.response_pause`, for these paths.
        response_pause: Time("10ms", "7d") = Else("`upstream.response_pause`");
        /// As `upstream.exchange_timeout`, for these paths.
        exchange_timeout: Time("100ms", "7d") = Else("`upstream.exchange_timeout`");
        /// As `limits.stream_types`, for these paths.
        stream_types: MediaTypes = Else("`limits.stream_types`");
        /// As `limits.stream_deadline`, for these paths.
        stream_deadline: Time("100ms", "7d") = Else("`limits.stream_deadline`");
        /// As `upstream.websocket`, for these paths.
        websocket: Choice<WebSocket>(WebSocket::ALL) = Else("`upstream.websocket`");
        /// As `limits.tunnel_idle`, for these paths.
        tunnel_idle: Time("100ms", "7d") = Else("`limits.tunnel_idle`");
        /// As `upstream.load_from`, for this upstream; `host` if not set. Not `orca`.
        load_from: LoadSources = Unset;
    }
}

/// The keys of a route, for the reference page.
pub fn table() -> Table {
    Table { name: "[routes]", ..ROUTE.table() }
}

/// Reads the routes; those to an upstream take what they do not say from `base`.
pub fn read(root: &Section<'_>, base: &Upstream, pools: &[NamedPool]) -> Vec<Route> {
    let Some(value) = root.get(ROUTES) else { return Vec::new() };
    let tables = if value.is_list() { value.read(&List(Subtable)) } else { None };
    let Some(tables) = tables else {
        value.wrong("must be tables [[routes]]", "write [[routes]] and its keys below");
        return Vec::new();
    };
    if tables.len() > MOST {
        value.wrong(format!("must be at most {MOST} tables"), "serve several paths by one");
        return Vec::new();
    }
    let mut routes: Vec<Route> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let Some((host, path, to)) = read_route(table, base, pools) else { continue };
        if routes.iter().any(|other| other.path == path && other.host == host) {
            let (key, rule) = match host {
                Some(_) => (ROUTE.host.name, "has this path in another route"),
                None => (ROUTE.path.name, "is the path of another route"),
            };
            table.wrong_key(key, Problem::new(rule, "leave one of them out"));
        }
        let rules = route_rules::read(table);
        let priority = table.optional(&ROUTE.priority).flatten().unwrap_or(Priority::Normal);
        routes.push(Route { index, host, path, to, rules, priority });
    }
    one_upstream_for_each_url(&mut routes, base, &tables);
    routes
}

fn read_route(
    table: &Section<'_>,
    base: &Upstream,
    pools: &[NamedPool],
) -> Option<(Option<HostPattern>, PathPrefix, Destination)> {
    table.known(&ROUTE);
    let host = table.optional(&ROUTE.host);
    let path = match (table.get(ROUTE.host.name), table.get(ROUTE.path.name)) {
        (Some(_), None) => PathPrefix::new("/"),
        _ => table.read(&ROUTE.path),
    };
    let given = |key: &str| table.get(key).is_some();
    let of_files = [ROUTE.variant_cookie.name, ROUTE.cache_control.name];
    let of_upstreams = [ROUTE.processes.name, ROUTE.cgroup.name, ROUTE.load_from.name];
    let ways = [ROUTE.directory.name, ROUTE.pool.name, ROUTE.url.name];
    let mut ways = ways.into_iter().filter(|key| given(key));
    let Some(way) = ways.next() else {
        if given(ROUTE.priority.name) {
            return goes_on(table, host, path);
        }
        table.wrong(
            "leads nowhere",
            "add directory = \"/var/www/shop\" or url = \"http://127.0.0.1:8081\"",
        );
        return None;
    };
    if let Some(second) = ways.next() {
        let rule = format!("cannot be set beside {way}");
        table.wrong_key(second, Problem::new(rule, "make two routes of it"));
        return None;
    }
    let of_exchanges =
        if way == ROUTE.directory.name { route_rules::names().to_vec() } else { Vec::new() };
    for key in of_exchanges.into_iter().filter(|key| given(key)) {
        let rule = format!("has no effect without {} or {}", ROUTE.url.name, ROUTE.pool.name);
        table.wrong_key(key, Problem::new(rule, "leave it out"));
    }
    for (keys, needs) in
        [(&of_files[..], ROUTE.directory.name), (&of_upstreams[..], ROUTE.url.name)]
    {
        for key in keys.iter().copied().filter(|key| needs != way && given(key)) {
            let rule = format!("has no effect without {needs}");
            table.wrong_key(key, Problem::new(rule, "leave it out"));
        }
    }
    let to = match way {
        way if way == ROUTE.directory.name => Destination::Directory(Directory {
            path: table.given(&ROUTE.directory)?,
            variant_cookie: table.optional(&ROUTE.variant_cookie)?,
            cache_control: table.read(&ROUTE.cache_control)?,
        }),
        way if way == ROUTE.pool.name => {
            let name = table.given(&ROUTE.pool)?;
            if !pools.iter().any(|pool| pool.name == name) {
                let names: Vec<_> = pools.iter().map(|pool| pool.name.as_str()).collect();
                let remedy = did_you_mean(&name, &names)
                    .unwrap_or_else(|| "add a table [[pools]] with this name".into());
                table.wrong_key(way, Problem::new("is the name of no pool", remedy));
            }
            Destination::Pool(name)
        }
        _ => {
            let url = table.given(&ROUTE.url)?;
            let processes = table.optional(&ROUTE.processes)?.unwrap_or(Processes::Auto);
            let cgroup = table.optional(&ROUTE.cgroup)?;
            let load_from = table.optional(&ROUTE.load_from)?.unwrap_or(LoadFrom::Host);
            if load_from == LoadFrom::Orca {
                let remedy = "use an agent, or make it the service of [upstream]";
                let problem = Problem::new("cannot be \"orca\" for a route", remedy);
                table.wrong_key(ROUTE.load_from.name, problem);
                return None;
            }
            let base = base.clone();
            Destination::Upstream(Box::new(Upstream { url, processes, cgroup, load_from, ..base }))
        }
    };
    if let Destination::Directory(directory) = &to
        && !directory.path.is_dir()
    {
        let rule = if directory.path.exists() { "is not a directory" } else { "is not there" };
        let remedy = "name a directory of files; for a server, set url instead";
        table.wrong_key(ROUTE.directory.name, Problem::new(rule, remedy));
    }
    Some((host?, path?, to))
}

/// A route that changes the priority alone.
fn goes_on(
    table: &Section<'_>,
    host: Option<Option<HostPattern>>,
    path: Option<PathPrefix>,
) -> Option<(Option<HostPattern>, PathPrefix, Destination)> {
    let of_destinations = route_rules::names().into_iter().chain([
        ROUTE.variant_cookie.name,
        ROUTE.cache_control.name,
        ROUTE.processes.name,
        ROUTE.cgroup.name,
        ROUTE.load_from.name,
    ]);
    for key in of_destinations.filter(|key| table.get(key).is_some()) {
        let problem = Problem::new("has no effect in a route that leads nowhere", "leave it out");
        table.wrong_key(key, problem);
    }
    Some((host?, path?, Destination::Onward))
}

/// Two routes to one URL lead to one upstream: what the first of them says of its processes
/// holds for all, and for the URL of `[upstream]` what is said there.
fn one_upstream_for_each_url(routes: &mut [Route], base: &Upstream, tables: &[Section<'_>]) {
    let mut known = vec![base.clone()];
    for route in routes {
        let Destination::Upstream(upstream) = &mut route.to else { continue };
        match known.iter().find(|known| known.url == upstream.url) {
            None => known.push((**upstream).clone()),
            Some(first) => {
                let table = &tables[route.index];
                let again = [ROUTE.processes.name, ROUTE.cgroup.name, ROUTE.load_from.name];
                for key in again.into_iter().filter(|key| table.get(key).is_some()) {
                    let rule = "is said where this url occurs first";
                    table.wrong_key(key, Problem::new(rule, "leave it out here"));
                }
                **upstream = first.clone();
            }
        }
    }
}
