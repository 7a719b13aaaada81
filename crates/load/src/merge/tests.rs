use std::time::Duration;

use proptest::prelude::*;
use serde_json::Value;

use tidegate_stats::Observation;

use super::*;
use crate::arrivals::Arrivals;
use crate::client::connection::CompletedHandshake;
use crate::outcome::{Cause, Failure, Handshake, Offered, Outcome, Refusal, Stage};
use crate::plan::Plan;
use crate::plan::fingerprint::fingerprint;
use crate::recorder::event::{
    Batch, Event, EventKind, Example, Expectation, FailureSample, Fallback, Request, SessionGroup,
};
use crate::recorder::fold::Recorder;
use crate::result::driver::{DriverShard, Machine};
use crate::result::failure::Sample;
use crate::scenario::Scenario;

const SCENARIO: &str = r#"
name = "two"
[session]
start = "Home"
[pages]
Home = { path = "/", check = { contains = "hello" } }
Item = { link = "/item" }
[transitions]
Home = { Item = 1 }
Item = { End = 1 }
[[classes]]
name = "people"
share = 1
[[classes]]
name = "bots"
share = 1
[thresholds]
response_p95_ms = { max = 1 }
"#;

fn plan(shard: Option<Shard>) -> Plan {
    let scenario = Scenario::from_toml(SCENARIO, "two.toml").unwrap();
    let mut plan = Plan::new(scenario, "https://127.0.0.1:1");
    let three = [Arrivals::poisson(5.0), Arrivals::closed(9), Arrivals::even(2.0).by("bots")];
    plan.arrivals = Some(Arrivals::side_by_side(three));
    (plan.warm_up, plan.measure) = (Duration::from_secs(2), Duration::from_secs(4));
    plan.shard = shard;
    plan
}

/// Records batches, one after the other, of so many threads, and gives the result.
fn recorded(plan: &Plan, threads: usize, batches: &[Batch]) -> Summary {
    let mut recorder = Recorder::new(plan, threads).unwrap();
    let addresses = ["192.0.2.1:443", "[2001:db8::1]:443"].map(|it| it.parse().unwrap());
    recorder.addresses(&addresses, &[]);
    for batch in batches {
        recorder.add(batch);
        recorder.emit_due(|_| ());
    }
    let folded = recorder.finish(|_| ());
    let test = Test::of(plan, 1000, &plan.arrivals().unwrap());
    let driver = DriverShard {
        shard: plan.shard.unwrap_or(Shard::WHOLE),
        machine: Machine::default(),
        agent: None,
        interrupted: false,
        raw_error: None,
        driver: folded.driver,
    };
    let shard_result = plan.shard.map(|_| {
        let (test, driver, tally) = (test.clone(), driver.clone(), folded.tally.clone());
        let (measured, seconds) = (folded.measured, folded.seconds);
        Box::new(ShardResult {
            format: ShardResult::FORMAT,
            test,
            driver,
            measured,
            tally,
            seconds,
        })
    });
    let mut summary = summarize(&test, vec![driver], &folded.tally, folded.series, folded.measured);
    summary.shard_result = shard_result;
    summary
}

/// Through JSON and back, as files are.
fn saved(name: &str, summary: &Summary) -> (String, ShardResult) {
    let bytes = serde_json::to_vec(summary).unwrap();
    (name.to_owned(), ShardResult::parse(name, &bytes).unwrap())
}

