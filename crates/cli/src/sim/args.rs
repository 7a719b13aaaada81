//! Flags of `tidegate sim`.

use std::path::PathBuf;

use tidegate_host::Cores;

use super::selection::Numbers;

/// What else is simulated.
#[derive(clap::Subcommand)]
pub(super) enum Command {
    /// Several gates before one service, whose budget is divided among them
    Fleet(super::fleet::Args),
}

/// Flags of `tidegate sim`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true)]
pub struct Args {
    #[command(subcommand)]
    pub(super) command: Option<Command>,
    /// Scenarios of the catalogue, random ones (drawn-17), or your own files
    /// [default: the whole catalogue; with --real, six of it]
    #[arg(value_name = "SCENARIO|FILE.toml")]
    pub(super) scenarios: Vec<String>,
    /// Random scenarios, numbers 1 to N or FROM to TO; no constant is tuned on them
    #[arg(long, value_name = "N|FROM-TO", conflicts_with = "real")]
    pub(super) drawn: Option<Numbers>,
    /// Policies side by side, or "all" [default: tide; with --real, off,eac,tide]
    #[arg(long, value_name = "LIST", value_delimiter = ',')]
    pub(super) policy: Vec<String>,
    /// Compare tide with tide without each of its parts, in one table of figures; the exit
    /// code does not depend on goals or expectations
    #[arg(long, conflicts_with_all = ["policy", "real", "costs", "goals"])]
    pub(super) ablation: bool,
    /// Exit with 1 also where tide (without tide, the last policy) misses a goal; without
    /// this flag goals are reported only
    #[arg(long, conflicts_with = "real")]
    pub(super) goals: bool,
    /// Run the scenarios on the real gate and site as well, on two processors, and show
    /// measured beside simulated figures
    #[arg(long)]
    pub(super) real: bool,
    /// Compare estimators of the cost of a connection with the true cost, instead of
    /// policies; SCENARIO is then a course of `--costs --list`, a scenario or a file. With
    /// --real, from readings of the real gate
    #[arg(long, conflicts_with = "policy")]
    pub(super) costs: bool,
    /// With --real, processors of site and gate [default: the first allowed]
    #[arg(long, value_name = "LIST", requires = "real")]
    pub(super) server_cores: Option<Cores>,
    /// With --real, processors of the customers [default: the second allowed]
    #[arg(long, value_name = "LIST", requires = "real")]
    pub(super) driver_cores: Option<Cores>,
    /// Number of runs of each, with seeds 1 to N; figures are their means
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u64).range(1..=100))]
    pub(super) seeds: u64,
    /// Folder for the page with plots and for summary.json
    #[arg(long, value_name = "DIR", default_value = "out/sim")]
    pub(super) out: PathBuf,
    /// List the scenarios of the catalogue and exit
    #[arg(long)]
    pub(super) list: bool,
    /// Print the reference of scenario files: every table and key
    #[arg(long)]
    pub(super) reference: bool,
    /// Print the file of a scenario, as a start for your own, and exit
    #[arg(long, value_name = "SCENARIO")]
    pub(super) show: Option<String>,
}
