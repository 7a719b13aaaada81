//! The meter on a host whose kernel and files the tests define.

use std::collections::HashMap;
use std::net::IpAddr;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use tempfile::TempDir;
use tidegate_control::{ByResource, ResourceName, Usage};
use tidegate_host::{Cores, Files, Kernel, Live};

use super::*;
use crate::config::Config;

const GATE: u32 = 100;
const MS: Duration = Duration::from_millis(1);

/// Processes by id with their affinity and CPU time.
type Table = Arc<Mutex<HashMap<u32, (Vec<usize>, Duration)>>>;

struct Fake(Table);

impl Kernel for Fake {
    fn affinity(&self, pid: u32) -> Option<Cores> {
        Cores::new(self.0.lock().unwrap().get(&pid)?.0.iter().copied()).ok()
    }

    fn cpu_time(&self, pid: u32) -> Option<Duration> {
        self.0.lock().unwrap().get(&pid).map(|(_, time)| *time)
    }

    fn is_own_address(&self, address: IpAddr) -> bool {
        address.is_loopback()
    }
}

/// The host of a test, with a meter on it.
struct Host {
    root: TempDir,
    table: Table,
    meter: UsageMeter,
    now: Instant,
}

const MOUNTINFO: &str = "\
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw - cgroup cgroup rw,cpu,cpuacct
41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw
";

impl Host {
    /// A gate on processors 0 and 1; `upstream` is the section of that name.
    fn new(upstream: &str) -> Self {
        let config = Config::from_toml(&format!("[upstream]\n{upstream}\n"), "t").unwrap();
        let root = tempfile::tempdir().unwrap();
        let table = Table::default();
        let meter = UsageMeter::with(
            Files::new(root.path()),
            Box::new(Fake(table.clone())),
            GATE,
            (&config.upstreams().into_iter().cloned().collect::<Vec<_>>(), None),
        );
        let host = Self { root, table, meter, now: Instant::now() };
        host.write("proc/self/mountinfo", MOUNTINFO);
        host.process(GATE, &[0, 1], Duration::ZERO);
        host
    }

