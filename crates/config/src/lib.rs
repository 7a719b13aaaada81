//! Files that people write: the gate's configuration, scenarios of the load
//! generator and of the simulator.
//!
//! A key is declared once, with [`keys!`]. The declaration gives its type, its
//! reader, the mistakes with their line and a remedy, and its row of the reference
//! page. All mistakes of a file, and of the flags over it, are reported together:
//!
//! `tidegate.toml:14: admission.interval = "0ms": must be a duration of 10ms to 60s; try "10ms"`
//!
//! Deviation: serde's derive with `deny_unknown_fields` stops at the first mistake
//! of a text.

mod bounded;
mod declare;
mod file;
mod files;
mod key;
mod mistake;
mod one_line;
mod read;
mod reader;
mod reference;
mod rule;
mod rules;
mod secret;
mod suggest;
mod tree;
mod units;
mod unknown;

pub use bounded::{all_of, read_bytes, read_text, too_large, without_mark};
pub use declare::Settings;
pub use file::read_file;
pub use files::{Files, LARGEST_FILES, exists, noting_files, open, with_files};
#[doc(hidden)]
pub use key::plain;
pub use key::{Key, Keys, Preset, Row, Table, joined};
pub use mistake::{Mistake, Mistakes, Problem};
pub use one_line::{one_line, one_sentence};
pub use reader::{Flag, Reader};
pub use reference::{check_page, write_keys};
pub use rule::{Field, Rule, text_of};
pub use rules::{
    Address, Boolean, Bytes, Choice, FilePath, List, Number, OneOrMore, OrOff, OrTable, Other,
    Pair, PlainOrTable, Subtable, Text, Time, Whole, Word, Words,
};
pub use secret::{check_secret, read_private, read_secret};
pub use suggest::did_you_mean;
pub use tree::{Section, Value};
pub use units::{parse_duration, parse_size, show_duration, show_size};

use toml::de::DeTable;

/// Reads a text by `make`, which gets its root table; mistakes name `file` as
/// their place. A text that is not TOML is not read any further.
///
/// # Errors
/// All mistakes: those of the text, and those that `make` reported.
pub fn read<T>(
    text: &str,
    file: &str,
    make: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Result<T, Mistakes> {
    read_with_flags(
        Some((file, text)),
        &[],
        |root| {
            if root.reader.is_toml() { make(root) } else { None }
        },
    )
}

/// Reads a file, given by name and text, and the flags over it. Without a file
/// there are flags alone. Of a text that is not TOML as a whole, `make` gets the
/// lines that are.
///
/// # Errors
/// All mistakes: those of the text, and those that `make` reported.
pub fn read_with_flags<T>(
    file: Option<(&str, &str)>,
    flags: &[Flag<'_>],
    make: impl FnOnce(&Section<'_>) -> Option<T>,
) -> Result<T, Mistakes> {
    let (tree, errors) = DeTable::parse_recoverable(file.map_or("", |(_, text)| text));
    let mut reader = Reader::new(file, flags);
    reader.syntax_errors(&errors);
    match make(&Section::root(&reader, &tree)) {
        Some(made) if reader.is_sound_as_a_whole() => Ok(made),
        _ => Err(reader.into_mistakes()),
    }
}
