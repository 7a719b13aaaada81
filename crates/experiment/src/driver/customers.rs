//! Customers of the load generator: a scenario at an offered load.

use std::collections::BTreeMap;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::{Duration, Instant};

use tidegate_host::scheduling::ProcessSwitches;
use tidegate_host::{CoreUse, Cores, Files};
use tidegate_lab::{Passed, Relay};
use tidegate_load::{
    Arrivals, ClientCertificate, KeepAlive, KeyExchangeGroup, Plan, RunStage, Scenario, Snapshot,
    Suite, Summary, TlsVersions,
};

use super::crowd;
use super::faults::Played;
use super::figures::{self, Session};
use super::host::HostReadings;
use super::relayed::relayed;
use super::room::RoomReadings;
use super::{Driver, Readings, Window, failed, write};
use crate::experiment::Settings;
use crate::metrics::Figures;
use crate::record::{Kind, Second};
use crate::resources::Grant;
use crate::system::{CpuSeconds, LOAD_TRACE, Started};
use crate::warm_up::WarmUp;
use crate::{Error, Result};

/// Largest ratio of the CPU times of a response of a warm service, stretch by stretch.
const WITHIN: f64 = 1.1;

/// How many customers come.
#[derive(Clone)]
pub struct Offered {
    arrivals: Arrivals,
    /// Sessions per second, where they are constant.
    rate_per_s: Option<f64>,
    /// The capacity that the load is a multiple of, in sessions per second.
    capacity_per_s: Option<f64>,
}

impl Offered {
    /// Sessions per second, and the capacity if it is known.
    pub fn at(rate_per_s: f64, capacity_per_s: Option<f64>) -> Self {
        let (arrivals, rate_per_s) = (Arrivals::poisson(rate_per_s), Some(rate_per_s));
        Self { arrivals, rate_per_s, capacity_per_s }
    }

    /// What the settings say without a capacity.
    pub fn by(settings: &Settings) -> Self {
        match settings.rate {
            Some(rate) => Self::at(rate, None),
            None => Self::from(Arrivals::closed(settings.customers.unwrap_or(1))),
        }
    }
}

impl From<Arrivals> for Offered {
    fn from(arrivals: Arrivals) -> Self {
        Self { arrivals, rate_per_s: None, capacity_per_s: None }
    }
}

/// The customers of a run.
pub struct Customers {
    /// What they do.
    pub scenario: Scenario,
    offered: Offered,
    cores: Cores,
    /// Whether every request and every second is kept in a file, which takes CPU time.
    pub keeps_requests: bool,
}

impl Driver for Customers {
    /// Customers who come before the run, until the service is warm. Then sessions begin anew, and
    /// with them the warm-up of the run.
    fn warm_up(
        &self,
        window: Window<'_>,
        stated_s: f64,
        started: &Started,
        show: &mut dyn FnMut(&Snapshot) -> ControlFlow<()>,
    ) -> Result<Figures> {
        let mut warm_up = WarmUp::new(stated_s, WITHIN);
        let mut plan = self.plan(&window, started)?;
        (plan.warm_up, plan.measure) = (Duration::ZERO, Duration::from_secs_f64(warm_up.most_s()));
        (plan.parquet, plan.csv, plan.trace) = (None, None, None);
        let stop = plan.stop.clone();
        let mut before_ms = started.cpu().map_or(0.0, |cpu| 1e3 * (cpu.service + cpu.gate));
        let run = tidegate_load::run(plan, &mut |snapshot| {
            // Near the capacity response times are those of the queue.
            if let (Some(second), Ok(cpu)) = (&snapshot.second, started.cpu()) {
                let used_ms = 1e3 * (cpu.service + cpu.gate);
                let responses = second.response.count;
                let each_ms = (used_ms - before_ms).max(0.0) / responses.max(1) as f64;
                before_ms = used_ms;
                warm_up.push(responses, each_ms);
            }
            if show(snapshot).is_break() || warm_up.is_warm() || window.stop.is_stopped() {
                stop.stop();
            }
        });
        run.map_err(|error| failed(&error))?;
        let json = serde_json::to_string(&warm_up)
            .map_err(|error| Error::Internal(format!("cannot write a warm-up: {error}")))?;
        write(&window.folder.join("warm-up.json"), &json)?;
        Ok(warm_up.figures())
    }

