//! The run: gates, service and network, step by step.

use std::rc::Rc;
use std::time::Duration;

use tidegate_control::AGES;
use tidegate_control::fleet::{EXPERIENCE_INTERVAL, INTERVAL, MOST_LINES, divide};

use super::course::{Course, Sample};
use super::gate::{Gate, TICK_S, binomial};
use super::network::{Lease, Message, Messages, Side, side};
use super::{Fleet, Spread};
use crate::random::Random;

/// Runs a fleet.
pub fn simulate(fleet: &Fleet) -> Course {
    let mut world = World::new(fleet);
    let steps = (fleet.seconds / fleet.step_s).round() as u64;
    (0..steps).for_each(|step| world.step(step));
    world.course.peak_per_s = fleet.cpus / fleet.request_cpu_s;
    world.course.sessions = world.gates.iter().map(|gate| gate.offered).sum();
    world.course
}

struct World<'a> {
    fleet: &'a Fleet,
    now: f64,
    gates: Vec<Gate>,
    /// Active sessions of gates that went down: they return to any other.
    homeless: u64,
    random: Random,
    /// New sessions per second at each gate.
    new_per_s: Vec<f64>,
    sides: Vec<Option<Side>>,
    messages: Messages,
    lease: Lease,
    used_s: f64,
    course: Course,
    /// Sums at the last sample: offered, admitted, answered; CPU seconds; requests times seconds.
    sampled: (u64, u64, u64, f64),
    requests_s: f64,
}

impl<'a> World<'a> {
    fn new(fleet: &'a Fleet) -> Self {
        let mut random = Random::new(fleet.seed);
        let mut world = Self {
            fleet,
            now: 0.0,
            gates: (0..fleet.gates).map(|index| Gate::new(index, fleet, random.split())).collect(),
            homeless: 0,
            messages: Messages::new(fleet.network, random.split()),
            random,
            new_per_s: vec![0.0; fleet.gates],
            sides: vec![Some(Side::Majority); fleet.gates],
            lease: Lease::default(),
            used_s: 0.0,
            course: Course::default(),
            sampled: (0, 0, 0, 0.0),
            requests_s: 0.0,
        };
        world.faults();
        let up = world.sides.iter().flatten().count().max(1) as u64;
        for gate in world.gates.iter_mut().filter(|gate| gate.up) {
            gate.thinking[AGES - 3] = fleet.active / up;
        }
        world
    }

    fn step(&mut self, step: u64) {
        let fleet = self.fleet;
        let every = |seconds: f64| ((seconds / fleet.step_s).round() as u64).max(1);
        let (tick, interval) = (every(TICK_S), every(INTERVAL.as_secs_f64()));
        let learned = every(EXPERIENCE_INTERVAL.as_secs_f64());
        self.now = (step + 1) as f64 * fleet.step_s;
        if step.is_multiple_of(every(0.01)) {
            self.faults();
        }
        if step.is_multiple_of(tick) {
            self.spread();
        }
        while let Some(message) = self.messages.arrived(self.now) {
            self.arrives(message);
        }
        self.customers();
        self.serve();
        for index in 0..self.gates.len() {
            // Gates tick one after the other, as they were started.
            let phase = step + index as u64 * 7;
            if self.gates[index].up && phase.is_multiple_of(tick) {
                self.gates[index].tick(self.now, self.used_s, fleet);
                if fleet.divided && phase.is_multiple_of(interval) {
                    self.report(index);
                }
                if fleet.divided && phase.is_multiple_of(learned) {
                    self.tell(index);
                }
            }
        }
        if fleet.divided && step.is_multiple_of(interval) {
            let renewed_s = (self.now - 2.0 * fleet.network.delay_s).max(0.0);
            self.lease.renew(self.now, renewed_s, &self.sides);
            self.tables();
        }
        if step.is_multiple_of(tick) {
            self.sample();
        }
    }

