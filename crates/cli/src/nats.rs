//! Flags for the servers of NATS and the secret of a fleet.

use std::path::{Path, PathBuf};

use tidegate_config::Problem;
use tidegate_fleet::{AccessFiles, FleetAccess, is_fleet, read_server};

use crate::exit::bad_input;

/// Flags for the servers of NATS and the secret of a fleet.
#[derive(clap::Args)]
pub struct NatsArgs {
    /// File with the secret that all of the fleet share; they hear nobody without it
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    pub secret: Option<PathBuf>,
    /// File with the credentials for NATS (.creds: a user JWT and its nkey)
    #[arg(long, value_name = "FILE", conflicts_with = "nkey", help_heading = "Fleet")]
    credentials: Option<PathBuf>,
    /// File with the seed of the nkey for NATS
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    nkey: Option<PathBuf>,
    /// Certificate authorities of the NATS servers (PEM); with them, connections need TLS
    #[arg(long, value_name = "FILE", help_heading = "Fleet")]
    nats_ca: Option<PathBuf>,
    /// Name of the fleet
    #[arg(long, value_name = "NAME", default_value = "tidegate", help_heading = "Fleet")]
    pub fleet_name: String,
}

impl NatsArgs {
    /// Servers, user and secret; `flag` names the servers.
    ///
    /// # Errors
    /// The flag or the file that cannot be used, with a remedy.
    pub fn read(&self, flag: &str, servers: &[String]) -> anyhow::Result<FleetAccess> {
        if !is_fleet(&self.fleet_name) {
            return Err(bad_input(format!(
                "--fleet-name {:?}: must be 1 to 32 letters, digits, - and _; try \"tidegate\"",
                self.fleet_name
            )));
        }
        let Some(secret) = self.secret.as_deref() else {
            return Err(bad_input(format!(
                "{flag} needs --secret FILE, the secret that all of the fleet share; `openssl rand \
                 -hex 32` makes one, in a file that only you can read"
            )));
        };
        let wrong = |named: &str, value: &dyn std::fmt::Display, problem: Problem| {
            bad_input(format!("{named} {value}: {}; {}", problem.rule, problem.remedy))
        };
        let urls = servers.iter().map(|url| read_server(url).map_err(|it| wrong(flag, url, it)));
        let urls = urls.collect::<anyhow::Result<_>>()?;
        let files = AccessFiles {
            secret: ("--secret", secret),
            credentials: named("--credentials", &self.credentials),
            nkey: named("--nkey", &self.nkey),
            authorities: named("--nats-ca", &self.nats_ca),
        };
        let read = FleetAccess::read(urls, &self.fleet_name, files);
        read.map_err(|it| wrong(it.named, &it.path.display(), it.problem))
    }
}

fn named<'a>(flag: &'a str, path: &'a Option<PathBuf>) -> Option<(&'a str, &'a Path)> {
    path.as_deref().map(|path| (flag, path))
}
