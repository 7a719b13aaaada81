//! The run: for each row all servers are started and measured in turns, window by
//! window.

use crate::args::{Args, Drive};
use crate::driver::Driver;
use crate::drivers::Drivers;
use crate::goals;
use crate::in_process::Costs;
use crate::load_driver::LoadDriver;
use crate::machine::Machine;
use crate::report::Report;
use crate::rows::Row;
use crate::summary::RowSummary;
use crate::upstream::Upstream;
use crate::windows::Window;
use anyhow::{Context, bail};
use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tidegate_lab::peers::{self, Kind, Server, Setup, Work};
use tidegate_lab::{Certificate, CorePair, Key};
use tidegate_stats::Summary;
use tokio::signal::unix::{SignalKind, signal};
use tokio::task::LocalSet;

/// Tasks that are polled between two polls of the sockets. Small, since the task
/// that keeps the driver awake is always ready.
const EVENT_INTERVAL: u32 = 16;

/// Load for each server before the first window of a row.
const ROW_WARM_UP: Duration = Duration::from_millis(500);

/// Measures what the flags select.
///
/// # Errors
/// `BadInput` for invalid flags; anything else is a run that failed. In either
/// case no server is left running.
pub fn run(args: &Args) -> anyhow::Result<Report> {
    let plan = Plan::new(args)?;
    tidegate_host::Cores::one(args.driver_core)?.pin_this_thread()?;
    let runtime = tokio::runtime::Builder::new_current_thread()
        .event_interval(EVENT_INTERVAL)
        .enable_all()
        .build()?;
    LocalSet::new().block_on(&runtime, async {
        let mut interrupt = signal(SignalKind::interrupt())?;
        let mut terminate = signal(SignalKind::terminate())?;
        // Dropping the measurement ends its servers.
        tokio::select! {
            report = plan.measure() => report,
            _ = interrupt.recv() => bail!("interrupted"),
            _ = terminate.recv() => bail!("terminated"),
        }
    })
}

/// The checked flags.
struct Plan<'a> {
    args: &'a Args,
    machine: Machine,
    rows: Vec<&'static Row>,
    servers: Vec<(Kind, PathBuf, String)>,
    cores: CorePair,
}

impl<'a> Plan<'a> {
    fn new(args: &'a Args) -> anyhow::Result<Self> {
        let cores = CorePair::new(args.server_core, args.driver_core)?;
        let mut servers = Vec::new();
        for kind in args.servers()? {
            let program = args.program(kind)?;
            let version = kind.version(&program)?;
            servers.push((kind, program, version));
        }
        Ok(Self { args, machine: Machine::read(), rows: args.rows()?, servers, cores })
    }

    async fn measure(&self) -> anyhow::Result<Report> {
        let args = self.args;
        let folder = tempfile::tempdir()?;
        let upstream = Upstream::start().await?;
        let mut order = StdRng::seed_from_u64(args.seed);
        let (mut windows, mut absent) = (Vec::new(), Vec::new());
        for row in &self.rows {
            let missing = self.row(row, folder.path(), &upstream, &mut order, &mut windows).await?;
            absent.push(missing);
        }
        let built = std::fs::metadata("/proc/self/exe")?.modified()?;
        let Costs { hellos, decisions } = Costs::read(&args.in_process, built)?;

        let loops: Vec<f64> = windows.iter().flat_map(|window| window.calibration_ms).collect();
        let calibration_ms = Summary::of(&loops);
        let reference = calibration_ms.map_or(1.0, |loops| loops.median);
        let kinds: Vec<Kind> = self.servers.iter().map(|(kind, ..)| *kind).collect();
        let rows: Vec<_> = self
            .rows
            .iter()
            .zip(&absent)
            .map(|(row, absent)| RowSummary::of(row, &kinds, absent, &windows, reference))
            .collect();
        Ok(Report {
            machine: self.machine.clone(),
            versions: self
                .servers
                .iter()
                .map(|(kind, _, version)| (*kind, version.clone()))
                .collect(),
            cores: self.cores,
            connections: args.connections,
            rounds: args.rounds(),
            window_ms: args.window().as_millis() as u64,
            seed: args.seed,
            calibration_ms,
            goals: goals::of(&rows, &hellos, &decisions),
            hellos,
            decisions,
            rows,
            windows,
        })
    }

    fn driver(&self, work: Work, target: SocketAddr, folder: &Path) -> anyhow::Result<Drivers> {
        let connections = self.args.connections;
        if self.args.driver == Drive::Load && LoadDriver::can(work) {
            return Ok(Drivers::Load(LoadDriver {
                program: self.args.program(Kind::Tide)?,
                work,
                target,
                connections,
                core: self.cores.driver,
                json: folder.join("load.json"),
            }));
        }
        Ok(Drivers::Own(Driver::new(work, target, connections)?))
    }