fn any_kind() -> impl Strategy<Value = EventKind> {
    let took = || (0u64..5_000_000).prop_map(Duration::from_micros);
    let group = || (0u8..2, 0u8..3).prop_map(|(class, model)| SessionGroup { class, model });
    let agreed = |(version, suite, group): (u16, u16, Option<u16>)| (version, suite, group).into();
    let outcome = || {
        prop_oneof![
            Just(Outcome::Completed),
            Just(Outcome::Refused(Refusal::Alert)),
            Just(Outcome::Refused(Refusal::Reset)),
            Just(Outcome::Failed(Failure::Status5xx)),
            Just(Outcome::Failed(Failure::ReturningRefused)),
            Just(Outcome::Abandoned(Stage::FirstByte)),
            Just(Outcome::CutOff),
        ]
    };
    let request =
        (group(), 0u16..4, took(), took(), 0u16..700, any::<bool>(), outcome(), 0u64..9999)
            .prop_map(|(group, page, late, byte, status, ok, outcome, received_bytes)| {
                let answered = outcome == Outcome::Completed;
                EventKind::Request(Request {
                    session: 1,
                    group,
                    page: page / 2,
                    asset: (page % 2 == 1).then_some(0),
                    intended: Duration::from_millis(1),
                    late,
                    status: if answered { status } else { 0 },
                    ok: ok && answered,
                    outcome: (!answered).then_some(outcome),
                    failed: None,
                    first_byte: byte,
                    last_byte: byte / 3,
                    received_bytes,
                    encoded: ok,
                    decoded_bytes: received_bytes * 2,
                })
            });
    let shaken = (0u16..3, any::<bool>(), any::<bool>(), took()).prop_map(
        move |(suite, full, ticket, took)| {
            EventKind::Handshake(CompletedHandshake {
                kind: if full { Handshake::Full } else { Handshake::Resumed },
                offered: if ticket { Offered::Ticket } else { Offered::Nothing },
                agreed: agreed((0x0304, 0x1301 + suite, (suite > 0).then_some(29))),
                took,
            })
        },
    );
    prop_oneof![
        6 => request,
        2 => shaken,
        1 => group().prop_map(|group| EventKind::Offered { group }),
        1 => group().prop_map(|group| EventKind::NotStarted { group }),
        1 => group().prop_map(|group| EventKind::Started { group }),
        1 => group().prop_map(|group| EventKind::Admitted { group }),
        1 => group().prop_map(|group| EventKind::Returned { group }),
        1 => took().prop_map(|late| EventKind::Begun { late }),
        1 => (took(), 0u8..2)
            .prop_map(|(took, address)| EventKind::Connected { took, address }),
        1 => (0u8..2).prop_map(|address| EventKind::PassedOver { address }),
        1 => took().prop_map(|late| EventKind::Heartbeat { late }),
        1 => took().prop_map(|took| EventKind::PageLoad { page: 0, time: Observation::Exact(took) }),
        1 => Just(EventKind::CheckFailed { page: 0, expectation: Expectation::Rule(0) }),
        1 => Just(EventKind::CheckFailed { page: 1, expectation: Expectation::NotOffered }),
        1 => Just(EventKind::Fallback(Fallback::Via)),
        1 => Just(EventKind::Redirect),
        2 => (group(), outcome(), any::<bool>())
            .prop_map(|(group, outcome, admitted)| EventKind::Ended { group, outcome, admitted }),
    ]
}

/// What a driver thread reports in six seconds: a batch for each second.
fn any_thread() -> impl Strategy<Value = Vec<Vec<Event>>> {
    let event = (0u64..1_000_000, any_kind());
    let second = proptest::collection::vec(event, 0..25);
    proptest::collection::vec(second, 6).prop_map(|seconds| {
        let event = |index: usize, (micros, kind)| Event {
            at: Duration::from_micros(index as u64 * 1_000_000 + micros),
            kind,
        };
        let seconds = seconds.into_iter().enumerate();
        seconds
            .map(|(index, events)| events.into_iter().map(|it| event(index, it)).collect())
            .collect()
    })
}

