//! A service's processes or control group: which they are, and the CPU time that they
//! used.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::path::PathBuf;
use std::time::{Duration, Instant};

use crate::cgroup::{self, Membership, Mounts};
use crate::sockets::{self, Endpoint};
use crate::{Cores, Files, Kernel, processes};

/// What is measured of a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Target {
    /// Nothing.
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
pub enum Place {
    /// A TCP port, at an address or any.
    Port(Endpoint),
    /// A unix socket.
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
/// there are many processes), so that searching takes at most 0.25 % of a processor until
/// the longest interval is reached.
const SEARCH_SHARE: u32 = 400;
/// Interval after a search that found no process, or when a found process ended.
const SEARCH_AGAIN: Duration = Duration::from_millis(500);

/// Why a service, or a part of it, cannot be measured. Its text is a clause without a remedy,
/// since that depends on who asks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Unseen {
    /// The address is not one of this host.
    ElsewhereAt(String),
    /// No process of this host listens there.
    NotListening(Place),
    /// The process that listens only passes on to a service elsewhere.
    Relay {
        /// Its name.
        program: &'static str,
        /// Where it listens.
        place: Place,
    },
    /// The process that listens is that which asks, or another user's.
    Hidden(Place),
    /// Some of the named processes cannot be seen.
    Processes {
        /// How many can be seen.
        seen: usize,
        /// How many were named.
        named: usize,
    },
    /// There is no such control group.
    NoGroup(PathBuf),
}

impl fmt::Display for Unseen {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::ElsewhereAt(host) => {
                write!(f, "{host} is not this host, so that its processors cannot be measured")
            }
            Self::NotListening(place) => write!(f, "no process on this host listens on {place}"),
            Self::Relay { program, place } => {
                write!(f, "{program} listens on {place} for a service elsewhere")
            }
            Self::Hidden(place) => write!(
                f,
                "the process that listens on {place} cannot be seen: it is this process \
                 itself, or another user's"
            ),
            Self::Processes { seen, named } => {
                write!(f, "of the {named} processes that were named {seen} can be seen")
            }
            Self::NoGroup(group) => write!(f, "control group {} does not exist", group.display()),
        }
    }
}

/// A service, as far as it is visible from this host, and its CPU time.
#[derive(Debug)]
pub struct Service {
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
    unseen: Option<Unseen>,
}

impl Service {
    /// The service that is at this target. The process `own` is never part of it.
    pub fn new(target: Target, own: u32) -> Self {
        Self {
            target,
            own,
            pids: Vec::new(),
            searched: None,
            took: Duration::ZERO,
            ended: false,
            last: BTreeMap::new(),
            group_last: None,
            unseen: None,
        }
    }

    /// Why it, or a part of it, cannot be measured; `None` when it is, and before the first
    /// search.
    pub fn unseen(&self) -> Option<&Unseen> {
        self.unseen.as_ref()
    }

    /// Searches for the processes again where that is due, and returns whether it did. Call it
    /// before the others.
    pub fn find(
        &mut self,
        now: Instant,
        files: &Files,
        mounts: &Mounts,
        kernel: &dyn Kernel,
    ) -> bool {
        if self.target == Target::Nothing {
            return false;
        }
        let wait = match self.pids.is_empty() || self.ended {
            true => SEARCH_AGAIN,
            false => wait_after(self.took),
        };
        if self.searched.is_some_and(|at| now.saturating_duration_since(at) < wait) {
            return false;
        }
        (self.searched, self.ended) = (Some(now), false);
        let begun = Instant::now();
        self.search(files, mounts, kernel);
        self.took = begun.elapsed();
        self.last.retain(|pid, _| self.pids.contains(pid));
        true
    }

    fn search(&mut self, files: &Files, mounts: &Mounts, kernel: &dyn Kernel) {
        match &self.target {
            Target::Nothing => {}
            Target::Listeners(places) => {
                self.unseen = None;
                let mut pids = BTreeSet::new();
                for place in places {
                    match listening_processes(place, self.own, files, kernel) {
                        Ok(found) => pids.extend(found),
                        Err(why) => drop(self.unseen.get_or_insert(why)),
                    }
                }
                self.pids = pids.into_iter().collect();
            }
            Target::Processes(pids) => {
                let alive = |pid: &u32| *pid != self.own && kernel.cpu_time(*pid).is_some();
                self.pids = pids.iter().copied().filter(alive).collect();
                let (seen, named) = (self.pids.len(), pids.len());
                self.unseen = (seen < named).then_some(Unseen::Processes { seen, named });
            }
            Target::Group(group) => {
                self.pids = cgroup::processes(files, mounts, group);
                let used = cgroup::used(files, mounts, group);
                self.unseen = used.is_none().then(|| Unseen::NoGroup(group.clone()));
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
            // The search that follows soon tells why.
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

/// The interval to the next search, by the duration of the last.
fn wait_after(took: Duration) -> Duration {
    took.saturating_mul(SEARCH_SHARE).clamp(SEARCH_EVERY.0, SEARCH_EVERY.1)
}

/// Finds the processes that listen at a place, and their descendants.
///
/// # Errors
/// Why no process is visible.
fn listening_processes(
    place: &Place,
    own: u32,
    files: &Files,
    kernel: &dyn Kernel,
) -> Result<Vec<u32>, Unseen> {
    let inodes = match place {
        Place::Socket(path) => sockets::listeners_at(files, path),
        Place::Port(Endpoint { address: Some(address), .. })
            if !kernel.is_own_address(*address) =>
        {
            return Err(Unseen::ElsewhereAt(address.to_string()));
        }
        Place::Port(endpoint) => sockets::listeners(files, *endpoint),
    };
    if inodes.is_empty() {
        return Err(Unseen::NotListening(place.clone()));
    }
    let pids = sockets::holders(files, &inodes, own);
    if let Some(program) = pids.iter().find_map(|pid| relay(files, *pid)) {
        return Err(Unseen::Relay { program, place: place.clone() });
    }
    if pids.is_empty() {
        return Err(Unseen::Hidden(place.clone()));
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
        assert_eq!(wait_after(ms(10)), ms(4000));
        assert_eq!(wait_after(ms(3000)), ms(10_000));
    }
}
