//! The servers that are measured, each configured for the same work.

mod envoy;
pub mod haproxy;
pub mod nginx;
mod tidegate;
mod work;

pub use work::{Version, Work};

use crate::error::{Error, Fault, Result};
use crate::{Certificate, Launch, Process, http};
use serde::{Deserialize, Serialize};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::Command;
use tidegate_host::Cores;

/// A server, and for the gate its policy.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Kind {
    /// The gate as it comes, with the policy `tide`; the goals apply to it.
    Tide,
    /// The gate with the policy `off`: what admission control itself costs.
    Off,
    /// The gate as it comes, on the driver's core too: what a second core adds to an operation.
    TwoCores,
    /// nginx.
    Nginx,
    /// HAProxy.
    Haproxy,
    /// Envoy.
    Envoy,
}

impl Kind {
    /// All of them, in the table's order.
    pub const ALL: [Self; 6] =
        [Self::Tide, Self::Off, Self::TwoCores, Self::Nginx, Self::Haproxy, Self::Envoy];

    /// The servers that no one here wrote.
    pub const PEERS: [Self; 3] = [Self::Nginx, Self::Haproxy, Self::Envoy];

    /// Name in flags and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tide => "tide",
            Self::Off => "off",
            Self::TwoCores => "two-cores",
            Self::Nginx => "nginx",
            Self::Haproxy => "haproxy",
            Self::Envoy => "envoy",
        }
    }

    /// Heading in the table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::Tide => "tidegate",
            Self::Off => "policy off",
            Self::TwoCores => "two cores",
            Self::Nginx => "nginx",
            Self::Haproxy => "HAProxy",
            Self::Envoy => "Envoy",
        }
    }

    /// The first line that the program reports about its version.
    ///
    /// # Errors
    /// It cannot be run.
    pub fn version(self, program: &Path) -> Result<String> {
        let flag = if matches!(self, Self::Nginx | Self::Haproxy) { "-v" } else { "--version" };
        let output = Command::new(program)
            .arg(flag)
            .output()
            .of_process(format_args!("cannot run {}", program.display()))?;
        let text = [output.stdout, output.stderr].concat();
        Ok(String::from_utf8_lossy(&text)
            .lines()
            .find(|line| !line.is_empty())
            .map(|line| line.rsplit_once("/envoy  ").map_or(line, |it| it.1).to_owned())
            .unwrap_or_default())
    }
}

/// What a server is started with.
#[derive(Clone, Debug)]
pub struct Setup {
    /// Its program.
    pub program: PathBuf,
    /// Folder of its own, for configuration and logs.
    pub folder: PathBuf,
    /// The certificate it presents.
    pub certificate: Certificate,
    /// Where requests go.
    pub upstream: SocketAddr,
    /// The cores it runs on.
    pub cores: Cores,
    /// With its own protection from overload; of Envoy alone.
    pub protected: bool,
}

impl Setup {
    /// Writes a file of configuration into the folder.
    fn write(&self, name: &str, text: &str) -> Result<PathBuf> {
        let file = self.folder.join(name);
        std::fs::write(&file, text).of_writing(&file)?;
        Ok(file)
    }

    /// A directory with the file that the work `StaticTls` asks for, `1k`.
    fn files(&self) -> Result<PathBuf> {
        let files = self.folder.join("files");
        let file = files.join("1k");
        std::fs::create_dir_all(&files)
            .and_then(|()| std::fs::write(&file, [b'x'; 1024]))
            .of_writing(&file)?;
        Ok(files)
    }

    fn launch(&self, name: &str, command: Command) -> Result<Launch> {
        Launch::new(name, command).on(&self.cores).log(&self.folder.join("log"))
    }
}

/// A running server.
#[derive(Debug)]
pub struct Server {
    /// Its processes.
    pub process: Process,
    /// The address that does the row's work.
    pub target: SocketAddr,
    /// The address of the gate's metrics.
    pub metrics: Option<SocketAddr>,
}

impl Server {
    /// New connections that the gate has queued so far (verdict `held`); 0 for its peers.
    ///
    /// # Errors
    /// The gate does not report it.
    pub async fn held(&self) -> Result<u64> {
        let Some(address) = self.metrics else { return Ok(0) };
        let page = tokio::task::spawn_blocking(move || http::get(address, "/metrics")?.ok());
        let text = page.await.expect("a request does not panic");
        let text = text.of_process("the gate's metrics cannot be read")?;
        held_in(&text).ok_or_else(|| {
            Error::Process(
                "the gate's metrics do not report how many connections were held".to_owned(),
            )
        })
    }
}

/// The counter of held new connections in a page of metrics.
fn held_in(metrics: &str) -> Option<u64> {
    metrics
        .lines()
        .filter(|line| line.starts_with("tidegate_connections_total{"))
        .find(|line| line.contains("class=\"new\"") && line.contains("verdict=\"held\""))
        .and_then(|line| line.rsplit(' ').next()?.parse().ok())
}

/// Starts a server for one row; `None` if it cannot do that work.
///
/// # Errors
/// It does not start.
pub fn start(kind: Kind, work: Work, setup: &Setup) -> Result<Option<Server>> {
    std::fs::create_dir_all(&setup.folder)
        .of_machine(format_args!("cannot create {}", setup.folder.display()))?;
    match kind {
        Kind::Nginx => nginx::start(work, setup),
        // They serve no files.
        Kind::Haproxy | Kind::Envoy if work == Work::StaticTls => Ok(None),
        Kind::Envoy => envoy::start(work, setup).map(Some),
        Kind::Haproxy => haproxy::start(work, setup).map(Some),
        Kind::Tide | Kind::Off | Kind::TwoCores => tidegate::start(kind, work, setup),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_held_counter_is_found_among_its_neighbours() {
        let metrics = "# TYPE tidegate_connections counter\n\
            tidegate_connections_total{class=\"new\",verdict=\"admitted\"} 7\n\
            tidegate_connections_total{class=\"new\",verdict=\"held\"} 3\n\
            tidegate_connections_total{class=\"returning\",verdict=\"held\"} 0\n";
        assert_eq!(held_in(metrics), Some(3));
        assert_eq!(held_in("tidegate_up 1\n"), None);
    }
}
