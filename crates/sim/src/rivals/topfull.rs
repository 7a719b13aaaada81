//! Limits on the rate of each route, adapted by the overload of the service: TopFull.
//!
//! Source: Park et al. 2024, "TopFull: An Adaptive Top-Down Overload Control for SLO-Oriented
//! Microservices", SIGCOMM, and the authors' artifact (`overload_detection.py`, `deploy_mimd.py`):
//! a service is overloaded above 80 % utilization; then each API that uses it gets a limit, its
//! present rate. Once a second the limits of the lowest business priority are lowered, if a high
//! percentile of the response times is above the objective (1 s), or else those of the highest are
//! raised, up to 1.1 times its present rate. What one priority cannot give, the next one gives.
//! The limits end when no API exceeds its own.
//! Deviation: the artifact's trained agent steps by -50 % to +50 %, by the ratio of goodput to the
//! limits and by the response time. Here the step down is to that ratio, within the same bounds, and
//! the step up is [`STEP_UP`] (1 % in the artifact's rule without an agent). The percentile is the
//! 99th. One service, so one group of APIs; APIs are routes. Times are at the
//! customers' pace, and a step takes a tenth of a second at least.
//! Not swept.

use super::Pace;
use crate::policy::{Policy, Response, Route, User};
use tidegate_control::{Decision, Moment, Priority, Reading, ResourceName, Time};

/// Utilization of an overloaded service.
const OVERLOADED: f64 = 0.8;
const STEP_UP: f64 = 0.05;
const STEPS_DOWN: (f64, f64) = (-0.5, -0.05);
/// A limit is at most so many times what is requested.
const MARGIN: f64 = 1.1;
/// Of the requests of an API, the share that may fail before its limit is still in use.
const CLEAN: f64 = 0.1;

/// The policy's state.
#[derive(Debug)]
pub(crate) struct TopFull {
    step_s: f64,
    objective_s: f64,
    began_s: f64,
    apis: Vec<Api>,
    /// Response times since the last step.
    took_s: Vec<f64>,
    utilization: f64,
}

#[derive(Clone, Debug)]
struct Api {
    priority: Priority,
    /// Requests per second; `None`: no limit.
    limit: Option<f64>,
    tokens: f64,
    at_s: f64,
    requests: u32,
    refused: u32,
}

impl TopFull {
    pub(crate) fn new(pace: Pace, priorities: &[Priority]) -> Self {
        let api = |priority: &Priority| Api {
            priority: *priority,
            limit: None,
            tokens: 0.0,
            at_s: 0.0,
            requests: 0,
            refused: 0,
        };
        Self {
            step_s: pace.of(1.0).max(0.1),
            objective_s: pace.of(1.0),
            began_s: 0.0,
            apis: priorities.iter().map(api).collect(),
            took_s: Vec::new(),
            utilization: 0.0,
        }
    }

    fn step(&mut self, elapsed_s: f64) {
        let rates: Vec<f64> =
            self.apis.iter().map(|api| f64::from(api.requests) / elapsed_s).collect();
        self.took_s.sort_by(f64::total_cmp);
        let last = self.took_s.len().saturating_sub(1) as f64;
        let p99_s = self.took_s.get((last * 0.99).round() as usize).copied().unwrap_or(0.0);
        let in_time = self.took_s.partition_point(|took| *took <= self.objective_s) as f64;
        let clean =
            self.apis.iter().all(|api| f64::from(api.refused) <= CLEAN * f64::from(api.requests));
        if self.apis.iter().all(|api| api.limit.is_none()) {
            if self.utilization > OVERLOADED {
                for (api, rate) in self.apis.iter_mut().zip(&rates) {
                    api.limit = Some(*rate);
                }
            }
        } else if clean && p99_s <= self.objective_s {
            self.apis.iter_mut().for_each(|api| api.limit = None);
        } else if p99_s > self.objective_s {
            let limits: f64 = self.apis.iter().filter_map(|api| api.limit).sum();
            let ratio = in_time / elapsed_s / limits.max(f64::MIN_POSITIVE);
            self.lower((ratio - 1.0).clamp(STEPS_DOWN.0, STEPS_DOWN.1));
        } else {
            self.raise(&rates);
        }
        self.took_s.clear();
        for api in &mut self.apis {
            (api.requests, api.refused) = (0, 0);
        }
    }

    /// Lowers the limits by a share of those of the lowest priority, which give it first.
    fn lower(&mut self, step: f64) {
        let of = |api: &Api| api.limit.unwrap_or(0.0);
        let Some(lowest) = self.apis.iter().map(|api| api.priority).min() else { return };
        let group = self.apis.iter().filter(|api| api.priority == lowest);
        let mut left = -step * group.map(of).sum::<f64>();
        for priority in [Priority::Low, Priority::Normal, Priority::High] {
            let group: f64 = self.apis.iter().filter(|it| it.priority == priority).map(of).sum();
            let taken = left.min(group);
            for api in self.apis.iter_mut().filter(|api| api.priority == priority) {
                api.limit = api.limit.map(|limit| limit - taken * limit / group.max(1e-9));
            }
            left -= taken;
        }
    }

