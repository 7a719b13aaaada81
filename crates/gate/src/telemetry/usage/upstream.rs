//! What is measured of an upstream on this host, and what the operator is told where that is
//! not visible.

use std::net::IpAddr;

use tidegate_host::Files;
use tidegate_host::service::{Place, Target, Unseen};
use tidegate_host::sockets::Endpoint;

use crate::config::{Origin, Processes, Upstream};

/// What to measure of an upstream, and why that is nothing against the configuration's intent.
pub fn target(upstream: &Upstream, files: &Files) -> (Target, Option<Unseen>) {
    if let Some(group) = &upstream.cgroup {
        return (Target::Group(group.clone()), None);
    }
    match &upstream.processes {
        Processes::None => (Target::Nothing, None),
        Processes::List(pids) => (Target::Processes(pids.clone()), None),
        Processes::Auto => {
            let origins = &upstream.url;
            let elsewhere = origins.iter().find(|origin| place(origin, files).is_none());
            let places: Vec<_> = origins.iter().filter_map(|origin| place(origin, files)).collect();
            let target = match places.is_empty() {
                true => Target::Nothing,
                false => Target::Listeners(places),
            };
            (target, elsewhere.map(|origin| Unseen::ElsewhereAt(origin.host.clone())))
        }
    }
}

/// The place on this host that an origin may name: by a unix socket, an address, `localhost` or
/// the host's own name. Other names are not resolved, since the name service may be slow.
fn place(origin: &Origin, files: &Files) -> Option<Place> {
    if let Some(path) = &origin.socket {
        return Some(Place::Socket(path.clone()));
    }
    let port = origin.port;
    if let Ok(address) = origin.host.parse::<IpAddr>() {
        return Some(Place::Port(Endpoint { address: Some(address), port }));
    }
    let name = files.read("/proc/sys/kernel/hostname").unwrap_or_default();
    let own = origin.host == "localhost"
        || origin.host.ends_with(".localhost")
        || origin.host.eq_ignore_ascii_case(name.trim());
    own.then_some(Place::Port(Endpoint { address: None, port }))
}

/// The sentence for the operator: why an upstream is not measured, and the remedy.
pub fn note(unseen: &Unseen) -> String {
    let remedy = match unseen {
        Unseen::ElsewhereAt(_) => {
            "run tidegate agent there and name it in upstream.load_from; if response times are to \
             decide alone, set processes to none beside its url"
        }
        Unseen::NotListening(_) => {
            "start the service, or name it in upstream.processes or upstream.cgroup"
        }
        Unseen::Relay { .. } => {
            "name the service's control group in upstream.cgroup, or run tidegate agent beside it \
             and name that in upstream.load_from"
        }
        Unseen::Hidden(_) => {
            "name it in upstream.processes or upstream.cgroup, or run tidegate agent as that user \
             and name it in upstream.load_from"
        }
        Unseen::Processes { .. } => {
            "correct upstream.processes, or name their control group in upstream.cgroup"
        }
        Unseen::NoGroup(_) => "upstream.cgroup is a path below the cgroup mount",
    };
    format!("{unseen}; {remedy}")
}
