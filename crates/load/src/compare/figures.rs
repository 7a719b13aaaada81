//! The figures by which runs are compared, and their standard errors within one run.

use serde::{Deserialize, Serialize};
use tidegate_stats::{
    Caution, CensoredHistogram, Estimate, Inconclusive, RatioTerm, fewest_for_quantile,
    quantile_of_batches, ratio_of_sums,
};

use super::window::Window;
use crate::result::series::Subwindow;
use crate::result::threshold_result::FewAnswers;

/// Subwindows shorter than this follow from each other in ways that a few dozen of them do not
/// show …
const SHORT_S: f64 = 1.0;
/// … and count as correlated by this at least.
const SHORT_CORRELATION: f64 = 0.5;

/// A figure of a run.
#[derive(Debug)]
pub(crate) struct Figure {
    /// As in the summary.
    pub(crate) name: &'static str,
    pub(crate) unit: Unit,
    /// Which way is worse; `None` if that depends on what one wants.
    pub(super) worse: Option<Worse>,
    kind: FigureKind,
}

/// What a figure is counted in.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Unit {
    /// By the second.
    PerSecond,
    /// A share of 1.
    Share,
    /// Milliseconds.
    Ms,
}

/// Which way a figure gets worse.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Worse {
    Lower,
    Higher,
}

#[derive(Debug)]
enum FigureKind {
    /// A count by the second.
    PerSecond(fn(&Subwindow) -> u64),
    /// One count by another.
    Share(fn(&Subwindow) -> (u64, u64)),
    /// A quantile of response time.
    Response(f64),
    /// The mean response time.
    MeanResponse,
}

/// The figures that are compared unless others are named.
pub(crate) const FIGURES: &[Figure] = &[
    per_second("completed_per_s", |s| s.completed),
    per_second("requests_per_s", |s| s.requests_ok),
    share("completed_ratio", Some(Worse::Lower), |s| (s.completed, s.admitted_ended)),
    share("refused_ratio", Some(Worse::Higher), |s| (s.refused, ended(s))),
    share("abandoned_ratio", Some(Worse::Higher), |s| (s.abandoned, ended(s))),
    share("failed_ratio", Some(Worse::Higher), |s| (s.failed, ended(s))),
    share("request_error_ratio", Some(Worse::Higher), |s| {
        (s.requests_failed, s.requests_ok + s.requests_failed)
    }),
    response("response_p50_ms", 0.5),
    response("response_p95_ms", 0.95),
    response("response_p99_ms", 0.99),
    share("full_handshake_share", None, |s| {
        (s.full_handshakes, s.full_handshakes + s.resumed_handshakes)
    }),
];

/// Figures that are compared only by name.
pub(super) const MORE_FIGURES: &[Figure] = &[
    Figure {
        name: "response_mean_ms",
        unit: Unit::Ms,
        worse: Some(Worse::Higher),
        kind: FigureKind::MeanResponse,
    },
    response("response_p75_ms", 0.75),
    response("response_p90_ms", 0.9),
    response("response_p99_9_ms", 0.999),
];

const fn per_second(name: &'static str, of: fn(&Subwindow) -> u64) -> Figure {
    let (unit, worse) = (Unit::PerSecond, Some(Worse::Lower));
    Figure { name, unit, worse, kind: FigureKind::PerSecond(of) }
}

const fn share(
    name: &'static str,
    worse: Option<Worse>,
    of: fn(&Subwindow) -> (u64, u64),
) -> Figure {
    Figure { name, unit: Unit::Share, worse, kind: FigureKind::Share(of) }
}

const fn response(name: &'static str, q: f64) -> Figure {
    Figure { name, unit: Unit::Ms, worse: Some(Worse::Higher), kind: FigureKind::Response(q) }
}

fn ended(stretch: &Subwindow) -> u64 {
    stretch.completed + stretch.refused + stretch.abandoned + stretch.failed
}

impl Figure {
    /// The figure of a whole run.
    ///
    /// # Errors
    /// There is no data for it, or only a lower bound of it is known.
    pub(crate) fn value(&self, window: &Window) -> Result<f64, Inconclusive> {
        if let FigureKind::Response(q) = self.kind {
            let mut all = CensoredHistogram::new();
            window.responses.iter().for_each(|stretch| all.merge(stretch));
            return match all.quantile(q) {
                _ if all.count() == 0 => Err(Inconclusive::NoData),
                quantile if quantile.is_lower_bound => Err(Inconclusive::Unbounded),
                quantile => Ok(quantile.ms),
            };
        }
        let parts = self.parts(window);
        let sum = |of: fn(&RatioTerm) -> f64| parts.iter().map(of).sum::<f64>();
        let whole = sum(|part| part.whole);
        if whole > 0.0 { Ok(sum(|part| part.part) / whole) } else { Err(Inconclusive::NoData) }
    }

