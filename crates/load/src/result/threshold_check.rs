//! Evaluates thresholds.

use std::borrow::Cow;
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tidegate_stats::{CensoredHistogram, Quantile, fewest_for_quantile};

use super::tally::{GroupTally, PageTally, Tally};
use super::threshold_result::{Aborted, FewAnswers, ThresholdResult};
use crate::counted::Counted;
use crate::scenario::thresholds::{Figure, Scope, Threshold};
use crate::totals::{Totals, share};

/// What the figure of a threshold is computed from. It adds up over shards.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(crate) struct Evaluated<'t> {
    totals: Cow<'t, Totals>,
    response: Cow<'t, CensoredHistogram>,
}

impl<'t> Evaluated<'t> {
    /// The part of a window that a threshold is about; `page` and `class` find it by name.
    pub(crate) fn of(
        threshold: &Threshold,
        run: (&'t Totals, &'t CensoredHistogram),
        page: impl FnOnce(&str) -> Option<&'t PageTally>,
        class: impl FnOnce(&str) -> Option<&'t GroupTally>,
    ) -> Self {
        let borrowed = |totals, response| Self {
            totals: Cow::Borrowed(totals),
            response: Cow::Borrowed(response),
        };
        let of_pages = matches!(threshold.metric.figure, Figure::PageLoad(_));
        match &threshold.scope {
            Scope::Run | Scope::Class(_) if of_pages => Self::default(),
            Scope::Run => borrowed(run.0, run.1),
            // A page that nobody requested.
            Scope::Page(name) => page(name).map_or_else(Self::default, |page| Self {
                totals: Cow::Owned(Totals {
                    requests_ok: page.ok,
                    requests_failed: page.failed,
                    ..Totals::default()
                }),
                response: match (of_pages, &page.assets) {
                    (true, Some(assets)) => Cow::Borrowed(&assets.page_load),
                    (true, None) => Cow::Owned(CensoredHistogram::default()),
                    (false, _) => Cow::Borrowed(&page.response),
                },
            }),
            // A class alone has the figures of the run.
            Scope::Class(name) => class(name)
                .map_or_else(|| borrowed(run.0, run.1), |it| borrowed(&it.totals, &it.response)),
        }
    }

    fn of_tally(threshold: &Threshold, tally: &'t Tally) -> Self {
        Self::of(
            threshold,
            (&tally.totals, &tally.distributions.response),
            |name| tally.pages.get(name),
            |name| tally.classes.iter().find(|class| class.name == name),
        )
    }

    /// Without borrowed parts.
    pub(crate) fn into_owned(self) -> Evaluated<'static> {
        Evaluated {
            totals: Cow::Owned(self.totals.into_owned()),
            response: Cow::Owned(self.response.into_owned()),
        }
    }

    /// Adds that of another shard.
    pub(crate) fn merge(&mut self, other: &Self) {
        self.totals.to_mut().merge(&other.totals);
        self.response.to_mut().merge(&other.response);
    }

    /// The figure over a window of this length; `None` for a response time without a response,
    /// or a share of nothing: it is missing, not missed.
    fn value(&self, figure: Figure, window: Duration) -> Option<f64> {
        match figure {
            Figure::Count(of) => Some(of(&self.totals) as f64),
            Figure::PerSecond(_) if window.is_zero() => Some(0.0),
            Figure::PerSecond(of) => Some(of(&self.totals) as f64 / window.as_secs_f64()),
            Figure::Share(of) => {
                let (part, whole) = of(&self.totals);
                (whole > 0).then(|| share(part, whole))
            }
            _ => self.time(figure).map(|time| time.ms),
        }
    }

    /// A response time; `None` for another figure, or without a response.
    fn time(&self, figure: Figure) -> Option<Quantile> {
        let times = self.response.percentiles();
        let quantile = |wanted| times.usual().into_iter().find(|(q, _)| *q == wanted);
        let time = match figure {
            Figure::Mean => times.mean(),
            Figure::Max => times.max(),
            Figure::Quantile(q) | Figure::PageLoad(q) => quantile(q)?.1,
            Figure::Count(_) | Figure::PerSecond(_) | Figure::Share(_) => return None,
        };
        (!times.is_empty()).then_some(time)
    }

    /// Compares the figure with its limits.
    fn evaluate(&self, threshold: &Threshold, window: Duration) -> ThresholdResult {
        let figure = threshold.metric.figure;
        let value = self.value(figure, window);
        // Of pages with their assets no bounds are told.
        let time = self.time(figure).filter(|_| !matches!(figure, Figure::PageLoad(_)));
        let is_lower_bound = time.is_some_and(|time| time.is_lower_bound);
        // The mean is not at the mercy of one request: it counts for as long as it waited.
        let unknown = is_lower_bound && threshold.max.is_some() && !matches!(figure, Figure::Mean);
        ThresholdResult {
            metric: threshold.to_string(),
            value,
            is_lower_bound,
            min: threshold.min,
            max: threshold.max,
            met: value.is_some_and(|value| threshold.allows(value) && !unknown),
            few: self.few(figure),
        }
    }

    /// The answers, if they are too few for the percentile that the figure is.
    fn few(&self, figure: Figure) -> Option<FewAnswers> {
        let (Figure::Quantile(q) | Figure::PageLoad(q)) = figure else { return None };
        let (answers, needed) = (self.response.ended().count, fewest_for_quantile(q));
        (0 < answers && answers < needed).then_some(FewAnswers { answers, needed })
    }
}

