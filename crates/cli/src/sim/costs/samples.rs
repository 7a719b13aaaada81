//! Samples of the real gate and its site, ten a second: readings for the estimators, and
//! the truth afterwards.

use std::collections::HashMap;
use std::time::Duration;

use anyhow::Context;
use serde::Deserialize;
use tidegate_control::{ByResource, ClassWork, Reading, ResourceName, Usage};
use tidegate_lab::http;
use tidegate_sim::estimators::ConnectionCosts;

/// Counters of gate and site since their start.
#[derive(Clone, Debug)]
pub struct Sample {
    gate: Status,
    /// CPU seconds of the site, by its process clock.
    site_cpu_s: f64,
}

/// The part of the gate's `/status` that is used.
#[derive(Clone, Debug, Deserialize)]
struct Status {
    uptime_s: f64,
    new: Verdicts,
    returning: Verdicts,
    full_handshakes: Handshakes,
    resumed_handshakes: Handshakes,
    sessions_started: u64,
    class_requests: HashMap<String, u64>,
    cpu_seconds: f64,
    work_cpu_seconds: HashMap<String, f64>,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Verdicts {
    admitted: u64,
    refused: u64,
}

#[derive(Clone, Copy, Debug, Deserialize)]
struct Handshakes {
    ok: u64,
}

/// Seconds before and after a sample over which its true costs are measured.
const AROUND_S: f64 = 2.5;

impl Sample {
    /// A sample of the gate whose admin address is `http://IP:PORT`.
    ///
    /// # Errors
    /// The gate, or `site_cpu_s`, does not report.
    pub fn take(admin: &str, site_cpu_s: impl Fn() -> anyhow::Result<f64>) -> anyhow::Result<Self> {
        let status = http::get_at(admin, "/status").and_then(http::Answer::ok);
        let status = status.with_context(|| format!("the gate does not report at {admin}"))?;
        let gate = serde_json::from_str(&status).context("the gate's status has other fields")?;
        Ok(Self { gate, site_cpu_s: site_cpu_s()? })
    }

    /// Seconds since the gate's start.
    pub fn at_s(&self) -> f64 {
        self.gate.uptime_s
    }

    /// The work since an earlier sample, and the number of new sessions refused meanwhile.
    pub fn since(&self, before: &Self) -> (Reading, u64) {
        let (now, then) = (&self.gate, &before.gate);
        let class = |name: &str,
                     verdicts: fn(&Status) -> &Verdicts,
                     handshakes: fn(&Status) -> &Handshakes| {
            let requests = |status: &Status| status.class_requests.get(name).copied().unwrap_or(0);
            ClassWork {
                connections: verdicts(now).admitted.saturating_sub(verdicts(then).admitted),
                handshakes: handshakes(now).ok.saturating_sub(handshakes(then).ok),
                in_clear: 0,
                handshake_cpu_s: self.spent(before, &format!("handshake_{name}")),
                requests: requests(now).saturating_sub(requests(then)),
                request_cpu_s: self.spent(before, &format!("request_{name}")),
            }
        };
        let new = class("new", |status| &status.new, |status| &status.full_handshakes);
        let returning =
            class("returning", |status| &status.returning, |status| &status.resumed_handshakes);
        let usage = |cpu_s: f64| Usage { capacity_cpus: 1.0, used_cpu_s: Some(cpu_s), idle: None };
        let reading = Reading {
            elapsed: Duration::from_secs_f64((now.uptime_s - then.uptime_s).max(0.0)),
            usage: ByResource::default()
                .with(ResourceName::Gate, usage(now.cpu_seconds - then.cpu_seconds))
                .with(ResourceName::Upstream, usage(self.site_cpu_s - before.site_cpu_s)),
            new,
            returning,
            sessions_started: now.sessions_started.saturating_sub(then.sessions_started),
            ..Reading::default()
        };
        (reading, now.new.refused.saturating_sub(then.new.refused))
    }

    /// CPU seconds of the gate's threads for one kind of work.
    fn spent(&self, before: &Self, work: &str) -> f64 {
        let of = |sample: &Self| sample.gate.work_cpu_seconds.get(work).copied().unwrap_or(0.0);
        of(self) - of(before)
    }

