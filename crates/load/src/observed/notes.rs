//! What a reader of a profile should know of the log that it was taken from.

use std::collections::HashMap;

use super::operations::{MOST, OTHERS, Operations, path_name};
use super::sessions::Sessions;
use super::{Counts, Observing};
use crate::word::counted;

/// Addresses that are no page of the scenario, which are told by name.
const TOLD: usize = 5;
/// Share of requests from which on it is told that they are no page of the scenario.
const MANY: f64 = 0.1;

/// Addresses that are no page of the scenario.
#[derive(Default)]
pub(super) struct Unknown(HashMap<String, u64>);

impl Unknown {
    pub(super) fn add(&mut self, method: &str, target: &str) {
        let name = path_name(method, target.split(['?', '#']).next().unwrap_or_default());
        let has_room = self.0.len() < MOST;
        match self.0.get_mut(&name) {
            Some(count) => *count += 1,
            None if has_room => {
                self.0.insert(name, 1);
            }
            None => {}
        }
    }

    /// The most frequent.
    fn first(&self) -> Vec<String> {
        let mut all: Vec<_> = self.0.iter().collect();
        all.sort_by_key(|(name, count)| (std::cmp::Reverse(**count), (*name).clone()));
        all.iter().take(TOLD).map(|(name, count)| format!("{name} {count}")).collect()
    }
}

/// What notes are made from.
pub(super) struct Telling<'a> {
    pub(super) told: Vec<String>,
    pub(super) counts: &'a Counts,
    pub(super) sessions: &'a Sessions,
    pub(super) operations: &'a Operations,
    pub(super) unknown: &'a Unknown,
    pub(super) by_field: bool,
    pub(super) observing: &'a Observing,
}

/// A line for each.
pub(super) fn notes(it: Telling<'_>) -> Vec<String> {
    let Telling { told, counts, sessions, operations, unknown, by_field, observing } = it;
    let mut notes = Vec::new();
    let requests = |count| counted(count, "request");
    let mut note = |count: u64, text: &dyn Fn() -> String| {
        if count > 0 {
            notes.push(text());
        }
    };
    note(counts.broken, &|| {
        let more = if counts.broken > told.len() as u64 { "\n  ..." } else { "" };
        let of = counted(counts.lines, "line");
        format!(
            "left out: {} of {of} that cannot be read:\n  {}{more}",
            counts.broken,
            told.join("\n  ")
        )
    });
    note(counts.without_request, &|| {
        format!("left out: {} without a request of a page", counted(counts.without_request, "line"))
    });
    note(counts.bots, &|| {
        let all = counts.lines - counts.broken - counts.without_request;
        let share = 100.0 * counts.bots as f64 / all.max(1) as f64;
        let verb = if observing.with_bots { "counted" } else { "left out" };
        format!(
            "{verb}: {} ({share:.1} %) of user agents that say they are programs",
            requests(counts.bots)
        )
    });
    note(counts.assets, &|| {
        format!("left out: {} of styles, scripts, images and fonts", requests(counts.assets))
    });
    note(counts.unknown, &|| {
        let share = counts.unknown as f64 / (counts.unknown + counts.requests).max(1) as f64;
        let remedy =
            if share > MANY { ": add pages for them, or name them with --operation" } else { "" };
        let first = unknown.first().join(", ");
        format!(
            "left out: {} of no page of the scenario ({first}){remedy}",
            requests(counts.unknown)
        )
    });
    note(counts.followed, &|| {
        format!(
            "{} followed a redirect within 2 s and belong to the operation before",
            requests(counts.followed)
        )
    });
    note(counts.errors, &|| {
        format!(
            "{} among the operations were answered with status 400 or more",
            requests(counts.errors)
        )
    });
    let cut = counts.begun_before + counts.going_on;
    note(cut, &|| {
        let verb = if counts.cut_are_in {
            "are counted as if they were whole, since the log is short: take a longer one"
        } else {
            "are left out"
        };
        format!(
            "the log may cut {} at its begin and {} at its end: these {verb}",
            counted(counts.begun_before, "session"),
            counts.going_on
        )
    });
    note(u64::from(by_field) * sessions.counts.without_field, &|| {
        let count = counted(sessions.counts.without_field, "session");
        format!("{count} have no field that names them: they go by address and user agent")
    });
    note(sessions.counts.too_many, &|| {
        format!(
            "left out: {} of sessions beyond a million at a time",
            requests(sessions.counts.too_many)
        )
    });
    note(sessions.counts.jumps_back, &|| {
        format!(
            "{} come more than a pause before others that stand before them: sort the log by time",
            requests(sessions.counts.jumps_back)
        )
    });
    for (page, other) in operations.alike() {
        notes
            .push(format!("page {page} has the address of {other}: its requests count as {other}"));
    }
    if operations.names().iter().any(|name| name == OTHERS) {
        notes.push(format!(
            "more than {MOST} operations: the rest is {OTHERS}; join some with --operation"
        ));
    }
    notes
}
