//! What the site's processes and the machine used during a step, where the site runs here.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Instant;

use super::processes::{Processes, cpu_s};
use serde::Serialize;
use tidegate_host::cgroup::{self, Membership, Mounts};
use tidegate_host::{
    Cores, Files, IdleTimes, ServiceUse, ThreadTimes, cpu_clock, processes, tcp,
    waiting_to_be_accepted,
};

/// Use of the site's processes and of the machine in the measured window of a step.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct HostUse {
    /// Processors' worth of CPU time by process, the busiest first.
    pub processes: Vec<ProcessUse>,
    /// Processors' worth of CPU time of all of them.
    pub cpus: f64,
    /// Processors that they may use: those that they may run on, or less by the quotas of their
    /// control groups.
    pub allowed_cpus: f64,
    /// Processors' worth of the busiest thread: 1 is all that one thread can have.
    pub busiest_thread: f64,
    /// Threads that were ready and had no processor, on average.
    pub waiting_threads: f64,
    /// Processors' worth that this process, the load generator, used.
    pub driver_cpus: f64,
    /// Busy processors of the whole machine; `None` where the kernel does not report it.
    pub machine_busy: Option<f64>,
    /// Processors of the whole machine.
    pub machine_cpus: f64,
    /// Most connections that waited to be accepted, of the samples.
    pub accept_queue: u64,
    /// Connections dropped because an accept queue was full, of the whole machine.
    pub accept_overflows: u64,
    /// Memory in RAM at the end.
    pub resident_mib: f64,
}

/// CPU time of a process.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProcessUse {
    /// Its number.
    pub pid: u32,
    /// Its name, at most 15 bytes.
    pub name: String,
    /// Processors' worth of CPU time.
    pub cpus: f64,
}

/// Follows the use during a window: begins when it is made.
pub(crate) struct Observation<'a> {
    site: &'a Processes,
    began: Instant,
    pids: Vec<u32>,
    cpu_s: Vec<f64>,
    threads: ServiceUse,
    driver_cpu_s: f64,
    idle: IdleTimes,
    overflows: Option<u64>,
    accept_queue: u64,
}

impl<'a> Observation<'a> {
    pub(crate) fn begin(site: &'a Processes) -> Self {
        let files = &site.files;
        let pids = site.now();
        let mut idle = IdleTimes::default();
        idle.update(files);
        Self {
            site,
            cpu_s: pids.iter().map(|pid| cpu_s(*pid)).collect(),
            threads: ServiceUse::read(files, &pids),
            driver_cpu_s: cpu_clock::of_this_process().as_secs_f64(),
            idle,
            overflows: tcp::listen_overflows(files),
            accept_queue: waiting_to_be_accepted(files, site.endpoint).unwrap_or(0),
            pids,
            began: Instant::now(),
        }
    }

    /// Looks at the accept queue.
    pub(crate) fn sample(&mut self) {
        let waiting = waiting_to_be_accepted(&self.site.files, self.site.endpoint);
        self.accept_queue = self.accept_queue.max(waiting.unwrap_or(0));
    }

    /// The use since the begin; `None` if no time has passed.
    pub(crate) fn end(mut self) -> Option<HostUse> {
        self.sample();
        let files = &self.site.files;
        let seconds = self.began.elapsed().as_secs_f64();
        if seconds < 0.01 {
            return None;
        }
        let pids = self.site.now();
        let mut processes: Vec<ProcessUse> =
            pids.iter().map(|pid| self.of_process(*pid, seconds)).collect();
        processes.sort_by(|a, b| b.cpus.total_cmp(&a.cpus));
        let now = ServiceUse::read(files, &pids);
        let threads = now.since(&self.threads);
        let ran = |ns: u64| ns as f64 / 1e9 / seconds;
        self.idle.update(files);
        let machine = machine_cpus(files);
        let busy = self.idle.share(&machine).map(|idle| (1.0 - idle) * machine.len() as f64);
        let overflows = tcp::listen_overflows(files).zip(self.overflows);
        let driver = cpu_clock::of_this_process().as_secs_f64() - self.driver_cpu_s;
        Some(HostUse {
            cpus: processes.iter().map(|process| process.cpus).sum(),
            processes,
            allowed_cpus: allowed_cpus(files, &pids, &threads),
            busiest_thread: threads.values().map(|it| ran(it.ran_ns)).fold(0.0, f64::max),
            waiting_threads: threads.values().map(|it| ran(it.waited_ns)).sum(),
            driver_cpus: driver / seconds,
            machine_busy: busy,
            machine_cpus: machine.len() as f64,
            accept_queue: self.accept_queue,
            accept_overflows: overflows.map_or(0, |(now, before)| now.saturating_sub(before)),
            resident_mib: now.resident_bytes as f64 / f64::from(1 << 20),
        })
    }

    fn of_process(&self, pid: u32, seconds: f64) -> ProcessUse {
        // A process that began since counts from its start.
        let at = self.pids.iter().position(|known| *known == pid);
        let before = at.map_or(0.0, |at| self.cpu_s[at]);
        let name = processes::name(&self.site.files, pid).unwrap_or_default();
        ProcessUse { pid, name, cpus: (cpu_s(pid) - before).max(0.0) / seconds }
    }
}

/// Processors that processes may use together, by what their threads did. Those of one control
/// group share its quota; the quotas of different groups add up.
pub(crate) fn allowed_cpus(
    files: &Files,
    pids: &[u32],
    threads: &BTreeMap<u32, ThreadTimes>,
) -> f64 {
    let cores = cores(threads).len() as f64;
    quota(files, pids).map_or(cores, |quota| quota.min(cores))
}

