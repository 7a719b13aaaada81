//! What was expected of answers and did not come: how often, and an example of
//! what came instead. Bounded by the scenario, which says what is expected.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::event::{Event, Example, What, Why};
use crate::result::summary::Unmet;
use crate::scenario::{Page, Parts, Rule, Source};

/// Counts of the window, and examples of the whole run.
pub(super) struct Disappointments {
    parts: Arc<Parts>,
    counts: BTreeMap<(u16, Why), u64>,
    examples: BTreeMap<(u16, Why), String>,
}

impl Disappointments {
    pub(super) fn new(parts: Arc<Parts>) -> Self {
        Self { parts, counts: BTreeMap::new(), examples: BTreeMap::new() }
    }

    pub(super) fn add(&mut self, event: &Event) {
        if let What::Unmet { page, why } = event.what {
            *self.counts.entry((page, why)).or_default() += 1;
        }
    }

    pub(super) fn keep(&mut self, examples: &[Example]) {
        for Example { page, why, came } in examples {
            self.examples.entry((*page, *why)).or_insert_with(|| came.clone());
        }
    }

    /// In no order that matters.
    pub(super) fn finish(&self) -> Vec<Unmet> {
        let unmet = |(&(index, why), &count): (&(u16, Why), &u64)| {
            let page = &self.parts.pages[index as usize];
            let (kind, expected) = self.expected(page, why);
            let example = self.examples.get(&(index, why)).cloned().unwrap_or_default();
            Unmet { page: page.name.clone(), kind, expected, example, count }
        };
        self.counts.iter().map(unmet).collect()
    }

    fn expected(&self, page: &Page, why: Why) -> (&'static str, String) {
        match why {
            Why::Rule(index) => match &page.expected.rules()[index as usize] {
                rule @ Rule::Check(_) => ("check", rule.to_string()),
                rule @ Rule::Extract(parameter, _) => {
                    let name = &self.parts.parameters[*parameter as usize].name;
                    ("extraction", format!("{name} = {rule}"))
                }
            },
            Why::NotOffered => {
                let what = match &page.source {
                    Source::Path(_) => "values for",
                    Source::Link(_) => "a link to",
                    Source::Form(_) => "a form for",
                };
                ("not_offered", format!("{what} {}", page.template().text()))
            }
            Why::Unsendable => (
                "unsendable",
                "header fields without control characters, 8000 bytes at most".into(),
            ),
        }
    }
}
