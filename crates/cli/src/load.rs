//! `tidegate load`: drive a service as customers do.

mod compare;
mod drivers;
mod exporters;
mod merge;
mod metrics;
mod otlp;
mod view;

use std::fs::OpenOptions;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use anyhow::Context;
use tidegate_load::arrivals::{Model, Process, Rate, Schedule};
use tidegate_load::scenario::BUILT_IN;
use tidegate_load::{
    Arrivals, ClientCertificate, Close, Group, Http, Keep, Part, Plan, Repeated, Scenario,
    Snapshot, Sources, Stop, Suite, Summary, TicketsOf, TlsVersions, start_at,
};

use crate::exit::{Outcome, bad_input};
use crate::signals::stop_on_signal;
use crate::stdout::print;
use drivers::Notes as _;
use exporters::Exporters;
use tidegate_host::Cores;
use view::View;

/// Flags of `tidegate load`.
#[derive(clap::Args)]
#[command(args_conflicts_with_subcommands = true, subcommand_negates_reqs = true)]
pub struct Args {
    #[command(subcommand)]
    command: Option<Command>,
    /// A scenario file, or the name of a built-in one [default: the one page that
    /// --target names, by 10 customers who ask again as soon as they are answered]
    #[arg(value_name = "SCENARIO")]
    scenario: Option<String>,
    /// The service, such as https://127.0.0.1:8443
    #[arg(long, value_name = "URL", required_unless_present_any = ["list", "show", "reference"])]
    target: Option<String>,
    /// List the built-in scenarios
    #[arg(long)]
    list: bool,
    /// Print a built-in scenario: a file to start from
    #[arg(long, value_name = "NAME")]
    show: Option<String>,
    /// Print the reference of scenario files: every table and key
    #[arg(long)]
    reference: bool,
    /// Sessions per second, Poisson, in place of the scenario's arrivals
    #[arg(long, value_name = "PER_S")]
    rate: Option<f64>,
    /// Requests per second, Poisson, each a session of its own (open model); side
    /// by side with other arrivals that are given
    #[arg(long, value_name = "PER_S")]
    requests: Option<f64>,
    /// Customers who begin a new session when the last has ended and they have
    /// thought (closed model); side by side with other arrivals that are given
    #[arg(long, value_name = "N")]
    closed: Option<u32>,
    /// Any arrivals, as the arrivals of a scenario are written, such as
    /// 'wave = { mean = 20, swing = 0.5, period = "1h" }'; several stand side by side
    #[arg(long, value_name = "TOML")]
    arrivals: Vec<String>,
    /// Seconds before anything is counted; 10 if not given, 30 in the closed model
    #[arg(long, value_name = "S")]
    warm_up: Option<f64>,
    /// Seconds that are measured; 30 if not given, 60 in the closed model
    #[arg(long, value_name = "S")]
    duration: Option<f64>,
    /// Factor on think times and patience
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    time_scale: f64,
    /// Further factor on patience
    #[arg(long, value_name = "X", default_value_t = 1.0)]
    patience_scale: f64,
    /// Customers the scenario draws from (names and passwords)
    #[arg(long, value_name = "N")]
    customers: Option<u64>,
    /// Seed of every random choice
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Processors of the driver, one thread each, such as 1 or 1-3
    #[arg(long, value_name = "LIST")]
    cores: Option<Cores>,
    /// Drive with so many processes of this machine, each with its part of the
    /// load; one report comes of it. With --cores the processors are divided
    /// among them
    #[arg(long, value_name = "N", default_value_t = 1, conflicts_with = "part",
          value_parser = clap::value_parser!(u32).range(1..=256))]
    drivers: u32,
    /// Be one of several drivers of a test, on whatever machines, such as 1/3: of
    /// all that arrives every third. Give all parts the same flags and the same
    /// --start-at, and add their --json up with `tidegate load merge`
    #[arg(long, value_name = "I/N", value_parser = Part::parse, requires = "start_at")]
    part: Option<Part>,
    /// Start at this instant, such as 2026-05-01T12:00:00Z: by the clocks of all
    /// machines, which have to be right
    #[arg(long, value_name = "TIME", value_parser = start_at)]
    start_at: Option<SystemTime>,
    /// Accept any certificate
    #[arg(long)]
    insecure: bool,
    /// Certificate authorities to trust instead of the system's (PEM)
    #[arg(long, value_name = "FILE")]
    ca: Option<PathBuf>,
    /// TLS versions to offer
    #[arg(long, value_name = "VERSION", value_parser = ["1.2", "1.3"])]
    tls: Option<String>,
    /// Cipher suites to offer, the preferred one first, such as
    /// TLS_AES_256_GCM_SHA384,TLS_CHACHA20_POLY1305_SHA256
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Suite::parse)]
    suites: Vec<Suite>,
    /// Key exchange groups to offer, the preferred one first, such as
    /// X25519MLKEM768,x25519
    #[arg(long, value_name = "LIST", value_delimiter = ',', value_parser = Group::parse)]
    groups: Vec<Group>,
    /// Certificate to show to a server that asks for one (PEM), the same for all
    /// customers
    #[arg(long, value_name = "FILE")]
    cert: Option<PathBuf>,
    /// Key of the certificate (PEM), if it is not in the same file
    #[arg(long, value_name = "FILE", requires = "cert")]
    key: Option<PathBuf>,
    /// Of the connections opened, the share whose TLS handshake is full, such as
    /// 0.3; all others are resumed, in random order
    #[arg(long, value_name = "SHARE")]
    full_share: Option<f64>,
    /// Resume with the customer's own tickets (the default), with those that the
    /// server gave anybody (the default with --full-share), or all with one ticket of
    /// TLS 1.3
    #[arg(long, value_name = "OF", value_parser = ["customer", "all", "one"])]
    tickets: Option<String>,
    /// Version of HTTP; 2 over TLS by ALPN, in clear with prior knowledge
    #[arg(long, value_name = "VERSION", value_parser = ["1.1", "2"])]
    http: Option<String>,
    /// Keep a connection for one request, for a session (the default), or by the
    /// customer of the closed model from session to session
    #[arg(long, value_name = "FOR", value_parser = ["request", "session", "customer"])]
    keep: Option<String>,
    /// Close connections by shutdown (close_notify and FIN) (the default) or by reset
    #[arg(long, value_name = "HOW", value_parser = ["shutdown", "reset"])]
    close: Option<String>,
    /// Source addresses: auto (the default: 64 of 127.0.77.0/24 if the target is on
    /// loopback), system, or a list of addresses and networks such as 127.8.0.0/16
    #[arg(long, value_name = "LIST", value_parser = Sources::parse)]
    sources: Option<Sources>,
    /// Every customer first comes with a ticket that the target did not issue, as
    /// an attacker would; needs --insecure
    #[arg(long)]
    forged_tickets: bool,
    /// Let an attack (handshake-flood, forged tickets) go against a service that is
    /// not on loopback: one of your own
    #[arg(long)]
    attack_remote: bool,
    /// Run so many times, with one seed after the other, and give the mean and
    /// its interval of 95 % for each figure; files of requests and seconds get
    /// the run's number
    #[arg(long, value_name = "N", default_value_t = 1,
          value_parser = clap::value_parser!(u32).range(1..=1000))]
    repeat: u32,
    /// Write the summary as JSON
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
    /// Write every request as a line of JSON
    #[arg(long, value_name = "FILE")]
    raw: Option<PathBuf>,
    /// Write every request as a row of Parquet
    #[arg(long, value_name = "FILE")]
    parquet: Option<PathBuf>,
    /// Write every second as a line of CSV
    #[arg(long, value_name = "FILE")]
    csv: Option<PathBuf>,
    /// Serve how the run stands for Prometheus, at /metrics of this port on
    /// loopback, or of this address
    #[arg(long, value_name = "ADDRESS", value_parser = metrics::address)]
    metrics: Option<SocketAddr>,
    /// Send how the run stands to an OpenTelemetry collector (OTLP over HTTP), such as
    /// http://127.0.0.1:4318; without an address to that of OTEL_EXPORTER_OTLP_ENDPOINT,
    /// or to http://localhost:4318
    #[arg(long, value_name = "URL", num_args = 0..=1, default_missing_value = "")]
    otlp: Option<String>,
    /// Plain lines instead of the live screen
    #[arg(long)]
    plain: bool,
}

