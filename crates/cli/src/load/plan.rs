//! From flags to a [`Plan`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_load::arrivals::{Model, Process, Rate, Schedule};
use tidegate_load::scenario::{BUILT_IN, RunTimes};
use tidegate_load::{
    Arrivals, ClientCertificate, Close, Http, KeepAlive, Plan, Scenario, TicketsOf, TlsVersions,
};

use super::args::Args;
use super::drivers::message::Job;
use crate::exit::bad_input;

/// The plan of the first run.
pub(super) fn plan(args: &Args) -> anyhow::Result<Plan> {
    let target = args.target.as_deref().expect("clap requires it");
    let (scenario, target) = match &args.scenario {
        Some(name) => (scenario(name)?, target.to_owned()),
        None => Scenario::one_page(target),
    };
    let mut plan = Plan::new(scenario, &target);
    plan.arrivals = arrivals(args)?;
    plan.arrivals().map_err(bad_input)?;
    let window = plan.window(run_times(args)?);
    (plan.warm_up, plan.measure) = (window.warm_up, window.measure);
    plan.time_scale = args.time_scale;
    plan.patience_scale = args.patience_scale;
    plan.customers = args.customers;
    plan.seed = args.seed;
    (plan.shard, plan.start_at) = (args.shard, args.start_at);
    plan.cores = args.cores.as_ref().map(|cores| cores.list().to_vec()).unwrap_or_default();
    plan.insecure = args.insecure;
    plan.forged_tickets = args.forged_tickets;
    plan.attack_remote = args.attack_remote;
    plan.ca = args.ca.clone();
    plan.raw = args.raw.clone();
    plan.parquet = args.parquet.clone();
    plan.csv = args.csv.clone();
    set_connections(&mut plan, args);
    set_tls(&mut plan, args)?;
    Ok(plan)
}

/// The times of the run as flags state them.
pub(super) fn run_times(args: &Args) -> anyhow::Result<RunTimes> {
    let time = |flag, given: Option<f64>| given.map(|value| seconds(flag, value)).transpose();
    let (warm_up, duration) =
        (time("--warm-up", args.warm_up)?, time("--duration", args.duration)?);
    Ok(RunTimes { warm_up, duration })
}

fn set_connections(plan: &mut Plan, args: &Args) {
    match args.keep.as_deref() {
        Some("request") => plan.keep = KeepAlive::Request,
        Some("session") => plan.keep = KeepAlive::Session,
        Some(_) => plan.keep = KeepAlive::Customer,
        // Without a scenario, customers of the closed model keep one connection each.
        None if args.scenario.is_none()
            && plan.arrivals().is_ok_and(|arrivals| arrivals.has_closed()) =>
        {
            plan.keep = KeepAlive::Customer;
        }
        None => {}
    }
    match args.http.as_deref() {
        Some("2") => plan.http = Http::Two,
        Some(_) => plan.http = Http::One,
        None => {}
    }
    match args.close.as_deref() {
        Some("reset") => plan.close = Close::Reset,
        Some(_) => plan.close = Close::Shutdown,
        None => {}
    }
    if let Some(sources) = &args.sources {
        plan.sources = sources.clone();
    }
}

fn set_tls(plan: &mut Plan, args: &Args) -> anyhow::Result<()> {
    match args.tls.as_deref() {
        Some("1.2") => plan.tls = TlsVersions::Only12,
        Some(_) => plan.tls = TlsVersions::Only13,
        None => {}
    }
    if !args.suites.is_empty() {
        plan.suites = args.suites.clone();
    }
    if !args.groups.is_empty() {
        plan.groups = args.groups.clone();
    }
    if let Some(certificate) = &args.cert {
        let read = ClientCertificate::load(certificate, args.key.as_deref());
        plan.certificate = Some(read.map_err(bad_input)?);
    }
    plan.full_share = args.full_share.or(plan.full_share);
    match args.tickets.as_deref() {
        Some("all") => plan.tickets = Some(TicketsOf::All),
        Some("one") => plan.tickets = Some(TicketsOf::One),
        Some(_) => plan.tickets = Some(TicketsOf::Customer),
        None => {}
    }
    Ok(())
}

