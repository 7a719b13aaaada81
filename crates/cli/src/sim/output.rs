//! The output of `tidegate sim`: the list of scenarios, and files in the results' folder.

use std::path::{Path, PathBuf};

use anyhow::Context;
use tidegate_sim::Scenario;

use crate::exit::{Outcome, bad_input};
use crate::stdout::print;

/// Prints the names of built-in scenarios, each with its description.
pub fn list(names: &[&str], named: impl Fn(&str) -> Option<Scenario>) -> anyhow::Result<Outcome> {
    for name in names {
        let scenario = named(name).expect("it ships");
        print(format!("{name:<20} {}\n", scenario.about))?;
    }
    Ok(Outcome::Done)
}

/// Creates the folder for the results and checks that it can be written to, before the
/// simulation starts.
pub fn make(out: &Path) -> anyhow::Result<()> {
    let probe = out.join(format!(".tidegate-{}", std::process::id()));
    let tried = std::fs::create_dir_all(out)
        .and_then(|()| std::fs::write(&probe, ""))
        .and_then(|()| std::fs::remove_file(&probe));
    tried.map_err(|error| {
        let out = out.display();
        bad_input(format!("--out {out}: {error}; name a folder that can be created and written to"))
    })
}

/// Writes a file into the results' folder, which exists.
pub fn save(out: &Path, name: &str, text: String) -> anyhow::Result<PathBuf> {
    let file = out.join(name);
    std::fs::write(&file, text).with_context(|| format!("cannot write {}", file.display()))?;
    Ok(file)
}
