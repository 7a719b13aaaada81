//! A CPU quota that can be changed while the server runs: a control group of its
//! own.
//!
//! Source: kernel documentation, `scheduler/sched-bwc` and
//! `admin-guide/cgroup-v2`.

use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::Context;
use tidegate_host::CpuGroup;

/// A control group below that of this process.
pub struct Quota {
    group: CpuGroup,
}

/// Time in which a quota is used up and given anew. The kernel's default, 100 ms,
/// would make a quota of one half stop the server for 50 ms at a time.
const PERIOD: Duration = Duration::from_millis(10);

impl Quota {
    /// A group without a quota and without processes.
    ///
    /// # Errors
    /// When this process may not make one.
    pub fn new() -> anyhow::Result<Self> {
        let own = CpuGroup::own().context("this system has no control groups")?;
        let name = format!("tidegate-{}", std::process::id());
        let group = match own {
            CpuGroup::V1(folder) => CpuGroup::V1(folder.join(name)),
            CpuGroup::V2(folder) => {
                write(&folder.join("cgroup.subtree_control"), "+cpu")?;
                CpuGroup::V2(folder.join(name))
            }
        };
        let folder = folder(&group);
        std::fs::create_dir(folder).with_context(|| refused(folder))?;
        Ok(Self { group })
    }

    /// Takes these processes in, with all their threads.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn take_in(&self, processes: &[u32]) -> anyhow::Result<()> {
        let file = folder(&self.group).join("cgroup.procs");
        processes.iter().try_for_each(|process| write(&file, &process.to_string()))
    }

    /// From now on so many processors; `None`: as many as there are.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn set(&self, cpus: Option<f64>) -> anyhow::Result<()> {
        let period = PERIOD.as_micros();
        let quota = cpus.map(|cpus| (cpus * PERIOD.as_micros() as f64).round());
        match &self.group {
            CpuGroup::V1(folder) => {
                write(&folder.join("cpu.cfs_period_us"), &period.to_string())?;
                let quota = quota.map_or("-1".to_owned(), |quota| quota.to_string());
                write(&folder.join("cpu.cfs_quota_us"), &quota)
            }
            CpuGroup::V2(folder) => {
                let quota = quota.map_or("max".to_owned(), |quota| quota.to_string());
                write(&folder.join("cpu.max"), &format!("{quota} {period}"))
            }
        }
    }
}

impl Drop for Quota {
    /// The processes have ended by now; the kernel may take a moment to see it.
    fn drop(&mut self) {
        for _ in 0..50 {
            if std::fs::remove_dir(folder(&self.group)).is_ok() {
                return;
            }
            std::thread::sleep(Duration::from_millis(20));
        }
        eprintln!("{} is left behind: rmdir it", folder(&self.group).display());
    }
}

fn folder(group: &CpuGroup) -> &PathBuf {
    match group {
        CpuGroup::V1(folder) | CpuGroup::V2(folder) => folder,
    }
}

fn write(file: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(file, text).with_context(|| refused(file))
}

fn refused(path: &Path) -> String {
    format!(
        "{}: a scenario whose quota changes needs a control group of its own: run as root where \
         those can be made, or leave such scenarios out",
        path.display()
    )
}