/// The plan of a driver process, as its lead requested it.
pub(super) fn shard_plan(args: &Args, job: &Job) -> anyhow::Result<Plan> {
    let mut plan = nth(&plan(args)?, job.run, 1);
    plan.shard = Some(job.shard);
    plan.cores = job.cores.clone();
    (plan.raw, plan.parquet, plan.csv) = (job.raw.clone(), job.parquet.clone(), None);
    // The lead sends the start time once all drivers are ready.
    plan.start_at = None;
    Ok(plan)
}

/// The plan of one of several runs, with its own seed and files.
pub(super) fn nth(plan: &Plan, number: u32, of: u32) -> Plan {
    let mut plan = plan.clone();
    plan.seed = plan.seed.wrapping_add(u64::from(number - 1));
    if of > 1 {
        for file in [&mut plan.raw, &mut plan.parquet, &mut plan.csv].into_iter().flatten() {
            *file = numbered(file, number);
        }
    }
    plan
}

/// `raw.jsonl` becomes `raw.2.jsonl`.
fn numbered(file: &Path, number: u32) -> PathBuf {
    match file.extension() {
        Some(extension) => file.with_extension(format!("{number}.{}", extension.to_string_lossy())),
        None => file.with_extension(number.to_string()),
    }
}

/// The arrivals given by flags; `None` if there are none and the scenario's apply.
fn arrivals(args: &Args) -> anyhow::Result<Option<Arrivals>> {
    let mut all = Vec::new();
    if let Some(rate) = args.rate {
        all.push(Arrivals::poisson(per_s("--rate", rate)?));
    }
    if let Some(rate) = args.requests {
        let rate = Rate::constant(per_s("--requests", rate)?);
        all.push(Arrivals::of(Model::Open(Schedule::Rate(Process::Poisson, rate))));
    }
    if let Some(customers) = args.closed {
        if !(1..=Arrivals::CUSTOMERS).contains(&customers) {
            let most = Arrivals::CUSTOMERS;
            return Err(bad_input(format!("--closed {customers}: must be 1 to {most}")));
        }
        all.push(Arrivals::closed(customers));
    }
    for line in &args.arrivals {
        all.push(Arrivals::from_line(line, "--arrivals").map_err(bad_input)?);
    }
    Ok((!all.is_empty()).then(|| Arrivals::side_by_side(all)))
}

fn per_s(flag: &str, rate: f64) -> anyhow::Result<f64> {
    if rate > 0.0 && rate <= Arrivals::FASTEST {
        return Ok(rate);
    }
    Err(bad_input(format!("{flag} {rate}: must be above 0 and at most {}", Arrivals::FASTEST)))
}

/// A built-in scenario by name, else a file.
fn scenario(name: &str) -> anyhow::Result<Scenario> {
    if let Some(scenario) = Scenario::built_in(name) {
        return Ok(scenario);
    }
    let path = Path::new(name);
    if !path.exists() {
        let known = BUILT_IN.join(", ");
        return Err(bad_input(format!("{name}: neither a file nor a built-in scenario ({known})")));
    }
    Scenario::from_file(path).map_err(bad_input)
}

fn seconds(flag: &str, value: f64) -> anyhow::Result<Duration> {
    Duration::try_from_secs_f64(value)
        .map_err(|_| bad_input(format!("{flag} {value}: must be seconds, 0 or more")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_runs_has_its_own_seed_and_files() {
        let scenario = Scenario::built_in(BUILT_IN[0]).unwrap();
        let mut plan = Plan::new(scenario, "https://127.0.0.1:1");
        (plan.seed, plan.raw) = (7, Some("out/raw.jsonl".into()));
        plan.csv = Some("seconds".into());
        let third = nth(&plan, 3, 5);
        assert_eq!((third.seed, third.parquet), (9, None));
        assert_eq!(third.raw.unwrap(), Path::new("out/raw.3.jsonl"));
        assert_eq!(third.csv.unwrap(), Path::new("seconds.3"));
        let only = nth(&plan, 1, 1);
        assert_eq!((only.seed, only.raw.unwrap()), (7, PathBuf::from("out/raw.jsonl")));
    }
}
