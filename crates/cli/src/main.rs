//! The one binary: parse, run, exit code.

mod check;
mod demo;
mod exit;
mod gate;
mod load;
mod screen;
mod signals;
mod sim;
mod site;
mod stdout;

use clap::{Parser, Subcommand};

use crate::exit::Outcome;

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Keeps an HTTPS service at its peak when more customers arrive than it can
/// serve, and tells its owner beforehand how many that is.
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
    /// Stand in front of a service: admit what it can carry to the end
    Gate(gate::Args),
    /// Validate a gate configuration or a scenario without starting anything
    Check(check::Args),
    /// Drive a service as customers do
    Load(Box<load::Args>),
    /// Run a reference site to try things on
    Site(site::Args),
    /// Simulate admission policies under scenarios, in virtual time
    Sim(sim::Args),
    /// Show what overload does to an auction site, without and with the gate
    Demo(demo::Args),
}

fn main() -> std::process::ExitCode {
    let cli = Cli::parse();
    // Gate and site hold a file for each connection, and a shell allows 1024.
    tidegate_host::open_files::raise_limit();
    let outcome = match cli.command {
        Command::Gate(args) => gate::run(args),
        Command::Check(args) => check::run(args),
        Command::Load(args) => load::run(*args),
        Command::Site(args) => site::run(args),
        Command::Sim(args) => sim::run(args),
        Command::Demo(args) => demo::run(args),
    };
    Outcome::report(outcome)
}
