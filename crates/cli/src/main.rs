//! The `tidegate` binary.

mod agent;
mod check;
mod demo;
mod exit;
mod fleet;
mod gate;
mod load;
mod nats;
mod own_site;
mod plan;
mod render;
mod screen;
mod signals;
mod sim;
mod site;
mod stdout;
mod study;
mod tca;
mod testbed;
mod trace;
mod usage;

use clap::{Parser, Subcommand};

use crate::exit::Outcome;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps an HTTPS service at its peak throughput when more customers arrive than it
/// can serve, and measures its capacity beforehand.
#[derive(Parser)]
#[command(name = "tidegate", version, after_help = EXIT_CODES)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

const EXIT_CODES: &str = "Exit codes: 0 done; 1 a goal or threshold was missed; 2 bad input \
                          (flags, configuration, data); 3 the run failed.";

#[derive(Subcommand)]
enum Command {
    /// Run the gate before a service: admit the sessions that it can serve to their end
    Gate(gate::Args),
    /// Tell a gate elsewhere the CPU capacity and use of a service
    Agent(agent::Args),
    /// Show the gates that share a service through NATS
    Fleet(fleet::Args),
    /// Validate a gate configuration or a scenario without starting anything
    Check(check::Args),
    /// Load a service with customers' sessions, and measure it
    Load(Box<load::Args>),
    /// Generate load for tests that are started elsewhere, with `tidegate load --fleet`
    LoadAgent(load::fleet::agent::Args),
    /// Run a reference site
    Site(site::Args),
    /// Simulate admission policies under scenarios, in virtual time
    Sim(sim::Args),
    /// Tell from traces where the time goes and what the bottleneck is
    Trace(trace::Args),
    /// Measure an auction site under overload, without and with the gate
    Demo(demo::Args),
    /// Tell what an operation costs, from measurements at rising load
    Tca(tca::Args),
    /// Plan servers and money from demand, costs of operations and prices
    Plan(plan::Args),
    /// Render pages of a site ahead of time, as files that the gate or any server serves
    Render(Box<render::Args>),
    /// Run an experiment end to end: factors, windows in turns, raw data, claims, report
    Study(study::Args),
}

fn main() -> std::process::ExitCode {
    let cli: Cli = match usage::parse() {
        Ok(cli) => cli,
        Err(code) => return code,
    };
    // Every connection is an open file, and a shell's limit is 1024.
    tidegate_host::open_files::raise_limit();
    let outcome = match cli.command {
        Command::Gate(args) => gate::run(args),
        Command::Agent(args) => agent::run(args),
        Command::Fleet(args) => fleet::run(args),
        Command::Check(args) => check::run(args),
        Command::Load(args) => load::run(*args),
        Command::LoadAgent(args) => load::fleet::agent::run(args),
        Command::Site(args) => site::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Tca(args) => tca::run(args),
        Command::Plan(args) => plan::run(args),
        Command::Render(args) => render::run(*args),
        Command::Study(args) => study::run(args),
        Command::Trace(args) => trace::run(args),
        Command::Demo(args) => demo::run(args),
    };
    Outcome::report(outcome)
}
