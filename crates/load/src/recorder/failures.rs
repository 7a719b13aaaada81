//! Failed requests by page and cause, with a sample of each.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{Event, EventKind, FailureKey, FailureSample};
use crate::outcome::Cause;
use crate::result::failure::{RequestFailure, Sample};
use crate::scenario::definition::ScenarioDefinition;

/// Most pairs of page and cause; a server can answer with any status. Failures beyond are in the
/// totals alone.
const MOST: usize = 1000;
/// Most samples, of some kilobytes each.
pub(crate) const SAMPLES: usize = 100;

/// Counts of the window, and samples of the whole run.
pub(super) struct Failures {
    definition: Arc<ScenarioDefinition>,
    counts: BTreeMap<FailureKey, u64>,
    samples: BTreeMap<FailureKey, Sample>,
}

impl Failures {
    pub(super) fn new(definition: Arc<ScenarioDefinition>) -> Self {
        Self { definition, counts: BTreeMap::new(), samples: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, event: &Event) {
        let EventKind::Request(request) = &event.kind else { return };
        let Some(cause) = request.cause() else { return };
        let key = (request.page, request.asset, cause);
        if self.counts.len() < MOST || self.counts.contains_key(&key) {
            *self.counts.entry(key).or_default() += 1;
        }
    }

    pub(super) fn keep(&mut self, samples: &[FailureSample]) {
        for FailureSample { key, sample } in samples {
            if self.samples.len() < SAMPLES {
                self.samples.entry(*key).or_insert_with(|| sample.clone());
            }
        }
    }

    /// In no order that matters.
    pub(super) fn finish(&self) -> Vec<RequestFailure> {
        let failure = |(key, &count): (&(u16, Option<u16>, Cause), &u64)| {
            let (page, asset, cause) = *key;
            let page = self.definition.pages.get(usize::from(page));
            let name = |asset: u16| page?.assets.get(usize::from(asset)).map(|it| it.text());
            RequestFailure {
                page: page.map(|page| page.name.clone()).unwrap_or_default(),
                asset: asset.map(|asset| name(asset).unwrap_or_default().to_owned()),
                cause: cause.name(),
                count,
                sample: self.samples.get(key).cloned(),
            }
        };
        self.counts.iter().map(failure).collect()
    }
}
