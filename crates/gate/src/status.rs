//! The snapshot of a gate: counters, gauges and the controller's state in one value.

use crate::admission::sessions::Sessions;
use crate::config::{Destination, Identity, Route};
use crate::shared::Shared;
use crate::telemetry::counters::Totals;
use crate::telemetry::durations::Durations;
use crate::telemetry::labels::{Class, HandshakeKind};
use crate::telemetry::snapshot::{
    CertificateStatus, Handshakes, KindCounts, MemberStatus, PoolStatus, RoomStatus, RouteStatus,
    RoutedUpstream, Snapshot, Verdicts,
};
use crate::upstream::health::{MemberHealth, UpstreamHealth};
use crate::upstream::standing::FULL_SHARE;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::Ordering::Relaxed;
use tidegate_control::FullHandshake;
use tidegate_control::waiting_room::Doors;
use tidegate_host::cpu_clock;

/// The snapshot at this moment, for a gate with admin pages at this address.
pub fn snapshot(shared: &Shared, sessions: &Sessions, admin: Option<SocketAddr>) -> Snapshot {
    let totals = shared.totals();
    let (now, used) = (shared.now(), shared.used().clone());
    let (config, upstreams) = (shared.config(), shared.upstreams.all());
    let text = |address: Option<SocketAddr>| address.map(|at| at.to_string()).unwrap_or_default();
    Snapshot {
        version: env!("CARGO_PKG_VERSION"),
        uptime_s: now.as_secs_f64(),
        addresses: shared.addresses.tls.iter().map(ToString::to_string).collect(),
        address: shared.address().to_string(),
        clear_address: text(shared.addresses.clear),
        admin_address: text(admin),
        upstream: config.upstream.url.to_string(),
        upstream_note: shared.upstream_note.get(),
        upstream_problem: upstreams[0].problem(),
        upstream_failures: shared.upstreams.failures(),
        routes: config.routes.iter().map(route).collect(),
        pools: upstreams.iter().map(|upstream| pool(upstream)).collect(),
        routed_upstreams: upstreams.iter().filter_map(|upstream| routed(upstream)).collect(),
        request_tiers: totals.tiers.named().collect(),
        file_errors: totals.file_errors,
        certificates: config.files.identities.iter().map(certificate).collect(),
        config_reloads: vec![
            ("ok", shared.reloads.ok.load(Relaxed)),
            ("failed", shared.reloads.failed.load(Relaxed)),
        ],
        draining: shared.draining(),
        new: Verdicts {
            admitted: totals.admitted[Class::New] + totals.hold_admitted,
            held: totals.held[Class::New],
            refused: totals.refused[Class::New] + totals.hold_expired,
        },
        waiting_room: room(shared, &totals),
        returning: Verdicts {
            admitted: totals.admitted[Class::Returning],
            held: totals.held[Class::Returning],
            refused: totals.refused[Class::Returning],
        },
        full_handshakes: handshakes(&totals, HandshakeKind::Full),
        resumed_handshakes: handshakes(&totals, HandshakeKind::Resumed),
        handshake_kinds: kinds(&totals),
        handshakes_active: totals.in_handshake,
        waiting: totals.waiting(shared.room.waiting()),
        held: totals.holding,
        held_bytes: totals.holding_bytes,
        connections_active: totals.open,
        sessions_active: sessions.active(),
        sessions_started: sessions.started(),
        requests_active: totals.in_requests,
        requests: totals.codes().collect(),
        class_requests: totals.requests.named().collect(),
        durations: Durations {
            buckets: *totals.durations.values(),
            sum_s: seconds(totals.duration_ns),
        },
        bytes_received: totals.bytes_in,
        bytes_sent: totals.bytes_out,
        connections_ended: totals.ends.named().filter(|(_, count)| *count > 0).collect(),
        // All of them, also those that never occurred: an alert on the rate of
        // one must see the first.
        tickets: totals.tickets.named().collect(),
        session_cookies: totals.session_cookies.named().collect(),
        not_tls: totals.not_tls.named().collect(),
        accept_errors: totals.accept_errors,
        upstream_connections: totals.upstream_open,
        upstream_errors: totals.upstream_faults.named().filter(|(_, count)| *count > 0).collect(),
        http2_floods: totals.http2_floods.named().collect(),
        streams_reset: totals.streams_reset.named().collect(),
        connections_resting: totals.resting,
        tunnels_active: totals.tunnels,
        tunnel_messages: totals.tunnel_messages.named().collect(),
        tunnels_ended: totals.tunnels_ended.named().collect(),
        tunnel_bytes_received: totals.tunnel_bytes_in,
        tunnel_bytes_sent: totals.tunnel_bytes_out,
        malformed_requests: totals.malformed_requests.named().collect(),
        malformed_responses: totals.malformed_responses.named().collect(),
        upstream_retries: totals.upstream_retries,
        used_at_s: used.at.as_secs_f64(),
        used_cpu_seconds: used.cpu_s.iter().map(|(name, it)| (name.as_str(), *it)).collect(),
        route_totals: used.routes,
        access_log_lines: {
            let failed = shared.access_log.lost();
            let written = totals.log_lines.saturating_sub(failed);
            vec![("written", written), ("dropped", totals.log_dropped), ("failed", failed)]
        },
        cpu_seconds: cpu_clock::of_this_process().as_secs_f64(),
        work_cpu_seconds: totals.cpu_ns.named().map(|(work, ns)| (work, seconds(ns))).collect(),
        control: Some(shared.controller().status(now)),
        fleet: shared.fleet.as_ref().map(|fleet| fleet.status()),
    }
}

