//! The rate at which an operation alone uses its busiest resource for seven tenths of the time:
//! what its loads are shares of. Pure.

use super::runs::NOT_BUSY;

/// Use of the busiest resource at the rate that is looked for.
pub(super) const BUSY: f64 = 0.7;
/// Uses that are near enough.
const NEAR: std::ops::RangeInclusive<f64> = 0.55..=0.85;
/// Largest factor from one trial to the next: the use at light load says little of that at high.
const STEP: f64 = 4.0;
/// Share of the highest throughput where the site does not follow: nothing is used up, so that a
/// lock or a pool is the limit.
const BELOW_CEILING: f64 = 0.8;

/// What a trial at a rate showed. Rates are of sessions per second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Trial {
    /// The rate that was asked for.
    pub(super) per_s: f64,
    /// What was completed.
    pub(super) completed_per_s: f64,
    /// Use of the busiest resource, 0 to 1.
    pub(super) busy: f64,
    /// Sessions completed as they arrived.
    pub(super) follows: bool,
    /// The load generator offered what was asked for.
    pub(super) in_time: bool,
}

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Found {
    /// The rate that loads are shares of.
    pub(super) per_s: f64,
    /// The throughput beyond which the site did not follow, though no measured resource was used
    /// up.
    pub(super) ceiling_per_s: Option<f64>,
}

/// A search.
#[derive(Clone, Debug)]
pub(super) struct Search {
    next_per_s: f64,
    trials_left: usize,
    /// The highest rate that was followed.
    followed: Option<Trial>,
    found: Option<Found>,
    most_per_s: f64,
}

impl Search {
    /// After one customer alone, whose sessions came at `per_s` and used the busiest resource for
    /// the share `busy`; no rate is above `most_per_s`.
    pub(super) fn begin(per_s: f64, busy: f64, trials: usize, most_per_s: f64) -> Self {
        // The first trial is careful: one customer does not show what many cost.
        let next = (0.5 * per_s * BUSY / busy.max(1e-6)).min(most_per_s);
        Self {
            next_per_s: next.max(1e-3),
            trials_left: trials.max(1),
            followed: None,
            found: None,
            most_per_s,
        }
    }

    /// The next rate; `None` at the end.
    pub(super) fn next(&self) -> Option<f64> {
        self.found.is_none().then_some(self.next_per_s)
    }

    /// Folds in a trial at the next rate.
    pub(super) fn push(&mut self, trial: Trial) {
        self.trials_left = self.trials_left.saturating_sub(1);
        let scaled = trial.per_s * BUSY / trial.busy.max(1e-6);
        let most = self.most_per_s;
        let settled = |per_s: f64| Found { per_s: per_s.clamp(1e-3, most), ceiling_per_s: None };
        // What was completed says little where hardly anything was.
        let least = trial.per_s / STEP;
        if !trial.in_time {
            // No limit of the site: fewer come in time.
            match self.trials_left {
                0 => {
                    self.found = Some(settled(least.max(self.followed.map_or(0.0, |it| it.per_s))))
                }
                _ => self.next_per_s = (trial.per_s / 2.0).max(1e-3),
            }
        } else if trial.follows {
            if NEAR.contains(&trial.busy) || trial.per_s >= self.most_per_s || self.trials_left == 0
            {
                let highest = trial.per_s * STEP;
                self.found = Some(settled(scaled.min(highest).min(self.most_per_s)));
            } else {
                self.next_per_s =
                    scaled.clamp(trial.per_s / STEP, trial.per_s * STEP).min(self.most_per_s);
            }
            self.followed = Some(trial);
        } else if trial.busy < NOT_BUSY {
            // A trial that was too short to settle is tried again at a lower rate.
            let ceiling = trial.completed_per_s.max(least);
            let ceiling = ceiling.max(self.followed.map_or(0.0, |it| it.per_s));
            match self.trials_left {
                0 => {
                    let found = settled(BELOW_CEILING * ceiling);
                    self.found = Some(Found { ceiling_per_s: Some(ceiling), ..found });
                }
                _ if self.followed.is_some_and(|it| it.per_s > 0.5 * ceiling) => {
                    let found = settled(BELOW_CEILING * ceiling);
                    self.found = Some(Found { ceiling_per_s: Some(ceiling), ..found });
                }
                _ => self.next_per_s = (BELOW_CEILING * ceiling).clamp(1e-3, self.most_per_s),
            }
        } else {
            // Used up: what it completes uses it as much.
            let ceiling = trial.completed_per_s.max(least);
            let per_s = ceiling * BUSY / trial.busy;
            match self.trials_left {
                0 => self.found = Some(settled(per_s)),
                _ => self.next_per_s = per_s.clamp(1e-3, self.most_per_s),
            }
        }
    }

