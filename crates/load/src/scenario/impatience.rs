//! What customers do when they are refused or lose patience.

use std::time::Duration;

/// What a customer does when they are refused or lose patience.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Impatience {
    /// Leaves.
    #[default]
    Leave,
    /// Returns with a new session after a back-off.
    ComeBack {
        /// Mean of the back-off, negative exponential.
        back_off: Duration,
        /// Number of sessions, including the first.
        attempts: u32,
    },
    /// Repeats the request at once on a new connection.
    Hammer {
        /// Number of times a request is sent, including the first.
        attempts: u32,
    },
}

impl Impatience {
    /// Two seconds, and three attempts.
    pub const COME_BACK: Self = Self::ComeBack { back_off: Duration::from_secs(2), attempts: 3 };
    /// Ten attempts.
    pub const HAMMER: Self = Self::Hammer { attempts: 10 };

    /// The mean back-off before the next session; `None` if there is no next session.
    pub(crate) fn back_off(self, sessions: u32) -> Option<Duration> {
        match self {
            Self::ComeBack { back_off, attempts } if sessions < attempts => Some(back_off),
            _ => None,
        }
    }

    /// How often a request that exceeds the patience is repeated.
    pub(crate) fn reloads(self) -> u32 {
        match self {
            Self::Hammer { attempts } => attempts - 1,
            _ => 0,
        }
    }
}
