//! Failed checks of responses: counts, and an example of each. Their number is bounded by
//! the rules of the scenario.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{Event, EventKind, Example, Expectation};
use crate::outcome::Failure;
use crate::result::figures::FailedCheck;
use crate::scenario::definition::ScenarioDefinition;
use crate::scenario::expected::Rule;
use crate::scenario::fed::file_name;
use crate::scenario::page::{Page, Source};

/// Counts of the window, and examples of the whole run.
pub(super) struct FailedChecks {
    definition: Arc<ScenarioDefinition>,
    counts: BTreeMap<(u16, Expectation), u64>,
    examples: BTreeMap<(u16, Expectation), String>,
}

impl FailedChecks {
    pub(super) fn new(definition: Arc<ScenarioDefinition>) -> Self {
        Self { definition, counts: BTreeMap::new(), examples: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, event: &Event) {
        if let EventKind::CheckFailed { page, expectation } = event.kind {
            *self.counts.entry((page, expectation)).or_default() += 1;
        }
    }

    pub(super) fn keep(&mut self, examples: &[Example]) {
        for Example { page, expectation, found } in examples {
            self.examples.entry((*page, *expectation)).or_insert_with(|| found.clone());
        }
    }

    /// What failed, and every check of the scenario that did not, in no order that matters.
    pub(super) fn finish(&self) -> Vec<FailedCheck> {
        let mut counts = self.counts.clone();
        for (index, page) in self.definition.pages.iter().enumerate() {
            for (nth, rule) in page.expected.rules().iter().enumerate() {
                let expectation = match rule {
                    Rule::Soft(_) => Expectation::Soft(nth as u16),
                    _ => Expectation::Rule(nth as u16),
                };
                counts.entry((index as u16, expectation)).or_default();
            }
        }
        let unmet = |(&(index, expectation), &count): (&(u16, Expectation), &u64)| {
            let page = &self.definition.pages[index as usize];
            let (kind, expected) = self.expected(page, expectation);
            let example = self.examples.get(&(index, expectation)).cloned().unwrap_or_default();
            FailedCheck { page: page.name.clone(), kind: kind.into(), expected, example, count }
        };
        counts.iter().map(unmet).collect()
    }

    fn expected(&self, page: &Page, expectation: Expectation) -> (&'static str, String) {
        match expectation {
            Expectation::Soft(index) => {
                ("soft_check", page.expected.rules()[index as usize].to_string())
            }
            Expectation::Rule(index) => match &page.expected.rules()[index as usize] {
                rule @ (Rule::Check(_) | Rule::Soft(_)) => ("check", rule.to_string()),
                rule @ Rule::Extract(parameter, _) => {
                    let name = &self.definition.parameters[*parameter as usize].name;
                    ("extraction", format!("{name} = {rule}"))
                }
            },
            Expectation::NotOffered => {
                let what = match &page.source {
                    Source::Path(_) => "values for",
                    Source::Link(_) => "a link to",
                    Source::Form(_) => "a form for",
                };
                ("not_offered", format!("{what} {}", page.template().text()))
            }
            Expectation::Here => {
                (Failure::RedirectElsewhere.name(), "an answer of the target itself".into())
            }
            Expectation::Row { feeder } => {
                let file = file_name(&self.definition.feeders[usize::from(feeder)]);
                (Failure::RowsUsedUp.name(), format!("a row of {file} for every session"))
            }
            Expectation::Unsendable => (
                "unsendable",
                "header fields without control characters, 8000 bytes at most".into(),
            ),
        }
    }
}
