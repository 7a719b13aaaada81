//! The flags of `tidegate-bench load`.

use std::path::PathBuf;
use std::time::Duration;

use super::tool::Work;

/// Values of `--only`: the rows, and the measurements of Tidegate alone.
pub const PARTS: [&str; 6] = [
    Work::KeepAliveTls.id(),
    Work::KeepAliveClear.id(),
    Work::Full.id(),
    Work::Resumed.id(),
    MEMORY,
    RATES,
];
/// Memory of idle customers.
pub const MEMORY: &str = "memory";
/// Rates that the driver keeps.
pub const RATES: &str = "rates";

/// Flags of `tidegate-bench load`.
#[derive(Debug, clap::Args)]
pub struct Args {
    /// Parts to measure, comma-separated: keepalive-tls, keepalive-clear, full, resumed,
    /// memory, rates [default: all]
    #[arg(long, value_delimiter = ',', value_parser = PARTS)]
    only: Vec<String>,
    /// Windows per generator and row [default: 9; quick: 3]
    #[arg(long, value_parser = clap::value_parser!(u32).range(1..=1000))]
    rounds: Option<u32>,
    /// Length of a window in seconds [default: 3; quick: 1]
    #[arg(long, value_parser = clap::value_parser!(u64).range(1..=600))]
    window_s: Option<u64>,
    /// Connections that are busy at once
    #[arg(long, default_value_t = 16, value_parser = clap::value_parser!(u32).range(1..=512))]
    pub connections: u32,
    /// Idle customers whose memory is measured; fewer if the limit on open files requires it
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(200..=20_000))]
    pub customers: u32,
    /// Fewer and shorter windows, for a quick look
    #[arg(long)]
    quick: bool,
    /// Folder for load.json
    #[arg(long, default_value = "out/bench")]
    pub out: PathBuf,
    /// The binary of Tidegate [default: `tidegate` beside this program]
    #[arg(long)]
    pub tidegate: Option<PathBuf>,
    /// Core of the server
    #[arg(long, default_value_t = 0)]
    pub server_core: usize,
    /// Core of the generators
    #[arg(long, default_value_t = 1)]
    pub driver_core: usize,
    /// Seed of the order of the generators in each round
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

impl Args {
    /// Whether this part is to be measured.
    pub fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }

    /// Windows per generator and row.
    pub fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 3 } else { 9 })
    }

    /// Length of one window.
    pub fn window(&self) -> Duration {
        Duration::from_secs(self.window_s.unwrap_or(if self.quick { 1 } else { 3 }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[derive(Debug, Parser)]
    struct Line {
        #[command(flatten)]
        args: Args,
    }

    #[test]
    fn only_the_named_parts_are_measured_or_all() {
        let wanted = |line: &[&str]| {
            let args = Line::try_parse_from([&["bench"], line].concat())?.args;
            Ok::<_, clap::Error>(PARTS.into_iter().filter(|part| args.wants(part)).collect())
        };
        let all: Vec<&str> = wanted(&[]).unwrap();
        assert_eq!(all, PARTS);
        assert_eq!(wanted(&["--only", "memory,full"]).unwrap(), ["full", "memory"]);
        let error = wanted(&["--only", "fast"]).unwrap_err().to_string();
        assert!(error.contains("keepalive-tls"), "{error}");
        assert!(Work::ALL.iter().all(|work| PARTS.contains(&work.id())));
    }
}
