//! From flags to a [`Plan`].

use std::path::{Path, PathBuf};
use std::time::Duration;

use tidegate_load::arrivals::{Model, Process, Rate, Schedule};
use tidegate_load::scenario::{LARGEST_CONTENT, RunTimes};
use tidegate_load::{Allow, Arrivals, ClientCertificate, KeepAlive, PageRequest, Plan, Scenario};

use super::args::Args;
use super::drivers::message::{Job, Limits};
use super::names::unknown;
use crate::exit::bad_input;

/// The plan of the first run.
pub(super) fn plan(args: &Args) -> anyhow::Result<Plan> {
    let target = args.target.as_deref().expect("it was found before");
    let (mut scenario, target) = match &args.scenario {
        Some(name) => (scenario(name)?, target.to_owned()),
        None => Scenario::one_page(target, &page_request(args)?),
    };
    if args.scenario.is_some() && (args.method.is_some() || args.data.is_some()) {
        return Err(bad_input(
            "--method and --data are for a URL alone: a scenario states them for each page",
        ));
    }
    scenario.add_headers(&args.headers);
    if let Some(patience) = args.timeout {
        scenario.set_patience(patience);
    }
    let mut plan = Plan::new(scenario, &target);
    plan.resolve.clone_from(&args.resolve);
    plan.arrivals = arrivals(args)?;
    plan.arrivals().map_err(bad_input)?;
    plan.max_sessions = args.sessions;
    let window = plan.window(run_times(args));
    (plan.warm_up, plan.measure) = (window.warm_up, window.measure);
    plan.time_scale = args.time_scale;
    plan.patience_scale = args.patience_scale;
    plan.customers = args.customers;
    plan.seed = args.seed;
    plan.http_debug = args.http_debug.unwrap_or_default();
    (plan.shard, plan.start_at) = (args.shard, args.start_at);
    plan.cores = args.cores.as_ref().map(|cores| cores.list().to_vec()).unwrap_or_default();
    plan.threads = threads(args);
    plan.insecure = args.insecure;
    plan.forged_tickets = args.forged_tickets;
    plan.attack_remote = args.attack_remote;
    plan.ca = args.ca.clone();
    plan.raw = args.raw.clone();
    plan.trace = args.trace.clone();
    plan.parquet = args.parquet.clone();
    plan.csv = args.csv.clone();
    set_connections(&mut plan, args);
    set_tls(&mut plan, args)?;
    Ok(plan)
}

/// The times of the run as flags state them. A URL alone has an answer in ten seconds, and a
/// number of sessions is counted from the start until they are over.
pub(super) fn run_times(args: &Args) -> RunTimes {
    let (mut warm_up, mut duration) = (args.warm_up, args.duration);
    if args.sessions.is_some() {
        let before = *warm_up.get_or_insert(Duration::ZERO);
        let most = Plan::LONGEST / args.repeat;
        duration.get_or_insert(most.saturating_sub(before));
    } else if args.scenario.is_none() && args.arrivals.is_empty() {
        warm_up.get_or_insert(PAGE_WARM_UP);
        duration.get_or_insert(PAGE_DURATION);
    }
    RunTimes { warm_up, duration }
}

/// Warm-up and measured time of a URL alone.
const PAGE_WARM_UP: Duration = Duration::from_secs(2);
const PAGE_DURATION: Duration = Duration::from_secs(8);

/// Customers of a URL alone, if the flags do not say.
const PAGE_CUSTOMERS: u32 = 10;

/// The number of threads that are not pinned.
fn threads(args: &Args) -> usize {
    let needed = || match (&args.scenario, args.drivers) {
        (None, 1) => {
            let most = args.closed.unwrap_or(PAGE_CUSTOMERS) as usize;
            std::thread::available_parallelism().map_or(1, |all| all.get().min(most)).max(1)
        }
        _ => 1,
    };
    args.threads.map_or_else(needed, usize::from)
}

/// How the URL alone is requested.
fn page_request(args: &Args) -> anyhow::Result<PageRequest> {
    let body = match args.data.as_deref() {
        Some("@-") => Some(read_standard_input(args)?),
        Some(text) => Some(match text.strip_prefix('@') {
            Some(file) => read_body(Path::new(file))?,
            None => text.to_owned().into_bytes(),
        }),
        None => None,
    };
    Ok(PageRequest { method: args.method, body })
}