#[derive(clap::Subcommand)]
enum Command {
    /// Say which figures of two sets of runs differ by more than chance
    Compare(compare::Args),
    /// Add up what the parts of one test measured, to one result
    Merge(merge::Args),
}

/// Runs the scenario and judges its thresholds.
pub fn run(args: Args) -> anyhow::Result<Outcome> {
    match &args.command {
        Some(Command::Compare(args)) => return compare::run(args),
        Some(Command::Merge(args)) => return merge::run(args),
        None => {}
    }
    if std::env::var_os(drivers::DRIVER).is_some() {
        return drivers::child::run(|job| part_of(&args, job));
    }
    if args.list {
        BUILT_IN.iter().try_for_each(|name| {
            let scenario = Scenario::built_in(name).expect("each of the list is there");
            print(format!("{name:28} {}\n", scenario.description()))
        })?;
        return Ok(Outcome::Done);
    }
    if let Some(name) = &args.show {
        let text = Scenario::built_in_text(name).ok_or_else(|| {
            bad_input(format!("--show {name}: must be one of {}", BUILT_IN.join(", ")))
        })?;
        print(text)?;
        return Ok(Outcome::Done);
    }
    if args.reference {
        print(tidegate_load::scenario::reference())?;
        return Ok(Outcome::Done);
    }
    no_tls_in_clear(&args)?;
    let plan = plan(&args)?;
    plan.check().map_err(bad_input)?;
    fits_drivers(&args)?;
    if (plan.warm_up + plan.measure).saturating_mul(args.repeat) > Plan::LONGEST {
        return Err(bad_input(format!(
            "--repeat {}: all runs together must be at most a day",
            args.repeat
        )));
    }
    own_files(&args)?;
    let mut exporters = Exporters::open(args.metrics, args.otlp.as_deref())?;
    let stop = stop_on_signal()?;
    let (mut runs, mut failed) = (Vec::new(), None);
    for number in 1..=args.repeat {
        let nth = nth(&plan, number, args.repeat);
        match run_once(&args, nth, number, &stop, &mut exporters) {
            Ok(summary) => runs.push(summary),
            // Those before it are of use all the same.
            Err(error) => failed = Some(error),
        }
        if failed.is_some() || stop.is_stopped() {
            break;
        }
    }
    let outcome = if args.repeat == 1 {
        runs.first().map_or(Ok(Outcome::Done), |summary| show(&args, summary))
    } else {
        show_all(&args, runs)
    };
    exporters.finish();
    failed.map_or(outcome, Err)
}

