//! What a service can carry at best: worked out, not simulated.

use super::distribution::Distribution;
use super::handshake_mix::HandshakeMix;
use super::scenario::{Change, Changed, Customers, Scenario};

/// CPU seconds on gate, upstream and database, and seconds of one of the
/// upstream's threads, undisturbed.
pub(crate) type Demand = [f64; 4];

/// What is carried at best at a time, and what requests are worth of it.
#[derive(Clone, Debug, Default)]
pub(crate) struct Worth {
    /// Mean sessions per second.
    pub(crate) carried_per_s: f64,
    /// By class: the first request of a session, with its connection, and a later
    /// one, with the connections that it takes on average. Of what limits the
    /// service most, in mean sessions: all that a mean session takes is 1.
    pub(crate) of_request: Vec<[f64; 2]>,
}

/// Something that can run out.
#[derive(Clone, Copy, Debug)]
struct Limit {
    /// What counts, of a [`Demand`].
    of: [f64; 4],
    /// How much of it there is in a second.
    supply: f64,
    /// How much of it accepting a connection takes.
    accept: f64,
}

impl Limit {
    fn takes(&self, demand: &Demand) -> f64 {
        self.of.iter().zip(demand).map(|(counts, part)| counts * part).sum()
    }

    /// Sessions per second beside so many new connections per second, on all of
    /// which accepting is spent, on those who get in too.
    fn carries(&self, session: f64, connections: f64) -> f64 {
        let spare = (self.supply - connections * self.accept).max(0.0);
        (spare / (session - self.accept)).min(self.supply / session)
    }
}

impl Scenario {
    /// New sessions per second that the machines can carry to the end as they
    /// are at the start, by the work that a session brings to the tightest
    /// resource: what loads are multiples of.
    pub fn capacity_per_s(&self) -> f64 {
        self.worth(0.0, 0.0).carried_per_s
    }

    /// The most that they can carry so at any time of a run, whatever changes.
    pub(crate) fn most_carried_per_s(&self) -> f64 {
        let ends = self.changes.iter().map(|change| match change.what {
            Changed::Cost { over_s, .. } => change.at_s + over_s,
            Changed::Cores { .. } => change.at_s,
        });
        let comes = self.customers.iter().flat_map(|class| [class.comes_s.0, class.comes_s.1]);
        let ends = ends.chain(comes.filter(|at_s| *at_s < self.duration_s));
        ends.map(|at_s| self.worth(at_s, 0.0).carried_per_s).fold(self.capacity_per_s(), f64::max)
    }

    /// The same on machines so fast that they carry `per_s` new sessions per
    /// second: all work takes so much longer or shorter.
    #[must_use]
    pub fn at_capacity(&self, per_s: f64) -> Self {
        let factor = self.capacity_per_s() / per_s;
        let mut scenario = self.clone();
        let work = &mut scenario.work;
        for cpu in [
            &mut work.accept,
            &mut work.full_handshake,
            &mut work.resumed_handshake,
            &mut work.gate_request,
        ] {
            *cpu *= factor;
        }
        let classes = &mut scenario.customers;
        for class in classes.iter_mut() {
            class.tls = class.tls.map(|tls| tls.times(factor));
        }
        let own = classes.iter_mut().flat_map(|c| [&mut c.first_request, &mut c.later_request]);
        let database = scenario.database.as_mut().map(|database| &mut database.request);
        for demand in
            own.flatten().chain(database).chain([&mut work.first_request, &mut work.later_request])
        {
            *demand = demand.times(factor);
        }
        scenario
    }

    /// What can be carried at best at a time among `connections` new ones per
    /// second: each has to be accepted before anybody knows that it is too many.
    pub(crate) fn worth(&self, at_s: f64, connections: f64) -> Worth {
        let session = self.demand(at_s);
        let limits = self.limits(at_s).into_iter().flatten();
        let tightest = limits
            .map(|limit| (limit.carries(limit.takes(&session), connections), limit))
            .min_by(|a, b| a.0.total_cmp(&b.0));
        let Some((carried_per_s, limit)) = tightest else { return Worth::default() };
        // Everybody's connection has been accepted, from what there is.
        let mean = limit.takes(&session) - limit.accept;
        let of_class = |class: &Customers| {
            let [first, later] = self.of_requests(class, at_s);
            [(limit.takes(&first) - limit.accept) / mean, limit.takes(&later) / mean]
        };
        Worth { carried_per_s, of_request: self.customers.iter().map(of_class).collect() }
    }

