//! The CPU quota of control groups, the CPU time that they used, and their processes.
//!
//! Source: kernel documentation, `scheduler/sched-bwc`, `admin-guide/cgroup-v1/cpuacct`
//! and `admin-guide/cgroup-v2`.

use std::collections::BTreeSet;
use std::path::Path;
use std::time::Duration;

use super::{Membership, Mount, Mounts};
use crate::Files;

/// The smallest CPU quota of the groups and of those above them, in processors; `None`
/// where nothing limits them.
pub fn quota(files: &Files, mounts: &Mounts, groups: &Membership) -> Option<f64> {
    let mut least: Option<f64> = None;
    let mut limit = |quota: Option<f64>| {
        if let Some(quota) = quota {
            least = Some(least.map_or(quota, |least| least.min(quota)));
        }
    };
    if let (Some(mount), Some(group)) = (&mounts.cpu, &groups.cpu) {
        for folder in mount.folders(group) {
            let quota = files.read(folder.join("cpu.cfs_quota_us"));
            let period = files.read(folder.join("cpu.cfs_period_us"));
            limit(quota.zip(period).and_then(|(quota, period)| v1_quota(&quota, &period)));
        }
    }
    if let (Some(mount), Some(group)) = (&mounts.unified, &groups.unified) {
        for folder in mount.folders(group) {
            limit(files.read(folder.join("cpu.max")).and_then(|text| v2_quota(&text)));
        }
    }
    least
}

/// The smallest capacity in processors: the kernel's smallest quota, 1 ms of 1 s.
pub const LEAST_CPUS: f64 = 0.001;

/// The lesser of a number of processors and a quota, and at least [`LEAST_CPUS`].
pub fn within(cpus: f64, quota: Option<f64>) -> f64 {
    quota.map_or(cpus, |quota| quota.min(cpus)).max(LEAST_CPUS)
}

/// What groups together may use of so many processors, and what they have in common: at most the
/// sum of their quotas and of `beside`, and at most the quota of what they have in common.
pub fn together(
    files: &Files,
    mounts: &Mounts,
    groups: &BTreeSet<Membership>,
    processors: usize,
    beside: f64,
) -> (f64, Membership) {
    let top = groups.iter().cloned().reduce(|a, b| a.common(&b)).unwrap_or_default();
    // One group without a quota makes the sum unlimited.
    let sum: Option<f64> = groups.iter().map(|group| quota(files, mounts, group)).sum();
    let each = within(processors as f64, sum.map(|sum| sum + beside));
    (within(each, quota(files, mounts, &top)), top)
}

/// Processors from `cpu.cfs_quota_us` and `cpu.cfs_period_us`; `None` for no limit (-1).
fn v1_quota(quota: &str, period: &str) -> Option<f64> {
    ratio(quota.trim(), period.trim())
}

/// Processors from `cpu.max`: `max 100000` is no limit, `50000 100000` is 0.5.
fn v2_quota(text: &str) -> Option<f64> {
    let mut parts = text.split_whitespace();
    ratio(parts.next()?, parts.next().unwrap_or("100000"))
}

/// Quota over period, both in microseconds and above 0.
fn ratio(quota: &str, period: &str) -> Option<f64> {
    let (quota, period) = (quota.parse::<i64>().ok()?, period.parse::<i64>().ok()?);
    (quota > 0 && period > 0).then(|| quota as f64 / period as f64)
}

/// CPU time that a group and those below it have used; `None` where neither version
/// reports it.
pub fn used(files: &Files, mounts: &Mounts, group: &Path) -> Option<Duration> {
    let folder = |mount: &Option<Mount>| Some(mount.as_ref()?.folder(group));
    if let Some(text) = folder(&mounts.cpuacct).and_then(|f| files.read(f.join("cpuacct.usage"))) {
        return text.trim().parse().ok().map(Duration::from_nanos);
    }
    let text = files.read(folder(&mounts.unified)?.join("cpu.stat"))?;
    let usage = text.lines().find_map(|line| line.strip_prefix("usage_usec "))?;
    usage.trim().parse().ok().map(Duration::from_micros)
}

/// Most processes that are listed of a group.
const GROUP_PIDS: usize = 256;

/// Processes in a group itself, not below it; at most 256.
pub fn processes(files: &Files, mounts: &Mounts, group: &Path) -> Vec<u32> {
    for mount in [&mounts.cpu, &mounts.cpuacct, &mounts.unified].into_iter().flatten() {
        if let Some(text) = files.read(mount.folder(group).join("cgroup.procs")) {
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
    use crate::cgroup::V1;

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