/// Sees that nothing is asked of TLS that will not be spoken.
fn no_tls_in_clear(args: &Args) -> anyhow::Result<()> {
    let target = args.target.as_deref().unwrap_or_default();
    let flags = [
        ("--tls", args.tls.is_some()),
        ("--suites", !args.suites.is_empty()),
        ("--groups", !args.groups.is_empty()),
        ("--cert", args.cert.is_some()),
        ("--ca", args.ca.is_some()),
        ("--full-share", args.full_share.is_some()),
        ("--tickets", args.tickets.is_some()),
        ("--forged-tickets", args.forged_tickets),
    ];
    let given: Vec<&str> = flags.into_iter().filter(|flag| flag.1).map(|flag| flag.0).collect();
    let clear = target.get(..7).is_some_and(|scheme| scheme.eq_ignore_ascii_case("http://"));
    if given.is_empty() || !clear {
        return Ok(());
    }
    let flags = given.join(", ");
    Err(bad_input(format!(
        "{flags}: {target} is visited in clear, without TLS; give an https:// target, or leave {} out",
        if given.len() == 1 { "it" } else { "these" }
    )))
}

/// Sees that all results can be written, before a run that may last a day, and that no
/// two go to the same file, where each would spoil the other.
fn own_files(args: &Args) -> anyhow::Result<()> {
    let files = [
        ("--json", &args.json),
        ("--raw", &args.raw),
        ("--parquet", &args.parquet),
        ("--csv", &args.csv),
    ];
    for (index, (flag, file)) in files.iter().enumerate() {
        let same = files[..index].iter().find(|(_, other)| file.is_some() && other == file);
        if let (Some((other, _)), Some(file)) = (same, file) {
            return Err(bad_input(format!(
                "{other} and {flag} both name {}: give each a file of its own",
                file.display()
            )));
        }
        if let Some(file) = file {
            can_be_written(file).map_err(|error| {
                let file = file.display();
                bad_input(format!("{flag} {file} cannot be written: {error}; name another file"))
            })?;
        }
    }
    Ok(())
}

/// Tries it, and changes nothing.
fn can_be_written(file: &Path) -> std::io::Result<()> {
    let mut options = OpenOptions::new();
    match std::fs::metadata(file) {
        // A pipe that nobody reads yet would be waited for, and a device is what it is.
        Ok(it) if !it.is_file() && !it.is_dir() => Ok(()),
        Ok(_) => options.append(true).open(file).map(drop),
        Err(_) => {
            options.write(true).create_new(true).open(file)?;
            std::fs::remove_file(file)
        }
    }
}

