//! Figures of each class of customers, where there are several.

use super::event::{Event, What};
use super::figures::count;
use crate::merge::tally::ClassTally;
use crate::scenario::Class;

/// Empty where all customers are of one class: then nothing is counted twice.
#[derive(Debug, Default)]
pub(super) struct Classes(Vec<ClassTally>);

impl Classes {
    pub(super) fn new(classes: &[Class]) -> Self {
        let several = if classes.len() > 1 { classes } else { &[] };
        Self(several.iter().map(|class| ClassTally::new(&class.name)).collect())
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

    pub(super) fn finish(self) -> Vec<ClassTally> {
        self.0
    }
}