    /// Measures one row at every server; returns the servers that cannot do its work.
    async fn row(
        &self,
        row: &'static Row,
        folder: &Path,
        upstream: &Upstream,
        order: &mut StdRng,
        windows: &mut Vec<Window>,
    ) -> anyhow::Result<Vec<(Kind, &'static str)>> {
        let certificate = certificate(row.key, folder)?;
        let (mut running, mut absent) = (Vec::new(), Vec::new());
        for (kind, program, _) in &self.servers {
            let setup = Setup {
                program: program.clone(),
                folder: folder.join(format!("{}-{}", row.id, kind.name())),
                certificate: certificate.clone(),
                upstream: upstream.address(),
                core: self.cores.server,
            };
            let server = peers::start(*kind, row.work, &setup)
                .with_context(|| format!("{} in row {}", kind.title(), row.id))?;
            match server {
                Some(server) => {
                    let driver = self.driver(row.work, server.target, folder)?;
                    running.push(Running { kind: *kind, server, driver });
                }
                None => absent.push((*kind, why_absent(*kind, row.work))),
            }
        }
        // Fills caches and pools, and the gate learns its costs.
        for Running { driver, .. } in &mut running {
            driver.warm_up(ROW_WARM_UP).await?;
        }
        let first = windows.len();
        for round in 0..self.args.rounds() {
            running.shuffle(order);
            for (turn, running) in running.iter_mut().enumerate() {
                let at = (row.id, running.kind, round, turn);
                let Running { server, driver, .. } = running;
                let window =
                    Window::measure(at, server, driver, upstream, self.cores, self.args.window())
                        .await
                        .with_context(|| {
                            format!(
                                "{} in row {}: {}",
                                running.kind.title(),
                                row.id,
                                server.process.output()
                            )
                        })?;
                windows.push(window);
            }
        }
        log_row(row, &self.servers, &windows[first..]);
        Ok(absent)
    }
}

/// A server and its customers.
struct Running {
    kind: Kind,
    server: Server,
    driver: Drivers,
}

fn certificate(key: Key, folder: &Path) -> anyhow::Result<Certificate> {
    let folder = folder.join(format!("certificate-{key:?}"));
    std::fs::create_dir_all(&folder)?;
    Certificate::make(key, &folder).context("cannot make a certificate")
}

fn why_absent(kind: Kind, work: Work) -> &'static str {
    match (kind, work) {
        (Kind::Off, Work::Refused) => {
            "policy off never refuses; the first column is with policy static"
        }
        _ => "cannot do this",
    }
}

/// One line per row on standard error, while the run goes on.
fn log_row(row: &Row, servers: &[(Kind, PathBuf, String)], windows: &[Window]) {
    let mut line = format!("{}:", row.id);
    for (kind, ..) in servers {
        let costs: Vec<f64> = windows
            .iter()
            .filter(|window| window.server == *kind && window.valid())
            .map(|window| window.cpu_us_per_operation)
            .collect();
        if let Some(costs) = Summary::of(&costs) {
            line += &format!("  {} {:.1}", kind.title(), costs.median);
        }
    }
    eprintln!("{line}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::rows::ROWS;
    use clap::Parser;

    /// Checks that both peers do the work of every row: full and resumed
    /// handshakes, keep-alive, refusals. Checks no speed.
    #[test]
    fn nginx_and_haproxy_do_the_work_of_every_row() {
        let (cores, present) =
            (tidegate_host::Cores::of_this_thread().unwrap().list().to_vec(), |path: &str| {
                Path::new(path).exists()
            });
        if cores.len() < 2 || !present("/usr/sbin/nginx") || !present("/usr/sbin/haproxy") {
            eprintln!("skipped: needs two cores, nginx and haproxy");
            return;
        }
        let (server, driver) = (cores[0].to_string(), cores[1].to_string());
        let flags = ["--servers", "nginx,haproxy", "--rounds", "1", "--window-ms", "200"];
        let pair = ["--server-core", &server, "--driver-core", &driver];
        let args = Args::parse_from(["tidegate-bench"].into_iter().chain(flags).chain(pair));

        // The run pins its thread to a core; hence a thread of its own.
        let report = std::thread::spawn(move || run(&args).unwrap()).join().unwrap();

        assert_eq!(report.windows.len(), 2 * ROWS.len());
        for window in &report.windows {
            let as_expected = window.operations > 0 && window.failures + window.other_kind == 0;
            assert!(as_expected, "{window:?}");
        }
        let refused = report.windows.iter().filter(|window| window.row == "refused");
        assert!(refused.into_iter().all(|window| window.upstream_requests == 0));
    }
}
