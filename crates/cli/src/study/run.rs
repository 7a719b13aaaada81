//! `tidegate study NAME|FILE`: runs an experiment.

use std::path::{Path, PathBuf};

use tidegate_config::did_you_mean;
use tidegate_experiment::experiment::BuiltIn;
use tidegate_experiment::{Experiment, Options, Summary};
use tidegate_host::Cores;
use tidegate_report::Table;

use super::ciphers::OwnSite;
use super::list::names;
use super::progress::Progress;
use crate::exit::{Outcome, bad_input};
use crate::signals::stop_on_signal;
use crate::stdout::print;

/// Flags of a run.
#[derive(clap::Args)]
pub struct RunArgs {
    /// A study that ships (`tidegate study list`), or the file of an experiment
    #[arg(value_name = "NAME|FILE", required = true)]
    pub(super) study: Option<String>,
    /// A short run of at most ten minutes for those that ship; its figures are rough
    #[arg(long)]
    pub(super) quick: bool,
    /// Folder of the results [default: out/study/NAME]
    #[arg(long, value_name = "DIR")]
    pub(super) out: Option<PathBuf>,
    /// Continue a study that stopped: its complete runs are kept
    #[arg(long)]
    resume: bool,
    /// Seed of the order of the runs and of the customers' choices
    #[arg(long, default_value_t = 1)]
    pub(super) seed: u64,
    /// Processors of service and gate [default: as many as the experiment needs, one at least
    /// is left]
    #[arg(long, value_name = "LIST")]
    server_cores: Option<Cores>,
    /// Processors of the customers [default: the next ones]
    #[arg(long, value_name = "LIST")]
    pub(super) driver_cores: Option<Cores>,
    /// How often every combination is measured, 1 to 100 [default: as the experiment says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=100))]
    pub(super) rounds: Option<u32>,
    /// Requests of the long series where a study counts them, as messages does, 20 to 1000000: they
    /// end with so many; shorter series are in proportion [default: as the experiment says]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(20..=1_000_000))]
    requests: Option<u32>,
    /// Leave out message services on Java; they are left out as well where Java, Tomcat or the
    /// built services are missing
    #[arg(long)]
    without_java: bool,
    #[command(flatten)]
    pub(super) own: OwnSite,
}

/// Runs the experiment, and prints its claims.
pub fn run(args: &RunArgs) -> anyhow::Result<Outcome> {
    let experiment = find(args.study.as_deref().unwrap_or_default())?
        .with(args.rounds, args.requests)
        .map_err(|error| bad_input(format!("--requests: {error}")))?;
    let out = args.out.clone().unwrap_or_else(|| Path::new("out/study").join(&experiment.name));
    let options = Options {
        out,
        quick: args.quick,
        resume: args.resume,
        seed: args.seed,
        server_cores: args.server_cores.clone(),
        driver_cores: args.driver_cores.clone(),
        without_java: args.without_java,
    };
    let stop = stop_on_signal()?;
    print(format!("Study {}: {}\n", experiment.name, experiment.about))?;
    let mut progress = Progress::new();
    let measured = tidegate_experiment::run(&experiment, &options, &stop, &mut |event| {
        progress.show(&event);
    })?;
    progress.end();
    let summary = tidegate_experiment::finish(&experiment, &options, &measured)?;
    print(claims(&summary))?;
    print(files(&options.out))?;
    Ok(Outcome::Done)
}

/// Where the result of a study is.
pub fn files(out: &Path) -> String {
    let [page, summary] = ["report.html", "summary.json"].map(|name| out.join(name));
    format!("\nreport: {}\nfigures: {}\n", page.display(), summary.display())
}

/// The experiment of a name or in a file.
fn find(given: &str) -> anyhow::Result<Experiment> {
    if let Some(built_in) = BuiltIn::named(given) {
        return Ok(built_in.experiment());
    }
    let path = Path::new(given);
    if !path.exists() {
        let names = names();
        let remedy = did_you_mean(given, &names)
            .unwrap_or_else(|| format!("those that ship: {}", names.join(", ")));
        return Err(bad_input(format!(
            "{given}: is neither a study that ships nor a file; {remedy}"
        )));
    }
    let text = tidegate_config::read_file(path).map_err(bad_input)?;
    Experiment::from_toml(&text, given).map_err(bad_input)
}

/// The claims with their verdicts, a line each.
fn claims(summary: &Summary) -> String {
    let mut table = Table::new(["", "", ""]).words(&[1, 2]);
    for claim in &summary.claims {
        let number = |name: &str| claim.evidence.get(name).and_then(serde_json::Value::as_f64);
        let measured = match (number("mean"), number("low_95"), number("high_95")) {
            (Some(mean), Some(low), Some(high)) => format!("{mean:.3} ({low:.3} to {high:.3})"),
            (Some(mean), ..) => format!("{mean:.3}"),
            _ if number("ratios_to_zero").is_some() => "compared with 0".into(),
            _ => "no value".into(),
        };
        table.row([claim.verdict.words().to_owned(), claim.id.clone(), measured]);
    }
    if summary.claims.is_empty() { String::new() } else { "\n".to_owned() + &table.text() }
}
