//! The order of measuring windows: in rounds, in each of which every contender has one
//! turn, in random order. The speed of a shared machine drifts; the windows of a round
//! follow each other closely, so that drift affects all of them, and the random order keeps
//! it from affecting the same contender each time. Pure: the order follows from the seed.

use rand::SeedableRng;
use rand::rngs::StdRng;
use rand::seq::SliceRandom;

/// Draws the orders of a run.
#[derive(Debug)]
pub struct Order(StdRng);

/// One turn of one contender.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Turn {
    /// Round, from 0.
    pub round: u32,
    /// Place within the round, from 0.
    pub place: usize,
    /// Index of the contender.
    pub contender: usize,
}

/// The turns of a comparison, in the order in which they are to be taken.
#[derive(Debug)]
#[must_use = "a turn that is not taken is missing in the result"]
pub struct Turns {
    order: StdRng,
    /// The contenders in the order of this round.
    contenders: Vec<usize>,
    rounds: u32,
    next: (u32, usize),
}

impl Order {
    /// The same seed gives the same orders for the same comparisons.
    pub fn seeded(seed: u64) -> Self {
        Self(StdRng::seed_from_u64(seed))
    }

    /// The turns of the next comparison, of so many contenders and rounds.
    pub fn turns(&mut self, contenders: usize, rounds: u32) -> Turns {
        // A generator of its own: what one comparison takes does not change the next.
        let order = StdRng::from_rng(&mut self.0);
        Turns { order, contenders: (0..contenders).collect(), rounds, next: (0, 0) }
    }
}

impl Iterator for Turns {
    type Item = Turn;

    fn next(&mut self) -> Option<Turn> {
        let (round, place) = self.next;
        if round >= self.rounds || self.contenders.is_empty() {
            return None;
        }
        if place == 0 {
            self.contenders.shuffle(&mut self.order);
        }
        let last = place + 1 == self.contenders.len();
        self.next = if last { (round + 1, 0) } else { (round, place + 1) };
        Some(Turn { round, place, contender: self.contenders[place] })
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        let (round, place) = self.next;
        let left = self.rounds.saturating_sub(round) as usize * self.contenders.len() - place;
        (left, Some(left))
    }
}

impl ExactSizeIterator for Turns {}

/// The values of one contender by round, for pairs with those of another: a round without a
/// value is NaN and not left out, which would pair the windows of different rounds.
pub fn by_round(values: impl IntoIterator<Item = (u32, f64)>) -> Vec<f64> {
    let mut series = Vec::new();
    for (round, value) in values {
        let round = round as usize;
        series.resize(series.len().max(round + 1), f64::NAN);
        series[round] = value;
    }
    series
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    fn contenders(turns: Turns) -> Vec<usize> {
        turns.map(|turn| turn.contender).collect()
    }

    #[test]
    fn every_contender_has_one_turn_in_every_round() {
        for (count, rounds) in [(1, 4), (2, 9), (5, 3)] {
            let turns: Vec<Turn> = Order::seeded(7).turns(count, rounds).collect();
            assert_eq!(turns.len(), count * rounds as usize);
            for (round, of_round) in turns.chunks(count).enumerate() {
                let all: BTreeSet<_> = of_round.iter().map(|turn| turn.contender).collect();
                assert_eq!(all, (0..count).collect(), "round {round}: {of_round:?}");
                for (place, turn) in of_round.iter().enumerate() {
                    assert_eq!((turn.round as usize, turn.place), (round, place));
                }
            }
        }
    }

    #[test]
    fn every_order_of_a_round_is_drawn_about_equally_often() {
        let turns = contenders(Order::seeded(1).turns(3, 6000));
        let mut orders = std::collections::BTreeMap::<&[usize], u32>::new();
        turns.chunks(3).for_each(|order| *orders.entry(order).or_default() += 1);
        // Six orders, 1000 times each; the standard deviation is 29.
        assert_eq!(orders.len(), 6);
        assert!(orders.values().all(|count| (850..1150).contains(count)), "{orders:?}");
    }

    #[test]
    fn a_seed_replays_all_comparisons_of_a_run() {
        let run = |seed| {
            let mut order = Order::seeded(seed);
            [order.turns(4, 20), order.turns(4, 20)].map(contenders)
        };
        assert_eq!(run(3), run(3));
        let [first, second] = run(3);
        assert!(first != second && run(4)[0] != first);
    }

    #[test]
    fn a_comparison_that_breaks_off_does_not_change_the_order_of_the_next() {
        let (mut whole, mut broken) = (Order::seeded(5), Order::seeded(5));
        assert_eq!(whole.turns(4, 20).count(), 80);
        assert!(broken.turns(4, 20).next().is_some());
        assert_eq!(contenders(whole.turns(3, 9)), contenders(broken.turns(3, 9)));
    }

    #[test]
    fn the_turns_that_are_left_are_known() {
        let mut turns = Order::seeded(1).turns(3, 2);
        for left in (0..6).rev() {
            assert!(turns.next().is_some());
            assert_eq!(turns.len(), left);
        }
        assert_eq!((turns.next(), turns.len()), (None, 0));
        assert_eq!(Order::seeded(1).turns(0, 9).count() + Order::seeded(1).turns(9, 0).count(), 0);
    }

    #[test]
    fn a_round_without_a_value_keeps_the_later_ones_in_their_rounds() {
        let series = by_round([(3, 4.0), (0, 1.0)]);
        assert_eq!((series.len(), series[0], series[3]), (4, 1.0, 4.0));
        assert!(series[1].is_nan() && series[2].is_nan());
        assert!(by_round([]).is_empty());
    }
}
