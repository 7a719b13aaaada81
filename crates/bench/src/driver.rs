//! `tidegate load` as the driver of a window: one process per window, in the closed model,
//! on the driver's core. What it counts is in [`counts`](crate::counts).

use crate::counts::{Counts, Span, Tally};
use anyhow::Context;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::process::Command;
use std::time::{Duration, Instant, SystemTime};
use tidegate_host::Cores;
use tidegate_lab::peers::{Version, Work};
use tidegate_lab::{Launch, Process};
use tokio::time::sleep;

/// Load beyond the window, so that its end is measured under load.
const BEYOND: Duration = Duration::from_millis(250);

/// Longest time beyond the load that the process may take to start and to end.
const LONGER: Duration = Duration::from_secs(10);

/// Bytes of a message in a WebSocket.
const MESSAGE: usize = 64;

/// Time between two looks at the process.
const POLL: Duration = Duration::from_millis(5);

/// How `tidegate load` drives one row at one server.
#[derive(Debug)]
pub struct Driver {
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
    /// Folder for its results.
    pub folder: PathBuf,
}

impl Driver {
    /// Starts the load for a window of this length after a warm-up.
    ///
    /// # Errors
    /// The process cannot be started.
    pub fn start(&self, warm_up: Duration, length: Duration) -> anyhow::Result<Load> {
        let (json, raw) = (self.folder.join("load.json"), self.folder.join("load.jsonl"));
        // Delete the previous window's files, so that a failed load cannot pass with them.
        for file in [&json, &raw] {
            if file.exists() {
                std::fs::remove_file(file)
                    .with_context(|| format!("cannot remove {}", file.display()))?;
            }
        }
        let mut command = Command::new(&self.program);
        command.arg("load");
        if self.work == Work::WebSocket {
            let scenario = self.folder.join("websocket.toml");
            std::fs::write(&scenario, websocket())
                .with_context(|| format!("cannot write {}", scenario.display()))?;
            command.arg(scenario);
        }
        command.args(flags(self.work, self.target, self.connections));
        command.arg(format!("--cores={}", self.core));
        command.arg("--json").arg(&json).arg("--raw").arg(&raw);
        command.args(["--warm-up", &warm_up.as_secs_f64().to_string()]);
        command.args(["--duration", &(length + BEYOND).as_secs_f64().to_string()]);
        let launch = Launch::new("tidegate load", command).on(&Cores::one(self.core)?);
        let process = launch.log_unnamed()?.start()?;
        let deadline = Instant::now() + warm_up + length + BEYOND + LONGER;
        Ok(Load { process, deadline, work: self.work, json, raw })
    }

    /// Load of this length that is not measured.
    ///
    /// # Errors
    /// The process cannot be started.
    pub async fn warm_up(&self, length: Duration) -> anyhow::Result<()> {
        let now = SystemTime::now();
        self.start(Duration::ZERO, length.saturating_sub(BEYOND))?
            .finish(Span { from: now, to: now })
            .await?;
        Ok(())
    }
}

