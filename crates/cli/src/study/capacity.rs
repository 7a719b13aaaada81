//! `tidegate study capacity`: how many customers a site carries, and what limits it.

use std::path::PathBuf;
use std::time::Duration;

use tidegate_host::{Cores, Provenance};
use tidegate_load::{Arrivals, PageRequest, Scenario};
use tidegate_study::capacity::{self, End, Event, Limit, Options, Step};

use super::run::files;
use crate::exit::{Outcome, bad_input};
use crate::load::{command_line, scenario, values};
use crate::own_site::{SiteArgs, check_scheme};
use crate::signals::stop_on_signal;
use crate::stdout::print;

const AFTER: &str = "The study offers more load than the site carries. Run it against a site that \
                     is yours, and whose users can do without it meanwhile. docs/studies/capacity.md \
                     describes the method.";

/// Flags of `tidegate study capacity`.
#[derive(clap::Args)]
#[command(after_help = AFTER)]
pub struct Args {
    /// The site, such as https://127.0.0.1:8443; without --scenario the page to request
    #[arg(long, value_name = "URL")]
    target: String,
    /// What customers do: a scenario file, or the name of a built-in scenario
    #[arg(long, value_name = "FILE|NAME")]
    scenario: Option<String>,
    /// Response times that count as served
    #[arg(long, value_name = "TIME", default_value = "500ms", value_parser = values::patience)]
    limit: Duration,
    /// Percentage of the responses that keep to the limit: 50, 90, 95 or 99
    #[arg(long, value_name = "P", default_value_t = 95, value_parser = percentile)]
    percentile: u8,
    /// Highest rate that is offered, in sessions per second: 1000, 1000/s or 3000/m
    #[arg(long, value_name = "PER_S", default_value = "20000", value_parser = values::rate)]
    max_rate: f64,
    /// At most ten minutes, with rougher figures [default: at most an hour]
    #[arg(long)]
    quick: bool,
    /// Compare with the same site behind the gate, at 1, 2 and 4 times what it carries
    #[arg(long)]
    gate: bool,
    /// Folder for the report, the figures and the raw data
    #[arg(long, default_value = "out/study/capacity", value_name = "DIR")]
    out: PathBuf,
    #[command(flatten)]
    site: SiteArgs,
    /// Processors of the load generator, one thread each, such as 1 or 1-3
    #[arg(long, value_name = "LIST")]
    driver_cores: Option<Cores>,
    /// Threads of the load generator where --driver-cores is not given [default: one for each
    /// processor; 1 where the site is on this machine]
    #[arg(long, value_name = "N", conflicts_with = "driver_cores",
          value_parser = clap::value_parser!(u16).range(1..=256))]
    threads: Option<u16>,
    /// Factor on think times [default: 1, or less where sessions are too long for the time]
    #[arg(long, value_name = "X", value_parser = time_scale)]
    time_scale: Option<f64>,
    /// Measured time of a step [default: two sessions and 20 limits, at least 6s with --quick, else 15s]
    #[arg(long, value_name = "TIME", value_parser = step)]
    step: Option<Duration>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1)]
    seed: u64,
}

/// Runs the study.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let quick = args.quick;
    let mut options = options(args)?;
    let mut provenance = Provenance::read();
    provenance.command = command_line();
    options.plan.stop = stop_on_signal()?;
    let mut any = false;
    let limit = options.limit;
    let report = capacity::study(&options, provenance, &mut |event| {
        let text = match event {
            Event::Note(text) => tidegate_load::paragraph("", &text),
            Event::Step(step, left) => {
                let (heading, line) = capacity::line(step, limit);
                let head = if any { String::new() } else { heading + "\n" };
                any = true;
                format!("{head}{line}{}  {}", because(step), time_left(left))
            }
            Event::Window(window, left) => {
                let load = match window.multiple {
                    Some(multiple) => {
                        format!("{multiple}× {}", if window.gate { "with gate" } else { "without" })
                    }
                    None => "baseline".to_owned(),
                };
                let (_, line) = capacity::line(&window.step, limit);
                format!("{line}{}  {load}  {}", because(&window.step), time_left(left))
            }
        };
        // A reader that is gone does not affect the measurement.
        drop(print(format!("{text}\n")));
    })?;
    print(capacity::terminal(&report))?;
    print(files(&options.out))?;
    if quick {
        print("The figures of --quick are rough.\n")?;
    }
    match report.end() {
        End::Found | End::MaxRate => Ok(Outcome::Done),
        End::NothingCarried => Ok(Outcome::GoalMissed),
        End::Driver => anyhow::bail!(
            "THE LOAD GENERATOR WAS SATURATED: the site's limit is not known, only that it carries at least this"
        ),
    }
}