fn room(shared: &Shared, totals: &Totals) -> RoomStatus {
    let doors = shared.doors();
    let until_ms = match doors {
        Doors::Before => shared.room_order().opens_ms,
        Doors::Closed => Some(shared.room.closing().until_ms),
        Doors::Open | Doors::Maintenance => None,
    };
    RoomStatus {
        doors,
        until_unix_s: until_ms.map(|ms| ms / 1000),
        waiting: shared.room.waiting(),
        asking: totals.room_asking,
        lapsed: shared.room.lapsed(),
        visits: totals.room_visits.named().collect(),
    }
}

fn route(route: &Route) -> RouteStatus {
    let host = route.host.as_ref().map(ToString::to_string);
    let mut status = RouteStatus {
        host,
        path: route.path.to_string(),
        priority: route.priority.name(),
        ..RouteStatus::default()
    };
    match &route.to {
        Destination::Directory(directory) => {
            status.directory = Some(directory.path.display().to_string());
        }
        Destination::Upstream(upstream) => status.upstream = Some(upstream.url.to_string()),
        Destination::Pool(name) => status.pool = Some(name.clone()),
        Destination::Onward => {}
    }
    status
}

/// An upstream, if it is not that of `[upstream]`.
fn routed(health: &UpstreamHealth) -> Option<RoutedUpstream> {
    let url = health.name.as_deref()?.to_owned();
    let members = health.members();
    let responses = members.iter().map(|member| member.sum(|core| &core.responses)).sum();
    Some(RoutedUpstream { url, problem: health.problem(), responses })
}

fn pool(health: &UpstreamHealth) -> PoolStatus {
    let member = |member: &Arc<MemberHealth>| MemberStatus {
        server: member.name(),
        share: f64::from(member.share()) / f64::from(FULL_SHARE),
        problem: member.problem(),
        connections_in_use: member.sum(|core| &core.in_use),
        responses: member.sum(|core| &core.responses),
        server_errors: member.sum(|core| &core.server_errors),
        failures: member.sum(|core| &core.failures),
        ejections: member.ejections.load(Relaxed),
    };
    PoolStatus {
        pool: health.name.as_deref().unwrap_or("upstream").to_owned(),
        members: health.members().iter().map(member).collect(),
        waiting: health.sum(|core| &core.waiting),
        queue: vec![
            ("served", health.sum(|core| &core.waited)),
            ("full", health.sum(|core| &core.queue_full)),
            ("late", health.sum(|core| &core.queue_late)),
        ],
        retries: health.sum(|core| &core.retries),
    }
}

fn certificate(identity: &Arc<Identity>) -> CertificateStatus {
    CertificateStatus { names: identity.names.clone(), expires_unix_s: identity.expires }
}

fn handshakes(totals: &Totals, kind: HandshakeKind) -> Handshakes {
    Handshakes { ok: totals.handshakes_ok[kind], failed: totals.handshakes_failed[kind] }
}

fn kinds(totals: &Totals) -> Vec<(&'static str, KindCounts)> {
    let counts = |kind: FullHandshake| KindCounts {
        admitted: totals.admitted_by_kind[kind],
        charged_cpu_s: seconds(totals.charged_ns_by_kind[kind]),
        handshakes: totals.handshakes_by_kind[kind],
        cpu_s: seconds(totals.handshake_ns_by_kind[kind]),
    };
    let all = FullHandshake::all().map(|kind| (kind.name(), counts(kind)));
    all.filter(|(_, counts)| counts.admitted > 0).collect()
}

fn seconds(ns: u64) -> f64 {
    ns as f64 / 1e9
}
