//! What a site uses: processor time by group of its processes, disks and the network.

use std::collections::BTreeSet;
use std::time::Instant;

use serde::Serialize;
use tidegate_host::{Cores, Files, IdleTimes, ServiceUse, cpu_clock, processes};
use tidegate_lab::{Error, Result};

use crate::site::host_use::{HostUse, allowed_cpus, cores, machine_cpus};
use crate::site::processes::Processes;

/// Groups of processes that are told apart by their names; what is beyond is the last group.
const MOST: usize = 8;

/// A group of processes as the operator names it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Named {
    /// The name, such as `database`.
    pub name: String,
    /// Its processes: numbers, or names such as `postgres`.
    pub processes: Vec<String>,
}

/// What a cost is in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// CPU seconds.
    CpuSeconds,
    /// Bytes.
    Bytes,
    /// Share of what the site can do in a second, where nothing else is seen of it.
    Share,
}

/// Something that operations use up.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Resource {
    /// Its name.
    pub name: String,
    /// What costs are in.
    pub unit: Unit,
    /// How much of it there is in a second; `None` where that is not known.
    pub per_s: Option<f64>,
    /// It is the load generator's, not the site's.
    pub driver: bool,
}

/// Name of the processor time of the load generator.
const DRIVER: &str = "load generator";
/// Name of what goes to disks and comes from them.
pub(super) const DISK: &str = "disk";

/// The site's processes in groups.
#[derive(Debug)]
pub(super) struct Groups {
    files: Files,
    /// Name and first processes of each group of the operator's.
    named: Vec<(String, Vec<u32>)>,
    /// Those that listen at the target.
    site: Processes,
    /// The names of the site's other processes: each is a group.
    by_name: Vec<String>,
    disks: bool,
    /// The times of all threads when the groups were found.
    found: ServiceUse,
}

impl Groups {
    /// Finds the processes of each group.
    ///
    /// # Errors
    /// [`Error::Operator`]: a group has no process, or a process is in two.
    pub(super) fn find(site: Processes, named: &[Named]) -> Result<Self> {
        let files = Files::new("/");
        let mut groups: Vec<(String, Vec<u32>)> = Vec::new();
        let mut taken = BTreeSet::new();
        for it in named {
            let mut heads = Vec::new();
            for process in &it.processes {
                let found = match process.parse::<u32>() {
                    Ok(pid) => Some(pid).filter(|pid| cpu_clock::of_process(*pid).is_ok()),
                    Err(_) => None,
                };
                let found = match found {
                    Some(pid) => vec![pid],
                    None => processes::named(&files, process),
                };
                if found.is_empty() {
                    return Err(Error::Operator(format!(
                        "--resource {}={process}: there is no such process; list them with `ps -e`",
                        it.name
                    )));
                }
                heads.extend(found);
            }
            if let Some(twice) = heads.iter().find(|pid| !taken.insert(**pid)) {
                return Err(Error::Operator(format!(
                    "--resource {}: process {twice} is named twice; name it in one group",
                    it.name
                )));
            }
            groups.push((it.name.clone(), heads));
        }
        let mut found = Self {
            files,
            named: groups,
            site,
            by_name: Vec::new(),
            disks: false,
            found: ServiceUse::default(),
        };
        let all = found.members();
        for (pid, group) in all {
            let name = processes::name(&found.files, pid).unwrap_or_default();
            if group.is_none() && !found.by_name.contains(&name) && found.by_name.len() < MOST {
                found.by_name.push(name);
            }
        }
        found.disks = found.disk_bytes().is_some();
        found.found = found.threads();
        Ok(found)
    }

    /// Names of the groups, those of the operator first.
    fn names(&self) -> impl Iterator<Item = &str> {
        self.named.iter().map(|(name, _)| name.as_str()).chain(self.by_name.iter().map(|it| &**it))
    }

    /// How many groups there are.
    pub(super) fn count(&self) -> usize {
        self.named.len() + self.by_name.len()
    }

