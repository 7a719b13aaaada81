//! Counts that add up over shards.

use std::collections::BTreeMap;

use tidegate_stats::{CensoredHistogram, Histogram};

/// Counts that add up. Counts read from a file must not overflow when they are added.
pub(crate) trait Counted {
    /// Adds the counts of another shard.
    fn merge(&mut self, other: &Self);

    /// The largest count.
    fn most(&self) -> u64;
}

impl Counted for u64 {
    fn merge(&mut self, other: &Self) {
        *self += other;
    }

    fn most(&self) -> u64 {
        *self
    }
}

impl Counted for Histogram {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }

    fn most(&self) -> u64 {
        self.count()
    }
}

impl Counted for CensoredHistogram {
    fn merge(&mut self, other: &Self) {
        self.merge(other);
    }

    fn most(&self) -> u64 {
        self.count()
    }
}

impl<K: Clone + Ord, C: Counted + Default> Counted for BTreeMap<K, C> {
    fn merge(&mut self, other: &Self) {
        for (key, theirs) in other {
            match self.get_mut(key) {
                Some(mine) => mine.merge(theirs),
                None => self.entry(key.clone()).or_default().merge(theirs),
            }
        }
    }

    fn most(&self) -> u64 {
        self.values().map(C::most).max().unwrap_or_default()
    }
}

impl<C: Counted + Default> Counted for Option<Box<C>> {
    fn merge(&mut self, other: &Self) {
        other.iter().for_each(|theirs| self.get_or_insert_default().merge(theirs));
    }

    fn most(&self) -> u64 {
        self.as_ref().map_or(0, |counts| counts.most())
    }
}

/// Declares a struct all of whose fields are [`Counted`], so that none can be forgotten.
macro_rules! counted {
    ($(#[$about:meta])* $of:vis struct $name:ident {
        $($(#[$doc:meta])* $to:vis $field:ident: $type:ty,)*
    }) => {
        $(#[$about])*
        $of struct $name { $($(#[$doc])* $to $field: $type,)* }

        impl $crate::counted::Counted for $name {
            fn merge(&mut self, other: &Self) {
                $($crate::counted::Counted::merge(&mut self.$field, &other.$field);)*
            }

            fn most(&self) -> u64 {
                let counts = [$($crate::counted::Counted::most(&self.$field)),*];
                counts.into_iter().max().unwrap_or_default()
            }
        }
    };
}
pub(crate) use counted;
