//! Synthetic items with their bids, comments and purchases.
//!
//! Source: RUBiS 1.4 population: initial price uniform 1 to 5000 dollars,
//! duration 1 to 7 days, 80 % unique items and else up to 10, 40 % with a
//! reserve price, 10 % with a fixed price, 0 to 19 bids on an active item (10 on
//! average), a comment after 95 % of the items.
//! Deviation: descriptions are whole sentences of 1 to 7168 bytes for active
//! items as in RUBiS, but at most 1536 for ended ones, which are rarely read and
//! would fill the disk.

use super::kind::Kind;
use super::words::{ADJECTIVES, COMMENTS, DESCRIPTIONS, TAILS, THINGS};
use tidegate_sitekit::population::Random;
use tidegate_sitekit::when::DAY;

/// A synthetic item. Times are seconds relative to when the population is made.
#[derive(Clone, Debug)]
pub struct Goods {
    /// Its id.
    pub id: i64,
    /// Its category.
    pub category: i64,
    /// Its name.
    pub name: String,
    /// The seller's text.
    pub description: String,
    /// Cents.
    pub initial_price: i64,
    /// Cents; zero for none.
    pub reserve_price: i64,
    /// Cents; zero for none.
    pub buy_now: i64,
    /// How many.
    pub quantity: i64,
    /// Who sells it.
    pub seller: i64,
    /// When its auction began.
    pub start: i64,
    /// When it ends.
    pub end: i64,
    /// The bids on it, ascending.
    pub bids: Vec<Bid>,
}

/// A bid on a synthetic item.
#[derive(Clone, Copy, Debug)]
pub struct Bid {
    /// Who.
    pub user: i64,
    /// How many.
    pub quantity: i64,
    /// Cents.
    pub bid: i64,
    /// Cents.
    pub max_bid: i64,
    /// When.
    pub date: i64,
}

/// A comment on a seller after an item.
#[derive(Clone, Debug)]
pub struct Remark {
    /// About whom.
    pub to: i64,
    /// By whom.
    pub from: i64,
    /// One of -5, -3, 0, 3, 5.
    pub rating: i64,
    /// When, relative to when the population is made.
    pub date: i64,
    random: Random,
}

impl Goods {
    /// The item of this id; `users` is how many people there are.
    pub fn new(seed: u64, id: i64, category: i64, active: bool, users: i64) -> Self {
        let mut random = Random::of(seed, Kind::Item, id);
        let seller = random.between(1, users);
        let initial_price = random.between(1, 5000) * 100;
        let quantity = if random.percent(80) { 1 } else { random.between(2, 10) };
        let reserve = random.percent(40).then(|| random.between(1, 1000) * 100);
        let buy_now = random.percent(10).then(|| random.between(1, 1000) * 100);
        let lasts = random.between(1, 7) * DAY;
        let end = if active {
            // None ends in the first minutes of a new site.
            random.between(1200, lasts - 3600)
        } else {
            -random.between(1, 365 * DAY)
        };
        let mut goods = Self {
            id,
            category,
            name: name(&mut random, category),
            description: text(&mut random, &DESCRIPTIONS, if active { 7168 } else { 1536 }),
            initial_price,
            reserve_price: reserve.map_or(0, |more| initial_price + more),
            buy_now: buy_now.map_or(0, |more| initial_price + reserve.unwrap_or(0) + more),
            quantity,
            seller,
            start: end - lasts,
            end,
            bids: Vec::new(),
        };
        if active {
            goods.bids = goods.draw_bids(&mut random, users);
        }
        goods
    }

    fn draw_bids(&self, random: &mut Random, users: i64) -> Vec<Bid> {
        let number = random.between(0, 19);
        let mut dates: Vec<i64> = (0..number).map(|_| random.between(self.start, -1)).collect();
        dates.sort_unstable();
        let mut highest = self.initial_price;
        dates
            .into_iter()
            .map(|date| {
                let more = random.between(1, 10) * 100;
                let bid = highest + more;
                highest = bid;
                Bid {
                    user: somebody_else(random, self.seller, users),
                    quantity: random.between(1, self.quantity),
                    bid,
                    max_bid: bid + more,
                    date,
                }
            })
            .collect()
    }

