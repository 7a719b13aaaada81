//! For how long the quota stopped a control group, and the memory that it holds.
//!
//! Source: kernel documentation, `scheduler/sched-bwc` and `admin-guide/cgroup-v2`.

use std::path::PathBuf;
use std::time::Duration;

use super::{Membership, Mounts};
use crate::Files;

/// Time for which the quota stopped the group of the controller `cpu`; `None` where neither
/// version reports it.
pub fn throttled(files: &Files, mounts: &Mounts, groups: &Membership) -> Option<Duration> {
    let value = |text: &str, name: &str| -> Option<u64> {
        text.lines().find_map(|line| line.strip_prefix(name))?.trim().parse().ok()
    };
    if let (Some(mount), Some(group)) = (&mounts.cpu, &groups.cpu)
        && let Some(text) = files.read(mount.folder(group).join("cpu.stat"))
    {
        return value(&text, "throttled_time ").map(Duration::from_nanos);
    }
    let text = files.read(unified(mounts, groups)?.join("cpu.stat"))?;
    value(&text, "throttled_usec ").map(Duration::from_micros)
}

/// Bytes of memory that the group of version 2 holds; `None` where there is none.
pub fn memory_bytes(files: &Files, mounts: &Mounts, groups: &Membership) -> Option<u64> {
    files.read(unified(mounts, groups)?.join("memory.current"))?.trim().parse().ok()
}

/// The folder of the group of version 2.
pub fn unified(mounts: &Mounts, groups: &Membership) -> Option<PathBuf> {
    Some(mounts.unified.as_ref()?.folder(groups.unified.as_ref()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn either_version_reports_how_long_the_quota_stopped_a_group() {
        let root = tempfile::tempdir().unwrap();
        let write = |path: &str, text: &str| {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        let files = Files::new(root.path());
        let mounts = Mounts::parse(crate::cgroup::V1);
        let groups = Membership::parse("4:cpu,cpuacct:/a\n0::/s\n");
        assert_eq!(throttled(&files, &mounts, &groups), None);
        write("sys/fs/cgroup/unified/s/cpu.stat", "usage_usec 5\nthrottled_usec 7\n");
        write("sys/fs/cgroup/unified/s/memory.current", "4096\n");
        assert_eq!(throttled(&files, &mounts, &groups), Some(Duration::from_micros(7)));
        assert_eq!(memory_bytes(&files, &mounts, &groups), Some(4096));
        let v1 = "nr_periods 0\nnr_throttled 0\nthrottled_time 9\n";
        write("sys/fs/cgroup/cpu,cpuacct/a/cpu.stat", v1);
        assert_eq!(throttled(&files, &mounts, &groups), Some(Duration::from_nanos(9)));
    }
}
