//! The Prometheus text of a [`Snapshot`].

use crate::telemetry::durations::DURATION_BOUNDS_S;
use crate::telemetry::route_counts::RouteTotals;
use crate::telemetry::snapshot::{Handshakes, MemberStatus, Snapshot, Verdicts};
use std::fmt::Write;
use tidegate_control::waiting_room::Doors;
use tidegate_control::{Range, ResourceName, RouteBudget};

impl Snapshot {
    /// The Prometheus text of this snapshot.
    pub fn prometheus(&self) -> String {
        let mut text = Exposition::default();
        self.write_connections(&mut text);
        self.write_work(&mut text);
        self.write_control(&mut text);
        self.write_fleet(&mut text);
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
        let room = &self.waiting_room;
        let help = "Whether new sessions are admitted, and why not: 1 for what holds.";
        text.family("tidegate_waiting_room_doors", "gauge", help);
        for doors in Doors::ALL {
            text.sample("", &[("state", doors.name())], u64::from(doors == room.doors));
        }
        let help = "Customers in the waiting room.";
        text.gauge("tidegate_waiting_room_customers", help, room.waiting);
        let help = "Those of them whose turn it is and whose request waits for admission.";
        text.gauge("tidegate_waiting_room_asking", help, room.asking);
        let help = "Customers who left the waiting room without having been admitted.";
        text.family("tidegate_waiting_room_left_total", "counter", help);
        text.sample("", &[], room.lapsed);
        let help = "Visits of the waiting room, by what came of them; beyond its share of the processors they are reset.";
        text.counts("tidegate_waiting_room_visits_total", help, "result", &room.visits);
        let help = "TLS handshakes by kind and result.";
        text.family("tidegate_handshakes_total", "counter", help);
        let kinds = [("full", self.full_handshakes), ("resumed", self.resumed_handshakes)];
        for (kind, Handshakes { ok, failed }) in kinds {
            text.sample("", &[("kind", kind), ("result", "ok")], ok);
            text.sample("", &[("kind", kind), ("result", "failed")], failed);
        }
        let kinds = &self.handshake_kinds;
        let help = "New connections admitted, by the kind of their handshake.";
        text.family("tidegate_handshake_kind_admitted_total", "counter", help);
        for (kind, counts) in kinds {
            text.sample("", &[("kind", kind)], counts.admitted);
        }
        let help = "CPU time that these were charged at their admission, in seconds.";
        text.family("tidegate_handshake_kind_charged_seconds_total", "counter", help);
        for (kind, counts) in kinds {
            text.sample("", &[("kind", kind)], counts.charged_cpu_s);
        }
        let help = "CPU time spent on full handshakes, by kind, in seconds.";
        text.family("tidegate_handshake_kind_cpu_seconds_total", "counter", help);
        for (kind, counts) in kinds {
            text.sample("", &[("kind", kind)], counts.cpu_s);
        }
        let help = "Full handshakes finished, successfully or not, by kind.";
        text.family("tidegate_handshake_kind_handshakes_total", "counter", help);
        for (kind, counts) in kinds {
            text.sample("", &[("kind", kind)], counts.handshakes);
        }
        let help = "Ended connections of customers by reason.";
        text.counts("tidegate_connections_ended_total", help, "reason", &self.connections_ended);
        let help = "Tickets shown, by what became of them; with all but good and copied ones the connection is new.";
        text.counts("tidegate_tickets_total", help, "fate", &self.tickets);
        let help = "Session cookies shown, by what became of them; with all but good ones the request begins a session.";
        text.counts("tidegate_session_cookies_total", help, "fate", &self.session_cookies);
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
        text.gauge("tidegate_sessions_active", "Active sessions.", self.sessions_active);
        let help = "Sessions begun.";
        text.family("tidegate_sessions_started_total", "counter", help);
        text.sample("", &[], self.sessions_started);
        let help = "Finished requests by status code.";
        text.counts("tidegate_requests_total", help, "code", &self.requests);
        let help = "Requests over, by the class of their connection.";
        text.counts("tidegate_class_requests_total", help, "class", &self.class_requests);
        let help = "Requests by what answers them: a file of a static tier, or an upstream.";
        text.counts("tidegate_tier_requests_total", help, "tier", &self.request_tiers);
        let help = "Files of a static tier that are there and could not be read.";
        text.family("tidegate_static_errors_total", "counter", help);
        text.sample("", &[], self.file_errors);
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
        let help = "Whether the upstream can be reached, as far as is known.";
        let reachable = u64::from(self.upstream_problem.is_none());
        text.gauge("tidegate_upstream_reachable", help, reachable);
        let help =
            "Whether the CPU time of upstreams is known, where it is to be; /status says why not.";
        let known = u64::from(self.upstream_note.is_none());
        text.gauge("tidegate_upstream_cpu_known", help, known);
        if !self.routed_upstreams.is_empty() {
            let help = "Whether the upstream of a route can be reached, as far as is known.";
            text.family("tidegate_route_upstream_reachable", "gauge", help);
            for upstream in &self.routed_upstreams {
                let reachable = u64::from(upstream.problem.is_none());
                text.sample("", &[("upstream", &upstream.url)], reachable);
            }
            let help = "Responses of the upstreams of routes.";
            text.family("tidegate_route_upstream_responses_total", "counter", help);
            for upstream in &self.routed_upstreams {
                text.sample("", &[("upstream", &upstream.url)], upstream.responses);
            }
        }
        self.write_pools(text);
        self.write_routes(text);
        let help = "Requests that the upstream failed, by reason.";
        text.counts("tidegate_upstream_errors_total", help, "reason", &self.upstream_errors);
        let help = "Messages that break HTTP, by who sent them and the part that breaks it.";
        text.family("tidegate_malformed_total", "counter", help);
        for (side, counts) in
            [("customer", &self.malformed_requests), ("upstream", &self.malformed_responses)]
        {
            for (what, count) in counts {
                text.sample("", &[("side", side), ("what", what)], *count);
            }
        }
        let help = "Connections closed since the customer sent too much by HTTP/2, by what.";
        text.counts("tidegate_http2_floods_total", help, "what", &self.http2_floods);
        let help = "Streams of HTTP/2 that ended before their response was complete, by reason.";
        text.counts("tidegate_http2_streams_reset_total", help, "reason", &self.streams_reset);
        let help = "Connections of HTTP/1.1 that have been idle for a second or more.";
        text.gauge("tidegate_connections_resting", help, self.connections_resting);
        let help = "WebSockets that are open, or that the upstream is being asked for.";
        text.gauge("tidegate_tunnels_active", help, self.tunnels_active);
        let help = "Messages of WebSockets, of customers and of upstreams unasked, by the class of \
                    their connection; several that arrive together count once.";
        text.counts("tidegate_tunnel_messages_total", help, "class", &self.tunnel_messages);
        let help = "WebSockets that ended, by reason.";
        text.counts("tidegate_tunnels_ended_total", help, "reason", &self.tunnels_ended);
        let help = "Bytes of WebSockets exchanged with customers, without TLS.";
        text.family("tidegate_tunnel_bytes_total", "counter", help);
        text.sample("", &[("direction", "received")], self.tunnel_bytes_received);
        text.sample("", &[("direction", "sent")], self.tunnel_bytes_sent);
        let help = "Requests sent again, since the connection to the upstream had gone stale.";
        text.family("tidegate_upstream_retries_total", "counter", help);
        text.sample("", &[], self.upstream_retries);
    }

