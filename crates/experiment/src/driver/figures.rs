//! The figures of a run, from what the load generator counted and what was read beside it.

use tidegate_lab::Passed;
use tidegate_load::Summary;

use crate::metrics::Figures;
use crate::system::{CpuSeconds, TIERS};

/// A session that nothing disturbs, on average.
#[derive(Clone, Copy)]
pub(super) struct Session {
    pub requests: f64,
    /// Its think times, in seconds of people.
    pub think_s: f64,
}

/// What the customers saw, and its ratio to the capacity in sessions per second, where it is known.
pub(super) fn of_customers(summary: &Summary, session: Session, capacity: Option<f64>) -> Figures {
    let totals = &summary.totals;
    let per_s = |count: u64| count as f64 / summary.measured_s.max(1e-9);
    let mut figures = Figures::from([
        ("offered_per_s".into(), summary.offered_per_s),
        ("admitted_per_s".into(), summary.admitted_per_s),
        ("refused_per_s".into(), summary.refused_per_s),
        ("completed_per_s".into(), summary.completed_per_s),
        ("abandoned_per_s".into(), summary.abandoned_per_s),
        ("failed_per_s".into(), summary.failed_per_s),
        ("requests_per_s".into(), summary.requests_per_s),
        ("completed_ratio".into(), summary.completed_ratio),
        ("connections_per_s".into(), per_s(summary.phases.connect.count)),
        ("full_handshakes_per_s".into(), per_s(totals.full_ok)),
        ("resumed_handshakes_per_s".into(), per_s(totals.resumed_ok)),
        ("returning_refused".into(), totals.returning_refused as f64),
    ]);
    let mut put = |name: &str, value: f64| figures.insert(name.into(), value);
    let response = &summary.response;
    // The mean is that of answered requests and of those that were given up or are open.
    let responses = response.count + response.unanswered + response.open;
    // Without a response or a handshake there is no such figure.
    if responses > 0 {
        put("response_mean_ms", response.mean_ms);
        put("response_p50_ms", response.p50_ms);
        put("response_p95_ms", response.p95_ms);
        put("response_p99_ms", response.p99_ms);
    }
    if summary.requests_per_s > 0.0 {
        let answered = summary.requests_per_s * summary.measured_s;
        put("bytes_per_request", totals.received_bytes as f64 / answered);
    }
    if totals.full_ok + totals.resumed_ok > 0 {
        // The time of all handshakes in that of all responses.
        let handshakes_ms: f64 = [summary.phases.full_handshake, summary.phases.resumed_handshake]
            .iter()
            .map(|times| times.count as f64 * times.mean_ms)
            .sum();
        let responses_ms = responses as f64 * response.mean_ms;
        if responses_ms > 0.0 {
            put("handshake_time_share", handshakes_ms / responses_ms);
        }
        put("full_handshake_share", summary.full_handshake_share);
    }
    if summary.offered_per_s > 0.0 {
        put("completed_per_offered", summary.completed_per_s / summary.offered_per_s);
    }
    let response_s = response.mean_ms / 1e3;
    if summary.requests_per_s > 0.0 {
        // Little's law, for requests and for customers.
        let session_s = session.think_s + session.requests * response_s;
        put("requests_in_progress", summary.requests_per_s * response_s);
        put("customers_at_a_time", summary.completed_per_s * session_s);
    }
    if let Some(capacity) = capacity.filter(|capacity| *capacity > 0.0) {
        put("capacity_per_s", capacity);
        put("requests_of_capacity", summary.requests_per_s / (capacity * session.requests));
        put("completed_of_capacity", summary.completed_per_s / capacity);
        put("customers_of_capacity", capacity * session.think_s);
    }
    figures
}

