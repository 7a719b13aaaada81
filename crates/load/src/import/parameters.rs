//! Names for the values that are extracted.

use super::issued::{Extraction, Source};
use crate::html::css;
use crate::scenario::field::NAMES;

/// Longest name, in characters.
const LONGEST: usize = 40;
/// Most values of the same name that are needed at a time.
const SAME: u32 = 20;
/// Most values of a scenario.
const MOST: usize = 2000;

/// The values that the scenario extracts.
#[derive(Debug, Default)]
pub(super) struct Parameters(Vec<Parameter>);

/// A value from the response of one step to the request of a later one.
#[derive(Debug)]
struct Parameter {
    name: String,
    from: usize,
    extraction: Extraction,
    /// The last step that needs it.
    until: usize,
}

impl Parameters {
    /// The name under which step `until` gets the value of an earlier one; `None` if there
    /// are too many values. No other value of that name comes in between.
    pub(super) fn name(&mut self, source: &Source, until: usize) -> Option<String> {
        let Source { visit: from, name, extraction } = source;
        let from = *from;
        let same = |it: &Parameter| it.from == from && it.extraction == *extraction;
        for index in 0..self.0.len() {
            let known = &self.0[index];
            let until = until.max(known.until);
            if same(known) && self.is_free(&known.name, from, until, Some(index)) {
                self.0[index].until = until;
                return Some(self.0[index].name.clone());
            }
        }
        if self.0.iter().filter(|known| known.from == from).count() == css::MOST {
            return None;
        }
        if self.0.len() == MOST {
            return None;
        }
        let base = base_name(name);
        let numbered = (2..=SAME).map(|number| format!("{base}_{number}"));
        let name = std::iter::once(base.clone())
            .chain(numbered)
            .find(|name| self.is_free(name, from, until, None))?;
        let extraction = extraction.clone();
        self.0.push(Parameter { name: name.clone(), from, extraction, until });
        Some(name)
    }

    /// What is extracted from the response of a step.
    pub(super) fn extractions(&self, from: usize) -> Vec<(String, Extraction)> {
        let own = self.0.iter().filter(|known| known.from == from);
        own.map(|known| (known.name.clone(), known.extraction.clone())).collect()
    }

    fn is_free(&self, name: &str, from: usize, until: usize, except: Option<usize>) -> bool {
        let overlaps = |(index, known): (usize, &Parameter)| {
            Some(index) != except
                && known.name == name
                && (known.from == from || (from < known.until && known.from < until))
        };
        !self.0.iter().enumerate().any(overlaps)
    }
}

/// Letters, digits and `_`, and no name that every customer has.
fn base_name(field: &str) -> String {
    let known = |c: char| if c.is_ascii_alphanumeric() { c } else { '_' };
    let name: String = field.chars().take(LONGEST).map(known).collect();
    let name = name.trim_matches('_');
    match name {
        "" => "value".to_owned(),
        own if NAMES.contains(&own) => format!("{own}_value"),
        name => name.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_one_value_at_a_time() {
        let mut all = Parameters::default();
        let place = |text: &str| Extraction::Json(text.to_owned());
        let mut name = |visit, text: &str, until| {
            let source = Source { visit, name: "csrf".to_owned(), extraction: place(text) };
            all.name(&source, until).unwrap()
        };
        assert_eq!(name(0, "/a", 2), "csrf");
        assert_eq!(name(0, "/a", 3), "csrf");
        assert_eq!(name(0, "/b", 1), "csrf_2", "two values of one response");
        assert_eq!(name(3, "/a", 4), "csrf", "after its last use");
        assert_eq!(name(1, "/a", 5), "csrf_2", "in between");
        assert_eq!(name(0, "/a", 9), "csrf_3", "another one has come since");
        assert_eq!(all.extractions(0).len(), 3);
    }

    #[test]
    fn names_are_those_that_a_scenario_allows() {
        let names = ["user[token]", "session", "é", "X-CSRF-Token"].map(base_name);
        assert_eq!(names, ["user_token", "session_value", "value", "X_CSRF_Token"]);
    }
}