    fn write_pools(&self, text: &mut Exposition) {
        let mut family = |name, kind, help, of: fn(&MemberStatus) -> Value| {
            text.family(name, kind, help);
            for pool in &self.pools {
                for member in &pool.members {
                    let labels = [("pool", &*pool.pool), ("member", &*member.server)];
                    text.sample("", &labels, of(member));
                }
            }
        };
        let help =
            "Share of the requests that a server gets: 1 is that of a server in full use, 0 none.";
        family("tidegate_pool_member_share", "gauge", help, |it| it.share.into());
        let help = "Whether the last check of a server was good, as far as is known.";
        family("tidegate_pool_member_reachable", "gauge", help, |it| {
            u64::from(it.problem.is_none()).into()
        });
        let help = "Connections in use to a server.";
        family("tidegate_pool_connections_in_use", "gauge", help, |it| {
            it.connections_in_use.into()
        });
        let help = "Responses of a server.";
        family("tidegate_pool_responses_total", "counter", help, |it| it.responses.into());
        let help = "Responses of a server with a status of 500 or above.";
        family("tidegate_pool_server_errors_total", "counter", help, |it| it.server_errors.into());
        let help = "Requests that a server failed; another one may have answered them.";
        family("tidegate_pool_failures_total", "counter", help, |it| it.failures.into());
        let help = "Times that a server was taken out after failed requests.";
        family("tidegate_pool_ejections_total", "counter", help, |it| it.ejections.into());
        let help = "Requests that wait for a connection.";
        text.family("tidegate_pool_waiting", "gauge", help);
        for pool in &self.pools {
            text.sample("", &[("pool", &pool.pool)], pool.waiting);
        }
        let help = "Requests that had to wait for a connection, by how that ended.";
        text.family("tidegate_pool_queue_total", "counter", help);
        for pool in &self.pools {
            for (result, count) in &pool.queue {
                text.sample("", &[("pool", &pool.pool), ("result", result)], *count);
            }
        }
        let help = "Requests that were sent to a second server, since the first one failed them.";
        text.family("tidegate_pool_retries_total", "counter", help);
        for pool in &self.pools {
            text.sample("", &[("pool", &pool.pool)], pool.retries);
        }
    }

