//! Figures of each class of customers, and of each entry of the arrivals, where
//! there are several.

use super::event::Event;
use super::figures::count;
use crate::arrivals::Arrivals;
use crate::result::tally::GroupTally;
use crate::scenario::class::Class;

/// Each side is empty where all customers are alike on it: then nothing is counted
/// twice.
#[derive(Debug)]
pub(super) struct GroupTallies {
    pub(super) classes: Vec<GroupTally>,
    pub(super) models: Vec<GroupTally>,
}

impl GroupTallies {
    pub(super) fn new(classes: &[Class], arrivals: &Arrivals) -> Self {
        let side = |names: Vec<String>| match names.len() {
            0 | 1 => Vec::new(),
            _ => names.into_iter().map(GroupTally::new).collect(),
        };
        Self {
            classes: side(classes.iter().map(|class| class.name.clone()).collect()),
            models: side(arrivals.words().collect()),
        }
    }

    pub(super) fn add(&mut self, event: &Event) {
        if self.classes.is_empty() && self.models.is_empty() {
            return;
        }
        let Some(group) = event.kind.group() else { return };
        for (side, index) in [(&mut self.classes, group.class), (&mut self.models, group.model)] {
            let Some(tally) = side.get_mut(usize::from(index)) else { continue };
            count(&mut tally.totals, event);
            event.page_response().into_iter().for_each(|took| tally.response.record(took));
        }
    }
}