fn batches(thread: usize, seconds: &[Vec<Event>]) -> Vec<Batch> {
    let example =
        |page, expectation| Example { page, expectation, found: "something else".to_owned() };
    let examples = vec![example(0, Expectation::Rule(0)), example(1, Expectation::NotOffered)];
    let sample = Sample { request: "GET / HTTP/1.1".to_owned(), ..Sample::default() };
    let samples =
        vec![FailureSample { key: (0, None, Cause::Failed(Failure::ReturningRefused)), sample }];
    (1u64..)
        .zip(seconds)
        .map(|(second, events)| Batch {
            thread,
            until: Duration::from_secs(second),
            events: events.clone(),
            examples: examples.clone(),
            samples: samples.clone(),
            cpu: Duration::from_millis(second * 100 * (thread as u64 + 1)),
            in_flight: second + thread as u64,
            lost: 0,
            last: second == 6,
        })
        .collect()
}

#[test]
fn a_figure_is_read_as_it_was_written() {
    // Without the feature `float_roundtrip` of serde_json this one loses its last bit.
    let figure = 15.970358000000001_f64;
    let text = serde_json::to_string(&figure).unwrap();
    assert_eq!(serde_json::from_str::<f64>(&text).unwrap().to_bits(), figure.to_bits());
}

/// A result without what is a driver's own.
fn figures(summary: &Summary) -> Value {
    let mut json = serde_json::to_value(summary).unwrap();
    let object = json.as_object_mut().unwrap();
    object.remove("drivers");
    object.remove("portion");
    // Each driver reports its own CPU share.
    for reasons in ["saturated_because", "cpu_s"] {
        object["driver"].as_object_mut().unwrap().remove(reasons);
    }
    json
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn merging_parts_equals_recording_in_one(
        threads in proptest::collection::vec(any_thread(), 1..5),
    ) {
        let of = threads.len() as u32;
        let mut together: Vec<Batch> = (0usize..)
            .zip(&threads)
            .flat_map(|(thread, seconds)| batches(thread, seconds))
            .collect();
        together.sort_by_key(|batch| batch.until);
        let whole = recorded(&plan(None), threads.len(), &together);

        let mut parts: Vec<(String, ShardResult)> = (1u32..)
            .zip(&threads)
            .map(|(number, seconds)| {
                let mut batches = batches(number as usize - 1, seconds);
                batches.iter_mut().for_each(|batch| batch.thread = 0);
                let shard = Shard::new(number, of);
                saved(&format!("{number}.json"), &recorded(&plan(shard), 1, &batches))
            })
            .collect();
        // In whatever order they are named.
        parts.reverse();
        let merged = merge(parts).unwrap();
        prop_assert_eq!(figures(&merged), figures(&whole));
        prop_assert_eq!((merged.classes.len(), merged.models.len()), (2, 3));
        prop_assert_eq!(merged.drivers.len(), if of > 1 { of as usize } else { 0 });
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(48))]

    #[test]
    fn events_that_come_together_count_as_those_that_come_one_by_one(seconds in any_thread()) {
        let together = batches(0, &seconds);
        let alone = |batch: &Batch| {
            let until = batch.until - Duration::from_secs(1);
            let event = move |event: &Event| Batch { until, events: vec![*event], ..Batch::default() };
            let (until, cpu, in_flight, last) = (batch.until, batch.cpu, batch.in_flight, batch.last);
            let (examples, samples) = (batch.examples.clone(), batch.samples.clone());
            let end = Batch { until, examples, samples, cpu, in_flight, last, ..Batch::default() };
            batch.events.iter().map(event).chain([end]).collect::<Vec<Batch>>()
        };
        let alone: Vec<Batch> = together.iter().flat_map(alone).collect();
        let plan = plan(None);
        let (together, alone) = (recorded(&plan, 1, &together), recorded(&plan, 1, &alone));
        prop_assert_eq!(figures(&alone), figures(&together));
    }
}

proptest! {
    #[test]
    fn a_changed_file_is_rejected_or_merged_without_a_panic(
        at in any::<proptest::sample::Index>(), byte in prop_oneof![b'0'..=b'9', any::<u8>()],
    ) {
        let mut bytes = saved_bytes();
        let at = at.index(bytes.len());
        bytes[at] = byte;
        if let Ok(one) = ShardResult::parse("x.json", &bytes) {
            let _ = merge(vec![("x.json".to_owned(), one), shard_result(2, 2)]);
        }
    }
}

