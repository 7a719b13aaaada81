//! Control groups: which a process is in, what CPU quota they have, and what
//! CPU time they used. Versions 1 and 2, also both at once.
//!
//! Source: kernel documentation, `admin-guide/cgroup-v1/cgroups`,
//! `scheduler/sched-bwc` and `admin-guide/cgroup-v2`; `proc_pid_mountinfo(5)`.

use super::kernel::Files;
use std::path::{Component, Path, PathBuf};
use std::time::Duration;

/// Where the groups of a kind are mounted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The group that the mount shows as its top: `/` unless in a namespace.
    root: PathBuf,
    /// Where it is mounted.
    point: PathBuf,
}

/// Mounted hierarchies that concern CPU time.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mounts {
    /// Version 1, controller `cpu`.
    pub cpu: Option<Mount>,
    /// Version 1, controller `cpuacct`; often the same mount.
    pub cpuacct: Option<Mount>,
    /// Version 2.
    pub unified: Option<Mount>,
}

impl Mounts {
    /// Reads the text of `/proc/self/mountinfo`; lines of another form are skipped.
    pub fn parse(mountinfo: &str) -> Self {
        let mut mounts = Self::default();
        for line in mountinfo.lines() {
            // id parent major:minor root point options [tags…] - type source options
            let Some((left, right)) = line.split_once(" - ") else { continue };
            let (mut left, mut right) = (left.split(' ').skip(3), right.split(' '));
            let (Some(root), Some(point)) = (left.next(), left.next()) else { continue };
            let (kind, options) = (right.next().unwrap_or_default(), right.nth(1).unwrap_or(""));
            let mount = || Mount { root: unescape(root), point: unescape(point) };
            match kind {
                "cgroup2" => drop(mounts.unified.get_or_insert_with(mount)),
                "cgroup" => {
                    if options.split(',').any(|option| option == "cpu") {
                        mounts.cpu.get_or_insert_with(mount);
                    }
                    if options.split(',').any(|option| option == "cpuacct") {
                        mounts.cpuacct.get_or_insert_with(mount);
                    }
                }
                _ => {}
            }
        }
        mounts
    }
}

/// Undoes the octal escapes of mountinfo (`\040` is a space).
fn unescape(text: &str) -> PathBuf {
    let mut bytes = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        let octal = tail.get(..3).filter(|digits| digits.iter().all(|d| (b'0'..=b'7').contains(d)));
        match (first, octal) {
            (b'\\', Some(digits)) => {
                let value =
                    digits.iter().fold(0_u32, |value, digit| value * 8 + u32::from(digit - b'0'));
                bytes.push(value as u8);
                rest = &tail[3..];
            }
            _ => {
                bytes.push(*first);
                rest = tail;
            }
        }
    }
    String::from_utf8_lossy(&bytes).into_owned().into()
}

/// Groups of one process, as the kernel names them.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Membership {
    /// Version 1, controller `cpu`.
    pub cpu: Option<PathBuf>,
    /// Version 2.
    pub unified: Option<PathBuf>,
}

impl Membership {
    /// Reads the text of `/proc/PID/cgroup`; lines of another form are skipped.
    pub fn parse(text: &str) -> Self {
        let mut groups = Self::default();
        for line in text.lines() {
            // number:controllers:path, where the path may hold colons.
            let mut parts = line.splitn(3, ':');
            let (Some(number), Some(kinds), Some(path)) =
                (parts.next(), parts.next(), parts.next())
            else {
                continue;
            };
            if !path.starts_with('/') {
                continue;
            }
            if number == "0" && kinds.is_empty() {
                groups.unified = Some(path.into());
            } else if kinds.split(',').any(|kind| kind == "cpu") {
                groups.cpu = Some(path.into());
            }
        }
        groups
    }