    /// All processes, each with its group of the operator's if it is in one.
    fn members(&self) -> Vec<(u32, Option<usize>)> {
        let own = std::process::id();
        let mut seen = BTreeSet::new();
        let mut all = Vec::new();
        for (group, (_, heads)) in self.named.iter().enumerate() {
            for pid in processes::with_descendants(&self.files, heads, own) {
                if seen.insert(pid) {
                    all.push((pid, Some(group)));
                }
            }
        }
        all.extend(
            self.site.now().into_iter().filter(|pid| seen.insert(*pid)).map(|it| (it, None)),
        );
        all
    }

    /// The group of a process of this name that is in none of the operator's.
    fn of_name(&self, name: &str) -> usize {
        let at = self.by_name.iter().position(|it| it == name);
        self.named.len() + at.unwrap_or_else(|| self.by_name.len().saturating_sub(1))
    }

    /// The group of each process.
    fn grouped(&self) -> Vec<(u32, usize)> {
        let group = |(pid, group): (u32, Option<usize>)| {
            let by_name = || self.of_name(&processes::name(&self.files, pid).unwrap_or_default());
            let last = self.count().saturating_sub(1);
            (pid, group.unwrap_or_else(by_name).min(last))
        };
        self.members().into_iter().map(group).collect()
    }

    /// All of the processes as one site.
    pub(super) fn whole(&self) -> Processes {
        self.site.with(self.named.iter().flat_map(|(_, heads)| heads.iter().copied()))
    }

    /// The times of all threads until now.
    fn threads(&self) -> ServiceUse {
        let all: Vec<u32> = self.members().into_iter().map(|(pid, _)| pid).collect();
        ServiceUse::read(&self.files, &all)
    }

    fn disk_bytes(&self) -> Option<f64> {
        let each =
            self.members().into_iter().map(|(pid, _)| processes::disk_bytes(&self.files, pid));
        Some(each.collect::<Option<Vec<_>>>()?.into_iter().sum::<u64>() as f64)
    }

    /// What runs are told to use: the processor time of each group, that of the load generator,
    /// disks where they are seen, and the network.
    pub(super) fn resources(&self) -> Vec<Resource> {
        let grouped = self.grouped();
        let of = |group| -> Vec<u32> {
            grouped.iter().filter(|(_, it)| *it == group).map(|(pid, _)| *pid).collect()
        };
        let cpu = |(group, name): (usize, &str)| Resource {
            name: name.to_owned(),
            unit: Unit::CpuSeconds,
            per_s: Some(self.allowed_cpus(&of(group))),
            driver: false,
        };
        let mut all: Vec<Resource> = self.names().enumerate().map(cpu).collect();
        let driver =
            Resource { name: DRIVER.into(), unit: Unit::CpuSeconds, per_s: None, driver: true };
        all.push(driver);
        let bytes = |name: &str| Resource {
            name: name.into(),
            unit: Unit::Bytes,
            per_s: None,
            driver: false,
        };
        if self.disks {
            all.push(bytes(DISK));
        }
        all.push(bytes("network"));
        all
    }

    /// Processors of all groups together.
    pub(super) fn processors(&self) -> f64 {
        let all: Vec<u32> = self.grouped().into_iter().map(|(pid, _)| pid).collect();
        self.allowed_cpus(&all)
    }

    /// Processors of some of the processes, by what their threads did since the groups were found.
    fn allowed_cpus(&self, pids: &[u32]) -> f64 {
        let threads = ServiceUse::read(&self.files, pids).since(&self.found);
        allowed_cpus(&self.files, pids, &threads)
    }

    /// The site's processors, by what its threads did since the groups were found.
    pub(super) fn cores(&self) -> BTreeSet<usize> {
        cores(&self.threads().since(&self.found))
    }

    /// Whether the load generator may use processors of the site: on these, or on all that this
    /// process may use.
    pub(super) fn shared_with_driver(&self, driver: &[usize]) -> bool {
        let own = match driver {
            [] => Cores::of_this_process().map_or_else(|_| Vec::new(), |it| it.list().to_vec()),
            given => given.to_vec(),
        };
        self.cores().iter().any(|core| own.contains(core))
    }

    /// What to change so that site and load generator have processors of their own.
    pub(super) fn apart(&self) -> String {
        remedy(&self.cores(), &machine_cpus(&self.files))
    }

