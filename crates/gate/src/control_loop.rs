//! The control loop: ten times a second it sums up what the cores did, reports to the
//! controller, and does the upkeep that belongs to no core.

use crate::admission::sessions::Sessions;
use crate::config::{Config, Upstream};
use crate::shared::Shared;
use crate::telemetry::clock::TICK;
use crate::telemetry::counters::Totals;
use crate::telemetry::labels::{Bucket, Class, RoomVisit, Tier};
use crate::telemetry::operator_log::OperatorLog;
use crate::telemetry::recorder::Recorder;
use crate::telemetry::usage::UsageMeter;
use std::sync::Arc;
use tidegate_control::waiting_room::least_refresh;
use tidegate_control::{ClassWork, FullHandshake, KindWork, Part, Reading};
use tokio::time::MissedTickBehavior;

/// The control loop of a gate.
pub struct ControlLoop {
    /// The shared state, with the controller.
    pub shared: Arc<Shared>,
    /// The sessions.
    pub sessions: Arc<Sessions>,
}

impl ControlLoop {
    /// Ticks until dropped.
    pub async fn run(self) {
        let Self { shared, sessions } = self;
        let meter = |of: &[Upstream], config: &Config| {
            UsageMeter::new(of, config.files.agent_secret.as_ref()).on_cores(&shared.processors)
        };
        let mut config = shared.config();
        let mut measured: Vec<_> = config.upstreams().into_iter().cloned().collect();
        let mut usage = meter(&measured, &config);
        let mut before = shared.totals();
        let mut started_before = sessions.started();
        let mut routes_before = shared.routes.totals();
        let mut then = shared.now();
        let (mut log, mut recorder) = (OperatorLog::default(), Recorder::default());
        let mut interval = tokio::time::interval(TICK);
        interval.set_missed_tick_behavior(MissedTickBehavior::Delay);
        loop {
            interval.tick().await;
            shared.cores.iter().for_each(|core| core.think_times.tick());
            let (now, mut totals) = (shared.now(), shared.totals());
            sessions.tick(&mut totals.think_times);
            sessions.expire(now);
            let former = std::mem::replace(&mut config, shared.config());
            let named = config.upstreams();
            if !named.iter().copied().eq(&measured)
                || former.files.agent_secret != config.files.agent_secret
            {
                measured = named.into_iter().cloned().collect();
                usage = meter(&measured, &config);
            }
            let Totals { upstream_responses, load_reports, .. } = totals;
            usage.reported(upstream_responses, load_reports);
            let sample = usage.sample();
            shared.used().add(now, &sample, || shared.routes.totals());
            let elsewhere = shared.controller().work_elsewhere().map(|why| {
                format!(
                    "{why}; response times decide, and tidegate agent beside the service tells more \
                     (upstream.load_from)"
                )
            });
            shared.upstream_note.set(usage.upstream_note().or(elsewhere.as_deref()));
            let started = sessions.started();
            let routes = shared.routes.work_since(&mut routes_before);
            let counted = counted(&totals, &before);
            let refused: u64 = routes.iter().map(|route| route.refused).sum();
            let reading = Reading {
                elapsed: now.saturating_sub(then),
                usage: sample,
                sessions_active: small(sessions.active()),
                sessions_started: started - started_before,
                static_requests: counted.static_requests + refused,
                routes,
                ..counted
            };
            let reading = match &shared.fleet {
                Some(fleet) => {
                    let outlook = shared.controller().outlook();
                    let part = fleet.part(now, &reading, &outlook);
                    reading.part_of_fleet(part)
                }
                None => reading,
            };
            if !reading.elapsed.is_zero() {
                shared.controller().observe(now, &reading);
            }
            shared.passage.set(shared.controller().passage().unwrap_or_default());
            tend_room(&shared, &totals, &before);
            log.write(now, &totals, &shared);
            recorder.tick(now, &totals, sessions.active(), &shared);
            (before, started_before, then) = (totals, started, now);
        }
    }
}

/// Moves the threshold of the waiting room. Its pages come as often as what they cost since the
/// last tick allows.
fn tend_room(shared: &Shared, totals: &Totals, before: &Totals) {
    shared.set_room_clock();
    let (room, (per_s, _)) = (&shared.room, shared.room_cpu());
    let pages = totals.room_visits[RoomVisit::Page] - before.room_visits[RoomVisit::Page];
    let spent_s = seconds(totals.cpu_ns[Bucket::Room] - before.cpu_ns[Bucket::Room]);
    let each_s = if pages > 0 { spent_s / pages as f64 } else { 0.0 };
    let least = least_refresh(room.waiting(), each_s, per_s);
    room.tick(shared.room_order(), totals.room_asking, least, shared.unix_ms());
}

/// The part of a reading that follows from two sums of the counters.
fn counted(totals: &Totals, before: &Totals) -> Reading {
    let since = |of: fn(&Totals) -> u64| of(totals) - of(before);
    Reading {
        new: work(totals, before, Class::New),
        returning: work(totals, before, Class::Returning),
        kinds: kinds(totals, before).collect(),
        in_flight_handshakes: small(totals.starting),
        in_flight_handshake_cpu_s: Some(seconds(totals.starting_ns)),
        in_flight_requests: small(totals.at_upstream),
        held: small(totals.holding),
        thinking: totals.think_times.thinking,
        requests_by_age: totals.think_times.requests_since(&before.think_times),
        static_requests: since(|totals| totals.tiers[Tier::Static]),
        upstream_responses: since(|totals| totals.upstream_responses),
        upstream_time_s: seconds(since(|totals| totals.upstream_ns)),
        upstream_time_ln: since(|totals| totals.upstream_ln_micros) as f64 * 1e-6,
        upstream_given_up: since(|totals| totals.given_up),
        given_up_time_ln: since(|totals| totals.given_up_ln_micros) as f64 * 1e-6,
        part: Part::WHOLE,
        ..Reading::default()
    }
}

/// What one class did between two sums of the counters.
fn work(totals: &Totals, before: &Totals, class: Class) -> ClassWork {
    let connections = |totals: &Totals| {
        // Connections of the class new are admitted at once or after a hold.
        let late = match class {
            Class::New => totals.hold_admitted + totals.room_visits[RoomVisit::Admitted],
            Class::Returning => 0,
        };
        totals.admitted[class] + late
    };
    let cpu_s = |bucket| seconds(totals.cpu_ns[bucket] - before.cpu_ns[bucket]);
    // The message of a tunnel is work as a request is.
    let requests = |totals: &Totals| totals.requests[class] + totals.tunnel_messages[class];
    ClassWork {
        connections: connections(totals) - connections(before),
        handshakes: totals.handshakes_by_class[class] - before.handshakes_by_class[class],
        in_clear: if class == Class::New { totals.in_clear - before.in_clear } else { 0 },
        handshake_cpu_s: cpu_s(Bucket::handshake(class)),
        requests: requests(totals) - requests(before),
        request_cpu_s: cpu_s(Bucket::request(class)),
    }
}

/// The full handshakes between two sums of the counters, by kind.
fn kinds(totals: &Totals, before: &Totals) -> impl Iterator<Item = KindWork> {
    FullHandshake::all().filter_map(|kind| {
        let handshakes = totals.handshakes_by_kind[kind] - before.handshakes_by_kind[kind];
        let ns = totals.handshake_ns_by_kind[kind] - before.handshake_ns_by_kind[kind];
        (handshakes > 0 || ns > 0).then(|| KindWork { kind, handshakes, cpu_s: seconds(ns) })
    })
}

fn small(n: u64) -> u32 {
    u32::try_from(n).unwrap_or(u32::MAX)
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