    /// What a mean session costs at a time, its first connection included.
    pub(crate) fn demand(&self, at_s: f64) -> Demand {
        let mut demand = Demand::default();
        for class in &self.customers {
            let ([first, later], share) = (self.of_requests(class, at_s), self.share(class, at_s));
            for ((sum, first), later) in demand.iter_mut().zip(first).zip(later) {
                *sum += share * (first + (class.requests.mean() - 1.0) * later);
            }
        }
        demand
    }

    /// What requests of a class cost at a time on average: the first, with its
    /// connection, and a later one, with the connections that it takes.
    fn of_requests(&self, class: &Customers, at_s: f64) -> [Demand; 2] {
        let (requests_factor, handshakes_factor) = self.factors(at_s);
        let (tls, resumes) = (self.tls(class), class.resumes());
        let database = self.database.as_ref().map_or(0.0, |d| d.request.mean() * requests_factor);
        let request = |first: bool, connections: f64, handshake: f64| {
            let gate = connections * (self.work.accept + handshakes_factor * handshake)
                + self.gate_request();
            let upstream = class.weight * requests_factor * self.request(class, first).mean();
            [gate, upstream, database, upstream + database + self.upstream.wait.mean()]
        };
        let again = tls.full() * (1.0 - resumes) + tls.resumed() * resumes;
        [
            request(true, 1.0, tls.full()),
            request(false, class.think.above(self.gate.keep_alive_s), again),
        ]
    }

    /// How long a mean request takes, undisturbed.
    pub(crate) fn response_s(&self) -> f64 {
        self.gate_request() + self.demand(0.0)[3] / self.requests()
    }

    /// Work of a request in the gate, all of it.
    pub(crate) fn gate_request(&self) -> f64 {
        self.work.gate_request / (1.0 - self.work.gate_unattributed)
    }

    /// Work of a class's first or a later request in the upstream, before its
    /// weight.
    pub(crate) fn request<'a>(&'a self, class: &'a Customers, first: bool) -> &'a Distribution {
        let (own, usual) = match first {
            true => (&class.first_request, &self.work.first_request),
            false => (&class.later_request, &self.work.later_request),
        };
        own.as_ref().unwrap_or(usual)
    }

    /// What a class's handshakes cost.
    pub(crate) fn tls(&self, class: &Customers) -> HandshakeMix {
        class.tls.unwrap_or_else(|| self.work.tls())
    }

    /// What the work of requests and of handshakes is multiplied by at a time.
    pub(crate) fn factors(&self, at_s: f64) -> (f64, f64) {
        self.changes.iter().fold((1.0, 1.0), |(requests, handshakes), change| {
            let (r, h) = change.factors(at_s);
            (requests * r, handshakes * h)
        })
    }

    /// Mean number of requests in a session.
    pub(crate) fn requests(&self) -> f64 {
        self.customers.iter().map(|class| class.share * class.requests.mean()).sum()
    }

    /// Cores of gate, upstream and database at a time.
    pub(crate) fn cores(&self, at_s: f64) -> [f64; 3] {
        let database = self.database.as_ref().map_or(f64::INFINITY, |database| database.cores);
        let shared = self.upstream.cores.is_none();
        let mut cores = [self.gate.cores, self.upstream.cores.unwrap_or(self.gate.cores), database];
        for Change { at_s: from, what } in &self.changes {
            if let Changed::Cores { resource, cores: now, .. } = what
                && *from <= at_s
            {
                cores[*resource as usize] = *now;
                if shared && (*resource as usize) < 2 {
                    (cores[0], cores[1]) = (*now, *now);
                }
            }
        }
        cores
    }

    /// The most cores that gate, upstream and database ever have: as many threads
    /// are worth having.
    pub(crate) fn most_cores(&self) -> [f64; 3] {
        let times = self.changes.iter().map(|change| change.at_s);
        times.map(|at_s| self.cores(at_s)).fold(self.cores(-1.0), |most, cores| {
            [0, 1, 2].map(|resource| f64::max(most[resource], cores[resource]))
        })
    }

