//! `tidegate demo`: the auction site behind the gate under more load than it can serve,
//! without and with admission control.

mod course;
mod goals;
mod plan;
mod ramp;
mod report;
mod summary;
mod table;
mod view;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;

use crate::exit::Outcome;
use crate::testbed::{settings, to_the_end};
use course::Course;
use plan::Plan;
use summary::{Setting, Summary};
use tidegate_experiment::{Bench, Resources, Started, conduct};
use tidegate_host::Cores;
use view::View;

/// Flags of `tidegate demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder for the report, the raw figures, the logs and the site's database
    #[arg(long, default_value = "out/demo", value_name = "DIR")]
    pub out: PathBuf,
    /// A short run with fewer points; its figures are rough
    #[arg(long)]
    pub quick: bool,
    /// Keep site and gates running at the end, until Ctrl-C
    #[arg(long)]
    pub keep: bool,
    /// Plain lines instead of the live screen
    #[arg(long)]
    pub plain: bool,
    /// Processors of site and gate [default: the first allowed]
    #[arg(long, value_name = "LIST")]
    pub server_cores: Option<Cores>,
    /// Processors of the customers [default: the second allowed]
    #[arg(long, value_name = "LIST")]
    pub driver_cores: Option<Cores>,
    /// Seed of the customers' choices
    #[arg(long, default_value_t = 1)]
    pub seed: u64,
}

/// Runs the demo.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    let plan = Plan::new(&args)?;
    let out = &args.out;
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let stop = crate::signals::stop_on_signal()?;

    let resources = Resources::whole_cores(&plan.server_cores, &plan.driver_cores)?;
    println!("{}", plan.introduction());
    let mut bench = Bench::anew(&resources, out, &stop)?.keeping_systems();
    // That shows its progress, which the live screen would hide.
    bench.prepare(&settings("off", &plan.server_cores))?;
    let of_policies = plan.policies.iter().map(|policy| settings(policy, &plan.server_cores));
    to_the_end(bench.begin(&of_policies.collect::<Vec<_>>()), &stop)?;
    let gates = bench.kept().into_iter().flat_map(Started::admin_urls);
    let pages: Vec<_> = gates.map(|(policy, url)| format!("{policy} {url}/")).collect();
    let mut view = View::open(args.plain);
    view.watch(&format!("Live in a browser: {}", pages.join(", ")));
    let mut course = Course::new(&plan, &resources, view);
    to_the_end(conduct(&mut course, &mut bench, &mut |_| ()), &stop)?;
    let mut summary = course.finish();

    let elapsed_s = began.elapsed().as_secs_f64();
    summary.setting = Setting { elapsed_s, ..plan.setting() };
    summary.goals = goals::evaluate(&summary);
    summary.remarks = summary.remarks();
    print!("{}", table::text(&summary));
    write_results(&summary, out)?;
    if args.keep {
        keep_running(&bench, &stop)?;
    }
    drop(bench);
    let missed = summary::any_missed(&summary.goals);
    Ok(if missed { Outcome::GoalMissed } else { Outcome::Done })
}

fn write_results(summary: &Summary, out: &Path) -> anyhow::Result<()> {
    let json = serde_json::to_string_pretty(summary).context("cannot write the summary")?;
    write(&out.join("summary.json"), &json)?;
    let page = out.join("report.html");
    write(&page, &report::page(summary))?;
    println!("\nreport: {}\nfigures: {}", page.display(), out.join("summary.json").display());
    Ok(())
}

fn write(path: &Path, text: &str) -> anyhow::Result<()> {
    std::fs::write(path, text).with_context(|| format!("cannot write {}", path.display()))
}

fn keep_running(bench: &Bench, stop: &tidegate_load::Stop) -> anyhow::Result<()> {
    let addresses = bench.kept().map(Started::addresses).transpose()?.unwrap_or_default();
    println!("\n{addresses}\nCtrl-C ends all of them.");
    std::io::stdout().flush()?;
    while !stop.is_stopped() {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Ok(())
}