    /// The groups of a process; none where it is gone.
    pub fn of_process(files: &Files, pid: u32) -> Self {
        files.read(format!("/proc/{pid}/cgroup")).map(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// The group of one path in every hierarchy.
    pub fn of_path(path: &Path) -> Self {
        Self { cpu: Some(path.into()), unified: Some(path.into()) }
    }

    /// The nearest groups that both are in.
    pub fn common(&self, other: &Self) -> Self {
        let common = |one: &Option<PathBuf>, other: &Option<PathBuf>| {
            let pairs = one.as_ref()?.components().zip(other.as_ref()?.components());
            Some(pairs.take_while(|(a, b)| a == b).map(|(a, _)| a).collect())
        };
        Self { cpu: common(&self.cpu, &other.cpu), unified: common(&self.unified, &other.unified) }
    }
}

/// The folder of a group and all folders above it up to the mount, deepest
/// first. A group outside of what the mount shows is the mount's top.
fn folders(mount: &Mount, group: &Path) -> Vec<PathBuf> {
    let below = group.strip_prefix(&mount.root).unwrap_or(Path::new(""));
    let below = below.strip_prefix("/").unwrap_or(below);
    let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
    let below = if plain { below } else { Path::new("") };
    below.ancestors().map(|part| mount.point.join(part)).collect()
}

/// The folder of a group.
pub fn folder(mount: &Mount, group: &Path) -> PathBuf {
    folders(mount, group).swap_remove(0)
}

/// The smallest CPU quota of a group and those above it, in processors; none
/// where nothing limits it.
pub fn quota(files: &Files, mounts: &Mounts, groups: &Membership) -> Option<f64> {
    let mut least: Option<f64> = None;
    let mut limit = |quota: Option<f64>| {
        if let Some(quota) = quota {
            least = Some(least.map_or(quota, |least| least.min(quota)));
        }
    };
    if let (Some(mount), Some(group)) = (&mounts.cpu, &groups.cpu) {
        for folder in folders(mount, group) {
            let quota = files.read(folder.join("cpu.cfs_quota_us"));
            let period = files.read(folder.join("cpu.cfs_period_us"));
            limit(quota.zip(period).and_then(|(quota, period)| v1_quota(&quota, &period)));
        }
    }
    if let (Some(mount), Some(group)) = (&mounts.unified, &groups.unified) {
        for folder in folders(mount, group) {
            limit(files.read(folder.join("cpu.max")).and_then(|text| v2_quota(&text)));
        }
    }
    least
}

/// Processors from `cpu.cfs_quota_us` and `cpu.cfs_period_us`; none for no limit (-1).
fn v1_quota(quota: &str, period: &str) -> Option<f64> {
    ratio(quota.trim(), period.trim())
}

/// Processors from `cpu.max`: `max 100000` is no limit, `50000 100000` half of one.
fn v2_quota(text: &str) -> Option<f64> {
    let mut parts = text.split_whitespace();
    ratio(parts.next()?, parts.next().unwrap_or("100000"))
}

/// Quota over period, both in microseconds and above 0.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.parse::<i64>().ok()?, period.parse::<i64>().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// CPU time that a group and those below it used; none where neither version tells.
pub fn used(files: &Files, mounts: &Mounts, group: &Path) -> Option<Duration> {
    let folder = |mount: &Option<Mount>| Some(folder(mount.as_ref()?, group));
    if let Some(text) = folder(&mounts.cpuacct).and_then(|f| files.read(f.join("cpuacct.usage"))) {
        return text.trim().parse().ok().map(Duration::from_nanos);
    }
    let text = files.read(folder(&mounts.unified)?.join("cpu.stat"))?;
    let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    usage.trim().parse().ok().map(Duration::from_micros)
}

/// Most processes of a group whose affinity is looked at.
const GROUP_PIDS: usize = 256;

/// Processes in a group itself (not below it), 256 at most.
pub fn processes(files: &Files, mounts: &Mounts, group: &Path) -> Vec<u32> {
    for mount in [&mounts.cpu, &mounts.cpuacct, &mounts.unified].into_iter().flatten() {
        let folder = folders(mount, group).into_iter().next();
        if let Some(text) = folder.and_then(|folder| files.read(folder.join("cgroup.procs"))) {
            let pids: Vec<u32> =
                text.lines().filter_map(|line| line.parse().ok()).take(GROUP_PIDS).collect();
            if !pids.is_empty() {
                return pids;
            }
        }
    }
    Vec::new()
}

#[cfg(test)]
mod tests {
    use super::*;

    const V1: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
31 23 0:28 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:12 master:3 - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
";

    fn mount(root: &str, point: &str) -> Option<Mount> {
        Some(Mount { root: root.into(), point: point.into() })
    }

    #[test]
    fn mounts_are_found_by_controller_not_by_name() {
        let mounts = Mounts::parse(V1);
        assert_eq!(mounts.cpu, mount("/", "/sys/fs/cgroup/cpu,cpuacct"));
        assert_eq!(mounts.cpuacct, mounts.cpu);
        assert_eq!(mounts.unified, mount("/", "/sys/fs/cgroup/unified"));
        let container = "683 682 0:29 /docker/4f2a /a\\040b rw master:11 - cgroup2 cgroup rw\n";
        assert_eq!(Mounts::parse(container).unified, mount("/docker/4f2a", "/a b"));
    }

    #[test]
    fn hostile_mountinfo_yields_nothing() {
        for text in ["", " - ", "a - cgroup2", "1 2 3 / - cgroup2 x y", "\u{0} - cgroup x cpu\n\\"]
        {
            assert_eq!(Mounts::parse(text), Mounts::default(), "{text:?}");
        }
    }

    #[test]
    fn membership_reads_both_versions_and_paths_with_colons() {
        let text = "12:cpuset:/\n4:cpu,cpuacct:/shop.slice/a:b\n0::/shop.slice/x.service\nx\n9:y\n";
        let groups = Membership::parse(text);
        assert_eq!(groups.cpu.as_deref(), Some(Path::new("/shop.slice/a:b")));
        assert_eq!(groups.unified.as_deref(), Some(Path::new("/shop.slice/x.service")));
        assert_eq!(Membership::parse("0::relative\n:::"), Membership::default());
    }

    #[test]
    fn folders_run_from_the_group_to_the_mount() {
        let found = |root: &str, group: &str| -> Vec<String> {
            let mount = mount(root, "/m").unwrap();
            let show = |folder: PathBuf| folder.to_str().unwrap().trim_end_matches('/').to_owned();
            folders(&mount, Path::new(group)).into_iter().map(show).collect()
        };
        assert_eq!(found("/", "/a/b"), ["/m/a/b", "/m/a", "/m"]);
        assert_eq!(found("/", "/"), ["/m"]);
        assert_eq!(found("/docker/4f", "/docker/4f/x"), ["/m/x", "/m"]);
        assert_eq!(found("/docker/4f", "/docker/other"), ["/m"], "outside of the namespace");
        assert_eq!(found("/", "/../../etc"), ["/m"], "never out of the mount");
    }

    #[test]
    fn quotas_by_hand() {
        assert_eq!(v1_quota("150000\n", "100000\n"), Some(1.5));
        assert_eq!(v1_quota("-1\n", "100000\n"), None);
        assert_eq!(v2_quota("50000 100000\n"), Some(0.5));
        assert_eq!(v2_quota("max 100000\n"), None);
        assert_eq!(v2_quota("200000"), Some(2.0));
        for bad in ["", "x y", "0 100000", "100 0", "-5 -5", "1e3 1", "99999999999999999999 1"] {
            assert_eq!(v2_quota(bad), None, "{bad:?}");
        }
    }

    fn write(root: &Path, path: &str, text: &str) {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, text).unwrap();
    }

    #[test]
    fn the_smallest_quota_on_the_way_up_counts() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::new(root.path());
        let cpu = "sys/fs/cgroup/cpu,cpuacct";
        write(root.path(), &format!("{cpu}/a/b/cpu.cfs_quota_us"), "-1\n");
        write(root.path(), &format!("{cpu}/a/b/cpu.cfs_period_us"), "100000\n");
        write(root.path(), &format!("{cpu}/a/cpu.cfs_quota_us"), "50000\n");
        write(root.path(), &format!("{cpu}/a/cpu.cfs_period_us"), "100000\n");
        write(root.path(), "sys/fs/cgroup/unified/s/cpu.max", "30000 100000\n");
        write(root.path(), "sys/fs/cgroup/unified/cpu.max", "max 100000\n");
        let mounts = Mounts::parse(V1);
        let quota = |text: &str| quota(&files, &mounts, &Membership::parse(text));
        assert_eq!(quota("4:cpu,cpuacct:/a/b\n"), Some(0.5));
        assert_eq!(quota("4:cpu,cpuacct:/\n"), None);
        assert_eq!(quota("4:cpu,cpuacct:/a\n0::/s/t\n"), Some(0.3));
    }

