//! A gate: the production controller and member, and its customers by number.

use std::collections::VecDeque;
use std::time::Duration;

use rand_distr::{Binomial, Distribution as _, Poisson};
use tidegate_control::fleet::Member;
use tidegate_control::{
    AGES, ByResource, Controller, Decision, Discipline, Moment, Part, Reading, ResourceName,
    Settings, Usage,
};

use super::Fleet;
use crate::random::Random;

/// Time between readings, in seconds.
pub(super) const TICK_S: f64 = 0.1;
/// How long a session is held, as the gate's default.
const HOLD: Duration = Duration::from_secs(3);
/// Most sessions that are held, as the gate's default.
const MOST_HELD: usize = 4096;
/// CPU seconds of a handshake and of a request in the gate.
const HANDSHAKE_CPU_S: f64 = 400e-6;
const GATE_REQUEST_CPU_S: f64 = 30e-6;

pub(super) struct Gate {
    pub(super) up: bool,
    pub(super) controller: Controller,
    pub(super) member: Member,
    pub(super) part: Part,
    pub(super) thinking: [u64; AGES],
    pub(super) in_service: u64,
    /// Sums since the start.
    pub(super) offered: u64,
    pub(super) admitted: u64,
    pub(super) answered: u64,
    sampled: (u64, u64),
    name: String,
    starts: u64,
    discipline: Discipline,
    held: VecDeque<f64>,
    decide_at: f64,
    reading: Reading,
    used_at_tick: f64,
    ticked_at: f64,
    random: Random,
}

impl Gate {
    pub(super) fn new(index: usize, fleet: &Fleet, random: Random) -> Self {
        let name = format!("gate-{index}");
        let mut gate = Self {
            up: true,
            controller: Controller::new(Settings::default()),
            part: Part::WHOLE,
            member: Member::new(name.clone(), 1),
            thinking: [0; AGES],
            in_service: 0,
            offered: 0,
            admitted: 0,
            answered: 0,
            sampled: (0, 0),
            name,
            starts: 1,
            discipline: Discipline::new(HOLD),
            held: VecDeque::new(),
            decide_at: 0.0,
            reading: Reading::default(),
            used_at_tick: 0.0,
            ticked_at: 0.0,
            random,
        };
        gate.begins(fleet);
        gate
    }

    /// As the gate does: nothing is admitted by assumptions before the first table.
    fn begins(&mut self, fleet: &Fleet) {
        if fleet.divided {
            self.tick(self.ticked_at, self.used_at_tick, fleet);
        }
    }

    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Sessions that are active.
    pub(super) fn active(&self) -> u64 {
        self.thinking.iter().sum::<u64>() + self.in_service
    }

    /// Sessions admitted and requests answered since the last call.
    pub(super) fn since_last(&mut self) -> (u64, u64) {
        let sums = (self.admitted, self.answered);
        let before = std::mem::replace(&mut self.sampled, sums);
        (sums.0 - before.0, sums.1 - before.1)
    }

    /// It goes down. Returns how many sessions were active.
    pub(super) fn goes_down(&mut self) -> u64 {
        self.up = false;
        self.held.clear();
        let active = self.active();
        (self.in_service, self.thinking) = (0, [0; AGES]);
        active
    }

    /// It starts again.
    pub(super) fn starts(&mut self, now: f64, used_s: f64, fleet: &Fleet) {
        self.starts += 1;
        self.up = true;
        self.controller = Controller::new(Settings::default());
        self.member = Member::new(self.name.clone(), self.starts);
        self.reading = Reading::default();
        (self.ticked_at, self.used_at_tick) = (now, used_s);
        self.begins(fleet);
    }

    /// Thinking customers make requests, and new sessions come at this rate.
    pub(super) fn customers(&mut self, now: f64, fleet: &Fleet, new_per_s: f64) {
        let thinking: u64 = self.thinking.iter().sum();
        let requests = binomial(&mut self.random, thinking, fleet.step_s / fleet.think_s);
        for left in (thinking - requests + 1..=thinking).rev() {
            let mut place = (self.random.uniform() * left as f64) as u64;
            let mut age = 0;
            while age < AGES - 1 && place >= self.thinking[age] {
                place -= self.thinking[age];
                age += 1;
            }
            self.thinking[age] = self.thinking[age].saturating_sub(1);
            self.reading.requests_by_age[age] += 1;
        }
        self.in_service += requests;
        let new = poisson(&mut self.random, new_per_s * fleet.step_s);
        self.offered += new;
        for _ in 0..new {
            self.controller.offered();
            self.held.push_back(now);
        }
        if new > 0 {
            self.decide_at = now;
        }
        self.dispatch(now);
    }

    /// Requests of sessions that another gate had admitted.
    pub(super) fn returning(&mut self, requests: u64) {
        self.in_service += requests;
        self.reading.returning.connections += requests;
        self.reading.returning.handshakes += requests;
        self.reading.returning.handshake_cpu_s += requests as f64 * HANDSHAKE_CPU_S / 4.0;
    }

