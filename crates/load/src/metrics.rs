//! How a run stands, for Prometheus: counters from the run's start, warm-up
//! included, which never fall; gauges of the moment.
//!
//! Source: Prometheus documentation, "Exposition formats", text format 0.0.4.

use std::fmt::Write;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::summary::{RunStage, Snapshot, Totals};

/// Upper bounds of the buckets of response times, in seconds, ascending; one
/// more bucket takes what is above the last.
pub const BOUNDS_S: [f64; 16] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0,
];

/// Response times since the start of the run, by bucket.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Buckets {
    /// Each response in one bucket only: `i` has those up to and including
    /// `BOUNDS_S[i]`; the last has the rest.
    pub counts: [u64; BOUNDS_S.len() + 1],
    /// Sum of all of them.
    pub sum: Duration,
}

impl Buckets {
    pub(crate) fn record(&mut self, response: Duration) {
        let seconds = response.as_secs_f64();
        self.counts[BOUNDS_S.partition_point(|bound| *bound < seconds)] += 1;
        self.sum = self.sum.saturating_add(response);
    }

    /// Adds another driver's.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.counts.iter_mut().zip(other.counts).for_each(|(mine, theirs)| *mine += theirs);
        self.sum = self.sum.saturating_add(other.sum);
    }
}

/// The snapshot as text for a scrape.
pub fn exposition(snapshot: &Snapshot) -> String {
    let mut text = Text(String::new());
    let count = |of: fn(&Totals) -> u64| of(&snapshot.before) + of(&snapshot.totals);
    let kinds = |of: fn(&Totals) -> &std::collections::BTreeMap<&'static str, u64>| {
        let mut kinds = of(&snapshot.before).clone();
        of(&snapshot.totals).iter().for_each(|(kind, n)| *kinds.entry(kind).or_default() += n);
        kinds.into_iter().map(|(kind, n)| (kind, n as f64)).collect::<Vec<_>>()
    };

    let help = "Sessions asked for by the schedule.";
    text.single("sessions_offered_total", "counter", help, count(|t| t.offered) as f64);
    let help = "Sessions begun.";
    text.single("sessions_started_total", "counter", help, count(|t| t.started) as f64);
    let help = "Sessions whose first handshake completed.";
    text.single("sessions_admitted_total", "counter", help, count(|t| t.admitted) as f64);
    let ended = [
        ("completed", count(|t| t.completed) as f64),
        ("refused", count(|t| t.refused) as f64),
        ("abandoned", count(|t| t.abandoned) as f64),
        ("failed", count(|t| t.failed) as f64),
        ("cut_off", count(|t| t.cut_off) as f64),
    ];
    let help = "Sessions that ended, by how.";
    text.labelled("sessions_ended_total", "counter", help, "outcome", &ended);
    let help = "Sessions turned away, by how.";
    text.labelled("refusals_total", "counter", help, "kind", &kinds(|t| &t.refused_by_kind));
    let help = "Sessions that failed, by why.";
    text.labelled("failures_total", "counter", help, "kind", &kinds(|t| &t.failed_by_kind));
    let help = "Sessions whose customer lost patience, by what they waited for.";
    let stages = kinds(|t| &t.abandoned_by_stage);
    text.labelled("abandonments_total", "counter", help, "stage", &stages);
    let help = "Sessions of customers who came back after they had been disappointed.";
    text.single("sessions_returned_total", "counter", help, count(|t| t.sessions_returned) as f64);
    let help = "Times that a request which took too long was sent again.";
    text.single("requests_reloaded_total", "counter", help, count(|t| t.requests_reloaded) as f64);
    let help = "Sessions in flight.";
    text.single("sessions_active", "gauge", help, snapshot.in_flight as f64);

    let results =
        [("ok", count(|t| t.requests_ok) as f64), ("failed", count(|t| t.requests_failed) as f64)];
    let help = "Requests answered with an allowed status, and others.";
    text.labelled("requests_total", "counter", help, "result", &results);
    let help = "Answers by class of status.";
    text.labelled("responses_total", "counter", help, "class", &kinds(|t| &t.responses_by_class));
    let help = "Bytes of answers, heads included, TLS not.";
    text.single("received_bytes_total", "counter", help, count(|t| t.received_bytes) as f64);
    text.durations(&snapshot.buckets);
    let handshakes =
        [("full", count(|t| t.full_ok) as f64), ("resumed", count(|t| t.resumed_ok) as f64)];
    let help = "Handshakes completed.";
    text.labelled("handshakes_total", "counter", help, "kind", &handshakes);

    let help = "Share of a processor that the busiest driver thread used just now.";
    text.single("driver_cpu_share", "gauge", help, snapshot.last.driver_cpu_share);
    let help = "Arrivals and requests that the driver began too late.";
    text.single("missed_starts_total", "counter", help, count(|t| t.missed_starts) as f64);
    let help = "1 if the driver is the limit: the figures are its own then.";
    let saturated = !snapshot.driver_warnings.is_empty();
    text.single("driver_saturated", "gauge", help, f64::from(u8::from(saturated)));
    let stages =
        [("warm_up", RunStage::WarmUp), ("measure", RunStage::Measure), ("done", RunStage::Done)];
    let stages = stages.map(|(name, stage)| (name, f64::from(u8::from(snapshot.stage == stage))));
    text.labelled("stage", "gauge", "1 for the part of the run.", "stage", &stages);
    let help = "Time since the start of the run.";
    text.single("elapsed_seconds", "gauge", help, snapshot.elapsed_s);
    text.0
}

