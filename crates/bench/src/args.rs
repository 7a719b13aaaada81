//! The command line.

use crate::binary;
use crate::rows::{ROWS, Row};
use clap::Parser;
use std::path::PathBuf;
use std::time::Duration;
use tidegate_lab::Error;
use tidegate_lab::peers::Kind;

/// Server CPU per operation of the gate beside nginx, HAProxy and Envoy.
///
/// Exit codes: 0 no goal is missed by more than the spread; 1 a goal is missed;
/// 2 bad flags, or a missing program; 3 the run failed.
#[derive(Debug, Parser)]
#[command(name = "tidegate-bench", version, args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Rows to measure, by id, comma-separated [default: all; `--rows help` lists them]
    #[arg(long, value_delimiter = ',')]
    rows: Vec<String>,
    /// Servers to measure, comma-separated
    #[arg(long, value_delimiter = ',', default_value = "tide,off,two-cores,nginx,haproxy,envoy")]
    servers: Vec<String>,
    /// Windows per server and row [default: 9; quick: 5]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Length of a window in milliseconds [default: 400; quick: 150]
    #[arg(long, value_parser = clap::value_parser!(u64).range(10..=60_000))]
    window_ms: Option<u64>,
    /// Connections that are busy at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=512))]
    pub connections: u32,
    /// Idle connections whose memory is measured; 0 for none [default: 10000, quick: 2000; none
    /// with --rows]
    #[arg(long, value_name = "CONNECTIONS", value_parser = clap::value_parser!(u32).range(0..=50_000))]
    idle: Option<u32>,
    /// Fewer and shorter windows, for a quick look
    #[arg(long)]
    pub quick: bool,
    /// Show costs corrected by the calibration loop that runs beside each window
    #[arg(long)]
    pub normalise: bool,
    /// Folder for bench.json
    #[arg(long, default_value = "out/bench")]
    pub out: PathBuf,
    /// Folder of criterion's results: reading a hello, decisions of the controller
    #[arg(long, value_name = "FOLDER", default_value = "out/bench/criterion")]
    pub in_process: PathBuf,
    /// The binary of gate and driver [default: `tidegate` beside this program]
    #[arg(long)]
    tidegate: Option<PathBuf>,
    /// nginx's binary
    #[arg(long, default_value = "/usr/sbin/nginx")]
    nginx: PathBuf,
    /// HAProxy's binary
    #[arg(long, default_value = "/usr/sbin/haproxy")]
    haproxy: PathBuf,
    /// Envoy's binary
    #[arg(long, default_value = "target/envoy/envoy")]
    envoy: PathBuf,
    /// Core that every measured server runs on
    #[arg(long, default_value_t = 0)]
    pub server_core: usize,
    /// Core of the driver and the upstream
    #[arg(long, default_value_t = 1)]
    pub driver_core: usize,
    /// Seed of the order of the servers in each round
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Other measurements.
#[derive(Debug, clap::Subcommand)]
pub enum Command {
    /// CPU per operation of load generators: tidegate load, wrk, h2load, hey and oha
    Load(crate::generators::Args),
}

impl Args {
    /// Windows per server and row.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 5 } else { 9 })
    }

    /// Length of one window.
    pub fn window(&self) -> Duration {
        Duration::from_millis(self.window_ms.unwrap_or(if self.quick { 150 } else { 400 }))
    }

    /// Idle connections whose memory is measured; 0 for none.
    pub fn idle(&self) -> u32 {
        self.idle.unwrap_or(match () {
            () if !self.rows.is_empty() => 0,
            () if self.quick => 2_000,
            () => 10_000,
        })
    }

    /// The rows to measure, in the table's order.
    ///
    /// # Errors
    /// An id that no row has.
    pub fn rows(&self) -> Result<Vec<&'static Row>, Error> {
        let ids = || ROWS.iter().map(|row| row.id).collect::<Vec<_>>().join(", ");
        if let Some(unknown) = self.rows.iter().find(|id| ROWS.iter().all(|row| row.id != **id)) {
            return Err(Error::Operator(format!(
                "--rows: there is no row \"{unknown}\": choose from {}",
                ids()
            )));
        }
        let wanted = |row: &&Row| self.rows.is_empty() || self.rows.iter().any(|id| id == row.id);
        Ok(ROWS.iter().filter(wanted).collect())
    }

    /// The servers to measure, in the table's order.
    ///
    /// # Errors
    /// A name that no server has.
    pub fn servers(&self) -> Result<Vec<Kind>, Error> {
        let names = || Kind::ALL.map(Kind::name).join(", ");
        if let Some(unknown) =
            self.servers.iter().find(|name| Kind::ALL.iter().all(|kind| kind.name() != **name))
        {
            return Err(Error::Operator(format!(
                "--servers: unknown server \"{unknown}\": choose from {}",
                names()
            )));
        }
        let wanted = |kind: &Kind| self.servers.iter().any(|name| name == kind.name());
        Ok(Kind::ALL.into_iter().filter(wanted).collect())
    }

    /// The path of a server's program.
    ///
    /// # Errors
    /// It is missing; the message names how to install it.
    pub fn program(&self, kind: Kind) -> Result<PathBuf, Error> {
        let (path, remedy) = match kind {
            Kind::Nginx => (self.nginx.clone(), "run scripts/bootstrap bench"),
            Kind::Haproxy => (self.haproxy.clone(), "run scripts/bootstrap bench"),
            Kind::Envoy => {
                (self.envoy.clone(), "run scripts/bootstrap bench, or leave it out of --servers")
            }
            Kind::Tide | Kind::Off | Kind::TwoCores => {
                (binary::path(self.tidegate.as_deref()), binary::BUILD)
            }
        };
        if path.is_file() {
            return Ok(path);
        }
        Err(Error::Operator(format!("{}: {} is missing: {remedy}", kind.name(), path.display())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(line: &str) -> Args {
        Args::try_parse_from(std::iter::once("tidegate-bench").chain(line.split_whitespace()))
            .expect("valid flags")
    }

    #[test]
    fn without_flags_every_row_and_server_is_measured_at_least_five_times() {
        let args = parsed("");
        assert_eq!(args.rows().unwrap().len(), ROWS.len());
        assert_eq!(args.servers().unwrap(), Kind::ALL);
        assert!(args.rounds() >= 5 && parsed("--quick").rounds() >= 5);
    }

    #[test]
    fn rows_are_in_the_order_of_the_table_whatever_the_order_of_the_flag() {
        let ids: Vec<_> =
            parsed("--rows refused,full13-p256").rows().unwrap().iter().map(|row| row.id).collect();
        assert_eq!(ids, ["full13-p256", "refused"]);
    }

    #[test]
    fn unknown_names_are_bad_input_that_lists_the_known_ones() {
        assert!(parsed("--rows nothing").rows().unwrap_err().to_string().contains("full13-p256"));
        assert!(parsed("--servers apache").servers().unwrap_err().to_string().contains("haproxy"));
    }
}
