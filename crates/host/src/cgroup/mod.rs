//! Control groups: those that a process is in, their CPU quota, and the CPU time that
//! they used. Versions 1 and 2, also both at once.
//!
//! Source: `cgroups(7)`; kernel documentation, `admin-guide/cgroup-v1/cgroups` and
//! `admin-guide/cgroup-v2`.

mod cpu;
mod group;
mod membership;
mod mounts;
mod stalls;

pub use cpu::{LEAST_CPUS, processes, quota, together, used, within};
pub use group::CpuGroup;
pub use membership::Membership;
pub use mounts::{Mount, Mounts};
pub use stalls::{memory_bytes, throttled, unified};

/// A host with the `cpu` controller in version 1 and another hierarchy of version 2.
#[cfg(test)]
const V1: &str = "\
22 27 0:21 / /proc rw,relatime - proc proc rw
31 23 0:28 / /sys/fs/cgroup ro,nosuid,nodev,noexec shared:9 - tmpfs tmpfs ro,mode=755
32 31 0:29 / /sys/fs/cgroup/cpu,cpuacct rw,relatime shared:12 master:3 - cgroup cgroup rw,cpu,cpuacct
34 31 0:31 / /sys/fs/cgroup/cpuset rw,relatime - cgroup cgroup rw,cpuset
41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw,nsdelegate
";