/// A saved shard with events of several kinds.
fn saved_bytes() -> Vec<u8> {
    let event = |kind| Event { at: Duration::from_secs(3), kind };
    let ended = EventKind::Ended {
        group: SessionGroup::default(),
        outcome: Outcome::Completed,
        admitted: true,
    };
    let took = Duration::from_millis(7);
    let events = [
        EventKind::Offered { group: SessionGroup::default() },
        EventKind::Connected { took, address: 0 },
        ended,
    ]
    .map(event)
    .to_vec();
    let seconds = [vec![], vec![], vec![], events, vec![], vec![]];
    let summary = recorded(&plan(Shard::new(1, 2)), 1, &batches(0, &seconds));
    serde_json::to_vec(&summary).unwrap()
}

fn shard_result(number: u32, of: u32) -> (String, ShardResult) {
    let summary = recorded(&plan(Shard::new(number, of)), 1, &batches(0, &vec![Vec::new(); 6]));
    saved(&format!("{number}.json"), &summary)
}

/// The error of merging two shards of which the second was changed.
fn refused(change: impl FnOnce(&mut ShardResult)) -> String {
    let (one, mut two) = (shard_result(1, 2), shard_result(2, 2));
    change(&mut two.1);
    merge(vec![one, two]).unwrap_err().join("\n")
}

#[test]
fn shards_that_do_not_belong_together_are_rejected_with_the_reason() {
    assert!(merge(vec![shard_result(1, 2), shard_result(2, 2)]).is_ok());
    let has = |text: String, words: &[&str]| {
        assert!(words.iter().all(|word| text.contains(word)), "{words:?} in {text}");
    };
    has(refused(|two| two.test.scenario = "shop".into()), &["2.json", "scenario shop and two"]);
    has(refused(|two| two.test.target = "https://b".into()), &["target https://b and"]);
    has(refused(|two| two.test.seed = 7), &["seed 7 and 1", "same scenario and flags"]);
    has(refused(|two| two.test.started_at_unix_ms = 5), &["different runs", "--start-at"]);
    has(refused(|two| two.test.version = "0.0".into()), &["version of tidegate 0.0"]);
    has(refused(|two| two.test.measure /= 2), &["duration of 2s and 4s"]);
    has(refused(|two| two.test.fingerprint = "0".into()), &["scenario file or a flag"]);
    has(refused(|two| two.driver.shard = Shard::new(1, 2).unwrap()), &["twice", "2/2 is missing"]);
    has(
        refused(|two| two.driver.shard = Shard::new(2, 3).unwrap()),
        &["2/3", "1/2", "differently"],
    );
    let early = |two: &mut ShardResult| {
        two.driver.interrupted = true;
        two.measured = Duration::from_secs(1);
    };
    has(refused(early), &["2.json was stopped after 1.0 s", "went on to 4.0 s"]);
    has(
        merge(vec![shard_result(1, 3)]).unwrap_err().join("\n"),
        &["2/3 is missing", "3/3 is missing"],
    );
    has(merge(Vec::new()).unwrap_err().join("\n"), &["nothing to merge"]);
}

#[test]
fn a_lost_shard_is_reported_as_incomplete() {
    let missing = MissingShard { shard: Shard::new(2, 2).unwrap(), why: "was killed".to_owned() };
    let summary = merge_available(vec![shard_result(1, 2)], &[missing]).unwrap();
    assert_eq!(summary.exit_code(), 3);
    assert_eq!(
        summary.incomplete,
        [
            "driver 2 of 2 was killed: its result is lost, and these figures are those of the 1 other \
          shard of 2 only"
        ]
    );
}