    fn drive(
        &self,
        window: Window<'_>,
        started: &Started,
        show: &mut dyn FnMut(&Snapshot) -> ControlFlow<()>,
    ) -> Result<Readings> {
        let mut plan = self.plan(&window, started)?;
        let settings = &window.planned.settings;
        let round_trip = Duration::from_secs_f64(settings.round_trip);
        let relay = settings.relay.then(|| relayed(&mut plan, round_trip, &self.cores));
        let relay = relay.transpose()?;
        // That of the operator ends more than this run.
        let stop = plan.stop.clone();
        let room = settings.room.then(RoomReadings::default);
        let mut measured = Measured::new(window.grant, window.folder, relay, room)?;
        let mut faults = Played::of(started, window.planned)?;
        let warm_up = plan.warm_up;
        let mut began = None;
        let summary = tidegate_load::run(plan, &mut |snapshot| {
            let elapsed = Duration::from_secs_f64(snapshot.elapsed_s);
            began.get_or_insert_with(|| Instant::now() - elapsed);
            measured.observe(snapshot, started);
            let now_s = snapshot.elapsed_s - warm_up.as_secs_f64();
            let go_on = snapshot.stage != RunStage::Measure
                || faults.as_mut().is_none_or(|faults| faults.go_on(now_s));
            if show(snapshot).is_break() || window.stop.is_stopped() || !go_on {
                stop.stop();
            }
        });
        let summary = summary.map_err(|error| failed(&error))?;
        if let Some(error) = &summary.raw_error {
            return Err(Error::Machine(format!(
                "the requests of a run cannot be written: {error}; make room and continue with --resume"
            )));
        }
        measured.finish()?;
        let json = serde_json::to_string(&summary)
            .map_err(|error| Error::Internal(format!("cannot write a result: {error}")))?;
        write(&window.folder.join("load.json"), &json)?;
        let from = began.unwrap_or_else(Instant::now) + warm_up;
        let length = Duration::from_secs_f64(summary.measured_s);
        let mut figures = self.figures(&summary, &measured, window.grant);
        if settings.crowd.is_some() {
            figures.extend(crowd::figures(&summary.series, &window.planned.windows));
        }
        if let Some(customers) = settings.customers {
            let answered = summary.requests_per_s * summary.measured_s;
            figures.insert("requests_per_customer".into(), answered / f64::from(customers));
        }
        if let Some(faults) = faults {
            figures.extend(faults.figures(&summary.series, warm_up.as_secs_f64())?);
        }
        Ok(Readings {
            figures,
            phases: phases(&summary),
            courses: BTreeMap::new(),
            seconds: summary.series.iter().map(|point| second(point, &measured)).collect(),
            saturated: summary.driver.saturated_because.clone(),
            measured: (from, from + length),
        })
    }

    fn rate_per_s(&self) -> Option<f64> {
        self.offered.rate_per_s
    }
}

impl Customers {
    /// Customers who come from these processors.
    pub fn new(scenario: &Scenario, offered: Offered, cores: &Cores) -> Self {
        let (scenario, cores) = (scenario.clone(), cores.clone());
        Self { scenario, offered, cores, keeps_requests: false }
    }

