//! One window: a server's CPU time over a period of load, with everything that is
//! needed to judge it later.

use crate::counts::{Span, Tally};
use crate::driver::{Driver, Load};
use crate::upstream::{Counts, Upstream};
use serde::Serialize;
use std::time::{Duration, Instant, SystemTime};
use tidegate_experiment::turns::Turn;
use tidegate_lab::peers::{Kind, Server, Work};
use tidegate_lab::{CorePair, calibration};
use tokio::time::sleep;

/// Load before a window: at least a tick of the gate's controller, which has had
/// no customer since its last window.
const WARM_UP: Duration = Duration::from_millis(150);

/// Fewest operations of a valid window.
const FEWEST: u64 = 20;

/// Largest difference between the driver's count of requests and the upstream's: this share
/// and, for those that are on their way, so many of each connection.
const COUNTS_DIFFER: (f64, u64) = (0.01, 2);

/// A measured window, raw.
#[derive(Clone, Debug, Serialize)]
pub struct Window {
    /// Id of the row.
    pub row: &'static str,
    /// The server.
    pub server: Kind,
    /// Round, from 0: the windows of one round follow each other closely.
    pub round: u32,
    /// Turn within the round, from 0.
    pub turn: usize,
    /// What the driver counted.
    #[serde(flatten)]
    pub tally: Tally,
    /// Time between the two readings of the clocks.
    pub wall_ms: f64,
    /// CPU time of all the server's processes between them.
    pub cpu_ms: f64,
    /// CPU time per completed operation.
    pub cpu_us_per_operation: f64,
    /// Share of its core that the server used.
    pub utilisation: f64,
    /// Share of its core that driver and upstream used: near 1, unless other
    /// programs used it too.
    pub driver_utilisation: f64,
    /// The calibration loop right before and right after.
    pub calibration_ms: [f64; 2],
    /// Connections that the server opened to the upstream.
    pub upstream_connections: u64,
    /// Requests that reached the upstream.
    pub upstream_requests: u64,
    /// New connections that the gate held.
    pub held: u64,
}

impl Window {
    /// Measures one window: between two readings of the server's clock, both under steady
    /// load. A driver that fails gives an invalid window, which states why.
    ///
    /// # Errors
    /// The server has ended, a core is not allowed, or the driver cannot be started.
    pub async fn measure(
        (row, kind): (&'static str, Kind),
        turn: Turn,
        server: &Server,
        driver: &Driver,
        upstream: &Upstream,
        cores: CorePair,
        length: Duration,
    ) -> anyhow::Result<Self> {
        let before = calibration::time_on(cores.server, cores.driver)?;
        let part = Part::of(driver, server, upstream, length).await?;
        let Part { before: start, after: end, own, mut tally } = part;
        let after = calibration::time_on(cores.server, cores.driver)?;
        let wall = end.instant - start.instant;
        let used = end.used.saturating_sub(start.used);
        let upstream_requests = end.seen.requests - start.seen.requests;
        tally.driver_fault = tally.driver_fault.or_else(|| {
            let expected = match driver.work {
                Work::Refused | Work::StaticTls => 0,
                _ => tally.operations,
            };
            differ(expected, upstream_requests, driver.connections)
        });
        Ok(Self {
            row,
            server: kind,
            round: turn.round,
            turn: turn.place,
            wall_ms: milliseconds(wall),
            cpu_ms: milliseconds(used),
            cpu_us_per_operation: 1e6 * used.as_secs_f64() / tally.operations.max(1) as f64,
            utilisation: used.as_secs_f64() / wall.as_secs_f64(),
            driver_utilisation: own.as_secs_f64() / wall.as_secs_f64(),
            calibration_ms: [milliseconds(before), milliseconds(after)],
            upstream_connections: end.seen.connections - start.seen.connections,
            upstream_requests,
            held: end.held - start.held,
            tally,
        })
    }

    /// Whether the window is valid: counts that can be used, enough operations, and at
    /// most one in a hundred failed or of the other kind.
    pub fn valid(&self) -> bool {
        let Tally { operations, failures, other_kind, driver_fault, .. } = &self.tally;
        let wrong = failures.saturating_add(*other_kind).saturating_mul(100);
        driver_fault.is_none() && *operations >= FEWEST && wrong <= *operations
    }

    /// Why it is invalid.
    pub fn fault(&self) -> Option<String> {
        if self.valid() {
            return None;
        }
        let Tally { operations, failures, other_kind, first_failure, driver_fault, .. } =
            &self.tally;
        if let Some(fault) = driver_fault {
            return Some(fault.clone());
        }
        let first = first_failure.as_deref().map(|text| format!(" ({text})"));
        Some(format!(
            "{operations} operations, {failures} failed{}, {other_kind} of the other kind",
            first.unwrap_or_default()
        ))
    }

    /// Mean of the two calibration times.
    pub fn calibration(&self) -> f64 {
        self.calibration_ms.iter().sum::<f64>() / 2.0
    }
}

/// Why the driver's count of requests cannot be right: the upstream counted others.
fn differ(driver: u64, upstream: u64, connections: u32) -> Option<String> {
    let (share, each) = COUNTS_DIFFER;
    let allowed = each * u64::from(connections) + (share * driver.max(upstream) as f64) as u64;
    (driver.abs_diff(upstream) > allowed).then(|| {
        format!("{upstream} requests reached the upstream, and the driver's count is {driver}")
    })
}

/// Counts and clocks of a server and the upstream at one moment.
struct Readings {
    held: u64,
    seen: Counts,
    at: SystemTime,
    instant: Instant,
    used: Duration,
}

impl Readings {
    /// The clock is read last, so that the request for the metrics is not measured.
    async fn before(server: &Server, upstream: &Upstream) -> anyhow::Result<Self> {
        let held = server.held().await?;
        Self::now(held, server, upstream)
    }

