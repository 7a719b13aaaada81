//! Routes by path: the tables `[[routes]]`.

use super::fields::Upstream;
use super::origin::{Origin, Url};
use super::rules::{CookieName, FieldText, GroupPath, PathBeginning, ProcessList};
use super::{Config, Processes};
use crate::path::PathPrefix;
use http::HeaderValue;
use std::path::PathBuf;
use tidegate_config::Preset::{Is, Required, Unset};
use tidegate_config::{FilePath, Keys, List, Problem, Section, Subtable, Table, keys};

/// The name of the tables.
pub const ROUTES: &str = "routes";

/// Most routes: each request is compared with all.
const MOST: usize = 100;

/// Where the requests of some paths go.
#[derive(Clone, Debug, PartialEq)]
pub struct Route {
    /// Its place among the tables of the file, from 0.
    pub index: usize,
    /// How these paths begin.
    pub path: PathPrefix,
    /// Where they go.
    pub to: Destination,
}

/// Where requests go.
#[derive(Clone, Debug, PartialEq)]
pub enum Destination {
    /// To a static tier: files, and the upstream for what is not among them.
    Directory(Directory),
    /// To another upstream.
    Upstream(Box<Upstream>),
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
    /// Where the requests of some paths go, in a table `[[routes]]` of its own: to a directory of
    /// files, or to another upstream. Each table has either `directory` or `url`. The longest
    /// `path` that a request's path begins with decides; what a directory does not have goes on
    /// to the longest one with a `url`, or else to `[upstream]`. [static.md](static.md) describes
    /// what is served from a directory, and how paths are read.
    static ROUTE: RouteKeys {
        /// How the paths begin, by whole segments and decoded: `/products/` is for `/products`,
        /// `/products/` and `/products/1`, not for `/products2`.
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
        /// Scheme, host and port of another upstream. Its other keys are those of `[upstream]`.
        url: Url = Unset;
        /// As `upstream.processes`, for this upstream; `auto` if not set.
        processes: ProcessList = Unset;
        /// As `upstream.cgroup`, for this upstream.
        cgroup: GroupPath = Unset;
    }
}

/// The keys of a route, for the reference page.
pub fn table() -> Table {
    Table { name: "[routes]", ..ROUTE.table() }
}

/// Reads the routes; those to an upstream take what they do not say from `base`.
pub fn read(root: &Section<'_>, base: &Upstream) -> Vec<Route> {
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
        let Some((path, to)) = read_route(table, base) else { continue };
        if routes.iter().any(|other| other.path == path) {
            let problem = Problem::new("is the path of another route", "leave one of them out");
            table.wrong_key(ROUTE.path.name, problem);
        }
        routes.push(Route { index, path, to });
    }
    one_upstream_for_each_url(&mut routes, base, &tables);
    routes
}

fn read_route(table: &Section<'_>, base: &Upstream) -> Option<(PathPrefix, Destination)> {
    table.known(&ROUTE);
    let path = table.read(&ROUTE.path);
    let given = |key: &str| table.get(key).is_some();
    let of_files = [ROUTE.variant_cookie.name, ROUTE.cache_control.name];
    let of_upstreams = [ROUTE.processes.name, ROUTE.cgroup.name];
    let (directory, url) = (given(ROUTE.directory.name), given(ROUTE.url.name));
    match (directory, url) {
        (true, true) => {
            let problem = Problem::new("cannot be set beside directory", "make two routes of it");
            table.wrong_key(ROUTE.url.name, problem);
            return None;
        }
        (false, false) => {
            table.wrong(
                "leads nowhere",
                "add directory = \"/var/www/shop\" or url = \"http://127.0.0.1:8081\"",
            );
            return None;
        }
        _ => {}
    }
    let (foreign, needs) = match directory {
        true => (of_upstreams, "url"),
        false => (of_files, "directory"),
    };
    for key in foreign.into_iter().filter(|key| given(key)) {
        let rule = format!("has no effect without {needs}");
        table.wrong_key(key, Problem::new(rule, "leave it out"));
    }
    let to = match directory {
        true => Destination::Directory(Directory {
            path: table.given(&ROUTE.directory)?,
            variant_cookie: table.optional(&ROUTE.variant_cookie)?,
            cache_control: table.read(&ROUTE.cache_control)?,
        }),
        false => {
            let url = table.given(&ROUTE.url)?;
            let processes = table.optional(&ROUTE.processes)?.unwrap_or(Processes::Auto);
            let cgroup = table.optional(&ROUTE.cgroup)?;
            Destination::Upstream(Box::new(Upstream { url, processes, cgroup, ..base.clone() }))
        }
    };
    if let Destination::Directory(directory) = &to
        && !directory.path.is_dir()
    {
        let rule = if directory.path.exists() { "is not a directory" } else { "is not there" };
        let remedy = "name a directory of files; for a server, set url instead";
        table.wrong_key(ROUTE.directory.name, Problem::new(rule, remedy));
    }
    Some((path?, to))
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
                let again = [ROUTE.processes.name, ROUTE.cgroup.name];
                for key in again.into_iter().filter(|key| table.get(key).is_some()) {
                    let rule = "is said where this url occurs first";
                    table.wrong_key(key, Problem::new(rule, "leave it out here"));
                }
                **upstream = first.clone();
            }
        }
    }
}

impl Config {
    /// The upstreams, each once: that of `[upstream]` first, then those of routes. Each has a URL
    /// of its own.
    pub fn upstreams(&self) -> Vec<&Upstream> {
        let mut upstreams = vec![&self.upstream];
        for route in &self.routes {
            if let Destination::Upstream(upstream) = &route.to
                && !upstreams.iter().any(|known| known.url == upstream.url)
            {
                upstreams.push(upstream);
            }
        }
        upstreams
    }

    /// The key that names an upstream.
    pub fn key_of(&self, url: &Origin) -> String {
        let mut named = self.routed_urls().filter(|(_, named)| *named == url);
        let routed = (self.upstream.url != *url).then(|| named.next()).flatten();
        routed.map_or_else(|| "upstream.url".to_owned(), |(key, _)| key)
    }

    /// The URLs of the upstreams that routes name, with the keys that name them.
    pub(super) fn routed_urls(&self) -> impl Iterator<Item = (String, &Origin)> {
        self.routes.iter().filter_map(|route| match &route.to {
            Destination::Upstream(upstream) => {
                Some((format!("{ROUTES}[{}].{}", route.index, ROUTE.url.name), &upstream.url))
            }
            Destination::Directory(_) => None,
        })
    }
}
