//! The demo: an auction site behind the gate meets more customers than it can
//! serve, first without and then with admission control.

mod chart;
mod goals;
mod lab;
mod measure;
mod plan;
mod pulse;
mod ramp;
mod report;
mod service;
mod summary;
mod table;
mod view;

pub use service::READY;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::time::Instant;

use anyhow::Context;

use crate::cores::Cores;
use crate::exit::Outcome;
use lab::Lab;
use measure::Experiment;
use plan::Plan;
use summary::{POLICIES, Point, RampStep, Rate, Setting, Summary};
use view::View;

/// Flags of `tidegate demo`.
#[derive(clap::Args)]
pub struct Args {
    /// Folder for the report, the raw figures, the logs and the site's database
    #[arg(long, default_value = "out/demo", value_name = "DIR")]
    pub out: PathBuf,
    /// A short run: fewer points and shorter windows; its figures are rough
    #[arg(long)]
    pub quick: bool,
    /// Leave site and gate running at the end, until Ctrl-C
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

/// Runs the demo from an empty folder to the report.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    let began = Instant::now();
    let plan = Plan::new(&args)?;
    let out = &args.out;
    std::fs::create_dir_all(out).with_context(|| format!("cannot create {}", out.display()))?;
    let stop = crate::signals::stop_on_signal()?;

    // Whatever this process does beside driving, it does on the customers' side.
    plan.driver_cores.pin_this_thread()?;
    println!("{}", plan.introduction());
    let mut lab = Lab::open(&plan, out)?;
    for policy in plan.policies {
        lab.open_gate(policy)?;
    }
    let view = View::open(args.plain);
    let mut experiment = Experiment::new(&plan, lab, stop, view)?;
    let (capacity, ramp) = experiment.capacity()?;
    let points = measure_points(&mut experiment, capacity)?;
    let peak = experiment.peak();
    let Experiment { lab, stop, view, .. } = experiment;
    drop(view);

    let summary = summarise(&plan, capacity, ramp, points, peak, began);
    print!("{}", table::text(&summary));
    write_results(&summary, out)?;
    if args.keep {
        keep_running(&lab, &stop)?;
    }
    lab.close();
    let met = summary.goals.iter().all(|goal| goal.met);
    Ok(if met { Outcome::Done } else { Outcome::GoalMissed })
}

/// The policies take turns at each load, so that all of them meet the machine
/// in the same mood.
fn measure_points(experiment: &mut Experiment, capacity: f64) -> anyhow::Result<Vec<Point>> {
    let plan = experiment.plan;
    let mut points = Vec::new();
    for multiple in plan.multiples {
        for policy in plan.policies {
            points.push(experiment.point(policy, *multiple, capacity)?);
        }
    }
    let place = |point: &Point| POLICIES.iter().position(|policy| *policy == point.policy);
    points.sort_by_key(place);
    Ok(points)
}

fn summarise(
    plan: &Plan,
    capacity: f64,
    ramp: Vec<RampStep>,
    points: Vec<Point>,
    peak: Rate,
    began: Instant,
) -> Summary {
    let mut summary = Summary {
        capacity_sessions_per_s: capacity,
        peak_completed_per_s: peak.completed_per_s,
        peak_machine_speed: peak.machine_speed,
        points,
        ramp,
        goals: Vec::new(),
        setting: Setting { elapsed_s: began.elapsed().as_secs_f64(), ..plan.setting() },
    };
    summary.goals = goals::judge(&summary);
    summary
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

fn keep_running(lab: &Lab, stop: &tidegate_load::Stop) -> anyhow::Result<()> {
    println!("\n{}\nCtrl-C ends both.", lab.addresses()?);
    std::io::stdout().flush()?;
    while !stop.is_stopped() {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Ok(())
}
