//! Values that scenario files and flags name by a word.

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
