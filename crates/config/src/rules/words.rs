//! Rules of texts, words and truth values, and of what a reader of its own
//! takes.

use crate::mistake::Problem;
use crate::rule::{Rule, text_of};
use crate::suggest::nearest;
use crate::tree::Value;

/// True or false.
#[derive(Clone, Copy, Debug)]
pub struct Boolean;

impl Rule for Boolean {
    type Read<'r> = bool;

    fn read(&self, value: &Value<'_>) -> Result<bool, Problem> {
        let problem = || Problem::new("must be true or false", "write it without quotes");
        value.truth().ok_or_else(problem)
    }

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

/// A text; in brackets what it has to be.
#[derive(Clone, Copy, Debug)]
pub struct Text(pub &'static str);

impl Rule for Text {
    type Read<'r> = &'r str;

    fn read<'r>(&self, value: &Value<'r>) -> Result<&'r str, Problem> {
        match (value.text(), value.digits()) {
            (None, Some(digits)) => text_of(value, &digits),
            _ => text_of(value, "text"),
        }
    }

    fn kind(&self) -> String {
        "text".into()
    }

    fn range(&self) -> String {
        self.0.into()
    }
}

/// One of these words; what is read is its index.
#[derive(Clone, Copy, Debug)]
pub struct Words(pub &'static [&'static str]);

impl Rule for Words {
    type Read<'r> = usize;

    fn read(&self, value: &Value<'_>) -> Result<usize, Problem> {
        one_of(value, self.0)
    }

    fn kind(&self) -> String {
        "word".into()
    }

    fn range(&self) -> String {
        self.0.iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
    }
}

/// A type whose values are words of a file.
pub trait Word: Copy + Sized + 'static {
    /// The word of the value.
    fn word(self) -> &'static str;
}

/// One of these values, each of which is a word.
#[derive(Clone, Copy, Debug)]
pub struct Choice<T: 'static>(pub &'static [T]);

impl<T: Word> Choice<T> {
    fn words(&self) -> Vec<&'static str> {
        self.0.iter().map(|value| value.word()).collect()
    }
}

impl<T: Word> Rule for Choice<T> {
    type Read<'r> = T;

    fn read(&self, value: &Value<'_>) -> Result<T, Problem> {
        one_of(value, &self.words()).map(|index| self.0[index])
    }

    fn kind(&self) -> String {
        "word".into()
    }

    fn range(&self) -> String {
        self.words().iter().map(|word| format!("`\"{word}\"`")).collect::<Vec<_>>().join(", ")
    }
}

/// The index of a value among some words.
pub(crate) fn one_of(value: &Value<'_>, words: &[&str]) -> Result<usize, Problem> {
    let first = words.first().copied().unwrap_or_default();
    let given = text_of(value, first)?;
    words.iter().position(|word| *word == given).ok_or_else(|| {
        let remedy = match nearest(given, words.iter().copied()) {
            Some(near) => format!("did you mean \"{near}\"?"),
            None => format!("try \"{first}\""),
        };
        Problem::new(format!("must be one of {}", words.join(", ")), remedy)
    })
}

/// Something with a reader of its own: its type, and what is allowed.
#[derive(Clone, Copy, Debug)]
pub struct Other(pub &'static str, pub &'static str);

impl Rule for Other {
    type Read<'r> = Value<'r>;

    fn read<'r>(&self, value: &Value<'r>) -> Result<Value<'r>, Problem> {
        Ok(value.clone())
    }

    fn kind(&self) -> String {
        self.0.into()
    }

    fn range(&self) -> String {
        self.1.into()
    }
}
