//! Parts of a test do together what one driver does alone: the same sessions at
//! the same times, page by page.

use std::collections::BTreeMap;
use std::time::{Duration, SystemTime};

use crate::common::{Manner, Server};
use tidegate_load::arrivals::{Model, Process, Rate, Schedule, Segment};
use tidegate_load::result::figures::GroupFigures;
use tidegate_load::{Arrivals, Error, Plan, Scenario, Shard, Summary, merge, run};

const WANDER: &str = r#"
name = "wander"
[session]
start = "A"
think = "5ms"
patience = "60s"
[pages]
A = { path = "/a/{customer}" }
B = { path = "/b/{random}" }
[transitions]
A = { A = 0.3, B = 0.4, End = 0.3 }
B = { A = 0.4, B = 0.3, End = 0.3 }
[[classes]]
name = "people"
share = 0.7
[[classes]]
name = "bots"
share = 0.3
max_requests = 2
"#;

fn plan(server: &Server) -> Plan {
    let mut plan = Plan::new(Scenario::from_toml(WANDER, "wander.toml").unwrap(), &server.url);
    // Nobody comes at the end of the window, where a driver that is late would miss them.
    let lasting = |lasts, per_s| Segment { lasts, from_per_s: per_s, to_per_s: per_s };
    let some = lasting(Duration::from_millis(800), 30.0);
    let rate = Rate::segments(vec![some, lasting(Duration::MAX, 0.0)]);
    let times = (0..20).map(|n| Duration::from_millis(40 * n)).collect();
    // Everybody has come after a second, and ends by herself.
    plan.arrivals = Some(Arrivals::side_by_side([
        Arrivals::times(times),
        Arrivals::of(Model::Open(Schedule::Rate(Process::Even, rate.clone()))),
        Schedule::Rate(Process::Poisson, rate).into(),
    ]));
    plan.insecure = true;
    (plan.warm_up, plan.measure) = (Duration::ZERO, Duration::from_secs(2));
    plan
}

/// When each session began, and which pages it requested.
fn sessions(raw: &std::path::Path) -> BTreeMap<u64, (f64, Vec<String>)> {
    let text = std::fs::read_to_string(raw).unwrap();
    let mut all = BTreeMap::<u64, (f64, Vec<String>)>::new();
    for line in text.lines() {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        let begun = line["intended_s"].as_f64().unwrap();
        let session = all.entry(line["session"].as_u64().unwrap()).or_insert((begun, Vec::new()));
        session.1.push(line["page"].as_str().unwrap().to_owned());
    }
    all
}

fn quiet(plan: Plan) -> Summary {
    run(plan, &mut |_| ()).unwrap()
}

#[test]
fn parts_bring_the_sessions_of_the_whole_test_at_the_same_times() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let folder = tempfile::tempdir().unwrap();
    let raw = |name: &str| folder.path().join(name);
    let mut whole = plan(&server);
    whole.raw = Some(raw("whole"));
    let alone = quiet(whole);

    let together = |start: SystemTime| -> Result<Vec<Summary>, Error> {
        std::thread::scope(|scope| {
            let begun: Vec<_> = (1..=3)
                .map(|number| {
                    let mut shard = plan(&server);
                    shard.shard = Shard::new(number, 3);
                    shard.start_at = Some(start);
                    shard.raw = Some(raw(&number.to_string()));
                    // One of them by two threads.
                    shard.cores = if number == 2 { vec![0, 0] } else { Vec::new() };
                    scope.spawn(|| run(shard, &mut |_| ()))
                })
                .collect();
            begun.into_iter().map(|thread| thread.join().unwrap()).collect()
        })
    };
    // A machine that is short of time needs a later start for all to be ready.
    let shards = [500, 2_000, 8_000, 32_000]
        .into_iter()
        .find_map(|ms| together(SystemTime::now() + Duration::from_millis(ms)).ok())
        .expect("all are ready at the start");
    let mut union = BTreeMap::new();
    for number in 1..=3 {
        for (session, what) in sessions(&raw(&number.to_string())) {
            assert_eq!(union.insert(session, what), None, "{session} is in two parts");
        }
    }
    let whole = sessions(&raw("whole"));
    // Those that were under way at the end of the run are cut anywhere.
    let early = |all: &BTreeMap<u64, (f64, Vec<String>)>| -> BTreeMap<u64, (f64, Vec<String>)> {
        all.iter().filter(|(_, (at, _))| *at < 0.6).map(|(k, v)| (*k, v.clone())).collect()
    };
    assert!(early(&whole).len() > 30, "{}", whole.len());
    assert_eq!(early(&union), early(&whole));

    let named = |shard: &Summary| {
        ("part".to_owned(), shard.shard_result.as_deref().expect("a part has it").clone())
    };
    let merged = merge(shards.iter().map(named).collect()).unwrap();
    assert_eq!(merged.totals.offered, alone.totals.offered);
    assert_eq!((merged.driver.threads, merged.drivers.len()), (4, 3));
    let offered = |summary: &Summary| {
        let models = summary.models.iter().map(|model| (model.name.clone(), model.offered));
        models.collect::<Vec<_>>()
    };
    assert_eq!(offered(&merged), offered(&alone));
    for (index, merged) in merged.models.iter().enumerate() {
        let sum = |figure: fn(&GroupFigures) -> u64| -> u64 {
            shards.iter().map(|shard| figure(&shard.models[index])).sum()
        };
        assert_eq!(merged.requests_ok, sum(|model| model.requests_ok));
        assert_eq!(merged.completed, sum(|model| model.completed));
        assert_eq!(merged.response.count, sum(|model| model.response.count));
    }
    let answered: u64 = shards.iter().map(|shard| shard.response.count).sum();
    assert_eq!(merged.response.count, answered);
    assert!(alone.shard_result.is_none());
}

#[test]
fn a_start_in_the_past_and_one_too_far_ahead_are_reported() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let mut late = plan(&server);
    late.start_at = Some(SystemTime::now() - Duration::from_secs(3));
    let error = run(late, &mut |_| ()).unwrap_err();
    assert_eq!(error.exit_code(), 2);
    assert!(error.to_string().contains("start_at: was 3.0 s ago"), "{error}");
    let mut far = plan(&server);
    far.start_at = Some(SystemTime::now() + Duration::from_secs(90_000));
    assert!(run(far, &mut |_| ()).unwrap_err().to_string().contains("25.0 h ahead"));
    assert!(server.seen().is_empty());
}

#[test]
fn a_stop_while_it_waits_for_the_start_ends_the_run_at_once() {
    let server = Server::start(Manner::Answer { after: Duration::ZERO });
    let mut waiting = plan(&server);
    waiting.start_at = Some(SystemTime::now() + Duration::from_secs(3600));
    waiting.stop.stop();
    let summary = quiet(waiting);
    assert!(summary.interrupted && summary.measured_s < 1.0);
}
