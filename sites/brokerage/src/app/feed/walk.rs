//! A random walk of prices, in whole cents. The same seed and the same prices before give
//! the same prices on every machine, whichever process computes them.

use crate::random::Kind;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::population::Random;

/// Securities that move at a tick, percent.
const MOVING: i64 = 30;
/// Largest step, parts of 10,000 of the price; at least one cent.
const STEP: i64 = 40;
/// How far prices are from the one that they began with at most, percent.
const REACH: i64 = 20;

/// A random walk.
#[derive(Clone, Debug)]
pub struct Walk {
    seed: u64,
}

impl Walk {
    /// The walk of this seed.
    pub fn new(seed: u64) -> Self {
        Self { seed }
    }

    /// What it calls itself.
    pub fn name(&self) -> String {
        format!("random walk {}", self.seed)
    }

    /// The prices that change at the `nth` tick.
    pub fn tick(&self, nth: i64, prices: &[(String, Cents)]) -> Vec<(String, Cents)> {
        let mut random = Random::of(self.seed, Kind::Tick, nth);
        let mut moved = Vec::new();
        for (symbol, price) in prices {
            // Drawn for every security, so that the walk of one does not depend on others.
            let (moves, draw) = (random.percent(MOVING), random.bits());
            if !moves {
                continue;
            }
            let next = step(self.first(symbol), price.0, draw);
            if next != price.0 {
                moved.push((symbol.clone(), Cents(next)));
            }
        }
        moved
    }

    /// The price around which a security moves: that of a population of this seed. It needs
    /// no number of the security, so that a symbol is enough.
    fn first(&self, symbol: &str) -> i64 {
        crate::securities::number(symbol)
            .map_or(10_000, |id| crate::securities::first_price(self.seed, id))
    }
}

/// A step of a price that tends back to where it began.
fn step(first: i64, price: i64, draw: u64) -> i64 {
    let size = (price * STEP / 10_000).max(1);
    let span = u128::from(size.unsigned_abs()) * 2 + 1;
    let drawn = i64::try_from((u128::from(draw) * span) >> 64).expect("within the span") - size;
    let (least, most) = ((first * (100 - REACH) / 100).max(1), first * (100 + REACH) / 100);
    let next = price + drawn;
    match next {
        // A price that a file or another seed has left outside comes back by steps.
        _ if price < least => price + size,
        _ if price > most => price - size,
        _ => next.clamp(least, most),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::securities;

    fn begin(seed: u64) -> Vec<(String, Cents)> {
        let first = |listed: securities::Listed| {
            (listed.symbol, Cents(securities::first_price(seed, listed.id)))
        };
        securities::all().into_iter().map(first).collect()
    }

    fn walked(seed: u64, ticks: i64) -> Vec<(String, Cents)> {
        let mut prices = begin(seed);
        for nth in 1..=ticks {
            for (symbol, price) in Walk::new(seed).tick(nth, &prices) {
                prices.iter_mut().find(|(known, _)| *known == symbol).unwrap().1 = price;
            }
        }
        prices
    }

    #[test]
    fn the_same_seed_gives_the_same_walk_and_another_seed_another() {
        assert_eq!(walked(1, 50), walked(1, 50));
        assert_ne!(walked(1, 1), begin(1));
        let steps = |seed| Walk::new(seed).tick(1, &begin(1));
        assert_ne!(steps(1), steps(2));
    }

    #[test]
    fn prices_move_and_stay_near_where_they_began() {
        let (begun, ended) = (begin(1), walked(1, 2000));
        let mut moved = 0;
        for ((symbol, first), (_, last)) in begun.iter().zip(&ended) {
            let (least, most) = (first.0 * 80 / 100, first.0 * 120 / 100);
            assert!((least..=most).contains(&last.0), "{symbol}: {first} {last}");
            moved += usize::from(first != last);
        }
        assert!(moved > 240, "{moved}");
    }

    #[test]
    fn a_price_from_elsewhere_comes_back() {
        for start in [1, 50_000] {
            let mut price = start;
            for _ in 0..20_000 {
                price = step(1000, price, u64::MAX / 2);
            }
            assert!((800..=1200).contains(&price), "{start}: {price}");
        }
    }
}
