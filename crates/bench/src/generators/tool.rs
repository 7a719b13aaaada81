//! The generators, and the flags of each for the same work.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use anyhow::Context;
use serde::Serialize;

use super::site::Site;
use crate::binary;
use tidegate_lab::Error;

/// New connections per second of h2load, which opens them at a rate and not in
/// sequence.
const H2LOAD_RATE: u64 = 500;

/// A load generator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Tool {
    /// `tidegate load`.
    Tidegate,
    /// wrk, of Debian.
    Wrk,
    /// h2load of nghttp2, of Debian.
    H2load,
    /// hey, of Debian.
    Hey,
    /// oha, of its crate.
    Oha,
}

/// One kind of operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Work {
    /// One GET of 1 KiB on a TLS 1.3 connection that stays open.
    KeepAliveTls,
    /// The same over plain HTTP.
    KeepAliveClear,
    /// Connect, full TLS 1.3 handshake, one GET, close.
    Full,
    /// Connect, resumed TLS 1.3 handshake, one GET, close.
    Resumed,
}

impl Work {
    /// All, in the table's order.
    pub const ALL: [Self; 4] =
        [Self::KeepAliveTls, Self::KeepAliveClear, Self::Full, Self::Resumed];

    /// Name in results.
    pub const fn id(self) -> &'static str {
        match self {
            Self::KeepAliveTls => "keepalive-tls",
            Self::KeepAliveClear => "keepalive-clear",
            Self::Full => "full",
            Self::Resumed => "resumed",
        }
    }

    /// Heading in the table.
    pub const fn title(self) -> &'static str {
        match self {
            Self::KeepAliveTls => "keep-alive GET 1 KiB, TLS 1.3",
            Self::KeepAliveClear => "keep-alive GET 1 KiB, plain HTTP",
            Self::Full => "TLS 1.3 full, P-256, 1 GET",
            Self::Resumed => "TLS 1.3 resumed, 1 GET",
        }
    }
}

impl Tool {
    /// All, Tidegate first.
    pub const ALL: [Self; 5] = [Self::Tidegate, Self::Wrk, Self::H2load, Self::Hey, Self::Oha];

    /// Its name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Tidegate => "tidegate",
            Self::Wrk => "wrk",
            Self::H2load => "h2load",
            Self::Hey => "hey",
            Self::Oha => "oha",
        }
    }

    /// Whether it can do this work. Only Tidegate has flags for the kind of handshake:
    /// wrk always resumes, h2load and hey never do, and oha is measured as it is.
    pub fn can(self, work: Work) -> bool {
        match work {
            Work::Full => self != Self::Wrk,
            Work::Resumed => !matches!(self, Self::H2load | Self::Hey),
            Work::KeepAliveTls | Work::KeepAliveClear => true,
        }
    }
}

/// The flags of `tidegate load` that fix its TLS version; none for plain HTTP.
pub fn tls_flags(url: &str) -> &'static [&'static str] {
    if url.starts_with("https:") { &["--tls", "1.3"] } else { &[] }
}

/// An installed generator.
#[derive(Clone, Debug)]
pub struct Program {
    /// The generator.
    pub tool: Tool,
    /// The version it reports.
    pub version: String,
    path: PathBuf,
}

impl Program {
    /// All that are installed, Tidegate first, and those that are not.
    ///
    /// # Errors
    /// Tidegate's own binary is missing.
    pub fn find_all(tidegate: Option<&Path>) -> anyhow::Result<(Vec<Self>, Vec<Tool>)> {
        let own = binary::path(tidegate);
        if !own.is_file() {
            let missing = format!("{} is missing: {}", own.display(), binary::BUILD);
            return Err(Error::Operator(missing).into());
        }
        let (mut found, mut absent) = (Vec::new(), Vec::new());
        for tool in Tool::ALL {
            let path =
                if tool == Tool::Tidegate { Some(own.clone()) } else { in_path(tool.name()) };
            match path {
                Some(path) => {
                    let version = version(tool, &path)?;
                    found.push(Self { tool, version, path });
                }
                None => absent.push(tool),
            }
        }
        Ok((found, absent))
    }