    /// Raises the limits of the highest priority that has use for it.
    fn raise(&mut self, rates: &[f64]) {
        for priority in [Priority::High, Priority::Normal, Priority::Low] {
            let mut raised = false;
            let group = self.apis.iter_mut().zip(rates).filter(|(it, _)| it.priority == priority);
            for (api, rate) in group {
                let Some(limit) = api.limit else { continue };
                // From nothing no share leads back.
                let next = (limit * (1.0 + STEP_UP) + 1.0).min(rate * MARGIN);
                if next > limit {
                    (api.limit, raised) = (Some(next), true);
                }
            }
            if raised {
                return;
            }
        }
    }
}

impl Policy for TopFull {
    fn decide(&mut self, _: Time, _: User, _: Moment) -> Decision {
        Decision::Admit
    }

    fn passes(&mut self, now: Time, route: Route, _: User, _: Moment) -> bool {
        let api = &mut self.apis[route.index];
        api.requests += 1;
        let Some(limit) = api.limit else { return true };
        let now_s = now.as_secs_f64();
        // Clumps of up to 50 ms pass.
        let grown = api.tokens + (now_s - api.at_s) * limit;
        (api.tokens, api.at_s) = (grown.min((limit * 0.05).max(1.0)), now_s);
        let passes = api.tokens >= 1.0;
        if passes {
            api.tokens -= 1.0;
        } else {
            api.refused += 1;
        }
        passes
    }

    fn responded(&mut self, _: Time, response: &Response) {
        // A refused request has no response of the service.
        if !response.is_early {
            self.took_s.push(if response.is_dropped { f64::INFINITY } else { response.took_s });
        }
    }

    fn observe(&mut self, now: Time, reading: &Reading) {
        let elapsed_s = reading.elapsed.as_secs_f64();
        let service = reading.usage_of(ResourceName::Upstream);
        if let Some(used_s) = service.and_then(|service| service.used_cpu_s) {
            let cpus = service.map_or(1.0, |service| service.capacity_cpus);
            self.utilization = used_s / elapsed_s / cpus.max(0.01);
        }
        let since_s = now.as_secs_f64() - self.began_s;
        if since_s >= self.step_s - 1e-9 {
            self.began_s = now.as_secs_f64();
            self.step(since_s);
        }
    }

    fn why(&self, _: Time) -> String {
        let limits = self.apis.iter().map(|api| match api.limit {
            Some(limit) => format!("{limit:.0}"),
            None => "any".to_owned(),
        });
        format!("the routes may have {} requests/s", limits.collect::<Vec<_>>().join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;
    use tidegate_control::{ByResource, Usage};

    /// A second in which both routes request so much, at a utilization, with one response time.
    fn second(topfull: &mut TopFull, at_s: u64, requests: [u32; 2], took_s: f64) {
        let priorities = [Priority::Normal, Priority::High];
        for (index, requests) in requests.into_iter().enumerate() {
            let route = Route { index, priority: priorities[index] };
            for request in 0..requests {
                let ms = (at_s - 1) * 1000 + u64::from(request) * 1000 / u64::from(requests);
                topfull.passes(Time::from_millis(ms), route, User(0), Moment::IDLE);
            }
        }
        let response = Response { took_s, ..Response::default() };
        (0..100).for_each(|_| topfull.responded(Time::from_secs(at_s), &response));
        let busy = Usage { capacity_cpus: 1.0, used_cpu_s: Some(0.9), idle: None };
        let usage = ByResource::default().with(ResourceName::Upstream, busy);
        let elapsed = Duration::from_secs(1);
        topfull.observe(Time::from_secs(at_s), &Reading { elapsed, usage, ..Reading::default() });
    }

    #[test]
    fn the_lowest_priority_gives_first_and_the_highest_gets_first() {
        let mut topfull = TopFull::new(Pace(1.0), &[Priority::Normal, Priority::High]);
        let limits = |topfull: &TopFull| {
            [0, 1].map(|api| topfull.apis[api].limit.map(|limit: f64| limit.round() as u32))
        };
        second(&mut topfull, 1, [1000, 100], 0.1);
        assert_eq!(limits(&topfull), [Some(1000), Some(100)], "overloaded: what is there");
        second(&mut topfull, 2, [1000, 100], 2.0);
        // No goodput: the longest step.
        assert_eq!(limits(&topfull), [Some(500), Some(100)]);
        second(&mut topfull, 3, [1000, 100], 0.1);
        // 105 + 1 of the high ones, below 110.
        assert_eq!(limits(&topfull), [Some(500), Some(106)]);
        second(&mut topfull, 4, [1000, 100], 0.1);
        second(&mut topfull, 5, [1000, 100], 0.1);
        // The high ones have all they can use; 500 × 1.05 + 1 of the others.
        assert_eq!(limits(&topfull), [Some(526), Some(110)]);
    }

    #[test]
    fn limits_that_nobody_exceeds_end() {
        let mut topfull = TopFull::new(Pace(1.0), &[Priority::Normal, Priority::High]);
        second(&mut topfull, 1, [1000, 100], 0.1);
        second(&mut topfull, 2, [500, 50], 0.1);
        assert!(topfull.apis.iter().all(|api| api.limit.is_none()));
    }
}
