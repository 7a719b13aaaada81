//! `tidegate tca SCENARIO --target URL`: measures what each operation of a site costs.

use std::path::PathBuf;
use std::time::Duration;

use tidegate_host::{Cores, Provenance};
use tidegate_plan::profile::Profile;
use tidegate_study::capacity::Limit;
use tidegate_study::tca::{self, Event, Named, Options};

use crate::exit::{Outcome, bad_input};
use crate::load::{command_line, scenario, values};
use crate::own_site::{SiteArgs, check_scheme};
use crate::signals::stop_on_signal;
use crate::stdout::print;
use crate::study::capacity::{because, percentile, step, time_left, time_scale};
use crate::study::run::files;

/// Largest file of a profile, in bytes.
const LARGEST: u64 = 16 << 20;

/// Flags of a measurement.
#[derive(clap::Args)]
pub struct MeasureArgs {
    /// What customers do, whose pages are the operations: a scenario file, or the name of a
    /// built-in scenario
    #[arg(value_name = "SCENARIO", requires = "target")]
    scenario: Option<String>,
    /// The site to measure, such as https://127.0.0.1:8443; it is loaded beyond what it carries
    #[arg(long, value_name = "URL", requires = "scenario")]
    target: Option<String>,
    /// At most ten minutes, with rougher figures [default: up to an hour]
    #[arg(long, requires = "target")]
    quick: bool,
    /// Folder for the report, the figures and the raw data
    #[arg(long, default_value = "out/tca", value_name = "DIR", requires = "target")]
    out: PathBuf,
    #[command(flatten)]
    site: SiteArgs,
    /// A group of processes whose costs are told apart, by numbers or names, such as
    /// database=postgres; repeat the flag for several [default: by the names of the site's processes]
    #[arg(long, value_name = "NAME=PROCESS", value_parser = named, requires = "target")]
    resource: Vec<Named>,
    /// What customers do, where the scenario is not like them: a file as of `tidegate tca profile`
    #[arg(long, value_name = "FILE", requires = "target")]
    profile: Option<PathBuf>,
    /// The page that is an order, for orders per hour
    #[arg(long, value_name = "PAGE", requires = "target")]
    order: Option<String>,
    /// Use that processors may come to
    #[arg(long, value_name = "SHARE", default_value_t = 1.0, value_parser = target_use,
          requires = "target")]
    r#use: f64,
    /// Megahertz of a processor: costs are printed in megacycles as well
    #[arg(long, value_name = "N", value_parser = mhz, requires = "target")]
    mhz: Option<f64>,
    /// Response times that count as served in the verification
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::patience,
          requires = "target")]
    limit: Duration,
    /// Percentage of the responses that keep to the limit: 50, 90, 95 or 99
    #[arg(long, value_name = "P", default_value_t = 95, value_parser = percentile,
          requires = "target")]
    percentile: u8,
    /// Processors of the load generator, one thread each, such as 1 or 1-3
    #[arg(long, value_name = "LIST", requires = "target")]
    driver_cores: Option<Cores>,
    /// Factor on think times in the verification [default: 1, or less where sessions are too long]
    #[arg(long, value_name = "X", value_parser = time_scale, requires = "target")]
    time_scale: Option<f64>,
    /// Length of a run [default: by the number of operations]
    #[arg(long, value_name = "TIME", value_parser = step, requires = "target")]
    step: Option<Duration>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1, requires = "target")]
    seed: u64,
}

/// Measures the site.
///
/// # Errors
/// A mistake of the operator's, or what failed.
pub fn run(args: MeasureArgs, target: String, name: &str) -> anyhow::Result<Outcome> {
    let mut options = options(args, target, name)?;
    let mut provenance = Provenance::read();
    provenance.command = command_line();
    options.plan.stop = stop_on_signal()?;
    let mut any = false;
    let report = tca::study(&options, provenance, &mut |event| {
        let text = match event {
            Event::Note(text) => tidegate_load::paragraph("", &text),
            Event::Run(run, operations, left) => {
                format!("{}  {}", tca::line(run, operations), time_left(left))
            }
            Event::Step(verification, left) => {
                let (heading, line) = tca::step_line(verification);
                let head = if any { String::new() } else { heading + "\n" };
                any = true;
                format!("{head}{line}{}  {}", because(&verification.step), time_left(left))
            }
        };
        // A reader that is gone does not affect the measurement.
        drop(print(format!("{}\n", text.trim_end())));
    })?;
    print(tca::terminal(&report))?;
    print(files(&options.out))?;
    if options.quick {
        print("The figures of --quick are rough.\n")?;
    }
    Ok(if report.is_off() { Outcome::GoalMissed } else { Outcome::Done })
}

impl MeasureArgs {
    /// The site and the name of the scenario, if a site is to be measured.
    pub fn what(&self) -> Option<(String, String)> {
        self.target.clone().zip(self.scenario.clone())
    }
}

fn options(args: MeasureArgs, target: String, name: &str) -> anyhow::Result<Options> {
    check_scheme(&target)?;
    let scenario = scenario(name)?;
    let profile = args.profile.map(|file| profile(&file)).transpose()?;
    let mut plan = args.site.plan(scenario, &target)?;
    plan.cores = args.driver_cores.map(|cores| cores.list().to_vec()).unwrap_or_default();
    plan.seed = args.seed;
    Ok(Options {
        plan,
        quick: args.quick,
        out: args.out,
        processes: args.site.process,
        resources: args.resource,
        order: args.order.or_else(|| profile.as_ref()?.checkout.clone()),
        profile,
        target_use: args.r#use,
        mhz: args.mhz,
        limit: Limit { ms: args.limit.as_secs_f64() * 1000.0, percentile: args.percentile },
        time_scale: args.time_scale,
        window: args.step,
    })
}

fn profile(file: &std::path::Path) -> anyhow::Result<Profile> {
    let text = tidegate_config::read_text(file, LARGEST)
        .map_err(|error| bad_input(format!("--profile {}: {error}", file.display())))?;
    Profile::from_toml(&text, &file.to_string_lossy()).map_err(bad_input)
}

fn named(text: &str) -> Result<Named, String> {
    let pair = text.split_once('=').filter(|(name, of)| !name.is_empty() && !of.is_empty());
    let (name, of) = pair.ok_or("must be NAME=PROCESS, such as database=postgres or web=12,34")?;
    let processes = of.split(',').map(str::to_owned).collect();
    Ok(Named { name: name.to_owned(), processes })
}

fn target_use(text: &str) -> Result<f64, String> {
    let share = text.parse().ok().filter(|share| (0.01..=1.0).contains(share));
    share.ok_or_else(|| "must be 0.01 to 1, such as 0.7".to_owned())
}

fn mhz(text: &str) -> Result<f64, String> {
    let mhz = text.parse().ok().filter(|mhz| (1.0..=1e5).contains(mhz));
    mhz.ok_or_else(|| "must be 1 to 100000, such as 2400".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_group_is_a_name_and_its_processes() {
        let found = named("database=postgres,12").unwrap();
        assert_eq!((found.name.as_str(), found.processes.len()), ("database", 2));
        for wrong in ["database", "=12", "database="] {
            assert!(named(wrong).unwrap_err().contains("database=postgres"), "{wrong}");
        }
    }

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        assert_eq!((target_use("0.7"), mhz("400")), (Ok(0.7), Ok(400.0)));
        assert!(target_use("2").unwrap_err().contains("0.01 to 1"));
        assert!(mhz("NaN").unwrap_err().contains("1 to 100000"));
    }
}
