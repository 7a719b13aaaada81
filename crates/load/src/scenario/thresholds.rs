//! Limits on a run's figures, set in the scenario, that decide the exit code.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

/// One limit on one figure.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    #[serde(serialize_with = "name", deserialize_with = "by_name")]
    pub(crate) metric: &'static Metric,
    /// Whose figure it is.
    pub(crate) scope: Scope,
    /// Smallest allowed value.
    pub(crate) min: Option<f64>,
    /// Largest allowed value.
    pub(crate) max: Option<f64>,
    /// A run whose figure is missed ends then, once so much of the window has passed.
    pub(crate) abort_after: Option<Duration>,
}

/// Whose figure a threshold limits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Scope {
    /// That of the whole run.
    Run,
    /// That of the page of this name.
    Page(String),
    /// That of the class of customers of this name.
    Class(String),
}

/// Which scopes have a figure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Has {
    /// The run alone.
    Run,
    /// The run and classes.
    Classes,
    /// The run, classes and pages.
    Pages,
    /// Pages alone.
    PagesOnly,
}

/// A figure of a run that thresholds can refer to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Figure {
    ResponseMeanMs,
    ResponseP50Ms,
    ResponseP90Ms,
    ResponseP95Ms,
    ResponseP99Ms,
    ResponseMaxMs,
    PageLoadP50Ms,
    PageLoadP95Ms,
    PageLoadP99Ms,
    RequestsPerS,
    RequestsFailedRatio,
    Responses4xxRatio,
    Responses5xxRatio,
    ConnectionErrorRatio,
    SoftChecksFailed,
    OfferedPerS,
    AdmittedPerS,
    CompletedPerS,
    RefusedPerS,
    CompletedRatio,
    RefusedRatio,
    AbandonedRatio,
    FailedRatio,
    ReturningRefused,
    FullHandshakeShare,
}

impl Figure {
    /// Whether it is about a page with its assets.
    pub(crate) fn is_of_page_load(self) -> bool {
        matches!(self, Self::PageLoadP50Ms | Self::PageLoadP95Ms | Self::PageLoadP99Ms)
    }
}

/// A figure with its name.
#[derive(Debug)]
pub struct Metric {
    /// Key in `[thresholds]`.
    pub name: &'static str,
    /// What it is, in a sentence.
    pub meaning: &'static str,
    pub(crate) figure: Figure,
    pub(crate) has: Has,
}

impl PartialEq for Metric {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name
    }
}

