//! `tidegate study list`.

use tidegate_experiment::experiment::{BUILT_IN, BuiltIn};
use tidegate_study::capacity;

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// What the study is about that is a command with flags of its own, and not a file.
const CAPACITY: &str = "how many customers a site of your own carries, and what limits it";

/// The names of all studies that ship.
pub(super) fn names() -> Vec<&'static str> {
    let files = BUILT_IN.iter().map(|one| one.name);
    files.chain([capacity::NAME]).collect()
}

/// Flags of `tidegate study list`.
#[derive(clap::Args)]
pub struct Args {
    /// Print the file of a study that ships
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
    /// Print the reference of experiment files: every table and key
    #[arg(long)]
    reference: bool,
}

/// Prints what is asked for.
pub fn run(args: &Args) -> anyhow::Result<Outcome> {
    if args.reference {
        print(tidegate_experiment::reference())?;
        return Ok(Outcome::Done);
    }
    if let Some(name) = &args.show {
        if name == capacity::NAME {
            return Err(bad_input(format!(
                "--show {name}: this study is a command, not a file; `tidegate study {name} --help` lists its flags"
            )));
        }
        let known: Vec<&str> = BUILT_IN.iter().map(|one| one.name).collect();
        let found = BuiltIn::named(name).ok_or_else(|| {
            bad_input(format!("--show {name}: no such study; choose one of {}", known.join(", ")))
        })?;
        print(found.text)?;
        return Ok(Outcome::Done);
    }
    for one in BUILT_IN {
        print(format!("{:12} {}\n", one.name, one.experiment().about))?;
    }
    print(format!("{:12} {CAPACITY}\n", capacity::NAME))?;
    Ok(Outcome::Done)
}
