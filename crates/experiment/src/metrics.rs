//! The figures of a run, as columns of `results.parquet`. Each driver has its own.

pub mod messages;

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::sync::LazyLock;

/// Figures of a run by name.
pub type Figures = BTreeMap<String, f64>;

/// A figure of a run.
#[derive(Clone, Debug)]
pub struct Metric {
    /// Its name, with the unit.
    pub name: Cow<'static, str>,
    /// The unit on an axis.
    pub unit: &'static str,
    /// What it is.
    pub meaning: Cow<'static, str>,
}

/// Values over the position in a series of a run, such as the time of its first requests.
#[derive(Clone, Copy, Debug)]
pub struct Course {
    /// Its name.
    pub name: &'static str,
    /// What the position is, for an axis.
    pub x: &'static str,
    /// The unit of the values.
    pub unit: &'static str,
    /// Whether positions are bytes, on a logarithmic axis.
    pub by_bytes: bool,
    /// What it is.
    pub meaning: &'static str,
}

const fn metric(name: &'static str, unit: &'static str, meaning: &'static str) -> Metric {
    Metric { name: Cow::Borrowed(name), unit, meaning: Cow::Borrowed(meaning) }
}

static ALL: LazyLock<Vec<Metric>> =
    LazyLock::new(|| METRICS.iter().chain(messages::all()).cloned().collect());