/// Processors that threads may use: those of each thread that is bound to fewer than others are,
/// and those of the others that did some of the work. A server that binds its workers leaves the
/// thread that started them where it was.
pub(crate) fn cores(threads: &BTreeMap<u32, ThreadTimes>) -> BTreeSet<usize> {
    let each: Vec<(Cores, u64)> = threads
        .iter()
        .filter_map(|(thread, times)| Some((Cores::of_process(*thread).ok()?, times.ran_ns)))
        .collect();
    let widest = each.iter().map(|(cores, _)| cores.list().len()).max().unwrap_or(0);
    let bound = each.iter().any(|(cores, _)| cores.list().len() < widest);
    let most = each.iter().map(|(_, ran_ns)| *ran_ns).max().unwrap_or(0);
    let counts = |(cores, ran_ns): &&(Cores, u64)| {
        !bound || cores.list().len() < widest || *ran_ns as f64 > WORKS * most as f64
    };
    each.iter().filter(counts).flat_map(|(cores, _)| cores.list().to_vec()).collect()
}

/// Share of the busiest thread's processor time from which on a thread takes part in the work.
const WORKS: f64 = 0.02;

/// The sum of the quotas of the processes' groups; `None` if one of them has none.
fn quota(files: &Files, pids: &[u32]) -> Option<f64> {
    let mounts = Mounts::read(files);
    let mut groups = Vec::new();
    for membership in pids.iter().map(|pid| Membership::of_process(files, *pid)) {
        if !groups.contains(&membership) {
            groups.push(membership);
        }
    }
    let quotas = groups.iter().map(|group| cgroup::quota(files, &mounts, group));
    quotas.sum::<Option<f64>>().filter(|sum| *sum > 0.0)
}

/// The processors that are online.
pub(crate) fn machine_cpus(files: &Files) -> BTreeSet<usize> {
    let online = files.read("/sys/devices/system/cpu/online").unwrap_or_default();
    let cores = online.parse::<Cores>().or_else(|_| Cores::of_this_process());
    cores.map(|cores| cores.list().iter().copied().collect()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::time::Duration;
    use tidegate_host::sockets::Endpoint;

    #[test]
    fn a_busy_process_is_observed_with_its_thread_and_its_accept_queue() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let endpoint = Endpoint { address: Some(address.ip()), port: address.port() };
        let mut child =
            std::process::Command::new("sh").args(["-c", "while :; do :; done"]).spawn().unwrap();
        let site = Processes::find(endpoint, &[child.id()]).unwrap();
        let mut observation = Observation::begin(&site);
        let _waits = std::net::TcpStream::connect(address).unwrap();
        observation.sample();
        drop(listener);
        while cpu_s(child.id()) < 0.05 {
            std::thread::sleep(Duration::from_millis(1));
        }
        let used = observation.end().unwrap();
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(used.cpus > 0.0 && used.busiest_thread > 0.0, "{used:?}");
        assert_eq!((used.accept_queue, used.processes.len()), (1, 1), "{used:?}");
        assert!(used.machine_cpus >= 1.0 && used.resident_mib > 0.0);
        assert!(site.in_words().contains(&format!("({})", site.heads[0])));
    }

    /// The kernel's number of the calling thread.
    fn this_thread() -> u32 {
        let link = std::fs::read_link("/proc/thread-self").unwrap();
        link.file_name().unwrap().to_str().unwrap().parse().unwrap()
    }

    #[test]
    fn a_thread_that_only_started_the_bound_ones_adds_no_processors() {
        let all = Cores::of_this_thread().unwrap();
        let (tell, told) = std::sync::mpsc::channel();
        let (end, ended) = std::sync::mpsc::channel::<()>();
        let first = all.only(0).unwrap();
        let bound = std::thread::spawn(move || {
            first.pin_this_thread().unwrap();
            tell.send(this_thread()).unwrap();
            let _ = ended.recv();
        });
        let bound_thread = told.recv().unwrap();
        let this = this_thread();
        let times = |ran_ns| ThreadTimes { ran_ns, waited_ns: 0 };
        let of = |starter: u64, worker: u64| {
            cores(&BTreeMap::from([(this, times(starter)), (bound_thread, times(worker))])).len()
        };
        assert_eq!(of(1, 1000), 1);
        assert_eq!(of(1000, 1000), all.list().len(), "both work");
        assert_eq!(cores(&BTreeMap::from([(this, times(0))])).len(), all.list().len());
        drop(end);
        bound.join().unwrap();
    }

    #[test]
    fn processes_of_one_group_share_its_quota_and_those_without_are_not_limited() {
        let root = tempfile::tempdir().unwrap();
        let write = |file: &str, text: &str| {
            let file = root.path().join(file);
            std::fs::create_dir_all(file.parent().unwrap()).unwrap();
            std::fs::write(file, text).unwrap();
        };
        write("proc/self/mountinfo", "30 1 0:26 / /sys/fs/cgroup rw - cgroup2 cgroup2 rw\n");
        for (pid, group) in [(1, "a"), (2, "a"), (3, "b"), (4, "")] {
            write(&format!("proc/{pid}/cgroup"), &format!("0::/{group}\n"));
        }
        write("sys/fs/cgroup/a/cpu.max", "50000 100000\n");
        write("sys/fs/cgroup/b/cpu.max", "25000 100000\n");
        let files = Files::new(root.path());
        assert_eq!(quota(&files, &[1, 2]), Some(0.5));
        assert_eq!(quota(&files, &[1, 2, 3]), Some(0.75));
        assert_eq!(quota(&files, &[1, 4]), None);
        assert_eq!(quota(&files, &[]), None);
    }
}
