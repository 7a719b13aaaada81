//! `tidegate-bench load`: what load generators cost. CPU time per operation of
//! `tidegate load` beside wrk, h2load, hey and oha, each driving the same nginx in
//! turn; the memory of an idle customer; and up to which use of its processor the
//! driver keeps the rate it was asked for.

mod customers;
mod report;
mod site;
mod tool;
mod turn;

use std::path::PathBuf;
use std::time::Duration;

use anyhow::Context;
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

use crate::machine::Machine;
use customers::Customers;
pub use report::{FILE, Report};
use report::{Failure, Row};
use site::Site;
use tidegate_lab::CorePair;
use tool::{Program, Work};
use turn::Turn;

/// What `--only` takes: the rows, and what is measured of Tidegate alone.
const PARTS: [&str; 6] = [
    Work::KeepAliveTls.id(),
    Work::KeepAliveClear.id(),
    Work::Full.id(),
    Work::Resumed.id(),
    MEMORY,
    RATES,
];
const MEMORY: &str = "memory";
const RATES: &str = "rates";

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
    connections: u32,
    /// Idle customers whose memory is measured; fewer where the limit on open files allows
    /// no more
    #[arg(long, default_value_t = 20_000, value_parser = clap::value_parser!(u32).range(200..=20_000))]
    customers: u32,
    /// Fewer and shorter windows: for a first look, not for a record
    #[arg(long)]
    quick: bool,
    /// Folder for load.json
    #[arg(long, default_value = "out/bench")]
    pub out: PathBuf,
    /// The binary of Tidegate [default: `tidegate` beside this program]
    #[arg(long)]
    tidegate: Option<PathBuf>,
    /// Core of the server
    #[arg(long, default_value_t = 0)]
    server_core: usize,
    /// Core of the generators
    #[arg(long, default_value_t = 1)]
    driver_core: usize,
    /// Seed of the order in which the generators take their turns
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

impl Args {
    fn wants(&self, part: &str) -> bool {
        self.only.is_empty() || self.only.iter().any(|only| only == part)
    }

    fn rounds(&self) -> u32 {
        self.rounds.unwrap_or(if self.quick { 3 } else { 9 })
    }

    fn window(&self) -> Duration {
        Duration::from_secs(self.window_s.unwrap_or(if self.quick { 1 } else { 3 }))
    }
}

/// Measures everything. Generators that are not installed are left out, and parts that
/// fail are told beside those that did not.
///
/// # Errors
/// `BadInput` for flags that cannot be followed; anything else is a run that did not
/// begin.
pub fn run(args: &Args) -> anyhow::Result<Report> {
    CorePair::new(args.server_core, args.driver_core)?;
    let (programs, absent) = Program::find_all(args.tidegate.as_deref())?;
    let folder = tempfile::tempdir()?;
    let customers = Customers::fitting(args.customers);
    let site = Site::start(folder.path(), args.server_core, customers.number)?;
    let mut order = StdRng::seed_from_u64(args.seed);
    let mut failed = Failures::default();
    let (mut rows, mut memory) = (Vec::new(), Vec::new());
    for work in Work::ALL.into_iter().filter(|work| args.wants(work.id())) {
        let row = measure(args, work, &programs, &site, folder.path(), &mut order);
        rows.extend(failed.note(work.id(), row));
    }
    let tidegate = &programs[0];
    for tls in [true, false].into_iter().filter(|_| args.wants(MEMORY)) {
        let found = customers::memory(tidegate, &site, folder.path(), args, customers, tls);
        memory.extend(failed.note(if tls { "memory over TLS" } else { "memory in clear" }, found));
    }
    let keepalive = rows.iter().find(|row| row.work == Work::KeepAliveClear);
    let rates = args
        .wants(RATES)
        .then(|| customers::rates(tidegate, &site, folder.path(), args, keepalive))
        .and_then(|found| failed.note(RATES, found))
        .unwrap_or_default();
    Ok(Report {
        machine: Machine::read(),
        versions: programs.iter().map(|p| (p.tool, p.version.clone())).collect(),
        absent,
        connections: args.connections,
        rounds: args.rounds(),
        window_s: args.window().as_secs_f64(),
        rows,
        memory,
        rates,
        failed: failed.0,
    })
}

/// Parts that failed.
#[derive(Default)]
struct Failures(Vec<Failure>);

impl Failures {
    /// What a part gave, if it did not fail.
    fn note<T>(&mut self, part: &'static str, result: anyhow::Result<T>) -> Option<T> {
        match result {
            Ok(found) => Some(found),
            Err(error) => {
                let failure = Failure { part, why: format!("{error:#}") };
                eprintln!("{failure}");
                self.0.push(failure);
                None
            }
        }
    }
}

/// One row: all generators in turn, round by round, in random order.
fn measure(
    args: &Args,
    work: Work,
    programs: &[Program],
    site: &Site,
    folder: &std::path::Path,
    order: &mut StdRng,
) -> anyhow::Result<Row> {
    let mut able: Vec<&Program> = programs.iter().filter(|p| p.tool.can(work)).collect();
    let mut turns = Vec::new();
    for round in 0..args.rounds() {
        able.shuffle(order);
        for program in &able {
            let command = program.command(
                work,
                site,
                folder,
                args.connections,
                args.window(),
                args.driver_core,
            )?;
            let turn = Turn::measure(command, args.driver_core, args.window(), site)
                .with_context(|| format!("{} in {}", program.tool.name(), work.id()))?;
            turns.push((program.tool, round, turn));
        }
    }
    let row = Row::of(work, turns);
    eprintln!("{}", row.line());
    Ok(row)
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
    fn only_the_parts_that_are_named_are_measured_and_all_if_none_is() {
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