    /// The clock is read first.
    async fn after(server: &Server, upstream: &Upstream) -> anyhow::Result<Self> {
        let now = Self::now(0, server, upstream)?;
        Ok(Self { held: server.held().await?, ..now })
    }

    fn now(held: u64, server: &Server, upstream: &Upstream) -> anyhow::Result<Self> {
        let (at, instant, seen) = (SystemTime::now(), Instant::now(), upstream.seen());
        Ok(Self { held, seen, at, instant, used: server.process.cpu_time()? })
    }
}

/// The measured part of a window.
struct Part {
    before: Readings,
    after: Readings,
    /// CPU time of driver and upstream.
    own: Duration,
    tally: Tally,
}

impl Part {
    async fn of(
        driver: &Driver,
        server: &Server,
        upstream: &Upstream,
        length: Duration,
    ) -> anyhow::Result<Self> {
        let _awake = Upstream::stay_awake();
        let warm_up = WARM_UP.max(length / 4);
        let mut load = driver.start(warm_up, length)?;
        load.begin().await?;
        sleep(warm_up).await;
        let before = Readings::before(server, upstream).await?;
        let clock = |load: &Load| {
            tidegate_host::cpu_clock::of_this_thread() + load.cpu_time().unwrap_or_default()
        };
        let own = clock(&load);
        sleep(length).await;
        let own = clock(&load).saturating_sub(own);
        let after = Readings::after(server, upstream).await?;
        let tally = load.finish(Span { from: before.at, to: after.at }).await?;
        Ok(Self { before, after, own, tally })
    }
}

fn milliseconds(time: Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

#[cfg(test)]
pub mod tests {
    use super::*;

    /// A valid window, for tests.
    pub fn window(row: &'static str, server: Kind, round: u32, us: f64) -> Window {
        Window {
            row,
            server,
            round,
            turn: 0,
            tally: Tally { operations: 1000, ..Tally::default() },
            wall_ms: 400.0,
            cpu_ms: us,
            cpu_us_per_operation: us,
            utilisation: 0.5,
            driver_utilisation: 0.5,
            calibration_ms: [5.0, 5.0],
            upstream_connections: 0,
            upstream_requests: 1000,
            held: 0,
        }
    }

    #[test]
    fn a_valid_window_has_at_most_one_failure_in_a_hundred() {
        let mut window = window("r", Kind::Tide, 0, 1.0);
        window.tally.failures = 10;
        assert!(window.valid() && window.fault().is_none());
        window.tally.other_kind = 1;
        assert!(!window.valid());
        assert!(window.fault().unwrap().contains("10 failed, 1 of the other kind"));
    }

    #[test]
    fn a_window_with_too_few_operations_is_invalid() {
        let mut window = window("r", Kind::Tide, 0, 1.0);
        window.tally.operations = 19;
        assert!(!window.valid());
    }

    #[test]
    fn a_window_whose_driver_failed_is_invalid_and_states_why() {
        let mut window = window("r", Kind::Tide, 0, 1.0);
        window.tally.driver_fault = Some("no result".to_owned());
        assert!(!window.valid());
        assert_eq!(window.fault().unwrap(), "no result");
    }

    #[test]
    fn counts_of_driver_and_upstream_differ_by_what_is_on_its_way() {
        assert_eq!(differ(1000, 1000 + 10 + 32, 16), None);
        assert!(differ(1000, 1100, 16).unwrap().contains("1100 requests reached the upstream"));
        assert_eq!(differ(0, 0, 16), None);
        assert!(differ(0, 40, 16).is_some());
    }
}
