//! One window: a server's CPU time over a period of load, with everything that is
//! needed to judge it later.

use crate::driver::{AbortOnDrop, Driver, Tally};
use crate::drivers::{Drivers, yield_to_driver};
use crate::load_driver::LoadDriver;
use crate::upstream::{Counts, Upstream};
use serde::Serialize;
use std::time::{Duration, Instant};
use tidegate_lab::peers::{Kind, Server};
use tidegate_lab::{CorePair, calibration};
use tokio::time::sleep;

/// Time for the last connections to be torn down before a clock is read.
const SETTLE: Duration = Duration::from_millis(10);

/// Load before a window: at least a tick of the gate's controller, which has had
/// no customer since its last window.
const WARM_UP: Duration = Duration::from_millis(150);

/// Fewest operations of a valid window.
const FEWEST: u64 = 20;

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
    /// Completed operations.
    pub operations: u64,
    /// Failed operations.
    pub failures: u64,
    /// Operations with the other kind of handshake.
    pub other_kind: u64,
    /// The first failure.
    pub first_failure: Option<String>,
    /// Length of the load.
    pub wall_ms: f64,
    /// CPU time of all the server's processes, teardown included.
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
    /// Measures one window. The connections are closed at its end.
    ///
    /// # Errors
    /// The server has ended, or a core is not allowed.
    pub async fn measure(
        at: (&'static str, Kind, u32, usize),
        server: &Server,
        driver: &mut Drivers,
        upstream: &Upstream,
        cores: CorePair,
        length: Duration,
    ) -> anyhow::Result<Self> {
        let (row, kind, round, turn) = at;
        let before = calibration::time_on(cores.server, cores.driver)?;
        let warm_up = WARM_UP.max(length / 4);
        let Part { before: start, after: end, wall, own, tally } = match driver {
            Drivers::Own(driver) => Part::of_own(driver, server, upstream, warm_up, length).await?,
            Drivers::Load(driver) => {
                Part::of_load(driver, server, upstream, warm_up, length).await?
            }
        };
        sleep(SETTLE).await;
        let used = end.used.saturating_sub(start.used);
        let after = calibration::time_on(cores.server, cores.driver)?;
        Ok(Self {
            row,
            server: kind,
            round,
            turn,
            operations: tally.operations,
            failures: tally.failures,
            other_kind: tally.other_kind,
            first_failure: tally.first_failure,
            wall_ms: milliseconds(wall),
            cpu_ms: milliseconds(used),
            cpu_us_per_operation: 1e6 * used.as_secs_f64() / tally.operations.max(1) as f64,
            utilisation: used.as_secs_f64() / wall.as_secs_f64(),
            driver_utilisation: own.as_secs_f64() / wall.as_secs_f64(),
            calibration_ms: [milliseconds(before), milliseconds(after)],
            upstream_connections: end.seen.connections - start.seen.connections,
            upstream_requests: end.seen.requests - start.seen.requests,
            held: end.held - start.held,
        })
    }

    /// Whether the window is valid: enough operations, and at most one in a hundred
    /// failed or of the other kind.
    pub fn valid(&self) -> bool {
        self.operations >= FEWEST && (self.failures + self.other_kind) * 100 <= self.operations
    }

    /// Why it is invalid.
    pub fn fault(&self) -> Option<String> {
        if self.valid() {
            return None;
        }
        let Self { operations, failures, other_kind, .. } = self;
        let first = self.first_failure.as_deref().map(|text| format!(" ({text})"));
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

/// Counts and clocks of a server and the upstream at one moment.
struct Readings {
    held: u64,
    seen: Counts,
    used: Duration,
}

impl Readings {
    /// The clock is read last, so that the request for the metrics is not measured.
    async fn before(server: &Server, upstream: &Upstream) -> anyhow::Result<Self> {
        let held = server.held().await?;
        Ok(Self { held, seen: upstream.seen(), used: server.process.cpu_time()? })
    }

    /// The clock is read first.
    async fn after(server: &Server, upstream: &Upstream) -> anyhow::Result<Self> {
        let (used, seen) = (server.process.cpu_time()?, upstream.seen());
        Ok(Self { held: server.held().await?, seen, used })
    }
}

/// The measured part of a window.
struct Part {
    before: Readings,
    after: Readings,
    wall: Duration,
    own: Duration,
    tally: Tally,
}

impl Part {
    /// From before the first operation to after the teardown of the last.
    async fn of_own(
        driver: &mut Driver,
        server: &Server,
        upstream: &Upstream,
        warm_up: Duration,
        length: Duration,
    ) -> anyhow::Result<Self> {
        driver.run(warm_up).await;
        sleep(SETTLE).await;
        let before = Readings::before(server, upstream).await?;
        let own = tidegate_host::cpu_clock::of_this_thread();
        let start = Instant::now();
        let tally = driver.run(length).await;
        let wall = start.elapsed();
        let own = tidegate_host::cpu_clock::of_this_thread().saturating_sub(own);
        sleep(SETTLE).await;
        let after = Readings::after(server, upstream).await?;
        driver.close().await;
        Ok(Self { before, after, wall, own, tally })
    }

    /// Between two moments of steady load; operations are requests at the upstream.
    async fn of_load(
        driver: &LoadDriver,
        server: &Server,
        upstream: &Upstream,
        warm_up: Duration,
        length: Duration,
    ) -> anyhow::Result<Self> {
        let awake = AbortOnDrop(tokio::task::spawn_local(yield_to_driver()));
        let first = upstream.seen().requests;
        let load = driver.start(warm_up, length)?;
        let patience = Instant::now() + WARM_UP * 20;
        while upstream.seen().requests < first + 2 && Instant::now() < patience {
            sleep(Duration::from_millis(1)).await;
        }
        sleep(warm_up).await;
        let before = Readings::before(server, upstream).await?;
        let clock = || anyhow::Ok(tidegate_host::cpu_clock::of_this_thread() + load.cpu_time()?);
        let (own, start) = (clock()?, Instant::now());
        sleep(length).await;
        let (wall, own) = (start.elapsed(), clock()?.saturating_sub(own));
        let after = Readings::after(server, upstream).await?;
        let operations = after.seen.requests - before.seen.requests;
        let tally = load.finish(operations).await?;
        drop(awake);
        Ok(Self { before, after, wall, own, tally })
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
            operations: 1000,
            failures: 0,
            other_kind: 0,
            first_failure: None,
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
        window.failures = 10;
        assert!(window.valid() && window.fault().is_none());
        window.other_kind = 1;
        assert!(!window.valid());
        assert!(window.fault().unwrap().contains("10 failed, 1 of the other kind"));
    }

    #[test]
    fn a_window_with_too_few_operations_is_invalid() {
        let mut window = window("r", Kind::Tide, 0, 1.0);
        window.operations = 19;
        assert!(!window.valid());
    }
}
