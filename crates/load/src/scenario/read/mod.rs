//! Reads scenario files: one file per table, all mistakes reported together.

mod arrivals;
mod body;
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

/// Reports a mistake where a value was to be read.
trait Refuse {
    /// Reports it; there is no value.
    fn refuse<T>(&self, rule: impl Into<String>, remedy: impl Into<String>) -> Option<T>;
}

impl Refuse for Value<'_> {
    fn refuse<T>(&self, rule: impl Into<String>, remedy: impl Into<String>) -> Option<T> {
        self.wrong(rule, remedy);
        None
    }
}

impl Refuse for Section<'_> {
    fn refuse<T>(&self, rule: impl Into<String>, remedy: impl Into<String>) -> Option<T> {
        self.wrong(rule, remedy);
        None
    }
}
