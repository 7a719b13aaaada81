//! Measurements of `tidegate load` alone: the memory of idle customers, and the rates
//! that it keeps.

use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

use anyhow::{Context, bail};
use serde::Serialize;
use tidegate_lab::{Exit, Process};

use super::args::Args;
use super::row::Row;
use super::site::Site;
use super::tool::{Program, Tool, tls_flags};
use super::turn::start;

/// Customers of the run that the memory of many is compared with.
const FEW: u32 = 100;
/// Time within which all customers arrive.
const ARRIVAL: Duration = Duration::from_secs(20);
/// Open files of the driver, or of the server, that are not customers' connections.
const OTHER_FILES: u64 = 100;
/// Requests of a session of the rates.
const SESSION: u32 = 100;
/// Target uses of the driver's processor.
const SHARES: [f64; 4] = [0.2, 0.4, 0.6, 0.8];
/// Tolerance of the use.
pub const NEAR: f64 = 0.03;
/// A server that uses more of its processor than this is saturated.
const FULL: f64 = 0.95;
/// Most attempts to reach a use.
const TRIES: u32 = 5;

/// Memory of idle customers.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Memory {
    /// Over TLS, else over plain HTTP.
    pub tls: bool,
    /// Connected customers that received one answer and then stayed idle.
    #[serde(flatten)]
    pub customers: Customers,
    /// Resident memory of the whole process.
    pub resident_mb: f64,
    /// Memory of each: the difference to the same run with a hundred.
    pub bytes_per_customer: f64,
}

/// How many idle customers are measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Customers {
    /// Number measured.
    #[serde(rename = "customers")]
    pub number: u32,
    /// Number requested.
    #[serde(rename = "customers_asked")]
    pub asked: u32,
}

impl Customers {
    /// The number requested, or what the limit on open files allows: each customer is an
    /// open file of the driver and one of the server. The soft limit is raised to the hard
    /// one, also for the programs that are started from here.
    pub fn fitting(asked: u32) -> Self {
        Self::within(asked, tidegate_host::open_files::raise_limit())
    }

    fn within(asked: u32, files: u64) -> Self {
        let most = u32::try_from(files.saturating_sub(OTHER_FILES)).unwrap_or(u32::MAX);
        Self { number: asked.min(most), asked }
    }
}

/// A requested rate and its result.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Kept {
    /// Requests per second requested.
    pub asked_per_s: f64,
    /// Requests per second answered.
    pub achieved_per_s: f64,
    /// Share of its processor that the driver used.
    pub cpu_share: f64,
    /// Share of its processor that the server used.
    pub server_share: f64,
    /// Share of starts more than 10 ms late.
    pub missed_share: f64,
}

impl Kept {
    /// Whether the server was not saturated, so that the driver limited the rate.
    pub fn limited_by_driver(&self) -> bool {
        self.server_share < FULL
    }
}

/// Measures the memory of idle customers, over TLS or plain HTTP.
///
/// # Errors
/// Not all of them connect, or the limit on open files allows too few.
pub fn memory(
    program: &Program,
    site: &Site,
    folder: &Path,
    args: &Args,
    customers: Customers,
    tls: bool,
) -> anyhow::Result<Memory> {
    let Customers { number, asked } = customers;
    if number < 2 * FEW {
        bail!(
            "the limit on open files allows {number} customers of {asked}, and {} are needed to \
             compare; raise the hard limit (ulimit -Hn)",
            2 * FEW
        );
    }
    let resident = |customers| idle(program, site, folder, args, customers, tls);
    let (few, many) = (resident(FEW)?, resident(number)?);
    Ok(Memory {
        tls,
        customers,
        resident_mb: many / 1e6,
        bytes_per_customer: (many - few) / f64::from(number - FEW),
    })
}

/// Resident bytes of the driver while so many customers think.
fn idle(
    program: &Program,
    site: &Site,
    folder: &Path,
    args: &Args,
    customers: u32,
    tls: bool,
) -> anyhow::Result<f64> {
    let within = ARRIVAL.as_secs() * u64::from(customers) / u64::from(args.customers);
    let arrivals = format!("customers = {customers}, within = \"{}s\"", within.max(1));
    let mut command = load(program, folder, "think = \"6h\"", &site.url(tls), args)?;
    command.args(["--arrivals", &arrivals, "--warm-up", "0", "--duration", "120"]);
    let before = site.connections()?;
    let mut process = start(command, args.driver_core)?;
    let resident = settled(&mut process, site, before, customers);
    process.kill();
    // Waits until the server has closed their connections.
    let deadline = Instant::now() + ARRIVAL;
    while site.connections()? > before && Instant::now() < deadline {
        std::thread::sleep(Duration::from_millis(100));
    }
    resident
}

