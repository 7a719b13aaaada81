//! `tidegate load import`: a scenario from a browser's recording.

use std::path::PathBuf;

use anyhow::Context;
use tidegate_load::import::Import;

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Flags of `tidegate load import`.
#[derive(clap::Args)]
pub struct Args {
    /// A recording of a session, exported from the network view of a browser (HAR)
    #[arg(value_name = "FILE.har")]
    file: PathBuf,
    /// Write the scenario to this file [default: standard output]
    #[arg(short, long, value_name = "FILE.toml")]
    out: Option<PathBuf>,
    /// Origin of the recorded requests that are kept, such as `https://shop.example` [default:
    /// that of the first document]
    #[arg(long, value_name = "URL")]
    origin: Option<String>,
    /// Service that the scenario is for, which Origin and Referer of its requests name [default:
    /// the recorded one]
    #[arg(long, value_name = "URL")]
    target: Option<String>,
}

/// Writes the scenario, and to standard error what was left out.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    let import = Import {
        recording: args.file.display().to_string(),
        origin: args.origin.clone(),
        target: args.target.clone(),
    };
    if let Some(out) = args.out.as_ref().filter(|out| **out == args.file) {
        return Err(bad_input(format!(
            "--out {} would overwrite the recording; name another file",
            out.display()
        )));
    }
    let imported = import.from_file(&args.file).map_err(bad_input)?;
    for note in &imported.notes {
        eprintln!("{}: {note}", args.file.display());
    }
    let Some(out) = &args.out else {
        print(&imported.scenario)?;
        return Ok(Outcome::Done);
    };
    std::fs::write(out, &imported.scenario)
        .with_context(|| format!("cannot write {}", out.display()))?;
    let (file, target) = (out.display(), &imported.target);
    let (steps, assets) = (imported.steps, imported.assets);
    eprintln!("{file}: sessions of {steps} requests; assets of their pages: {assets}");
    eprintln!("run it with: tidegate load {file} --target {target}");
    Ok(Outcome::Done)
}
