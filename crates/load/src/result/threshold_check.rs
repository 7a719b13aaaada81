//! Evaluates thresholds.

use super::summary::Summary;
use super::verdict::Verdict;
use crate::scenario::thresholds::{Figure, Threshold};

/// Compares the figures of a run with a threshold.
pub(super) fn evaluate(threshold: &Threshold, summary: &Summary) -> Verdict {
    let value = value(threshold.metric.figure, summary);
    let met = value.is_some_and(|value| {
        threshold.min.is_none_or(|min| value >= min) && threshold.max.is_none_or(|max| value <= max)
    });
    Verdict {
        metric: threshold.metric.name,
        value: value.unwrap_or(0.0),
        min: threshold.min,
        max: threshold.max,
        met,
    }
}

/// The value of a figure; `None` for a response time without any request.
fn value(figure: Figure, s: &Summary) -> Option<f64> {
    match figure {
        Figure::ResponseMeanMs => timed(s, s.response.mean_ms),
        Figure::ResponseP50Ms => timed(s, s.response.p50_ms),
        Figure::ResponseP90Ms => timed(s, s.response.p90_ms),
        Figure::ResponseP95Ms => timed(s, s.response.p95_ms),
        Figure::ResponseP99Ms => timed(s, s.response.p99_ms),
        Figure::ResponseMaxMs => timed(s, s.response.max_ms),
        Figure::RequestsPerS => Some(s.requests_per_s),
        Figure::OfferedPerS => Some(s.offered_per_s),
        Figure::AdmittedPerS => Some(s.admitted_per_s),
        Figure::CompletedPerS => Some(s.completed_per_s),
        Figure::RefusedPerS => Some(s.refused_per_s),
        Figure::CompletedRatio => Some(s.completed_ratio),
        Figure::RefusedRatio => Some(s.refused_ratio),
        Figure::AbandonedRatio => Some(s.abandoned_ratio),
        Figure::FailedRatio => Some(s.failed_ratio),
        Figure::ReturningRefused => Some(s.totals.returning_refused as f64),
        Figure::FullHandshakeShare => Some(s.full_handshake_share),
    }
}

fn timed(summary: &Summary, value: f64) -> Option<f64> {
    (summary.response.count > 0).then_some(value)
}