    /// The figure with its standard error within the run, and whether it drifts: its error is
    /// then a wide one.
    pub(super) fn estimate(&self, window: &Window) -> Result<(Estimate, bool), Inconclusive> {
        let is_short = window.stretches.first().is_some_and(|it| it.length_s < SHORT_S);
        let correlation = if is_short { SHORT_CORRELATION } else { 0.0 };
        let by = |drifts: bool| {
            let caution = Caution { correlation, drifts };
            match self.kind {
                FigureKind::Response(q) => {
                    quantile_of_batches(q, &window.responses.iter().collect::<Vec<_>>(), caution)
                }
                _ => ratio_of_sums(&self.parts(window), caution),
            }
        };
        match by(false) {
            Err(Inconclusive::Correlated) => by(true).map(|estimate| (estimate, true)),
            steady => steady.map(|estimate| (estimate, false)),
        }
    }

    /// The answers of a run, if they are too few for this percentile. Without any answer there
    /// is no figure, which is another matter.
    pub(crate) fn too_few(&self, window: &Window) -> Option<FewAnswers> {
        let FigureKind::Response(q) = self.kind else { return None };
        let answers = window.responses.iter().map(|stretch| stretch.ended().count).sum();
        let needed = fewest_for_quantile(q);
        (0 < answers && answers < needed).then_some(FewAnswers { answers, needed })
    }

    fn parts(&self, window: &Window) -> Vec<RatioTerm> {
        if matches!(self.kind, FigureKind::MeanResponse) {
            let sum = |stretch: &CensoredHistogram| {
                let ended = stretch.ended();
                RatioTerm { part: ended.total_ms, whole: ended.count as f64 }
            };
            return window.responses.iter().map(sum).collect();
        }
        let part = |stretch: &Subwindow| match self.kind {
            FigureKind::PerSecond(of) => {
                RatioTerm { part: of(stretch) as f64, whole: stretch.length_s }
            }
            FigureKind::Share(of) => {
                let (part, whole) = of(stretch);
                RatioTerm { part: part as f64, whole: whole as f64 }
            }
            FigureKind::Response(_) | FigureKind::MeanResponse => RatioTerm::default(),
        };
        window.stretches.iter().map(part).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::run::tests::{read, saved};
    use super::*;

    #[test]
    fn figures_of_two_seconds_worked_out_by_hand() {
        let run = &read(&saved(1, &[(30, 10), (10, 50)]))[0].window;
        let value = |name| FIGURES.iter().find(|figure| figure.name == name).unwrap().value(run);
        assert_eq!(value("completed_per_s"), Ok(20.0));
        assert_eq!(value("completed_ratio"), Ok(0.4));
        assert_eq!(value("request_error_ratio"), Ok(0.0));
        assert_eq!(value("full_handshake_share"), Ok(0.25));
        assert!((value("response_p50_ms").unwrap() - 10.0).abs() < 0.01);
        assert!((value("response_p95_ms").unwrap() - 50.0).abs() < 0.05);
        let idle = &read(&saved(1, &[(0, 1), (0, 1)]))[0].window;
        assert_eq!(FIGURES[7].value(idle), Err(Inconclusive::NoData));
        // 30 + 10 answers of 10 and of 50 ms.
        let mean = MORE_FIGURES[0].value(run).unwrap();
        assert!((mean - 20.0).abs() < 0.05, "{mean}");
        assert_eq!(MORE_FIGURES[0].value(idle), Err(Inconclusive::NoData));
    }

    #[test]
    fn a_percentile_needs_ten_answers_beyond_it() {
        let few = |seconds: &[(u64, u64)], name| {
            let figure = FIGURES.iter().find(|figure| figure.name == name).unwrap();
            figure.too_few(&read(&saved(1, seconds))[0].window)
        };
        let found = Some(FewAnswers { answers: 199, needed: 200 });
        assert_eq!(few(&[(100, 5), (99, 5)], "response_p95_ms"), found);
        assert_eq!(few(&[(100, 5), (100, 5)], "response_p95_ms"), None);
        assert_eq!(few(&[(100, 5), (99, 5)], "response_p50_ms"), None);
        assert_eq!(few(&[(1, 5)], "completed_per_s"), None);
        assert_eq!(few(&[(0, 5)], "response_p95_ms"), None);
    }
}
