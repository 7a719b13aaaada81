//! What the gate counted, as a plain [`Snapshot`], and its Prometheus text.
//!
//! Counters run from the gate's start and never fall; gauges are values at the
//! moment of the snapshot.

use serde::Serialize;
use std::fmt::Write;
use tidegate_control::ResourceName;

/// What became of the connections of one class.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Verdicts {
    /// Connections let in: counted at the decision, before the handshake, and
    /// once, also where they were held first.
    pub admitted: u64,
    /// Connections that had to wait; each of them is counted as admitted or
    /// refused as well when its wait is over (or, when its customer left
    /// before, as neither).
    pub held: u64,
    /// Connections turned away, at once or after a hold.
    pub refused: u64,
}

/// Handshakes of one kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Handshakes {
    /// Finished.
    pub ok: u64,
    /// Broken off by either side, or past their deadline.
    pub failed: u64,
}

/// Upper bounds of the buckets of `tidegate_request_duration_seconds`, in
/// seconds, ascending; one more bucket takes what is above the last.
pub const DURATION_BOUNDS_S: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Durations of requests, from the last byte of the head read to the last byte
/// of the response handed to the socket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Durations {
    /// Requests per bucket, each in one only (not cumulative): bucket `i` has
    /// durations up to and including `DURATION_BOUNDS_S[i]` and above the
    /// bound before; the last has the rest.
    pub buckets: [u64; DURATION_BOUNDS_S.len() + 1],
    /// Sum of all durations, in seconds.
    pub sum_s: f64,
}

impl Durations {
    /// The bucket of a duration in seconds. What is no number goes to the last.
    pub fn bucket(seconds: f64) -> usize {
        DURATION_BOUNDS_S.iter().position(|bound| seconds <= *bound).unwrap_or(16)
    }

    /// Counts one duration, in seconds.
    pub fn record(&mut self, seconds: f64) {
        self.buckets[Self::bucket(seconds)] += 1;
        self.sum_s += if seconds.is_finite() { seconds.max(0.0) } else { 0.0 };
    }

    /// How many were counted.
    pub fn count(&self) -> u64 {
        self.buckets.iter().sum()
    }
}

