//! Fills an empty database with customers, securities and orders. The same number and seed
//! give the same population on every machine, but for its times, which are relative to its
//! making.
//!
//! Customers are `customer1` to `customerN` with the passwords `password1` to `passwordN`.
//! Each has paid in half a million dollars or more, has given 15 to 40 orders in the last
//! half year, most of which were carried out, and has 2 to 6 open orders, so far from the
//! price that the random walk does not reach them.

mod customer;

use std::collections::BTreeMap;

use super::options::Options;
use super::schema::SCHEMA;
use super::store::cash::{MARKET, OUTSIDE};
use crate::protocol::back::Right;
use crate::securities;
use tidegate_sitekit::Result;
use tidegate_sitekit::database::Connection;
use tidegate_sitekit::password::PasswordCost;
use tidegate_sitekit::population::{self, Batch, Hashing, Population, Schema, Secret, Writer};
use tidegate_sitekit::values;

use customer::{Ledger, Life};

/// Customers that are made and written at once.
const AT_ONCE: i64 = 500;

/// Size and seed of a population.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Plan {
    /// Customers.
    pub customers: i64,
    /// Seed of the random streams.
    pub seed: u64,
}

impl std::fmt::Display for Plan {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{} customers, seed {}", self.customers, self.seed)
    }
}

impl population::Plan for Plan {
    type Size = i64;
    const SIZE: &'static str = "customers";
    const DEFAULT: Self = Self { customers: Options::CUSTOMERS, seed: Options::SEED };

    fn new(customers: i64, seed: u64) -> Self {
        Self { customers, seed }
    }

    fn parts(&self) -> (i64, u64) {
        (self.customers, self.seed)
    }
}

/// Fills the database of the brokerage.
pub struct Brokerage {
    /// Cost of the password hashes.
    pub cost: PasswordCost,
    /// All of them are made at this cost, however long that takes.
    pub full_hashes: bool,
}

impl Brokerage {
    /// How the passwords of so many customers are hashed.
    fn hashing(&self, customers: i64) -> Hashing {
        let customers = usize::try_from(customers).unwrap_or(usize::MAX);
        if self.full_hashes { Hashing::Full(self.cost) } else { Hashing::of(self.cost, customers) }
    }
}

impl Population for Brokerage {
    type Plan = Plan;
    const SCHEMA: Schema = SCHEMA;
    const TRANSACTION: u64 = AT_ONCE as u64;

    fn steps(plan: Plan) -> u64 {
        u64::try_from(plan.customers).unwrap_or(0)
    }

    async fn fill(&self, plan: Plan, writer: &mut Writer<'_>) -> Result<()> {
        writer.stage("customers");
        market(writer.connection, plan.seed, writer.now).await?;
        let mut books = Books::new();
        customers(writer, &mut books, plan, self.hashing(plan.customers)).await?;
        books.house(writer.connection).await
    }
}

/// Securities, their first prices, and what the feed and the leases begin with.
async fn market(connection: &mut Connection, seed: u64, now: i64) -> Result<()> {
    let mut names = Batch::new("securities", "id, symbol, name");
    let mut prices = Batch::new("prices", "security, cents");
    let mut history = Batch::new("price_history", "security, place, tick, at_ms, cents");
    for listed in securities::all() {
        let price = securities::first_price(seed, listed.id);
        names.push(connection, values![listed.id, listed.symbol, listed.name]).await?;
        prices.push(connection, values![listed.id, price]).await?;
        let first = [listed.id, 0, 0, now * 1000, price].map(Into::into);
        history.push(connection, first).await?;
    }
    names.write(connection).await?;
    prices.write(connection).await?;
    history.write(connection).await?;
    let feed = "INSERT INTO feed (id, tick, as_of_ms, source, since) VALUES (1, 0, 0, '', 0)";
    connection.run(feed, &[]).await?;
    for right in Right::ALL {
        let lease = "INSERT INTO leases (name, holder, term, until_ms) VALUES ($1, '', 0, 0)";
        connection.run(lease, &values![right.name()]).await?;
    }
    Ok(())
}

async fn customers(
    writer: &mut Writer<'_>,
    books: &mut Books,
    plan: Plan,
    hashing: Hashing,
) -> Result<()> {
    let now = writer.now;
    let mut table = Batch::new("customers", "id, user_name, name, password, created");
    let mut first = 1;
    while first <= plan.customers {
        let last = (first + AT_ONCE - 1).min(plan.customers);
        let lives: Vec<Life> = (first..=last).map(|id| Life::new(plan.seed, id)).collect();
        let secrets: Vec<Secret> = lives.iter().map(Life::secret).collect();
        let hashes = hashing.hash(&secrets)?;
        for (life, hash) in lives.iter().zip(hashes) {
            let user = life.user();
            let row = values![life.id, user, life.name, hash, now + life.joined];
            table.push(writer.connection, row).await?;
            books.add(writer.connection, life, now).await?;
        }
        writer.done(u64::try_from(last - first + 1).unwrap_or(0)).await?;
        first = last + 1;
    }
    table.write(writer.connection).await?;
    books.write(writer.connection).await
}

