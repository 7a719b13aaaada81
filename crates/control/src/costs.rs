//! What a piece of work costs, learned while running.

use serde::{Deserialize, Serialize};

use crate::average::Average;
use crate::experience::Experience;
use crate::handshake::Entry;
use crate::number::sane;
use crate::prices::{KindPrice, Prices};
use crate::reading::{ClassWork, Reading};
use crate::resource::ResourceName;

/// Costs as learned so far, in CPU seconds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Costs {
    /// A connection of a new session.
    pub new: ClassCost,
    /// A connection of a session that was admitted before.
    pub returning: ClassCost,
    /// A request's cost in the gate.
    pub gate_request_cpu_s: f64,
    /// A request's cost in the upstream; 0 where that is not visible. On average over all
    /// requests, those that are answered from files included.
    pub upstream_request_cpu_s: f64,
    /// The same on processors that upstreams of routes have for themselves.
    pub routed_request_cpu_s: f64,
    /// Share of the requests that go to an upstream, above 0 to 1; the others are answered from
    /// files.
    pub upstream_share: f64,
    /// All requests of a session, gate and upstreams together.
    pub session_cpu_s: f64,
}

impl Costs {
    /// A request, gate and upstreams together.
    fn request_cpu_s(&self) -> f64 {
        self.gate_request_cpu_s + self.upstream_request_cpu_s + self.routed_request_cpu_s
    }

    /// What a request that is with an upstream costs there, of what a request costs there on
    /// average over all.
    pub(crate) fn of_passed(&self, request_cpu_s: f64) -> f64 {
        request_cpu_s / self.upstream_share.max(LEAST_SHARE)
    }
}

/// Where nearly all requests are answered from files, a few show nothing of the others.
const LEAST_SHARE: f64 = 0.001;

/// What a connection of one class costs.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ClassCost {
    /// Its handshake, in CPU seconds of the gate; on average over connections
    /// that have one and those of plain HTTP, which have none.
    pub handshake_cpu_s: f64,
    /// Requests per connection.
    pub requests_per_connection: f64,
    /// Handshake and requests together, gate and upstream: CTN for the class
    /// of new sessions, CTO for the returning.
    ///
    /// Source: paper 001, section 5 ("SSL admission control"): the time for
    /// the handshake, for all content requested over the connection, and for
    /// encryption. Deviation: the paper measured it beforehand by profiling;
    /// here it is learned while running.
    pub connection_cpu_s: f64,
}

/// What is assumed before anything was learned. Real figures replace it after
/// a handful of handshakes and requests, so it matters for about a second. It is
/// chosen too high rather than too low: too few admissions in the first second matter
/// for that second, too many for the length of a session.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Priors {
    /// Processors, until the first reading: at least one must exist.
    pub cpus: f64,
    /// A full handshake, in CPU seconds: RSA-2048 on a present-day core.
    pub full_handshake_cpu_s: f64,
    /// A resumed handshake, in CPU seconds: TLS 1.3 with psk_dhe_ke.
    pub resumed_handshake_cpu_s: f64,
    /// A request in the gate, in CPU seconds: proxied over TLS, keep-alive.
    pub gate_request_cpu_s: f64,
    /// A request in the upstream, in CPU seconds: a page with database work.
    pub upstream_request_cpu_s: f64,
    /// Requests per connection: between an API's one and a shop's dozen.
    pub requests_per_connection: f64,
}

impl Default for Priors {
    fn default() -> Self {
        Self {
            cpus: 1.0,
            full_handshake_cpu_s: 500e-6,
            resumed_handshake_cpu_s: 120e-6,
            gate_request_cpu_s: 25e-6,
            upstream_request_cpu_s: 500e-6,
            requests_per_connection: 5.0,
        }
    }
}

/// CPU time of a refusal: accept, read the hello, reset. Not measured apart;
/// without it a storm of refusals would look like costly requests.
pub const REFUSAL_CPU_S: f64 = 17e-6;

