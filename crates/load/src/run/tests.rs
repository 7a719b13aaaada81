//! The rates of runs in virtual time: what a schedule brings, by the window that was asked for.

use super::*;
use crate::arrivals::{Arrivals, Model, Process, Rate, Schedule};
use crate::recorder::event::{EventKind, SessionGroup};
use crate::result::driver::Machine;
use crate::scenario::Scenario;

/// A run of 10 s of warm-up and a minute measured, in which nothing happens but arrivals.
fn run_of(schedule: &Schedule, seed: u64) -> Summary {
    let page = "[session]\nsteps = [\"Page\"]\n[pages]\nPage = { path = \"/\" }\n";
    let scenario = Scenario::from_toml(page, "page.toml").unwrap();
    let mut plan = Plan::new(scenario, "https://127.0.0.1:1");
    plan.arrivals = Some(Arrivals::of(Model::Open(schedule.clone())));
    (plan.warm_up, plan.measure) = (Duration::from_secs(10), Duration::from_secs(60));
    let until = plan.warm_up + plan.measure;
    let within = schedule.stream(0, 1, seed).take_while(|at| *at < until);
    let kind = EventKind::Offered { group: SessionGroup::default() };
    let events = within.map(|at| Event { at, kind }).collect();
    let mut recorder = Recorder::new(&plan, 1).unwrap();
    recorder.add(&Batch { events, until, last: true, ..Batch::default() });
    let recorded = recorder.finish(|_| ());
    let test = Test::of(&plan, 0, &plan.arrivals().unwrap());
    let driver = DriverShard {
        shard: Shard::WHOLE,
        machine: Machine::default(),
        agent: None,
        interrupted: false,
        raw_error: None,
        driver: recorded.driver,
    };
    summarize(&test, vec![driver], &recorded.tally, recorded.series, recorded.measured)
}

#[test]
fn a_rate_below_one_a_second_is_what_came_by_the_window_that_was_asked_for() {
    for process in [Process::Poisson, Process::Even] {
        let schedule = Schedule::Rate(process, Rate::constant(0.2));
        let runs: Vec<Summary> = (0..100).map(|seed| run_of(&schedule, seed)).collect();
        for run in &runs {
            assert_eq!(run.measured_s, 60.0);
            assert!((run.offered_per_s - run.totals.offered as f64 / 60.0).abs() < 1e-12);
            let in_stretches: u64 = run.stretches.iter().map(|stretch| stretch.offered).sum();
            assert_eq!(in_stretches, run.totals.offered);
        }
        let mean = runs.iter().map(|run| run.offered_per_s).sum::<f64>() / 100.0;
        // Of a Poisson process √(0.2 / (60 · 100)) = 0.0058; four times that.
        assert!((mean - 0.2).abs() < 0.023, "{mean} {process:?}");
    }
}

#[test]
fn a_run_in_which_nobody_came_has_the_window_that_was_asked_for() {
    let rare = Schedule::Rate(Process::Poisson, Rate::constant(1e-5));
    let run = run_of(&rare, 1);
    assert_eq!((run.totals.offered, run.measured_s, run.offered_per_s), (0, 60.0, 0.0));
}
