//! The run: for each row all servers are started and measured in turns, window by
//! window.

use crate::args::Args;
use crate::driver::Driver;
use crate::goals;
use crate::idle::{self, Idle};
use crate::in_process::Costs;
use crate::machine::Machine;
use crate::report::Report;
use crate::rows::Row;
use crate::summary::RowSummary;
use crate::upstream::Upstream;
use crate::windows::Window;
use anyhow::{Context, bail};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tidegate_experiment::turns::Order;
use tidegate_host::Cores;
use tidegate_lab::peers::{self, Kind, Server, Setup, Work};
use tidegate_lab::{Certificate, CertificateKey, CorePair};
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
/// [`tidegate_lab::Error::Operator`] for invalid flags; anything else is a run that failed. In either
/// case no server is left running.
pub fn run(args: &Args) -> anyhow::Result<Report> {
    let plan = Plan::new(args)?;
    Cores::one(args.driver_core)?.pin_this_thread()?;
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
        let mut order = Order::seeded(args.seed);
        let (mut windows, mut absent) = (Vec::new(), Vec::new());
        for row in &self.rows {
            let missing = self.row(row, folder.path(), &upstream, &mut order, &mut windows).await?;
            absent.push(missing);
        }
        let idle = self.idle(folder.path(), &upstream).await?;
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
            goals: goals::of(&rows, &hellos, &decisions, &idle),
            idle,
            hellos,
            decisions,
            rows,
            windows,
        })
    }

    fn driver(&self, work: Work, target: SocketAddr, folder: &Path) -> anyhow::Result<Driver> {
        Ok(Driver {
            program: self.args.program(Kind::Tide)?,
            work,
            target,
            connections: self.args.connections,
            core: self.cores.driver,
            folder: folder.to_owned(),
        })
    }

    /// What a server is started with.
    fn setup(
        &self,
        (id, key): (&str, CertificateKey),
        (kind, program): (Kind, &Path),
        folder: &Path,
        upstream: &Upstream,
    ) -> anyhow::Result<Setup> {
        Ok(Setup {
            program: program.to_owned(),
            folder: folder.join(format!("{id}-{}", kind.name())),
            certificate: certificate(key, folder)?,
            upstream: upstream.address(),
            cores: self.cores_of(kind)?,
            protected: false,
        })
    }

    /// Where a server runs.
    fn cores_of(&self, kind: Kind) -> anyhow::Result<Cores> {
        let CorePair { server, driver } = self.cores;
        Ok(match kind {
            Kind::TwoCores => Cores::new([server, driver])?,
            _ => Cores::one(server)?,
        })
    }

    /// Measures the memory of idle connections at every server, with the default policy at the
    /// gate.
    async fn idle(&self, folder: &Path, upstream: &Upstream) -> anyhow::Result<Vec<Idle>> {
        let mut found = Vec::new();
        let connections = self.args.idle();
        if connections == 0 {
            return Ok(found);
        }
        let most = peers::haproxy::most_connections() as u32;
        let connections = connections.min(most.saturating_sub(idle::FEW));
        let driver = (self.args.program(Kind::Tide)?, self.cores.driver);
        for work in idle::WORKS {
            for (kind, program, _) in
                self.servers.iter().filter(|it| !matches!(it.0, Kind::Off | Kind::TwoCores))
            {
                let setup = self.setup(
                    ("idle", CertificateKey::EcdsaP256),
                    (*kind, program),
                    folder,
                    upstream,
                )?;
                let Some(server) = peers::start(*kind, work, &setup)? else { continue };
                let driver = (driver.0.as_path(), driver.1);
                let one =
                    idle::measure((*kind, &server, work), connections, driver, upstream, folder)
                        .await
                        .with_context(|| format!("idle connections to {}", kind.title()))?;
                eprintln!("idle {work:?}: {} {:.0} bytes each", kind.title(), one.bytes_each);
                found.push(one);
            }
        }
        Ok(found)
    }

    /// Measures one row at every server; returns the servers that cannot do its work.
    async fn row(
        &self,
        row: &'static Row,
        folder: &Path,
        upstream: &Upstream,
        order: &mut Order,
        windows: &mut Vec<Window>,
    ) -> anyhow::Result<Vec<(Kind, &'static str)>> {
        let (mut running, mut absent) = (Vec::new(), Vec::new());
        for (kind, program, _) in &self.servers {
            let setup = self.setup((row.id, row.key), (*kind, program), folder, upstream)?;
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
        for Running { driver, .. } in &running {
            driver.warm_up(ROW_WARM_UP).await?;
        }
        let first = windows.len();
        for turn in order.turns(running.len(), self.args.rounds()) {
            let Running { kind, server, driver } = &running[turn.contender];
            let (what, length) = ((row.id, *kind), self.args.window());
            let window = Window::measure(what, turn, server, driver, upstream, self.cores, length)
                .await
                .with_context(|| {
                    let output = server.process.output();
                    format!("{} in row {}: {output}", kind.title(), row.id)
                })?;
            windows.push(window);
        }
        log_row(row, &self.servers, &windows[first..]);
        Ok(absent)
    }
}