    /// The mean cost of connections since an earlier sample: arrival, handshake and
    /// requests in the gate, by its threads' clocks, and requests in the site, by its
    /// process's clock. All requests cost the site the same, which the customers'
    /// scenario must ensure. The gate's upkeep belongs to no connection.
    fn costs(&self, before: &Self) -> ConnectionCosts {
        let (reading, refused) = self.since(before);
        let (new, returning) = (&reading.new, &reading.returning);
        let per = |amount: f64, of: u64| if of > 0 { amount / of as f64 } else { 0.0 };
        let arrived = new.connections + returning.connections + refused;
        let arrival = per(self.spent(before, "arrival"), arrived);
        let site = per(self.site_cpu_s - before.site_cpu_s, new.requests + returning.requests);
        let connection = |class: &ClassWork| {
            let requests = per(class.requests as f64, class.connections);
            let request = per(class.request_cpu_s, class.requests) + site;
            match class.handshakes {
                0 => 0.0,
                handshakes => arrival + per(class.handshake_cpu_s, handshakes) + requests * request,
            }
        };
        ConnectionCosts { new_cpu_s: connection(new), returning_cpu_s: connection(returning) }
    }
}

/// The true costs at each sample: those of connections around it, either before a step of
/// costs or after it.
pub fn truth(samples: &[Sample], step_s: Option<f64>) -> Vec<ConnectionCosts> {
    let side = |sample: &Sample| step_s.is_some_and(|step_s| sample.at_s() > step_s);
    let at = |sample: &Sample| {
        let mut around = samples.iter().filter(|other| {
            (other.at_s() - sample.at_s()).abs() <= AROUND_S && side(other) == side(sample)
        });
        let first = around.next().unwrap_or(sample);
        around.next_back().unwrap_or(sample).costs(first)
    };
    samples.iter().map(at).collect()
}

/// By how many CPU seconds of the site a request in the last seconds cost more than one in
/// the seconds before the step; `None` without requests.
pub fn added_cpu_s(samples: &[Sample], step_s: f64) -> Option<f64> {
    let end_s = samples.last()?.at_s();
    let request = |from_s: f64, until_s: f64| {
        let mut within = samples.iter().filter(|s| (from_s..=until_s).contains(&s.at_s()));
        let (first, last) = (within.next()?, within.next_back()?);
        let reading = last.since(first).0;
        let requests = reading.new.requests + reading.returning.requests;
        (requests > 0).then(|| (last.site_cpu_s - first.site_cpu_s) / requests as f64)
    };
    let (before, after) = (step_s - 2.0 * AROUND_S, end_s - 2.0 * AROUND_S);
    Some(request(after, end_s)? - request(before, step_s)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// After `n` ticks of 0.1 s, in each of which 2 new connections with 6
    /// requests and 4 returning ones with 8 came, and one was refused.
    fn sample(n: u64, page_us: f64) -> Sample {
        let ms = |ms: f64| ms * n as f64 * 1e-3;
        let work = [
            ("arrival", ms(0.07)),
            ("handshake_new", ms(1.0)),
            ("handshake_returning", ms(0.4)),
            ("request_new", ms(0.3)),
            ("request_returning", ms(0.8)),
            ("upkeep", ms(0.01)),
        ];
        let gate = Status {
            uptime_s: n as f64 / 10.0,
            new: Verdicts { admitted: 2 * n, refused: n },
            returning: Verdicts { admitted: 4 * n, refused: 0 },
            full_handshakes: Handshakes { ok: 2 * n },
            resumed_handshakes: Handshakes { ok: 4 * n },
            sessions_started: 2 * n,
            class_requests: [("new".into(), 6 * n), ("returning".into(), 8 * n)].into(),
            cpu_seconds: ms(2.6),
            work_cpu_seconds: work.map(|(work, cpu_s)| (work.to_owned(), cpu_s)).into(),
        };
        Sample { gate, site_cpu_s: page_us * 1e-6 * 14.0 * n as f64 }
    }

    #[test]
    fn a_reading_is_the_difference_of_two_samples() {
        let (reading, refused) = sample(7, 90.0).since(&sample(4, 90.0));
        assert_eq!((refused, reading.elapsed), (3, Duration::from_millis(300)));
        assert_eq!((reading.new.connections, reading.returning.requests), (6, 24));
        assert!((reading.new.handshake_cpu_s - 3e-3).abs() < 1e-12);
        assert!((reading.gate().used_cpu_s.unwrap() - 7.8e-3).abs() < 1e-12);
        assert!(
            (reading.usage_of(ResourceName::Upstream).unwrap().used_cpu_s.unwrap() - 42.0 * 90e-6)
                .abs()
                < 1e-12
        );
    }

    #[test]
    fn the_added_cost_of_a_page_follows_from_the_sites_clock() {
        let mut samples: Vec<Sample> = (0..200).map(|n| sample(n, 90.0)).collect();
        for (n, sample) in samples.iter_mut().enumerate().skip(100) {
            sample.site_cpu_s += (n - 99) as f64 * 14.0 * 200e-6;
        }
        let added = added_cpu_s(&samples, 9.95).unwrap();
        assert!((added - 200e-6).abs() < 1e-9, "{added}");
        assert_eq!(added_cpu_s(&[], 1.0), None);
        assert_eq!(added_cpu_s(&samples[..1], 1.0), None);
    }

    #[test]
    fn the_true_costs_are_those_computed_by_hand() {
        let samples: Vec<Sample> = (0..100).map(|n| sample(n, 90.0)).collect();
        for costs in truth(&samples, Some(5.0)) {
            // 10 + 500 + 3 × (50 + 90) µs; 10 + 100 + 2 × (100 + 90).
            assert!((costs.new_cpu_s - 930e-6).abs() < 1e-12, "{costs:?}");
            assert!((costs.returning_cpu_s - 490e-6).abs() < 1e-12, "{costs:?}");
        }
        assert_eq!(truth(&samples[..1], None), [ConnectionCosts::default()]);
    }
}