fn read_body(file: &Path) -> anyhow::Result<Vec<u8>> {
    tidegate_config::read_bytes(file, LARGEST_CONTENT).map_err(|error| {
        bad_input(format!("--data @{}: {error}; name a file to send", file.display()))
    })
}

/// As curl has it. Drivers get their work by standard input.
fn read_standard_input(args: &Args) -> anyhow::Result<Vec<u8>> {
    if args.drivers > 1 || args.fleet.is_used() {
        return Err(bad_input(
            "--data @-: several drivers cannot read standard input; write the body to a file and \
             give --data @FILE",
        ));
    }
    tidegate_config::all_of(std::io::stdin().lock(), LARGEST_CONTENT)
        .map_err(|error| bad_input(format!("--data @-: {error}; send less")))
}

fn set_connections(plan: &mut Plan, args: &Args) {
    // Without a scenario, customers of the closed model keep one connection each.
    let has_closed = || plan.arrivals().is_ok_and(|arrivals| arrivals.has_closed());
    let own = (args.scenario.is_none() && has_closed()).then_some(KeepAlive::Customer);
    plan.keep = args.keep.or(own).unwrap_or(plan.keep);
    plan.accept_encoding |= args.compressed;
    plan.http = args.http.unwrap_or(plan.http);
    plan.close = args.close.unwrap_or(plan.close);
    if let Some(sources) = &args.sources {
        plan.sources = sources.clone();
    }
}

fn set_tls(plan: &mut Plan, args: &Args) -> anyhow::Result<()> {
    plan.tls = args.tls.unwrap_or(plan.tls);
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
    plan.tickets = args.tickets.or(plan.tickets);
    Ok(())
}

/// The plan of a driver process, as its lead requested it.
pub(super) fn shard_plan(args: &Args, job: &Job) -> anyhow::Result<Plan> {
    let mut plan = nth(&plan(args)?, job.run, 1);
    plan.shard = Some(job.shard);
    plan.cores.clone_from(&job.cores);
    (plan.raw, plan.parquet, plan.csv) = (job.raw.clone(), job.parquet.clone(), None);
    // Traces are read together, so they are not joined.
    plan.trace = plan.trace.map(|file| numbered(&file, job.shard.number()));
    // The lead sends the start time once all drivers are ready.
    plan.start_at = None;
    if let Some(limits) = &job.limits {
        set_limits(&mut plan, limits)?;
    }
    Ok(plan)
}

/// Keeps a plan within what an agent allows.
fn set_limits(plan: &mut Plan, limits: &Limits) -> anyhow::Result<()> {
    let Limits { allow, most_connections, longest } = limits;
    let allow = allow.iter().map(|text| Allow::parse(text)).collect::<Result<_, _>>();
    plan.allow = Some(allow.map_err(bad_input)?);
    // Nothing is written to the machine of an agent.
    (plan.trace, plan.http_debug) = (None, 0);
    if let Some(most) = most_connections {
        plan.limit_connections(*most);
    }
    let length = plan.warm_up + plan.measure;
    match longest {
        Some(longest) if length > *longest => Err(bad_input(format!(
            "the test lasts {length:?} and at most {longest:?} is allowed here; shorten it, or start \
             the agent with a higher --longest"
        ))),
        _ => Ok(()),
    }
}

/// The plan of one of several runs, with its own seed and files.
pub(super) fn nth(plan: &Plan, number: u32, of: u32) -> Plan {
    let mut plan = plan.clone();
    plan.seed = plan.seed.wrapping_add(u64::from(number - 1));
    if of > 1 {
        let files = [&mut plan.raw, &mut plan.parquet, &mut plan.csv, &mut plan.trace];
        for file in files.into_iter().flatten() {
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
        all.push(Arrivals::poisson(rate));
    }
    if let Some(rate) = args.requests {
        let rate = Rate::constant(rate);
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

/// A built-in scenario by name, else a file.
pub(crate) fn scenario(name: &str) -> anyhow::Result<Scenario> {
    if let Some(scenario) = Scenario::built_in(name) {
        return Ok(scenario);
    }
    let path = Path::new(name);
    if !tidegate_config::exists(path) {
        return Err(bad_input(unknown(name)));
    }
    Scenario::from_file(path).map_err(bad_input)
}

#[cfg(test)]
mod tests {
    use tidegate_load::scenario::BUILT_IN;

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
