//! How a run stands, for exporters: counters from the run's start, warm-up
//! included, which never fall; gauges of the moment.

use std::collections::BTreeMap;
use std::time::Duration;

use serde::{Deserialize, Serialize};

pub use super::exposition::exposition;
use crate::result::summary::{RunStage, Snapshot, Totals};

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

/// What begins the name of every family.
const PREFIX: &str = "tidegate_load_";

/// One figure of a run, by label if there are several of its kind: what every
/// exporter goes by.
#[derive(Clone, Debug)]
pub struct Family {
    name: &'static str,
    /// What it tells, a sentence.
    pub help: &'static str,
    /// Its values.
    pub samples: Samples,
}

/// The values of a family.
#[derive(Clone, Debug)]
pub enum Samples {
    /// Counts since the start of the run, which never fall.
    Counters(Vec<Sample<u64>>),
    /// As it is at the moment.
    Gauges(Vec<Sample<f64>>),
    /// Times in seconds, since the start of the run.
    Histogram(Buckets),
}

/// A value, with the name and value of its label if it has one. Label values are names
/// of this crate: no quote or line break is among them.
#[derive(Clone, Copy, Debug)]
pub struct Sample<T> {
    /// Name and value.
    pub label: Option<(&'static str, &'static str)>,
    /// In the unit that the family's name ends with.
    pub value: T,
}

impl Family {
    /// The whole name, by the rules of Prometheus: the unit at the end, and then `_total`
    /// if it is a counter.
    pub fn name(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    /// The unit that the name says, as UCUM writes it; empty if it says none.
    pub fn unit(&self) -> &'static str {
        match self.name.trim_end_matches("_total").rsplit('_').next() {
            Some("seconds") => "s",
            Some("bytes") => "By",
            _ => "",
        }
    }
}

impl<T> Sample<T> {
    fn only(value: T) -> Vec<Self> {
        vec![Self { label: None, value }]
    }

    fn each(label: &'static str, of: impl IntoIterator<Item = (&'static str, T)>) -> Vec<Self> {
        of.into_iter().map(|(of, value)| Self { label: Some((label, of)), value }).collect()
    }
}

/// Everything that exporters tell of a run.
pub fn families(snapshot: &Snapshot) -> Vec<Family> {
    let count = |of: fn(&Totals) -> u64| of(&snapshot.before) + of(&snapshot.totals);
    let kinds = |of: fn(&Totals) -> &BTreeMap<&'static str, u64>| {
        let mut kinds = of(&snapshot.before).clone();
        of(&snapshot.totals).iter().for_each(|(kind, n)| *kinds.entry(kind).or_default() += n);
        kinds
    };
    let ended = [
        ("completed", count(|t| t.completed)),
        ("refused", count(|t| t.refused)),
        ("abandoned", count(|t| t.abandoned)),
        ("failed", count(|t| t.failed)),
        ("cut_off", count(|t| t.cut_off)),
    ];
    let results = [("ok", count(|t| t.requests_ok)), ("failed", count(|t| t.requests_failed))];
    let handshakes = [("full", count(|t| t.full_ok)), ("resumed", count(|t| t.resumed_ok))];
    let saturated = !snapshot.driver_warnings.is_empty();
    let stages =
        [("warm_up", RunStage::WarmUp), ("measure", RunStage::Measure), ("done", RunStage::Done)]
            .map(|(name, stage)| (name, f64::from(u8::from(snapshot.stage == stage))));

    let family = |name, help, samples| Family { name, help, samples };
    let counter = |name, help, value| family(name, help, Samples::Counters(Sample::only(value)));
    let counters = |name, help, samples| family(name, help, Samples::Counters(samples));
    let gauge = |name, help, value| family(name, help, Samples::Gauges(Sample::only(value)));
    vec![
        counter(
            "sessions_offered_total",
            "Sessions asked for by the schedule.",
            count(|t| t.offered),
        ),
        counter("sessions_started_total", "Sessions begun.", count(|t| t.started)),
        counter(
            "sessions_admitted_total",
            "Sessions whose first handshake completed.",
            count(|t| t.admitted),
        ),
        counters(
            "sessions_ended_total",
            "Sessions that ended, by how.",
            Sample::each("outcome", ended),
        ),
        counters(
            "refusals_total",
            "Sessions turned away, by how.",
            Sample::each("kind", kinds(|t| &t.refused_by_kind)),
        ),
        counters(
            "failures_total",
            "Sessions that failed, by why.",
            Sample::each("kind", kinds(|t| &t.failed_by_kind)),
        ),
        counters(
            "abandonments_total",
            "Sessions whose customer lost patience, by what they waited for.",
            Sample::each("stage", kinds(|t| &t.abandoned_by_stage)),
        ),
        counter(
            "sessions_returned_total",
            "Sessions of customers who came back after they had been disappointed.",
            count(|t| t.sessions_returned),
        ),
        counter(
            "requests_reloaded_total",
            "Times that a request which took too long was sent again.",
            count(|t| t.requests_reloaded),
        ),
        gauge("sessions_active", "Sessions in flight.", snapshot.in_flight as f64),
        counters(
            "requests_total",
            "Requests answered with an allowed status, and others.",
            Sample::each("result", results),
        ),
        counters(
            "responses_total",
            "Answers by class of status.",
            Sample::each("class", kinds(|t| &t.responses_by_class)),
        ),
        counter(
            "received_bytes_total",
            "Bytes of answers, heads included, TLS not.",
            count(|t| t.received_bytes),
        ),
        family(
            "request_duration_seconds",
            "Response times, from intended start to last byte.",
            Samples::Histogram(snapshot.buckets),
        ),
        counters("handshakes_total", "Handshakes completed.", Sample::each("kind", handshakes)),
        gauge(
            "driver_cpu_share",
            "Share of a processor that the busiest driver thread used just now.",
            snapshot.last.driver_cpu_share,
        ),
        counter(
            "missed_starts_total",
            "Arrivals and requests that the driver began too late.",
            count(|t| t.missed_starts),
        ),
        gauge(
            "driver_saturated",
            "1 if the driver is the limit: the figures are its own then.",
            f64::from(u8::from(saturated)),
        ),
        family(
            "stage",
            "1 for the part of the run.",
            Samples::Gauges(Sample::each("stage", stages)),
        ),
        gauge("elapsed_seconds", "Time since the start of the run.", snapshot.elapsed_s),
    ]
}
