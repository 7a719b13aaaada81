//! The tick: ten times a second it sums up what the cores did, tells the
//! controller, and does the upkeep that belongs to no core.

use crate::shared::Shared;
use crate::telemetry::counters::{Bucket, Class, End, LOOKS, TicketFate, Totals};
use crate::telemetry::metrics::{Durations, Handshakes, Snapshot, Verdicts};
use crate::telemetry::usage::UsageMeter;
use crate::tls::configs::unix_now;
use std::sync::Arc;
use std::time::Duration;
use tidegate_control::{ClassWork, Reading};
use tokio::time::MissedTickBehavior;

/// Time between two ticks.
pub const TICK: Duration = Duration::from_millis(100);

/// The ticks of so long a time.
pub fn ticks(time: Duration) -> u64 {
    (time.as_millis() / TICK.as_millis()) as u64
}

/// Ticks until the gate has ended.
pub async fn tick(shared: Arc<Shared>) {
    let mut usage = UsageMeter::new(&shared.config.upstream).on_cores(&shared.processors);
    let mut before = shared.totals();
    let mut started_before = shared.sessions.started();
    let mut then = shared.now();
    let mut interval = tokio::time::interval(TICK);
    interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
    loop {
        interval.tick().await;
        shared.cores.iter().for_each(|core| core.thinking.tick());
        let (now, mut totals) = (shared.now(), shared.totals());
        shared.sessions.tick(&mut totals.thoughts);
        shared.sessions.expire(now);
        if let Err(error) = shared.tls.keyring.rotate(unix_now()) {
            tracing::error!(%error, "no new ticket key: the old one stays");
        }
        let sample = usage.sample();
        shared.upstream_note.set(usage.upstream_note());
        let started = shared.sessions.started();
        let reading = Reading {
            elapsed: now.saturating_sub(then),
            gate: sample.gate,
            upstream: sample.upstream,
            shared: sample.shared,
            new: work(&totals, &before, Class::New),
            returning: work(&totals, &before, Class::Returning),
            in_flight_handshakes: small(totals.due[0]),
            in_flight_requests: small(totals.waiting[0]),
            held: small(totals.holding[0]),
            sessions_active: small(shared.sessions.active()),
            thinking: totals.thoughts.thinking,
            asked: totals.thoughts.asked_since(&before.thoughts),
            sessions_started: started - started_before,
            upstream_responses: totals.upstream_responses[0] - before.upstream_responses[0],
            upstream_time_s: seconds(totals.upstream_ns[0] - before.upstream_ns[0]),
            upstream_time_ln: (totals.upstream_ln_micros[0] - before.upstream_ln_micros[0]) as f64
                * 1e-6,
            upstream_given_up: totals.given_up[0] - before.given_up[0],
            given_up_time_ln: (totals.given_up_ln_micros[0] - before.given_up_ln_micros[0]) as f64
                * 1e-6,
        };
        if !reading.elapsed.is_zero() {
            shared.controller().observe(now, &reading);
        }
        (before, started_before, then) = (totals, started, now);
    }
}

/// What one class did between two sums.
fn work(totals: &Totals, before: &Totals, class: Class) -> ClassWork {
    let (c, b) = (class as usize, Bucket::handshake(class) as usize);
    let r = Bucket::request(class) as usize;
    let of = |totals: &Totals| {
        // Connections of the class new come in at once or after a hold.
        let late = if class == Class::New { totals.hold_admitted[0] } else { 0 };
        totals.admitted[c] + late
    };
    ClassWork {
        connections: of(totals) - of(before),
        handshakes: totals.handshakes_by_class[c] - before.handshakes_by_class[c],
        in_clear: if class == Class::New { totals.in_clear[0] - before.in_clear[0] } else { 0 },
        handshake_cpu_s: seconds(totals.cpu_ns[b] - before.cpu_ns[b]),
        requests: totals.requests[c] - before.requests[c],
        request_cpu_s: seconds(totals.cpu_ns[r] - before.cpu_ns[r]),
    }
}

fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}

/// The snapshot that the admin pages show.
pub fn snapshot(shared: &Shared, admin_address: &str) -> Snapshot {
    let totals = shared.totals();
    let now = shared.now();
    let (new, returning) = (Class::New as usize, Class::Returning as usize);
    let handshakes = |kind: usize| Handshakes {
        ok: totals.handshakes_ok[kind],
        failed: totals.handshakes_failed[kind],
    };
    let control = shared.controller().status(now);
    Snapshot {
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: now.as_secs_f64(),
        address: shared.addresses.tls.to_string(),
        clear_address: shared.addresses.clear.map(|clear| clear.to_string()).unwrap_or_default(),
        admin_address: admin_address.to_owned(),
        upstream: shared.config.upstream.url.to_string(),
        upstream_note: shared.upstream_note.get(),
        draining: shared.draining(),
        new: Verdicts {
            admitted: totals.admitted[new] + totals.hold_admitted[0],
            held: totals.held[new],
            refused: totals.refused[new] + totals.hold_expired[0],
        },
        returning: Verdicts {
            admitted: totals.admitted[returning],
            held: totals.held[returning],
            refused: totals.refused[returning],
        },
        full_handshakes: handshakes(0),
        resumed_handshakes: handshakes(1),
        handshakes_active: totals.in_handshake[0],
        held: totals.holding[0],
        held_bytes: totals.holding_bytes[0],
        connections_active: totals.open[0],
        sessions_active: shared.sessions.active(),
        sessions_started: shared.sessions.started(),
        requests_active: totals.in_requests[0],
        requests: totals.codes().collect(),
        class_requests: Class::ALL
            .iter()
            .map(|class| (class.name(), totals.requests[*class as usize]))
            .collect(),
        durations: Durations { buckets: totals.duration, sum_s: seconds(totals.duration_ns[0]) },
        bytes_received: totals.bytes_in[0],
        bytes_sent: totals.bytes_out[0],
        connections_ended: End::ALL
            .iter()
            .map(|end| (end.name(), totals.ends[*end as usize]))
            .filter(|(_, count)| *count > 0)
            .collect(),
        // All of them, also those that never occurred: an alert on the rate of
        // one must see the first.
        tickets: TicketFate::ALL
            .iter()
            .map(|fate| (fate.name(), totals.tickets[*fate as usize]))
            .collect(),
        not_tls: LOOKS.iter().map(|looks| looks.name()).zip(totals.junk).collect(),
        accept_errors: totals.accept_errors[0],
        upstream_connections: totals.upstream_open[0],
        upstream_errors: crate::telemetry::counters::UpstreamFault::ALL
            .iter()
            .map(|fault| (fault.name(), totals.upstream_faults[*fault as usize]))
            .filter(|(_, count)| *count > 0)
            .collect(),
        upstream_retries: totals.upstream_retries[0],
        cpu_seconds: process_cpu_seconds(),
        work_cpu_seconds: Bucket::ALL
            .iter()
            .map(|bucket| (bucket.name(), seconds(totals.cpu_ns[*bucket as usize])))
            .collect(),
        control: Some(control),
    }
}

/// Processor time that this process has used, in seconds.
fn process_cpu_seconds() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a valid place for the kernel to write to.
    unsafe { libc::clock_gettime(libc::CLOCK_PROCESS_CPUTIME_ID, &raw mut time) };
    time.tv_sec as f64 + time.tv_nsec as f64 / 1e9
}