/// Families one after the other. Label values are names of this crate: no quote
/// or line break is among them.
struct Text(String);

impl Text {
    fn family(&mut self, name: &str, kind: &str, help: &str) {
        self.put(format_args!("# HELP tidegate_load_{name} {help}\n"));
        self.put(format_args!("# TYPE tidegate_load_{name} {kind}\n"));
    }

    fn single(&mut self, name: &str, kind: &str, help: &str, value: f64) {
        self.family(name, kind, help);
        self.put(format_args!("tidegate_load_{name} {value}\n"));
    }

    fn labelled(&mut self, name: &str, kind: &str, help: &str, label: &str, of: &[(&str, f64)]) {
        self.family(name, kind, help);
        for (of, value) in of {
            self.put(format_args!("tidegate_load_{name}{{{label}=\"{of}\"}} {value}\n"));
        }
    }

    fn durations(&mut self, buckets: &Buckets) {
        let name = "request_duration_seconds";
        self.family(name, "histogram", "Response times, from intended start to last byte.");
        let bounds = BOUNDS_S.iter().map(f64::to_string).chain(["+Inf".to_owned()]);
        let mut below = 0;
        for (bound, count) in bounds.zip(buckets.counts) {
            below += count;
            self.put(format_args!("tidegate_load_{name}_bucket{{le=\"{bound}\"}} {below}\n"));
        }
        self.put(format_args!("tidegate_load_{name}_sum {}\n", buckets.sum.as_secs_f64()));
        self.put(format_args!("tidegate_load_{name}_count {below}\n"));
    }

    fn put(&mut self, text: std::fmt::Arguments<'_>) {
        self.0.write_fmt(text).expect("a String takes all");
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Latency, Point};

    fn snapshot() -> Snapshot {
        let mut buckets = Buckets::default();
        for ms in [1, 2, 3, 300_001] {
            buckets.record(Duration::from_millis(ms));
        }
        let before = Totals { offered: 5, full_ok: 2, ..Totals::default() };
        let refused_by_kind = [("alert", 3)].into();
        Snapshot {
            elapsed_s: 12.5,
            planned_s: 40.0,
            stage: RunStage::Measure,
            before,
            totals: Totals { offered: 7, refused: 3, refused_by_kind, ..Totals::default() },
            response: Latency::default(),
            buckets,
            in_flight: 4,
            last: Point { driver_cpu_share: 0.25, ..Point::default() },
            second: None,
            driver_warnings: vec!["busy".to_owned()],
            spread: None,
        }
    }

    #[test]
    fn counters_go_on_from_the_warm_up_and_buckets_add_up() {
        let text = exposition(&snapshot());
        let value = |series: &str| {
            let line = text.lines().find_map(|line| line.strip_prefix(series)?.strip_prefix(' '));
            line.unwrap_or_else(|| panic!("no {series} in\n{text}")).to_owned()
        };
        assert_eq!(value("tidegate_load_sessions_offered_total"), "12");
        assert_eq!(value("tidegate_load_handshakes_total{kind=\"full\"}"), "2");
        assert_eq!(value("tidegate_load_refusals_total{kind=\"alert\"}"), "3");
        assert_eq!(value("tidegate_load_sessions_active"), "4");
        assert_eq!(value("tidegate_load_driver_saturated"), "1");
        assert_eq!(value("tidegate_load_stage{stage=\"measure\"}"), "1");
        assert_eq!(value("tidegate_load_stage{stage=\"warm_up\"}"), "0");
        let bucket =
            |le| value(&format!("tidegate_load_request_duration_seconds_bucket{{le=\"{le}\"}}"));
        assert_eq!(
            ["0.001", "0.0025", "0.005", "300", "+Inf"].map(bucket),
            ["1", "2", "3", "3", "4"]
        );
        assert_eq!(value("tidegate_load_request_duration_seconds_count"), "4");
        assert_eq!(value("tidegate_load_request_duration_seconds_sum"), "300.007");
    }

    #[test]
    fn every_sample_follows_the_help_and_type_of_its_family() {
        let text = exposition(&snapshot());
        let mut family = String::new();
        let mut helped = String::new();
        for line in text.lines() {
            if let Some(rest) = line.strip_prefix("# HELP ") {
                helped = rest.split(' ').next().unwrap().to_owned();
            } else if let Some(rest) = line.strip_prefix("# TYPE ") {
                let (name, kind) = rest.split_once(' ').unwrap();
                assert_eq!(name, helped);
                assert_eq!(name.ends_with("_total"), kind == "counter", "{line}");
                family = name.to_owned();
            } else {
                assert!(line.starts_with(&family), "{line} is not of {family}");
                line.rsplit_once(' ').unwrap().1.parse::<f64>().unwrap();
            }
        }
        assert!(text.ends_with('\n'));
    }
}
