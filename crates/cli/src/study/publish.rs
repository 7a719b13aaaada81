//! `tidegate study publish DIR`.

use std::path::PathBuf;

use tidegate_experiment::publication::{publish, table};

use crate::exit::Outcome;
use crate::stdout::print;

/// Flags of `tidegate study publish`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder of a finished study
    #[arg(value_name = "DIR")]
    study: PathBuf,
    /// Folder of the studies' pages: one of them has the lines `<!-- study: NAME -->` and
    /// `<!-- /study -->`
    #[arg(long, value_name = "DIR", default_value = "docs/studies")]
    to: PathBuf,
    /// Print this table as CSV, and publish nothing
    #[arg(long, value_name = "TABLE", conflicts_with = "to")]
    table: Option<String>,
}

/// Publishes the study, and prints what its page says that the tables do not.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    if let Some(name) = &args.table {
        print(table(&args.study, name)?)?;
        return Ok(Outcome::Done);
    }
    let published = publish(&args.study, &args.to)?;
    for (_, command) in &published.tables {
        print(format!("{command}\n"))?;
    }
    for finding in &published.findings {
        print(format!("{}:{}: {}\n", published.page.display(), finding.line, finding.text))?;
    }
    print(format!("\npage: {}\n", published.page.display()))?;
    Ok(Outcome::Done)
}
