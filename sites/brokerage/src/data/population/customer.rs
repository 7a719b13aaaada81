//! The life of one synthetic customer: payments, orders, and what is left of them. Times are
//! seconds relative to the making of the population.

use std::collections::BTreeMap;

use crate::data::store::cash::{MARKET, OUTSIDE, Part, Why};
use crate::protocol::{Kind as OrderKind, Reason, Side, State};
use crate::random::Kind;
use crate::securities;
use tidegate_sitekit::population::{FIRST_NAMES, LAST_NAMES, Random, Secret};
use tidegate_sitekit::when::DAY;

/// How long ago the first order was given.
const SPAN: i64 = 180 * DAY;

/// A synthetic customer.
#[derive(Clone, Debug)]
pub struct Life {
    /// Their number, from 1.
    pub id: i64,
    /// Their name.
    pub name: String,
    /// When they became a customer.
    pub joined: i64,
    /// Payments: when, and cents.
    pub payments: Vec<(i64, i64)>,
    /// Orders, oldest first.
    pub orders: Vec<Past>,
    /// Cash that can be spent, and cash that is reserved.
    pub available: i64,
    /// Cash that is reserved.
    pub reserved: i64,
    /// Shares by security.
    pub holdings: BTreeMap<i64, Held>,
    salt: [u8; 16],
}

/// Shares of a security.
#[derive(Clone, Copy, Debug, Default)]
pub struct Held {
    /// Shares that can be sold.
    pub available: i64,
    /// Shares that are reserved.
    pub reserved: i64,
    /// What they have cost, cents.
    pub cost: i64,
}

/// An order of the past.
#[derive(Clone, Debug)]
pub struct Past {
    /// The security.
    pub security: i64,
    /// Buy or sell.
    pub side: Side,
    /// Limit or market.
    pub kind: OrderKind,
    /// Shares.
    pub quantity: i64,
    /// The limit, cents.
    pub limit: i64,
    /// What became of it.
    pub state: State,
    /// Why it was cancelled.
    pub reason: Reason,
    /// At which price it was carried out, cents; 0: it was not.
    pub price: i64,
    /// When it was given.
    pub created: i64,
    /// When it ended.
    pub closed: Option<i64>,
}

/// A row of the ledger.
#[derive(Clone, Copy, Debug)]
pub struct Ledger {
    /// Why cash moved.
    pub why: Why,
    /// The order or payment.
    pub reference: i64,
    /// Whence.
    pub from: Part,
    /// Whither.
    pub to: Part,
    /// How much, above zero.
    pub cents: i64,
    /// When the order ended, not when it was given.
    pub at_end: bool,
}

impl Ledger {
    /// A payment of a customer.
    pub fn payment(customer: i64, reference: i64, cents: i64) -> Self {
        let (from, to) = (Part::available(OUTSIDE), Part::available(customer));
        Self { why: Why::Payment, reference, from, to, cents, at_end: false }
    }
}

impl Past {
    /// The rows of the ledger of this order.
    pub fn ledger(&self, customer: i64, reference: i64) -> Vec<Ledger> {
        let (available, reserved) = (Part::available(customer), Part::reserved(customer));
        let market = Part::available(MARKET);
        let row = |why, from, to, cents, at_end| Ledger { why, reference, from, to, cents, at_end };
        let (held, paid) = (self.limit * self.quantity, self.price * self.quantity);
        let rows = match (self.side, self.state) {
            (Side::Buy, state) => {
                let mut rows = vec![row(Why::Reserve, available, reserved, held, false)];
                if state == State::Filled {
                    rows.push(row(Why::Bought, reserved, market, paid, true));
                }
                if state != State::Open {
                    rows.push(row(Why::Release, reserved, available, held - paid, true));
                }
                rows
            }
            (Side::Sell, State::Filled) => vec![row(Why::Sold, market, available, paid, true)],
            (Side::Sell, _) => Vec::new(),
        };
        rows.into_iter().filter(|row| row.cents > 0).collect()
    }

    /// Cash and shares that the market received when it was carried out.
    pub fn to_market(&self) -> (i64, i64) {
        let cash = self.price * self.quantity;
        match self.side {
            Side::Buy => (cash, -self.quantity),
            Side::Sell => (-cash, self.quantity),
        }
    }
}

impl Life {
    /// The customer of this number.
    pub fn new(seed: u64, id: i64) -> Self {
        let mut random = Random::of(seed, Kind::Customer, id);
        let mut salt = [0; 16];
        salt[..8].copy_from_slice(&random.bits().to_le_bytes());
        salt[8..].copy_from_slice(&random.bits().to_le_bytes());
        let name = format!("{} {}", random.pick(&FIRST_NAMES), random.pick(&LAST_NAMES));
        let joined = -SPAN - random.between(DAY, 2000 * DAY);
        let mut life = Self {
            id,
            name,
            joined,
            payments: Vec::new(),
            orders: Vec::new(),
            available: 0,
            reserved: 0,
            holdings: BTreeMap::new(),
            salt,
        };
        for _ in 0..random.between(1, 4) {
            let cents = random.between(50_000_000, 100_000_000);
            life.payments.push((-SPAN - random.between(0, DAY), cents));
            life.available += cents;
        }
        let ended = random.between(15, 40);
        for number in 0..ended {
            // Evenly spread, so that they are in the order of their times.
            let created = -SPAN + number * (SPAN - 2 * DAY) / ended + random.between(0, DAY / 2);
            life.past(seed, created, &mut random);
        }
        for number in 0..random.between(2, 6) {
            life.open(seed, -DAY + number * 3600, &mut random);
        }
        life
    }

