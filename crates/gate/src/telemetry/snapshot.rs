//! What the gate counted, as a plain [`Snapshot`].
//!
//! Counters run from the gate's start and never fall; gauges are values at the
//! moment of the snapshot.

use crate::telemetry::durations::Durations;
use crate::telemetry::route_counts::RouteTotals;
use crate::telemetry::troubles::UpstreamFailure;
use serde::Serialize;
use tidegate_control::fleet::GateShare;
use tidegate_control::waiting_room::Doors;

/// Verdicts on the connections of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// Connections admitted: counted at the decision, before the handshake, and
    /// once, also where they were held first.
    pub admitted: u64,
    /// Connections that had to wait; each of them is counted as admitted or
    /// refused as well when its wait is over (or, when its customer left
    /// before, as neither).
    pub held: u64,
    /// Connections refused, at once or after a hold.
    pub refused: u64,
}

/// The waiting room (`admission.refuse = "page"`).
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RoomStatus {
    /// Whether anybody new is admitted: `open`, or why not: `before` the opening, `closed` by the
    /// service, `maintenance`.
    pub doors: Doors,
    /// Until when not, in seconds since 1970; null while `open`, and where it ends only by another
    /// configuration.
    pub until_unix_s: Option<u64>,
    /// Customers who wait now.
    pub waiting: u64,
    /// Those of them whose turn it is and whose request waits for admission.
    pub asking: u64,
    /// Customers who left it without having been admitted.
    pub lapsed: u64,
    /// What became of visits (`page`, `admitted`, `beyond` the room's share of the
    /// processors): each once. Those who were admitted count as refused connections before.
    #[serde(serialize_with = "as_object")]
    pub visits: Vec<(&'static str, u64)>,
}

/// Handshakes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Handshakes {
    /// Finished.
    pub ok: u64,
    /// Broken off by either side, or past their deadline.
    pub failed: u64,
}

/// New connections of one kind of handshakes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct KindCounts {
    /// Admitted.
    pub admitted: u64,
    /// CPU seconds that they were charged at their admission.
    pub charged_cpu_s: f64,
    /// Handshakes finished, successfully or not.
    pub handshakes: u64,
    /// CPU seconds spent on these.
    pub cpu_s: f64,
}

/// A certificate that customers get.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct CertificateStatus {
    /// Its DNS names.
    pub names: Vec<String>,
    /// When it expires, in seconds since 1970; null if that cannot be read.
    pub expires_unix_s: Option<i64>,
}

/// Where the requests of some hosts and paths go.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct RouteStatus {
    /// The host that it is for; null if it is for any.
    pub host: Option<String>,
    /// How the paths begin.
    pub path: String,
    /// The directory that is asked first; null if there is none.
    pub directory: Option<String>,
    /// The URL of the upstream; null where a directory is asked first or a pool is named.
    pub upstream: Option<String>,
    /// The name of the pool; null if none is named.
    pub pool: Option<String>,
    /// How important its requests are: `low`, `normal` or `high`.
    pub priority: &'static str,
}

/// A server of an upstream.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MemberStatus {
    /// Its URL, and the address to which its host's name resolved where that is of interest.
    pub server: String,
    /// Its share of the requests, relative to a server in full use: 1, below that while it has just
    /// returned, and 0 while it is down or taken out.
    pub share: f64,
    /// Why its last check failed: a clause; null where that was good, or where it is not checked.
    pub problem: Option<String>,
    /// Connections in use, those that are being opened included.
    pub connections_in_use: u64,
    /// Responses of which it sent the head.
    pub responses: u64,
    /// Those of them with a status of 500 or above.
    pub server_errors: u64,
    /// Requests that it failed: it refused the connection, did not answer in time or broke off.
    /// Another server may have answered them.
    pub failures: u64,
    /// How often it was taken out.
    pub ejections: u64,
}

