//! The metrics of a run for exporters: counters since the start of the run, warm-up
//! included, and gauges.

use std::collections::BTreeMap;

use crate::outcome::Name;
pub use crate::result::buckets::{BOUNDS_S, Buckets};
use crate::result::snapshot::{RunStage, Snapshot};
use crate::totals::Totals;

/// Prefix of every name.
const PREFIX: &str = "tidegate_load_";

/// A metric with its samples, the same for every exporter.
#[derive(Clone, Debug)]
pub struct Family {
    name: &'static str,
    /// Meaning, a sentence.
    pub help: &'static str,
    /// The samples.
    pub samples: Samples,
}

/// The samples of a family.
#[derive(Clone, Debug)]
pub enum Samples {
    /// Counts since the start of the run.
    Counters(Vec<Sample<u64>>),
    /// Current values.
    Gauges(Vec<Sample<f64>>),
    /// Durations in seconds since the start of the run.
    Histogram(Buckets),
}

/// A value with its label, if it has one. Label values are names of this crate without
/// quotes or line breaks.
#[derive(Clone, Debug)]
pub struct Sample<T> {
    /// Name and value of the label.
    pub label: Option<(&'static str, Name)>,
    /// Value in the unit of the family's name.
    pub value: T,
}

impl Family {
    /// The full name by the conventions of Prometheus: with the unit, and `_total` for
    /// counters.
    pub fn name(&self) -> String {
        format!("{PREFIX}{}", self.name)
    }

    /// The unit of the name in UCUM notation; empty if there is none.
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

    fn each(label: &'static str, of: impl IntoIterator<Item = (impl Into<Name>, T)>) -> Vec<Self> {
        of.into_iter().map(|(of, value)| Self { label: Some((label, of.into())), value }).collect()
    }
}

/// All metrics of a run.
pub fn families(snapshot: &Snapshot) -> Vec<Family> {
    let count = |of: fn(&Totals) -> u64| of(&snapshot.before) + of(&snapshot.totals);
    let kinds = |of: fn(&Totals) -> &BTreeMap<Name, u64>| {
        let mut kinds = of(&snapshot.before).clone();
        of(&snapshot.totals)
            .iter()
            .for_each(|(kind, n)| *kinds.entry(kind.clone()).or_default() += n);
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
            "Sessions offered by the schedule.",
            count(|t| t.offered),
        ),
        counter("sessions_started_total", "Sessions started.", count(|t| t.started)),
        counter(
            "sessions_admitted_total",
            "Sessions whose first handshake completed.",
            count(|t| t.admitted),
        ),
        counters(
            "sessions_ended_total",
            "Sessions ended, by outcome.",
            Sample::each("outcome", ended),
        ),
        counters(
            "refusals_total",
            "Sessions refused, by kind.",
            Sample::each("kind", kinds(|t| &t.refused_by_kind)),
        ),
        counters(
            "failures_total",
            "Sessions failed, by kind.",
            Sample::each("kind", kinds(|t| &t.failed_by_kind)),
        ),
        counters(
            "abandonments_total",
            "Sessions abandoned by an impatient customer, by stage of the request.",
            Sample::each("stage", kinds(|t| &t.abandoned_by_stage)),
        ),
        counter(
            "sessions_returned_total",
            "Sessions of customers who returned after a refusal or lost patience.",
            count(|t| t.sessions_returned),
        ),
        counter(
            "requests_reloaded_total",
            "Repetitions of requests that exceeded the patience.",
            count(|t| t.requests_reloaded),
        ),
        counter(
            "waiting_pages_total",
            "Pages of a gate's waiting room.",
            count(|t| t.waiting_pages),
        ),
        counter(
            "waited_total",
            "Requests that were let in from a gate's waiting room.",
            count(|t| t.waited),
        ),
        gauge("sessions_active", "Sessions in flight.", snapshot.in_flight as f64),
        counters(
            "requests_total",
            "Requests answered with an allowed status, and others.",
            Sample::each("result", results),
        ),
        counters(
            "responses_total",
            "Responses by class of status.",
            Sample::each("class", kinds(|t| &t.responses_by_class)),
        ),
        counter(
            "received_bytes_total",
            "Bytes of responses with heads, without TLS.",
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
            "Share of a processor used by the busiest thread of the load generator.",
            snapshot.last.driver_cpu_share,
        ),
        counter(
            "missed_starts_total",
            "Arrivals and requests that the load generator started too late.",
            count(|t| t.missed_starts),
        ),
        gauge(
            "driver_saturated",
            "1 if the load generator is saturated: the figures are not those of the target.",
            f64::from(u8::from(saturated)),
        ),
        family(
            "stage",
            "1 for the stage of the run.",
            Samples::Gauges(Sample::each("stage", stages)),
        ),
        gauge("elapsed_seconds", "Time since the start of the run.", snapshot.elapsed_s),
    ]
}
