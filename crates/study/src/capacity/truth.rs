//! The study of simulated sites whose capacity is known, in virtual time: rule, staircase and named
//! limit together, with the chance of arrivals and sessions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::time::Duration;

use tidegate_stats::{CensoredHistogram, Observation};

use super::analysis::{Analysis, analyse};
use super::bottleneck::Resource;
use super::first_rate;
use super::options::Options;
use super::options::tests::of_pages;
use super::staircase::{End, Staircase};
use crate::site::completions::{Arrived, durations, expected};
use crate::site::host_use::HostUse;
use crate::site::step::tests::step;
use crate::site::step::{Limit, Phase, Step};
use crate::site::times::Times;

/// A site that answers `servers` requests at a time in the order of their arrival.
#[derive(Clone, Copy)]
struct Site {
    servers: usize,
    service_s: f64,
    /// It computes, on as many processors as it has servers; otherwise it sleeps.
    computes: bool,
    /// Share by which a request takes longer for each that was answered before.
    leak: f64,
}

const POOL: Site = Site { servers: 16, service_s: 0.02, computes: false, leak: 0.0 };

/// A site under load, with what it has answered so far.
struct Running {
    site: Site,
    answered: u64,
    at_s: f64,
    random: u64,
}

/// Nanoseconds, so that times are ordered.
fn at(seconds: f64) -> u64 {
    (seconds * 1e9) as u64
}

fn s(at: u64) -> f64 {
    at as f64 / 1e9
}