/// Compares the figures of a run with its thresholds.
pub(super) fn verdicts(
    thresholds: &[Threshold],
    tally: &Tally,
    window: Duration,
) -> Vec<ThresholdResult> {
    let verdict = |limit: &Threshold| Evaluated::of_tally(limit, tally).evaluate(limit, window);
    thresholds.iter().map(verdict).collect()
}

/// Thresholds on percentiles that so few answers decide that one or two of them do.
pub(super) fn few_answers(thresholds: &[Threshold], tally: &Tally) -> Vec<String> {
    let warning = |limit: &Threshold| {
        let few = Evaluated::of_tally(limit, tally).few(limit.metric.figure)?;
        let FewAnswers { answers, needed } = few;
        Some(format!(
            "threshold {limit} is decided by {answers} answers, and such a percentile takes \
             {needed}: chance decides whether it is met. Run longer, at a higher rate, or limit \
             a lower percentile."
        ))
    };
    thresholds.iter().filter_map(warning).collect()
}

/// Thresholds that can end a run.
pub(crate) fn watched(thresholds: &[Threshold]) -> impl Iterator<Item = &Threshold> {
    thresholds.iter().filter(|threshold| threshold.abort_after.is_some())
}

/// The first threshold that ends a run after `window` of its measured window: one that is missed
/// once its grace has passed. `warm_up` is what preceded the window.
pub(crate) fn aborted<'t>(
    evaluated: impl Iterator<Item = (&'t Threshold, Evaluated<'t>)>,
    warm_up: Duration,
    window: Duration,
) -> Option<Aborted> {
    let due = |(threshold, _): &(&Threshold, Evaluated<'_>)| {
        threshold.abort_after.is_some_and(|after| window >= after) && !window.is_zero()
    };
    let has_data = |(threshold, evaluated): &(&Threshold, Evaluated<'_>)| {
        evaluated.value(threshold.metric.figure, window).is_some()
    };
    evaluated.filter(due).filter(has_data).find_map(|(threshold, evaluated)| {
        let verdict = evaluated.evaluate(threshold, window);
        let at_s = (warm_up + window).as_secs_f64();
        (!verdict.met).then_some(Aborted { verdict, at_s })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use tidegate_stats::Observation;

    const SECOND: Duration = Duration::from_secs(1);

    fn tally() -> Tally {
        let mut tally = Tally::default();
        let mut page = |name: &str, ok, failed, ms| {
            let mut page = PageTally { ok, failed, ..PageTally::default() };
            page.response.record_many(Observation::Exact(Duration::from_millis(ms)), ok + failed);
            tally.distributions.response.merge(&page.response);
            tally.totals.requests_ok += ok;
            tally.totals.requests_failed += failed;
            tally.pages.insert(name.to_owned(), page);
        };
        page("Home", 90, 10, 20);
        page("Item", 50, 50, 700);
        tally.totals.responses_by_class = [("2xx".into(), 140), ("5xx".into(), 40)].into();
        tally.totals.connection_errors = 20;
        let mut bots = GroupTally::new("bots".to_owned());
        (bots.totals.refused, bots.totals.completed) = (3, 1);
        tally.classes.push(bots);
        tally
    }

    fn limit(metric: &str, scope: Scope, max: f64) -> Threshold {
        Threshold { scope, ..Threshold::new(metric, None, Some(max)).unwrap() }
    }

    #[test]
    fn a_page_and_a_class_are_measured_by_their_own_figures() {
        let (home, item) = (Scope::Page("Home".to_owned()), Scope::Page("Item".to_owned()));
        let limits = [
            limit("response_p95_ms", home.clone(), 21.0),
            limit("response_p95_ms", item.clone(), 21.0),
            limit("requests_failed_ratio", home, 0.1),
            limit("requests_failed_ratio", item, 0.1),
            limit("requests_failed_ratio", Scope::Run, 0.3),
            limit("responses_5xx_ratio", Scope::Run, 0.2),
            limit("connection_error_ratio", Scope::Run, 0.05),
            limit("refused_ratio", Scope::Class("bots".to_owned()), 0.5),
        ];
        let verdicts = verdicts(&limits, &tally(), 10 * SECOND);
        let met: Vec<bool> = verdicts.iter().map(|verdict| verdict.met).collect();
        assert_eq!(met, [true, false, true, false, true, true, false, false]);
        let values: Vec<f64> = verdicts[2..].iter().map(|verdict| verdict.value.unwrap()).collect();
        assert_eq!(values, [0.1, 0.5, 0.3, 0.2, 0.1, 0.75]);
        assert_eq!(verdicts[3].metric, "page.Item.requests_failed_ratio");
    }

    #[test]
    fn a_percentile_of_few_answers_is_no_sound_threshold() {
        let home = Scope::Page("Home".to_owned());
        let limits = [
            limit("response_p95_ms", home.clone(), 21.0),
            limit("response_p50_ms", home, 21.0),
            limit("response_p95_ms", Scope::Run, 800.0),
            limit("response_p99_ms", Scope::Run, 800.0),
            limit("response_max_ms", Scope::Run, 800.0),
            limit("response_p99_ms", Scope::Page("Never".to_owned()), 800.0),
        ];
        // 100 answers of the page, 200 of the run.
        let [page, run] = &few_answers(&limits, &tally())[..] else { panic!("two warnings") };
        assert!(page.starts_with(
            "threshold page.Home.response_p95_ms is decided by 100 answers, and such a percentile \
             takes 200:"
        ));
        assert!(run.contains("response_p99_ms is decided by 200 answers"), "{run}");
        assert!(run.contains("takes 1000: chance decides whether it is met. Run longer"), "{run}");
    }

    #[test]
    fn a_page_that_nobody_requested_meets_no_threshold() {
        let never = || Scope::Page("Never".to_owned());
        let limits = ["response_p50_ms", "requests_failed_ratio"];
        let limits = limits.map(|metric| limit(metric, never(), 1.0));
        assert!(verdicts(&limits, &tally(), SECOND).iter().all(|verdict| !verdict.met));
    }

    #[test]
    fn a_figure_without_data_ends_no_run() {
        let empty = Tally::default();
        let at_once = |metric: &str| Threshold {
            abort_after: Some(Duration::ZERO),
            ..Threshold::new(metric, Some(1.0), None).unwrap()
        };
        let ends = |metric: &str, tally: &Tally| {
            let limit = at_once(metric);
            let evaluated = [(&limit, Evaluated::of_tally(&limit, tally))];
            aborted(evaluated.into_iter(), Duration::ZERO, SECOND).is_some()
        };
        for metric in
            ["completed_ratio", "refused_ratio", "response_p50_ms", "full_handshake_share"]
        {
            assert!(!ends(metric, &empty), "{metric}");
        }
        assert!(ends("completed_per_s", &empty));
        let mut failed = Tally::default();
        failed.totals.failed_admitted = 1;
        assert!(ends("completed_ratio", &failed));
    }

    #[test]
    fn a_missed_threshold_ends_a_run_once_its_grace_has_passed() {
        let tally = tally();
        let mut limits = [
            limit("response_p95_ms", Scope::Page("Home".to_owned()), 21.0),
            limit("response_max_ms", Scope::Run, 500.0),
        ];
        let end = |limits: &[Threshold], window| {
            let evaluated =
                watched(limits).map(|limit| (limit, Evaluated::of_tally(limit, &tally)));
            aborted(evaluated, 3 * SECOND, window)
        };
        assert_eq!(end(&limits, 60 * SECOND), None);
        limits.iter_mut().for_each(|limit| limit.abort_after = Some(10 * SECOND));
        assert_eq!(end(&limits, 9 * SECOND), None);
        let aborted = end(&limits, 10 * SECOND).unwrap();
        assert_eq!((aborted.verdict.metric.as_str(), aborted.at_s), ("response_max_ms", 13.0));
        limits[1].max = Some(800.0);
        assert_eq!(end(&limits, 60 * SECOND), None);
    }
}
