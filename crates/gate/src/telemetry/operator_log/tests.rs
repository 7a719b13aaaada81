//! Tests of what the log tells.

use super::*;
use tidegate_control::Range;

/// The lines of a course of `(second, refused at once, after a wait)`.
fn told(course: impl IntoIterator<Item = (u64, u64, u64)>) -> Vec<(u64, String)> {
    let mut refusals = Refusals::default();
    let mut lines = Vec::new();
    for (second, at_once, late) in course {
        let line = refusals.due(Duration::from_secs(second), [at_once, late, 0]);
        lines.extend(line.map(|line| match line {
            Refusing::GoesOn(line) | Refusing::Ended(line) => (second, line),
        }));
    }
    lines
}

#[test]
fn the_log_tells_when_refusing_begins_goes_on_and_ends() {
    // One refusal a second from 10 s to 150 s, the last 41 after a wait.
    let course = (0..300).map(|second| {
        let refused = u64::clamp(second, 9, 150) - 9;
        (second, refused.min(100), refused.saturating_sub(100))
    });
    let wait = "after a wait (admission.hold_time)";
    assert_eq!(
        told(course),
        [
            (10, "new sessions are refused: 1 (1 at once)".into()),
            (70, "new sessions refused in the last 60 s: 60 (60 at once)".into()),
            (130, format!("new sessions refused in the last 60 s: 60 (39 at once, 21 {wait})")),
            (190, format!("new sessions refused in the last 60 s: 20 (20 {wait})")),
            (
                210,
                format!(
                    "new sessions are no longer refused; in 140 s: 141 (100 at once, 41 {wait})"
                )
            ),
        ]
    );
}

#[test]
fn refusals_that_come_and_go_are_one_time_of_refusing() {
    // Three seconds of refusals every half minute.
    let refused = |second: u64| second / 30 * 3 + (second % 30).min(3);
    let lines = told((0..600).map(|second| (second, refused(second), 0)));
    assert_eq!(lines.len(), 10, "{lines:?}");
    assert!(
        lines[1..]
            .iter()
            .all(|(_, line)| line.starts_with("new sessions refused in the last 60 s: 6"))
    );
    assert!(lines.windows(2).all(|pair| pair[1].0 - pair[0].0 >= 60));
}

#[test]
fn a_gate_that_refuses_nobody_says_nothing() {
    assert!(told((0..1_000).map(|second| (second, 0, 0))).is_empty());
}

#[test]
fn malformed_messages_are_told_once_a_minute_by_part_and_side() {
    let mut totals = Totals::default();
    let mut log = OperatorLog::default();
    let mut lines = Vec::new();
    for second in 0..121 {
        if second == 1 {
            totals.malformed_requests[Malformed::Head] += 1;
        }
        if second == 20 {
            totals.malformed_requests[Malformed::Chunk] += 2;
            totals.ends[End::MalformedHello] += 3;
            totals.malformed_responses[Malformed::Trailer] += 4;
        }
        let now = Duration::from_secs(second);
        for (level, text) in log.malformed(now, &totals) {
            lines.push((second, level, text));
        }
    }
    let line = |second, level, text: &str| (second, level, text.to_owned());
    assert_eq!(
        lines,
        [
            line(1, Level::INFO, "malformed from customers: 1 (1 head)"),
            line(20, Level::WARN, "malformed from the upstream: 4 (4 trailer)"),
            line(61, Level::INFO, "malformed from customers: 5 (3 hello, 2 chunk)"),
        ]
    );
}

fn carries(value: f64) -> Sustainable {
    let range = Range { value, low: value, high: Some(value) };
    Sustainable {
        sessions_per_s: (value > 0.0).then_some(range),
        sessions_at_once: None,
        limit: None,
        measured_over_s: 60.0,
        text: format!("{value}"),
    }
}

/// The lines of so many seconds, with their times.
fn lines(log: &mut CapacityLine, seconds: std::ops::Range<u64>, value: f64) -> Vec<u64> {
    let line = |at: &u64| log.due(Duration::from_secs(*at), || carries(value)).is_some();
    seconds.filter(line).collect()
}

#[test]
fn it_is_told_when_it_is_known_when_it_changes_and_every_hour() {
    let mut log = CapacityLine::default();
    assert_eq!(lines(&mut log, 0..40, 0.0), [0; 0], "nothing is known");
    assert_eq!(lines(&mut log, 40..400, 100.0), [40]);
    assert_eq!(lines(&mut log, 400..500, 115.0), [0; 0], "a small change");
    assert_eq!(lines(&mut log, 500..600, 130.0), [500]);
    assert_eq!(lines(&mut log, 600..9000, 130.0), [4100, 7700]);
}

#[test]
fn a_figure_that_jumps_is_told_once_a_minute_at_most() {
    let mut log = CapacityLine::default();
    let told = (0..600_u64)
        .filter(|at| {
            let value = if at / 10 % 2 == 0 { 100.0 } else { 200.0 };
            log.due(Duration::from_secs(*at), || carries(value)).is_some()
        })
        .count();
    assert!(told <= 10, "{told}");
}