    fn write_routes(&self, text: &mut Exposition) {
        if self.route_totals.is_empty() {
            return;
        }
        let mut family = |name, help, of: fn(&RouteTotals) -> Value| {
            text.family(name, "counter", help);
            for totals in &self.route_totals {
                text.sample("", &[("route", &totals.route)], of(totals));
            }
        };
        let help = "Requests over, by the route that they took; `upstream` where none decided.";
        family("tidegate_route_requests_total", help, |it| it.requests.into());
        let help = "From a request's head to the last byte of its response, by route, in seconds.";
        family("tidegate_route_duration_seconds_total", help, |it| it.duration_s.into());
        let help = "Responses of upstreams, by the route of the request.";
        family("tidegate_route_responses_total", help, |it| it.upstream_responses.into());
        let help = "From a request sent to the head of its response, by route, in seconds.";
        family("tidegate_route_upstream_seconds_total", help, |it| it.upstream_s.into());
        let help = "CPU time of the gate for requests, by route, in seconds.";
        family("tidegate_route_cpu_seconds_total", help, |it| it.cpu_s.into());
        let budgets = self.control.as_ref().map_or(&[][..], |control| &control.routes[..]);
        if budgets.is_empty() {
            return;
        }
        let help = "Requests refused by the priority of their route.";
        family("tidegate_route_refused_total", help, |it| it.refused.into());
        let mut gauge = |name, help, of: fn(&RouteBudget) -> Option<f64>| {
            text.family(name, "gauge", help);
            for (totals, budget) in self.route_totals.iter().zip(budgets) {
                if let Some(value) = of(budget) {
                    text.sample("", &[("route", &totals.route)], value);
                }
            }
        };
        let help = "Requests per second that pass, by route, while some are refused.";
        gauge("tidegate_route_budget_per_second", help, |it| it.budget_per_s);
        let help = "CPU time of the service for a request, by route, as learned, in seconds.";
        gauge("tidegate_route_request_cost_seconds", help, |it| it.request_cpu_s);
    }