    /// The program, without arguments.
    pub fn start(&self) -> Command {
        Command::new(&self.path)
    }

    /// The command line for a window of `work`.
    ///
    /// # Errors
    /// The scenario cannot be written.
    pub fn command(
        &self,
        work: Work,
        site: &Site,
        folder: &Path,
        connections: u32,
        window: Duration,
        core: usize,
    ) -> anyhow::Result<Command> {
        let (c, seconds) = (connections.to_string(), window.as_secs());
        let url = site.url(work != Work::KeepAliveClear);
        let each = matches!(work, Work::Full | Work::Resumed);
        let mut command = self.start();
        match self.tool {
            Tool::Tidegate => {
                let scenario = folder.join("get.toml");
                std::fs::write(&scenario, GET)?;
                command.arg("load").arg(scenario).args(["--target", &url, "--insecure", "--plain"]);
                command.args(["--closed", &c, "--warm-up", "0"]).args(tls_flags(&url));
                command.args(["--duration", &seconds.to_string(), "--cores", &core.to_string()]);
                match work {
                    Work::Full => command.args(["--keep", "request", "--full-share", "1"]),
                    Work::Resumed => command.args(["--keep", "request", "--full-share", "0"]),
                    _ => command.args(["--keep", "customer"]),
                };
            }
            Tool::Wrk => {
                command.args(["-t1", "-c", &c, "-d", &format!("{seconds}s")]);
                if each {
                    command.args(["-H", "Connection: close"]);
                }
                command.arg(url + "/");
            }
            Tool::H2load => {
                command.args(["--h1", "-t1"]);
                if each {
                    let all = (H2LOAD_RATE * seconds).to_string();
                    command.args(["-n", &all, "-c", &all, "-r", &H2LOAD_RATE.to_string()]);
                } else {
                    command.args(["-c", &c, "-D", &seconds.to_string()]);
                }
                command.arg(url + "/");
            }
            Tool::Hey => {
                command.args(["-cpus", "1", "-c", &c, "-z", &format!("{seconds}s")]);
                if each {
                    command.arg("-disable-keepalive");
                }
                command.arg(url + "/");
            }
            Tool::Oha => {
                command.args(["--no-tui", "--insecure", "--http-version", "1.1", "-c", &c]);
                command.args(["-z", &format!("{seconds}s")]);
                if each {
                    command.arg("--disable-keepalive");
                }
                command.arg(url + "/");
            }
        }
        Ok(command)
    }
}

/// One page, requested repeatedly without think time.
const GET: &str = r#"
[session]
start = "Page"
max_requests = 1000000
think = "0s"
patience = "1min"
[pages]
Page = { path = "/" }
[transitions]
Page = { Page = 1 }
"#;

fn in_path(name: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    std::env::split_paths(&path).map(|folder| folder.join(name)).find(|file| file.is_file())
}

fn version(tool: Tool, path: &Path) -> anyhow::Result<String> {
    // hey has no flag for it; wrk prints it with its usage.
    let flag = if tool == Tool::Wrk { "-v" } else { "--version" };
    if tool == Tool::Hey {
        return Ok("hey".to_owned());
    }
    let output = Command::new(path)
        .arg(flag)
        .output()
        .with_context(|| format!("cannot run {}", path.display()))?;
    let text = [output.stdout, output.stderr].concat();
    Ok(String::from_utf8_lossy(&text).lines().next().unwrap_or_default().trim().to_owned())
}

#[cfg(test)]
mod tests {
    use super::tls_flags;

    #[test]
    fn plain_http_has_no_tls_flags() {
        assert!(tls_flags("http://127.0.0.1:1").is_empty());
        assert_eq!(tls_flags("https://127.0.0.1:1"), ["--tls", "1.3"]);
    }
}
