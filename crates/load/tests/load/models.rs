//! The models of arrivals over real sockets.

use std::time::Duration;

use crate::common::{Manner, Server, loop_of, plan};
use tidegate_load::arrivals::{Closed, Model, Process, Rate, Schedule};
use tidegate_load::result::figures::GroupFigures;
use tidegate_load::{Arrivals, Summary, report, run};

const MS: Duration = Duration::from_millis(1);

fn quiet(plan: tidegate_load::Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

fn closed(customers: u32, think: Duration) -> Arrivals {
    let within = Some(Duration::ZERO);
    Arrivals::of(Model::Closed(Closed { customers, think: Some(think), within }))
}

/// The requests of a raw file.
fn lines(raw: &std::path::Path) -> impl Iterator<Item = serde_json::Value> {
    let text = std::fs::read_to_string(raw).unwrap();
    let lines: Vec<_> = text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines.into_iter()
}

#[test]
fn closed_customers_are_never_more_than_they_are() {
    let server = Server::start(Manner::Answer { after: 20 * MS });
    let mut plan = plan(loop_of(2, ""), &server, 1.0, 60);
    plan.arrivals = Some(closed(3, Duration::ZERO));
    let mut most = 0;
    let summary = run(plan, &mut |snapshot| most = most.max(snapshot.in_flight)).unwrap();
    assert_eq!((summary.totals.offered, summary.totals.completed), (60, 60));
    assert_eq!(summary.totals.requests_ok, 120);
    assert!(most <= 3, "{most}");
    // 20 sessions each, one after the other, of two requests of 20 ms: 0.8 s
    // at least.
    assert!(summary.measured_s >= 0.8, "{}", summary.measured_s);
    assert_eq!(summary.arrivals, "closed: 3 customers");
}

#[test]
fn in_the_closed_model_a_stall_delays_everybody_once() {
    // Nobody is answered for a second: each of the four waits through it once,
    // where a schedule would bring others who wait as well.
    let server = Server::start(Manner::Stall { from: 200 * MS, to: 1200 * MS });
    let directory = tempfile::tempdir().unwrap();
    let raw = directory.path().join("raw.jsonl");
    let mut plan = plan(loop_of(1, ""), &server, 1.0, u64::MAX);
    plan.arrivals = Some(closed(4, 5 * MS));
    plan.measure = 2000 * MS;
    plan.raw = Some(raw.clone());
    let summary = quiet(plan);
    assert!(summary.response.max_ms >= 900.0, "{:?}", summary.response);
    assert_eq!(lines(&raw).filter(|line| line["response_ms"].as_f64() > Some(500.0)).count(), 4);
}

#[test]
fn a_closed_customer_thinks_after_a_refusal_too() {
    let server = Server::start(Manner::Reset);
    let mut plan = plan(loop_of(1, ""), &server, 1.0, u64::MAX);
    plan.arrivals = Some(closed(5, 100 * MS));
    plan.measure = 1000 * MS;
    let totals = quiet(plan).totals;
    // Some 10 times a second each, or less on a machine that is short of time; without thought
    // it would be thousands.
    assert!((5..=120).contains(&totals.refused), "{totals:?}");
    assert_eq!(totals.offered, totals.started);
}

#[test]
fn in_the_open_model_each_request_is_a_session_of_its_own() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let mut plan = plan(loop_of(50, ""), &server, 1.0, 40);
    let schedule = Schedule::Rate(Process::Even, Rate::constant(400.0));
    plan.arrivals = Some(Arrivals::of(Model::Open(schedule)));
    let summary = quiet(plan);
    assert_eq!((summary.totals.completed, summary.totals.requests_ok), (40, 40));
    assert_eq!(summary.session_length.mean_requests, 1.0);
}

#[test]
fn arrivals_side_by_side_all_come_and_drivers_share_them() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let mut plan = plan(loop_of(3, ""), &server, 1.0, u64::MAX);
    let times = |count: u64| (0..count).map(|n| Duration::from_millis(5 * n)).collect();
    plan.arrivals = Some(Arrivals::side_by_side([
        Arrivals::times(times(20)),
        Arrivals::of(Model::Open(Schedule::times(times(31)))),
    ]));
    let one = quiet(plan.clone()).totals;
    assert_eq!((one.offered, one.completed, one.requests_ok), (51, 51, 20 * 3 + 31));
    // Two threads on one processor.
    plan.cores = vec![0, 0];
    let two = quiet(plan.clone());
    assert_eq!(two.driver.threads, 2);
    assert_eq!((two.totals.offered, two.totals.requests_ok), (51, 91));
    plan.arrivals = Some(closed(5, Duration::ZERO));
    plan.max_sessions = Some(40);
    assert_eq!(quiet(plan).totals.completed, 40);
}

