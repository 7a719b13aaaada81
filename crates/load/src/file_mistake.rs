//! Mistakes in files that a scenario names: logs that are replayed, values of feeders.

use tidegate_config::{Problem, Value};

/// A mistake in a file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileMistake {
    /// Line from 1; 0 for the file as a whole.
    pub line: usize,
    /// What is wrong, and the remedy.
    pub problem: Problem,
}

impl FileMistake {
    pub(crate) fn at(line: usize, rule: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { line, problem: Problem::new(rule, remedy) }
    }

    /// A mistake of the file as a whole, as the only one.
    pub(crate) fn whole(rule: impl Into<String>, remedy: impl Into<String>) -> Vec<Self> {
        vec![Self::at(0, rule, remedy)]
    }

    /// Reports mistakes at their lines of `file`, or at the value that names it; `key` is the
    /// place in the scenario that lines are reported for.
    pub(crate) fn report(all: Vec<Self>, named: &Value<'_>, file: &str, key: &str) {
        for Self { line, problem } in all {
            match line {
                0 => named.report(problem),
                line => named.reader.wrong_in(file, line, key, problem.rule, problem.remedy),
            }
        }
    }
}
