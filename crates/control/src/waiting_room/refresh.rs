//! When the customers in the room ask for their next page.

use super::{Order, Rank, State};
use std::time::Duration;

/// Shortest and longest time between two pages of a customer.
const REFRESH: (Duration, Duration) = (Duration::from_secs(2), Duration::from_secs(30));
/// The same while nothing is known of how fast the line moves.
const REFRESH_UNKNOWN: Duration = Duration::from_secs(5);
/// A longer time until somebody's turn makes no difference to their pages, in seconds.
const LONGEST_S: f64 = 3_600.0;

impl State {
    /// When to ask again: the sooner, the nearer the turn; and not all at once.
    ///
    /// What pages may cost makes those wait longer who have time: everybody asks before half of
    /// the time until their turn has passed, or the controller would find nobody. At r customers
    /// per second and a least interval of t these are about 2 r ln t pages per second.
    pub(super) fn refresh(&self, rank: Rank, ahead: u64, per_s: f64, now_ms: u64) -> Duration {
        let (shortest, longest) = REFRESH;
        let (wanted, latest) = if rank <= self.called {
            (shortest, shortest)
        } else if per_s > 0.0 {
            let until_called = Duration::from_secs_f64((ahead as f64 / per_s).min(LONGEST_S));
            ((until_called / 4).clamp(shortest, longest), until_called / 2)
        } else {
            (REFRESH_UNKNOWN, Duration::MAX)
        };
        spread(wanted.max(self.least_refresh.min(latest)), rank, now_ms)
    }

    /// When to ask again while nobody is admitted, and it is not known until when.
    pub(super) fn refresh_seldom(&self, rank: Rank, now_ms: u64) -> Duration {
        spread(REFRESH.1.max(self.least_refresh), rank, now_ms)
    }

    /// When to ask again before the opening: seldom, and then not all at once. Whom the lot puts
    /// first comes first, and all within the time in which the share carries their pages.
    pub(super) fn refresh_before(&self, rank: Rank, opens_ms: u64, now_ms: u64) -> Duration {
        let seldom = self.refresh_seldom(rank, now_ms);
        let opens = Duration::from_millis(opens_ms.saturating_sub(now_ms));
        if seldom < opens {
            return seldom;
        }
        let turn = opens + self.least_refresh.mul_f64(Order::lot_of(rank, opens_ms));
        Duration::from_secs(turn.as_millis().div_ceil(1000) as u64)
    }
}

/// A time between two pages in whole seconds, which are what the header field can say; up to a
/// quarter longer, by the customer.
fn spread(wanted: Duration, rank: Rank, now_ms: u64) -> Duration {
    let [.., draw, longer] = rank.1;
    let wanted = wanted.mul_f64(1.0 + f64::from(longer) / 1020.0);
    // Rounded by lot: those who are answered at one moment, as those who asked in vain, come back at
    // several.
    let lot = f64::from(draw ^ now_ms as u8) / 256.0;
    Duration::from_secs((wanted.as_secs_f64() + lot) as u64)
}