/// The tables that customers' lives fill.
struct Books {
    accounts: Batch,
    holdings: Batch,
    orders: Batch,
    executions: Batch,
    ledger: Batch,
    payments: Batch,
    /// Numbers of the last order and payment.
    last_order: i64,
    last_payment: i64,
    /// Cash of the market and of the world outside.
    market: i64,
    outside: i64,
    /// Shares that the market has, by security.
    shares: BTreeMap<i64, i64>,
}

impl Books {
    fn new() -> Self {
        Self {
            accounts: Batch::new("accounts", "customer, available, reserved"),
            holdings: Batch::new("holdings", "customer, security, available, reserved, cost"),
            orders: Batch::new(
                "orders",
                "id, customer, client_id, security, side, kind, quantity, limit_cents, state, \
                 reason, price, created, closed, expires",
            ),
            executions: Batch::new(
                "executions",
                "order_id, customer, security, side, quantity, cents, at",
            ),
            ledger: Batch::new("ledger", "at, kind, reference, from_account, to_account, cents"),
            payments: Batch::new("payments", "id, payment, customer, cents, at"),
            last_order: 0,
            last_payment: 0,
            market: 0,
            outside: 0,
            shares: BTreeMap::new(),
        }
    }

    async fn add(&mut self, connection: &mut Connection, life: &Life, now: i64) -> Result<()> {
        for (at, cents) in &life.payments {
            self.last_payment += 1;
            self.outside -= cents;
            let (id, at) = (self.last_payment, now + at);
            let name = format!("population-{id}");
            let row = values![id, name, life.id, cents, at];
            self.payments.push(connection, row).await?;
            self.enter(connection, &Ledger::payment(life.id, id, *cents), at).await?;
        }
        for order in &life.orders {
            self.last_order += 1;
            let number = self.last_order;
            let name = format!("population-{number}");
            let row = values![
                number,
                life.id,
                name,
                order.security,
                order.side,
                order.kind,
                order.quantity,
                order.limit,
                order.state,
                order.reason,
                order.price,
                now + order.created,
                order.closed.map_or(0, |closed| now + closed),
                0
            ];
            self.orders.push(connection, row).await?;
            for entry in order.ledger(life.id, number) {
                let at = if entry.at_end { order.closed.unwrap_or(0) } else { order.created };
                self.enter(connection, &entry, now + at).await?;
            }
            if order.price > 0 {
                let (cash, shares) = order.to_market();
                self.market += cash;
                *self.shares.entry(order.security).or_default() += shares;
                let row = values![
                    number,
                    life.id,
                    order.security,
                    order.side,
                    order.quantity,
                    order.price,
                    order.closed.map_or(0, |closed| now + closed)
                ];
                self.executions.push(connection, row).await?;
            }
        }
        let row = values![life.id, life.available, life.reserved];
        self.accounts.push(connection, row).await?;
        for (security, held) in &life.holdings {
            let row = values![life.id, security, held.available, held.reserved, held.cost];
            self.holdings.push(connection, row).await?;
        }
        Ok(())
    }

    async fn enter(&mut self, connection: &mut Connection, entry: &Ledger, at: i64) -> Result<()> {
        let row = values![
            at,
            entry.why as i64,
            entry.reference,
            entry.from.number(),
            entry.to.number(),
            entry.cents
        ];
        Ok(self.ledger.push(connection, row).await?)
    }

    /// The house's own accounts and shares.
    async fn house(&mut self, connection: &mut Connection) -> Result<()> {
        for (owner, cents) in [(MARKET, self.market), (OUTSIDE, self.outside)] {
            self.accounts.push(connection, values![owner, cents, 0]).await?;
        }
        for (security, shares) in &self.shares {
            let row = values![MARKET, security, shares, 0, 0];
            self.holdings.push(connection, row).await?;
        }
        self.write(connection).await
    }

    async fn write(&mut self, connection: &mut Connection) -> Result<()> {
        for table in [
            &mut self.accounts,
            &mut self.holdings,
            &mut self.orders,
            &mut self.executions,
            &mut self.ledger,
            &mut self.payments,
        ] {
            table.write(connection).await?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn passwords_of_a_large_population_are_quick_hashes_unless_full_ones_are_asked_for() {
        let cost = PasswordCost::LIGHT;
        let hashing = |full_hashes| Brokerage { cost, full_hashes }.hashing(i64::MAX);
        assert_eq!(hashing(false), Hashing::Quick);
        assert_eq!(hashing(true), Hashing::Full(cost));
    }
}
