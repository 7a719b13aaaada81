//! Upstreams with a name: the tables `[[pools]]`.

use super::fields::Upstream;
use super::origin::{Members, Origin, Urls};
use super::routes::{Destination, ROUTES};
use super::upstream_rules::PoolName;
use super::{Config, LoadFrom, Processes};
use tidegate_config::Preset::Required;
use tidegate_config::{Keys, List, Problem, Section, Settings, Subtable, Table, keys};

/// The name of the tables.
pub const POOLS: &str = "pools";

/// What that of `[upstream]` is called in metrics.
pub const MAIN: &str = "upstream";

/// Most pools.
const MOST: usize = 100;

/// An upstream with a name, for routes.
#[derive(Clone, Debug, PartialEq)]
pub struct NamedPool {
    /// Its place among the tables of the file, from 0.
    pub index: usize,
    /// Its name.
    pub name: String,
    /// Its servers, and what is set for them.
    pub upstream: Upstream,
}

keys! {
    /// Servers of one kind, in a table `[[pools]]` of its own, to which routes send requests by
    /// its name. Its other keys are those of `[upstream]` without `url` and `ca`; what it does not
    /// set is as it is there, but for `processes`, which is `auto`, `load_from`, which is `host`, and
    /// `cgroup`. See
    /// [pools](pools.md).
    static POOL: PoolKeys {
        /// Its name, for `pool` of routes, for metrics and for the log.
        name: PoolName = Required("checkout");
        /// The servers, each as `upstream.url`.
        members: Urls = Required("http://10.0.0.1:8080, http://10.0.0.2:8080");
    }
}

/// The keys of a pool, for the reference page.
pub fn table() -> Table {
    Table { name: "[pools]", ..POOL.table() }
}

/// Reads the pools; what they do not say is as in `base`.
pub fn read(root: &Section<'_>, base: &Upstream) -> Vec<NamedPool> {
    let Some(value) = root.get(POOLS) else { return Vec::new() };
    let tables = if value.is_list() { value.read(&List(Subtable)) } else { None };
    let Some(tables) = tables.filter(|tables| tables.len() <= MOST) else {
        let rule = format!("must be tables [[pools]], at most {MOST}");
        value.wrong(rule, "write [[pools]], and name and members below");
        return Vec::new();
    };
    // The processes of one upstream are not those of another.
    let (processes, load_from) = (Processes::Auto, LoadFrom::Host);
    let base = Upstream { processes, load_from, cgroup: None, ..base.clone() };
    let mut pools: Vec<NamedPool> = Vec::new();
    for (index, table) in tables.iter().enumerate() {
        let declared = Upstream::table().names();
        let others = declared.into_iter().filter(|name| !["url", "ca"].contains(name));
        table.only(&POOL.names().into_iter().chain(others).collect::<Vec<_>>());
        let (name, members) = (table.read(&POOL.name), table.read(&POOL.members));
        let upstream = Upstream::read_over(table, &base);
        let (Some(name), Some(url)) = (name, members) else { continue };
        if upstream.load_from == LoadFrom::Orca {
            let remedy = "use an agent, or make it the service of [upstream]";
            table.wrong_key("load_from", Problem::new("cannot be \"orca\" for a pool", remedy));
        }
        if pools.iter().any(|other| other.name == name) {
            let problem = Problem::new("is the name of another pool", "choose another");
            table.wrong_key(POOL.name.name, problem);
        }
        pools.push(NamedPool { index, name, upstream: Upstream { url, ..upstream } });
    }
    pools
}

/// An upstream of a configuration, and what it is called.
#[derive(Clone, Debug)]
pub struct Pool<'c> {
    /// Its name, or the URLs of a route; none of `[upstream]`.
    pub name: Option<String>,
    /// The key of its servers.
    pub key: String,
    /// What is set for it.
    pub upstream: &'c Upstream,
}

impl Pool<'_> {
    /// Whether it is that of a route's `url`.
    fn is_of(&self, url: &Members) -> bool {
        self.key.starts_with(ROUTES) && self.upstream.url == *url
    }
}

impl Upstream {
    /// Whether the connection to any of its servers is TLS.
    pub fn uses_tls(&self) -> bool {
        self.url.iter().any(|url| url.tls)
    }
}

impl Config {
    /// The upstreams, each once: that of `[upstream]` first, then those with names, then those of
    /// routes with a `url`.
    pub fn pools(&self) -> Vec<Pool<'_>> {
        let main = Pool { name: None, key: "upstream.url".into(), upstream: &self.upstream };
        let named = self.named_pools.iter().map(|pool| Pool {
            name: Some(pool.name.clone()),
            key: format!("{POOLS}[{}].{}", pool.index, POOL.members.name),
            upstream: &pool.upstream,
        });
        let mut pools: Vec<_> = std::iter::once(main).chain(named).collect();
        for route in &self.routes {
            if let Destination::Upstream(upstream) = &route.to
                && upstream.url != self.upstream.url
                && !pools.iter().any(|pool| pool.is_of(&upstream.url))
            {
                let name = Some(upstream.url.to_string());
                let key = format!("{ROUTES}[{}].url", route.index);
                pools.push(Pool { name, key, upstream });
            }
        }
        pools
    }

    /// The place among [`Config::pools`] of what a route leads to; none of a directory, and of a
    /// route that leads nowhere itself.
    pub fn place_of(&self, to: &Destination) -> Option<usize> {
        let pools = self.pools();
        match to {
            Destination::Directory(_) | Destination::Onward => None,
            Destination::Pool(name) => {
                pools.iter().position(|pool| pool.name.as_deref() == Some(name))
            }
            // The URL of `[upstream]` leads there.
            Destination::Upstream(upstream) => {
                pools.iter().position(|pool| pool.is_of(&upstream.url)).or(Some(0))
            }
        }
    }

    /// What is set for each of [`Config::pools`].
    pub fn upstreams(&self) -> Vec<&Upstream> {
        self.pools().into_iter().map(|pool| pool.upstream).collect()
    }

    /// All servers, each with the key that names it.
    pub fn servers(&self) -> impl Iterator<Item = (String, &Origin)> {
        let pools = self.pools().into_iter();
        pools.flat_map(|pool| pool.upstream.url.iter().map(move |url| (pool.key.clone(), url)))
    }
}