    fn faults(&mut self) {
        for index in 0..self.gates.len() {
            let side = side(self.fleet, index, self.now);
            self.sides[index] = side;
            if side.is_none() && self.gates[index].up {
                self.homeless += self.gates[index].goes_down();
                self.lease.dividers.retain(|(gate, _)| *gate != index);
            } else if side.is_some() && !self.gates[index].up {
                self.gates[index].starts(self.now, self.used_s, self.fleet);
            }
        }
    }

    /// Where new sessions come to.
    fn spread(&mut self) {
        let (fleet, gates) = (self.fleet, self.gates.len());
        let of_capacity =
            fleet.load.iter().rev().find(|(from_s, _)| self.now >= *from_s).map_or(0.0, |it| it.1);
        let per_s = fleet.sessions_per_s() * of_capacity;
        let tenth = gates.div_ceil(10);
        let weight = |index: usize| match fleet.spread {
            Spread::Even => 1.0,
            Spread::Moving { every_s, crowded } => {
                let turn = (self.now / every_s) as usize * tenth % gates;
                let is_crowded = (index + gates - turn) % gates < tenth;
                let (share, of) = match is_crowded {
                    true => (crowded, tenth),
                    false => (1.0 - crowded, gates - tenth),
                };
                share / of as f64
            }
        };
        let weight = |index: usize| if self.gates[index].up { weight(index) } else { 0.0 };
        let all: f64 = (0..gates).map(weight).sum();
        self.new_per_s = (0..gates).map(|index| per_s * weight(index) / all.max(1e-9)).collect();
    }

    fn customers(&mut self) {
        let fleet = self.fleet;
        let up = self.gates.iter().filter(|gate| gate.up).count();
        let chance = fleet.step_s / fleet.think_s;
        let mut returning = binomial(&mut self.random, self.homeless, chance);
        self.homeless -= returning;
        let each = returning.div_ceil(up.max(1) as u64);
        for (gate, new_per_s) in self.gates.iter_mut().zip(&self.new_per_s) {
            if gate.up {
                let here = each.min(returning);
                returning -= here;
                gate.returning(here);
                gate.customers(self.now, fleet, *new_per_s);
            }
        }
    }

    /// The service works for a step, equally fast on all requests, on each at most with one
    /// processor.
    fn serve(&mut self) {
        let fleet = self.fleet;
        let requests: u64 = self.gates.iter().map(|gate| gate.in_service).sum();
        if requests == 0 {
            return;
        }
        let each_cpus = (fleet.cpus / requests as f64).min(1.0);
        let chance = fleet.step_s * each_cpus / fleet.request_cpu_s;
        for gate in &mut self.gates {
            gate.answers(fleet, chance);
        }
        self.used_s += fleet.step_s * each_cpus * requests as f64;
        self.requests_s += fleet.step_s * requests as f64;
    }

    fn report(&mut self, index: usize) {
        let gate = &mut self.gates[index];
        let time = Duration::from_secs_f64(self.now);
        let demand = gate.member.demand(time, &gate.controller.outlook());
        // NATS takes it in and gives it out.
        self.course.carries(2, json_bytes(&demand));
        self.messages.send(self.now, Message::Report(index, demand));
    }

    fn tell(&mut self, index: usize) {
        let experience = self.gates[index].controller.experience();
        self.course.carries(2, json_bytes(&experience));
        self.messages.send(self.now, Message::Experience(index, experience));
    }

    fn tables(&mut self) {
        let time = Duration::from_secs_f64(self.now);
        for (from, divider) in &mut self.lease.dividers {
            let up = (0..self.gates.len()).filter(|index| self.gates[*index].up);
            // Each message is taken in once and given out to each gate.
            let copies = up.clone().count() as f64 + 1.0;
            if let Some(learned) = divider.experience(time) {
                self.course.carries(copies as u64, json_bytes(&learned));
                let learned = Rc::new(learned);
                up.clone().for_each(|to| {
                    self.messages.send(self.now, Message::Learned(*from, to, learned.clone()));
                });
            }
            let Some(table) = divider.table(time) else { continue };
            let parts = table.shares.len().div_ceil(MOST_LINES) as f64;
            self.course.carries((parts * copies) as u64, json_bytes(&table) / parts);
            let table = Rc::new(table);
            up.for_each(|to| {
                self.messages.send(self.now, Message::Table(*from, to, table.clone()));
            });
        }
    }

