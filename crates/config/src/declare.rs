//! The macro that declares the keys of a table.

use crate::key::Table;
use crate::tree::Section;

/// A table that is read as a whole into a struct: see [`keys!`](crate::keys).
pub trait Settings: Sized {
    /// Its name in the file.
    const NAME: &'static str;

    /// Reads every key of the table. After a mistake a field has its default, so
    /// that all mistakes are found in one pass.
    fn read(section: &Section<'_>) -> Self;

    /// The same for a table of which another gives what it does not say.
    fn read_over(section: &Section<'_>, base: &Self) -> Self;

    /// The keys whose values differ.
    fn changes(&self, other: &Self) -> Vec<&'static str>;

    /// The table as the reference shows it.
    fn table() -> Table;
}

/// Declares tables. Their comments are the meanings that the reference shows.
///
/// A `struct` is read as a whole; its fields have types, rules, defaults and the
/// reasons for these:
///
/// ```
/// use std::time::Duration;
/// use tidegate_config::{Preset::Is, Settings, Time, keys};
/// keys! {
///     /// How long things take.
///     pub struct Limits = "limits" {
///         /// How long a connection without a request is kept open.
///         idle: Duration = Is("10s"), Time("0s", "1h"), because "longer than a think time";
///     }
/// }
/// let read = |text| tidegate_config::read(text, "gate.toml", |root| {
///     Some(Limits::read(&root.table_or_empty(Limits::NAME)))
/// });
/// assert_eq!(read("limits.idle = \"3s\"").unwrap().idle, Duration::from_secs(3));
/// assert_eq!(
///     read("[limits]\nidle = \"2h\"").unwrap_err().to_string(),
///     "gate.toml:2: limits.idle = \"2h\": must be a duration of 0s to 1h; try \"1h\""
/// );
/// ```
///
/// A `static` has the keys one by one, for a table of which a reader decides what
/// to read:
///
/// ```
/// use tidegate_config::{Preset::Is, Whole, keys};
/// keys! {
///     /// Customers.
///     static CROWD: Crowd {
///         /// How many.
///         people: Whole(1, 100) = Is("10");
///     }
/// }
/// assert_eq!(CROWD.people.name, "people");
/// ```
///
/// A rule of another rule names both: `loads: List<Number>(Number(0.1, 10.0)) = Is("1, 2");`.
#[macro_export]
macro_rules! keys {
    ($(
        $(#[doc = $about:literal])+
        $vis:vis static $TABLE:ident: $Keys:ident {
            $(
                $(#[doc = $meaning:literal])+
                $key:ident: $Rule:ident $(<$($of:ty),+>)? $(($($limit:expr),+))? = $preset:expr;
            )+
        }
    )+) => {$(
        $(#[doc = $about])+
        $vis static $TABLE: $Keys = $Keys {
            $($key: $crate::Key {
                name: $crate::plain(stringify!($key)),
                rule: $Rule $(($($limit),+))?,
                preset: $preset,
                meaning: &[$($meaning),+],
                reason: "",
            },)+
        };

        $(#[doc = $about])+
        #[derive(Debug)]
        $vis struct $Keys {
            $($(#[doc = $meaning])+ $vis $key: $crate::Key<$Rule $(<$($of),+>)?>,)+
        }

        impl $crate::Keys for $Keys {
            fn table(&self) -> $crate::Table {
                $crate::Table {
                    name: "",
                    about: $crate::joined(&[$($about),+]),
                    rows: vec![$(self.$key.row()),+],
                }
            }
        }
    )+};
    ($(
        $(#[doc = $about:literal])+
        pub struct $Name:ident = $section:literal {
            $(
                $(#[doc = $meaning:literal])+
                $key:ident: $type:ty = $preset:expr, $rule:expr, because $reason:literal;
            )+
        }
    )+) => {
        $(
            $(#[doc = $about])+
            #[derive(Clone, Debug, PartialEq)]
            pub struct $Name {
                $($(#[doc = $meaning])+ pub $key: $type,)+
            }

            impl $crate::Settings for $Name {
                const NAME: &'static str = $section;

                fn read(section: &$crate::Section<'_>) -> Self {
                    Self {
                        $($key: section.field(&$crate::Key {
                            name: $crate::plain(stringify!($key)),
                            rule: $rule,
                            preset: $preset,
                            meaning: &[],
                            reason: "",
                        }),)+
                    }
                }

                fn read_over(section: &$crate::Section<'_>, base: &Self) -> Self {
                    let mut read = base.clone();
                    $(if section.get($crate::plain(stringify!($key))).is_some() {
                        read.$key = section.field(&$crate::Key {
                            name: $crate::plain(stringify!($key)),
                            rule: $rule,
                            preset: $preset,
                            meaning: &[],
                            reason: "",
                        });
                    })+
                    read
                }

                fn changes(&self, other: &Self) -> Vec<&'static str> {
                    let mut changes = Vec::new();
                    $(if self.$key != other.$key {
                        changes.push($crate::plain(stringify!($key)));
                    })+
                    changes
                }

                fn table() -> $crate::Table {
                    $crate::Table {
                        name: $section,
                        about: $crate::joined(&[$($about),+]),
                        rows: vec![$($crate::Key {
                            name: $crate::plain(stringify!($key)),
                            rule: $rule,
                            preset: $preset,
                            meaning: &[$($meaning),+],
                            reason: $reason,
                        }.row()),+],
                    }
                }
            }
        )+

        /// Every table in the order of the reference page.
        pub fn tables() -> Vec<$crate::Table> {
            vec![$(<$Name as $crate::Settings>::table()),+]
        }
    };
}

#[cfg(test)]
mod tests {
    use crate::Preset::{Is, Required, Unset};
    use crate::{Keys, Time, Whole, Words};

    mod tables {
        use crate::Preset::Is;
        use crate::Whole;

        crate::keys! {
            /// A crowd.
            pub struct Crowd = "crowd" {
                /// How many.
                people: u32 = Is("10"), Whole(1, 100), because "a small one";
                /// How many dogs.
                dogs: u32 = Is("1"), Whole(0, 100), because "one suffices";
            }
        }
    }

    #[test]
    fn what_a_table_does_not_say_another_one_gives() {
        use crate::Settings;
        assert_eq!(tables::tables()[0].names(), ["people", "dogs"]);
        let text = "[crowd]\npeople = 20\n[other]\ndogs = 3\n[wrong]\ndogs = 300";
        let read = |name: &str| {
            crate::read(text, "crowd.toml", |root| {
                let base = tables::Crowd::read(&root.table_or_empty("crowd"));
                Some(tables::Crowd::read_over(&root.table_or_empty(name), &base))
            })
        };
        assert_eq!(read("other").unwrap(), tables::Crowd { people: 20, dogs: 3 });
        assert_eq!(read("none").unwrap(), tables::Crowd { people: 20, dogs: 1 });
        let mistakes = read("wrong").unwrap_err().to_string();
        assert!(mistakes.contains("wrong.dogs = 300: must be"), "{mistakes}");
    }

    crate::keys! {
        /// Customers,
        /// and when they come.
        static CROWD: Crowd {
            /// How many.
            people: Whole(1, 100) = Is("10");
            /// How long
            /// they stay.
            r#for: Time("1ms", "2h") = Required("1s");
            /// How they come.
            by: Words(&["train", "car"]) = Unset;
        }
    }

    #[test]
    fn a_declared_key_is_read_by_its_rule_and_shown_with_it() {
        let read = |text: &str| {
            crate::read(text, "crowd.toml", |root| {
                root.known(&CROWD);
                let (people, lasts) = (root.read(&CROWD.people), root.read(&CROWD.r#for));
                let by = root.optional(&CROWD.by);
                Some((people?, lasts, by?))
            })
            .map_err(|mistakes| mistakes.to_string())
        };
        let second = Some(std::time::Duration::from_secs(1));
        assert_eq!(read("for = \"1s\"\nby = \"car\""), Ok((10, second, Some(1))));
        assert_eq!(
            read("people = 0\nfro = \"1s\"\nby = 1").unwrap_err(),
            "crowd.toml:1: people = 0: must be a whole number of 1 to 100; try 1\n\
             crowd.toml:1: for: must be set; add for = \"1s\"\n\
             crowd.toml:2: fro = \"1s\": is not a known key; did you mean for?\n\
             crowd.toml:3: by = 1: must be text in quotes; write it as \"train\""
        );
        let rows = CROWD.table().rows;
        assert_eq!(CROWD.names(), ["people", "for", "by"]);
        assert_eq!(rows[1].meaning, "How long they stay.");
        let presets: Vec<_> = rows.iter().map(|row| row.preset.as_str()).collect();
        assert_eq!(presets, ["`10`", "must be set, as in `\"1s\"`", "not set"]);
        let ranges: Vec<_> = rows.iter().map(|row| row.range.as_str()).collect();
        assert_eq!(ranges, ["1 to 100", "1ms to 2h", "`\"train\"`, `\"car\"`"]);
    }
}
