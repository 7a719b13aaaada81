//! Reads values by rules; what breaks a rule becomes a mistake at the value.

use std::ops::RangeInclusive;
use std::time::Duration;

use crate::key::{Key, Keys, Preset};
use crate::mistake::Problem;
use crate::rule::{Field, Rule};
use crate::rules::{Boolean, Number, Pair, Subtable, Text, Whole, duration_between, one_of};
use crate::tree::{Section, Value};
use crate::units::show_duration;

impl<'r> Value<'r> {
    /// What the rule reads; a value that breaks it is a mistake.
    pub fn read<R: Rule>(&self, rule: &R) -> Option<R::Read<'r>> {
        self.sound(rule.read(self))
    }

    fn sound<T>(&self, read: Result<T, Problem>) -> Option<T> {
        read.map_err(|problem| self.report(problem)).ok()
    }

    /// A string.
    pub fn string(&self) -> Option<&'r str> {
        self.read(&Text(""))
    }

    /// The index of a string in a list of words.
    pub fn choice(&self, words: &[&str]) -> Option<usize> {
        self.sound(one_of(self, words))
    }

    /// True or false.
    pub fn boolean(&self) -> Option<bool> {
        self.read(&Boolean)
    }

    /// A number, whole or not, in a range.
    pub fn number(&self, range: RangeInclusive<f64>) -> Option<f64> {
        self.read(&Number(*range.start(), *range.end()))
    }

    /// A whole number in a range.
    pub fn integer(&self, range: RangeInclusive<i64>) -> Option<i64> {
        self.read(&Whole(*range.start(), *range.end()))
    }

    /// A list of two whole numbers in a range, the smaller one first.
    pub fn pair(&self, range: RangeInclusive<i64>) -> Option<(i64, i64)> {
        self.read(&Pair(*range.start(), *range.end()))
    }

    /// A duration in a range.
    pub fn duration(&self, range: RangeInclusive<Duration>) -> Option<Duration> {
        let (low, high) = range.into_inner();
        let shown = format!("{} to {}", show_duration(low), show_duration(high));
        self.sound(duration_between(self, low, high, &shown))
    }

    /// A table.
    pub fn section(&self) -> Option<Section<'r>> {
        self.read(&Subtable)
    }

    /// A list.
    pub fn list(&self) -> Option<Vec<Value<'r>>> {
        let problem = || Problem::new("must be a list", "write [ ... ]");
        self.sound(self.items().ok_or_else(problem))
    }
}

impl<'r> Section<'r> {
    /// Reports every key that is not declared.
    pub fn known(&self, keys: &impl Keys) {
        self.only(&keys.names());
    }

    /// The value of a key, or else its default. A wrong value is a mistake, and so
    /// is a required one that is missing.
    pub fn read<R: Rule>(&self, key: &Key<R>) -> Option<R::Read<'r>> {
        if let Some(value) = self.get(key.name) {
            return value.read(&key.rule);
        }
        match key.preset {
            Preset::Is(text) => Some(self.preset(key, text)),
            Preset::Required(example) => {
                self.missing(key.name, self.must_be_set(key, example));
                None
            }
            Preset::Else(_) | Preset::Unset => None,
        }
    }

    /// The value of a key if it is set. A wrong value is a mistake.
    pub fn given<R: Rule>(&self, key: &Key<R>) -> Option<R::Read<'r>> {
        self.get(key.name)?.read(&key.rule)
    }

    /// The same, but the outer `None` says that it is wrong, the inner that it is
    /// not set.
    pub fn optional<R: Rule>(&self, key: &Key<R>) -> Option<Option<R::Read<'r>>> {
        match self.get(key.name) {
            Some(value) => value.read(&key.rule).map(Some),
            None => Some(None),
        }
    }

    /// The value of a key as a field of a struct. After a mistake it is the default
    /// (of a required key, the example), so that all other mistakes are found too.
    pub fn field<T, R: Rule>(&self, key: &Key<R>) -> T
    where
        T: Field<R::Read<'r>>,
    {
        if let Some(value) = self.get(key.name) {
            match value.read(&key.rule).map(T::of) {
                Some(Some(field)) => return field,
                Some(None) => value.wrong("is too large", "choose a smaller number"),
                None => {}
            }
        } else if let Preset::Required(example) = key.preset {
            self.missing(key.name, self.must_be_set(key, example));
        }
        let preset = match key.preset {
            Preset::Is(text) | Preset::Required(text) => T::of(self.preset(key, text)),
            Preset::Else(_) | Preset::Unset => T::absent(),
        };
        preset.expect("defaults fit their types: tests read every declared key")
    }

    /// What holds without a key, if its declaration gives a value.
    pub fn default_of<R: Rule>(&self, key: &Key<R>) -> Option<R::Read<'r>> {
        match key.preset {
            Preset::Is(text) => Some(self.preset(key, text)),
            Preset::Else(_) | Preset::Unset | Preset::Required(_) => None,
        }
    }

    /// The table of a key. One that is missing, or is no table, has no entries; the
    /// latter is a mistake.
    pub fn inner(&self, key: &Key<Subtable>) -> Section<'r> {
        self.given(key).unwrap_or_else(|| self.table_or_empty(key.name))
    }

    fn preset<R: Rule>(&self, key: &Key<R>, text: &'static str) -> R::Read<'r> {
        let read = key.rule.read(&Value::preset(self, key.name, text));
        read.unwrap_or_else(|problem| {
            panic!("the default of {} {}: tests read every one", key.name, problem.rule)
        })
    }

    fn must_be_set<R: Rule>(&self, key: &Key<R>, example: &str) -> Problem {
        let name = key.name;
        let flag = self.reader.flag(&match self.path.as_str() {
            "" => name.to_owned(),
            path => format!("{path}.{name}"),
        });
        let under = match self.path.as_str() {
            path if !path.is_empty() && !self.is_there() => format!(" under [{path}]"),
            _ => String::new(),
        };
        let line = match example {
            "" => name.to_owned(),
            example => format!("{name} = {}", key.rule.toml(example)),
        };
        let remedy = match flag {
            Some(flag) if self.reader.has_flags_only() => format!("give {} {example}", flag.name),
            Some(flag) => format!("add {line}{under}, or give {}", flag.name),
            None => format!("add {line}{under}"),
        };
        Problem::new("must be set", remedy)
    }
}