/// What passed a relay between two looks, each with the requests answered by then, so that bytes and
/// requests are of the same time. Nothing if none was answered between them.
pub(super) fn of_relay(first: (Passed, u64), last: (Passed, u64)) -> Figures {
    let Some(answered) = last.1.checked_sub(first.1).filter(|answered| *answered > 0) else {
        return Figures::new();
    };
    let of = |part: fn(&Passed) -> u64| (part(&last.0) - part(&first.0)) as f64 / answered as f64;
    Figures::from([
        ("wire_bytes_sent_per_request".into(), of(|it| it.sent)),
        ("wire_bytes_received_per_request".into(), of(|it| it.received)),
        ("wire_bytes_per_request".into(), of(|it| it.sent + it.received)),
        ("round_trips_per_request".into(), of(|it| it.round_trips)),
    ])
}

/// CPU time between two looks, this many seconds apart and within the measured window, over
/// requests and sessions by their rates in the whole of it.
pub(super) fn of_cpu(
    summary: &Summary,
    seconds: f64,
    first: CpuSeconds,
    last: CpuSeconds,
) -> Figures {
    let window = summary.measured_s / seconds;
    let (service, gate) = (last.service - first.service, last.gate - first.gate);
    let used = (service + gate) / seconds;
    let mut figures = Figures::from([
        ("busy_cpus".into(), used),
        ("service_cpu_s".into(), service * window),
        ("gate_cpu_s".into(), gate * window),
    ]);
    let mut put = |name: &str, value: f64| figures.insert(name.into(), value);
    if summary.completed_per_s > 0.0 {
        put("cpu_ms_per_session", 1e3 * used / summary.completed_per_s);
    }
    let answered = summary.requests_per_s * seconds;
    if answered > 0.0 {
        let mut put_each = |name: &str, cpu_s: f64| put(name, 1e3 * cpu_s / answered);
        put_each("cpu_ms_per_request", service + gate);
        for (index, tier) in TIERS.iter().enumerate().filter(|_| last.tiers[0] > 0.0) {
            let cpu_s = last.tiers[index] - first.tiers[index];
            put_each(&format!("{tier}_cpu_ms_per_request"), cpu_s);
        }
        if last.database > 0.0 {
            put_each("database_cpu_ms_per_request", last.database - first.database);
        }
    }
    figures
}

#[cfg(test)]
mod tests {
    use tidegate_stats::Percentiles;

    use super::*;

    const SESSION: Session = Session { requests: 5.0, think_s: 60.0 };

    /// Ten seconds with 100 requests a second, of which one in ten was given up, and 16 sessions.
    fn summary() -> Summary {
        let mut summary = Summary {
            measured_s: 10.0,
            offered_per_s: 20.0,
            completed_per_s: 16.0,
            requests_per_s: 100.0,
            full_handshake_share: 0.25,
            ..Summary::default()
        };
        (summary.response.count, summary.response.unanswered) = (1000, 100);
        (summary.response.open, summary.response.mean_ms) = (150, 40.0);
        (summary.totals.full_ok, summary.totals.resumed_ok) = (100, 300);
        summary.totals.received_bytes = 2_000_000;
        let phases = &mut summary.phases;
        (phases.full_handshake.count, phases.full_handshake.mean_ms) = (100, 32.0);
        (phases.resumed_handshake.count, phases.resumed_handshake.mean_ms) = (300, 6.0);
        phases.connect.count = 420;
        summary
    }

    #[test]
    fn the_time_of_handshakes_is_a_share_of_the_time_of_all_requests_given_up_ones_too() {
        let figures = of_customers(&summary(), SESSION, None);
        // 100 of 32 ms and 300 of 6 ms, in 1,250 of 40 ms.
        assert_eq!(figures["handshake_time_share"], 5_000.0 / 50_000.0);
        assert_eq!(figures["full_handshake_share"], 0.25);
        assert_eq!((figures["full_handshakes_per_s"], figures["connections_per_s"]), (10.0, 42.0));
        let mut resumed = summary();
        (resumed.totals.full_ok, resumed.phases.full_handshake) = (0, Percentiles::default());
        let share = of_customers(&resumed, SESSION, None)["handshake_time_share"];
        assert_eq!(share, 1_800.0 / 50_000.0);
    }

