//! Values that scenario files and flags name by a word, and words with their number.

/// States the words of an enum's values.
macro_rules! words {
    ($name:ident: $($word:literal => $value:ident),*) => {
        impl $name {
            /// All values.
            pub const ALL: &'static [Self] = &[$(Self::$value),*];
        }

        impl tidegate_config::Word for $name {
            fn word(self) -> &'static str {
                match self { $(Self::$value => $word),* }
            }
        }
    };
}
pub(crate) use words;

/// `1 request`, `2 requests`.
pub(crate) fn counted(count: u64, one: &str) -> String {
    format!("{count} {one}{}", if count == 1 { "" } else { "s" })
}