    /// What was found.
    pub(super) fn found(&self) -> Option<Found> {
        self.found
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// A site that has one resource, of which a session uses `cost` and more with its use, and that
    /// completes no more than `ceiling`.
    #[derive(Clone, Copy)]
    struct Site {
        cost: f64,
        grows: f64,
        ceiling: f64,
    }

    impl Site {
        fn at(self, per_s: f64) -> Trial {
            let completes = |per_s: f64| per_s.min(self.ceiling);
            let busy = |per_s: f64| per_s * self.cost * (1.0 + self.grows * per_s * self.cost);
            let mut completed = completes(per_s);
            while busy(completed) > 1.0 {
                completed *= 0.99;
            }
            let follows = completed >= 0.95 * per_s;
            let busy = busy(completed);
            Trial { per_s, completed_per_s: completed, busy, follows, in_time: true }
        }

        fn found(self, trials: usize) -> (Found, usize) {
            let alone = self.at(0.1 / self.cost);
            let mut search = Search::begin(alone.completed_per_s, alone.busy, trials, 1e5);
            let mut count = 0;
            while let Some(per_s) = search.next() {
                search.push(self.at(per_s));
                count += 1;
            }
            (search.found().unwrap(), count)
        }
    }

    const PLAIN: Site = Site { cost: 0.01, grows: 0.0, ceiling: f64::INFINITY };

    #[test]
    fn a_site_whose_costs_are_constant_is_at_seven_tenths() {
        let (found, trials) = PLAIN.found(4);
        assert!((found.per_s - 70.0).abs() < 0.5 && trials <= 3, "{found:?} {trials}");
        assert_eq!(found.ceiling_per_s, None);
    }

    #[test]
    fn costs_that_grow_with_the_load_are_found_out() {
        let site = Site { grows: 1.0, ..PLAIN };
        let (found, _) = site.found(4);
        let busy = site.at(found.per_s).busy;
        assert!((0.55..=0.85).contains(&busy), "{found:?}: {busy}");
    }

    #[test]
    fn a_lock_is_a_ceiling_though_nothing_is_used_up() {
        let (found, trials) = Site { ceiling: 20.0, ..PLAIN }.found(4);
        assert!((found.per_s - 16.0).abs() < 2.0, "{found:?} {trials}");
        assert!((found.ceiling_per_s.unwrap() - 20.0).abs() < 2.0, "{found:?}");
    }

    #[test]
    fn a_load_generator_that_is_late_makes_no_limit_of_the_site() {
        let mut search = Search::begin(10.0, 0.1, 3, 1e5);
        while let Some(per_s) = search.next() {
            let busy = 0.2;
            search.push(Trial {
                per_s,
                completed_per_s: 0.0,
                busy,
                follows: false,
                in_time: false,
            });
        }
        let found = search.found().unwrap();
        assert!(found.per_s > 1.0 && found.ceiling_per_s.is_none(), "{found:?}");
    }

    proptest! {
        #[test]
        fn every_search_ends_within_its_trials_at_a_rate_that_is_possible(
            trials in 1usize..6,
            shown in prop::collection::vec((0.0f64..2.0, 0.0f64..1.5, any::<bool>()), 6),
            first in (1e-3f64..1e4, 0.0f64..2.0),
        ) {
            let mut search = Search::begin(first.0, first.1, trials, 1e5);
            let mut count = 0;
            while let Some(per_s) = search.next() {
                prop_assert!(per_s.is_finite() && per_s > 0.0 && per_s <= 1e5);
                let (share, busy, follows) = shown[count % shown.len()];
                let completed_per_s = share * per_s;
                let in_time = count % 3 != 1;
                search.push(Trial { per_s, completed_per_s, busy, follows, in_time });
                count += 1;
                prop_assert!(count <= trials);
            }
            let found = search.found().unwrap();
            prop_assert!(found.per_s > 0.0 && found.per_s <= 1e5);
        }

        #[test]
        fn the_busiest_resource_is_near_seven_tenths_whatever_a_session_costs(
            cost in 1e-4f64..1.0, grows in 0.0f64..0.5,
        ) {
            let site = Site { cost, grows, ceiling: f64::INFINITY };
            let busy = site.at(site.found(4).0.per_s).busy;
            prop_assert!((0.5..=0.9).contains(&busy), "{}", busy);
        }
    }
}
