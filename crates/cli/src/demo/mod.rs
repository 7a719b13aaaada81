//! `tidegate demo`: the auction site behind the gate under more load than it can serve,
//! without and with admission control.

mod event;
mod goals;
mod measure;
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
use event::Event;
use measure::Measurement;
use plan::{ASSESSED, Plan, is_overload};
use summary::{POLICIES, Setting, Summary};
use tidegate_host::Cores;
use tidegate_lab::{Setup, Testbed};
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

    // All threads of this process run on the customers' processors.
    plan.driver_cores.pin_this_thread()?;
    println!("{}", plan.introduction());
    let setup = Setup::new(&plan.server_cores, plan.experiment.time_scale);
    let mut testbed = Testbed::open(setup, out)?;
    for policy in plan.policies {
        testbed.open_gate(policy)?;
    }
    let mut view = View::open(args.plain);
    let mut show = |event: &Event| view.show(event);
    let mut summary = measure(&mut Measurement::new(&plan, &testbed, &stop, &mut show)?)?;
    drop(view);

    let elapsed_s = began.elapsed().as_secs_f64();
    summary.setting = Setting { elapsed_s, ..plan.setting() };
    summary.goals = goals::evaluate(&summary);
    summary.remarks = summary.remarks();
    print!("{}", table::text(&summary));
    write_results(&summary, out)?;
    if args.keep {
        keep_running(&testbed, &stop)?;
    }
    drop(testbed);
    let missed = summary::any_missed(&summary.goals);
    Ok(if missed { Outcome::GoalMissed } else { Outcome::Done })
}

/// The capacity, then every point. The machine's speed drifts meanwhile: a baseline before
/// each load measures the capacity that it is a multiple of, the policies take turns at it,
/// and under overload the assessed policy is measured twice between baselines, and more often
/// while a goal is within the spread and there is time.
fn measure(measurement: &mut Measurement) -> anyhow::Result<Summary> {
    let plan = measurement.plan;
    let (capacity_sessions_per_s, ramp) = measurement.capacity()?;
    let mut summary = Summary { capacity_sessions_per_s, ramp, ..Summary::default() };
    let mut capacity_is_known = false;
    for multiple in plan.multiples {
        if !capacity_is_known {
            summary.baselines.extend(measurement.baselines()?);
        }
        let capacity = measurement.capacity_now();
        for policy in plan.policies {
            let assessed = *policy == ASSESSED && is_overload(*multiple);
            let mut windows = Vec::new();
            for _ in 0..plan.windows(assessed) {
                if assessed {
                    summary.baselines.extend(measurement.baselines()?);
                }
                windows.push(measurement.point(policy, *multiple, capacity)?);
            }
            if assessed {
                summary.baselines.extend(measurement.baselines()?);
            }
            summary.set(&windows, measurement.peak());
            // Where the spread leaves a goal open, more windows make it smaller.
            while assessed && goals::is_close(&summary, *multiple) && measurement.has_spare_window()
            {
                windows.push(measurement.point(policy, *multiple, capacity)?);
                summary.baselines.extend(measurement.baselines()?);
                summary.set(&windows, measurement.peak());
            }
            capacity_is_known = assessed;
            let point = summary.points.last().expect("it was just added");
            let share_of_peak = summary.share_of_peak(point);
            measurement.show(&Event::Point { point, share_of_peak });
        }
    }
    summary.points.sort_by_key(|point| POLICIES.iter().position(|policy| *policy == point.policy));
    Ok(summary)
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

fn keep_running(testbed: &Testbed, stop: &tidegate_load::Stop) -> anyhow::Result<()> {
    println!("\n{}\nCtrl-C ends all of them.", testbed.addresses()?);
    std::io::stdout().flush()?;
    while !stop.is_stopped() {
        std::thread::sleep(std::time::Duration::from_millis(100));
    }
    Ok(())
}
