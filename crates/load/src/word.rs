//! Values that scenario files and flags name by a word.

/// A value of a few, each of which has a word.
pub trait Word: Copy + Send + Sync + 'static {
    /// All values.
    const ALL: &'static [Self];
    /// The word of each.
    const WORDS: &'static [&'static str];

    /// The value of a word.
    fn of(word: &str) -> Option<Self> {
        let index = Self::WORDS.iter().position(|known| *known == word);
        index.map(|index| Self::ALL[index])
    }
}

/// States the words of an enum's values.
macro_rules! words {
    ($name:ident: $($word:literal => $value:ident),*) => {
        impl $crate::word::Word for $name {
            const ALL: &'static [Self] = &[$(Self::$value),*];
            const WORDS: &'static [&'static str] = &[$($word),*];
        }
    };
}
pub(crate) use words;
