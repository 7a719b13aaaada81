//! What a result must carry to be worth something later: machine, commit, command.

use serde::Serialize;
use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

/// Where and how a run was made.
#[derive(Clone, Debug, Serialize)]
pub struct Machine {
    /// Processor model, as the kernel names it.
    pub processor: String,
    /// Processors that this process may use.
    pub processors: usize,
    /// Kernel name and release.
    pub kernel: String,
    /// Distribution.
    pub system: String,
    /// Commit of the working tree, with `-dirty` where it has changes.
    pub commit: String,
    /// The command line.
    pub command: String,
    /// Start of the run, seconds since 1970.
    pub started_unix_s: u64,
}

impl Machine {
    /// Reads it; what cannot be read is "unknown".
    pub fn read() -> Self {
        let information = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
        let release = std::fs::read_to_string("/etc/os-release").unwrap_or_default();
        let kernel = std::fs::read_to_string("/proc/sys/kernel/osrelease").unwrap_or_default();
        Self {
            processor: value(&information, "model name", ':'),
            processors: tidegate_host::Cores::of_this_thread()
                .map_or(0, |cores| cores.list().len()),
            kernel: format!("Linux {}", kernel.trim()),
            system: value(&release, "PRETTY_NAME", '='),
            commit: commit(),
            command: std::env::args().collect::<Vec<_>>().join(" "),
            started_unix_s: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
        }
    }
}

/// The value of the first line `key <separator> value`, without quotes.
fn value(text: &str, key: &str, separator: char) -> String {
    text.lines()
        .filter_map(|line| line.split_once(separator))
        .find(|(name, _)| name.trim() == key)
        .map_or_else(
            || "unknown".to_owned(),
            |(_, value)| value.trim().trim_matches('"').to_owned(),
        )
}

fn commit() -> String {
    let git = |arguments: &[&str]| {
        let output = Command::new("git").args(arguments).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(commit) = git(&["rev-parse", "HEAD"]) else { return "unknown".to_owned() };
    let changes = git(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
    if changes.is_empty() { commit } else { format!("{commit}-dirty") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_found_by_their_whole_key() {
        let text = "model\t: 207\nmodel name\t: A Processor\n";
        assert_eq!(value(text, "model name", ':'), "A Processor");
        assert_eq!(value("PRETTY_NAME=\"A System\"", "PRETTY_NAME", '='), "A System");
        assert_eq!(value(text, "nothing", ':'), "unknown");
    }
}
