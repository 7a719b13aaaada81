//! Flags of `tidegate load` for a test of a fleet.

use super::post::AccessArgs;

/// Flags for a test of a fleet.
#[derive(clap::Args)]
pub struct FleetArgs {
    /// Generate the load with the agents (`tidegate load-agent`) that wait at these servers of NATS,
    /// such as nats://10.0.0.2:4222, each with a shard of the test, and print one report
    #[arg(long, value_name = "URL", value_delimiter = ',', help_heading = "Fleet",
          conflicts_with_all = ["drivers", "shard", "cores", "raw", "parquet", "trace", "http_debug"])]
    pub fleet: Vec<String>,
    /// Number of agents to use [default: all that wait]
    #[arg(long, value_name = "N", requires = "fleet",
          value_parser = clap::value_parser!(u32).range(1..=1000), help_heading = "Fleet")]
    pub agents: Option<u32>,
    #[command(flatten)]
    pub access: AccessArgs,
}

impl FleetArgs {
    /// Whether agents generate the load.
    pub fn is_used(&self) -> bool {
        !self.fleet.is_empty()
    }
}