/// A server and its customers.
struct Running {
    kind: Kind,
    server: Server,
    driver: Driver,
}

fn certificate(key: CertificateKey, folder: &Path) -> anyhow::Result<Certificate> {
    let folder = folder.join(format!("certificate-{key:?}"));
    std::fs::create_dir_all(&folder)?;
    Certificate::make(key, &folder).context("cannot make a certificate")
}

fn why_absent(kind: Kind, work: Work) -> &'static str {
    match (kind, work) {
        (Kind::Off, Work::Refused) => {
            "policy off never refuses; the first column is with policy static"
        }
        (Kind::TwoCores, Work::Refused) => "it is measured on one core",
        (Kind::Haproxy | Kind::Envoy, Work::StaticTls) => "it serves no files",
        (Kind::Nginx, Work::Refused) => {
            "it refuses after the hello with its stream module only: run scripts/bootstrap bench"
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

    /// Checks that gate and peers do the work of every row, driven by `tidegate load`: full
    /// and resumed handshakes, keep-alive, refusals. Checks no speed: on a busy machine a
    /// driver may get hardly any processor for the length of a window, so a row whose windows
    /// are not all valid is measured again, in longer ones. Cargo builds the program with the
    /// tests of the workspace.
    #[test]
    fn gate_and_peers_do_the_work_of_every_row() {
        let cores = tidegate_host::Cores::of_this_thread().unwrap().list().to_vec();
        let tidegate = std::env::current_exe().unwrap().with_file_name("../tidegate");
        let programs =
            [tidegate.as_path(), Path::new("/usr/sbin/nginx"), Path::new("/usr/sbin/haproxy")];
        // The tests do not install it; who measured has it.
        let envoy = concat!(env!("CARGO_MANIFEST_DIR"), "/../../target/envoy/envoy");
        let (peers, count) = match Path::new(envoy).exists() {
            true => ("tide,nginx,haproxy,envoy", 4),
            false => ("tide,nginx,haproxy", 3),
        };
        if cores.len() < 2 || !programs.iter().all(|program| program.exists()) {
            eprintln!("skipped: needs two cores, tidegate, nginx and haproxy");
            return;
        }
        let tidegate = tidegate.to_string_lossy().into_owned();
        let (server, driver) = (cores[0].to_string(), cores[1].to_string());
        let mut rows: Vec<&str> = ROWS.iter().map(|row| row.id).collect();
        let mut faults = Vec::new();
        for window_ms in ["100", "200", "400", "800", "1600"] {
            let servers = ["--servers", peers, "--tidegate", &tidegate, "--envoy", envoy];
            let pair = ["--server-core", &server, "--driver-core", &driver];
            let rows_left = rows.join(",");
            let windows = ["--rounds", "1", "--window-ms", window_ms, "--rows", &rows_left];
            let flags = servers.into_iter().chain(pair).chain(windows);
            let args = Args::parse_from(["tidegate-bench"].into_iter().chain(flags));

            // The run pins its thread to a core; hence a thread of its own.
            let report = std::thread::spawn(move || run(&args).unwrap()).join().unwrap();

            let cells = report.rows.iter().flat_map(|row| &row.cells);
            let absent = cells.filter(|cell| cell.note.is_some() && !cell.failed).count();
            assert_eq!(report.windows.len() + absent, count * rows.len());
            let fault = |window: &Window| {
                let (row, server) = (window.row, window.server.name());
                window.fault().map(|fault| format!("{row}, {server}: {fault}"))
            };
            faults = report.windows.iter().filter_map(fault).collect();
            rows.retain(|id| report.windows.iter().any(|w| w.row == *id && !w.valid()));
            if rows.is_empty() {
                return;
            }
        }
        panic!("{}", faults.join("\n"));
    }
}