    /// What the load generator does in a run.
    ///
    /// # Errors
    /// The system has no address for customers.
    pub fn plan(&self, window: &Window<'_>, started: &Started) -> Result<Plan> {
        let Window { planned, folder, .. } = *window;
        let settings = &planned.settings;
        let mut plan = Plan::new(self.scenario.clone(), &started.target()?);
        if let Some(fleet) = started.system().fleet() {
            plan.resolve = vec![fleet.resolve()?];
            plan.avoided = fleet.avoided();
        }
        let crowd = settings.crowd.filter(|_| planned.kind == Kind::Run);
        plan.arrivals = Some(match self.offered.rate_per_s.zip(crowd) {
            Some((per_s, times)) => crowd::arrivals(per_s, times, &planned.windows),
            None => self.offered.arrivals.clone(),
        });
        plan.warm_up = Duration::from_secs_f64(planned.windows.warm_up_s);
        plan.measure = Duration::from_secs_f64(planned.windows.measured_s);
        (plan.time_scale, plan.patience_scale) = (settings.time_scale, settings.patience_scale);
        plan.seed = planned.seed;
        plan.cores = self.cores.list().to_vec();
        plan.insecure = true;
        plan.customers = started.customers().or(plan.customers);
        if self.keeps_requests {
            plan.parquet = Some(folder.join("requests.parquet"));
            plan.csv = Some(folder.join("seconds.csv"));
        }
        plan.trace = settings.is_traced().then(|| folder.join(LOAD_TRACE));
        plan.tls = match settings.tls.as_str() {
            "1.2" => TlsVersions::Only12,
            "1.3" => TlsVersions::Only13,
            _ => plan.tls,
        };
        if settings.group != "all" {
            let group = KeyExchangeGroup::parse(&settings.group);
            plan.groups = vec![group.map_err(|error| Error::Internal(error.to_string()))?];
        }
        plan.suites = Suite::of_cipher(&settings.suite).collect();
        if settings.verify || settings.mutual {
            let certificate = window.workshop.certificate(&settings.certificate)?;
            if settings.verify {
                plan.insecure = false;
                (plan.ca, plan.server_name) =
                    (Some(certificate.chain.clone()), Some(tidegate_lab::NAME.to_owned()));
            }
            if settings.mutual {
                let read = ClientCertificate::load(&certificate.chain, Some(&certificate.key));
                plan.certificate = Some(read.map_err(|error| Error::Machine(error.to_string()))?);
            }
        }
        if settings.handshakes == "full" {
            plan.full_share = Some(1.0);
        }
        plan.keep = match settings.keep.as_deref() {
            Some("request") => KeepAlive::Request,
            Some("session") => KeepAlive::Session,
            Some("customer") => KeepAlive::Customer,
            _ => plan.keep,
        };
        Ok(plan)
    }

    /// The figures of a run.
    fn figures(&self, summary: &Summary, measured: &Measured, grant: &Grant) -> Figures {
        let session = Session {
            requests: requests_each(&self.scenario),
            think_s: self.scenario.session_duration().as_secs_f64(),
        };
        let mut figures = figures::of_customers(summary, session, self.offered.capacity_per_s);
        if let Some((first, last)) = measured.passed {
            figures.extend(figures::of_relay(first, last));
        }
        let core_use = &measured.core_use;
        if let Some((first, last)) = measured.cpu.filter(|_| core_use.seconds() > 0.0) {
            figures.extend(figures::of_cpu(summary, core_use.seconds(), first, last));
            let used = core_use.cpus();
            let mut put = |name: &str, value: f64| figures.insert(name.into(), value);
            put("server_use", used / grant.cpus);
            if let Some(switches_per_s) = measured.switches_per_s() {
                put("context_switches_per_s", switches_per_s);
            }
            if let Some(others) = core_use.others_use() {
                put("others_use", others);
            }
            if let Some(idle) = measured.host.idle() {
                let cores = grant.cores.list().len() as f64;
                put("core_idle", idle);
                put("available_cpus", (used + idle * cores).min(grant.cpus));
            }
        }
        if let Some(room) = &measured.room {
            let of_capacity = figures.get("completed_of_capacity").copied();
            figures.extend(room.figures(&summary.totals, of_capacity, grant.cpus));
        }
        figures
    }
}

/// Mean requests of a session of a scenario.
pub fn requests_each(scenario: &Scenario) -> f64 {
    scenario.session_length().mean_requests.max(1.0)
}

/// What is observed of the system while the customers come.
struct Measured {
    host: HostReadings,
    core_use: CoreUse,
    /// CPU seconds until the first and the last look at the measured window.
    cpu: Option<(CpuSeconds, CpuSeconds)>,
    relay: Option<Relay>,
    /// What had passed the relay at the same looks, and the requests answered by then.
    passed: Option<((Passed, u64), (Passed, u64))>,
    switches: ProcessSwitches,
    /// The first and the last second of the measured window, and the context switches between.
    switched: Option<(f64, f64, u64)>,
    /// What the gate says of its waiting room, where a run has one.
    room: Option<RoomReadings>,
    /// The ends of all seconds, with the CPU seconds of service and gate until then.
    seconds: Vec<(f64, f64)>,
}

