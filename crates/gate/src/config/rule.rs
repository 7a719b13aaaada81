//! Rules: what a value of a setting may be, how that is described, and what
//! to say when it is not.

mod lists;
mod numbers;
mod places;

pub use lists::{CoreList, Filter, Names, ProcessList};
pub use numbers::{Bytes, Number, Time, Whole};
pub use places::{Address, FilePath, GroupPath, OrOff, Url};

use super::choices::Word;
use super::suggest::nearest;

/// A value as it was given, before any rule.
#[derive(Clone, Debug, PartialEq)]
pub enum Raw {
    /// Text of a flag or a default: its type was not stated.
    Bare(String),
    /// A TOML string.
    Text(String),
    /// A TOML integer or float in decimal digits.
    Number(String),
    /// A TOML boolean.
    Bool(bool),
    /// A TOML array.
    List(Vec<Raw>),
    /// Any other TOML value.
    Other,
}

/// Which rule a value breaks, and a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rule: `must be 1ms to 10s`.
    pub rule: String,
    /// What to do: `try 20ms`.
    pub remedy: String,
}

impl Problem {
    /// Both in words.
    pub fn new(rule: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { rule: rule.into(), remedy: remedy.into() }
    }
}

/// How a rule shows in the reference.
pub trait Describe {
    /// Type in a word or two.
    fn kind(&self) -> String;
    /// Allowed values.
    fn range(&self) -> String;
    /// Bare text of a value as TOML.
    fn toml(&self, bare: &str) -> String {
        format!("{bare:?}")
    }
}

/// Turns a raw value into a checked one.
pub trait Rule<T>: Describe {
    /// # Errors
    /// The rule that is broken.
    fn check(&self, raw: &Raw) -> Result<T, Problem>;
    /// The value of a setting that is not set, where that is allowed.
    fn absent(&self) -> Option<T> {
        None
    }
}

impl<T, R: Rule<T>> Rule<Option<T>> for R {
    fn check(&self, raw: &Raw) -> Result<Option<T>, Problem> {
        Rule::<T>::check(self, raw).map(Some)
    }

    fn absent(&self) -> Option<Option<T>> {
        Some(None)
    }
}

/// The text of a value whose rule wants text; `example` shows how to quote.
fn text<'r>(raw: &'r Raw, example: &str) -> Result<&'r str, Problem> {
    match raw {
        Raw::Text(text) | Raw::Bare(text) => Ok(text),
        _ => Err(Problem::new("must be text in quotes", format!("write it as {example:?}"))),
    }
}

/// Yes or no.
pub struct Flag;

impl Describe for Flag {
    fn kind(&self) -> String {
        "boolean".into()
    }

    fn range(&self) -> String {
        "true or false".into()
    }

    fn toml(&self, bare: &str) -> String {
        bare.into()
    }
}

impl Rule<bool> for Flag {
    fn check(&self, raw: &Raw) -> Result<bool, Problem> {
        match raw {
            Raw::Bool(value) => Ok(*value),
            Raw::Bare(text) if text == "true" => Ok(true),
            Raw::Bare(text) if text == "false" => Ok(false),
            _ => Err(Problem::new("must be true or false", "write it without quotes")),
        }
    }
}

/// One of a few words.
pub struct Choice<T: 'static> {
    all: &'static [T],
}

impl<T: Word> Choice<T> {
    /// The allowed values.
    pub const fn new(all: &'static [T]) -> Self {
        Self { all }
    }

    fn words(&self) -> Vec<&'static str> {
        self.all.iter().map(|value| value.word()).collect()
    }
}

impl<T: Word> Describe for Choice<T> {
    fn kind(&self) -> String {
        "word".into()
    }

    fn range(&self) -> String {
        self.words().join(", ")
    }
}

impl<T: Word> Rule<T> for Choice<T> {
    fn check(&self, raw: &Raw) -> Result<T, Problem> {
        let rule = || format!("must be one of {}", self.range());
        let given = text(raw, self.words()[0])?;
        self.all.iter().copied().find(|value| value.word() == given).ok_or_else(|| {
            let near = nearest(given, self.words());
            Problem::new(
                rule(),
                match near {
                    Some(near) => format!("did you mean \"{near}\"?"),
                    None => format!("try \"{}\"", self.words()[0]),
                },
            )
        })
    }
}
