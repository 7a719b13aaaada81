//! `tidegate-bench`: server CPU per operation of the gate, nginx and HAProxy,
//! in interleaved windows of one run. docs/benchmarks.md explains the method.
//!
//! The driver shares no code with the gate that it measures.

mod args;
mod calibration;
mod certificate;
mod client;
mod cpu;
mod decision_cost;
mod driver;
mod goals;
mod hello_cost;
mod in_process;
mod machine;
mod process;
mod report;
mod rows;
mod run;
mod servers;
mod summary;
mod table;
mod upstream;
mod windows;

use args::Args;
use clap::Parser;
use std::process::ExitCode;

fn main() -> ExitCode {
    let args = Args::parse();
    let outcome = run::run(&args).and_then(|report| {
        report.write(&args.out)?;
        print!("{}", table::render(&report, args.normalise));
        println!("raw windows: {}", args.out.join(report::FILE).display());
        Ok(report.verdict())
    });
    match outcome {
        Ok(verdict) => verdict.exit_code(),
        Err(error) => {
            eprintln!("tidegate-bench: {error:#}");
            ExitCode::from(if error.is::<args::BadInput>() { 2 } else { 3 })
        }
    }
}
