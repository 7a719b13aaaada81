//! The upstream's processes or control group: which they are, and the CPU time that they
//! used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use tidegate_host::cgroup::{self, Membership, Mounts};
use tidegate_host::sockets::{self, Endpoint};
use tidegate_host::{Cores, Files, Kernel, processes};

use crate::config::{Origin, Processes, Upstream};

/// What is measured.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    /// Nothing: the upstream is on another host, or the configuration asks for none.
    Nothing,
    /// The processes that listen at these places, and their descendants.
    Listeners(Vec<Place>),
    /// The processes of these ids.
    Processes(Vec<u32>),
    /// A control group.
    Group(PathBuf),
}

/// Where processes listen on this host.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Place {
    Port(Endpoint),
    Socket(PathBuf),
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Port(endpoint) => write!(f, "port {}", endpoint.port),
            Self::Socket(path) => write!(f, "{}", path.display()),
        }
    }
}

/// Shortest and longest interval between searches for the processes. A new worker is to be
/// found within a second.
const SEARCH_EVERY: (Duration, Duration) = (Duration::from_millis(900), Duration::from_secs(10));
/// The interval after a search is this many times its duration (some milliseconds where
/// there are many processes), so that searching takes at most 0.5 % of a processor until
/// the longest interval is reached.
const SEARCH_SHARE: u32 = 200;
/// Interval after a search that found no process, or when a found process ended.
const SEARCH_AGAIN: Duration = Duration::from_millis(500);

/// The upstream, as far as it is visible from this host, and its CPU time.
#[derive(Debug)]
pub struct UpstreamUsage {
    target: Target,
    own: u32,
    pids: Vec<u32>,
    searched: Option<Instant>,
    /// Duration of the last search.
    took: Duration,
    /// A process, or the group, has ended since the last search.
    ended: bool,
    /// CPU time of each process as of the last call of `used`.
    last: BTreeMap<u32, Duration>,
    /// CPU time of the group as of the last call of `used`.
    group_last: Option<Duration>,
    /// Why a part of it is never visible.
    elsewhere: Option<String>,
    /// Why it, or a part of it, cannot be measured, and the remedy: a sentence. `None` when
    /// it is measured.
    pub note: Option<String>,
}

impl UpstreamUsage {
    /// The upstream that the configuration names. The process `own` is never part of it.
    pub fn new(upstream: &Upstream, files: &Files, own: u32) -> Self {
        let (target, note) = target(upstream, files);
        Self {
            target,
            own,
            pids: Vec::new(),
            searched: None,
            took: Duration::ZERO,
            ended: false,
            last: BTreeMap::new(),
            group_last: None,
            elsewhere: note.clone(),
            note,
        }
    }

    /// Searches for the processes again where that is due. Call it before the others.
    pub fn find(&mut self, now: Instant, files: &Files, mounts: &Mounts, kernel: &dyn Kernel) {
        let wait = match self.pids.is_empty() || self.ended {
            true => SEARCH_AGAIN,
            false => wait_after(self.took),
        };
        if self.searched.is_some_and(|at| now.saturating_duration_since(at) < wait) {
            return;
        }
        (self.searched, self.ended) = (Some(now), false);
        let begun = Instant::now();
        self.search(files, mounts, kernel);
        self.took = begun.elapsed();
        self.last.retain(|pid, _| self.pids.contains(pid));
    }

    fn search(&mut self, files: &Files, mounts: &Mounts, kernel: &dyn Kernel) {
        match &self.target {
            Target::Nothing => {}
            Target::Listeners(places) => {
                self.note = self.elsewhere.clone();
                let mut pids = BTreeSet::new();
                for place in places {
                    match listening_processes(place, self.own, files, kernel) {
                        Ok(found) => pids.extend(found),
                        Err(why) => drop(self.note.get_or_insert(why)),
                    }
                }
                self.pids = pids.into_iter().collect();
            }
            Target::Processes(pids) => {
                let alive = |pid: &u32| *pid != self.own && kernel.cpu_time(*pid).is_some();
                self.pids = pids.iter().copied().filter(alive).collect();
                let (alive, all) = (self.pids.len(), pids.len());
                self.note = (alive < all).then(|| {
                    format!(
                        "of the {all} processes in upstream.processes {alive} can be seen; \
                         correct the list, or name their control group in upstream.cgroup"
                    )
                });
            }
            Target::Group(group) => {
                self.pids = cgroup::processes(files, mounts, group);
                self.note = cgroup::used(files, mounts, group).is_none().then(|| {
                    format!(
                        "control group {} does not exist; upstream.cgroup is a path below the \
                         cgroup mount",
                        group.display()
                    )
                });
            }
        }
    }

    /// Whether any part of it is visible.
    pub fn is_visible(&self) -> bool {
        match self.target {
            Target::Group(_) => self.group_last.is_some(),
            _ => !self.pids.is_empty(),
        }
    }