    #[test]
    fn sessions_are_shares_of_those_who_came_and_of_the_capacity() {
        let figures = of_customers(&summary(), SESSION, Some(25.0));
        assert_eq!(figures["completed_per_offered"], 0.8);
        assert_eq!((figures["capacity_per_s"], figures["completed_of_capacity"]), (25.0, 0.64));
        // 100 of 125 requests a second; 25 sessions of 60 s each second.
        assert_eq!(
            (figures["requests_of_capacity"], figures["customers_of_capacity"]),
            (0.8, 1500.0)
        );
        assert!(!of_customers(&summary(), SESSION, None).contains_key("completed_of_capacity"));
    }

    #[test]
    fn requests_and_customers_at_a_time_follow_from_their_rates() {
        let figures = of_customers(&summary(), SESSION, None);
        assert_eq!(figures["requests_in_progress"], 4.0);
        // 16 sessions a second of a minute and five responses.
        assert!((figures["customers_at_a_time"] - 16.0 * 60.2).abs() < 1e-9);
        assert_eq!(figures["bytes_per_request"], 2_000.0);
    }

    #[test]
    fn what_did_not_happen_has_no_ratio() {
        let figures = of_customers(&Summary::default(), SESSION, Some(0.0));
        for name in [
            "response_mean_ms",
            "bytes_per_request",
            "handshake_time_share",
            "completed_per_offered",
            "customers_at_a_time",
            "completed_of_capacity",
        ] {
            assert!(!figures.contains_key(name), "{name}");
        }
        assert!(figures.values().all(|value| value.is_finite()));
    }

    #[test]
    fn bytes_on_the_wire_are_of_the_requests_answered_between_the_looks() {
        let first = (Passed { sent: 1_000, received: 5_000, round_trips: 30 }, 10);
        let last = (Passed { sent: 3_000, received: 25_000, round_trips: 110 }, 50);
        let figures = of_relay(first, last);
        let both =
            [figures["wire_bytes_sent_per_request"], figures["wire_bytes_received_per_request"]];
        assert_eq!((both, figures["wire_bytes_per_request"]), ([50.0, 500.0], 550.0));
        assert_eq!(figures["round_trips_per_request"], 2.0);
        assert_eq!(of_relay(last, last), Figures::new());
    }

    #[test]
    fn cpu_time_is_that_between_the_looks_over_the_requests_of_that_time() {
        let cpu = |service, gate, database, tiers| CpuSeconds { service, database, gate, tiers };
        let first = cpu(1.0, 0.5, 0.25, [0.5, 0.25, 0.25]);
        let last = cpu(3.0, 1.5, 0.75, [1.0, 1.25, 0.75]);
        // Three seconds of CPU time in eight, in which 800 requests and 128 sessions end.
        let figures = of_cpu(&summary(), 8.0, first, last);
        assert_eq!((figures["busy_cpus"], figures["cpu_ms_per_request"]), (0.375, 3.75));
        assert_eq!(figures["cpu_ms_per_session"], 3_000.0 / 128.0);
        // The whole window of ten seconds.
        assert_eq!((figures["service_cpu_s"], figures["gate_cpu_s"]), (2.5, 1.25));
        assert_eq!(figures["database_cpu_ms_per_request"], 0.625);
        let tiers = TIERS.map(|tier| figures[&format!("{tier}_cpu_ms_per_request")]);
        assert_eq!(tiers, [0.625, 1.25, 0.625]);
        let whole =
            of_cpu(&summary(), 8.0, cpu(1.0, 0.5, 0.0, [0.0; 3]), cpu(3.0, 1.5, 0.0, [0.0; 3]));
        assert!(!whole.keys().any(|name| name.contains("database") || name.starts_with("web_")));
    }
}