/// Resident bytes of the driver once so many customers are there, besides those `before`.
fn settled(process: &mut Process, site: &Site, before: u64, customers: u32) -> anyhow::Result<f64> {
    let deadline = Instant::now() + 3 * ARRIVAL;
    while site.connections()? < before + u64::from(customers) {
        if let Some(Exit { status, .. }) = process.exit()? {
            bail!("tidegate load ended early ({status})");
        }
        if Instant::now() > deadline {
            bail!("{customers} customers did not connect within a minute");
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    // For the answer of the last one.
    std::thread::sleep(Duration::from_millis(500));
    Ok(process.resident_bytes()? as f64)
}

/// Measures the achieved rates at a fifth to four fifths of the processor.
///
/// # Errors
/// A run fails.
pub fn rates(
    program: &Program,
    site: &Site,
    folder: &Path,
    args: &Args,
    keepalive: Option<&Row>,
) -> anyhow::Result<Vec<Kept>> {
    let known = keepalive.and_then(|row| row.cost(Tool::Tidegate));
    let mut cost_s = known.map_or(20e-6, |cost| cost.median / 1e6);
    let mut found = Vec::new();
    for share in SHARES {
        let mut tries = 0;
        found.push(loop {
            let kept = rate(program, site, folder, args, share / cost_s)?;
            tries += 1;
            if (kept.cpu_share - share).abs() <= NEAR || tries == TRIES {
                break kept;
            }
            // A request costs less with more in flight.
            cost_s = kept.cpu_share.max(NEAR) / kept.achieved_per_s.max(1.0);
        });
    }
    Ok(found)
}

fn rate(
    program: &Program,
    site: &Site,
    folder: &Path,
    args: &Args,
    asked: f64,
) -> anyhow::Result<Kept> {
    let session = format!("think = \"0s\"\nmax_requests = {SESSION}");
    let json = folder.join("rate.json");
    // Plain HTTP: over TLS the server is saturated before the driver.
    let mut command = load(program, folder, &session, &site.url(false), args)?;
    let arrivals = format!("rate = {:.3}, process = \"even\"", asked / f64::from(SESSION));
    command.args(["--arrivals", &arrivals, "--warm-up", "1", "--json"]).arg(&json);
    command.args(["--duration", &(2 * args.window().as_secs()).to_string()]);
    let (begun, server) = (Instant::now(), site.process.cpu_time()?);
    let status = start(command, args.driver_core)?.wait()?.status;
    let server = site.process.cpu_time()?.saturating_sub(server);
    let server_share = server.as_secs_f64() / begun.elapsed().as_secs_f64();
    let text = std::fs::read_to_string(&json)
        .with_context(|| format!("tidegate load wrote no result ({status})"))?;
    let result: serde_json::Value = serde_json::from_str(&text)?;
    let number = |path: &str| {
        result.pointer(path).and_then(serde_json::Value::as_f64).context("a figure is missing")
    };
    Ok(Kept {
        asked_per_s: asked,
        achieved_per_s: number("/requests_per_s")?,
        cpu_share: number("/driver/cpu_share")?,
        server_share,
        missed_share: number("/driver/missed_share")?,
    })
}

/// `tidegate load` on one page, with more lines for its `[session]`.
fn load(
    program: &Program,
    folder: &Path,
    session: &str,
    url: &str,
    args: &Args,
) -> anyhow::Result<Command> {
    let scenario = folder.join("customers.toml");
    let text = format!(
        "[session]\nstart = \"Page\"\npatience = \"1min\"\n{session}\n\
         [pages]\nPage = {{ path = \"/\" }}\n[transitions]\nPage = {{ Page = 1 }}\n"
    );
    std::fs::write(&scenario, text)?;
    let mut command = program.start();
    command.arg("load").arg(scenario).args(["--target", url, "--insecure", "--plain"]);
    command.args(tls_flags(url)).args(["--cores", &args.driver_core.to_string()]);
    Ok(command)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_limit_on_open_files_bounds_the_number_of_customers() {
        let number = |files| Customers::within(20_000, files).number;
        assert_eq!((number(1 << 20), number(u64::MAX), number(20_100)), (20_000, 20_000, 20_000));
        assert_eq!((number(20_000), number(1024), number(7)), (19_900, 924, 0));
        assert_eq!(Customers::within(20_000, 1024).asked, 20_000);
    }
}
