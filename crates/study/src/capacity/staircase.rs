//! Which rate is offered next. Pure: the order follows from the outcomes and the seed.

use std::time::Duration;

use tidegate_experiment::turns::Order;

use super::updown::{Trial, up_and_down};
use crate::site::step::{Outcome, Phase};
use tidegate_stats::Interval;

/// Factor between the rates of the search.
const SEARCH: f64 = 2.0;
/// Rates of the curve, as multiples of the rate that is carried.
const CURVE: [f64; 7] = [0.25, 0.5, 0.7, 0.85, 1.2, 1.5, 2.0];
/// Lowest rate that is offered: a dozen sessions in a minute. With fewer a step says nothing.
const LOWEST: f64 = 0.2;
/// How often a rate is offered at which the load generator is saturated.
const DRIVER_TRIES: u32 = 3;
/// Steps of either outcome that up and down needs, and the factor on their number within which it
/// looks for them.
const OF_EITHER: usize = 2;
const AT_MOST: usize = 2;
/// A rate of the curve this far above the carried one that is carried as well contradicts it.
const CONTRADICTS: f64 = 1.1;

/// How thorough a staircase is.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Thoroughness {
    /// Bisection ends when the rates are no further apart than this factor.
    pub bisect_to: f64,
    /// Factor between the rates of up and down.
    pub factor: f64,
    /// Steps of up and down.
    pub trials: usize,
    /// How often the rates of the curve are offered.
    pub curves: u32,
    /// Rounds of the comparison with the gate.
    pub rounds: u32,
    /// Shortest measured time of a step by itself.
    pub shortest: Duration,
    /// The longest that the staircase may take, and that with the comparison.
    pub longest: [Duration; 2],
}

impl Thoroughness {
    /// Within ten minutes.
    pub const QUICK: Self = Self {
        bisect_to: 1.2,
        factor: 1.08,
        trials: 8,
        curves: 1,
        rounds: 1,
        shortest: Duration::from_secs(6),
        longest: [Duration::from_secs(560), Duration::from_secs(380)],
    };
    /// Within an hour.
    pub const FULL: Self = Self {
        bisect_to: 1.12,
        factor: 1.05,
        trials: 16,
        curves: 2,
        rounds: 3,
        shortest: Duration::from_secs(15),
        longest: [Duration::from_secs(3400), Duration::from_secs(2200)],
    };

    /// About how many steps it takes.
    pub fn steps(&self) -> usize {
        let bisections = (SEARCH.ln() / self.bisect_to.ln()).log2().ceil().max(0.0) as usize;
        8 + bisections + self.trials + self.curves as usize * CURVE.len()
    }
}

/// How the search ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "snake_case")]
pub enum End {
    /// A rate is carried, and a higher one is not.
    Found,
    /// The highest rate that may be offered is carried.
    MaxRate,
    /// The load generator was saturated before the site was.
    Driver,
    /// No rate is carried, however low.
    NothingCarried,
}

/// Chooses the rates.
#[derive(Debug)]
pub struct Staircase {
    thoroughness: Thoroughness,
    max_rate: f64,
    next: Option<(Phase, f64)>,
    carried: Option<f64>,
    not_carried: Option<f64>,
    end: Option<End>,
    driver_tries: u32,
    /// The rate of the search that was not carried once; a second time decides.
    doubted: Option<f64>,
    trials: Vec<Trial>,
    /// Up and down was begun again because the curve contradicted it.
    resumed: bool,
    curve: Vec<f64>,
    order: Order,
}

impl Staircase {
    /// Begins at a rate, in sessions per second; none is above `max_rate`.
    pub fn new(first: f64, max_rate: f64, thoroughness: Thoroughness, seed: u64) -> Self {
        let first = first.clamp(LOWEST.min(max_rate), max_rate);
        Self {
            thoroughness,
            max_rate,
            next: Some((Phase::Search, first)),
            carried: None,
            not_carried: None,
            end: None,
            driver_tries: 0,
            doubted: None,
            trials: Vec::new(),
            resumed: false,
            curve: Vec::new(),
            order: Order::seeded(seed),
        }
    }

    /// The phase and rate of the next step; `None` after the last.
    pub fn next(&self) -> Option<(Phase, f64)> {
        self.next
    }

    /// About how many steps are left.
    pub fn left(&self) -> usize {
        let Thoroughness { trials, curves, .. } = self.thoroughness;
        let curve = curves as usize * CURVE.len();
        match self.next.map(|(phase, _)| phase) {
            None => 0,
            Some(Phase::Search) => 3 + trials + curve,
            Some(Phase::Bisect) => 2 + trials + curve,
            Some(Phase::UpAndDown) => trials.saturating_sub(self.trials.len()) + curve,
            Some(Phase::Curve) => 1 + self.curve.len(),
        }
    }

