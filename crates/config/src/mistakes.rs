//! What is wrong with a file: every mistake with its place, the rule it
//! breaks and a remedy, reported together so that one edit mends them all.

use std::fmt;

/// One mistake, shown as `file:line: key: rule; remedy`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// The file as the user named it.
    pub file: String,
    /// Line in that file, from 1.
    pub line: usize,
    /// Dotted key, such as `pages.Home.path`.
    pub key: String,
    /// What was found and the rule it breaks.
    pub rule: String,
    /// What to write instead.
    pub remedy: String,
}

impl fmt::Display for Mistake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}: {}: {}; {}", self.file, self.line, self.key, self.rule, self.remedy)
    }
}

/// All mistakes of one file, in the order of their lines. Never empty
/// inside an error.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
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