    /// What can run out at a time.
    fn limits(&self, at_s: f64) -> [Option<Limit>; 4] {
        let [gate, upstream, database] = self.cores(at_s);
        let limit = |of, supply, accept| Some(Limit { of, supply, accept });
        let accept = self.work.accept;
        let (at_gate, at_upstream) = match self.upstream.cores {
            None => (limit([1.0, 1.0, 0.0, 0.0], gate, accept), None),
            Some(_) => (
                limit([1.0, 0.0, 0.0, 0.0], gate, accept),
                limit([0.0, 1.0, 0.0, 0.0], upstream, 0.0),
            ),
        };
        let at_database = self.database.as_ref().filter(|database| database.request.mean() > 0.0);
        let threads = self.upstream.threads as f64;
        [
            at_gate,
            at_upstream,
            at_database.and_then(|_| limit([0.0, 0.0, 1.0, 0.0], database, 0.0)),
            limit([0.0, 0.0, 0.0, 1.0], threads, 0.0),
        ]
    }
}

impl Change {
    fn factors(&self, at_s: f64) -> (f64, f64) {
        let Changed::Cost { requests, handshakes, over_s } = self.what else { return (1.0, 1.0) };
        let passed = if at_s < self.at_s {
            0.0
        } else if over_s > 0.0 {
            ((at_s - self.at_s) / over_s).min(1.0)
        } else {
            1.0
        };
        (1.0 + (requests - 1.0) * passed, 1.0 + (handshakes - 1.0) * passed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::length::SessionLength;
    use crate::scenario::{Database, Resource};

    #[test]
    fn the_demos_capacity_worked_out_by_hand() {
        // Sessions have 12.295 requests. Gate: 717 µs; 11.295 × e^(−250/175) = 2.7068
        // returns of 177 µs; 12.295 × 83.3 µs. Upstream: 12.295 × 90 µs. Together
        // 3327.2 µs.
        let capacity = Scenario::default().capacity_per_s();
        assert!((capacity - 300.55).abs() < 0.05, "{capacity}");
    }

    #[test]
    fn classes_with_their_own_tls_tickets_and_work_by_hand() {
        let mut scenario = Scenario::default();
        let ecdsa = Customers {
            share: 0.75,
            requests: SessionLength::power_law(5.0, 5.0),
            // Three of four pauses are longer than the connection is kept.
            think: Distribution::uniform(0.5, 1.0 / 3.0),
            tls: Some(HandshakeMix::costing(200e-6, 100e-6)),
            tickets: 0.5,
            first_request: Some(Distribution::lognormal(1e-3, 9.0)),
            weight: 2.0,
            ..Customers::default()
        };
        let clear = Customers {
            share: 0.25,
            requests: SessionLength::power_law(2.0, 2.0),
            think: Distribution::constant(0.1),
            tls: Some(HandshakeMix::Clear),
            ..Customers::default()
        };
        scenario.customers = vec![ecdsa, clear];
        // 3 of 4 later requests reconnect, 1.5 of them with a ticket: 4 × 17 µs accepting,
        // 2.5 × 200 + 1.5 × 100 µs shaking hands, 5 × 83.333 µs: 1134.667 µs. Without
        // TLS: 17 µs and 2 × 83.333 µs. Upstream: 2 × (1000 + 4 × 90) and 2 × 90 µs.
        let [gate, upstream, database, _] = scenario.demand(0.0);
        assert!((gate - (0.75 * 1134.667e-6 + 0.25 * 183.667e-6)).abs() < 1e-9, "{gate}");
        assert!((upstream - (0.75 * 2720e-6 + 0.25 * 180e-6)).abs() < 1e-9, "{upstream}");
        assert_eq!(database, 0.0);
        let twice = scenario.at_capacity(2.0 * scenario.capacity_per_s());
        let [half_gate, half_upstream, ..] = twice.demand(0.0);
        assert!(
            (gate / half_gate - 2.0).abs() < 1e-9 && (upstream / half_upstream - 2.0).abs() < 1e-9
        );
    }

    #[test]
    fn a_faster_machine_carries_what_is_asked_of_it() {
        let faster = Scenario::default().at_capacity(500.0);
        assert!((faster.capacity_per_s() - 500.0).abs() < 1e-6);
        assert!((faster.work.full_handshake / 700e-6 - 300.55 / 500.0).abs() < 1e-4);
    }

    #[test]
    fn who_is_refused_costs_the_best_as_well() {
        // 3005.5 connections of 17 µs take 51.09 ms of each second; 948.91 ms
        // over 3310.2 µs are 287 sessions.
        let best = Scenario::default().worth(0.0, 3005.5).carried_per_s;
        assert!((best - 286.66).abs() < 0.05, "{best}");
        let light = Scenario::default().worth(0.0, 50.0).carried_per_s;
        assert!((light - 300.55).abs() < 0.05, "{light}");
    }

    #[test]
    fn a_request_is_worth_what_it_takes_of_the_tightest_resource() {
        // The first takes 873.3 µs after accepting; a later one 83.3 + 90 µs and
        // e^(−250/175) = 0.2397 returns of 177 µs, 215.75 µs. Of 3310.2 µs.
        let worth = Scenario::default().worth(0.0, 0.0).of_request[0];
        assert!((worth[0] - 0.2638).abs() < 2e-4, "{worth:?}");
        assert!((worth[1] - 0.06518).abs() < 2e-5, "{worth:?}");
        assert!((worth[0] + 11.29475 * worth[1] - 1.0).abs() < 1e-9);
        // A class that has nothing to do with the tightest resource still has its share.
        let mut scenario = Scenario::default();
        let costly = Customers { share: 0.5, weight: 3.0, ..Customers::default() };
        scenario.customers = vec![Customers { share: 0.5, ..Customers::default() }, costly];
        (scenario.upstream.cores, scenario.upstream.threads) = (Some(0.1), 64);
        let worth = scenario.worth(0.0, 0.0).of_request;
        // Twice 12.29475 × 90 µs on average.
        let each = 1.0 / (2.0 * 12.29475);
        assert!((worth[0][0] - each).abs() < 1e-9 && (worth[1][1] - 3.0 * each).abs() < 1e-9);
    }

    #[test]
    fn threads_limit_what_shared_cores_carry() {
        let mut scenario = Scenario::default();
        scenario.gate.cores = 4.0;
        // One thread for 12.29475 × 90 µs of each session, and no more.
        assert!((scenario.capacity_per_s() - 1.0 / 1106.5275e-6).abs() < 1e-6);
        scenario.upstream.threads = 4;
        assert!((scenario.capacity_per_s() - 4.0 * 300.55).abs() < 0.2);
    }

    #[test]
    fn the_tightest_resource_rules_and_changes_change_it() {
        let mut scenario = Scenario::default();
        scenario.upstream.cores = Some(4.0);
        scenario.upstream.threads = 64;
        scenario.database = Some(Database { cores: 0.5, request: Distribution::exponential(1e-3) });
        // 12.29475 ms a session on half a core.
        let session_s = 12.29475e-3;
        assert!((scenario.capacity_per_s() - 0.5 / session_s).abs() < 1e-6);
        let cores = Changed::Cores { resource: Resource::Database, cores: 0.25, seen: false };
        let cost = Changed::Cost { requests: 3.0, handshakes: 1.0, over_s: 2.0 };
        scenario.changes =
            vec![Change { at_s: 1.0, what: cores }, Change { at_s: 2.0, what: cost }];
        assert!((scenario.worth(1.5, 0.0).carried_per_s - 0.25 / session_s).abs() < 1e-6);
        assert!((scenario.worth(3.0, 0.0).carried_per_s - 0.25 / (2.0 * session_s)).abs() < 1e-6);
        assert!((scenario.worth(9.0, 0.0).carried_per_s - 0.25 / (3.0 * session_s)).abs() < 1e-6);
    }

    #[test]
    fn the_most_is_carried_after_the_cores_are_doubled() {
        let cores = Changed::Cores { resource: Resource::Gate, cores: 2.0, seen: true };
        let changes = vec![Change { at_s: 1.0, what: cores }];
        let scenario = Scenario { changes, ..Scenario::default() };
        let factor = scenario.most_carried_per_s() / scenario.capacity_per_s();
        assert!((factor - 2.0).abs() < 1e-9, "{factor}");
    }
}
