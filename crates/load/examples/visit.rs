//! Sends customers to a target and prints lines and a report:
//! `visit SCENARIO TARGET SESSIONS_PER_S SECONDS TIME_SCALE [RAW]`.

use std::path::Path;
use std::time::Duration;

use tidegate_load::{Arrivals, Plan, Scenario, line, report, run};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [scenario, target, per_s, seconds, scale, raw @ ..] = &arguments[..] else {
        return Err("visit SCENARIO TARGET SESSIONS_PER_S SECONDS TIME_SCALE [RAW]".into());
    };
    let scenario = match Scenario::built_in(scenario) {
        Some(scenario) => scenario,
        None => Scenario::from_file(Path::new(scenario))?,
    };
    let mut plan = Plan::new(scenario, target);
    plan.arrivals = Some(Arrivals::poisson(per_s.parse()?));
    plan.warm_up = Duration::from_secs(2);
    plan.measure = Duration::from_secs(seconds.parse()?);
    plan.time_scale = scale.parse()?;
    plan.insecure = true;
    plan.raw = raw.first().map(Into::into);
    let summary = run(plan, &mut |snapshot| {
        line(snapshot).iter().for_each(|line| println!("{line}"));
    })?;
    print!("{}", report(&summary));
    std::process::exit(summary.exit_code().into());
}
