//! In which order those who wait are admitted, and whether anybody is.

use super::{Rank, WaitingToken};
use serde::Serialize;

/// Lots of those who came before the opening, in microseconds before it: as many as an hour has,
/// so that few share a second.
const LOTS: u64 = 3_600_000_000;

/// Orders a line: first come first served, or by lot among those who came before the opening.
#[derive(Clone, Copy, Debug, Default)]
pub struct Order {
    /// When admissions begin, in milliseconds since 1970, if that is set.
    pub opens_ms: Option<u64>,
    /// Nobody is admitted: the site is being maintained.
    pub shut: bool,
}

/// Whether new sessions are admitted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Doors {
    /// As the controller decides.
    #[default]
    Open,
    /// Not before the opening.
    Before,
    /// The service has closed the line.
    Closed,
    /// The site is being maintained.
    Maintenance,
}

impl Doors {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Open, Self::Before, Self::Closed, Self::Maintenance];

    /// The name in metrics and in `/status`.
    pub fn name(self) -> &'static str {
        match self {
            Self::Open => "open",
            Self::Before => "before",
            Self::Closed => "closed",
            Self::Maintenance => "maintenance",
        }
    }
}

impl Order {
    /// The rank of a token. Before the opening the lot decides: the identifier is random, and
    /// the customer cannot read it.
    pub(super) fn rank(self, token: &WaitingToken) -> Rank {
        let micros = match self.opens_ms {
            Some(opens) if token.arrived_ms < opens => {
                let lot = token.id.iter().take(8).fold(0, |lot, byte| lot << 8 | u64::from(*byte));
                opens.saturating_mul(1000).saturating_sub(1 + lot % LOTS)
            }
            _ => token.arrived_ms.saturating_mul(1000),
        };
        (micros, token.id)
    }

    /// Where the lot puts a rank among those who came before this opening: 0 is first, 1 last.
    pub(super) fn lot_of(rank: Rank, opens_ms: u64) -> f64 {
        let before = opens_ms.saturating_mul(1000).saturating_sub(rank.0);
        1.0 - before.min(LOTS) as f64 / LOTS as f64
    }
}
