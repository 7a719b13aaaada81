//! `tidegate trace`: reads traces, answers in words, and exports them.

mod text;
mod used;
mod words;

use std::path::PathBuf;

use anyhow::Context as _;
use tidegate_trace::{Trace, analysis, export};

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

const ABOUT: &str = "Give the files of all processes of one machine together: requests are joined by \
                     their trace context. Perfetto opens its file at https://ui.perfetto.dev, Paraver \
                     opens DIR/trace.prv. docs/tracing.md explains the figures.";

/// Flags of `tidegate trace`.
#[derive(clap::Args)]
#[command(after_help = ABOUT)]
pub struct Args {
    /// Files that gate, site and load generator wrote with --trace
    #[arg(required = true, value_name = "FILE")]
    files: Vec<PathBuf>,
    /// Write the analysis as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write the trace for Perfetto (protobuf)
    #[arg(long, value_name = "FILE")]
    perfetto: Option<PathBuf>,
    /// Write the trace for Paraver: trace.prv, trace.pcf and trace.row in this folder
    #[arg(long, value_name = "DIR")]
    paraver: Option<PathBuf>,
}

/// Reads, answers, exports.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let trace = Trace::read(&args.files).map_err(bad_input)?;
    let analysis = analysis::analyse(&trace);
    print(words::answer(&analysis))?;
    if let Some(file) = &args.json {
        let text = serde_json::to_string_pretty(&analysis)?;
        std::fs::write(file, text).with_context(|| format!("cannot write {}", file.display()))?;
    }
    if let Some(file) = &args.perfetto {
        let written = export::perfetto::write(&trace, file);
        written.with_context(|| format!("cannot write {}", file.display()))?;
        print(format!("perfetto        {}\n", file.display()))?;
    }
    if let Some(folder) = &args.paraver {
        let written = export::paraver::write(&trace, folder);
        written.with_context(|| format!("cannot write to {}", folder.display()))?;
        print(format!("paraver         {}\n", folder.join("trace.prv").display()))?;
    }
    Ok(Outcome::Done)
}
