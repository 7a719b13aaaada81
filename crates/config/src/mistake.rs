//! What is wrong with a configuration: every mistake with its place, the value
//! as written, the rule that it breaks and a remedy, one line each.

use std::fmt;

/// The rule that a value breaks, and a remedy; the place is added where the
/// value stands.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The rule: `must be a duration of 1ms to 10s`.
    pub rule: String,
    /// What to write instead: `try "20ms"`.
    pub remedy: String,
}

impl Problem {
    /// A problem in these words.
    pub fn new(rule: impl Into<String>, remedy: impl Into<String>) -> Self {
        Self { rule: rule.into(), remedy: remedy.into() }
    }
}

/// One mistake. Its texts hold no line breaks and no control characters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// `file:LINE`, the file alone for a key that is missing, or a flag
    /// (`--listen`).
    pub place: String,
    /// Dotted key, such as `pages.Home.path`; empty for the file as a whole.
    pub key: String,
    /// The value as written, shortened; empty if there is none to show.
    pub value: String,
    /// The rule that is broken.
    pub rule: String,
    /// What to write instead; empty if the rule says it.
    pub remedy: String,
}

impl fmt::Display for Mistake {
    /// `file:LINE: key = value: rule; remedy`
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: ", self.place)?;
        match (self.key.is_empty(), self.value.is_empty()) {
            (true, _) => {}
            (false, true) => write!(f, "{}: ", self.key)?,
            (false, false) => write!(f, "{} = {}: ", self.key, self.value)?,
        }
        f.write_str(&self.rule)?;
        if !self.remedy.is_empty() {
            write!(f, "; {}", self.remedy)?;
        }
        Ok(())
    }
}

/// All mistakes of a configuration: those of the file in the order of its
/// lines, then those of other files, then those of flags. Never empty inside an
/// error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl Mistakes {
    /// A line each.
    pub fn lines(&self) -> Vec<String> {
        self.0.iter().map(ToString::to_string).collect()
    }
}

impl fmt::Display for Mistakes {
    /// A line each.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, mistake) in self.0.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "{mistake}")?;
        }
        Ok(())
    }
}

impl std::error::Error for Mistakes {}