    /// The buyer of this ended item at its fixed price, if it was bought.
    pub fn buyer(&self, seed: u64, users: i64) -> Option<i64> {
        let mut random = Random::of(seed, Kind::Purchase, self.id);
        (self.buy_now > 0 && random.percent(80))
            .then(|| somebody_else(&mut random, self.seller, users))
    }
}

impl Remark {
    /// The comment after the item of this id, if there is one.
    pub fn after(seed: u64, item: i64, users: i64) -> Option<Self> {
        // The first draw of an item's own stream is its seller.
        let to = Random::of(seed, Kind::Item, item).between(1, users);
        let mut random = Random::of(seed, Kind::Comment, item);
        random.percent(95).then(|| Self {
            to,
            from: somebody_else(&mut random, to, users),
            // Good ratings are more frequent; RUBiS draws the five ratings evenly.
            rating: random.pick(&[-5, -3, 0, 3, 5]),
            date: -random.between(1, 300 * DAY),
            random,
        })
    }

    /// Its text: sentences of 1 to 2048 bytes in all.
    pub fn comment(mut self) -> String {
        text(&mut self.random, &COMMENTS, 2048)
    }
}

fn somebody_else(random: &mut Random, than: i64, users: i64) -> i64 {
    let drawn = random.between(1, users);
    if drawn == than { drawn % users + 1 } else { drawn }
}

fn name(random: &mut Random, category: i64) -> String {
    let things = &THINGS[usize::try_from(category - 1).expect("categories count from 1")];
    let (adjective, thing) = (random.pick(&ADJECTIVES), random.pick(things));
    if random.percent(45) {
        format!("{adjective} {thing} {}", random.pick(&TAILS))
    } else {
        format!("{adjective} {thing}")
    }
}

/// Sentences up to a length drawn uniformly from 1 to `longest` bytes; at least
/// one, in paragraphs of some five sentences.
fn text(random: &mut Random, sentences: &[&str], longest: i64) -> String {
    let target = usize::try_from(random.between(1, longest)).expect("positive");
    let mut text = String::with_capacity(target + 128);
    let mut last = "";
    loop {
        let sentence = random.pick(sentences);
        if sentence == last {
            continue;
        }
        if !text.is_empty() {
            if text.len() + sentence.len() >= target {
                return text;
            }
            text.push_str(if random.percent(20) { "\n\n" } else { " " });
        }
        text.push_str(sentence);
        last = sentence;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USERS: i64 = 1000;

    fn many() -> Vec<Goods> {
        (1..=4000).map(|id| Goods::new(3, id, id % 20 + 1, true, USERS)).collect()
    }

    #[test]
    fn shares_are_those_of_the_benchmark() {
        let goods = many();
        let share = |test: fn(&Goods) -> bool| {
            goods.iter().filter(|goods| test(goods)).count() as f64 / goods.len() as f64
        };
        for (found, expected) in [
            (share(|goods| goods.quantity == 1), 0.8),
            (share(|goods| goods.reserve_price > 0), 0.4),
            (share(|goods| goods.buy_now > 0), 0.1),
        ] {
            assert!((found - expected).abs() < 0.03, "{found} is not near {expected}");
        }
        let bids: usize = goods.iter().map(|goods| goods.bids.len()).sum();
        let mean = bids as f64 / goods.len() as f64;
        assert!((mean - 9.5).abs() < 0.4, "{mean} bids per item");
    }

    #[test]
    fn bids_rise_and_sellers_do_not_bid_on_their_own() {
        for goods in many() {
            assert!(goods.bids.is_sorted_by(|a, b| a.bid < b.bid && a.date <= b.date));
            for bid in &goods.bids {
                assert!(bid.user != goods.seller && (1..=USERS).contains(&bid.user));
                assert!(bid.bid > goods.initial_price && bid.quantity <= goods.quantity);
                assert!((goods.start..0).contains(&bid.date));
            }
        }
    }

    #[test]
    fn a_remark_is_about_the_seller() {
        let remarks = (1..=500).filter_map(|id| Some((id, Remark::after(3, id, USERS)?)));
        for (id, remark) in remarks {
            assert_eq!(remark.to, Goods::new(3, id, 1, false, USERS).seller);
            assert_ne!(remark.from, remark.to);
            assert!((1..=2048).contains(&remark.comment().len()));
        }
    }
}
