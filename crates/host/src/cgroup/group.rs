//! A control group that limits the CPU time of its processes.
//!
//! Source: kernel documentation, `scheduler/sched-bwc` and `admin-guide/cgroup-v2`.

use std::path::{Path, PathBuf};
use std::time::Duration;
use std::{fs, io};

use super::{Membership, Mounts};
use crate::Files;

/// The folder of a control group with the controller `cpu`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CpuGroup {
    /// Version 1: the quota is in `cpu.cfs_quota_us` and `cpu.cfs_period_us`.
    V1(PathBuf),
    /// Version 2: the quota is in `cpu.max`.
    V2(PathBuf),
}

impl CpuGroup {
    /// The group whose quota limits this process; `None` without control groups.
    pub fn own() -> Option<Self> {
        let files = Files::new("/");
        Self::of(&Mounts::read(&files), &Membership::of_this_process(&files))
    }

    /// The group of a process. Version 1 comes first: where both are mounted, the
    /// controller `cpu` is in its hierarchy.
    fn of(mounts: &Mounts, groups: &Membership) -> Option<Self> {
        let v1 = || Some(Self::V1(mounts.cpu.as_ref()?.folder(groups.cpu.as_ref()?)));
        let v2 = || Some(Self::V2(mounts.unified.as_ref()?.folder(groups.unified.as_ref()?)));
        v1().or_else(v2)
    }

    /// Its folder.
    pub fn folder(&self) -> &Path {
        match self {
            Self::V1(folder) | Self::V2(folder) => folder,
        }
    }

    /// Makes a group below this one, without a quota and without processes. In version 2
    /// this enables the controller `cpu` for the groups below this one; and where this group
    /// has processes of its own and is not the root, the new one is a threaded group, the
    /// only kind that takes processes there.
    ///
    /// # Errors
    /// The kernel refuses: this process may not make groups here; the group exists; or, in
    /// version 2, this group has no controller `cpu`, or has processes of its own and shares
    /// out memory or another resource that threaded groups do not know. The error names the
    /// file.
    pub fn create_below(&self, name: &str) -> io::Result<Self> {
        let folder = self.folder().join(name);
        let group = match self {
            Self::V1(_) => Self::V1(folder),
            Self::V2(own) => {
                write(&own.join("cgroup.subtree_control"), "+cpu")?;
                Self::V2(folder)
            }
        };
        fs::create_dir(group.folder()).map_err(|error| at(group.folder(), error))?;
        if let Err(error) = group.take_processes() {
            // It is empty; nothing else remains of it.
            let _ = group.remove();
            return Err(error);
        }
        Ok(group)
    }

    /// Makes a group of version 2 threaded if it could take no process otherwise.
    fn take_processes(&self) -> io::Result<()> {
        let kind = self.folder().join("cgroup.type");
        match fs::read_to_string(&kind) {
            Ok(text) if text.trim() == "domain invalid" => write(&kind, "threaded"),
            _ => Ok(()),
        }
    }

    /// Moves a process with all its threads into this group.
    ///
    /// # Errors
    /// The process has ended, or the kernel refuses. The error names the file.
    pub fn add(&self, pid: u32) -> io::Result<()> {
        write(&self.folder().join("cgroup.procs"), &pid.to_string())
    }

    /// Limits the group to the time of so many processors in every period; `None` removes
    /// the limit. The processes stop once the period's time is used up, for up to the
    /// period: a short one (10 ms; the kernel's default is 100 ms) keeps these stops
    /// short. The kernel accepts periods of 1 ms to 1 s and a quota of 1 ms or more.
    ///
    /// # Errors
    /// The kernel refuses. The error names the file.
    pub fn set_quota(&self, cpus: Option<f64>, period: Duration) -> io::Result<()> {
        let period = period.as_micros();
        let quota = cpus.map(|cpus| (cpus * period as f64).round().to_string());
        match self {
            Self::V1(folder) => {
                write(&folder.join("cpu.cfs_period_us"), &period.to_string())?;
                write(&folder.join("cpu.cfs_quota_us"), quota.as_deref().unwrap_or("-1"))
            }
            Self::V2(folder) => {
                let quota = quota.as_deref().unwrap_or("max");
                write(&folder.join("cpu.max"), &format!("{quota} {period}"))
            }
        }
    }

    /// Removes the group.
    ///
    /// # Errors
    /// It has processes still (the kernel may count those that ended for some
    /// milliseconds), or groups below it. The error names the folder.
    pub fn remove(&self) -> io::Result<()> {
        fs::remove_dir(self.folder()).map_err(|error| at(self.folder(), error))
    }
}

fn write(file: &Path, text: &str) -> io::Result<()> {
    fs::write(file, text).map_err(|error| at(file, error))
}