/// A tick with fewer requests than this is no evidence of their cost: the processes'
/// background work would be counted as theirs.
const FEWEST_REQUESTS: u64 = 5;

/// How long the cost of a request is remembered at most, in busy seconds:
/// slow pages are few, and a change in them must not take minutes to learn.
const MEMORY_S: f64 = 20.0;

/// Learns costs from readings.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct CostModel {
    full_handshake: Average,
    prices: Prices,
    /// Share of new connections that have a handshake. Learned apart from its
    /// cost: a night of connections in clear must not make it look free.
    shaking_hands: Average,
    resumed_handshake: Average,
    gate_request: Average,
    upstream_request: Average,
    routed_request: Average,
    /// Share of the requests that go to an upstream.
    passed: Average,
    new_requests: Average,
    returning_requests: Average,
    session: Average,
    upstream_visible: bool,
    routed_visible: bool,
}

impl CostModel {
    /// A model that has learned nothing yet.
    pub fn new(priors: &Priors) -> Self {
        let request = priors.gate_request_cpu_s + priors.upstream_request_cpu_s;
        let session = priors.full_handshake_cpu_s + priors.requests_per_connection * request;
        Self {
            full_handshake: Average::new(priors.full_handshake_cpu_s, 3.0, 300.0),
            prices: Prices::new(priors),
            shaking_hands: Average::new(1.0, 3.0, 100.0),
            resumed_handshake: Average::new(priors.resumed_handshake_cpu_s, 3.0, 300.0),
            gate_request: Average::new(priors.gate_request_cpu_s, 5.0, 4000.0),
            upstream_request: Average::new(priors.upstream_request_cpu_s, 5.0, 4000.0),
            routed_request: Average::new(priors.upstream_request_cpu_s, 5.0, 4000.0),
            passed: Average::new(1.0, 5.0, 4000.0),
            new_requests: Average::new(priors.requests_per_connection, 10.0, 500.0),
            returning_requests: Average::new(priors.requests_per_connection, 10.0, 500.0),
            session: Average::new(session, 10.0, 500.0),
            upstream_visible: true,
            routed_visible: false,
        }
    }

    /// Whether it is one of this version.
    pub(crate) fn is_complete(&self) -> bool {
        self.prices.is_complete()
    }