/// Sees that what is asked of several drivers can be.
fn fits_drivers(args: &Args) -> anyhow::Result<()> {
    if let Some(cores) = &args.cores
        && cores.list().len() < args.drivers as usize
    {
        return Err(bad_input(format!(
            "--cores {cores}: {} processor(s) for {} drivers; give each of them one of its own, or \
             leave the flag out",
            cores.list().len(),
            args.drivers
        )));
    }
    if args.start_at.is_some() && args.repeat > 1 {
        return Err(bad_input(
            "--start-at is the start of one run: give it without --repeat, one run after the other",
        ));
    }
    Ok(())
}

/// The plan of one of several drivers that this process is, as its lead says.
fn part_of(args: &Args, job: &drivers::message::Job) -> anyhow::Result<Plan> {
    let mut plan = nth(&plan(args)?, job.run, 1);
    plan.part = Some(job.part);
    plan.cores = job.cores.clone();
    (plan.raw, plan.parquet, plan.csv) = (job.raw.clone(), job.parquet.clone(), None);
    // The lead says when, once all are ready.
    plan.start_at = None;
    Ok(plan)
}

/// Writes and judges the result of the one run.
fn show(args: &Args, summary: &Summary) -> anyhow::Result<Outcome> {
    match &args.json {
        // Of a part most is histograms, which nobody reads by eye.
        Some(file) if summary.portion.is_some() => write(serde_json::to_string(summary)?, file)?,
        Some(file) => write_json(summary, file)?,
        None => {}
    }
    judge(summary)
}

/// Writes and judges the results of several.
fn show_all(args: &Args, runs: Vec<Summary>) -> anyhow::Result<Outcome> {
    if runs.is_empty() {
        return Ok(Outcome::Done);
    }
    let repeated = Repeated::new(runs);
    if let Some(file) = &args.json {
        write_json(&repeated, file)?;
    }
    print(format!("\n{repeated}"))?;
    // A run that failed outweighs one that missed a threshold.
    repeated.runs.iter().try_fold(Outcome::Done, |so_far, summary| {
        Ok(if judge(summary)? == Outcome::Done { so_far } else { Outcome::GoalMissed })
    })
}

/// The plan of one of several runs: its own seed and files.
fn nth(plan: &Plan, number: u32, of: u32) -> Plan {
    let mut plan = plan.clone();
    plan.seed = plan.seed.wrapping_add(u64::from(number - 1));
    if of > 1 {
        for file in [&mut plan.raw, &mut plan.parquet, &mut plan.csv].into_iter().flatten() {
            *file = numbered(file, number);
        }
    }
    plan
}

/// `raw.jsonl` as `raw.2.jsonl`.
fn numbered(file: &Path, number: u32) -> PathBuf {
    match file.extension() {
        Some(extension) => file.with_extension(format!("{number}.{}", extension.to_string_lossy())),
        None => file.with_extension(number.to_string()),
    }
}

/// Runs a plan before the user's eyes, and reports.
fn run_once(
    args: &Args,
    mut plan: Plan,
    number: u32,
    stop: &Stop,
    exporters: &mut Exporters,
) -> anyhow::Result<Summary> {
    let which = (args.repeat > 1).then(|| format!("run {number} of {}", args.repeat));
    let shown = plan.clone();
    let open = || View::open(args.plain, &shown, which.as_deref());
    let mut seen = Seen { open, view: None, later: Vec::new(), exporters, stop };
    let result = if args.drivers > 1 {
        drivers::run(&plan, number, args.drivers, stop, &mut seen)
    } else {
        if let Some(at) = plan.start_at {
            let left = at.duration_since(SystemTime::now()).unwrap_or_default();
            seen.note(&format!("the test starts in {:.0} s", left.as_secs_f64()));
        }
        // While it waits for its start nobody looks at snapshots.
        plan.stop = stop.clone();
        tidegate_load::run(plan, &mut |snapshot| seen.show(snapshot)).map_err(told)
    };
    drop(seen);
    let summary = result?;
    print(tidegate_load::report(&summary))?;
    Ok(summary)
}

/// An error of a run as it is told to the user.
fn told(error: tidegate_load::Error) -> anyhow::Error {
    match error.exit_code() {
        2 => bad_input(error),
        _ => error.into(),
    }
}

