//! The upstream's processes or group: who they are, and what they used.

use super::cgroup::{self, Membership, Mounts};
use super::family;
use super::kernel::{Files, Kernel};
use super::sockets::{self, Place};
use crate::config::{Origin, Processes, Upstream};
use std::collections::{BTreeMap, BTreeSet};
use std::net::IpAddr;
use std::path::PathBuf;
use std::time::{Duration, Instant};

/// What is watched.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Target {
    Nothing,
    Listener(Place),
    Processes(Vec<u32>),
    Group(PathBuf),
}

/// How long found processes are taken to be all of them, at least and at most. A
/// new worker is to be noticed within a second.
const SEARCH_EVERY: (Duration, Duration) = (Duration::from_millis(900), Duration::from_secs(10));
/// Times what a search took before the next one: some milliseconds where there
/// are many processes, and it must not become a load of its own.
const SEARCH_SHARE: u32 = 200;
/// How soon a search that found nobody, or whose find died, is done again.
const SEARCH_AGAIN: Duration = Duration::from_millis(500);

/// The upstream as far as it can be seen from here.
#[derive(Debug)]
pub struct Watched {
    target: Target,
    own: u32,
    pids: Vec<u32>,
    searched: Option<Instant>,
    /// How long the last search took.
    took: Duration,
    someone_died: bool,
    last: BTreeMap<u32, Duration>,
    group_last: Option<Duration>,
    /// Why it cannot be seen, or not all of it, and what to do: a sentence. None
    /// when all is well.
    pub note: Option<String>,
}

impl Watched {
    /// What the configuration names; `own` process is never part of it.
    pub fn new(upstream: &Upstream, files: &Files, own: u32) -> Self {
        let (target, note) = target(upstream, files);
        Self {
            target,
            own,
            pids: Vec::new(),
            searched: None,
            took: Duration::ZERO,
            someone_died: false,
            last: BTreeMap::new(),
            group_last: None,
            note,
        }
    }

    /// Looks for the processes again where that is due. Call before the others.
    pub fn find(&mut self, now: Instant, files: &Files, mounts: &Mounts, kernel: &dyn Kernel) {
        let wait = match self.pids.is_empty() || self.someone_died {
            true => SEARCH_AGAIN,
            false => wait_after(self.took),
        };
        if self.searched.is_some_and(|at| now.saturating_duration_since(at) < wait) {
            return;
        }
        (self.searched, self.someone_died) = (Some(now), false);
        let begun = Instant::now();
        self.search(files, mounts, kernel);
        self.took = begun.elapsed();
        self.last.retain(|pid, _| self.pids.contains(pid));
    }

    fn search(&mut self, files: &Files, mounts: &Mounts, kernel: &dyn Kernel) {
        match &self.target {
            Target::Nothing => {}
            Target::Listener(place) => {
                let found = search(*place, self.own, files, kernel);
                self.note = found.as_ref().err().cloned();
                self.pids = found.unwrap_or_default();
            }
            Target::Processes(pids) => {
                let alive = |pid: &u32| *pid != self.own && kernel.cpu_time(*pid).is_some();
                self.pids = pids.iter().copied().filter(alive).collect();
                let (there, all) = (self.pids.len(), pids.len());
                self.note = (there < all).then(|| {
                    format!(
                        "of the {all} processes in upstream.processes {there} can be seen; \
                         correct the list, or name their control group in upstream.cgroup"
                    )
                });
            }
            Target::Group(group) => {
                self.pids = cgroup::processes(files, mounts, group);
                self.note = cgroup::used(files, mounts, group).is_none().then(|| {
                    format!(
                        "control group {} is not there; upstream.cgroup is a path below the \
                         cgroup mount",
                        group.display()
                    )
                });
            }
        }
    }

    /// Whether anything of it can be seen.
    pub fn is_visible(&self) -> bool {
        match self.target {
            Target::Group(_) => self.group_last.is_some(),
            _ => !self.pids.is_empty(),
        }
    }

    /// CPU time used since the call before; none the first time, and when nobody
    /// is seen who was seen before. Never negative: a process that died takes
    /// its last fraction of a tick with it, one that appears counts from there.
    pub fn used(
        &mut self,
        files: &Files,
        mounts: &Mounts,
        kernel: &dyn Kernel,
    ) -> Option<Duration> {
        if let Target::Group(group) = &self.target {
            let now = cgroup::used(files, mounts, group);
            // Soon looked for again, which tells the operator too.
            self.someone_died |= now.is_none() && self.group_last.is_some();
            let last = std::mem::replace(&mut self.group_last, now);
            return now?.checked_sub(last?);
        }
        let mut used = None;
        for pid in &self.pids {
            let Some(now) = kernel.cpu_time(*pid) else {
                self.someone_died = true;
                self.last.remove(pid);
                continue;
            };
            if let Some(last) = self.last.insert(*pid, now) {
                // Less than before: another process with the number of one that
                // died; all that it used is new.
                let delta = now.checked_sub(last).unwrap_or(now);
                used = Some(used.unwrap_or(Duration::ZERO) + delta);
            }
        }
        if self.someone_died {
            self.pids.retain(|pid| self.last.contains_key(pid));
        }
        used
    }