#[test]
fn each_model_of_a_mixture_has_its_own_figures() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let text = "[session]\nthink = \"1ms\"\n[pages]\nHome = { path = \"/\" }\n\
                Wrong = { path = \"/wrong\", check = { contains = \"what nobody says\" } }\n\
                [[classes]]\nname = \"people\"\nshare = 1\nsteps = [\"Home\", \"Home\", \"Home\"]\n\
                [[classes]]\nname = \"wrong\"\nshare = 0\nsteps = [\"Wrong\"]\n";
    let scenario = tidegate_load::Scenario::from_toml(text, "mix.toml").unwrap();
    let mut plan = plan(scenario, &server, 1.0, u64::MAX);
    let times = |count: u64| Schedule::times((0..count).map(|n| (5 * n) as u32 * MS).collect());
    plan.arrivals = Some(Arrivals::side_by_side([
        times(20).into(),
        Arrivals::of(Model::Open(times(31))),
        // Each customer begins one session, then thinks until the end.
        closed(4, Duration::from_secs(3600)).by("wrong"),
        Arrivals::times(vec![Duration::from_secs(600)]),
    ]));
    plan.measure = 800 * MS;
    for threads in [1, 2] {
        plan.cores = vec![0; threads];
        let summary = quiet(plan.clone());
        let figures = |group: &GroupFigures| {
            [group.offered, group.completed, group.failed, group.requests_ok, group.response.count]
        };
        let models: Vec<_> = summary.models.iter().map(figures).collect();
        assert_eq!(models, [[20, 20, 0, 60, 60], [31, 31, 0, 31, 31], [4, 0, 4, 0, 4], [0; 5]]);
        let classes: Vec<_> = summary.classes.iter().map(figures).collect();
        assert_eq!(classes, [[51, 51, 0, 91, 91], [4, 0, 4, 0, 4]]);
        assert_eq!(summary.models[2].failed_by_kind.get("check"), Some(&4));
        let words: Vec<_> = summary.models.iter().map(|model| model.name.as_str()).collect();
        assert_eq!(words.join(" + "), summary.arrivals);
        let lines = report(&summary);
        let name = "arrivals open: requests at 31 listed times";
        let row = lines.lines().skip_while(|line| !line.starts_with(name)).nth(1);
        assert!(row.is_some_and(|row| row.contains(" 31 ")), "{lines}");
        assert!(lines.lines().all(|line| line.chars().count() <= 80), "{lines}");
        let json = serde_json::to_value(&summary).unwrap();
        assert_eq!(json["models"][2]["failed"], 4);
    }
    plan.arrivals = Some(times(3).into());
    let summary = quiet(plan.clone());
    assert!(summary.models.is_empty());
    plan.arrivals = Some(Arrivals::side_by_side((0..101).map(|_| Arrivals::poisson(1.0))));
    let message = plan.check().unwrap_err().to_string();
    assert!(message.contains("101 entries"), "{message}");
}

#[test]
fn a_rate_below_one_a_second_fills_the_window_that_was_asked_for() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let half = Schedule::Rate(Process::Even, Rate::constant(0.5));
    let runs = (1..=4).flat_map(|seed| {
        [Model::Open(half.clone()), Model::PartlyOpen(half.clone())].map(|model| {
            let mut plan = plan(loop_of(1, ""), &server, 1.0, u64::MAX);
            (plan.max_sessions, plan.arrivals) = (None, Some(Arrivals::of(model)));
            (plan.measure, plan.seed) = (1200 * MS, seed);
            std::thread::spawn(move || quiet(plan))
        })
    });
    for run in runs.collect::<Vec<_>>() {
        let summary = run.join().unwrap();
        // A gap of 2 s: one arrival, or none.
        assert!(summary.totals.offered <= 1, "{:?}", summary.totals);
        assert_eq!(summary.measured_s, 1.2);
        assert_eq!(summary.offered_per_s, summary.totals.offered as f64 / 1.2);
    }
    // A number of sessions ends the run, and its rate is that of the time it took.
    let mut plan = plan(loop_of(1, ""), &server, 1.0, 1);
    plan.arrivals = Some(Arrivals::of(Model::Open(half)));
    let summary = quiet(plan);
    assert_eq!((summary.totals.offered, summary.totals.completed), (1, 1));
    assert!(summary.measured_s < 3.0, "{}", summary.measured_s);
    assert!((summary.offered_per_s * summary.measured_s - 1.0).abs() < 1e-9);
}

#[test]
fn a_log_of_times_is_replayed_from_the_scenario() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("shop.toml");
    let log = "at,path\n2024-05-01T12:00:00Z,/\n2024-05-01T12:00:01Z,/\n2024-05-01T12:00:03Z,/\n";
    std::fs::write(directory.path().join("log.csv"), log).unwrap();
    let text = "[session]\nstart = \"Home\"\nmax_requests = 1\n[pages]\nHome = { path = \"/\" }\n\
                [transitions]\nHome = { End = 1 }\n[arrivals]\nmodel = \"open\"\n\
                replay = { file = \"log.csv\", column = \"at\", speed = 10 }\n";
    std::fs::write(&path, text).unwrap();
    let scenario = tidegate_load::Scenario::from_file(&path).unwrap();
    let mut plan = plan(scenario, &server, 1.0, u64::MAX);
    plan.arrivals = None;
    plan.raw = Some(directory.path().join("raw.jsonl"));
    let summary = quiet(plan);
    assert_eq!(summary.totals.completed, 3);
    let raw = directory.path().join("raw.jsonl");
    let begun: Vec<f64> = lines(&raw).filter_map(|line| line["intended_s"].as_f64()).collect();
    assert_eq!(begun, [0.0, 0.1, 0.3]);
}