/// The servers of an upstream, and what happened to its requests.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct PoolStatus {
    /// Its name; `upstream` of that of `[upstream]`, the URLs of one that a route names so.
    pub pool: String,
    /// Its servers.
    pub members: Vec<MemberStatus>,
    /// Requests that wait for a connection now.
    pub waiting: u64,
    /// Requests that had to wait, by how that ended (`served`, `full`, `late`): each once.
    #[serde(serialize_with = "as_object")]
    pub queue: Vec<(&'static str, u64)>,
    /// Requests that were sent to a second server, since the first one failed them.
    pub retries: u64,
}

/// An upstream that routes name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct RoutedUpstream {
    /// Its URL, or the name of its pool.
    pub url: String,
    /// Why it cannot be reached: a clause; null as of `upstream_problem`.
    pub problem: Option<String>,
    /// Responses of which it sent the head.
    pub responses: u64,
}

/// Everything the gate counted up to a moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Version of the gate, as in its package.
    pub version: &'static str,
    /// Seconds since the gate started.
    pub uptime_s: f64,
    /// Where customers connect: as bound, so never port 0; the first, if there are several.
    pub address: String,
    /// All addresses where customers connect over TLS.
    pub addresses: Vec<String>,
    /// Where customers connect by plain HTTP, as bound; empty when that is off.
    pub clear_address: String,
    /// Where this is served; empty when it is off.
    pub admin_address: String,
    /// The upstream's URL.
    pub upstream: String,
    /// Why the upstream's CPU time is not known, or not all of it, and what to
    /// do: a sentence. None when all is well.
    pub upstream_note: Option<String>,
    /// Why the upstream cannot be reached: a clause; `/healthz` then answers 503. None where it
    /// can be reached, or where `upstream.check_interval` is 0.
    pub upstream_problem: Option<String>,
    /// Why upstreams failed requests in the last minute, each cause once.
    pub upstream_failures: Vec<UpstreamFailure>,
    /// Where the requests of some hosts and paths go, in the order of the configuration.
    pub routes: Vec<RouteStatus>,
    /// The upstreams beside that of `[upstream]`, each once.
    pub routed_upstreams: Vec<RoutedUpstream>,
    /// The servers of each upstream, that of `[upstream]` first.
    pub pools: Vec<PoolStatus>,
    /// Requests by what answers them (`static`, `upstream`): each once. Those that the gate
    /// answers with an error of its own before it asks an upstream are in neither.
    #[serde(serialize_with = "as_object")]
    pub request_tiers: Vec<(&'static str, u64)>,
    /// Files of a static tier that are there and could not be read.
    pub file_errors: u64,
    /// The certificates that customers get, the default one first; empty while it is one that
    /// the gate made at its start.
    pub certificates: Vec<CertificateStatus>,
    /// How often the configuration was reloaded, by result (`ok`, `failed`): each once.
    #[serde(serialize_with = "as_object")]
    pub config_reloads: Vec<(&'static str, u64)>,
    /// Whether the gate is finishing its connections and accepts no new ones;
    /// `/healthz` then answers 503.
    pub draining: bool,
    /// Verdicts on connections of class new.
    pub new: Verdicts,
    /// The waiting room.
    pub waiting_room: RoomStatus,
    /// Verdicts on connections of class returning: all of them are admitted. One
    /// above its session's own rate is classified as new and counted there.
    pub returning: Verdicts,
    /// Full handshakes, by what was agreed at the end; a handshake that failed
    /// counts as the kind that its hello was admitted for.
    pub full_handshakes: Handshakes,
    /// Resumed handshakes.
    pub resumed_handshakes: Handshakes,
    /// New connections by the kind of their handshake, such as
    /// `rsa-4096/X25519MLKEM768/mutual`: only kinds that occurred.
    #[serde(serialize_with = "as_object")]
    pub handshake_kinds: Vec<(&'static str, KindCounts)>,
    /// Handshakes running now.
    pub handshakes_active: u64,
    /// New sessions that wait now, before admission or in the waiting room.
    pub waiting: u64,
    /// New connections waiting now.
    pub held: u64,
    /// Bytes of their hellos, or of their plain HTTP requests, now.
    pub held_bytes: u64,
    /// Connections to customers open now, those in hold included.
    pub connections_active: u64,
    /// Sessions active now.
    pub sessions_active: u64,
    /// Sessions begun.
    pub sessions_started: u64,
    /// Requests running now.
    pub requests_active: u64,
    /// Finished requests by the status code sent to the customer; ascending,
    /// each code once, only those that occurred.
    #[serde(serialize_with = "as_object")]
    pub requests: Vec<(u16, u64)>,
    /// Requests over, answered or given up, by the class of their connection
    /// (`new`, `returning`): each class once.
    #[serde(serialize_with = "as_object")]
    pub class_requests: Vec<(&'static str, u64)>,
    /// How long they took.
    pub durations: Durations,
    /// Bytes read from customers, TLS included.
    pub bytes_received: u64,
    /// Bytes written to customers, TLS included.
    pub bytes_sent: u64,
    /// Ended connections by reason (`done`, `idle`, `hello_deadline`, `not_tls`,
    /// `reset`, …): snake case, each reason once.
    #[serde(serialize_with = "as_object")]
    pub connections_ended: Vec<(&'static str, u64)>,
    /// What became of the tickets that were shown (`good`, `foreign`, `expired`,
    /// `unfit`, `too_many`, `over_rate`, `over_connections`,
    /// `unproven`, `copied`): each result once.
    #[serde(serialize_with = "as_object")]
    pub tickets: Vec<(&'static str, u64)>,
    /// What became of the session cookies that requests showed (`good`, `foreign`, `expired`,
    /// `over_rate`, `over_requests`): each result once.
    #[serde(serialize_with = "as_object")]
    pub session_cookies: Vec<(&'static str, u64)>,
    /// What arrived on the TLS port and was not TLS, by what it looks like
    /// (`http_in_clear`, `ssh`, …): each once.
    #[serde(serialize_with = "as_object")]
    pub not_tls: Vec<(&'static str, u64)>,
    /// Failures to accept a connection for want of something, such as file
    /// descriptors. Those of want of descriptors are `no_files` among the ended
    /// connections as well, if they could be refused.
    pub accept_errors: u64,
    /// Connections to the upstream open now.
    pub upstream_connections: u64,
    /// Requests that the upstream failed, by reason (`connect`, `timeout`,
    /// `broken`, …): snake case, each reason once.
    #[serde(serialize_with = "as_object")]
    pub upstream_errors: Vec<(&'static str, u64)>,
    /// Requests that break HTTP, by the part that breaks it (`head`, `chunk`,
    /// `trailer`, …): each part once.
    #[serde(serialize_with = "as_object")]
    pub malformed_requests: Vec<(&'static str, u64)>,
    /// Responses of the upstream that break HTTP, by the same parts.
    #[serde(serialize_with = "as_object")]
    pub malformed_responses: Vec<(&'static str, u64)>,
    /// Connections closed since the customer sent too much by HTTP/2, by what (`resets`,
    /// `control_frames`, `library`): each once.
    #[serde(serialize_with = "as_object")]
    pub http2_floods: Vec<(&'static str, u64)>,
    /// Streams of HTTP/2 that ended before their response was complete, by reason (`customer`,
    /// `deadline`, `truncated`): each once.
    #[serde(serialize_with = "as_object")]
    pub streams_reset: Vec<(&'static str, u64)>,
    /// Connections of HTTP/1.1 that have been idle for a second or more.
    pub connections_resting: u64,
    /// WebSockets open now, and those that the upstream is being asked for.
    pub tunnels_active: u64,
    /// Messages of WebSockets, by the class of their connection: of customers, and of upstreams
    /// unasked; as far as they come one by one.
    #[serde(serialize_with = "as_object")]
    pub tunnel_messages: Vec<(&'static str, u64)>,
    /// WebSockets that ended, by reason (`customer`, `upstream`, `idle`, `stalled`, `broken`,
    /// `drain`, `displaced`).
    #[serde(serialize_with = "as_object")]
    pub tunnels_ended: Vec<(&'static str, u64)>,
    /// Bytes of WebSockets from customers, without TLS.
    pub tunnel_bytes_received: u64,
    /// Bytes of WebSockets to customers, without TLS.
    pub tunnel_bytes_sent: u64,
    /// Requests sent to the upstream a second time, since the first connection
    /// had gone stale.
    pub upstream_retries: u64,
    /// The moment of `used_cpu_seconds` and `route_totals`, in seconds since the gate started: at
    /// most a tenth of a second ago, so that both belong together.
    pub used_at_s: f64,
    /// CPU seconds that each resource (`gate`, `upstream`, `routed`, `host`) used since the
    /// gate's start, as far as the gate sees them; none of one that it has not seen.
    #[serde(serialize_with = "as_object")]
    pub used_cpu_seconds: Vec<(&'static str, f64)>,
    /// What the requests of each route are and cost, then those of no route (`upstream`); empty
    /// while no route is configured.
    pub route_totals: Vec<RouteTotals>,
    /// Lines of the access log, by what became of them (`written`, `dropped`, `failed`): each
    /// once. Those dropped found no room in the buffer; those failed could not be written to the
    /// file.
    #[serde(serialize_with = "as_object")]
    pub access_log_lines: Vec<(&'static str, u64)>,
    /// CPU seconds used by the gate's process since its start.
    pub cpu_seconds: f64,
    /// Those of them that the cores' threads spent, by what on (`arrival`,
    /// `handshake_new`, `handshake_returning`, `request_new`,
    /// `request_returning`, `upkeep`): each once.
    #[serde(serialize_with = "as_object")]
    pub work_cpu_seconds: Vec<(&'static str, f64)>,
    /// The controller's own state: policy, budget, costs, resources, why.
    pub control: Option<tidegate_control::Status>,
    /// The fleet that the gate is part of; null if it is alone.
    pub fleet: Option<FleetStatus>,
}

/// The fleet, as a gate of it knows it.
#[derive(Clone, Debug, Serialize)]
pub struct FleetStatus {
    /// Name of the fleet.
    pub name: String,
    /// Name of this gate.
    pub gate: String,
    /// The servers of NATS.
    pub servers: String,
    /// Whether one of them answers.
    pub connected: bool,
    /// How long none has answered, in seconds; null while one does.
    pub lost_for_s: Option<f64>,
    /// Why none answers, or what was refused last; null when all is well.
    pub problem: Option<String>,
    /// The gate that divides the service and makes ticket keys; null if that is not known.
    pub holder: Option<String>,
    /// Whether that is this gate.
    pub lease_held: bool,
    /// Epoch of the newest table of shares; 0: there was none.
    pub epoch: u64,
    /// Share of the service that this gate may use, 0 to 1.
    pub share: f64,
    /// Whether the gate goes on by itself, with a share that is safe for all others.
    pub cut_off: bool,
    /// The gates of the newest table.
    pub gates: Vec<FleetGate>,
    /// Whether the gate has the ticket keys of the fleet; otherwise it has its own.
    pub keys_shared: bool,
    /// Messages that were refused, by reason.
    #[serde(serialize_with = "as_object")]
    pub messages_refused: Vec<(&'static str, u64)>,
    /// Messages that were not sent or not read, since NATS or the gate was slow.
    pub messages_dropped: u64,
}

/// A gate of a fleet.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FleetGate {
    /// Its name.
    pub gate: String,
    /// Its share of the service, 0 to 1.
    pub share: f64,
    /// Requests per second that the service answers to it.
    pub requests_per_s: f64,
}

impl FleetGate {
    /// A line of a table.
    pub fn of(line: &GateShare) -> Self {
        let (gate, share) = (line.gate.clone(), line.share);
        Self { gate, share, requests_per_s: line.requests_per_s }
    }
}

/// Writes pairs as an object: JSON's own form of what is found by name.
fn as_object<K: std::fmt::Display, V: Serialize, S: serde::Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key.to_string(), value)))
}