/// Where a run is seen while it goes on.
struct Seen<'a, O> {
    open: O,
    /// Opened with the first figures.
    view: Option<View>,
    /// What could not be said while the terminal was taken over.
    later: Vec<String>,
    exporters: &'a mut Exporters,
    stop: &'a Stop,
}

impl<O: Fn() -> View> drivers::Notes for Seen<'_, O> {
    fn note(&mut self, text: &str) {
        match self.view {
            Some(View::Live(_)) => self.later.push(text.to_owned()),
            // A broken pipe is not the measurement's concern.
            _ => drop(print(format!("{text}\n"))),
        }
    }

    fn show(&mut self, snapshot: &Snapshot) {
        if self.view.get_or_insert_with(&self.open).show(snapshot) {
            self.stop.stop();
        }
        if let Some(trouble) = self.exporters.show(snapshot) {
            self.note(&trouble);
        }
    }
}

impl<O> Drop for Seen<'_, O> {
    fn drop(&mut self) {
        // The terminal is given back first.
        self.view = None;
        self.later.iter().for_each(|text| drop(print(format!("{text}\n"))));
    }
}

fn plan(args: &Args) -> anyhow::Result<Plan> {
    let target = args.target.as_deref().expect("clap requires it");
    let (scenario, target) = match &args.scenario {
        Some(name) => (scenario(name)?, target.to_owned()),
        None => Scenario::one_page(target),
    };
    let mut plan = Plan::new(scenario, &target);
    plan.arrivals = arrivals(args)?;
    let (warm_up, measure) = plan.arrivals().map_err(bad_input)?.window();
    let or = |flag, given: Option<f64>, default| match given {
        Some(value) => seconds(flag, value),
        None => Ok(default),
    };
    plan.warm_up = or("--warm-up", args.warm_up, warm_up)?;
    plan.measure = or("--duration", args.duration, measure)?;
    plan.time_scale = args.time_scale;
    plan.patience_scale = args.patience_scale;
    plan.customers = args.customers;
    plan.seed = args.seed;
    (plan.part, plan.start_at) = (args.part, args.start_at);
    plan.cores = args.cores.as_ref().map(|cores| cores.list().to_vec()).unwrap_or_default();
    plan.insecure = args.insecure;
    plan.forged_tickets = args.forged_tickets;
    plan.attack_remote = args.attack_remote;
    plan.ca = args.ca.clone();
    plan.raw = args.raw.clone();
    plan.parquet = args.parquet.clone();
    plan.csv = args.csv.clone();
    match args.keep.as_deref() {
        Some("request") => plan.keep = Keep::Request,
        Some("session") => plan.keep = Keep::Session,
        Some(_) => plan.keep = Keep::Customer,
        // Customers who ask for a page again and again do so on one connection.
        None if args.scenario.is_none()
            && plan.arrivals().is_ok_and(|arrivals| arrivals.has_closed()) =>
        {
            plan.keep = Keep::Customer;
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
    Ok(plan)
}

/// What the flags ask for, side by side; `None` leaves it to the scenario.
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

fn write_json(result: &impl serde::Serialize, file: &Path) -> anyhow::Result<()> {
    write(serde_json::to_string_pretty(result)?, file)
}

fn write(json: String, file: &Path) -> anyhow::Result<()> {
    std::fs::write(file, json).with_context(|| format!("cannot write {}", file.display()))
}

/// The summary knows its exit code; this says why.
fn judge(summary: &Summary) -> anyhow::Result<Outcome> {
    match summary.exit_code() {
        0 => Ok(Outcome::Done),
        1 => Ok(Outcome::GoalMissed),
        _ if summary.driver_saturated => {
            let why = summary.driver.saturated_because.join("; ");
            anyhow::bail!("THE DRIVER WAS SATURATED, these figures are not the target's: {why}")
        }
        _ if !summary.incomplete.is_empty() => {
            anyhow::bail!("the result is not whole: {}", summary.incomplete.join("; "))
        }
        _ => match &summary.raw_error {
            Some(error) => anyhow::bail!("a file is not whole: {error}"),
            None if summary.interrupted && summary.measured_s <= 0.0 => {
                anyhow::bail!("stopped in the warm-up: nothing was measured")
            }
            None => anyhow::bail!("no request succeeded"),
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_of_several_runs_has_a_seed_and_files_of_its_own() {
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