/// The flags that fix the work: the same suites, group, kind of handshake and close at
/// every server.
fn flags(work: Work, target: SocketAddr, connections: u32) -> Vec<String> {
    let scheme = if work == Work::KeepAliveClear { "http" } else { "https" };
    // A scenario has its own.
    let path = if work == Work::WebSocket { "" } else { "/1k" };
    let mut flags = vec![
        format!("--target={scheme}://localhost:{}{path}", target.port()),
        format!("--closed={connections}"),
        "--close=shutdown".to_owned(),
        "--plain".to_owned(),
    ];
    let version = match work {
        Work::Full(version) | Work::Resumed(version) => Some(version),
        Work::KeepAliveTls
        | Work::KeepAliveHttp2
        | Work::StaticTls
        | Work::WebSocket
        | Work::Refused => Some(Version::Tls13),
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
    let keep: &[&str] = match work {
        Work::Full(_) | Work::Refused => &["--keep=session"],
        Work::Resumed(_) => &["--keep=session", "--full-share=0"],
        Work::KeepAliveHttp2 => &["--keep=customer", "--http=2"],
        Work::KeepAliveTls | Work::KeepAliveClear | Work::StaticTls | Work::WebSocket => {
            &["--keep=customer"]
        }
    };
    flags.extend(keep.iter().map(|flag| (*flag).to_owned()));
    flags
}

/// A customer opens one WebSocket and sends a message after the other, each when the echo of
/// the one before is there.
fn websocket() -> String {
    let message = "x".repeat(MESSAGE);
    format!(
        "[session]
steps = [\"Open\", \"Say\"]
think = \"0s\"
[pages]
Open = {{ path = \"/1k\", opens = \"websocket\" }}
Say = {{ send = \"{message}\", expect = \"{message}\", messages = 1000000 }}
"
    )
}

/// A running load.
#[derive(Debug)]
pub struct Load {
    process: Process,
    deadline: Instant,
    work: Work,
    json: PathBuf,
    raw: PathBuf,
}

impl Load {
    /// Waits until it is about to start: it says how long it will run right before it
    /// probes the server. Returns as well if it has ended.
    ///
    /// # Errors
    /// The kernel does not report whether it runs.
    pub async fn begin(&mut self) -> anyhow::Result<()> {
        while self.process.output().is_empty()
            && self.process.exit()?.is_none()
            && Instant::now() < self.deadline
        {
            sleep(POLL).await;
        }
        Ok(())
    }

    /// CPU time of the load so far; `None` once it has ended.
    pub fn cpu_time(&self) -> Option<Duration> {
        self.process.cpu_time().ok()
    }

    /// Waits for its end and returns what it counted in a part of its run. A load that
    /// fails has a tally without operations, which states why.
    ///
    /// # Errors
    /// The kernel does not report whether it runs.
    pub async fn finish(mut self, span: Span) -> anyhow::Result<Tally> {
        while self.process.exit()?.is_none() {
            if Instant::now() > self.deadline {
                return Ok(Tally::failed("tidegate load does not end".to_owned()));
            }
            sleep(POLL).await;
        }
        // An exit code other than 0 is no failure: a driver at the limit of its processor
        // has one, and so has a load whose requests are all refused.
        let counts = std::fs::read(&self.json)
            .and_then(|json| Ok((json, std::fs::read(&self.raw)?)))
            .map_err(|_| format!("tidegate load left no result: {}", self.process.last_lines()))
            .and_then(|(json, raw)| Counts::parse(&json, &raw));
        Ok(counts.map_or_else(Tally::failed, |counts| counts.tally(self.work, span)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn flags_of(work: Work) -> String {
        flags(work, "127.0.0.1:1234".parse().unwrap(), 16).join(" ")
    }

    #[test]
    fn flags_fix_the_version_and_the_kind_of_handshake() {
        let full = flags_of(Work::Full(Version::Tls12));
        assert!(full.contains("https://localhost:1234/1k") && full.contains("--tls=1.2"), "{full}");
        assert!(full.contains("--keep=session") && !full.contains("--full-share"), "{full}");
        let resumed = flags_of(Work::Resumed(Version::Tls13));
        assert!(resumed.contains("--tls=1.3") && resumed.contains("--full-share=0"), "{resumed}");
        let refused = flags_of(Work::Refused);
        assert!(refused.contains("--tls=1.3") && refused.contains("--keep=session"), "{refused}");
    }

    #[test]
    fn flags_fix_the_number_of_connections_their_requests_and_their_close() {
        for work in
            [Work::KeepAliveTls, Work::KeepAliveHttp2, Work::KeepAliveClear, Work::StaticTls]
        {
            let flags = flags_of(work);
            assert!(flags.contains("--keep=customer"), "{work:?}");
            assert_eq!(flags.contains("--http=2"), work == Work::KeepAliveHttp2);
        }
        let clear = flags_of(Work::KeepAliveClear);
        assert!(clear.contains("http://localhost") && !clear.contains("--tls"), "{clear}");
        assert!(clear.contains("--closed=16") && clear.contains("--close=shutdown"), "{clear}");
    }
}
