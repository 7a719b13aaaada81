//! `tidegate load` as the driver of a window: one process per window, in the closed model,
//! on the driver's core.

use crate::driver::Tally;
use anyhow::Context;
use serde::Deserialize;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant};
use tidegate_host::Cores;
use tidegate_lab::peers::{Version, Work};
use tidegate_lab::{Launch, Process};
use tokio::time::sleep;

/// Load beyond the window, so that its end is measured under load.
const BEYOND: Duration = Duration::from_millis(250);

/// Longest time beyond the load that the process may take to start and to end.
const LONGER: Duration = Duration::from_secs(10);

/// Time between two looks at the process.
const POLL: Duration = Duration::from_millis(5);

/// How `tidegate load` drives one row at one server.
#[derive(Debug)]
pub struct LoadDriver {
    /// Tidegate's binary.
    pub program: PathBuf,
    /// The row's work.
    pub work: Work,
    /// The server.
    pub target: SocketAddr,
    /// Connections that are busy at once.
    pub connections: u32,
    /// Core of the driver.
    pub core: usize,
    /// Where the result is written.
    pub json: PathBuf,
}

impl LoadDriver {
    /// Whether it can drive this work. Of a refusal it reports no count between two
    /// readings of a server's clock, and no request reaches the upstream.
    pub fn can(work: Work) -> bool {
        work != Work::Refused
    }

    /// Starts the load for a window of this length after a warm-up.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(&self, warm_up: Duration, length: Duration) -> anyhow::Result<Load> {
        let mut command = Command::new(&self.program);
        command.arg("load").args(self.flags()).arg("--json").arg(&self.json);
        command.args(["--warm-up", &warm_up.as_secs_f64().to_string()]);
        command.args(["--duration", &(length + BEYOND).as_secs_f64().to_string()]);
        let launch = Launch::new("tidegate load", command).on(&Cores::one(self.core)?);
        let process = launch.log_unnamed()?.start()?;
        let deadline = Instant::now() + warm_up + length + BEYOND + LONGER;
        Ok(Load { process, deadline, work: self.work, json: self.json.clone() })
    }

    /// What fixes the work: the same suites, group and kind of handshake as the rows name.
    fn flags(&self) -> Vec<String> {
        let scheme = if self.work == Work::KeepAliveClear { "http" } else { "https" };
        let mut flags = vec![
            format!("--target={scheme}://localhost:{}/1k", self.target.port()),
            format!("--closed={}", self.connections),
            format!("--cores={}", self.core),
            "--plain".to_owned(),
        ];
        let version = match self.work {
            Work::Full(version) | Work::Resumed(version) => Some(version),
            Work::KeepAliveTls | Work::Refused => Some(Version::Tls13),
            Work::KeepAliveClear => None,
        };
        let (tls, suites) = match version {
            Some(Version::Tls12) => {
                ("--tls=1.2", "--suites=ECDHE-ECDSA-AES128-GCM-SHA256,ECDHE-RSA-AES128-GCM-SHA256")
            }
            _ => ("--tls=1.3", "--suites=TLS_AES_128_GCM_SHA256"),
        };
        if version.is_some() {
            // The second group is the curve of the certificate: OpenSSL selects no certificate
            // whose curve a TLS 1.2 client does not offer.
            let tls = [tls, suites, "--groups=x25519,secp256r1", "--insecure"];
            flags.extend(tls.map(str::to_owned));
        }
        // A session is one request. With `--keep=request` each would say "Connection: close".
        let keep: &[&str] = match self.work {
            Work::Full(_) | Work::Refused => &["--keep=session"],
            Work::Resumed(_) => &["--keep=session", "--full-share=0"],
            Work::KeepAliveTls | Work::KeepAliveClear => &["--keep=customer"],
        };
        flags.extend(keep.iter().map(|flag| (*flag).to_owned()));
        flags
    }
}

/// A running load.
#[derive(Debug)]
pub struct Load {
    process: Process,
    deadline: Instant,
    work: Work,
    json: PathBuf,
}

/// The part of the result that is used.
#[derive(Deserialize)]
struct Summary {
    totals: Totals,
    tls: Vec<Negotiated>,
}

#[derive(Deserialize)]
struct Totals {
    requests_failed: u64,
    failed: u64,
    refused: u64,
}

#[derive(Deserialize)]
struct Negotiated {
    group: Option<String>,
    full: u64,
    resumed: u64,
}

impl Load {
    /// CPU time of the load so far.
    ///
    /// # Errors
    /// It has ended.
    pub fn cpu_time(&self) -> anyhow::Result<Duration> {
        self.process.cpu_time()
    }

    /// Waits for its end and reads what it reports beside the operations, which the
    /// upstream counts.
    ///
    /// # Errors
    /// It does not end in time, or leaves no result.
    pub async fn finish(mut self, operations: u64) -> anyhow::Result<Tally> {
        // An exit code other than 0 is no error: a driver at the limit of its processor
        // reports that, and the closed model waits for it.
        while self.process.exit()?.is_none() {
            anyhow::ensure!(Instant::now() < self.deadline, "tidegate load does not end");
            sleep(POLL).await;
        }
        let text = std::fs::read(&self.json)
            .with_context(|| format!("tidegate load left no result: {}", self.process.output()))?;
        let Summary { totals, tls } = serde_json::from_slice(&text)?;
        let failures = totals.requests_failed.max(totals.failed) + totals.refused;
        let other = |one: &Negotiated| {
            let group = one.group.as_deref().is_none_or(|group| group == "x25519");
            match self.work {
                _ if !group => one.full + one.resumed,
                Work::Full(_) => one.resumed,
                Work::Resumed(_) => one.full,
                Work::KeepAliveTls | Work::KeepAliveClear | Work::Refused => 0,
            }
        };
        Ok(Tally {
            operations,
            failures,
            other_kind: tls.iter().map(other).sum(),
            first_failure: (failures > 0).then(|| "see tidegate load".to_owned()),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags(work: Work) -> String {
        let (program, json) = (PathBuf::new(), PathBuf::new());
        let target = "127.0.0.1:1234".parse().unwrap();
        LoadDriver { program, work, target, connections: 16, core: 1, json }.flags().join(" ")
    }

    #[test]
    fn flags_fix_the_version_and_the_kind_of_handshake() {
        let full = flags(Work::Full(Version::Tls12));
        assert!(full.contains("https://localhost:1234/1k") && full.contains("--tls=1.2"), "{full}");
        assert!(!full.contains("--full-share"), "{full}");
        let resumed = flags(Work::Resumed(Version::Tls13));
        assert!(resumed.contains("--tls=1.3") && resumed.contains("--full-share=0"), "{resumed}");
        let clear = flags(Work::KeepAliveClear);
        assert!(clear.contains("http://localhost") && !clear.contains("--tls"), "{clear}");
        assert!(clear.contains("--keep=customer") && !LoadDriver::can(Work::Refused), "{clear}");
    }
}