    fn write_control(&self, text: &mut Exposition) {
        let Some(control) = &self.control else { return };
        let help = "New sessions that may enter now; +Inf without a limit.";
        let budget = control.budget.map_or(f64::INFINITY, |budget| budget as f64);
        text.gauge("tidegate_new_sessions_budget", help, budget);
        let help = "New sessions per second that the policy admits at this moment, beside the active \
                    sessions; +Inf without a limit.";
        let limit = control.limit_per_s.unwrap_or(f64::INFINITY);
        text.gauge("tidegate_new_sessions_limit_per_second", help, limit);
        let known = &control.sustainable;
        let help =
            "New sessions per second that the service carries with the current mix of traffic.";
        text.range("tidegate_sustainable_sessions_per_second", help, known.sessions_per_s);
        let help =
            "Active sessions at once that the service carries with the current mix of traffic.";
        text.range("tidegate_sustainable_sessions", help, known.sessions_at_once);
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
                    ResourceName::Routed => requests * costs.routed_request_cpu_s,
                    ResourceName::Host => gate + upstream,
                };
                let name = resource.resource.as_str();
                text.sample("", &[("class", class), ("resource", name)], seconds);
            }
        }
        // By kind it differs in the gate alone.
        let requests_s = costs.new.requests_per_connection * costs.gate_request_cpu_s;
        for price in &control.kinds {
            let labels = [("class", "new"), ("kind", price.kind), ("resource", "gate")];
            text.sample("", &labels, price.handshake_cpu_s + requests_s);
        }
    }

    fn write_fleet(&self, text: &mut Exposition) {
        let Some(fleet) = &self.fleet else { return };
        let help = "Whether a server of NATS answers.";
        text.gauge("tidegate_fleet_connected", help, u64::from(fleet.connected));
        let help = "Whether this gate goes on by itself, with a share that is safe for all others.";
        text.gauge("tidegate_fleet_cut_off", help, u64::from(fleet.cut_off));
        let help = "Share of the service that this gate may use, 0 to 1.";
        text.gauge("tidegate_fleet_share", help, fleet.share);
        let help = "Gates that the newest table of shares lists.";
        text.gauge("tidegate_fleet_gates", help, fleet.gates.len() as u64);
        let help = "Epoch of the newest table of shares; it grows when another gate divides.";
        text.gauge("tidegate_fleet_epoch", help, fleet.epoch);
        let help = "Whether this gate divides the service and makes ticket keys.";
        text.gauge("tidegate_fleet_lease_held", help, u64::from(fleet.lease_held));
        let help = "Messages of the fleet that were refused, by reason.";
        let refused = &fleet.messages_refused;
        text.counts("tidegate_fleet_messages_refused_total", help, "reason", refused);
        let help = "Messages of the fleet that were not sent or not read in time.";
        text.family("tidegate_fleet_messages_dropped_total", "counter", help);
        text.sample("", &[], fleet.messages_dropped);
    }

    fn write_process(&self, text: &mut Exposition) {
        text.family("tidegate_cpu_seconds_total", "counter", "CPU time of the gate, in seconds.");
        text.sample("", &[], self.cpu_seconds);
        let help =
            "CPU time that a resource used since the start, as far as it is seen, in seconds.";
        text.counts("tidegate_used_cpu_seconds_total", help, "resource", &self.used_cpu_seconds);
        let help = "CPU time of the gate's cores by what it was spent on, in seconds.";
        text.counts("tidegate_work_cpu_seconds_total", help, "work", &self.work_cpu_seconds);
        let help =
            "Lines of the access log: written, dropped for want of room, failed to be written.";
        text.counts("tidegate_access_log_lines_total", help, "result", &self.access_log_lines);
        text.gauge("tidegate_uptime_seconds", "Time since the gate started.", self.uptime_s);
        let help = "Times that the configuration was read again, by result.";
        text.counts("tidegate_config_reloads_total", help, "result", &self.config_reloads);
        if !self.certificates.is_empty() {
            let help = "When a certificate expires, in seconds since 1970, by its first name.";
            text.family("tidegate_certificate_expiry_timestamp_seconds", "gauge", help);
        }
        for (place, certificate) in self.certificates.iter().enumerate() {
            let Some(expires) = certificate.expires_unix_s else { continue };
            let name = certificate.names.first().map_or("", String::as_str);
            let labels = [("place", &*place.to_string()), ("name", name)];
            text.sample("", &labels, expires as f64);
        }
        let help = "Whether the gate finishes its connections and accepts no new ones.";
        text.gauge("tidegate_draining", help, u64::from(self.draining));
        text.family("tidegate_build_info", "gauge", "Version of the gate; always 1.");
        text.sample("", &[("version", self.version)], 1_u64);
    }
}

/// Text in the exposition format of Prometheus, version 0.0.4.
///
/// Deviation: not by the client library of Prometheus, which writes OpenMetrics only: its
/// bounds of buckets (`le="1.0"`) would name other series than those recorded so far
/// (`le="1"`), and its help texts and content type differ.
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

    /// A family of one gauge with the ends of its range; without samples while it is not known.
    fn range(&mut self, name: &'static str, help: &str, known: Option<Range>) {
        self.family(name, "gauge", help);
        let Some(Range { value, low, high }) = known else { return };
        let high = high.unwrap_or(f64::INFINITY);
        for (bound, value) in [("low", low), ("estimate", value), ("high", high)] {
            self.sample("", &[("bound", bound)], value);
        }
    }

    /// A family of counters with one label.
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