    #[test]
    fn used_time_is_read_from_either_version() {
        let root = tempfile::tempdir().unwrap();
        let files = Files::new(root.path());
        let mounts = Mounts::parse(V1);
        assert_eq!(used(&files, &mounts, Path::new("/s")), None);
        let stat = "nr_periods 0\nusage_usec 1500000\nuser_usec 1\n";
        write(root.path(), "sys/fs/cgroup/unified/s/cpu.stat", stat);
        assert_eq!(used(&files, &mounts, Path::new("/s")), Some(Duration::from_millis(1500)));
        write(root.path(), "sys/fs/cgroup/cpu,cpuacct/s/cpuacct.usage", "2500000000\n");
        assert_eq!(used(&files, &mounts, Path::new("/s")), Some(Duration::from_millis(2500)));
        write(root.path(), "sys/fs/cgroup/cpu,cpuacct/s/cpuacct.usage", "-3\n");
        assert_eq!(used(&files, &mounts, Path::new("/s")), None);
    }

    #[test]
    fn the_common_group_is_the_longest_shared_path() {
        let (one, other) = ("0::/a/b/c\n4:cpu:/x\n", "0::/a/b2/c\n4:cpu:/x\n");
        let common = Membership::parse(one).common(&Membership::parse(other));
        assert_eq!(common, Membership { cpu: Some("/x".into()), unified: Some("/a".into()) });
    }

    proptest::proptest! {
        #[test]
        fn no_text_panics(text in "[0-9a-z/:, \\\\.\n-]{0,120}") {
            let mounts = Mounts::parse(&text);
            let groups = Membership::parse(&text);
            let files = Files::new("/nowhere");
            quota(&files, &mounts, &groups);
            v2_quota(&text);
        }
    }
}