#[test]
fn seconds_without_saved_histograms_are_reported() {
    let (mut one, two) = (shard_result(1, 2), shard_result(2, 2));
    one.1.seconds[3].times = None;
    let summary = merge(vec![one, two]).unwrap();
    assert_eq!(summary.series.len(), 6);
    assert!(summary.incomplete[0].contains("end after 3 s"), "{:?}", summary.incomplete);
}

#[test]
fn one_saturated_driver_makes_the_result_saturated() {
    let (one, mut two) = (shard_result(1, 2), shard_result(2, 2));
    two.1.driver.driver.saturated_because = vec!["busy".to_owned()];
    let summary = merge(vec![one, two]).unwrap();
    assert!(summary.driver_saturated);
    assert_eq!(summary.driver.saturated_because, ["driver 2: busy"]);
    assert_eq!(summary.driver.threads, 2);
}

#[test]
fn a_file_that_is_no_shard_or_is_damaged_is_rejected_with_the_remedy() {
    let json = |shard| {
        let summary = recorded(&plan(shard), 1, &batches(0, &vec![Vec::new(); 6]));
        serde_json::to_value(summary).unwrap()
    };
    let refusal = |json: &Value| {
        ShardResult::parse("x.json", &serde_json::to_vec(json).unwrap()).unwrap_err()
    };
    assert!(refusal(&json(None)).contains("x.json: is a whole run"));
    assert!(refusal(&serde_json::json!({ "format": 1, "runs": [] })).contains("--repeat"));
    assert!(refusal(&serde_json::json!([])).contains("x.json: "));
    let whole = json(Shard::new(1, 2));
    let with = |pointer: &str, value: Value| {
        let mut json = whole.clone();
        *json.pointer_mut(pointer).unwrap() = value;
        refusal(&json)
    };
    assert!(with("/format", 9.into()).contains("format 9"));
    assert!(with("/portion/format", 9.into()).contains("shards of format 9"));
    assert!(
        with("/portion/tally/spreads/response/exact", "AAAA".into()).contains("not a histogram")
    );
    assert!(with("/portion/tally/totals/offered", u64::MAX.into()).contains("counts 184467"));
    assert!(with("/portion/tally/stretches/0/response", "".into()).contains("stretch 0"));
    assert!(with("/portion/measured/secs", 99_999_999.into()).contains("longer than a day"));
    assert!(with("/portion/driver/part", "3/2".into()).contains("such as 1/3"));
    // A second's histogram is only opened when it is merged.
    let mut damaged = whole.clone();
    damaged["portion"]["seconds"][0]["times"]["exact"] = "AAAA".into();
    let one = ShardResult::parse("x.json", &serde_json::to_vec(&damaged).unwrap()).unwrap();
    let error = merge(vec![("x.json".to_owned(), one), shard_result(2, 2)]).unwrap_err();
    assert!(error[0].contains("x.json: second 0 has no histogram"), "{error:?}");
}

#[test]
fn the_fingerprint_depends_on_scenario_and_flags_and_not_on_output_files() {
    let of = |change: fn(&mut Plan)| {
        let mut plan = plan(Shard::new(1, 2));
        change(&mut plan);
        fingerprint(&plan)
    };
    let same = of(|_| ());
    assert_eq!(of(|plan| plan.raw = Some("x".into())), same);
    assert_eq!(of(|plan| plan.shard = Shard::new(2, 2)), same);
    assert_eq!(of(|plan| plan.cores = vec![1]), same);
    for other in [
        of(|plan| plan.seed = 2),
        of(|plan| plan.customers = Some(7)),
        of(|plan| plan.time_scale = 0.5),
        of(|plan| plan.arrivals = Some(Arrivals::poisson(6.0))),
        of(|plan| {
            let text = SCENARIO.replace("hello", "hallo");
            plan.scenario = Scenario::from_toml(&text, "two.toml").unwrap();
        }),
    ] {
        assert_ne!(other, same);
    }
}