impl Running {
    /// Uniform in 0 to 1. Source: Steele, Lea and Flood 2014, SplitMix64.
    fn uniform(&mut self) -> f64 {
        self.random = self.random.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.random;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        ((z ^ (z >> 31)) >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Measures a step as the load generator does.
    fn step(&mut self, options: &Options, times: Times, (phase, rate): (Phase, f64)) -> Step {
        let drawn = options.plan.scenario.drawn_sessions();
        let (begin, length) = (times.warm_up.as_secs_f64(), times.window(rate, 20.0).as_secs_f64());
        let (end, half) = (begin + length, begin + length / 2.0);
        let mut arrivals: Vec<Arrived> = (0..end.ceil() as u32)
            .map(|it| Arrived { from_s: it.into(), to_s: f64::from(it + 1).min(end), count: 0.0 })
            .collect();
        // Requests that come, by time: when, how many of the session are left, its think time
        // before each.
        let mut coming = BinaryHeap::new();
        let mut time = 0.0;
        loop {
            time -= (1.0 - self.uniform()).ln() / rate;
            if time >= end {
                break;
            }
            arrivals[time as usize].count += 1.0;
            let it = drawn[(self.uniform() * drawn.len() as f64) as usize];
            let gaps = f64::from(it.requests - 1).max(1.0);
            let think = at(times.scale * it.think.as_secs_f64() / gaps);
            coming.push(Reverse((at(time), it.requests, think)));
        }
        let offered: f64 = arrivals.iter().map(|it| it.count * overlap(it, begin, end)).sum();
        let mut free: BinaryHeap<Reverse<u64>> =
            (0..self.site.servers).map(|_| Reverse(0)).collect();
        let mut response = [CensoredHistogram::default(), CensoredHistogram::default()];
        let (mut completed, mut requests, mut busy, mut waiting) = (0u64, 0u64, 0.0, 0.0);
        while let Some(Reverse((came, left, think))) = coming.pop() {
            let slow = 1.0 + self.site.leak * self.answered as f64;
            let Reverse(server) = free.pop().unwrap();
            let begins = server.max(came);
            let ends = begins + at(self.site.service_s * slow);
            free.push(Reverse(ends));
            if s(came) >= end {
                continue;
            }
            if s(ends) > end {
                response[1].record(Observation::Open(Duration::from_nanos(at(end) - came)));
                continue;
            }
            self.answered += 1;
            if s(ends) >= begin {
                requests += 1;
                busy += s(ends - begins);
                waiting += s(begins - came);
                let half = usize::from(s(ends) >= half);
                response[half].record(Observation::Exact(Duration::from_nanos(ends - came)));
                completed += u64::from(left == 1);
            }
            if left > 1 {
                coming.push(Reverse((ends + think, left - 1, think)));
            }
        }
        let early = response[0].percentiles();
        let early_s = if early.is_empty() { times.response_s } else { early.mean_ms / 1000.0 };
        let [mut all, late] = response;
        all.merge(&late);
        let (p50, p95) = (all.percentiles().p50_ms, all.percentiles().p95());
        let sessions = durations(drawn, times.scale, early_s);
        let found = expected(&arrivals, (begin, end), &sessions);
        let per_s = |count: f64| count / length;
        let mut step = Step {
            phase,
            at_s: self.at_s,
            measured_s: length,
            offered_per_s: per_s(offered),
            completed_ratio: 1.0,
            abandoned_per_s: 0.0,
            expected_per_s: per_s(found.count),
            expected_deviation_per_s: per_s(found.deviation),
            requests_per_s: per_s(requests as f64),
            response: p95,
            response_p50_ms: p50,
            service_ms: all.percentiles().mean_ms,
            host: Some(self.host(per_s(busy), per_s(waiting))),
            ..step(rate, per_s(completed as f64), 1.0)
        };
        step.outcome = step.judge(options.limit);
        self.at_s += end;
        step
    }

    /// A machine with a processor more than the site has.
    fn host(&self, busy: f64, waiting: f64) -> HostUse {
        let cpus = self.site.servers as f64;
        let computes = if self.site.computes { 1.0 } else { 0.01 };
        HostUse {
            cpus: computes * busy,
            allowed_cpus: if self.site.computes { cpus } else { 4.0 },
            busiest_thread: (computes * busy / cpus).min(0.8),
            waiting_threads: if self.site.computes { waiting } else { 0.0 },
            driver_cpus: 0.3,
            machine_busy: Some(computes * busy + 0.5),
            machine_cpus: cpus + 1.0,
            resident_mib: 30.0,
            ..HostUse::default()
        }
    }
}

/// The share of an interval that lies in a window.
fn overlap(it: &Arrived, begin: f64, end: f64) -> f64 {
    (it.to_s.min(end) - it.from_s.max(begin)).max(0.0) / (it.to_s - it.from_s)
}

/// Studies a site to the end.
fn study(site: Site, options: &Options, seed: u64) -> (Analysis, Vec<Step>) {
    let times = options.times(site.service_s).unwrap();
    let mut running = Running { site, answered: 0, at_s: 0.0, random: seed };
    let requests = options.plan.scenario.session_length().mean_requests;
    let first = first_rate(requests * site.service_s, times);
    let mut staircase = Staircase::new(first, options.max_rate, options.thoroughness(), seed);
    let mut steps = Vec::new();
    while let Some(next) = staircase.next() {
        let step = running.step(options, times, next);
        staircase.push(step.outcome);
        steps.push(Step { rate_per_s: next.1, ..step });
    }
    let end = staircase.end().unwrap();
    let scales = (options.think_s(), times.scale);
    let alone_ms = 1000.0 * site.service_s;
    (analyse(&steps, end, staircase.carried(), options.limit, scales, alone_ms), steps)
}

fn crowd(pages: usize, think: &str, limit_ms: f64) -> Options {
    let limit = Limit { ms: limit_ms, percentile: 95 };
    Options { limit, max_rate: 20_000.0, ..of_pages("x", pages, think) }
}

fn carried(analysis: &Analysis) -> f64 {
    analysis.carried_per_s.unwrap().value
}

fn within_a_tenth(analysis: &Analysis, known: f64) -> bool {
    (carried(analysis) / known).ln().abs() < 1.1f64.ln()
}

#[test]
fn a_pool_of_workers_is_told_the_rate_that_it_carries_with_every_chance() {
    let crowd = crowd(5, "1s", 300.0);
    for seed in 0..3 {
        // 16 workers of 20 ms each, five pages a session: 160/s.
        let (found, _) = study(POOL, &crowd, seed);
        assert!(within_a_tenth(&found, 160.0), "{seed}: {found:?}");
        assert_eq!(found.bottleneck.resource, Resource::Concurrency, "{seed}: {found:?}");
        assert!((found.bottleneck.at_a_time.unwrap() - 16.0).abs() < 1.0, "{seed}: {found:?}");
    }
    for seed in 0..8 {
        let (found, steps) = study(Site { servers: 4, ..POOL }, &crowd, seed);
        assert!(within_a_tenth(&found, 40.0), "{seed}: {found:?}");
        // Not by luck: no step well below was not carried, and none well above was.
        for step in &steps {
            let carried = step.outcome == crate::site::step::Outcome::Carried;
            assert!(carried || step.rate_per_s > 36.0, "{seed}: {step:?}");
            assert!(!carried || step.rate_per_s < 46.0, "{seed}: {step:?}");
        }
    }
}

#[test]
fn processors_a_lock_and_a_pool_are_told_apart_with_short_and_long_sessions() {
    let processors = Site { servers: 2, service_s: 0.005, computes: true, leak: 0.0 };
    let lock = Site { servers: 1, service_s: 0.004, computes: false, leak: 0.0 };
    let pool = Site { servers: 8, service_s: 0.04, computes: false, leak: 0.0 };
    for (site, requests_per_s, resource) in [
        (processors, 400.0, Resource::Processors),
        (lock, 250.0, Resource::OneAtATime),
        (pool, 200.0, Resource::Concurrency),
    ] {
        for (pages, think) in [(1, "1s"), (5, "1s"), (20, "5s")] {
            let (found, _) = study(site, &crowd(pages, think, 500.0), 7);
            let known = requests_per_s / pages as f64;
            assert!(within_a_tenth(&found, known), "{known}: {found:?}");
            assert_eq!(found.bottleneck.resource, resource, "{pages}: {found:?}");
            assert!(found.bottleneck.drift.is_empty(), "{pages}: {found:?}");
        }
    }
}

#[test]
fn a_leak_is_told_beside_the_limit() {
    let crowd = crowd(5, "1s", 300.0);
    // Four fifths slower after 100,000 requests.
    let leaking = Site { servers: 4, leak: 8e-6, ..POOL };
    let (found, steps) = study(leaking, &crowd, 3);
    let answered: f64 = steps.iter().map(|step| step.requests_per_s * step.measured_s).sum();
    let slowest = 1.0 + leaking.leak * 1.6 * answered;
    assert!(carried(&found) < 40.0 * 1.1 && carried(&found) > 40.0 / slowest / 1.1, "{found:?}");
    let slower = found.bottleneck.drift.first().is_some_and(|it| it.contains("became slower"));
    let times = |step: &Step| (step.phase, step.rate_per_s, step.outcome, step.service_ms);
    assert!(slower, "{} {:?}", carried(&found), steps.iter().map(times).collect::<Vec<_>>());
}

#[test]
fn chance_does_not_find_a_limit_of_a_site_that_has_none() {
    let fast = Site { servers: 1000, service_s: 1e-4, computes: false, leak: 0.0 };
    for (pages, think) in [(1, "1s"), (6, "1s"), (20, "5s")] {
        for seed in 0..4 {
            let crowd = Options { max_rate: 60.0, ..crowd(pages, think, 500.0) };
            let times = crowd.times(fast.service_s).unwrap();
            let mut running = Running { site: fast, answered: 0, at_s: 0.0, random: seed };
            for rate in [0.5, 2.0, 8.0, 30.0, 60.0] {
                let step = running.step(&crowd, times, (Phase::Search, rate));
                assert_eq!(
                    step.outcome,
                    crate::site::step::Outcome::Carried,
                    "{pages} {seed}: {step:?}"
                );
            }
        }
    }
    let (found, _) = study(fast, &Options { max_rate: 60.0, ..crowd(6, "1s", 500.0) }, 1);
    assert_eq!((found.end, carried(&found)), (End::MaxRate, 60.0));
}

#[test]
fn a_limit_longer_than_the_window_does_not_hide_a_queue_that_grows() {
    // Responses may take 30 s, longer than a window: 40/s by flow balance alone.
    let (found, _) = study(Site { servers: 4, ..POOL }, &crowd(5, "1s", 30_000.0), 5);
    assert!((carried(&found) / 40.0).ln().abs() < 1.2f64.ln(), "{found:?}");
}