    /// Processor time of each group in a step, by its processes.
    pub(super) fn of_host(&self, host: &HostUse) -> Vec<f64> {
        let mut used = vec![0.0; self.count()];
        let groups = self.grouped();
        for it in &host.processes {
            let known = groups.iter().find(|(pid, _)| *pid == it.pid).map(|(_, group)| *group);
            let group = known.unwrap_or_else(|| self.of_name(&it.name));
            used[group.min(self.count() - 1)] += it.cpus;
        }
        used
    }
}

/// How a load generator gets processors of its own on a machine of which the site has some.
fn remedy(site: &BTreeSet<usize>, machine: &BTreeSet<usize>) -> String {
    let list = |of: &[usize]| Cores::new(of.iter().copied()).map(|it| it.to_string());
    let all: Vec<usize> = machine.iter().copied().collect();
    let free: Vec<usize> = machine.difference(site).copied().collect();
    if let Ok(free) = list(&free) {
        return format!("give it its own with --driver-cores {free}");
    }
    match all.split_last() {
        Some((last, others)) if !others.is_empty() => format!(
            "leave the site fewer, such as with `taskset --all-tasks --cpu-list --pid {} PID` for each of its processes, and add --driver-cores {last}",
            list(others).unwrap_or_default()
        ),
        _ => "run it on another machine".to_owned(),
    }
}

/// Follows the use from when it is made.
pub(super) struct Meter<'a> {
    groups: &'a Groups,
    began: Instant,
    cpu_s: Vec<f64>,
    driver_cpu_s: f64,
    disk: Option<f64>,
    threads: ServiceUse,
    idle: IdleTimes,
}

/// What was used.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Used {
    /// The time, in seconds.
    pub(super) seconds: f64,
    /// CPU seconds of each group.
    pub(super) cpu_s: Vec<f64>,
    /// CPU seconds of the load generator.
    pub(super) driver_cpu_s: f64,
    /// Bytes to and from disks.
    pub(super) disk_bytes: Option<f64>,
    /// Threads of the site that were ready and had no processor, on average.
    pub(super) waiting_threads: f64,
    /// Busy processors of the whole machine, on average.
    pub(super) machine_busy: Option<f64>,
    /// Processors of the whole machine.
    pub(super) machine_cpus: f64,
}

impl<'a> Meter<'a> {
    pub(super) fn begin(groups: &'a Groups) -> Self {
        let mut idle = IdleTimes::default();
        idle.update(&groups.files);
        Self {
            groups,
            cpu_s: cpu_s(groups),
            driver_cpu_s: cpu_clock::of_this_process().as_secs_f64(),
            disk: groups.disks.then(|| groups.disk_bytes()).flatten(),
            threads: groups.threads(),
            idle,
            began: Instant::now(),
        }
    }

    pub(super) fn end(mut self) -> Used {
        let seconds = self.began.elapsed().as_secs_f64();
        let files = &self.groups.files;
        let cpu_s = cpu_s(self.groups);
        self.idle.update(files);
        let machine = machine_cpus(files);
        let busy = self.idle.share(&machine).map(|idle| (1.0 - idle) * machine.len() as f64);
        let disk = self.disk.zip(self.groups.disk_bytes());
        let threads = self.groups.threads().since(&self.threads);
        let waited_s = threads.values().map(|it| it.waited_ns as f64 / 1e9).sum::<f64>();
        Used {
            seconds,
            // A process that has ended takes its time along, unless its parent has waited for it.
            cpu_s: cpu_s.iter().zip(&self.cpu_s).map(|(now, then)| (now - then).max(0.0)).collect(),
            driver_cpu_s: cpu_clock::of_this_process().as_secs_f64() - self.driver_cpu_s,
            disk_bytes: disk.map(|(then, now)| (now - then).max(0.0)),
            waiting_threads: waited_s / seconds.max(1e-9),
            machine_busy: busy,
            machine_cpus: machine.len() as f64,
        }
    }
}

