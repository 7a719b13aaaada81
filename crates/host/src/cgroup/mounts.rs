//! The mounted hierarchies of control groups.
//!
//! Source: `proc_pid_mountinfo(5)`.

use std::path::{Component, Path, PathBuf};

use procfs_core::process::MountInfo;

use crate::Files;

/// A mounted hierarchy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mount {
    /// The group that the mount shows as its top: `/` unless in a namespace.
    root: PathBuf,
    /// The folder that it is mounted on.
    point: PathBuf,
}

/// The mounted hierarchies that account for or limit CPU time.
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
    /// The hierarchies that this process sees; none where the kernel reports no mounts.
    pub fn read(files: &Files) -> Self {
        Self::parse(&files.read("/proc/self/mountinfo").unwrap_or_default())
    }

    /// Reads the text of `/proc/self/mountinfo`. Lines that are not mounts of control
    /// groups are skipped before they are parsed, since there may be thousands; a
    /// malformed line is skipped too.
    pub fn parse(mountinfo: &str) -> Self {
        let mut mounts = Self::default();
        let lines = mountinfo.lines().filter(|line| line.contains(" - cgroup"));
        for info in lines.filter_map(|line| MountInfo::from_line(line).ok()) {
            let mount = || Mount {
                root: unescape(&info.root),
                point: unescape(&info.mount_point.to_string_lossy()),
            };
            let first = |place: &mut Option<Mount>| {
                place.get_or_insert_with(mount);
            };
            let controls = |controller| info.super_options.contains_key(controller);
            match info.fs_type.as_str() {
                "cgroup2" => first(&mut mounts.unified),
                "cgroup" => {
                    if controls("cpu") {
                        first(&mut mounts.cpu);
                    }
                    if controls("cpuacct") {
                        first(&mut mounts.cpuacct);
                    }
                }
                _ => {}
            }
        }
        mounts
    }
}

impl Mount {
    /// The folder of a group.
    pub fn folder(&self, group: &Path) -> PathBuf {
        self.folders(group).swap_remove(0)
    }

    /// The folder of a group and all folders above it up to the mount, deepest first. A
    /// group outside of what the mount shows is the mount's top.
    pub fn folders(&self, group: &Path) -> Vec<PathBuf> {
        let below = group.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let below = below.strip_prefix("/").unwrap_or(below);
        let plain = below.components().all(|part| matches!(part, Component::Normal(_)));
        let below = if plain { below } else { Path::new("") };
        below.ancestors().map(|part| self.point.join(part)).collect()
    }
}

/// Decodes the octal escapes of mountinfo (`\040` is a space), which procfs leaves as they
/// are.
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::V1;

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
    fn folders_run_from_the_group_to_the_mount() {
        let found = |root: &str, group: &str| -> Vec<String> {
            let mount = mount(root, "/m").unwrap();
            let show = |folder: PathBuf| folder.to_str().unwrap().trim_end_matches('/').to_owned();
            mount.folders(Path::new(group)).into_iter().map(show).collect()
        };
        assert_eq!(found("/", "/a/b"), ["/m/a/b", "/m/a", "/m"]);
        assert_eq!(found("/", "/"), ["/m"]);
        assert_eq!(found("/docker/4f", "/docker/4f/x"), ["/m/x", "/m"]);
        assert_eq!(found("/docker/4f", "/docker/other"), ["/m"], "outside of the namespace");
        assert_eq!(found("/", "/../../etc"), ["/m"], "never out of the mount");
    }
}
