//! What a result was made from: source, command and time.

use std::process::Command;
use std::time::{SystemTime, UNIX_EPOCH};

use serde::{Deserialize, Serialize};

/// The origin of a result, so that it can be repeated.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Provenance {
    /// Commit of the working tree in the current folder, with `-dirty` where tracked files
    /// have changes; `unknown` outside of a working tree or without git.
    pub commit: String,
    /// The command line of this process.
    pub command: String,
    /// When the description was read, at the start of a run: seconds since 1970.
    pub started_unix_s: u64,
}

impl Provenance {
    /// Reads the origin of a run that starts now.
    pub fn read() -> Self {
        Self {
            commit: commit().unwrap_or_else(|| "unknown".to_owned()),
            command: std::env::args().collect::<Vec<_>>().join(" "),
            started_unix_s: SystemTime::now()
                .duration_since(UNIX_EPOCH)
                .map_or(0, |since| since.as_secs()),
        }
    }
}

fn commit() -> Option<String> {
    let commit = git(&["rev-parse", "HEAD"])?;
    let changes = git(&["status", "--porcelain", "--untracked-files=no"]).unwrap_or_default();
    Some(if changes.is_empty() { commit } else { format!("{commit}-dirty") })
}

/// The standard output of git; `None` if it cannot be started or fails.
fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_run_names_its_commit_and_its_command() {
        let provenance = Provenance::read();
        let commit = provenance.commit.trim_end_matches("-dirty");
        assert!(
            commit == "unknown" || commit.bytes().all(|byte| byte.is_ascii_hexdigit()),
            "{commit}"
        );
        assert!(provenance.command.starts_with(&std::env::args().next().unwrap()));
        assert!(provenance.started_unix_s > 1_700_000_000);
    }
}