/// CPU seconds of each group until now, with those of the children that its processes have waited
/// for: so a process for each request is counted too.
fn cpu_s(groups: &Groups) -> Vec<f64> {
    let mut all = vec![0.0; groups.count()];
    for (pid, group) in groups.grouped() {
        let time = cpu_clock::with_children(&groups.files, pid);
        all[group] += time.map_or(0.0, |time| time.as_secs_f64());
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::{Child, Command, Stdio};
    use tidegate_host::sockets::Endpoint;

    struct Busy(Child);

    impl Busy {
        fn start(script: &str) -> Self {
            // With no stream of the test: whoever reads it does not wait for this process.
            let mut command = Command::new("sh");
            command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
            Self(command.args(["-c", script]).spawn().unwrap())
        }
    }

    impl Drop for Busy {
        fn drop(&mut self) {
            drop(self.0.kill());
            drop(self.0.wait());
        }
    }

    fn site(pid: u32) -> Processes {
        let endpoint = Endpoint { address: "127.0.0.1".parse().ok(), port: 1 };
        Processes::find(endpoint, &[pid]).unwrap()
    }

    fn named(name: &str, process: impl ToString) -> Named {
        Named { name: name.into(), processes: vec![process.to_string()] }
    }

    #[test]
    fn the_time_of_each_group_is_its_own() {
        let app = Busy::start("while :; do :; done");
        let database = Busy::start("exec sleep 1000");
        let groups = Groups::find(site(app.0.id()), &[named("database", database.0.id())]).unwrap();
        let resources = groups.resources();
        let names: Vec<&str> = resources.iter().map(|it| it.name.as_str()).collect();
        assert_eq!(names[..3], ["database", "sh", "load generator"], "{names:?}");
        assert!(resources[0].per_s >= Some(1.0) && groups.processors() >= 1.0);
        let meter = Meter::begin(&groups);
        let began = cpu_s(&groups)[1];
        while cpu_s(&groups)[1] < began + 0.05 {
            std::thread::sleep(std::time::Duration::from_millis(1));
        }
        let used = meter.end();
        assert!(used.cpu_s[1] >= 0.05 && used.cpu_s[0] < used.cpu_s[1], "{used:?}");
        assert!(used.seconds > 0.0 && used.machine_cpus >= 1.0);
        assert!(groups.whole().now().contains(&database.0.id()));
    }

    #[test]
    fn children_that_were_waited_for_are_counted() {
        // Each lives for a moment and is gone when it is looked for.
        let forks =
            Busy::start("while :; do (i=0; while [ $i -lt 3000 ]; do i=$((i+1)); done); done");
        let groups = Groups::find(site(forks.0.id()), &[]).unwrap();
        let meter = Meter::begin(&groups);
        let began = cpu_s(&groups)[0];
        let parent = || cpu_clock::of_process(forks.0.id()).unwrap().as_secs_f64();
        let own = parent();
        while cpu_s(&groups)[0] < began + 0.3 {
            std::thread::sleep(std::time::Duration::from_millis(5));
        }
        let used = meter.end().cpu_s[0];
        assert!(used >= 0.25 && used > 2.0 * (parent() - own), "{used}");
    }

    #[test]
    fn the_load_generator_is_given_processors_that_this_machine_has() {
        let of = |site: &[usize], machine: &[usize]| {
            remedy(&site.iter().copied().collect(), &machine.iter().copied().collect())
        };
        assert!(of(&[0], &[0, 1]).ends_with("--driver-cores 1"));
        assert!(
            of(&[0, 1, 2], &[0, 1, 2]).contains("--pid 0,1 PID"),
            "{}",
            of(&[0, 1, 2], &[0, 1, 2])
        );
        assert!(of(&[0, 1, 2], &[0, 1, 2]).ends_with("--driver-cores 2"));
        assert_eq!(of(&[0], &[0]), "run it on another machine");
    }

    #[test]
    fn a_group_without_a_process_is_refused_with_a_remedy() {
        let app = Busy::start("exec sleep 1000");
        let id = app.0.id();
        for (groups, expected) in [
            (vec![named("database", "no such name/")], "--resource database=no such name/: there"),
            (vec![named("a", id), named("b", id)], "is named twice; name it in one group"),
        ] {
            let error = Groups::find(site(id), &groups).unwrap_err();
            assert_eq!(error.exit_code(), 2);
            assert!(error.to_string().contains(expected), "{error}");
        }
    }
}
