//! `tidegate check`: validate files without starting anything. Of a gate's configuration it also
//! tries whether the upstream can be reached.

use std::path::{Path, PathBuf};

use tidegate_gate::config::Config;
use tidegate_load::Scenario;

use crate::exit::{Outcome, bad_input, in_words};
use crate::stdout::print;

/// Flags of `tidegate check`.
#[derive(clap::Args)]
pub struct Args {
    /// Gate configuration, load scenario, simulated scenario or experiment of a study
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

/// Checks every file and reports the mistakes of all files together.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let mut mistakes = Vec::new();
    for file in &args.files {
        match check(file) {
            Ok(what) => print(format!("{}: {what}\n", file.display()))?,
            Err(error) => mistakes.push(in_words(&error)),
        }
    }
    if mistakes.is_empty() { Ok(Outcome::Done) } else { Err(bad_input(mistakes.join("\n"))) }
}

fn check(file: &Path) -> anyhow::Result<String> {
    let text = tidegate_config::read_file(file).map_err(anyhow::Error::msg)?;
    if is_experiment(&text) {
        let experiment = tidegate_experiment::Experiment::from_toml(&text, &file.to_string_lossy());
        let experiment = experiment.map_err(anyhow::Error::msg)?;
        let (runs, rounds) =
            (experiment.combinations(false).len(), experiment.windows(false).repetitions);
        return Ok(format!("a valid experiment; {runs} combinations in {rounds} rounds"));
    }
    if is_simulated(&text) {
        let name = file.to_string_lossy();
        let scenario = tidegate_sim::Scenario::from_toml(&text, &name);
        let capacity = scenario.map_err(anyhow::Error::msg)?.capacity_per_s();
        return Ok(format!("a valid simulated scenario; its capacity is {capacity:.1} sessions/s"));
    }
    if is_scenario(&text) {
        // A pipe gives its text once.
        let scenario = Scenario::from_toml(&text, &file.to_string_lossy());
        let scenario = scenario.map_err(anyhow::Error::msg)?;
        let mean = scenario.session_length().mean_requests;
        return Ok(format!("a valid scenario; sessions of {mean:.1} requests on average"));
    }
    let config = Config::from_file(file).map_err(anyhow::Error::msg)?;
    let mut report = format!(
        "a valid gate configuration: {} before {}",
        config.admission.policy, config.upstream.url
    );
    config.warnings().iter().for_each(|warning| report += &format!("\n  warning: {warning}"));
    // A warning: whether the service runs is not a property of the file.
    for (key, url, why) in tidegate_gate::upstream_problems(&config)? {
        report += &format!("\n  warning: {key} = {url}: {why}");
    }
    Ok(report)
}

/// A load scenario has one of these tables. A file that is neither gets the messages of the
/// gate's configuration, which name every unknown key.
fn is_scenario(text: &str) -> bool {
    let begins = |line: &str| {
        ["[session", "[pages", "[transitions", "[arrivals", "[thresholds"]
            .iter()
            .any(|t| line.starts_with(t))
    };
    text.lines().any(|line| begins(line.trim_start()))
}

/// An experiment has one of these tables, which no other file has.
fn is_experiment(text: &str) -> bool {
    let begins = |line: &str| {
        ["[system", "[workload", "[windows", "[[factors", "[[claims", "[[figures"]
            .iter()
            .any(|table| line.starts_with(table))
    };
    text.lines().any(|line| begins(line.trim_start()))
}

/// A simulated scenario has the key `about` before its first table. Text that is not valid
/// TOML is recognised too.
fn is_simulated(text: &str) -> bool {
    let lines = text.lines().map(str::trim_start).take_while(|line| !line.starts_with('['));
    let keys = lines.filter_map(|line| line.split_once('=').map(|(key, _)| key.trim()));
    keys.map(|key| key.trim_matches(['"', '\''])).any(|key| key == "about")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_experiment_is_recognised_by_its_tables() {
        for text in ["name = \"x\"\n[system]", "about = 1\n  [[factors]]", "[windows]\nx"] {
            assert!(is_experiment(text), "{text}");
        }
        for text in ["about = \"[system]\"", "[upstream]\nurl = 1", "[session]", "loads = [1]"] {
            assert!(!is_experiment(text), "{text}");
        }
    }

    #[test]
    fn a_simulated_scenario_is_recognised_by_its_key() {
        for text in
            ["about = \"x\"", "about=\"x\"", "loads=[1]\n  \"about\"\t= 'x'\n[gate]", "about="]
        {
            assert!(is_simulated(text), "{text}");
        }
        for text in
            ["# about = x", "aboutness = 1", "[admission]\nabout = 1", "listen = \"a=about\""]
        {
            assert!(!is_simulated(text), "{text}");
        }
    }
}
