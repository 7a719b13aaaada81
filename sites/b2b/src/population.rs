//! Fills an empty database with businesses, items, and an order of each business. The same scale
//! and seed give the same population on every machine.

use std::fmt;

use tidegate_sitekit::database::Connection;
use tidegate_sitekit::population::{self, Batch, LAST_NAMES, Population, Random, Schema, Writer};
use tidegate_sitekit::session::SessionKey;
use tidegate_sitekit::when::DAY;
use tidegate_sitekit::{Result, values};

use crate::fulfil::{self, OrderState};
use crate::options::Options;
use crate::schema::SCHEMA;
use crate::services::{METHODS, SUBJECTS};

/// Size and seed of a population.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plan {
    /// 1 is 1,000 businesses and 10,000 items.
    pub scale: f64,
    /// Seed of the random streams.
    pub seed: u64,
}

impl Plan {
    /// Businesses; their numbers count from 1, and the token of number 7 is `token7`.
    pub fn customers(&self) -> i64 {
        self.scaled(1000.0)
    }

    /// Items; their numbers count from 1. Number 7 is supplied by business 7, and so on around.
    pub fn items(&self) -> i64 {
        self.scaled(10_000.0)
    }

    #[expect(clippy::cast_possible_truncation, reason = "the scale is at most 100")]
    fn scaled(&self, at_one: f64) -> i64 {
        ((at_one * self.scale).round() as i64).max(10)
    }
}

impl population::Plan for Plan {
    type Size = f64;
    const SIZE: &'static str = "scale";
    const DEFAULT: Self = Self { scale: Options::SCALE, seed: Options::SEED };

    fn new(scale: f64, seed: u64) -> Self {
        Self { scale, seed }
    }

    fn parts(&self) -> (f64, u64) {
        (self.scale, self.seed)
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "scale {}, seed {}", self.scale, self.seed)
    }
}

/// What a random stream belongs to.
#[derive(Clone, Copy, Debug)]
enum Kind {
    Customer = 1,
    Item = 2,
}

impl From<Kind> for u64 {
    fn from(kind: Kind) -> Self {
        kind as Self
    }
}

const BRANCHES: [&str; 8] =
    ["Trading", "Supplies", "Logistics", "Works", "Office", "Systems", "Papers", "Tools"];
const QUALITIES: [&str; 8] =
    ["standard", "heavy", "light", "recycled", "professional", "compact", "wide", "fine"];
const SENTENCES: [&str; 6] = [
    "Packed in tens.",
    "Made for daily use, and easy to store.",
    "Delivered within two days of the order.",
    "Fits all that was supplied before it under the same name.",
    "Tested by an independent laboratory.",
    "Comes with a data sheet in four languages.",
];

/// Fills the database.
pub struct Businesses;

impl Population for Businesses {
    type Plan = Plan;
    const SCHEMA: Schema = SCHEMA;
    const TRANSACTION: u64 = 20_000;

    fn steps(plan: Plan) -> u64 {
        u64::try_from(plan.customers() + plan.items()).unwrap_or(0)
    }

    async fn fill(&self, plan: Plan, writer: &mut Writer<'_>) -> Result<()> {
        let prices = items(plan, writer).await?;
        customers(plan, writer, &prices).await
    }

    async fn index(connection: &mut Connection) -> Result<()> {
        Ok(connection.script(fulfil::INDEXES.into()).await?)
    }
}

/// Writes the items; returns their prices.
async fn items(plan: Plan, writer: &mut Writer<'_>) -> Result<Vec<i64>> {
    writer.stage("items");
    let columns = "id, supplier, name, subject, description, price, stock, picture, published";
    let mut batch = Batch::new("items", columns);
    let mut prices = Vec::new();
    for id in 1..=plan.items() {
        let mut random = Random::of(plan.seed, Kind::Item, id);
        let subject = random.pick(SUBJECTS);
        let name = format!("{} {subject} {}", random.pick(&QUALITIES), random.between(10, 9999));
        let sentences: Vec<&str> =
            (0..random.between(2, 6)).map(|_| random.pick(&SENTENCES)).collect();
        let description = sentences.join(" ");
        let price = random.between(100, 50_000);
        let row = values![
            id,
            (id - 1) % plan.customers() + 1,
            name,
            subject,
            description,
            price,
            random.between(500, 5000),
            random.between(0, 23),
            writer.now - random.between(DAY, 365 * DAY)
        ];
        batch.push(writer.connection, row).await?;
        prices.push(price);
        writer.done(1).await?;
    }
    batch.write(writer.connection).await?;
    Ok(prices)
}

/// Writes the businesses, each with an order that is shipped.
async fn customers(plan: Plan, writer: &mut Writer<'_>, prices: &[i64]) -> Result<()> {
    writer.stage("businesses");
    let columns = "id, name, street, city, postcode, country, payment_method, \
                   payment_reference, token, changed";
    let mut customers = Batch::new("customers", columns);
    let columns = "id, customer, reference, content, state, total, created, tracking";
    let mut orders = Batch::new("orders", columns);
    let mut lines = Batch::new("order_lines", "order_id, number, item, quantity, price");
    for id in 1..=plan.customers() {
        let mut random = Random::of(plan.seed, Kind::Customer, id);
        let name = random.pick(&LAST_NAMES);
        let business = format!("{name} {} {id}", random.pick(&BRANCHES));
        let street = format!("{} Harbour Road", random.between(1, 400));
        let city = format!("{name}ville");
        let postcode = format!("{:05}", random.between(0, 99_999));
        let reference = format!("PO-{id}");
        let token = SessionKey::of_text(&format!("token{id}"));
        let row = values![
            id,
            business,
            street,
            city,
            postcode,
            "Atlantis",
            random.pick(METHODS),
            reference,
            token.as_str(),
            writer.now - random.between(DAY, 365 * DAY)
        ];
        customers.push(writer.connection, row).await?;
        let mut total = 0;
        for number in 1..=random.between(1, 5) {
            let item = random.between(1, plan.items());
            let quantity = random.between(1, 20);
            let price = prices[usize::try_from(item - 1).expect("items count from 1")];
            lines.push(writer.connection, values![id, number, item, quantity, price]).await?;
            total += quantity * price;
        }
        let (state, tracking) = (OrderState::Shipped, format!("old-{id}"));
        let created = writer.now - DAY;
        let row = values![id, id, "first", "", state, total, created, tracking];
        orders.push(writer.connection, row).await?;
        writer.done(1).await?;
    }
    customers.write(writer.connection).await?;
    orders.write(writer.connection).await?;
    Ok(lines.write(writer.connection).await?)
}
