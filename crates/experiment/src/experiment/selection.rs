//! Which runs a claim or a figure is about: levels by factor.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use tidegate_config::{Section, Value};

use super::factors::Factor;

/// Levels of a run, by factor.
pub type Levels = BTreeMap<String, String>;

/// A selection of runs: what the level of each named factor has to be.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Selection(pub(crate) BTreeMap<String, Condition>);

/// What a level has to be.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(crate) enum Condition {
    OneOf(Vec<String>),
    AtLeast(f64),
    AtMost(f64),
}

impl Selection {
    /// Whether a run with these levels is selected.
    pub fn contains(&self, levels: &Levels) -> bool {
        self.0.iter().all(|(factor, condition)| {
            levels.get(factor).is_some_and(|level| condition.holds(level))
        })
    }

    /// Whether runs with this level of a factor can be selected.
    pub fn allows(&self, factor: &str, level: &str) -> bool {
        self.0.get(factor).is_none_or(|condition| condition.holds(level))
    }

    /// Whether it says something about a factor.
    pub fn names(&self, factor: &str) -> bool {
        self.0.contains_key(factor)
    }

    /// Whether it asks the same of a factor as another one does.
    pub fn asks_same(&self, other: &Self, factor: &str) -> bool {
        self.0.get(factor) == other.0.get(factor)
    }

    /// The factors that it says something about.
    pub fn factors(&self) -> impl Iterator<Item = &str> {
        self.0.keys().map(String::as_str)
    }

    /// Whether a run can be of both selections.
    pub(super) fn overlaps(&self, other: &Self, factors: &[Factor]) -> bool {
        factors.iter().all(|factor| {
            let both =
                |level: &str| self.allows(&factor.name, level) && other.allows(&factor.name, level);
            factor.levels.iter().any(|level| both(&level.name))
        })
    }

    /// The selection of one level of a factor, whatever it said about that factor.
    pub fn and(&self, factor: &str, level: &str) -> Self {
        let mut selection = self.clone();
        selection.0.insert(factor.to_owned(), Condition::OneOf(vec![level.to_owned()]));
        selection
    }

    /// Reads a table of levels by factor.
    pub(super) fn read(table: &Section<'_>, factors: &[Factor]) -> Self {
        let names: Vec<&str> = factors.iter().map(|factor| factor.name.as_str()).collect();
        table.only(&names);
        let condition = |(name, value): (&str, Value<'_>)| {
            let factor = factors.iter().find(|factor| factor.name == name)?;
            Some((name.to_owned(), Condition::read(&value, factor)?))
        };
        Self(table.entries().into_iter().filter_map(condition).collect())
    }
}

impl Condition {
    fn holds(&self, level: &str) -> bool {
        let number = || level.parse::<f64>().ok();
        match self {
            Self::OneOf(levels) => levels.iter().any(|one| one == level),
            Self::AtLeast(least) => number().is_some_and(|number| number >= *least),
            Self::AtMost(most) => number().is_some_and(|number| number <= *most),
        }
    }

    fn read(value: &Value<'_>, factor: &Factor) -> Option<Self> {
        if let Some(text) = value.text() {
            let bound = |prefix: &str| text.strip_prefix(prefix)?.trim().parse::<f64>().ok();
            if let Some(least) = bound(">=") {
                return Some(Self::AtLeast(least));
            }
            if let Some(most) = bound("<=") {
                return Some(Self::AtMost(most));
            }
        }
        let items = value.items().filter(|_| value.is_list());
        let levels = items.unwrap_or_else(|| vec![value.clone()]);
        let known = |level: &Value<'_>| factor.known(level);
        levels.iter().map(known).collect::<Option<_>>().map(Self::OneOf)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn levels(pairs: &[(&str, &str)]) -> Levels {
        pairs.iter().map(|(name, level)| ((*name).into(), (*level).into())).collect()
    }

    #[test]
    fn a_run_is_selected_by_the_levels_of_all_named_factors() {
        let selection = Selection(BTreeMap::from([
            ("policy".into(), Condition::OneOf(vec!["off".into()])),
            ("load".into(), Condition::AtLeast(2.0)),
        ]));
        assert!(selection.contains(&levels(&[("policy", "off"), ("load", "2"), ("x", "y")])));
        assert!(!selection.contains(&levels(&[("policy", "off"), ("load", "1.9")])));
        assert!(!selection.contains(&levels(&[("policy", "tide"), ("load", "4")])));
        assert!(!selection.contains(&levels(&[("load", "4")])), "a level that is missing");
        assert!(!selection.and("x", "z").contains(&levels(&[("policy", "off"), ("load", "2")])));
        assert!(Selection::default().contains(&Levels::new()));
    }
}
