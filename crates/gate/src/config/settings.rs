//! The macro that turns one list of settings into typed structs, their reader
//! and the rows of the reference page.

use super::reader::Reader;

/// What a setting is when nobody sets it, written as on a command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Preset {
    /// This value.
    Is(&'static str),
    /// Nothing: the setting is optional.
    Unset,
    /// It must be set; for instance to this.
    Required(&'static str),
}

/// One setting as the reference page shows it.
#[derive(Clone, Debug)]
pub struct Row {
    /// Section of the file.
    pub section: &'static str,
    /// Name within the section.
    pub key: &'static str,
    /// Type in a word or two.
    pub kind: String,
    /// What values are allowed.
    pub range: String,
    /// Value when not set.
    pub preset: Preset,
    /// The default as TOML, or an example where there is none to show.
    pub shown: Option<String>,
    /// What it does.
    pub meaning: String,
    /// Why the default is what it is.
    pub reason: &'static str,
}

/// A section of the file with its settings.
#[derive(Clone, Debug)]
pub struct Section {
    /// Name in the file.
    pub name: &'static str,
    /// What it is about.
    pub meaning: String,
    /// Its settings in order.
    pub rows: Vec<Row>,
}

/// A struct of settings that can be read and described.
pub(super) trait Settings: Sized {
    /// Reads every setting of the section; mistakes go to the reader and the
    /// setting keeps its default, so that all of them are found in one pass.
    fn read(reader: &mut Reader) -> Self;
    /// Describes the section.
    fn section() -> Section;
}

/// Joins the lines of a doc comment into one sentence or paragraph.
pub(super) fn join_doc(lines: &[&str]) -> String {
    lines.iter().map(|line| line.trim()).collect::<Vec<_>>().join(" ")
}

/// Declares structs of settings: see `fields.rs` for the form.
macro_rules! settings {
    ($(
        $(#[doc = $about:literal])*
        pub struct $Name:ident = $section:literal {
            $(
                $(#[doc = $doc:literal])*
                $key:ident: $type:ty = $preset:expr, $rule:expr, because $reason:literal;
            )*
        }
    )*) => {
        $(
            $(#[doc = $about])*
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Name {
                $(
                    $(#[doc = $doc])*
                    pub $key: $type,
                )*
            }

            impl $crate::config::settings::Settings for $Name {
                fn read(reader: &mut $crate::config::reader::Reader) -> Self {
                    Self {
                        $($key: reader.read::<$type, _>(
                            $section, stringify!($key), &$rule, $preset,
                        ),)*
                    }
                }

                fn section() -> $crate::config::settings::Section {
                    use $crate::config::rule::Describe;
                    use $crate::config::settings::{Row, Section, join_doc};
                    Section {
                        name: $section,
                        meaning: join_doc(&[$($about),*]),
                        rows: vec![$({
                            let rule = $rule;
                            Row {
                                section: $section,
                                key: stringify!($key),
                                kind: rule.kind(),
                                range: rule.range(),
                                preset: $preset,
                                shown: match $preset {
                                    $crate::config::settings::Preset::Is(text)
                                    | $crate::config::settings::Preset::Required(text) => {
                                        Some(rule.toml(text))
                                    }
                                    $crate::config::settings::Preset::Unset => None,
                                },
                                meaning: join_doc(&[$($doc),*]),
                                reason: $reason,
                            }
                        }),*],
                    }
                }
            }
        )*

        /// Every section in the order of the reference page.
        pub fn sections() -> Vec<$crate::config::settings::Section> {
            vec![$(<$Name as $crate::config::settings::Settings>::section()),*]
        }
    };
}
pub(super) use settings;
