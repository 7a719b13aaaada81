//! `tidegate fleet`: what the gates of a fleet share through NATS.

use std::path::{Path, PathBuf};

use clap::Subcommand;
use tidegate_config::Problem;
use tidegate_fleet::{Access, Secret, WithFile, is_fleet, read_server};
use tidegate_gate::config::{Config, FleetAccess};
use tidegate_gate::fleet::{View, look};
use tidegate_report::Table;

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Flags of `tidegate fleet`.
#[derive(clap::Args)]
pub struct Args {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Show the gates of a fleet, their shares, and which of them divides the service
    Status(Status),
}

/// Flags of `tidegate fleet status`.
#[derive(clap::Args)]
#[command(
    after_help = "Exit codes: 0 a gate divides the service; 1 none does; 2 bad input; 3 NATS does not answer."
)]
struct Status {
    /// Configuration of a gate of the fleet
    #[arg(long, value_name = "FILE", required_unless_present = "nats", conflicts_with_all = ["nats", "secret", "credentials", "nkey", "ca"])]
    config: Option<PathBuf>,
    /// Server of NATS, such as nats://127.0.0.1:4222; several with commas
    #[arg(long, value_name = "URL", value_delimiter = ',', requires = "secret")]
    nats: Vec<String>,
    /// File with the secret of the fleet
    #[arg(long, value_name = "FILE")]
    secret: Option<PathBuf>,
    /// Name of the fleet
    #[arg(long, value_name = "NAME", default_value = "tidegate")]
    name: String,
    /// File of credentials for NATS (.creds)
    #[arg(long, value_name = "FILE", conflicts_with = "nkey")]
    credentials: Option<PathBuf>,
    /// File with the nkey seed of the user of NATS
    #[arg(long, value_name = "FILE")]
    nkey: Option<PathBuf>,
    /// PEM file of the authorities of NATS' certificates
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Runs a subcommand.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let Command::Status(status) = args.command;
    let access = status.access()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let view = runtime.block_on(look(&access)).map_err(|error| match error {
        tidegate_fleet::Error::Operator(_) => bad_input(error),
        tidegate_fleet::Error::Lost(_) => anyhow::Error::new(error),
    })?;
    let text = if status.json { serde_json::to_string_pretty(&view)? + "\n" } else { text(&view) };
    print(text)?;
    Ok(if view.holder.is_some() { Outcome::Done } else { Outcome::GoalMissed })
}

impl Status {
    fn access(&self) -> anyhow::Result<FleetAccess> {
        if let Some(file) = &self.config {
            let config = Config::from_file(file).map_err(anyhow::Error::msg).map_err(bad_input)?;
            let alone =
                "has no [fleet] nats: the gate is alone; name the file of a gate of a fleet";
            return config
                .files
                .fleet
                .ok_or_else(|| bad_input(format!("--config {}: {alone}", file.display())));
        }
        if !is_fleet(&self.name) {
            let rule = "must be 1 to 32 letters, digits, - and _; try \"tidegate\"";
            return Err(bad_input(format!("--name {:?}: {rule}", self.name)));
        }
        let servers = self
            .nats
            .iter()
            .map(|url| read_server(url).map_err(|problem| wrong("--nats", url.as_ref(), &problem)));
        let mut access = Access::new(servers.collect::<anyhow::Result<_>>()?);
        let files: [(_, _, WithFile); 3] = [
            ("--credentials", &self.credentials, Access::with_credentials),
            ("--nkey", &self.nkey, Access::with_nkey),
            ("--ca", &self.ca, Access::with_authorities),
        ];
        for (flag, path, read) in files {
            if let Some(path) = path {
                access = read(access, path).map_err(|problem| wrong(flag, path, &problem))?;
            }
        }
        let path = self.secret.as_deref().expect("--nats requires --secret");
        let secret = Secret::read(path, &self.name);
        let secret = secret.map_err(|problem| wrong("--secret", path, &problem))?;
        Ok(FleetAccess { access, secret })
    }
}

fn wrong(flag: &str, value: &Path, problem: &Problem) -> anyhow::Error {
    bad_input(format!("{flag} {}: {}; {}", value.display(), problem.rule, problem.remedy))
}

fn text(view: &View) -> String {
    let holder = match (&view.holder, view.epoch) {
        (Some(holder), Some(epoch)) => format!("{holder} divides the service (epoch {epoch})"),
        _ => "no gate divides the service; each goes on with a safe share".to_owned(),
    };
    let mut table = Table::new(["gate", "share %", "requests/s"]);
    for gate in &view.gates {
        let share = format!("{:.1}", gate.share * 100.0);
        table.row([gate.gate.clone(), share, format!("{:.0}", gate.requests_per_s)]);
    }
    format!("fleet {} at {}: {holder}\n{}", view.name, view.servers, table.text())
}
