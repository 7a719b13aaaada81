//! Scenario files that come with the program.

use super::scenario::Scenario;

/// Defines the names of the files in a folder of `scenarios` (empty, or with a slash
/// at its end), and a function that gives the text of each.
macro_rules! shipped {
    (
        $(#[$of_names:meta])* $names:ident
        $(#[$of_text:meta])* $text:ident
        in $folder:literal: $($name:literal),+ $(,)?
    ) => {
        $(#[$of_names])*
        pub const $names: &[&str] = &[$($name),+];

        $(#[$of_text])*
        pub fn $text(name: &str) -> Option<&'static str> {
            match name {
                $($name => Some(include_str!(concat!(
                    env!("CARGO_MANIFEST_DIR"), "/scenarios/", $folder, $name, ".toml"
                ))),)+
                _ => None,
            }
        }
    };
}

pub(super) use shipped;

impl Scenario {
    /// Reads a file that ships, where there is one.
    pub(super) fn shipped(text: Option<&str>, name: &str) -> Option<Self> {
        let read = Self::from_toml(text?, name);
        Some(read.unwrap_or_else(|mistakes| panic!("{mistakes}")))
    }
}
