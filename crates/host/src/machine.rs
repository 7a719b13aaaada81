//! The description of the machine that every result carries.

use std::fmt;

use procfs_core::{CpuInfo, FromRead};
use serde::{Deserialize, Serialize};

use crate::Files;

/// The machine that a result was measured on. A text is empty, and `cpus` 0, where the
/// system does not report it.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Machine {
    /// Processor model, as the kernel names it.
    pub cpu: String,
    /// Processors that this process may use: those of its affinity, and no more than its
    /// CPU quota allows.
    pub cpus: usize,
    /// Kernel release, such as `6.1.0-25-amd64`.
    pub kernel: String,
    /// Distribution, such as `Debian GNU/Linux 12 (bookworm)`.
    pub system: String,
}

/// The name of this host; `localhost` if it has none.
pub fn host_name() -> String {
    let name = Files::new("/").read("/proc/sys/kernel/hostname").unwrap_or_default();
    let name = name.trim();
    if name.is_empty() { "localhost".into() } else { name.to_owned() }
}

impl Machine {
    /// Reads the description of this machine.
    pub fn read() -> Self {
        let cpus = std::thread::available_parallelism().map_or(0, usize::from);
        Self { cpus, ..Self::of_files(&Files::new("/")) }
    }

    /// What files report: all but `cpus`.
    fn of_files(files: &Files) -> Self {
        let kernel = files.read("/proc/sys/kernel/osrelease").unwrap_or_default();
        let release = files.read("/etc/os-release").unwrap_or_default();
        Self {
            cpu: cpu_model(&files.read("/proc/cpuinfo").unwrap_or_default()),
            cpus: 0,
            kernel: kernel.trim().to_owned(),
            system: pretty_name(&release),
        }
    }
}

impl fmt::Display for Machine {
    /// The processor model and the kernel: `AMD EPYC 7763, Linux 6.1.0-25-amd64`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let cpu = if self.cpu.is_empty() { "unknown processor" } else { &self.cpu };
        write!(f, "{cpu}, Linux {}", self.kernel)
    }
}

/// The model of the first processor in the text of `/proc/cpuinfo`.
///
/// Source: `proc_cpuinfo(5)`.
fn cpu_model(cpuinfo: &str) -> String {
    let cpuinfo = CpuInfo::from_read(cpuinfo.as_bytes()).ok();
    let model = cpuinfo.as_ref().and_then(|cpuinfo| cpuinfo.model_name(0));
    model.unwrap_or_default().to_owned()
}

/// `PRETTY_NAME` in the text of `/etc/os-release`, without quotes.
///
/// Source: `os-release(5)`.
fn pretty_name(release: &str) -> String {
    let name = release.lines().find_map(|line| line.strip_prefix("PRETTY_NAME="));
    name.unwrap_or_default().trim().trim_matches(['"', '\'']).to_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    const CPUINFO: &str = "\
processor\t: 0
model\t\t: 207
model name\t: A Processor

processor\t: 1
model\t\t: 207
model name\t: A Processor

";

    #[test]
    fn the_files_of_the_kernel_and_the_distribution_describe_the_machine() {
        let root = tempfile::tempdir().unwrap();
        for (path, text) in [
            ("proc/cpuinfo", CPUINFO),
            ("proc/sys/kernel/osrelease", "6.1.0-25-amd64\n"),
            ("etc/os-release", "NAME=\"A\"\nPRETTY_NAME=\"A System 12\"\n"),
        ] {
            let path = root.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        }
        let machine = Machine::of_files(&Files::new(root.path()));
        assert_eq!(
            machine,
            Machine {
                cpu: "A Processor".into(),
                cpus: 0,
                kernel: "6.1.0-25-amd64".into(),
                system: "A System 12".into(),
            }
        );
        assert_eq!(machine.to_string(), "A Processor, Linux 6.1.0-25-amd64");
    }

    #[test]
    fn a_machine_that_reports_nothing_is_described_by_empty_texts() {
        assert_eq!(Machine::of_files(&Files::new("/nowhere")), Machine::default());
        for text in ["", "\n\n", "model name", "processor : 0\n", "\u{0}:\n\n:::\n"] {
            assert_eq!(cpu_model(text), "", "{text:?}");
        }
        assert_eq!(cpu_model("processor: 0\nmodel name: x\n\nprocessor: 1\nmodel name: y\n"), "x");
        assert_eq!(pretty_name("XPRETTY_NAME=\"A System\"\n"), "");
    }

    #[test]
    fn this_machine_has_processors_and_a_kernel() {
        let machine = Machine::read();
        assert!(machine.cpus > 0 && !machine.kernel.is_empty(), "{machine:?}");
    }
}