    /// The simulated gate's dispatcher: see `world/gate.rs`.
    fn dispatch(&mut self, now: f64) {
        let time = Duration::from_secs_f64(now);
        let waited = |since: f64| Duration::from_secs_f64((now - since).max(0.0));
        while now >= self.decide_at
            && let Some(oldest) = self.held.front().copied()
        {
            let moment = Moment {
                allowed_backlog: self.discipline.allowed_backlog(time, waited(oldest)),
                ..Moment::in_flight(0, self.in_service as u32)
            };
            match self.controller.decide(time, moment) {
                Decision::Admit => {
                    let newest = self.discipline.newest_first(time);
                    _ = if newest { self.held.pop_back() } else { self.held.pop_front() };
                    self.discipline.admits(time);
                    self.admit();
                }
                Decision::NotNow { retry_after } => {
                    let after = Discipline::ask_again_after(retry_after);
                    self.decide_at = now + after.as_secs_f64();
                }
            }
        }
        let oldest = self.held.front().map_or(Duration::ZERO, |since| waited(*since));
        self.discipline.waits(time, self.held.len(), oldest);
        while let Some(oldest) = self.held.front().copied()
            && (self.held.len() > MOST_HELD
                || waited(oldest) >= self.discipline.longest_wait(time, self.held.len()))
        {
            self.held.pop_front();
            self.discipline.refuses(time);
        }
    }

    fn admit(&mut self) {
        self.admitted += 1;
        self.in_service += 1;
        self.reading.sessions_started += 1;
        let new = &mut self.reading.new;
        (new.connections, new.handshakes) = (new.connections + 1, new.handshakes + 1);
        new.handshake_cpu_s += HANDSHAKE_CPU_S;
    }

    /// Each request that is with the service is answered with this probability; then the
    /// customer thinks or leaves.
    pub(super) fn answers(&mut self, fleet: &Fleet, probability: f64) {
        // By Little's law, the time of the responses is that in which requests were there.
        self.reading.upstream_time_s += self.in_service as f64 * fleet.step_s;
        let answered = binomial(&mut self.random, self.in_service, probability);
        let ended = binomial(&mut self.random, answered, 1.0 / fleet.requests_per_session);
        self.in_service -= answered;
        self.thinking[0] += answered - ended;
        self.answered += answered;
        self.reading.upstream_responses += answered;
        self.reading.new.requests += answered;
        self.reading.new.request_cpu_s += answered as f64 * GATE_REQUEST_CPU_S;
        if answered > 0 {
            self.decide_at = 0.0;
        }
    }

    /// A reading, and the next plan. `used_s`: CPU seconds of the service since the start.
    pub(super) fn tick(&mut self, now: f64, used_s: f64, fleet: &Fleet) {
        let mut reading = std::mem::take(&mut self.reading);
        let elapsed_s = now - self.ticked_at;
        let own_s = reading.new.handshake_cpu_s
            + reading.returning.handshake_cpu_s
            + reading.new.request_cpu_s;
        let used_since_s = used_s - self.used_at_tick;
        let usage = |capacity_cpus, used_cpu_s| Usage { capacity_cpus, used_cpu_s, idle: None };
        reading.elapsed = Duration::from_secs_f64(elapsed_s);
        let upstream = fleet.in_view.then(|| usage(fleet.cpus, Some(used_since_s)));
        reading.usage = ByResource::default()
            .with(ResourceName::Gate, usage(64.0, Some(own_s)))
            .with(ResourceName::Upstream, upstream);
        let answered = reading.upstream_responses as f64;
        if answered > 0.0 {
            let mean_s = reading.upstream_time_s / answered;
            reading.upstream_time_ln = answered * (mean_s * 1e9).max(1.0).ln();
        }
        reading.in_flight_requests = self.in_service as u32;
        reading.held = self.held.len() as u32;
        reading.thinking = self.thinking;
        reading.sessions_active = self.active() as u32;
        (self.used_at_tick, self.ticked_at) = (used_s, now);
        let time = Duration::from_secs_f64(now);
        self.part = match fleet.divided {
            true => self.member.part(time, &reading, &self.controller.outlook()),
            false => Part::WHOLE,
        };
        self.controller.observe(time, &reading.part_of_fleet(self.part));
        self.ages();
    }

    /// Thinking sessions grow older by a tick: of a class of so many ticks, one part of so many
    /// reaches the next.
    fn ages(&mut self) {
        for age in (0..AGES - 1).rev() {
            let ticks = (1u64 << age).div_ceil(2) as f64;
            let older = binomial(&mut self.random, self.thinking[age], 1.0 / ticks);
            self.thinking[age] -= older;
            self.thinking[age + 1] += older;
        }
    }
}

/// How many of `n` with this probability each.
pub(super) fn binomial(random: &mut Random, n: u64, probability: f64) -> u64 {
    if n == 0 || probability <= 0.0 {
        return 0;
    }
    if probability >= 1.0 {
        return n;
    }
    Binomial::new(n, probability).expect("it is a probability").sample(random)
}

fn poisson(random: &mut Random, mean: f64) -> u64 {
    if mean <= 0.0 {
        return 0;
    }
    Poisson::new(mean).expect("it is above 0").sample(random) as u64
}