fn options(args: Args) -> anyhow::Result<Options> {
    let target = &args.target;
    check_scheme(target)?;
    if args.gate && !args.site.resolve.is_empty() {
        return Err(bad_input(
            "--gate with --resolve: the gate finds the site by its name alone, so that its load could reach another machine; enter the address into /etc/hosts, give it in --target, or leave out one of the two flags",
        ));
    }
    let one_page = args.scenario.is_none();
    let (scenario, target) = match &args.scenario {
        Some(name) => (scenario(name)?, target.clone()),
        None => Scenario::one_page(target, &PageRequest::default()),
    };
    let mut plan = args.site.plan(scenario, &target)?;
    plan.threads = args.threads.map_or(plan.threads, usize::from);
    plan.cores = args.driver_cores.map(|cores| cores.list().to_vec()).unwrap_or_default();
    plan.seed = args.seed;
    Ok(Options {
        plan,
        one_page,
        limit: Limit { ms: args.limit.as_secs_f64() * 1000.0, percentile: args.percentile },
        max_rate: args.max_rate.min(Arrivals::FASTEST),
        quick: args.quick,
        gate: args.gate,
        out: args.out,
        processes: args.site.process,
        time_scale: args.time_scale,
        step: args.step,
    })
}

pub(crate) fn percentile(text: &str) -> Result<u8, String> {
    let found = text.parse().ok().filter(|p| Limit::PERCENTILES.contains(p));
    found.ok_or_else(|| "must be 50, 90, 95 or 99".to_owned())
}

pub(crate) fn time_scale(text: &str) -> Result<f64, String> {
    let scale = text.parse().ok().filter(|scale| (0.002..=1.0).contains(scale));
    scale.ok_or_else(|| "must be 0.002 to 1, such as 0.1".to_owned())
}

pub(crate) fn step(text: &str) -> Result<Duration, String> {
    let within = Duration::from_millis(200)..=Duration::from_mins(10);
    let step = values::length(text).ok().filter(|step| within.contains(step));
    step.ok_or_else(|| "must be 200ms to 10m, such as 10s".to_owned())
}

/// Why the load generator counts as saturated; empty if it does not.
pub(crate) fn because(step: &Step) -> String {
    match &step.driver_saturated_because[..] {
        [] => String::new(),
        reasons => format!("  ({})", reasons.join("; ")),
    }
}

pub(crate) fn time_left(left: Duration) -> String {
    match left.as_secs() {
        0 => String::new(),
        seconds if seconds < 120 => format!("({seconds} s left)"),
        seconds => format!("({} min left)", seconds / 60),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_out_of_range_are_refused_with_the_range() {
        assert_eq!(percentile("99"), Ok(99));
        assert!(percentile("97").unwrap_err().contains("50, 90, 95 or 99"));
        assert_eq!(time_scale("0.1"), Ok(0.1));
        for wrong in ["0", "2", "NaN", "x"] {
            assert!(time_scale(wrong).unwrap_err().contains("0.002 to 1"), "{wrong}");
        }
        assert_eq!(step("250ms"), Ok(Duration::from_millis(250)));
        assert!(step("1ms").is_err() && step("1h").is_err());
    }

    #[test]
    fn the_time_left_is_in_minutes_where_there_are_some() {
        let left = [0, 90, 600].map(|seconds| time_left(Duration::from_secs(seconds)));
        assert_eq!(left, ["", "(90 s left)", "(10 min left)"]);
    }
}