    /// How the search ended; `None` while it goes on.
    pub fn end(&self) -> Option<End> {
        self.end
    }

    /// The rate that is carried as often as not. Where the search ended otherwise it is the
    /// highest rate that was carried, and the interval is a point.
    pub fn carried(&self) -> Option<Interval> {
        let by_trials = || up_and_down(&self.trials, self.thoroughness.factor);
        let bracket = |low: f64| between(low, self.not_carried.unwrap_or(low));
        match self.end? {
            End::Found => {
                by_trials().or_else(|| self.one_sided()).or_else(|| self.carried.map(bracket))
            }
            End::MaxRate | End::Driver => self.carried.map(Interval::point),
            End::NothingCarried => None,
        }
    }

    /// Where all steps of up and down had one outcome: the rate lies beyond the last of them.
    fn one_sided(&self) -> Option<Interval> {
        let factor = self.thoroughness.factor;
        let last = self.trials.last()?;
        Some(match last.carried {
            true => between(last.rate, last.rate * factor),
            false => between(last.rate / factor, last.rate),
        })
    }

    /// Takes the outcome of the step that was next.
    pub fn push(&mut self, outcome: Outcome) {
        let Some((phase, rate)) = self.next else { return };
        if outcome == Outcome::Driver {
            self.driver_tries += 1;
            let again = self.driver_tries < DRIVER_TRIES;
            match phase {
                _ if again => {}
                Phase::Search | Phase::Bisect => self.finish(End::Driver),
                // What was found without it stands.
                Phase::UpAndDown => self.begin_curve(),
                Phase::Curve => self.next_of_curve(),
            }
            if !again {
                self.driver_tries = 0;
            }
            return;
        }
        self.driver_tries = 0;
        let carried = outcome == Outcome::Carried;
        match phase {
            Phase::Search => self.search(rate, carried),
            Phase::Bisect => {
                *(if carried { &mut self.carried } else { &mut self.not_carried }) = Some(rate);
                self.bisect();
            }
            Phase::UpAndDown => self.up_and_down(rate, carried),
            Phase::Curve if carried && self.contradicts(rate) => self.resume(rate),
            Phase::Curve => self.next_of_curve(),
        }
    }

    fn search(&mut self, rate: f64, carried: bool) {
        // The search decides where all that follows looks: chance, such as a pause of the
        // machine, does not mislead it twice.
        if !carried && self.doubted != Some(rate) {
            self.doubted = Some(rate);
            return;
        }
        *(if carried { &mut self.carried } else { &mut self.not_carried }) = Some(rate);
        match (self.carried, self.not_carried) {
            (Some(_), Some(_)) => self.bisect(),
            (Some(_), None) if rate >= self.max_rate => self.finish(End::MaxRate),
            (Some(_), None) => {
                self.next = Some((Phase::Search, (rate * SEARCH).min(self.max_rate)));
            }
            _ if rate <= LOWEST => self.finish(End::NothingCarried),
            _ => self.next = Some((Phase::Search, (rate / SEARCH).max(LOWEST))),
        }
    }

    fn bisect(&mut self) {
        let (Some(low), Some(high)) = (self.carried, self.not_carried) else { return };
        let middle = (low * high).sqrt();
        if high / low > self.thoroughness.bisect_to {
            self.next = Some((Phase::Bisect, middle));
        } else if self.thoroughness.trials == 0 {
            self.finish(End::Found);
        } else {
            self.end = Some(End::Found);
            self.next = Some((Phase::UpAndDown, middle));
        }
    }

    fn up_and_down(&mut self, rate: f64, carried: bool) {
        self.trials.push(Trial { rate, carried });
        let least = self.thoroughness.trials;
        let of = |carried: bool| self.trials.iter().filter(|it| it.carried == carried).count();
        let both = of(true).min(of(false)) >= OF_EITHER;
        if self.trials.len() >= least && (both || self.trials.len() >= AT_MOST * least) {
            return self.begin_curve();
        }
        let factor = self.thoroughness.factor;
        let next = if carried { rate * factor } else { rate / factor };
        self.next = Some((Phase::UpAndDown, next.min(self.max_rate).max(LOWEST)));
    }

    /// Whether a rate of the curve that was carried contradicts the carried rate.
    fn contradicts(&self, rate: f64) -> bool {
        let carried = self.carried().map_or(f64::INFINITY, |it| it.value);
        self.end == Some(End::Found) && !self.resumed && rate > CONTRADICTS * carried
    }