/// Every figure that thresholds can name.
pub const METRICS: &[Metric] = &[
    metric(
        "response_mean_ms",
        "Mean response time, from intended start to last byte.",
        Figure::ResponseMeanMs,
        Has::Pages,
    ),
    metric("response_p50_ms", "Its median.", Figure::ResponseP50Ms, Has::Pages),
    metric("response_p90_ms", "Its 90th percentile.", Figure::ResponseP90Ms, Has::Pages),
    metric("response_p95_ms", "Its 95th percentile.", Figure::ResponseP95Ms, Has::Pages),
    metric("response_p99_ms", "Its 99th percentile.", Figure::ResponseP99Ms, Has::Pages),
    metric("response_max_ms", "The longest.", Figure::ResponseMaxMs, Has::Pages),
    metric(
        "page_load_p50_ms",
        "Median time from the intended start of a page to the last byte of its last asset.",
        Figure::PageLoadP50Ms,
        Has::PagesOnly,
    ),
    metric("page_load_p95_ms", "Its 95th percentile.", Figure::PageLoadP95Ms, Has::PagesOnly),
    metric("page_load_p99_ms", "Its 99th percentile.", Figure::PageLoadP99Ms, Has::PagesOnly),
    metric("requests_per_s", "Requests answered.", Figure::RequestsPerS, Has::Pages),
    metric(
        "requests_failed_ratio",
        "Of the requests, the share that failed.",
        Figure::RequestsFailedRatio,
        Has::Pages,
    ),
    metric(
        "responses_4xx_ratio",
        "Of the requests, the share answered with a status of 400 to 499.",
        Figure::Responses4xxRatio,
        Has::Classes,
    ),
    metric(
        "responses_5xx_ratio",
        "Of the requests, the share answered with a status of 500 to 599.",
        Figure::Responses5xxRatio,
        Has::Classes,
    ),
    metric(
        "connection_error_ratio",
        "Of the requests, the share without an answer because a connection failed.",
        Figure::ConnectionErrorRatio,
        Has::Classes,
    ),
    metric(
        "soft_checks_failed",
        "Soft checks that did not hold.",
        Figure::SoftChecksFailed,
        Has::Run,
    ),
    metric(
        "offered_per_s",
        "Sessions that the schedule offers.",
        Figure::OfferedPerS,
        Has::Classes,
    ),
    metric(
        "admitted_per_s",
        "Sessions whose first handshake completed.",
        Figure::AdmittedPerS,
        Has::Classes,
    ),
    metric(
        "completed_per_s",
        "Sessions that reached their end.",
        Figure::CompletedPerS,
        Has::Classes,
    ),
    metric("refused_per_s", "Sessions turned away.", Figure::RefusedPerS, Has::Classes),
    metric(
        "completed_ratio",
        "Of the sessions admitted that ended, the share that completed.",
        Figure::CompletedRatio,
        Has::Classes,
    ),
    metric(
        "refused_ratio",
        "Of the sessions that ended, the share that was turned away.",
        Figure::RefusedRatio,
        Has::Classes,
    ),
    metric(
        "abandoned_ratio",
        "Of the sessions that ended, the share whose customer lost patience.",
        Figure::AbandonedRatio,
        Has::Classes,
    ),
    metric(
        "failed_ratio",
        "Of the sessions that ended, the share that failed.",
        Figure::FailedRatio,
        Has::Classes,
    ),
    metric(
        "returning_refused",
        "Sessions already admitted whose later connection was turned away.",
        Figure::ReturningRefused,
        Has::Classes,
    ),
    metric(
        "full_handshake_share",
        "Of the handshakes completed, the share that was full.",
        Figure::FullHandshakeShare,
        Has::Run,
    ),
];

const fn metric(name: &'static str, meaning: &'static str, figure: Figure, has: Has) -> Metric {
    Metric { name, meaning, figure, has }
}

fn name<S: serde::Serializer>(metric: &Metric, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(metric.name)
}

fn by_name<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<&'static Metric, D::Error> {
    let name = String::deserialize(deserializer)?;
    let unknown = || serde::de::Error::custom(format!("{name:?} is no figure that has limits"));
    METRICS.iter().find(|known| known.name == name).ok_or_else(unknown)
}

impl Threshold {
    /// A limit on a figure of the run by its name; `None` for an unknown name.
    pub fn new(metric: &str, min: Option<f64>, max: Option<f64>) -> Option<Self> {
        let metric = METRICS.iter().find(|known| known.name == metric)?;
        Some(Self { metric, scope: Scope::Run, min, max, abort_after: None })
    }

    /// Whether a value is within the limits.
    pub(crate) fn allows(&self, value: f64) -> bool {
        self.min.is_none_or(|min| value >= min) && self.max.is_none_or(|max| value <= max)
    }
}

impl Metric {
    /// Whose figure it can be, in words.
    pub fn scopes(&self) -> &'static str {
        match self.has {
            Has::Run => "run",
            Has::Classes => "run, class",
            Has::Pages => "run, class, page",
            Has::PagesOnly => "page",
        }
    }
}

impl fmt::Display for Threshold {
    /// The name of the figure, such as `page.Home.response_p95_ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.scope {
            Scope::Run => {}
            Scope::Page(name) => write!(f, "page.{name}.")?,
            Scope::Class(name) => write!(f, "class.{name}.")?,
        }
        f.write_str(self.metric.name)
    }
}
