//! `tidegate-bench`: server CPU per operation of the gate, nginx and HAProxy,
//! in interleaved windows of one run; `tidegate-bench load`: CPU per operation of
//! load generators. docs/benchmarks.md describes the methods.
//!
//! The driver shares no code with the gate that it measures.

mod args;
mod binary;
pub mod client;
mod driver;
mod drivers;
mod generators;
mod goals;
pub mod in_process;
mod load_driver;
mod machine;
mod report;
mod rows;
mod run;
mod summary;
mod table;
mod upstream;
mod windows;

use args::Args;
use clap::Parser;
use std::process::ExitCode;

/// Runs the program; returns its exit code.
pub fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match &args.command {
        Some(args::Command::Load(args)) => load(args),
        None => gate(&args),
    };
    match outcome {
        Ok(code) => code,
        Err(error) => {
            eprintln!("tidegate-bench: {error:#}");
            ExitCode::from(if error.is::<tidegate_lab::BadInput>() { 2 } else { 3 })
        }
    }
}

/// Measures servers: the gate and its peers.
fn gate(args: &Args) -> anyhow::Result<ExitCode> {
    let report = run::run(args)?;
    report.write(&args.out)?;
    print!("{}", table::render(&report, args.normalise));
    println!("raw windows: {}", args.out.join(report::FILE).display());
    Ok(report.verdict().exit_code())
}

/// Measures load generators: `tidegate load` and its peers.
fn load(args: &generators::Args) -> anyhow::Result<ExitCode> {
    let report = generators::run(args)?;
    report.write(&args.out)?;
    print!("{}", generators::render(&report));
    println!("raw windows: {}", args.out.join(generators::FILE).display());
    Ok(report.exit_code())
}
