//! Options of the application tier.

use std::net::SocketAddr;
use std::ops::RangeInclusive;
use std::time::Duration;

use super::feed::Source;
use crate::tier::LinkOptions;
use tidegate_card::client::CardOptions;
use tidegate_sitekit::link::Deadlines;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::{Error, Result};

/// Options of the application tier.
#[derive(Clone, Debug)]
pub struct Options {
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Addresses of the data tier, `HOST:PORT`.
    pub next: Vec<String>,
    /// The link on which the web tier calls.
    pub front: LinkOptions,
    /// The link to the data tier.
    pub back: LinkOptions,
    /// Cost of a password hash: one of another cost is renewed when its owner signs in.
    pub password_cost: PasswordCost,
    /// Where prices come from.
    pub feed: Source,
    /// Time between two ticks of the feed, 10 ms to 1 h.
    pub interval: Duration,
    /// The card processor that takes deposits; none: customers cannot pay in.
    pub card: Option<CardOptions>,
    /// Addresses under which the tier before calls this one, where they are others than the
    /// one that it listens on: for sealed messages.
    pub known_as: Vec<String>,
    /// The cores to run on, one runtime pinned to each; without, one runtime per processor
    /// that this process may use, not pinned.
    pub cores: Option<Vec<usize>>,
}

impl Options {
    /// Default time between two ticks.
    pub const INTERVAL: Duration = Duration::from_secs(1);
    /// Shortest and longest time between two ticks.
    pub const INTERVALS: RangeInclusive<Duration> =
        Duration::from_millis(10)..=Duration::from_secs(3600);
    /// Deadlines of calls to the data tier: longer than that waits for a lock of its
    /// database, and shorter than those of the web tier, so that each learns why.
    pub(super) const DEADLINES: Deadlines =
        Deadlines { connect: Duration::from_secs(1), whole: Duration::from_secs(6) };

    /// Checks what flags cannot.
    ///
    /// # Errors
    /// The interval is out of its range: an error for the operator.
    pub(super) fn check(&self) -> Result<()> {
        if Self::INTERVALS.contains(&self.interval) {
            return Ok(());
        }
        Err(Error::Operator(format!(
            "feed interval {:?}: must be 10 ms to 1 h; try 1 s",
            self.interval
        )))
    }
}
