//! `tidegate plan`: how many servers, and how much money.

mod page;
mod serve;
mod tables;
mod words;

use std::net::SocketAddr;
use std::path::PathBuf;

use anyhow::Context;
use serde::Serialize;
use tidegate_plan::{Answer, Asked, AtRisk, EXAMPLE};

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Flags of `tidegate plan`.
#[derive(clap::Args)]
pub struct Args {
    /// File with demand, costs of operations and servers that can be bought
    #[arg(value_name = "FILE", required_unless_present = "example")]
    file: Option<PathBuf>,
    /// Print a file to begin with
    #[arg(long, conflicts_with = "file")]
    example: bool,
    /// File for the plan as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// File for the page that shows the plan
    #[arg(long, value_name = "FILE")]
    report: Option<PathBuf>,
    /// Show the page with sliders for the inputs, until Ctrl-C
    #[arg(long, value_name = "ADDRESS", num_args = 0..=1, default_missing_value = "127.0.0.1:0")]
    serve: Option<SocketAddr>,
}

/// What the page, the tables and the JSON show.
#[derive(Debug, Serialize)]
pub struct Planned {
    /// The alternatives.
    pub answer: Answer,
    /// The overload of the file at the capacity of the first alternative; none without revenue.
    pub at_risk: Option<AtRisk>,
}

impl Planned {
    /// Answers what a file asks.
    ///
    /// # Errors
    /// There is no plan; the message says why.
    pub fn of(asked: &Asked) -> Result<Self, String> {
        let answer = asked.question.answer().map_err(|why| words::impossible(&why))?;
        let at_risk = asked.at_risk(&answer);
        Ok(Self { answer, at_risk })
    }
}

/// Plans, and prints and writes the result.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let Some(file) = args.file else {
        print(EXAMPLE)?;
        return Ok(Outcome::Done);
    };
    let text = tidegate_config::read_file(&file).map_err(bad_input)?;
    let asked = Asked::from_toml(&text, &file.to_string_lossy()).map_err(bad_input)?;
    if let Some(address) = args.serve {
        return serve::run(address, asked);
    }
    let planned =
        Planned::of(&asked).map_err(|why| bad_input(format!("{}: {why}", file.display())))?;
    print(tables::text(&asked, &planned))?;
    if let Some(path) = &args.json {
        let json = serde_json::to_string_pretty(&planned)? + "\n";
        write(path, &json)?;
    }
    if let Some(path) = &args.report {
        write(path, &page::page(&asked, &planned, None).html())?;
        print(format!("\nreport: {}\n", path.display()))?;
    }
    Ok(Outcome::Done)
}

fn write(path: &std::path::Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}
