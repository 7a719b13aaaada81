//! `tidegate fleet`: what the gates of a fleet share through NATS.

use std::path::PathBuf;

use clap::Subcommand;
use tidegate_fleet::FleetAccess;
use tidegate_gate::config::Config;
use tidegate_gate::fleet::{View, look};
use tidegate_report::Table;

use crate::exit::{Outcome, bad_input};
use crate::nats::NatsArgs;
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
    group(clap::ArgGroup::new("fleet").required(true).args(["config", "nats"])),
    after_help = "Exit codes: 0 a gate divides the service; 1 none does; 2 bad input; 3 NATS does not answer."
)]
struct Status {
    /// Configuration of a gate of the fleet; or name the server with --nats, and the secret
    #[arg(long, value_name = "FILE", conflicts_with_all = ["nats", "secret", "credentials", "nkey", "nats_ca"])]
    config: Option<PathBuf>,
    /// Server of NATS, such as nats://127.0.0.1:4222; several with commas
    #[arg(long, value_name = "URL", value_delimiter = ',')]
    nats: Vec<String>,
    #[command(flatten)]
    access: NatsArgs,
    #[command(flatten)]
    _renamed: Renamed,
    /// Print JSON
    #[arg(long)]
    json: bool,
}

/// Flags of former versions, which are refused.
#[derive(clap::Args)]
struct Renamed {
    #[arg(long = "ca", hide = true, value_parser = |_: &str| renamed("--nats-ca"))]
    _ca: Option<String>,
    #[arg(long = "name", hide = true, value_parser = |_: &str| renamed("--fleet-name"))]
    _name: Option<String>,
}

fn renamed(now: &str) -> Result<String, String> {
    Err(format!("the flag is named {now} now"))
}

/// Runs a subcommand.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let Command::Status(status) = args.command;
    let access = status.access()?;
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    let view = runtime.block_on(look(&access)).map_err(|error| match error {
        tidegate_fleet::Error::Operator(_) | tidegate_fleet::Error::Refused(_) => bad_input(error),
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
        self.access.read("--nats", &self.nats)
    }
}

fn text(view: &View) -> String {
    let holder = match (&view.holder, view.epoch) {
        (Some(holder), Some(epoch)) => format!("{holder} divides the service (epoch {epoch})"),
        _ => {
            "no gate divides the service: each goes on with a safe share, or the fleet has another \
              name"
                .to_owned()
        }
    };
    let mut table = Table::new(["gate", "share %", "requests/s"]);
    for gate in &view.gates {
        let share = format!("{:.1}", gate.share * 100.0);
        table.row([gate.gate.clone(), share, format!("{:.0}", gate.requests_per_s)]);
    }
    format!("fleet {} at {}: {holder}\n{}", view.name, view.servers, table.text())
}
