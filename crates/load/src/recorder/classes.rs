//! Figures of each class of customers, where there are several.

use tidegate_stats::Latency;

use super::event::{Event, What};
use super::figures::count;
use crate::scenario::Class;
use crate::summary::{ClassFigures, Totals};

/// Empty where all customers are of one class: then nothing is counted twice.
#[derive(Debug, Default)]
pub(super) struct Classes(Vec<OfClass>);

#[derive(Debug)]
struct OfClass {
    name: String,
    totals: Totals,
    response: Latency,
}

impl Classes {
    pub(super) fn new(classes: &[Class]) -> Self {
        let of = |class: &Class| OfClass {
            name: class.name.clone(),
            totals: Totals::default(),
            response: Latency::default(),
        };
        Self(if classes.len() > 1 { classes.iter().map(of).collect() } else { Vec::new() })
    }

    pub(super) fn add(&mut self, event: &Event) {
        if self.0.is_empty() {
            return;
        }
        let (What::Offered { class }
        | What::NotStarted { class }
        | What::Started { class }
        | What::Returned { class }
        | What::Reloaded { class }
        | What::Admitted { class }
        | What::Ended { class, .. }) = event.what
        else {
            if let What::Request(request) = &event.what
                && let Some(class) = self.0.get_mut(usize::from(request.class))
            {
                count(&mut class.totals, event);
                if request.outcome.is_none() {
                    class.response.record(event.at.saturating_sub(request.intended));
                }
            }
            return;
        };
        if let Some(class) = self.0.get_mut(usize::from(class)) {
            count(&mut class.totals, event);
        }
    }

    pub(super) fn finish(self) -> Vec<ClassFigures> {
        let figures = |class: OfClass| {
            let totals = class.totals;
            ClassFigures {
                name: class.name,
                offered: totals.offered,
                sessions_returned: totals.sessions_returned,
                not_started: totals.not_started,
                started: totals.started,
                admitted: totals.admitted,
                completed_ratio: totals.completed_ratio(),
                completed: totals.completed,
                refused: totals.refused,
                refused_by_kind: totals.refused_by_kind,
                failed: totals.failed,
                failed_by_kind: totals.failed_by_kind,
                abandoned: totals.abandoned,
                abandoned_by_stage: totals.abandoned_by_stage,
                cut_off: totals.cut_off,
                requests_ok: totals.requests_ok,
                requests_failed: totals.requests_failed,
                requests_reloaded: totals.requests_reloaded,
                response: class.response.summary(),
            }
        };
        self.0.into_iter().map(figures).collect()
    }
}
