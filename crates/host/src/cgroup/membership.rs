//! The control groups that a process is in.
//!
//! Source: `cgroups(7)`, section "/proc files".

use std::path::{Path, PathBuf};

use procfs_core::{FromBufRead, ProcessCGroups};

use crate::Files;

/// The groups of one process, by the paths that the kernel reports.
#[derive(Clone, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Membership {
    /// Version 1, controller `cpu`.
    pub cpu: Option<PathBuf>,
    /// Version 2.
    pub unified: Option<PathBuf>,
}

impl Membership {
    /// Reads the text of `/proc/PID/cgroup`. It is parsed line by line, so that a
    /// malformed line is skipped and the others count.
    pub fn parse(text: &str) -> Self {
        let mut groups = Self::default();
        let lines =
            text.lines().filter_map(|line| ProcessCGroups::from_buf_read(line.as_bytes()).ok());
        for group in lines.flatten().filter(|group| group.pathname.starts_with('/')) {
            if group.hierarchy == 0 && group.controllers.is_empty() {
                groups.unified = Some(group.pathname.into());
            } else if group.controllers.iter().any(|controller| controller == "cpu") {
                groups.cpu = Some(group.pathname.into());
            }
        }
        groups
    }

    /// The groups of a process; none where it has ended.
    pub fn of_process(files: &Files, pid: u32) -> Self {
        files.read(format!("/proc/{pid}/cgroup")).map(|text| Self::parse(&text)).unwrap_or_default()
    }

    /// The groups of the calling process; none without control groups.
    pub fn of_this_process(files: &Files) -> Self {
        files.read("/proc/self/cgroup").map(|text| Self::parse(&text)).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn membership_reads_both_versions_and_paths_with_colons() {
        let text = "12:cpuset:/\n4:cpu,cpuacct:/shop.slice/a:b\n0::/shop.slice/x.service\nx\n9:y\n";
        let groups = Membership::parse(text);
        assert_eq!(groups.cpu.as_deref(), Some(Path::new("/shop.slice/a:b")));
        assert_eq!(groups.unified.as_deref(), Some(Path::new("/shop.slice/x.service")));
        assert_eq!(Membership::parse("0::relative\n:::"), Membership::default());
    }

    #[test]
    fn the_common_group_is_the_longest_shared_path() {
        let (one, other) = ("0::/a/b/c\n4:cpu:/x\n", "0::/a/b2/c\n4:cpu:/x\n");
        let common = Membership::parse(one).common(&Membership::parse(other));
        assert_eq!(common, Membership { cpu: Some("/x".into()), unified: Some("/a".into()) });
    }
}