/// Everything the gate counted up to a moment.
#[derive(Clone, Debug, Default, Serialize)]
pub struct Snapshot {
    /// Version of the gate, as in its package.
    pub version: &'static str,
    /// Seconds since the gate started.
    pub uptime_s: f64,
    /// Where customers connect: as bound, so never port 0.
    pub address: String,
    /// Where customers connect in clear, as bound; empty when that is off.
    pub clear_address: String,
    /// Where this is served; empty when it is off.
    pub admin_address: String,
    /// The upstream's URL.
    pub upstream: String,
    /// Why the upstream's CPU time is not known, or not all of it, and what to
    /// do: a sentence. None when all is well.
    pub upstream_note: Option<String>,
    /// Whether the gate is finishing its connections and takes no new ones;
    /// `/healthz` then answers 503.
    pub draining: bool,
    /// Verdicts on connections of class new.
    pub new: Verdicts,
    /// Verdicts on connections of class returning: all of them are admitted. One
    /// past its session's own rate is judged as new and counted there.
    pub returning: Verdicts,
    /// Full handshakes, by what was agreed at the end; a handshake that failed
    /// counts as the kind that its hello was let in for.
    pub full_handshakes: Handshakes,
    /// Resumed handshakes.
    pub resumed_handshakes: Handshakes,
    /// Handshakes running now.
    pub handshakes_active: u64,
    /// New connections waiting now.
    pub held: u64,
    /// Bytes of their hellos, or of their requests in clear, now.
    pub held_bytes: u64,
    /// Connections to customers open now, those in hold included.
    pub connections_active: u64,
    /// Sessions inside now.
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
    /// `unfit`, `too_many`, `over_rate`): each fate once.
    #[serde(serialize_with = "as_object")]
    pub tickets: Vec<(&'static str, u64)>,
    /// What came to the TLS port and was no TLS, by what it looks like
    /// (`http_in_clear`, `ssh`, …): each once.
    #[serde(serialize_with = "as_object")]
    pub not_tls: Vec<(&'static str, u64)>,
    /// Failures to accept a connection for want of something, such as
    /// descriptors; after each the core waits 20 ms.
    pub accept_errors: u64,
    /// Connections to the upstream open now.
    pub upstream_connections: u64,
    /// Requests that the upstream failed, by reason (`connect`, `timeout`,
    /// `broken`, …): snake case, each reason once.
    #[serde(serialize_with = "as_object")]
    pub upstream_errors: Vec<(&'static str, u64)>,
    /// Requests sent to the upstream a second time, since the first connection
    /// had gone stale.
    pub upstream_retries: u64,
    /// CPU seconds used by the gate's process since its start.
    pub cpu_seconds: f64,
    /// Those of them that the cores' threads spent, by what on (`arrival`,
    /// `handshake_new`, `handshake_returning`, `request_new`,
    /// `request_returning`, `upkeep`): each once.
    #[serde(serialize_with = "as_object")]
    pub work_cpu_seconds: Vec<(&'static str, f64)>,
    /// The controller's own state: policy, budget, costs, resources, why.
    pub control: Option<tidegate_control::Status>,
}

/// Writes pairs as an object: JSON's own form of what is found by name.
fn as_object<K: std::fmt::Display, V: Serialize, S: serde::Serializer>(
    pairs: &[(K, V)],
    serializer: S,
) -> Result<S::Ok, S::Error> {
    serializer.collect_map(pairs.iter().map(|(key, value)| (key.to_string(), value)))
}

impl Snapshot {
    /// The Prometheus text of this snapshot.
    pub fn prometheus(&self) -> String {
        let mut text = Exposition::default();
        self.write_connections(&mut text);
        self.write_work(&mut text);
        self.write_control(&mut text);
        self.write_process(&mut text);
        text.text
    }

    fn write_connections(&self, text: &mut Exposition) {
        let help = "Connections by class and verdict, counted at the decision.";
        text.family("tidegate_connections_total", "counter", help);
        for (class, verdicts) in [("new", self.new), ("returning", self.returning)] {
            let Verdicts { admitted, held, refused } = verdicts;
            for (verdict, count) in [("admitted", admitted), ("held", held), ("refused", refused)] {
                text.sample("", &[("class", class), ("verdict", verdict)], count);
            }
        }
        let help = "TLS handshakes by kind and result.";
        text.family("tidegate_handshakes_total", "counter", help);
        let kinds = [("full", self.full_handshakes), ("resumed", self.resumed_handshakes)];
        for (kind, Handshakes { ok, failed }) in kinds {
            text.sample("", &[("kind", kind), ("result", "ok")], ok);
            text.sample("", &[("kind", kind), ("result", "failed")], failed);
        }
        let help = "Ended connections of customers by reason.";
        text.counts("tidegate_connections_ended_total", help, "reason", &self.connections_ended);
        let help =
            "Tickets shown, by what became of them; all but good ones make their bearer new.";
        text.counts("tidegate_tickets_total", help, "fate", &self.tickets);
        let help = "What came to the TLS port and was no TLS, by what it looks like.";
        text.counts("tidegate_not_tls_total", help, "looks", &self.not_tls);
        let help = "Failures to accept a connection, such as too many open files.";
        text.family("tidegate_accept_errors_total", "counter", help);
        text.sample("", &[], self.accept_errors);
        let help = "Bytes exchanged with customers, TLS included.";
        text.family("tidegate_bytes_total", "counter", help);
        text.sample("", &[("direction", "received")], self.bytes_received);
        text.sample("", &[("direction", "sent")], self.bytes_sent);
        text.gauge(
            "tidegate_connections_active",
            "Open connections of customers.",
            self.connections_active,
        );
        text.gauge("tidegate_handshakes_active", "Handshakes that run.", self.handshakes_active);
        text.gauge("tidegate_connections_held", "New connections that wait.", self.held);
        let help = "Bytes of received hellos that wait.";
        text.gauge("tidegate_held_bytes", help, self.held_bytes);
    }

    fn write_work(&self, text: &mut Exposition) {
        text.gauge("tidegate_sessions_active", "Sessions inside.", self.sessions_active);
        let help = "Sessions begun.";
        text.family("tidegate_sessions_started_total", "counter", help);
        text.sample("", &[], self.sessions_started);
        let help = "Finished requests by status code.";
        text.counts("tidegate_requests_total", help, "code", &self.requests);
        let help = "Requests over, by the class of their connection.";
        text.counts("tidegate_class_requests_total", help, "class", &self.class_requests);
        text.gauge("tidegate_requests_active", "Requests that run.", self.requests_active);
        let help = "From a request's head to the last byte of its response, in seconds.";
        text.family("tidegate_request_duration_seconds", "histogram", help);
        let mut below = 0;
        for (at, count) in self.durations.buckets.iter().enumerate() {
            below += count;
            let bound = DURATION_BOUNDS_S.get(at).map_or("+Inf".into(), f64::to_string);
            text.sample("_bucket", &[("le", &bound)], below);
        }
        text.sample("_sum", &[], self.durations.sum_s);
        text.sample("_count", &[], below);
        let help = "Open connections to the upstream.";
        text.gauge("tidegate_upstream_connections_active", help, self.upstream_connections);
        let help = "Requests that the upstream failed, by reason.";
        text.counts("tidegate_upstream_errors_total", help, "reason", &self.upstream_errors);
        let help = "Requests sent again, since the connection to the upstream had gone stale.";
        text.family("tidegate_upstream_retries_total", "counter", help);
        text.sample("", &[], self.upstream_retries);
    }

    fn write_control(&self, text: &mut Exposition) {
        let Some(control) = &self.control else { return };
        let help = "New sessions that may enter now; +Inf without a limit.";
        let budget = control.budget.map_or(f64::INFINITY, |budget| budget as f64);
        text.gauge("tidegate_new_sessions_budget", help, budget);
        let help = "New sessions per second that the policy lets in at most; +Inf without a limit.";
        let limit = control.limit_per_s.unwrap_or(f64::INFINITY);
        text.gauge("tidegate_new_sessions_limit_per_second", help, limit);
        let help = "Processors that a resource has.";
        text.family("tidegate_capacity_cpus", "gauge", help);
        for resource in &control.resources {
            let name = resource.resource.as_str();
            text.sample("", &[("resource", name)], resource.capacity_cpus);
        }
        let help = "Processors that a resource used over about the last second.";
        text.family("tidegate_used_cpus", "gauge", help);
        for resource in &control.resources {
            if let Some(used) = resource.used_cpus {
                text.sample("", &[("resource", resource.resource.as_str())], used);
            }
        }
        let help = "Learned CPU time of one connection, its requests included, in seconds.";
        text.family("tidegate_cost_seconds", "gauge", help);
        let costs = &control.costs;
        for (class, cost) in [("new", costs.new), ("returning", costs.returning)] {
            let requests = cost.requests_per_connection;
            let gate = cost.handshake_cpu_s + requests * costs.gate_request_cpu_s;
            let upstream = requests * costs.upstream_request_cpu_s;
            for resource in &control.resources {
                let seconds = match resource.resource {
                    ResourceName::Gate => gate,
                    ResourceName::Upstream => upstream,
                    ResourceName::Host => gate + upstream,
                };
                let name = resource.resource.as_str();
                text.sample("", &[("class", class), ("resource", name)], seconds);
            }
        }
    }

    fn write_process(&self, text: &mut Exposition) {
        text.family("tidegate_cpu_seconds_total", "counter", "CPU time of the gate, in seconds.");
        text.sample("", &[], self.cpu_seconds);
        let help = "CPU time of the gate's cores by what it was spent on, in seconds.";
        text.counts("tidegate_work_cpu_seconds_total", help, "work", &self.work_cpu_seconds);
        text.gauge("tidegate_uptime_seconds", "Time since the gate started.", self.uptime_s);
        let help = "Whether the gate finishes its connections and takes no new ones.";
        text.gauge("tidegate_draining", help, u64::from(self.draining));
        text.family("tidegate_build_info", "gauge", "Version of the gate; always 1.");
        text.sample("", &[("version", self.version)], 1_u64);
    }
}

/// Text in the exposition format of Prometheus, version 0.0.4.
///
/// Deviation: written by hand, since the counters live in the cores' own cells;
/// a registry of a client library would be a second copy of each.
#[derive(Default)]
struct Exposition {
    text: String,
    name: &'static str,
}

impl Exposition {
    /// Begins a family; its samples follow.
    fn family(&mut self, name: &'static str, kind: &str, help: &str) {
        self.name = name;
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// One sample of the family.
    fn sample(&mut self, suffix: &str, labels: &[(&str, &str)], value: impl Into<Value>) {
        let _ = write!(self.text, "{}{suffix}", self.name);
        for (at, (name, value)) in labels.iter().enumerate() {
            let start = if at == 0 { '{' } else { ',' };
            let value = value.replace('\\', "\\\\").replace('"', "\\\"").replace('\n', "\\n");
            let _ = write!(self.text, "{start}{name}=\"{value}\"");
        }
        if !labels.is_empty() {
            self.text.push('}');
        }
        let _ = match value.into() {
            Value::Whole(value) => writeln!(self.text, " {value}"),
            Value::Real(f64::INFINITY) => writeln!(self.text, " +Inf"),
            Value::Real(value) => writeln!(self.text, " {value}"),
        };
    }

    /// A family of one gauge without labels.
    fn gauge(&mut self, name: &'static str, help: &str, value: impl Into<Value>) {
        self.family(name, "gauge", help);
        self.sample("", &[], value);
    }

    /// A family of counters told apart by one label.
    fn counts<K: std::fmt::Display, V: Copy + Into<Value>>(
        &mut self,
        name: &'static str,
        help: &str,
        label: &str,
        counts: &[(K, V)],
    ) {
        self.family(name, "counter", help);
        for (key, count) in counts {
            self.sample("", &[(label, &key.to_string())], *count);
        }
    }
}

/// A number in the text.
enum Value {
    Whole(u64),
    Real(f64),
}

impl From<u64> for Value {
    fn from(value: u64) -> Self {
        Self::Whole(value)
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Real(value)
    }
}

#[cfg(test)]
mod tests;
