//! The memory of idle connections: customers who received one answer and stay, at each server.

use crate::upstream::Upstream;
use anyhow::{Context, bail};
use serde::Serialize;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};
use tidegate_host::Cores;
use tidegate_lab::peers::{Kind, Server, Work};
use tidegate_lab::{Launch, Process};
use tokio::time::sleep;

/// The kinds of connections.
pub const WORKS: [Work; 2] = [Work::KeepAliveTls, Work::KeepAliveHttp2];

/// Most memory of an idle connection to the gate, in bytes.
pub const MOST: f64 = 10_000.0;

/// Connections before those that are counted, so that pools and caches are filled.
pub const FEW: u32 = 100;

/// Connections that are opened each second.
const PER_S: u32 = 500;

/// Longest time beyond that until all have their answer.
const LONGER: Duration = Duration::from_secs(30);

/// Time for the last answer, and for memory to be given back.
const SETTLES: Duration = Duration::from_secs(1);

/// Memory of one server with idle connections.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Idle {
    /// The server.
    pub server: Kind,
    /// How its customers connect.
    pub work: Work,
    /// Connections that are counted.
    pub connections: u32,
    /// Resident memory of all its processes with them.
    pub resident_mb: f64,
    /// What each adds.
    pub bytes_each: f64,
}

impl Idle {
    /// The kind of connection in words.
    pub fn what(&self) -> &'static str {
        if self.work == Work::KeepAliveHttp2 { "HTTP/2" } else { "HTTP/1.1 over TLS" }
    }
}

/// Measures the resident memory of a server without and with a number of idle connections.
///
/// # Errors
/// Not all customers receive an answer.
pub async fn measure(
    (kind, server, work): (Kind, &Server, Work),
    connections: u32,
    (program, core): (&Path, usize),
    upstream: &Upstream,
    folder: &Path,
) -> anyhow::Result<Idle> {
    let customers = |number| Customers { program, core, work, server, folder, number };
    let first = customers(FEW).arrive(upstream).await?;
    let before = server.process.resident_bytes()?;
    let others = customers(connections).arrive(upstream).await?;
    let after = server.process.resident_bytes()?;
    drop((first, others));
    Ok(Idle {
        server: kind,
        work,
        connections,
        resident_mb: after as f64 / 1e6,
        bytes_each: (after as f64 - before as f64) / f64::from(connections),
    })
}

/// Customers who think for longer than the measurement.
struct Customers<'a> {
    program: &'a Path,
    core: usize,
    work: Work,
    server: &'a Server,
    folder: &'a Path,
    number: u32,
}

impl Customers<'_> {
    /// Lets them come and waits until each has its answer.
    async fn arrive(&self, upstream: &Upstream) -> anyhow::Result<Process> {
        let scenario = self.folder.join("idle.toml");
        let text = "[session]\nstart = \"Page\"\npatience = \"1min\"\nthink = \"6h\"\n\
             [pages]\nPage = { path = \"/1k\" }\n[transitions]\nPage = { Page = 1 }\n";
        std::fs::write(&scenario, text).context("cannot write the scenario")?;
        let target = format!("https://localhost:{}", self.server.target.port());
        let within = (self.number / PER_S).max(1);
        let mut command = Command::new(self.program);
        command.arg("load").arg(&scenario).args(["--target", &target, "--insecure", "--plain"]);
        command.args(["--tls", "1.3", "--warm-up", "0", "--duration", "10min"]);
        command.arg("--arrivals");
        command.arg(format!("customers = {}, within = \"{within}s\"", self.number));
        command.args(["--cores", &self.core.to_string()]);
        if self.work == Work::KeepAliveHttp2 {
            command.arg("--http=2");
        }
        let expected = upstream.seen().requests + u64::from(self.number);
        let launch = Launch::new("tidegate load", command).on(&Cores::one(self.core)?);
        let mut process = launch.log_unnamed()?.start()?;
        let deadline = Instant::now() + Duration::from_secs(within.into()) + LONGER;
        while upstream.seen().requests < expected {
            if process.exit()?.is_some() || Instant::now() > deadline {
                let missing = expected - upstream.seen().requests;
                bail!(
                    "{missing} of {} customers have no answer: {}",
                    self.number,
                    process.last_lines()
                );
            }
            sleep(Duration::from_millis(50)).await;
        }
        sleep(SETTLES).await;
        Ok(process)
    }
}
