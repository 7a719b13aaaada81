//! Classes of customers.

use rand::{RngExt, SeedableRng};

use super::duration::MinimumDuration;
use super::navigation::Navigation;
use super::session_rules::SessionRules;
use crate::rng::Rng;

/// Most classes of a scenario.
pub(super) const MOST: usize = 100;
/// Numbers of a session's seed for the draw of its class, so that what the
/// session does is the same whatever classes there are beside its own.
const DRAW: u64 = 0xC2B2_AE3D_27D4_EB4F;

/// Customers with the same behaviour.
#[derive(Clone, Debug)]
pub struct Class {
    /// Name; empty if the scenario has no classes.
    pub name: String,
    /// Share of the sessions whose arrivals name no class, relative to the other classes; may
    /// be 0.
    pub share: f64,
    /// The first page.
    pub start: u16,
    /// How sessions continue.
    pub navigation: Navigation,
    /// Rules of its sessions.
    pub session: SessionRules,
    /// Duration of its sessions, if they end by time.
    pub duration: Option<MinimumDuration>,
}

/// The class of a session, by its seed.
pub(crate) fn draw(classes: &[Class], seed: u64) -> u8 {
    if classes.len() < 2 {
        return 0;
    }
    let total: f64 = classes.iter().map(|class| class.share).sum();
    let mut left = Rng::seed_from_u64(seed ^ DRAW).random::<f64>() * total;
    let passed = |class: &Class| {
        left -= class.share;
        left < 0.0
    };
    // Because of rounding no class may be found: the last one with a share then.
    let found = classes.iter().position(passed);
    let last = || classes.iter().rposition(|class| class.share > 0.0);
    found.or_else(last).unwrap_or_default() as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn classes_come_by_their_shares_and_the_same_for_the_same_seed() {
        let class = |share| Class {
            name: String::new(),
            share,
            start: 0,
            navigation: Navigation::Steps(Vec::new()),
            session: SessionRules::default(),
            duration: None,
        };
        let classes = [class(3.0), class(0.0), class(1.0)];
        let count = |wanted| (0..40_000).filter(|seed| draw(&classes, *seed) == wanted).count();
        // 30,000, give or take five standard deviations of 87.
        assert!((29_570..30_430).contains(&count(0)), "{}", count(0));
        assert_eq!(count(1), 0);
        assert!((0..99).all(|seed| draw(&classes, seed) == draw(&classes, seed)));
        assert_eq!(draw(&classes[..1], 7), 0);
    }
}
