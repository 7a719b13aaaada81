//! What is wrong with a configuration, a line each.

use std::fmt;

/// One mistake: where it is, what was written, the rule it breaks, a remedy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// `file:LINE`, or the flag (`--listen`) that it came from.
    pub place: String,
    /// Dotted path of the setting, or empty where the text is no TOML.
    pub key: String,
    /// The value as written, shortened; empty if none was.
    pub value: String,
    /// The rule that is broken.
    pub rule: String,
    /// What to do.
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

/// Every mistake of a configuration, in the order of the file; never empty.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistakes(pub Vec<Mistake>);

impl fmt::Display for Mistakes {
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