    fn arrives(&mut self, message: Message) {
        let time = Duration::from_secs_f64(self.now);
        let reaches = |from: usize, to: usize| {
            let (from_side, to_side) = (self.sides[from], self.sides[to]);
            from == to || (from_side == to_side && from_side.is_some_and(|it| it != Side::Nobody))
        };
        match message {
            Message::Report(from, demand) => {
                for (at, divider) in &mut self.lease.dividers {
                    if reaches(from, *at) {
                        // Reports may overtake each other: an older one is refused.
                        let _ = divider.report(time, &demand);
                    }
                }
            }
            Message::Experience(from, experience) => {
                for (at, divider) in &mut self.lease.dividers {
                    if reaches(from, *at) {
                        let _ = divider.learn(self.gates[from].name(), &experience);
                    }
                }
            }
            Message::Learned(from, to, learned) => {
                if self.fleet.learns && self.gates[to].up && reaches(from, to) {
                    let gate = &mut self.gates[to];
                    if let Ok(experience) = gate.member.learns(&learned) {
                        gate.controller.learn_from(experience);
                    }
                }
            }
            Message::Table(from, to, table) => {
                if self.gates[to].up && reaches(from, to) {
                    let _ = self.gates[to].member.take(&table);
                }
            }
        }
    }

    fn sample(&mut self) {
        let fleet = self.fleet;
        let sum = |of: fn(&Gate) -> u64| self.gates.iter().map(of).sum::<u64>();
        let (offered, admitted, answered) =
            (sum(|it| it.offered), sum(|it| it.admitted), sum(|it| it.answered));
        let before = self.sampled;
        self.sampled = (offered, admitted, answered, self.used_s);
        let since = answered - before.2;
        let shown = self.gates.iter_mut().take(8);
        let (admitted_by, answered_by) = shown.map(Gate::since_last).unzip();
        let up: Vec<_> =
            self.gates.iter().zip(&self.new_per_s).filter(|(gate, _)| gate.up).collect();
        let of_request = fleet.request_cpu_s / fleet.cpus;
        let demands: Vec<_> = up
            .iter()
            .map(|(gate, new_per_s)| {
                let thinking = gate.thinking.iter().sum::<u64>() as f64;
                (thinking / fleet.think_s * of_request, *new_per_s * of_request)
            })
            .collect();
        let right = divide(1.0, &demands);
        let misplaced: f64 =
            up.iter().zip(&right).map(|((gate, _), right)| (gate.part.share - right).abs()).sum();
        let share = |gate: &Gate| if gate.up { gate.part.share } else { 0.0 };
        self.course.samples.push(Sample {
            at_s: self.now,
            offered: offered - before.0,
            admitted: admitted - before.1,
            admitted_by,
            answered: since,
            answered_by,
            response_s: std::mem::take(&mut self.requests_s) / since.max(1) as f64,
            in_use: (self.used_s - before.3) / fleet.cpus / TICK_S,
            shares: self.gates.iter().map(share).sum(),
            share: self.gates.iter().take(8).map(share).collect(),
            misplaced: misplaced / 2.0,
            cut_off: up.iter().filter(|(gate, _)| gate.member.standing().cut_off).count(),
        });
        let active = self.gates.iter().map(Gate::active).sum::<u64>() + self.homeless;
        self.course.sessions_at_once = self.course.sessions_at_once.max(active);
    }
}

fn json_bytes(message: &impl serde::Serialize) -> f64 {
    serde_json::to_string(message).map_or(0.0, |text| text.len() as f64)
}