    /// Begins up and down again from a rate that was carried.
    fn resume(&mut self, rate: f64) {
        self.resumed = true;
        self.trials.clear();
        self.curve.clear();
        let next = (rate * self.thoroughness.factor).min(self.max_rate);
        self.next = Some((Phase::UpAndDown, next));
    }

    fn finish(&mut self, end: End) {
        self.end = Some(end);
        self.begin_curve();
    }

    /// Where the site's limit is not known, only rates below are offered.
    fn begin_curve(&mut self) {
        let Some(Interval { value, .. }) = self.carried() else {
            self.next = None;
            return;
        };
        let most = if self.end == Some(End::Found) { f64::INFINITY } else { 1.0 };
        let multiples: Vec<f64> = CURVE.into_iter().filter(|multiple| *multiple <= most).collect();
        let turns = self.order.turns(multiples.len(), self.thoroughness.curves);
        let rates = turns.map(|turn| (value * multiples[turn.contender]).min(self.max_rate));
        self.curve = rates.collect();
        // Taken from the end.
        self.curve.reverse();
        self.next_of_curve();
    }

    fn next_of_curve(&mut self) {
        self.next = self.curve.pop().map(|rate| (Phase::Curve, rate));
    }
}

/// The middle of two rates on a logarithmic scale, which are the ends of its interval.
fn between(low: f64, high: f64) -> Interval {
    Interval { value: (low * high).sqrt(), low, high }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Goes up the staircase to its end; the rates and their outcomes.
    fn climb(staircase: &mut Staircase, site: impl Fn(f64) -> Outcome) -> Vec<(Phase, f64)> {
        let mut steps = Vec::new();
        while let Some((phase, rate)) = staircase.next() {
            assert!(steps.len() < 200, "it does not end: {steps:?}");
            steps.push((phase, rate));
            staircase.push(site(rate));
        }
        assert_eq!(staircase.left(), 0);
        steps
    }

    fn carries(threshold: f64) -> impl Fn(f64) -> Outcome {
        move |rate| if rate <= threshold { Outcome::Carried } else { Outcome::Lost }
    }

    #[test]
    fn a_known_knee_is_found_with_an_interval_around_it() {
        for thoroughness in [Thoroughness::QUICK, Thoroughness::FULL] {
            let mut staircase = Staircase::new(3.0, 1e6, thoroughness, 1);
            let steps = climb(&mut staircase, carries(137.0));
            assert_eq!(staircase.end(), Some(End::Found));
            let found = staircase.carried().unwrap();
            assert!((found.value / 137.0).ln().abs() < 0.06, "{found:?}");
            assert!(found.low < 137.0 && 137.0 < found.high, "{found:?}");
            assert!(steps.len() <= thoroughness.steps(), "{}", steps.len());
            let beyond =
                steps.iter().filter(|(phase, rate)| *phase == Phase::Curve && *rate > 180.0);
            assert_eq!(beyond.count(), 2 * thoroughness.curves as usize);
        }
    }

    #[test]
    fn the_search_goes_down_where_the_first_rate_is_too_high() {
        let mut staircase = Staircase::new(1000.0, 1e6, Thoroughness::QUICK, 1);
        climb(&mut staircase, carries(20.0));
        assert!((staircase.carried().unwrap().value / 20.0).ln().abs() < 0.1);
    }

    #[test]
    fn the_highest_allowed_rate_is_a_lower_bound_and_never_exceeded() {
        let mut staircase = Staircase::new(3.0, 100.0, Thoroughness::QUICK, 1);
        let steps = climb(&mut staircase, carries(1e9));
        assert_eq!(staircase.end(), Some(End::MaxRate));
        assert!(steps.iter().all(|(_, rate)| *rate <= 100.0));
        assert_eq!(staircase.carried().map(|it| (it.low, it.high)), Some((100.0, 100.0)));
    }

    #[test]
    fn a_saturated_driver_ends_the_search_after_further_tries() {
        let mut staircase = Staircase::new(10.0, 1e6, Thoroughness::QUICK, 1);
        let steps =
            climb(
                &mut staircase,
                |rate| {
                    if rate > 50.0 { Outcome::Driver } else { Outcome::Carried }
                },
            );
        assert_eq!(staircase.end(), Some(End::Driver));
        assert_eq!(staircase.carried().unwrap().value, 40.0);
        assert_eq!(steps.iter().filter(|(_, rate)| *rate == 80.0).count(), 3);
        assert!(steps.iter().skip_while(|(phase, _)| *phase == Phase::Search).all(|s| s.1 <= 40.0));
    }

    #[test]
    fn a_site_that_carries_nothing_ends_it() {
        let mut staircase = Staircase::new(10.0, 1e6, Thoroughness::QUICK, 1);
        let steps = climb(&mut staircase, |_| Outcome::Lost);
        assert_eq!((staircase.end(), staircase.carried()), (Some(End::NothingCarried), None));
        assert!(steps.len() < 20);
    }

    #[test]
    fn a_step_of_the_search_that_chance_spoils_does_not_mislead_it() {
        for spoilt in 0..6 {
            let mut staircase = Staircase::new(3.0, 1e6, Thoroughness::QUICK, 1);
            let steps = std::cell::Cell::new(0);
            climb(&mut staircase, |rate| {
                steps.set(steps.get() + 1);
                if steps.get() == spoilt + 1 { Outcome::TooSlow } else { carries(137.0)(rate) }
            });
            let found = staircase.carried().unwrap();
            assert!((found.value / 137.0).ln().abs() < 0.08, "{spoilt}: {found:?}");
        }
    }

    #[test]
    fn up_and_down_goes_on_until_it_has_seen_either_outcome() {
        // A search in a disturbed time found a third of what the site carries.
        let mut staircase = Staircase::new(3.0, 1e6, Thoroughness::QUICK, 1);
        let searching = std::cell::Cell::new(true);
        let mut steps = Vec::new();
        while let Some((phase, rate)) = staircase.next() {
            searching.set(matches!(phase, Phase::Search | Phase::Bisect));
            steps.push(phase);
            staircase.push(carries(if searching.get() { 50.0 } else { 137.0 })(rate));
        }
        let found = staircase.carried().unwrap();
        assert!((found.value / 137.0).ln().abs() < 0.08, "{found:?}");
        let trials = steps.iter().filter(|phase| **phase == Phase::UpAndDown).count();
        assert!(trials <= AT_MOST * Thoroughness::QUICK.trials, "{trials}");
    }

    #[test]
    fn a_rate_beyond_all_steps_of_up_and_down_is_no_lower_than_the_last() {
        let mut staircase = Staircase::new(3.0, 1e6, Thoroughness::QUICK, 1);
        let mut last = 0.0;
        while let Some((phase, rate)) = staircase.next() {
            let found = matches!(phase, Phase::UpAndDown | Phase::Curve);
            last = if phase == Phase::UpAndDown { rate } else { last };
            staircase.push(if found || rate < 50.0 { Outcome::Carried } else { Outcome::Lost });
        }
        let found = staircase.carried().unwrap();
        assert!(last > 100.0 && found.low >= last && found.high > found.value, "{found:?} {last}");
    }

    #[test]
    fn a_curve_that_is_carried_above_the_rate_takes_the_staircase_up_again_once() {
        let mut staircase = Staircase::new(3.0, 1e6, Thoroughness::QUICK, 1);
        let mut curve = false;
        let mut steps = 0;
        while let Some((phase, rate)) = staircase.next() {
            curve |= phase == Phase::Curve;
            steps += 1;
            staircase.push(carries(if curve { 137.0 } else { 80.0 })(rate));
        }
        let found = staircase.carried().unwrap();
        assert!((found.value / 137.0).ln().abs() < 0.08, "{found:?}");
        assert!(
            steps <= Thoroughness::QUICK.steps() + 2 * Thoroughness::QUICK.trials + 7,
            "{steps}"
        );
        // A site that becomes better without end does not keep it going.
        let mut staircase = Staircase::new(3.0, 1e6, Thoroughness::QUICK, 1);
        let carried = |phase, rate| phase == Phase::Curve || rate <= 80.0;
        let mut steps = 0;
        while let Some((phase, rate)) = staircase.next() {
            steps += 1;
            let outcome = if carried(phase, rate) { Outcome::Carried } else { Outcome::Lost };
            staircase.push(outcome);
        }
        assert!(steps < 60, "{steps}");
    }

    proptest! {
        #[test]
        fn every_staircase_ends_within_its_bounds(
            outcomes in prop::collection::vec(0u8..4, 1..40),
            first in 0.01f64..1e4,
            max_rate in 0.1f64..1e5,
            seed in any::<u64>(),
        ) {
            let mut staircase = Staircase::new(first, max_rate, Thoroughness::FULL, seed);
            let mut outcomes = outcomes.into_iter().cycle();
            let mut steps = 0;
            while let Some((_, rate)) = staircase.next() {
                prop_assert!(rate <= max_rate && rate > 0.0);
                staircase.push(match outcomes.next() {
                    Some(0) => Outcome::Carried,
                    Some(1) => Outcome::TooSlow,
                    Some(2) => Outcome::Behind,
                    _ => Outcome::Driver,
                });
                steps += 1;
                prop_assert!(steps < 200);
            }
            prop_assert!(staircase.end().is_some());
        }
    }
}