    /// The name that they sign in with.
    pub fn user(&self) -> String {
        format!("customer{}", self.id)
    }

    /// The password and the salt of its hash.
    pub fn secret(&self) -> Secret {
        Secret { password: format!("password{}", self.id), salt: self.salt }
    }

    /// An order that has ended.
    fn past(&mut self, seed: u64, created: i64, random: &mut Random) {
        let side = self.side(30, random);
        let (security, quantity) = self.subject(side, random);
        let usual = securities::first_price(seed, security);
        let price = usual * random.between(85, 115) / 100;
        let limit = match side {
            Side::Buy => price + random.between(0, price / 50),
            Side::Sell => (price - random.between(0, price / 50)).max(1),
        };
        let kind = if random.percent(25) { OrderKind::Market } else { OrderKind::Limit };
        let filled = !random.percent(10);
        let (state, reason) = match filled {
            true => (State::Filled, Reason::None),
            false => (State::Cancelled, Reason::Customer),
        };
        let closed = Some(created + random.between(1, DAY / 2));
        let price = if filled { price } else { 0 };
        if filled {
            let held = self.holdings.entry(security).or_default();
            let cash = price * quantity;
            match side {
                Side::Buy => {
                    self.available -= cash;
                    held.available += quantity;
                    held.cost += cash;
                }
                Side::Sell => {
                    self.available += cash;
                    held.cost -= held.cost * quantity / (held.available + held.reserved);
                    held.available -= quantity;
                }
            }
        }
        let order =
            Past { security, side, kind, quantity, limit, state, reason, price, created, closed };
        self.orders.push(order);
    }

    /// An order that waits for a price that the random walk does not reach.
    fn open(&mut self, seed: u64, created: i64, random: &mut Random) {
        let side = self.side(40, random);
        let (security, quantity) = self.subject(side, random);
        let usual = securities::first_price(seed, security);
        let limit = match side {
            Side::Buy => usual * random.between(50, 70) / 100,
            Side::Sell => usual * random.between(130, 150) / 100,
        };
        match side {
            Side::Buy => {
                self.available -= limit * quantity;
                self.reserved += limit * quantity;
            }
            Side::Sell => {
                let held = self.holdings.entry(security).or_default();
                held.available -= quantity;
                held.reserved += quantity;
            }
        }
        self.orders.push(Past {
            security,
            side,
            kind: OrderKind::Limit,
            quantity,
            limit,
            state: State::Open,
            reason: Reason::None,
            price: 0,
            created,
            closed: None,
        });
    }

    /// Sell in so many percent of the cases, if there is something to sell.
    fn side(&self, percent: i64, random: &mut Random) -> Side {
        let sell = random.percent(percent);
        if sell && self.sellable().next().is_some() { Side::Sell } else { Side::Buy }
    }

    fn sellable(&self) -> impl Iterator<Item = (i64, i64)> {
        let of = |(security, held): (&i64, &Held)| (*security, held.available);
        self.holdings.iter().map(of).filter(|(_, available)| *available > 0)
    }

    /// A security and a number of shares.
    fn subject(&self, side: Side, random: &mut Random) -> (i64, i64) {
        let count = i64::try_from(securities::COUNT).expect("few");
        match side {
            Side::Buy => (random.between(1, count), random.between(1, 100)),
            Side::Sell => {
                let all: Vec<_> = self.sellable().collect();
                let (security, available) = random.pick(&all);
                (security, random.between(1, available))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_a_customer_has_is_the_sum_of_their_ledger_and_executions() {
        for id in 1..=200 {
            let life = Life::new(7, id);
            let mut parts = BTreeMap::<i64, i64>::new();
            let mut shares = BTreeMap::<i64, i64>::new();
            let payments = life.payments.iter().map(|(_, cents)| Ledger::payment(id, 1, *cents));
            let rows = life.orders.iter().flat_map(|order| order.ledger(id, 1));
            for row in payments.chain(rows) {
                *parts.entry(row.from.number()).or_default() -= row.cents;
                *parts.entry(row.to.number()).or_default() += row.cents;
            }
            for order in life.orders.iter().filter(|order| order.price > 0) {
                *shares.entry(order.security).or_default() -= order.to_market().1;
            }
            assert_eq!(parts[&Part::available(id).number()], life.available);
            assert_eq!(parts.get(&Part::reserved(id).number()).unwrap_or(&0), &life.reserved);
            assert_eq!(parts.values().sum::<i64>(), 0);
            for (security, held) in &life.holdings {
                assert_eq!(shares[security], held.available + held.reserved);
                assert!(held.available >= 0 && held.reserved >= 0 && held.cost >= 0);
            }
            assert!(life.available > 0 && life.reserved >= 0);
        }
    }

    #[test]
    fn orders_are_in_the_order_of_their_times_and_some_of_them_open() {
        for id in 1..=50 {
            let life = Life::new(1, id);
            assert!(life.orders.is_sorted_by_key(|order| order.created));
            let open = life.orders.iter().filter(|order| order.state == State::Open).count();
            assert!((2..=6).contains(&open) && (17..=46).contains(&life.orders.len()));
            for order in &life.orders {
                assert!(order.created < 0 && order.closed.is_none_or(|closed| closed < 0));
            }
        }
    }
}