impl Measured {
    fn new(
        grant: &Grant,
        folder: &Path,
        relay: Option<Relay>,
        room: Option<RoomReadings>,
    ) -> Result<Self> {
        let host = HostReadings::create(&folder.join("host.csv"), &grant.cores)?;
        let core_use = CoreUse::of(Files::new("/"), &grant.cores);
        let (cpu, passed, switched, seconds) = (None, None, None, Vec::new());
        let switches = ProcessSwitches::default();
        Ok(Self { host, core_use, cpu, relay, passed, switches, switched, room, seconds })
    }

    fn observe(&mut self, snapshot: &Snapshot, started: &Started) {
        let Ok(cpu) = started.cpu() else { return };
        if snapshot.stage == RunStage::Measure {
            self.core_use.look(snapshot.elapsed_s, cpu.service + cpu.gate);
            let (first, _) = self.cpu.unwrap_or((cpu, cpu));
            self.cpu = Some((first, cpu));
            self.passed = self.relay.as_ref().map(|relay| {
                let now = (relay.passed(), snapshot.totals.requests_ok);
                (self.passed.map_or(now, |(first, _)| first), now)
            });
        }
        if let Some(second) = &snapshot.second {
            self.seconds.push((second.at_s, cpu.service + cpu.gate));
            if second.measured {
                let count = self.switches.look(&Files::new("/"), &started.processes());
                let now_s = snapshot.elapsed_s;
                let first_s = self.switched.map_or(now_s, |(first_s, ..)| first_s);
                self.switched = Some((first_s, now_s, count));
                if let Some(room) = &mut self.room {
                    room.look(snapshot, started);
                }
            }
            self.host.add(snapshot.elapsed_s, second.measured, cpu, started.memory());
        }
    }

    /// CPU seconds that service and gate used in the second with this end; none for the first,
    /// which would include their start.
    fn cpu_of_second(&self, end_s: f64) -> Option<f64> {
        let pair = self.seconds.windows(2).find(|pair| pair[1].0 == end_s)?;
        Some(pair[1].1 - pair[0].1)
    }

    /// Context switches per second; `None` without two seconds that were measured.
    fn switches_per_s(&self) -> Option<f64> {
        let (first_s, last_s, count) = self.switched.filter(|(first, last, _)| last > first)?;
        Some(count as f64 / (last_s - first_s))
    }

    fn finish(&mut self) -> Result<()> {
        self.host.finish()
    }
}

/// The phases that the customers observe, in milliseconds.
fn phases(summary: &Summary) -> BTreeMap<String, f64> {
    let phases = &summary.phases;
    let all = [
        ("connect", phases.connect),
        ("full_handshake", phases.full_handshake),
        ("resumed_handshake", phases.resumed_handshake),
        ("first_byte", phases.first_byte),
        ("last_byte", phases.last_byte),
    ];
    let seen = all.into_iter().filter(|(_, times)| times.count > 0);
    seen.map(|(name, times)| (format!("customer.{name}"), times.mean_ms)).collect()
}

fn second(point: &tidegate_load::Point, measured: &Measured) -> Second {
    let cpu_s = measured.cpu_of_second(point.at_s);
    let answered = point.requests_per_s;
    let handshakes = point.full_handshakes_per_s + point.resumed_handshakes_per_s;
    Second {
        at_s: point.at_s,
        measured: point.measured,
        offered_per_s: point.offered_per_s,
        completed_per_s: point.completed_per_s,
        refused_per_s: point.refused_per_s,
        abandoned_per_s: point.abandoned_per_s,
        requests_per_s: point.requests_per_s,
        response_p95_ms: point.response.p95_ms,
        full_handshake_share: point.full_handshakes_per_s / handshakes.max(1e-9),
        cpu_ms_per_request: cpu_s.filter(|_| answered > 0.0).map(|cpu_s| 1e3 * cpu_s / answered),
    }
}
