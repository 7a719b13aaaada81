//! `tidegate-bench`: server CPU per operation of the gate, nginx and HAProxy,
//! in interleaved windows of one run; `tidegate-bench load`: CPU per operation of
//! load generators. docs/benchmarks.md describes the methods.
//!
//! Both are driven by `tidegate load`, which shares no code with the gate.

mod args;
mod binary;
mod counts;
mod driver;
mod generators;
mod goals;
mod idle;
pub mod in_process;
mod machine;
mod report;
mod rows;
mod run;
mod summary;
mod table;
mod text;
mod upstream;
mod windows;

use args::Args;
use clap::Parser;
use report::Ending;
use std::process::ExitCode;

/// Runs the program; returns its exit code.
pub fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = match &args.command {
        Some(args::Command::Load(args)) => load(args),
        None => gate(&args),
    };
    match outcome {
        Ok(verdict) => verdict.code().into(),
        Err(error) => {
            eprintln!("tidegate-bench: {error:#}");
            let of_lab = |cause: &(dyn std::error::Error + 'static)| {
                cause.downcast_ref().map(tidegate_lab::Error::exit_code)
            };
            ExitCode::from(error.chain().find_map(of_lab).unwrap_or(3))
        }
    }
}

/// Measures servers: the gate and its peers.
fn gate(args: &Args) -> anyhow::Result<Ending> {
    let report = run::run(args)?;
    text::write(&report, &args.out, report::FILE)?;
    print!("{}", table::render(&report, args.normalise));
    println!("raw windows: {}", args.out.join(report::FILE).display());
    Ok(report.verdict())
}

/// Measures load generators: `tidegate load` and its peers.
fn load(args: &generators::Args) -> anyhow::Result<Ending> {
    let report = generators::run(args)?;
    text::write(&report, &args.out, generators::FILE)?;
    print!("{}", generators::render(&report));
    println!("raw windows: {}", args.out.join(generators::FILE).display());
    Ok(report.verdict())
}