    /// CPU time used since the call before; `None` the first time, and when no process is
    /// visible that was visible before. Never negative: what a process used between the
    /// last call and its end is lost, and a new process counts from its first call.
    pub fn used(
        &mut self,
        files: &Files,
        mounts: &Mounts,
        kernel: &dyn Kernel,
    ) -> Option<Duration> {
        if let Target::Group(group) = &self.target {
            let now = cgroup::used(files, mounts, group);
            // The search that follows soon sets the note too.
            self.ended |= now.is_none() && self.group_last.is_some();
            let last = std::mem::replace(&mut self.group_last, now);
            return now?.checked_sub(last?);
        }
        let mut used = None;
        for pid in &self.pids {
            let Some(now) = kernel.cpu_time(*pid) else {
                self.ended = true;
                self.last.remove(pid);
                continue;
            };
            if let Some(last) = self.last.insert(*pid, now) {
                // Less than before: another process has the id of one that ended. All
                // that it used is new.
                let delta = now.checked_sub(last).unwrap_or(now);
                used = Some(used.unwrap_or(Duration::ZERO) + delta);
            }
        }
        if self.ended {
            self.pids.retain(|pid| self.last.contains_key(pid));
        }
        used
    }

    /// Processors that any part of it may run on; empty where unknown.
    pub fn processors(&self, files: &Files, kernel: &dyn Kernel) -> BTreeSet<usize> {
        let mut union = BTreeSet::new();
        for cores in self.pids.iter().filter_map(|pid| kernel.affinity(*pid)) {
            union.extend(cores.list());
        }
        if union.is_empty() && matches!(self.target, Target::Group(_)) {
            // A group without processes of its own, such as a slice.
            let online = files.read("/sys/devices/system/cpu/online");
            let online = online.and_then(|text| text.parse::<Cores>().ok());
            union.extend(online.iter().flat_map(Cores::list));
        }
        union
    }

    /// The control groups that it is in, each once.
    pub fn groups(&self, files: &Files) -> BTreeSet<Membership> {
        match &self.target {
            Target::Group(group) => [Membership::of_path(group)].into(),
            _ => self.pids.iter().map(|pid| Membership::of_process(files, *pid)).collect(),
        }
    }
}

/// What to measure, and a note where that is nothing against the configuration's intent.
fn target(upstream: &Upstream, files: &Files) -> (Target, Option<String>) {
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
            (target, elsewhere.map(|origin| other_host(&origin.host)))
        }
    }
}

/// The note about an upstream on another host.
fn other_host(host: &str) -> String {
    format!(
        "{host} is not this host, so that its processors cannot be measured; if that is meant, \
         set processes to none beside its url"
    )
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

/// The interval to the next search, by the duration of the last.
fn wait_after(took: Duration) -> Duration {
    took.saturating_mul(SEARCH_SHARE).clamp(SEARCH_EVERY.0, SEARCH_EVERY.1)
}

/// Finds the processes that listen at a place, and their descendants.
///
/// # Errors
/// Why no process is visible, and the remedy: a sentence.
fn listening_processes(
    place: &Place,
    own: u32,
    files: &Files,
    kernel: &dyn Kernel,
) -> Result<Vec<u32>, String> {
    let inodes = match place {
        Place::Socket(path) => sockets::listeners_at(files, path),
        Place::Port(Endpoint { address: Some(address), .. })
            if !kernel.is_own_address(*address) =>
        {
            return Err(other_host(&address.to_string()));
        }
        Place::Port(endpoint) => sockets::listeners(files, *endpoint),
    };
    if inodes.is_empty() {
        return Err(format!(
            "no process on this host listens on {place}; start the service, or name it in \
             upstream.processes or upstream.cgroup"
        ));
    }
    let pids = sockets::holders(files, &inodes, own);
    if let Some(relay) = pids.iter().find_map(|pid| relay(files, *pid)) {
        return Err(format!(
            "{relay} listens on {place} for a service elsewhere; name the service's control group in \
             upstream.cgroup"
        ));
    }
    if pids.is_empty() {
        return Err(format!(
            "the process that listens on {place} cannot be seen: it is this process itself, or \
             another user's; upstream.processes or upstream.cgroup can name it"
        ));
    }
    Ok(processes::with_descendants(files, &pids, own))
}

/// Programs that listen for a service that runs elsewhere.
const RELAYS: [&str; 5] = ["docker-proxy", "rootlessport", "slirp4netns", "ssh", "sshd"];

/// The name of a process if it only relays: its CPU time is not the service's.
fn relay(files: &Files, pid: u32) -> Option<&'static str> {
    let name = processes::name(files, pid)?;
    RELAYS.into_iter().find(|relay| *relay == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_short_search_is_repeated_within_a_second() {
        let ms = Duration::from_millis;
        assert_eq!(wait_after(Duration::ZERO), ms(900));
        assert_eq!(wait_after(ms(10)), ms(2000));
        assert_eq!(wait_after(ms(3000)), ms(10_000));
    }
}
