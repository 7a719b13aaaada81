//! Limits on a run's figures, set in the scenario, that decide the exit code.

use std::fmt;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::totals::Totals;

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

/// How a figure is computed.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Figure {
    /// The mean response time.
    Mean,
    /// A quantile of response times.
    Quantile(f64),
    /// The longest response time.
    Max,
    /// A quantile of the time that a page takes with its assets.
    PageLoad(f64),
    /// A count.
    Count(fn(&Totals) -> u64),
    /// A count per second.
    PerSecond(fn(&Totals) -> u64),
    /// A part of a whole.
    Share(fn(&Totals) -> (u64, u64)),
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

/// Declares the figures, a line for each: name, meaning, computation, scopes.
macro_rules! metrics {
    ($($name:literal $meaning:literal $figure:ident $(($of:expr))?, $has:ident;)*) => {
        /// Every figure that thresholds can name.
        pub const METRICS: &[Metric] = &[$(Metric {
            name: $name,
            meaning: $meaning,
            figure: Figure::$figure $(($of))?,
            has: Has::$has,
        },)*];
    };
}

metrics! {
    "response_mean_ms" "Mean response time, from intended start to last byte."
        Mean, Pages;
    "response_p50_ms" "Its median."
        Quantile(0.5), Pages;
    "response_p90_ms" "Its 90th percentile."
        Quantile(0.9), Pages;
    "response_p95_ms" "Its 95th percentile."
        Quantile(0.95), Pages;
    "response_p99_ms" "Its 99th percentile."
        Quantile(0.99), Pages;
    "response_max_ms" "The longest."
        Max, Pages;
    "page_load_p50_ms" "Median time from the intended start of a page to the last byte of its last asset."
        PageLoad(0.5), PagesOnly;
    "page_load_p95_ms" "Its 95th percentile."
        PageLoad(0.95), PagesOnly;
    "page_load_p99_ms" "Its 99th percentile."
        PageLoad(0.99), PagesOnly;
    "requests_per_s" "Requests answered."
        PerSecond(|t| t.requests_ok), Pages;
    "requests_failed_ratio" "Of the requests, the share that failed."
        Share(|t| (t.requests_failed, t.requests())), Pages;
    "responses_4xx_ratio" "Of the requests, the share answered with a status of 400 to 499."
        Share(|t| (t.responses("4xx"), t.requests())), Classes;
    "responses_5xx_ratio" "Of the requests, the share answered with a status of 500 to 599."
        Share(|t| (t.responses("5xx"), t.requests())), Classes;
    "connection_error_ratio" "Of the requests, the share without an answer because a connection failed."
        Share(|t| (t.connection_errors, t.requests())), Classes;
    "soft_checks_failed" "Soft checks that did not hold."
        Count(|t| t.soft_checks_failed), Run;
    "offered_per_s" "Sessions that the schedule offers."
        PerSecond(|t| t.offered), Classes;
    "admitted_per_s" "Sessions whose first handshake completed."
        PerSecond(|t| t.admitted), Classes;
    "completed_per_s" "Sessions that reached their end."
        PerSecond(|t| t.completed), Classes;
    "refused_per_s" "Sessions turned away."
        PerSecond(|t| t.refused), Classes;
    "completed_ratio" "Of the sessions admitted that ended, the share that completed."
        Share(|t| (t.completed, t.admitted_ended())), Classes;
    "refused_ratio" "Of the sessions that ended, the share that was turned away."
        Share(|t| (t.refused, t.ended())), Classes;
    "abandoned_ratio" "Of the sessions that ended, the share whose customer lost patience."
        Share(|t| (t.abandoned, t.ended())), Classes;
    "failed_ratio" "Of the sessions that ended, the share that failed."
        Share(|t| (t.failed, t.ended())), Classes;
    "returning_refused" "Sessions already admitted whose later connection was turned away."
        Count(|t| t.returning_refused), Classes;
    "full_handshake_share" "Of the handshakes completed, the share that was full."
        Share(|t| (t.full_ok, t.full_ok + t.resumed_ok)), Run;
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
