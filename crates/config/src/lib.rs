//! TOML files that people write, such as scenarios: read so that every mistake
//! is reported together, each with its line, the rule it breaks and a remedy.
//!
//! Deviation: serde's derive stops at the first mistake of a text; who mends a
//! file wants all of them at once.

mod keys;
mod mistakes;
mod reader;

#[doc(hidden)]
pub use keys::plain;
pub use keys::{
    Flag, Key, Number, Other, Pair, Preset, Row, Rule, Table, Text, Time, Whole, Words, joined,
};
pub use mistakes::{Mistake, Mistakes};
pub use reader::{Reader, Section, Value, did_you_mean};

use toml::de::DeTable;

/// Takes a text apart and has `read` make something of its tables; `file` is
/// what mistakes name as their place.
///
/// # Errors
/// Every mistake that the text has, or that `read` told its reader.
pub fn read<T>(
    text: &str,
    file: &str,
    read: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Result<T, Mistakes> {
    let reader = Reader::new(file, text);
    let (tree, errors) = DeTable::parse_recoverable(text);
    if !errors.is_empty() {
        for error in errors {
            let at = error.span().unwrap_or(0..0);
            reader.wrong(&at, "TOML", error.message().replace('\n', " "), "mend the syntax");
        }
        return Err(reader.into_mistakes());
    }
    match read(&Section::root(&reader, &tree)) {
        Some(made) if reader.is_clean() => Ok(made),
        _ => Err(reader.into_mistakes()),
    }
}
