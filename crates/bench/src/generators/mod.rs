//! `tidegate-bench load`: the cost of load generators. CPU time per operation of
//! `tidegate load` beside wrk, h2load, hey and oha, each driving the same nginx in
//! turn; the memory of an idle customer; and the processor use up to which the
//! driver keeps the requested rate.

mod args;
mod customers;
mod goals;
mod report;
mod row;
mod site;
mod table;
mod tool;
mod turn;

#[cfg(test)]
mod tests;

use anyhow::Context;

use crate::machine::Machine;
pub use args::Args;
use args::{MEMORY, RATES};
use customers::Customers;
use report::Failure;
pub use report::{FILE, Report};
use row::Row;
use site::Site;
pub use table::render;
use tidegate_experiment::turns::Order;
use tidegate_lab::CorePair;
use tool::{Program, Work};
use turn::Turn;

/// Measures everything. Generators that are not installed are left out, and parts that
/// fail are reported beside the others.
///
/// # Errors
/// [`tidegate_lab::Error::Operator`] for invalid flags; anything else is a run that did not begin.
pub fn run(args: &Args) -> anyhow::Result<Report> {
    CorePair::new(args.server_core, args.driver_core)?;
    let (programs, absent) = Program::find_all(args.tidegate.as_deref())?;
    let folder = tempfile::tempdir()?;
    let customers = Customers::fitting(args.customers);
    let site = Site::start(folder.path(), args.server_core, customers.number)?;
    let mut order = Order::seeded(args.seed);
    let mut failed = Failures::default();
    let (mut rows, mut memory) = (Vec::new(), Vec::new());
    for work in Work::ALL.into_iter().filter(|work| args.wants(work.id())) {
        let row = measure(args, work, &programs, &site, folder.path(), &mut order);
        rows.extend(failed.note(work.id(), row));
    }
    let tidegate = &programs[0];
    for tls in [true, false].into_iter().filter(|_| args.wants(MEMORY)) {
        let found = customers::memory(tidegate, &site, folder.path(), args, customers, tls);
        memory.extend(
            failed.note(if tls { "memory over TLS" } else { "memory over plain HTTP" }, found),
        );
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
    /// The result of a part, if it did not fail.
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
    order: &mut Order,
) -> anyhow::Result<Row> {
    let able: Vec<&Program> = programs.iter().filter(|p| p.tool.can(work)).collect();
    let (connections, window, core) = (args.connections, args.window(), args.driver_core);
    let mut turns = Vec::new();
    for turn in order.turns(able.len(), args.rounds()) {
        let program = able[turn.contender];
        let command = program.command(work, site, folder, connections, window, core)?;
        let measured = Turn::measure(command, core, window, site)
            .with_context(|| format!("{} in {}", program.tool.name(), work.id()))?;
        turns.push((program.tool, turn.round, measured));
    }
    let row = Row::of(work, turns);
    eprintln!("{}", row.line());
    Ok(row)
}
