//! The machine the driver runs on.

use crate::result::driver::Machine;

/// Model, processors, kernel; empty if unknown.
pub(crate) fn describe() -> Machine {
    let read = |path| std::fs::read_to_string(path).unwrap_or_default();
    let cpuinfo = read("/proc/cpuinfo");
    let model = cpuinfo.lines().find(|line| line.starts_with("model name"));
    let cpu = model.and_then(|line| line.split_once(':')).map(|(_, model)| model.trim());
    Machine {
        cpu: cpu.unwrap_or_default().to_owned(),
        cpus: std::thread::available_parallelism().map_or(0, usize::from),
        kernel: read("/proc/sys/kernel/osrelease").trim().to_owned(),
    }
}

/// Raises this process's limit on open files as far as it may; gives what it is
/// then. Each connection is an open file.
pub fn raise_open_files() -> u64 {
    // The usual limit if it is unknown.
    rlimit::increase_nofile_limit(u64::MAX).unwrap_or(1024)
}