    fn write(&self, path: &str, text: &str) {
        let path = self.root.path().join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    fn process(&self, pid: u32, cpus: &[usize], time: Duration) {
        self.table.lock().unwrap().insert(pid, (cpus.to_vec(), time));
    }

    fn quota(&self, group: &str, quota: &str) {
        self.write(&format!("sys/fs/cgroup/cpu,cpuacct{group}/cpu.cfs_quota_us"), quota);
        self.write(&format!("sys/fs/cgroup/cpu,cpuacct{group}/cpu.cfs_period_us"), "100000");
    }

    /// Lets a process listen on port 8080 of any address.
    fn listen(&self, pid: u32) {
        let line = "0: 00000000:1F90 00000000:0000 0A 0:0 0:0 0 0 0 55 1";
        self.write("proc/net/tcp", &format!("head\n{line}\n"));
        let folder = self.root.path().join(format!("proc/{pid}/fd"));
        std::fs::create_dir_all(&folder).unwrap();
        std::os::unix::fs::symlink("socket:[55]", folder.join("7")).unwrap();
    }

    fn after(&mut self, wait: Duration) -> Sample {
        self.now += wait;
        self.meter.sample_at(self.now).into()
    }
}

/// A sample with the resources by field.
struct Sample {
    gate: Usage,
    upstream: Option<Usage>,
    routed: Option<Usage>,
    shared: Option<Usage>,
}

impl From<ByResource<Usage>> for Sample {
    fn from(sample: ByResource<Usage>) -> Self {
        let of = |name| sample.get(name).copied();
        Self {
            gate: of(ResourceName::Gate).unwrap(),
            upstream: of(ResourceName::Upstream),
            routed: of(ResourceName::Routed),
            shared: of(ResourceName::Host),
        }
    }
}

const AUTO: &str = "url = \"http://127.0.0.1:8080\"";
const TWENTY: &str = "url = \"http://127.0.0.1:8080\"\nprocesses = [20, 21]";

#[test]
fn the_gates_usage_is_the_difference_of_its_clock() {
    let mut host = Host::new(AUTO);
    let first = host.after(MS);
    assert_eq!(first.gate, Usage { capacity_cpus: 2.0, used_cpu_s: None, idle: None });
    host.process(GATE, &[0, 1], 30 * MS);
    assert_eq!(host.after(100 * MS).gate.used_cpu_s, Some(0.03));
    assert_eq!(host.after(100 * MS).gate.used_cpu_s, Some(0.0));
}

#[test]
fn a_change_of_affinity_or_quota_shows_within_half_a_second() {
    let mut host = Host::new(AUTO);
    assert_eq!(host.after(MS).gate.capacity_cpus, 2.0);
    host.process(GATE, &[1], Duration::ZERO);
    assert_eq!(host.after(500 * MS).gate.capacity_cpus, 1.0);
    host.write(&format!("proc/{GATE}/cgroup"), "4:cpu,cpuacct:/box/inner\n0::/\n");
    host.quota("/box", "25000");
    assert_eq!(host.after(500 * MS).gate.capacity_cpus, 0.25);
    host.quota("/box", "-1");
    host.write("sys/fs/cgroup/unified/cpu.max", "70000 100000");
    assert_eq!(host.after(500 * MS).gate.capacity_cpus, 0.7);
}

#[test]
fn the_gate_has_no_more_processors_than_it_is_pinned_to() {
    let mut host = Host::new(AUTO);
    host.meter = host.meter.on_cores(&[1]);
    assert_eq!(host.after(MS).gate.capacity_cpus, 1.0);
    // None of its cores is allowed any more: the kernel runs it on others.
    host.process(GATE, &[2, 3], Duration::ZERO);
    assert_eq!(host.after(500 * MS).gate.capacity_cpus, 2.0);
}

#[test]
fn the_process_that_listens_on_the_upstreams_port_is_the_upstream() {
    let mut host = Host::new(AUTO);
    assert_eq!(host.after(MS).upstream, None);
    let note = host.meter.upstream_note().unwrap();
    assert!(note.contains("no process on this host listens on port 8080"), "{note}");
    host.listen(20);
    host.process(20, &[1, 2], 5000 * MS);
    let sample = host.after(500 * MS);
    assert_eq!(sample.upstream, Some(Usage { capacity_cpus: 2.0, used_cpu_s: None, idle: None }));
    assert_eq!(sample.shared.unwrap().capacity_cpus, 3.0);
    host.process(20, &[1, 2], 5040 * MS);
    assert_eq!(host.after(100 * MS).upstream.unwrap().used_cpu_s, Some(0.04));
}

#[test]
fn the_processes_of_all_servers_on_this_host_are_the_upstream_and_others_are_told() {
    let mut host = Host::new("url = [\"http://127.0.0.1:8080\", \"unix:/run/a shop.sock\"]");
    host.listen(20);
    host.process(20, &[1], Duration::ZERO);
    host.after(MS);
    let note = host.meter.upstream_note().unwrap();
    assert!(note.contains("no process on this host listens on /run/a shop.sock"), "{note}");
    let listens = "ffff: 00000002 00000000 00010000 0001 01 77 /run/a shop.sock";
    let connected = "ffff: 00000003 00000000 00000000 0001 03 78 /run/a shop.sock";
    host.write("proc/net/unix", &format!("head\n{connected}\n{listens}\n"));
    let folder = host.root.path().join("proc/30/fd");
    std::fs::create_dir_all(&folder).unwrap();
    std::os::unix::fs::symlink("socket:[77]", folder.join("3")).unwrap();
    host.process(30, &[2], Duration::ZERO);
    assert_eq!(host.after(Duration::from_secs(1)).upstream.unwrap().capacity_cpus, 2.0);
    assert_eq!(host.meter.upstream_note(), None);
    host.process(20, &[1], 30 * MS);
    host.process(30, &[2], 10 * MS);
    assert_eq!(host.after(100 * MS).upstream.unwrap().used_cpu_s, Some(0.04));

    let mut host = Host::new("url = [\"http://127.0.0.1:8080\", \"http://192.0.2.7:8080\"]");
    host.listen(20);
    host.process(20, &[1], Duration::ZERO);
    assert_eq!(host.after(MS).upstream.unwrap().capacity_cpus, 1.0, "what is seen of it");
    let note = host.meter.upstream_note().unwrap();
    assert!(note.contains("192.0.2.7 is not this host"), "{note}");
}

#[test]
fn processes_on_shared_processors_share_their_usage_and_idle_time() {
    let mut host = Host::new(TWENTY);
    host.process(20, &[1, 2], Duration::ZERO);
    host.write("proc/stat", "cpu0 0 0 0 0\ncpu1 0 0 0 0\ncpu2 0 0 0 0\n");
    assert_eq!(host.after(MS).shared.unwrap().used_cpu_s, None);
    host.process(GATE, &[0, 1], 10 * MS);
    host.process(20, &[1, 2], 20 * MS);
    host.write("proc/stat", "cpu0 0 0 0 10\ncpu1 5 0 0 5\ncpu2 10 0 0 0\n");
    let Sample { gate, upstream, shared, .. } = host.after(100 * MS);
    let idle = [gate, upstream.unwrap(), shared.unwrap()].map(|usage| usage.idle.unwrap());
    assert_eq!(idle, [0.75, 0.25, 0.5]);
    assert_eq!(shared.unwrap().used_cpu_s, Some(0.03));
}

#[test]
fn an_upstream_on_another_host_is_not_searched() {
    for url in ["http://192.0.2.7:8080", "https://shop.example"] {
        let mut host = Host::new(&format!("url = \"{url}\""));
        host.listen(20);
        host.process(20, &[0], Duration::ZERO);
        assert_eq!(host.after(MS).upstream, None);
        assert!(host.meter.upstream_note().unwrap().contains("is not this host"));
    }
}

#[test]
fn a_relay_is_not_measured_as_the_service() {
    let mut host = Host::new(AUTO);
    host.listen(20);
    host.process(20, &[0], Duration::ZERO);
    host.write("proc/20/comm", "docker-proxy\n");
    assert_eq!(host.after(MS).upstream, None);
    assert!(host.meter.upstream_note().unwrap().starts_with("docker-proxy listens on port 8080"));
}

#[test]
fn the_gate_itself_is_never_its_upstream() {
    let mut host = Host::new(AUTO);
    host.listen(GATE);
    assert_eq!(host.after(MS).upstream, None);
}

#[test]
fn processes_that_end_and_start_never_make_usage_negative() {
    let mut host = Host::new(TWENTY);
    host.process(20, &[0], 10_000 * MS);
    host.process(21, &[0], 500 * MS);
    assert_eq!(host.after(MS).upstream.unwrap().used_cpu_s, None);
    host.process(20, &[0], 10_010 * MS);
    host.table.lock().unwrap().remove(&21);
    assert_eq!(host.after(100 * MS).upstream.unwrap().used_cpu_s, Some(0.01));
    // 20 ends, and another process has its id: all that it used is new.
    host.process(20, &[0], 3 * MS);
    assert_eq!(host.after(100 * MS).upstream.unwrap().used_cpu_s, Some(0.003));
    // 21 is visible again: what it used before does not belong to this interval.
    host.process(21, &[0], 90_000 * MS);
    assert_eq!(host.after(500 * MS).upstream.unwrap().used_cpu_s, Some(0.0));
    host.table.lock().unwrap().retain(|pid, _| *pid == GATE);
    assert_eq!(host.after(100 * MS).upstream, None);
}

#[test]
fn separate_processors_are_not_shared() {
    let mut host = Host::new(TWENTY);
    host.process(20, &[2, 3], Duration::ZERO);
    let sample = host.after(MS);
    assert_eq!((sample.upstream.unwrap().capacity_cpus, sample.shared), (2.0, None));
}

#[test]
fn a_common_quota_is_shared_even_on_separate_processors() {
    let mut host = Host::new(TWENTY);
    host.process(20, &[2, 3], Duration::ZERO);
    host.write(&format!("proc/{GATE}/cgroup"), "4:cpu,cpuacct:/box/gate\n");
    host.write("proc/20/cgroup", "4:cpu,cpuacct:/box/shop\n");
    host.quota("/box", "150000");
    let sample = host.after(MS);
    assert_eq!(sample.gate.capacity_cpus, 1.5);
    assert_eq!(sample.upstream.unwrap().capacity_cpus, 1.5);
    assert_eq!(sample.shared.unwrap().capacity_cpus, 1.5);
}

#[test]
fn quotas_of_separate_groups_add_up_below_that_of_their_parent() {
    let mut host = Host::new(TWENTY);
    for (pid, group) in [(20, "a"), (21, "b")] {
        host.process(pid, &[0, 1, 2, 3], Duration::ZERO);
        host.write(&format!("proc/{pid}/cgroup"), &format!("4:cpu,cpuacct:/pool/{group}\n"));
        host.quota(&format!("/pool/{group}"), "100000");
    }
    assert_eq!(host.after(MS).upstream.unwrap().capacity_cpus, 2.0);
    host.quota("/pool", "120000");
    assert_eq!(host.after(500 * MS).upstream.unwrap().capacity_cpus, 1.2);
}

#[test]
fn a_group_is_measured_by_its_own_account() {
    let mut host = Host::new("url = \"http://192.0.2.7:80\"\ncgroup = \"/shop.slice\"");
    assert_eq!(host.after(MS).upstream, None);
    assert!(host.meter.upstream_note().unwrap().contains("/shop.slice does not exist"));
    let usage = "sys/fs/cgroup/cpu,cpuacct/shop.slice/cpuacct.usage";
    host.write(usage, "1000000000");
    host.write("sys/devices/system/cpu/online", "0-3\n");
    let sample = host.after(500 * MS);
    assert_eq!(host.meter.upstream_note(), None);
    assert_eq!(
        sample.upstream.unwrap(),
        Usage { capacity_cpus: 4.0, used_cpu_s: None, idle: None }
    );
    host.write(usage, "1250000000");
    host.quota("/shop.slice", "50000");
    let sample = host.after(500 * MS);
    assert_eq!(
        sample.upstream.unwrap(),
        Usage { capacity_cpus: 0.5, used_cpu_s: Some(0.25), idle: None }
    );
    std::fs::remove_file(host.root.path().join(usage)).unwrap();
    assert_eq!(host.after(500 * MS).upstream, None);
    host.after(500 * MS);
    assert!(host.meter.upstream_note().unwrap().contains("/shop.slice does not exist"));
    // Removed and created again: its account starts at 0.
    host.write(usage, "5");
    assert_eq!(host.after(500 * MS).upstream.unwrap().used_cpu_s, None);
}

/// The upstream of [`TWENTY`], and one of a route with process 30.
const PARTITIONED: &str = "url = \"http://127.0.0.1:8080\"\nprocesses = [20]\n[[routes]]\n\
                           path = \"/checkout\"\nurl = \"http://127.0.0.1:8081\"\nprocesses = [30]";

#[test]
fn an_upstream_of_a_route_with_processors_of_its_own_is_a_resource_of_its_own() {
    let mut host = Host::new(PARTITIONED);
    host.process(20, &[2], Duration::ZERO);
    host.process(30, &[3, 4], Duration::ZERO);
    host.after(MS);
    host.process(20, &[2], 10 * MS);
    host.process(30, &[3, 4], 50 * MS);
    let sample = host.after(100 * MS);
    let usage =
        |capacity_cpus, used_s| Usage { capacity_cpus, used_cpu_s: Some(used_s), idle: None };
    assert_eq!(sample.upstream, Some(usage(1.0, 0.01)));
    assert_eq!(sample.routed, Some(usage(2.0, 0.05)));
    assert_eq!(sample.shared, None);
}

#[test]
fn an_upstream_of_a_route_that_shares_processors_is_a_part_of_the_upstream() {
    for (pinned, cpus, host_cpus) in [(&[2_usize, 3][..], 2.0, None), (&[1, 3], 3.0, Some(4.0))] {
        let mut host = Host::new(PARTITIONED);
        host.process(20, &[2], Duration::ZERO);
        host.process(30, pinned, Duration::ZERO);
        host.after(MS);
        host.process(20, &[2], 10 * MS);
        host.process(30, pinned, 50 * MS);
        let sample = host.after(100 * MS);
        let upstream = sample.upstream.unwrap();
        assert_eq!((upstream.capacity_cpus, upstream.used_cpu_s), (cpus, Some(0.06)));
        assert_eq!(sample.routed, None);
        assert_eq!(sample.shared.map(|host| host.capacity_cpus), host_cpus);
    }
}

#[test]
fn an_upstream_of_a_route_that_is_not_there_leaves_the_other_in_view() {
    let mut host = Host::new(PARTITIONED);
    host.process(20, &[2], Duration::ZERO);
    let sample = host.after(MS);
    assert_eq!((sample.upstream.unwrap().capacity_cpus, sample.routed), (1.0, None));
    host.process(30, &[3], Duration::ZERO);
    assert!(host.after(600 * MS).routed.is_some(), "found when it comes");
}

#[test]
fn a_host_that_reports_nothing_counts_as_one_processor() {
    let mut host = Host::new(AUTO);
    host.table.lock().unwrap().clear();
    std::fs::remove_dir_all(host.root.path().join("proc")).unwrap();
    let sample = host.after(MS);
    assert_eq!(sample.gate, Usage { capacity_cpus: 1.0, used_cpu_s: None, idle: None });
    assert_eq!(sample.upstream, None);
}

#[test]
fn junk_in_every_file_changes_nothing() {
    let mut host = Host::new(TWENTY);
    host.process(20, &[0], Duration::ZERO);
    for path in
        ["proc/100/cgroup", "proc/20/cgroup", "proc/net/tcp", "proc/self/mountinfo", "proc/stat"]
    {
        host.write(path, "\u{0}\u{ff}\n:::\n 0: zz - cgroup2 /\n");
    }
    let sample = host.after(MS);
    assert_eq!((sample.gate.capacity_cpus, sample.shared.unwrap().capacity_cpus), (2.0, 2.0));
}

#[test]
fn the_running_kernel_shows_a_child_process_that_listens() {
    // This test process listens; to a meter of another process it is the upstream.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("[upstream]\nurl = \"http://{}\"", listener.local_addr().unwrap());
    let config = Config::from_toml(&url, "t").unwrap();
    let parent = std::os::unix::process::parent_id();
    let mut meter =
        UsageMeter::with(Files::new("/"), Box::new(Live), parent, (&[config.upstream], None));
    meter.sample();
    let sample = Sample::from(meter.sample());
    let upstream = sample.upstream.expect("the listener is this process");
    assert!(upstream.used_cpu_s.unwrap() > 0.0 && upstream.capacity_cpus > 0.0);
    assert!(sample.gate.capacity_cpus > 0.0);
    assert!(Path::new("/proc/self/cgroup").exists());
}