    /// The averages by their names in an [`Experience`], but for prices.
    fn averages(&mut self) -> [(&'static str, &mut Average); 10] {
        [
            ("full_handshake_cpu_s", &mut self.full_handshake),
            ("shaking_hands", &mut self.shaking_hands),
            ("resumed_handshake_cpu_s", &mut self.resumed_handshake),
            ("gate_request_cpu_s", &mut self.gate_request),
            ("upstream_request_cpu_s", &mut self.upstream_request),
            ("routed_request_cpu_s", &mut self.routed_request),
            ("passed", &mut self.passed),
            ("new_requests", &mut self.new_requests),
            ("returning_requests", &mut self.returning_requests),
            ("session_cpu_s", &mut self.session),
        ]
    }

    /// Adds what was measured here.
    pub(crate) fn tell(&self, all: &mut Experience) {
        for (name, average) in self.clone().averages() {
            all.insert(name, average.evidence());
        }
        self.prices.tell(all);
    }

    /// Takes what others know where little was measured here.
    pub(crate) fn assume(&mut self, known: &Experience) {
        for (name, average) in self.averages() {
            known.get(name).into_iter().for_each(|known| average.assume(known));
        }
        self.prices.assume(known);
    }

    /// Learns from what was measured in a tick, in which `refused` new
    /// sessions were refused.
    pub fn observe(&mut self, reading: &Reading, refused: u64) {
        let (new, returning) = (&reading.new, &reading.returning);
        let requests = new.requests.saturating_add(returning.requests);
        let passed = requests.saturating_sub(reading.static_requests);
        let handshakes = (new.handshakes as f64, returning.handshakes as f64);
        self.full_handshake.add_measured(sane(new.handshake_cpu_s), handshakes.0);
        self.prices.observe(&reading.kinds);
        self.resumed_handshake.add_measured(sane(returning.handshake_cpu_s), handshakes.1);
        self.shaking_hands.add(handshakes.0, new.entries() as f64);
        if requests >= FEWEST_REQUESTS {
            let keep = (-reading.elapsed.as_secs_f64() / MEMORY_S).exp();
            self.gate_request.fade(keep);
            self.upstream_request.fade(keep);
            self.routed_request.fade(keep);
            self.passed.fade(keep);
            self.passed.add(passed as f64, requests as f64);
            self.gate_request.add_measured(gate_requests_cpu_s(reading, refused), requests as f64);
        }
        let served = match reading.upstream_responses {
            0 => passed,
            responses => responses,
        };
        let upstreams = [
            (ResourceName::Upstream, &mut self.upstream_request, &mut self.upstream_visible),
            (ResourceName::Routed, &mut self.routed_request, &mut self.routed_visible),
        ];
        for (name, request, visible) in upstreams {
            let cpu_s = reading.usage_of(name).and_then(|upstream| upstream.used_cpu_s);
            *visible = cpu_s.is_some();
            // In a fleet, the work of all gates is evidence: together they learn sooner.
            let all = served as f64 + reading.part.others;
            if let Some(used) = cpu_s
                && served > 0
                && all >= FEWEST_REQUESTS as f64
                && reading.part.measured
            {
                request.add_measured(sane(used) * all / served as f64, all);
            }
        }

        self.new_requests.add(new.requests as f64, new.connections as f64);
        self.returning_requests.add(returning.requests as f64, returning.connections as f64);
        if requests < FEWEST_REQUESTS && reading.sessions_started == 0 {
            return;
        }
        let costs = self.costs();
        let spent_cpu_s = handshakes.0 * self.full_handshake.value()
            + handshakes.1 * costs.returning.handshake_cpu_s
            + requests as f64 * costs.request_cpu_s();
        self.session.add(spent_cpu_s, reading.sessions_started as f64);
    }

    /// The kinds of full handshakes that were seen, with their prices. Allocates.
    pub fn kinds(&self) -> Vec<KindPrice> {
        self.prices.seen()
    }

    /// CPU seconds that the handshake of a connection costs the gate that begins so, where
    /// these are the `costs` learned so far.
    pub(crate) fn entry_cpu_s(&self, entry: Entry, costs: &Costs) -> f64 {
        match entry {
            Entry::Average => costs.new.handshake_cpu_s,
            Entry::Clear => 0.0,
            Entry::Full(kind) => self.prices.cpu_s(kind),
        }
    }

    /// What work costs, as learned so far.
    pub fn costs(&self) -> Costs {
        let gate_request_cpu_s = self.gate_request.value();
        let upstream_share = self.passed.value().min(1.0);
        let of_all = |request: &Average, visible| {
            if visible { request.value() * upstream_share } else { 0.0 }
        };
        let upstream_request_cpu_s = of_all(&self.upstream_request, self.upstream_visible);
        let routed_request_cpu_s = of_all(&self.routed_request, self.routed_visible);
        let request_cpu_s = gate_request_cpu_s + upstream_request_cpu_s + routed_request_cpu_s;
        let class = |handshake_cpu_s: f64, requests: &Average| ClassCost {
            handshake_cpu_s,
            requests_per_connection: requests.value(),
            connection_cpu_s: handshake_cpu_s + requests.value() * request_cpu_s,
        };
        let entry_cpu_s = self.full_handshake.value() * self.shaking_hands.value();
        Costs {
            new: class(entry_cpu_s, &self.new_requests),
            returning: class(self.resumed_handshake.value(), &self.returning_requests),
            gate_request_cpu_s,
            upstream_request_cpu_s,
            routed_request_cpu_s,
            upstream_share,
            session_cpu_s: self.session.value(),
        }
    }
}

/// CPU seconds of the gate for requests: all that it used and that was neither a
/// handshake nor a refusal, so that accepting, polling and bookkeeping are included;
/// never less than what it measured as theirs.
fn gate_requests_cpu_s(reading: &Reading, refused: u64) -> f64 {
    let sum = |of: fn(&ClassWork) -> f64| sane(of(&reading.new)) + sane(of(&reading.returning));
    let measured = sum(|class| class.request_cpu_s);
    let apart = sum(|class| class.handshake_cpu_s) + refused as f64 * REFUSAL_CPU_S;
    reading.gate().used_cpu_s.map_or(0.0, |used| sane(used) - apart).max(measured)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Usage;
    use crate::resource::ByResource;

    fn class(connections: u64, handshake_cpu_s: f64, requests: u64, cpu_s: f64) -> ClassWork {
        ClassWork {
            connections,
            handshakes: connections,
            handshake_cpu_s,
            requests,
            request_cpu_s: cpu_s,
            ..ClassWork::default()
        }
    }

    fn used(cpu_s: f64) -> Usage {
        Usage { capacity_cpus: 1.0, used_cpu_s: Some(cpu_s), idle: None }
    }

    fn busy() -> Reading {
        Reading {
            usage: ByResource::default()
                .with(ResourceName::Gate, used(0.010))
                .with(ResourceName::Upstream, used(0.040)),
            new: class(10, 0.004, 60, 0.0018),
            returning: class(20, 0.002, 40, 0.0012),
            upstream_responses: 100,
            sessions_started: 10,
            ..Reading::default()
        }
    }

    fn close(actual: f64, expected: f64) {
        assert!((actual / expected - 1.0).abs() < 0.01, "{actual} is not {expected}");
    }

    #[test]
    fn costs_worked_out_by_hand() {
        let mut model = CostModel::new(&Priors::default());
        (0..300).for_each(|_| model.observe(&busy(), 0));
        let costs = model.costs();
        close(costs.new.handshake_cpu_s, 400e-6);
        close(costs.returning.handshake_cpu_s, 100e-6);
        // (10 ms − 4 − 2) / 100, more than the 30 µs that were attributed.
        close(costs.gate_request_cpu_s, 40e-6);
        close(costs.upstream_request_cpu_s, 400e-6);
        // 400 µs + 6 × 440 µs; 100 µs + 2 × 440 µs.
        close(costs.new.connection_cpu_s, 3040e-6);
        close(costs.returning.connection_cpu_s, 980e-6);
        // 50 ms for 10 sessions.
        close(costs.session_cpu_s, 5e-3);
    }

    #[test]
    fn plain_http_lowers_the_average_cost_of_an_admission_and_no_handshake() {
        let mut model = CostModel::new(&Priors::default());
        let cost = |model: &CostModel| model.costs().new.handshake_cpu_s;
        (0..300).for_each(|_| model.observe(&busy(), 0));
        let clear = ClassWork { connections: 10, in_clear: 10, ..ClassWork::default() };
        let night = Reading { new: clear, ..busy() };
        (0..100_000).for_each(|_| model.observe(&night, 0));
        assert!(cost(&model) < 1e-12);
        // One in four shakes hands, for 400 µs.
        let mixed = Reading { new: ClassWork { in_clear: 30, ..busy().new }, ..busy() };
        (0..50).for_each(|_| model.observe(&mixed, 0));
        close(cost(&model), 100e-6);
        (0..50).for_each(|_| model.observe(&busy(), 0));
        close(cost(&model), 400e-6);
    }

    #[test]
    fn refusals_are_not_charged_to_requests() {
        let mut model = CostModel::new(&Priors::default());
        let mut reading = busy();
        reading.usage.set(ResourceName::Gate, used(0.010 + 100.0 * REFUSAL_CPU_S));
        (0..300).for_each(|_| model.observe(&reading, 100));
        close(model.costs().gate_request_cpu_s, 40e-6);
    }

    #[test]
    fn idle_ticks_change_no_cost() {
        let mut model = CostModel::new(&Priors::default());
        (0..300).for_each(|_| model.observe(&busy(), 0));
        let before = model.costs();
        let idle = Reading {
            usage: ByResource::default()
                .with(ResourceName::Gate, used(0.001))
                .with(ResourceName::Upstream, used(0.002)),
            new: class(0, 0.0, 1, 40e-6),
            upstream_responses: 1,
            ..Reading::default()
        };
        (0..10_000).for_each(|_| model.observe(&idle, 0));
        close(model.costs().upstream_request_cpu_s, before.upstream_request_cpu_s);
        close(model.costs().gate_request_cpu_s, before.gate_request_cpu_s);
        close(model.costs().session_cpu_s, before.session_cpu_s);
    }

    #[test]
    fn requests_answered_from_files_lower_the_cost_of_a_session_and_not_that_of_the_others() {
        let mut model = CostModel::new(&Priors::default());
        (0..300).for_each(|_| model.observe(&busy(), 0));
        // 80 of the 100 requests no longer reach the upstream, which works a fifth as long.
        let mut rendered = Reading { static_requests: 80, upstream_responses: 20, ..busy() };
        rendered.usage.set(ResourceName::Upstream, used(0.008));
        (0..300).for_each(|_| model.observe(&rendered, 0));
        let costs = model.costs();
        close(costs.upstream_share, 0.2);
        close(costs.upstream_request_cpu_s, 80e-6);
        close(costs.of_passed(costs.upstream_request_cpu_s), 400e-6);
        // 400 µs + 6 × (40 + 80) µs.
        close(costs.new.connection_cpu_s, 1120e-6);
    }

    #[test]
    fn where_all_requests_are_answered_from_files_costs_stay_finite() {
        let mut model = CostModel::new(&Priors::default());
        let mut rendered = Reading { static_requests: 100, upstream_responses: 0, ..busy() };
        rendered.usage.set(ResourceName::Upstream, used(0.001));
        (0..10_000).for_each(|_| model.observe(&rendered, 0));
        let costs = model.costs();
        assert!(costs.upstream_request_cpu_s < 1e-6 && costs.upstream_share < 0.01);
        assert!(costs.of_passed(costs.upstream_request_cpu_s).is_finite());
    }

    #[test]
    fn an_upstream_with_processors_of_its_own_has_a_cost_of_its_own() {
        let mut model = CostModel::new(&Priors::default());
        assert_eq!(model.costs().routed_request_cpu_s, 0.0, "there is none");
        let mut partitioned = busy();
        partitioned.usage.set(ResourceName::Routed, used(0.020));
        (0..300).for_each(|_| model.observe(&partitioned, 0));
        let costs = model.costs();
        close(costs.upstream_request_cpu_s, 400e-6);
        close(costs.routed_request_cpu_s, 200e-6);
        // 400 µs + 6 × (40 + 400 + 200) µs.
        close(costs.new.connection_cpu_s, 4240e-6);
    }

    #[test]
    fn an_upstream_out_of_sight_costs_nothing() {
        let mut model = CostModel::new(&Priors::default());
        let mut unseen = busy();
        unseen.usage.set(ResourceName::Upstream, None);
        model.observe(&unseen, 0);
        assert_eq!(model.costs().upstream_request_cpu_s, 0.0);
    }

    #[test]
    fn readings_that_cannot_be_true_leave_costs_finite_and_above_zero() {
        let mut model = CostModel::new(&Priors::default());
        for wrong in [f64::NAN, f64::INFINITY, -1.0, 1e300] {
            let mut reading = busy();
            reading.usage.set(ResourceName::Gate, used(wrong));
            let upstream = Usage { capacity_cpus: wrong, ..used(wrong) };
            reading.usage.set(ResourceName::Upstream, upstream);
            reading.new.handshake_cpu_s = wrong;
            reading.returning.request_cpu_s = wrong;
            (0..100).for_each(|_| model.observe(&reading, 0));
        }
        let costs = model.costs();
        for cost in [costs.new.connection_cpu_s, costs.session_cpu_s, costs.gate_request_cpu_s] {
            assert!(cost.is_finite() && cost > 0.0, "{costs:?}");
        }
    }
}