/// The same error with the path that it concerns.
fn at(path: &Path, error: io::Error) -> io::Error {
    io::Error::new(error.kind(), format!("{}: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cgroup::V1;
    use std::process::Command;

    const PERIOD: Duration = Duration::from_millis(10);

    fn read(group: &CpuGroup, file: &str) -> String {
        fs::read_to_string(group.folder().join(file)).unwrap()
    }

    #[test]
    fn the_group_of_version_1_comes_first() {
        let groups = Membership::parse("4:cpu,cpuacct:/box\n0::/x.service\n");
        let mut mounts = Mounts::parse(V1);
        let folder = "/sys/fs/cgroup/cpu,cpuacct/box";
        assert_eq!(CpuGroup::of(&mounts, &groups), Some(CpuGroup::V1(folder.into())));
        mounts.cpu = None;
        let folder = "/sys/fs/cgroup/unified/x.service";
        assert_eq!(CpuGroup::of(&mounts, &groups), Some(CpuGroup::V2(folder.into())));
        assert_eq!(CpuGroup::of(&Mounts::default(), &groups), None);
    }

    #[test]
    fn a_quota_of_version_1_is_a_quota_and_a_period() {
        let root = tempfile::tempdir().unwrap();
        let group = CpuGroup::V1(root.path().into()).create_below("a").unwrap();
        assert_eq!(group, CpuGroup::V1(root.path().join("a")));
        group.set_quota(Some(0.25), PERIOD).unwrap();
        assert_eq!(read(&group, "cpu.cfs_period_us"), "10000");
        assert_eq!(read(&group, "cpu.cfs_quota_us"), "2500");
        group.set_quota(None, PERIOD).unwrap();
        assert_eq!(read(&group, "cpu.cfs_quota_us"), "-1");
        group.add(77).unwrap();
        assert_eq!(read(&group, "cgroup.procs"), "77");
    }

    #[test]
    fn a_quota_of_version_2_is_one_line() {
        let root = tempfile::tempdir().unwrap();
        let own = CpuGroup::V2(root.path().into());
        let group = own.create_below("a").unwrap();
        assert_eq!(read(&own, "cgroup.subtree_control"), "+cpu");
        group.set_quota(Some(1.5), PERIOD).unwrap();
        assert_eq!(read(&group, "cpu.max"), "15000 10000");
        group.set_quota(None, PERIOD).unwrap();
        assert_eq!(read(&group, "cpu.max"), "max 10000");
    }

    #[test]
    fn a_group_of_version_2_that_could_take_no_process_becomes_threaded() {
        let root = tempfile::tempdir().unwrap();
        let group = CpuGroup::V2(root.path().into());
        for (before, after) in [("domain invalid\n", "threaded"), ("domain\n", "domain\n")] {
            fs::write(root.path().join("cgroup.type"), before).unwrap();
            group.take_processes().unwrap();
            assert_eq!(read(&group, "cgroup.type"), after);
        }
    }

    /// On the kernel's own files, where its controller `cpu` is in version 2.
    #[test]
    fn a_group_below_one_with_processes_takes_and_limits_a_process() {
        let name = format!("tidegate-test-{}", std::process::id());
        let outer = match CpuGroup::own() {
            Some(own @ CpuGroup::V2(_)) => own.create_below(&name),
            _ => Err(io::Error::other("the controller cpu is in version 1")),
        };
        let Ok(outer) = outer.inspect_err(|error| eprintln!("skipped: {error}")) else { return };
        let mut children = [(); 2].map(|()| Command::new("sleep").arg("60").spawn().unwrap());
        let [outside, inside] = [children[0].id(), children[1].id()];
        let inner = outer.add(outside).and_then(|()| outer.create_below("inner"));
        let limited = inner.as_ref().map_err(ToString::to_string).and_then(|inner| {
            let set = inner.set_quota(Some(0.25), PERIOD).and_then(|()| inner.add(inside));
            set.map_err(|error| error.to_string()).map(|()| read(inner, "cpu.max"))
        });
        let membership = fs::read_to_string(format!("/proc/{inside}/cgroup")).unwrap();
        for child in &mut children {
            child.kill().unwrap();
            child.wait().unwrap();
        }
        for group in [inner.as_ref().ok(), Some(&outer)].into_iter().flatten() {
            // The kernel counts processes that have ended for some milliseconds.
            let removed = (0..500).any(|_| {
                std::thread::sleep(Duration::from_millis(2));
                group.remove().is_ok()
            });
            assert!(removed, "{} is left behind", group.folder().display());
        }
        assert_eq!(limited.as_deref(), Ok("2500 10000\n"));
        assert!(membership.contains(&format!("{name}/inner")), "{membership}");
    }

    #[test]
    fn errors_name_the_file() {
        let root = tempfile::tempdir().unwrap();
        let own = CpuGroup::V1(root.path().into());
        let group = own.create_below("a").unwrap();
        let again = own.create_below("a").unwrap_err();
        assert_eq!(again.kind(), io::ErrorKind::AlreadyExists);
        assert!(again.to_string().contains(&group.folder().display().to_string()));
        group.remove().unwrap();
        assert!(group.add(1).unwrap_err().to_string().contains("/a/cgroup.procs: "));
        assert!(group.remove().is_err());
    }
}