    /// Processors that any of it may run on; empty where unknown.
    pub fn processors(&self, files: &Files, kernel: &dyn Kernel) -> BTreeSet<usize> {
        let affinities = self.pids.iter().filter_map(|pid| kernel.affinity(*pid));
        let union: BTreeSet<usize> = affinities.flatten().collect();
        if union.is_empty() && matches!(self.target, Target::Group(_)) {
            // A group without processes of its own, as slices are.
            let online = files.read("/sys/devices/system/cpu/online");
            return online
                .and_then(|text| super::parse_cpu_list(&text))
                .into_iter()
                .flatten()
                .collect();
        }
        union
    }

    /// Control groups that it is in, each once.
    pub fn groups(&self, files: &Files) -> BTreeSet<Membership> {
        match &self.target {
            Target::Group(group) => [Membership::of_path(group)].into(),
            _ => self.pids.iter().map(|pid| Membership::of_process(files, *pid)).collect(),
        }
    }
}

/// What to watch, or why nothing can be.
fn target(upstream: &Upstream, files: &Files) -> (Target, Option<String>) {
    if let Some(group) = &upstream.cgroup {
        return (Target::Group(group.clone()), None);
    }
    match &upstream.processes {
        // As the operator wants it.
        Processes::None => (Target::Nothing, None),
        Processes::List(pids) => (Target::Processes(pids.clone()), None),
        Processes::Auto => match place(&upstream.url, files) {
            Some(place) => (Target::Listener(place), None),
            None => (Target::Nothing, Some(elsewhere(&upstream.url.host))),
        },
    }
}

fn elsewhere(host: &str) -> String {
    format!(
        "{host} is not this host, so that its processors cannot be measured; if that is meant, \
         set upstream.processes to none"
    )
}

/// Where on this host the upstream may be: addresses, `localhost`, and the
/// host's own name. Other names are not resolved: the name service may be slow.
fn place(origin: &Origin, files: &Files) -> Option<Place> {
    let port = origin.port;
    if let Ok(address) = origin.host.parse::<IpAddr>() {
        return Some(Place { address: Some(address), port });
    }
    let name = files.read("/proc/sys/kernel/hostname").unwrap_or_default();
    let own = origin.host == "localhost"
        || origin.host.ends_with(".localhost")
        || origin.host.eq_ignore_ascii_case(name.trim());
    own.then_some(Place { address: None, port })
}

/// How long what a search found is taken to be all, by how long it took.
fn wait_after(took: Duration) -> Duration {
    took.saturating_mul(SEARCH_SHARE).clamp(SEARCH_EVERY.0, SEARCH_EVERY.1)
}

/// Finds who listens at a place, and their descendants.
///
/// # Errors
/// Why nobody can be seen, and what to do: a sentence.
fn search(place: Place, own: u32, files: &Files, kernel: &dyn Kernel) -> Result<Vec<u32>, String> {
    if let Some(address) = place.address
        && !kernel.is_own_address(address)
    {
        return Err(elsewhere(&address.to_string()));
    }
    let port = place.port;
    let inodes = sockets::listeners(files, place);
    if inodes.is_empty() {
        return Err(format!(
            "nobody on this host listens on port {port}; start the service, or name it in \
             upstream.processes or upstream.cgroup"
        ));
    }
    let pids = sockets::holders(files, &inodes, own);
    if let Some(relay) = pids.iter().find_map(|pid| sockets::relay(files, *pid)) {
        return Err(format!(
            "{relay} listens on port {port} for a service elsewhere; name its control group in \
             upstream.cgroup"
        ));
    }
    if pids.is_empty() {
        return Err(format!(
            "who listens on port {port} cannot be seen: this process itself, or another user's; \
             upstream.processes or upstream.cgroup can name it"
        ));
    }
    Ok(family::with_descendants(files, &pids, own))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_search_that_costs_little_is_done_again_within_a_second() {
        let ms = Duration::from_millis;
        assert_eq!(wait_after(Duration::ZERO), ms(900));
        assert_eq!(wait_after(ms(10)), ms(2000));
        assert_eq!(wait_after(ms(3000)), ms(10_000));
    }
}
