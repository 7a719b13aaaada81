//! What the page shows of a gate whose numbers are known.

use super::*;
use crate::telemetry::history::{EventKind, Record};
use crate::telemetry::snapshot::{MemberStatus, PoolStatus};
use tidegate_control::ByResource;
use tidegate_control::ResourceName::{Gate, Upstream};

const SECOND: Duration = Duration::from_secs(1);

/// Ten minutes: in the last two, ten sessions a second come and four are admitted.
fn history() -> History {
    let mut history = History::default();
    history.note(Duration::ZERO, EventKind::Start, "the gate started");
    for second in 1..=600 {
        let crowd = second > 480;
        let mut durations = [0; crate::telemetry::durations::DurationBucket::COUNT];
        durations[3] = 20;
        history.push(Record {
            at: SECOND * second,
            length: SECOND,
            offered: if crowd { 10 } else { 2 },
            admitted: if crowd { 4 } else { 2 },
            refused: if crowd { 6 } else { 0 },
            sessions: 31,
            durations,
            capacity_per_s: Some(5.0),
            in_use: ByResource::default().with(Gate, 0.25).with(Upstream, 0.9),
            ..Record::default()
        });
        if second == 480 {
            history.note(SECOND * second, EventKind::Reload, "the configuration was <reloaded>");
        }
    }
    history
}

fn html(now: &Snapshot, span: Span) -> String {
    View { now, history: &history(), span }.page().html()
}

#[test]
fn the_page_has_the_numbers_of_the_gate() {
    let now = Snapshot { sessions_active: 31, waiting: 7, ..Snapshot::default() };
    let html = html(&now, Span::Minutes);
    for part in [
        "The service is full: new sessions are refused",
        "<b>31</b><span>sessions inside</span>",
        "<b>4.0<small>/s</small></b><span>admitted of 10.0/s offered</span>",
        "10.0/s offered, 4.0/s admitted, 6.0/s refused; the service carries about 5.0/s",
        // 5 ms + 5 ms × 0.95
        "<b>9.75\u{a0}ms</b>",
        "Of what each has: gate 25.0\u{a0}%, upstream 90.0\u{a0}%",
        // Over five minutes: 180 s with 2, 120 s with 10.
        "<td>New sessions offered, /s</td><td>10.0</td><td>10.0</td><td>5.2</td>",
        "2 min ago</td><td class=\"text\">the configuration was &lt;reloaded&gt;",
    ] {
        assert!(html.contains(part), "{part} is missing in\n{html}");
    }
}

#[test]
fn an_event_stands_in_the_figures_that_show_its_time() {
    let now = Snapshot::default();
    let numbered = |span, number: &str| {
        let label = format!("y=\"22\" text-anchor=\"middle\">{number}</text>");
        html(&now, span).matches(&label).count()
    };
    // Six figures, each in both sizes.
    assert_eq!((numbered(Span::Minutes, "1"), numbered(Span::Minutes, "2")), (0, 12));
    assert_eq!((numbered(Span::Hour, "1"), numbered(Span::Hour, "2")), (12, 12));
}

#[test]
fn a_gate_that_has_just_started_has_a_page() {
    let history = History::default();
    let html =
        View { now: &Snapshot::default(), history: &history, span: Span::Hour }.page().html();
    assert!(html.contains("No customers at present"), "{html}");
    assert!(!html.contains("NaN") && !html.contains("inf "), "{html}");
}

#[test]
fn servers_are_shown_with_what_is_wrong_with_them() {
    let member = |share, problem: Option<&str>| MemberStatus {
        server: "http://a".into(),
        share,
        problem: problem.map(str::to_owned),
        connections_in_use: 1,
        responses: 2,
        server_errors: 3,
        failures: 0,
        ejections: 4,
    };
    let pool = |members| PoolStatus {
        pool: "api".into(),
        members,
        waiting: 0,
        queue: Vec::new(),
        retries: 0,
    };
    let states = [member(1.0, None), member(0.0, None), member(0.5, None), member(0.0, Some("x"))];
    let pools = vec![pool(states.to_vec()), pool(vec![member(0.0, None)])];
    let html = html(&Snapshot { pools, ..Snapshot::default() }, Span::Minutes);
    for (state, times) in [
        ("✓ in use", 2),
        ("✗ taken out", 1),
        ("returning: 50.0\u{a0}% of its share", 1),
        ("✗ cannot be reached", 1),
    ] {
        assert_eq!(html.matches(state).count(), times, "{state}: {html}");
    }
}

#[test]
fn times_and_rates_are_short() {
    let times = [59, 60, 3600, 90_000].map(|s| time_words(SECOND * s));
    assert_eq!(times, ["59 s", "1 min", "1 h 0 min", "1 d 1 h"]);
    assert_eq!([0.0, 0.04, 12.34, 1234.5].map(rate), ["0", "0.0", "12.3", "1235"]);
    assert_eq!(rate(f64::NAN), "–");
}
