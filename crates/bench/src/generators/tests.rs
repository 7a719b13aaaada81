//! Goals, text and exit code of results.

use super::customers::{Customers, Kept, Memory};
use super::report::{Failure, Report};
use super::row::Row;
use super::table::render;
use super::tool::{Tool, Work};
use super::turn::Turn;
use crate::machine::Machine;
use tidegate_stats::Verdict;

fn turn(cpu_s: f64, full: u64, resumed: u64) -> Turn {
    Turn { cpu_s, wall_s: 1.0, requests: 1000, full, resumed, server_cpu_s: 0.5 }
}

fn report() -> Report {
    let turns = vec![(Tool::Tidegate, 0, turn(0.01, 16, 0)), (Tool::Wrk, 0, turn(0.02, 16, 0))];
    Report {
        machine: Machine::read(),
        versions: vec![(Tool::Tidegate, "1".to_owned()), (Tool::Wrk, "4".to_owned())],
        absent: Vec::new(),
        connections: 16,
        rounds: 1,
        window_s: 1.0,
        rows: vec![Row::of(Work::KeepAliveTls, turns)],
        memory: Vec::new(),
        rates: Vec::new(),
        failed: Vec::new(),
    }
}

#[test]
fn a_rate_that_the_server_limited_is_not_judged() {
    let kept = |server_share| Kept {
        asked_per_s: 1000.0,
        achieved_per_s: 800.0,
        cpu_share: 0.6,
        server_share,
        missed_share: 0.0,
    };
    let rates = |server_share| Report { rates: vec![kept(server_share)], ..report() };
    let missed = |report: &Report| {
        report.goals().iter().filter(|goal| goal.verdict == Verdict::DoesNotHold).count()
    };
    let (of_driver, of_server) = (rates(0.9), rates(0.99));
    assert_eq!(missed(&of_driver), missed(&of_server) + 1);
    let remark = "1000 requests/s: not judged, the server used 99 % of its core";
    assert!(render(&of_server).contains(remark) && !render(&of_driver).contains(remark));
}

#[test]
fn a_ratio_whose_interval_contains_the_limit_is_undecided_and_no_error() {
    let goal = |own: [f64; 2]| {
        let of = |tool, cpu_s: [f64; 2]| {
            (0..2).zip(cpu_s).map(move |(round, cpu_s)| (tool, round, turn(cpu_s, 16, 0)))
        };
        let turns = of(Tool::Tidegate, own).chain(of(Tool::Wrk, [0.02, 0.02]));
        let row = Row::of(Work::KeepAliveTls, turns.collect());
        let report = Report { rows: vec![row], ..report() };
        let goal = report.goals().remove(0);
        assert!(render(&report).contains(&format!("at most 1.00: {}\n", goal.verdict.words())));
        (goal.verdict, report.verdict().code())
    };
    assert_eq!(goal([0.015, 0.019]), (Verdict::Holds, 0));
    assert_eq!(goal([0.019, 0.023]), (Verdict::Undecided, 0));
    assert_eq!(goal([0.023, 0.024]), (Verdict::DoesNotHold, 1));
}

#[test]
fn a_failed_part_is_named_and_leaves_the_others() {
    let whole = report();
    assert_eq!(whole.verdict().code(), 0, "{}", render(&whole));
    let why = "2000 customers did not connect within a minute".to_owned();
    let failed = Report { failed: vec![Failure { part: "memory over TLS", why }], ..whole };
    let text = render(&failed);
    let row = text.lines().find(|line| line.starts_with("keep-alive GET 1 KiB, TLS 1.3 "));
    assert!(row.is_some_and(|row| row.contains("10.0 (10-10)")), "{text}");
    assert!(text.contains("\nmemory over TLS: FAILED: 2000 customers did not connect"), "{text}");
    assert_eq!(failed.verdict().code(), 3);
    let json = serde_json::to_value(&failed).unwrap();
    assert_eq!(json["failed"][0]["part"], "memory over TLS");
}

#[test]
fn a_row_of_fewer_customers_than_requested_is_marked() {
    let memory = |number| Memory {
        tls: true,
        customers: Customers { number, asked: 20_000 },
        resident_mb: 200.0,
        bytes_per_customer: 7000.0,
    };
    let with = |number| Report { memory: vec![memory(number)], ..report() };
    let row = "bytes of an idle customer over TLS";
    assert!(render(&with(20_000)).contains(&format!("  {row}   ")));
    let fewer = with(19_900);
    assert!(render(&fewer).contains(&format!("  {row}, 19900 of 20000 (open files)")));
    assert_eq!(serde_json::to_value(&fewer).unwrap()["memory"][0]["customers"], 19_900);
    assert_eq!(fewer.verdict().code(), 0);
}
