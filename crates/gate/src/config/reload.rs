//! What a reload changes, and what it cannot.

use super::checked::Config;
use super::fields::Listen;
use super::origin::Origin;
use super::pools::POOLS;
use super::routes::ROUTES;
use super::together;
use std::net::SocketAddr;
use tidegate_config::Settings;

impl Config {
    /// Sets what only a restart can change as it is in the configuration in force: sockets
    /// and threads exist already. Returns the names of keys that were different.
    pub fn keep_what_needs_a_restart(&mut self, running: &Self) -> Vec<String> {
        let wanted = self.clone();
        self.listen = Listen {
            drain_deadline: wanted.listen.drain_deadline,
            proxy_protocol: wanted.listen.proxy_protocol.clone(),
            ..running.listen.clone()
        };
        self.admin = running.admin.clone();
        self.log.format = running.log.format;
        self.trace = running.trace.clone();
        self.fleet = running.fleet.clone();
        self.files.fleet = running.files.fleet.clone();
        self.tls.ticket_keys = running.tls.ticket_keys.clone();
        wanted.changed_keys(self)
    }

    /// The names of keys whose values differ.
    pub fn changed_keys(&self, other: &Self) -> Vec<String> {
        fn of<T: Settings>(one: &T, other: &T) -> impl Iterator<Item = String> {
            one.changes(other).into_iter().map(|key| format!("{}.{key}", T::NAME))
        }
        of(&self.listen, &other.listen)
            .chain(of(&self.tls, &other.tls))
            .chain(of(&self.upstream, &other.upstream))
            .chain((self.named_pools != other.named_pools).then(|| POOLS.to_owned()))
            .chain((self.routes != other.routes).then(|| ROUTES.to_owned()))
            .chain(of(&self.static_tier, &other.static_tier))
            .chain(of(&self.admission, &other.admission))
            .chain(of(&self.limits, &other.limits))
            .chain(of(&self.admin, &other.admin))
            .chain(of(&self.log, &other.log))
            .chain(of(&self.access_log, &other.access_log))
            .chain(of(&self.trace, &other.trace))
            .chain(of(&self.fleet, &other.fleet))
            .collect()
    }

    /// Whether connections to an upstream may be kept where its own keys are the same.
    pub fn keeps_connections_of(&self, other: &Self) -> bool {
        let head = |config: &Self| (config.limits.head_max_bytes, config.limits.head_max_fields);
        self.files.upstream_roots == other.files.upstream_roots && head(self) == head(other)
    }

    /// The upstream that is a gate that listens on this address, if there is one: it would
    /// pass each request on to itself without end.
    pub fn upstream_at(&self, listening: SocketAddr) -> Option<&Origin> {
        self.servers().map(|(_, url)| url).find(|url| together::is_own(url, listening))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(more: &str) -> Config {
        let text = format!("[upstream]\nurl = \"http://127.0.0.1:8080\"\n{more}");
        Config::from_toml(&text, "test.toml").unwrap_or_else(|mistakes| panic!("{mistakes}"))
    }

    #[test]
    fn sockets_and_threads_stay_as_they_are_and_the_rest_changes() {
        let running = config("");
        let mut wanted = config(
            "[listen]\naddress = \"127.0.0.1:9000\"\nclear = \"127.0.0.1:9001\"\ncores = \"0\"\n\
             backlog = 7\ndrain_deadline = \"1s\"\nproxy_protocol = [\"::1\"]\n[admin]\naddress = \"off\"\n\
             [tls]\nticket_keys = \"keys\"\n[log]\nformat = \"json\"\nlevel = \"debug\"\n[limits]\nmax_connections = 9\n",
        );
        let kept = wanted.keep_what_needs_a_restart(&running);
        let listen = ["listen.address", "listen.clear", "listen.cores", "listen.backlog"];
        let others = ["tls.ticket_keys", "admin.address", "log.format"];
        assert_eq!(kept, [&listen[..], &others].concat());
        let changed = [
            "listen.proxy_protocol",
            "listen.drain_deadline",
            "limits.max_connections",
            "log.level",
        ];
        assert_eq!(wanted.changed_keys(&running), changed);
    }
}