/// Every figure of a run that customers of the load generator come to.
pub const METRICS: &[Metric] = &[
    metric("offered_per_s", "sessions/s", "sessions that arrived, per second"),
    metric("admitted_per_s", "sessions/s", "sessions whose first handshake completed, per second"),
    metric("refused_per_s", "sessions/s", "sessions refused, per second"),
    metric("completed_per_s", "sessions/s", "sessions completed, per second"),
    metric("abandoned_per_s", "sessions/s", "sessions whose customer lost patience, per second"),
    metric("failed_per_s", "sessions/s", "sessions that failed, per second"),
    metric("requests_per_s", "requests/s", "requests answered, per second"),
    metric(
        "requests_per_s_at_speed",
        "requests/s",
        "the same divided by the machine's speed, for runs that are far apart in time",
    ),
    metric(
        "offered_per_s_at_speed",
        "sessions/s",
        "sessions that arrived, per second, divided by the machine's speed",
    ),
    metric("completed_ratio", "share", "share of the admitted sessions that completed"),
    metric(
        "requests_per_customer",
        "requests",
        "requests answered in the measured window for each customer at a time: with fewer than a pass of a transaction has, the window is shorter than the work",
    ),
    metric("completed_per_offered", "share", "sessions completed as a share of those that arrived"),
    metric("response_mean_ms", "ms", "mean response time from the intended start"),
    metric(
        "response_mean_ms_at_speed",
        "ms",
        "the same times the machine's speed, for runs that are far apart in time",
    ),
    metric("response_p50_ms", "ms", "median of the response time"),
    metric("response_p95_ms", "ms", "95th percentile of the response time"),
    metric("response_p99_ms", "ms", "99th percentile of the response time"),
    metric("full_handshake_share", "share", "share of the completed handshakes that were full"),
    metric("connections_per_s", "connections/s", "TCP connections opened, per second"),
    metric("full_handshakes_per_s", "handshakes/s", "full handshakes, per second"),
    metric("resumed_handshakes_per_s", "handshakes/s", "resumed handshakes, per second"),
    metric("returning_refused", "sessions", "admitted sessions of which a connection was refused"),
    metric("capacity_per_s", "sessions/s", "capacity when the run began, by its baseline"),
    metric(
        "requests_of_capacity",
        "share",
        "requests answered, as a share of those of the capacity that the baseline measured",
    ),
    metric(
        "completed_of_capacity",
        "share",
        "sessions completed, as a share of the capacity that the baseline measured",
    ),
    metric("server_use", "share", "share of their processors that service and gate used"),
    metric("core_idle", "share", "share of the time in which the servers' cores were idle"),
    metric(
        "others_use",
        "share",
        "share of the servers' cores that other programs used, or that the hypervisor took away",
    ),
    metric(
        "available_cpus",
        "cores",
        "what service and gate used and could have used: no more than they may, nor than others left",
    ),
    metric("service_cpu_s", "s", "CPU time of the service in the measured window"),
    metric("gate_cpu_s", "s", "CPU time of the gate in the measured window"),
    metric(
        "cpu_ms_per_request",
        "ms",
        "CPU time of service and gate for each request that was answered",
    ),
    metric(
        "cpu_ms_per_request_at_speed",
        "ms",
        "the same times the machine's speed, for runs that are far apart in time",
    ),
    metric("web_cpu_ms_per_request", "ms", "of it, that of the brokerage's web tier"),
    metric("app_cpu_ms_per_request", "ms", "of it, that of the application tier"),
    metric("data_cpu_ms_per_request", "ms", "of it, that of the data tier"),
    metric(
        "database_cpu_ms_per_request",
        "ms",
        "of it, that of the PostgreSQL server of the run's own",
    ),
    metric("bytes_per_request", "bytes", "bytes that customers received for each answered request"),
    metric(
        "wire_bytes_sent_per_request",
        "bytes",
        "bytes that customers sent for each answered request, TLS included, as the relay counted them",
    ),
    metric("wire_bytes_received_per_request", "bytes", "the same of those that they received"),
    metric("wire_bytes_per_request", "bytes", "the same both ways"),
    metric(
        "round_trips_per_request",
        "round trips",
        "for each answered request: those that open connections, one for each flight of a customer that the system answers, and those for which a flight waits that is larger than the window",
    ),
    metric(
        "handshake_time_share",
        "share",
        "share of the customers' response times in which their own TLS handshake ran: no measure of what TLS adds, since the other phases wait for the handshakes of others",
    ),
    metric(
        "gc_pause_share",
        "share",
        "share of the measured time in which Tomcat stood still for its garbage collector",
    ),
    metric("gc_longest_ms", "ms", "the longest such pause"),
    metric("busy_cpus", "cores", "CPU time of service and gate per second"),
    metric(
        "cpu_ms_per_session",
        "ms",
        "CPU time of service and gate for each session that completed",
    ),
    metric(
        "context_switches_per_s",
        "/s",
        "context switches of the threads of service and gate, per second",
    ),
    metric(
        "requests_in_progress",
        "requests",
        "requests in progress at a time: those answered per second times their mean response time",
    ),
    metric(
        "customers_at_a_time",
        "customers",
        "customers in session at a time if so many sessions complete per second and think times are those of the scenario",
    ),
    metric(
        "customers_of_capacity",
        "customers",
        "the same at the capacity that the baseline measured, without response times",
    ),
    metric(
        "completed_before_per_s",
        "sessions/s",
        "sessions completed, per second, before the faults of a fault file, or before a crowd",
    ),
    metric(
        "completed_during_per_s",
        "sessions/s",
        "the same from the first fault until all are mended, or while a crowd comes",
    ),
    metric(
        "completed_next_per_s",
        "sessions/s",
        "the same in the quarter of the measured window that follows a crowd",
    ),
    metric(
        "completed_after_per_s",
        "sessions/s",
        "the same from two seconds after the last fault is mended; with a crowd, in the last quarter of the measured window",
    ),
    metric(
        "response_p95_during_ms",
        "ms",
        "the 95th percentile of the response time in each second while a crowd comes, their mean",
    ),
    metric(
        "fairness_before",
        "",
        "how equal the chances of a new session are at the gates, before the faults: Jain's index of the shares that they admit, 1 if all are the same",
    ),
    metric("fairness_during", "", "the same during the faults, of the gates that serve throughout"),
    metric("fairness_after", "", "the same after them"),
    metric(
        "room_cpu_share",
        "share",
        "CPU time of the waiting room, as a share of the servers' cores",
    ),
    metric(
        "completed_of_capacity_net",
        "share",
        "sessions completed, as a share of the baseline's capacity without the CPU time of the waiting room",
    ),
    metric("room_wait_mean_s", "s", "mean time in the waiting room of customers who were let in"),
    metric(
        "room_estimates_kept",
        "share",
        "share of the first estimates of customers who were let in that were right within a third, or within the longest time between two pages",
    ),
    metric(
        "room_disorder",
        "share",
        "share of the pairs of customers let in of which the later one was let in before the earlier one by more than two of that one's pages",
    ),
    metric(
        "room_admissions_each",
        "",
        "admissions from the waiting room that the gate counts, for each customer who was let in",
    ),
    metric(
        "room_pages_inside",
        "pages",
        "pages of the waiting room for customers of whom a request was answered before",
    ),
    metric("machine_speed", "", "speed of the machine, 1 is its median in this study"),
];

/// Every figure, of all drivers.
pub fn all() -> &'static [Metric] {
    &ALL
}

/// The figures of the runs of a site.
pub fn of_site(site: &str) -> &'static [Metric] {
    if site == messages::SITE { messages::all() } else { METRICS }
}

/// A figure by name.
pub fn of(name: &str) -> Option<&'static Metric> {
    ALL.iter().find(|metric| metric.name == name)
}

/// The courses of all drivers.
pub const COURSES: &[Course] = &messages::COURSES;

/// Figure of a run before which a service was warmed: the seconds that it took.
pub(crate) const WARM_UP_S: &str = "warm_up_s";
/// Whether it was warm by then, 1 or 0: otherwise the time was over.
pub(crate) const WAS_WARM: &str = "was_warm";

/// A course by name.
pub fn course(name: &str) -> Option<&'static Course> {
    COURSES.iter().find(|course| course.name == name)
}

/// The names of all figures.
pub fn names() -> Vec<&'static str> {
    ALL.iter().map(|metric| &*metric.name).collect()
}
