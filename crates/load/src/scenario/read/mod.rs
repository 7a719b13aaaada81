//! Reads scenario files: one file per table, all mistakes reported together.

mod arrivals;
mod body;
mod channel;
mod classes;
mod connections;
pub(super) mod document;
mod duration;
mod expectations;
mod feeders;
mod fields;
mod files;
mod hosts;
mod impatience;
mod limits;
mod names;
pub(super) mod pages;
pub(super) mod reference;
mod run;
mod session;
mod steps;
mod thresholds;
mod tls;
mod transitions;

use tidegate_config::{Section, Value};

/// Reports mistakes where something was to be read.
trait Refuse {
    /// Reports a mistake.
    fn mistake(&self, rule: String, remedy: String);

    /// Reports it; there is no value.
    fn refuse<T>(&self, rule: impl Into<String>, remedy: impl Into<String>) -> Option<T> {
        self.mistake(rule.into(), remedy.into());
        None
    }

    /// What was made of it, or the rule that it breaks.
    fn accept<T>(&self, made: Result<T, String>, remedy: &str) -> Option<T> {
        made.map_or_else(|rule| self.refuse(rule, remedy), Some)
    }

    /// Reports that there are more than allowed.
    fn at_most(&self, most: usize, count: usize, what: &str, remedy: &str) {
        if count > most {
            self.mistake(format!("has {count} {what}, at most {most}"), remedy.into());
        }
    }
}

impl Refuse for Value<'_> {
    fn mistake(&self, rule: String, remedy: String) {
        self.wrong(rule, remedy);
    }
}

impl Refuse for Section<'_> {
    fn mistake(&self, rule: String, remedy: String) {
        self.wrong(rule, remedy);
    }
}

/// Reads every value of a list before the first that is wrong makes it none, so that all mistakes
/// are reported.
fn every<'r, T>(list: &[Value<'r>], read: impl FnMut(&Value<'r>) -> Option<T>) -> Option<Vec<T>> {
    let read: Vec<Option<T>> = list.iter().map(read).collect();
    read.into_iter().collect()
}

/// The mistakes of a scenario, a line each.
#[cfg(test)]
pub(in crate::scenario) fn mistakes(text: &str) -> Vec<String> {
    crate::scenario::Scenario::from_toml(text, "shop.toml").unwrap_err().lines()
}
