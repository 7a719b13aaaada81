//! Why messages are refused, and how often.

use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

/// Why a message is refused.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Refused {
    /// It is larger than any message may be.
    #[error("too large")]
    TooLarge,
    /// Its layout is of another version of the program.
    #[error("of another version")]
    Version,
    /// It is cut off, or its content is not what belongs to its subject.
    #[error("broken")]
    Broken,
    /// It was sealed under another secret, for another subject, or was changed.
    #[error("forged")]
    Forged,
    /// It came before, or a later one did.
    #[error("replayed")]
    Replayed,
    /// It was sealed long before or after the receiver's time.
    #[error("of another time")]
    Clock,
    /// There are too many senders.
    #[error("of too many senders")]
    Crowded,
    /// What it says cannot be, or is of a former holder of the lease.
    #[error("out of date or out of range")]
    Stale,
}

impl Refused {
    /// All reasons.
    pub const ALL: [Self; 8] = [
        Self::TooLarge,
        Self::Version,
        Self::Broken,
        Self::Forged,
        Self::Replayed,
        Self::Clock,
        Self::Crowded,
        Self::Stale,
    ];

    /// The reason as a metric's label.
    pub fn label(self) -> &'static str {
        match self {
            Self::TooLarge => "too_large",
            Self::Version => "version",
            Self::Broken => "broken",
            Self::Forged => "forged",
            Self::Replayed => "replayed",
            Self::Clock => "clock",
            Self::Crowded => "crowded",
            Self::Stale => "stale",
        }
    }
}

/// How many messages were refused, by reason.
#[derive(Debug, Default)]
pub struct RefusedCounts([AtomicU64; Refused::ALL.len()]);

impl RefusedCounts {
    /// Counts one.
    pub fn add(&self, reason: Refused) {
        self.0[reason as usize].fetch_add(1, Relaxed);
    }

    /// All reasons with their counts.
    pub fn all(&self) -> impl Iterator<Item = (Refused, u64)> {
        Refused::ALL.into_iter().map(|reason| (reason, self.0[reason as usize].load(Relaxed)))
    }
}
