//! Orders: placed in one transaction that takes their goods out of stock.

use super::basket;
use super::customers::Address;
use super::queue::{self, Step};
use crate::price::{Sum, in_zone, sum};
use crate::zones::Zone;
use tidegate_sitekit::database::{self, Database, Transaction};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::once::form::{self, Accepted, Form, Receipt};
use tidegate_sitekit::session::SessionKey;
use tidegate_sitekit::{Problem, Result, locking, named, numbered, record, values};

/// How far an order has come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum State {
    /// The processor is asked for its card form.
    Asked,
    /// It waits for the customer's card.
    Form,
    /// The card is authorised.
    Authorised,
    /// It is paid.
    Paid,
    /// It is not paid, and its goods are in stock again.
    Cancelled,
}

numbered!(State: Asked = 0, Form = 1, Authorised = 2, Paid = 3, Cancelled = 4);

impl State {
    /// Whether it may change.
    pub fn is_open(self) -> bool {
        !matches!(self, Self::Paid | Self::Cancelled)
    }
}

/// Why an order is cancelled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The card was declined.
    Declined,
    /// The customer cancelled at the card form.
    Customer,
    /// No card was typed in time.
    NoCard,
    /// The processor does not take the payment, or has given it back.
    Refused,
    /// The processor did not answer for a long time.
    NoAnswer,
}

named!(Reason: Declined = "declined", Customer = "customer", NoCard = "no-card",
    Refused = "refused", NoAnswer = "no-answer");

/// An order.
#[derive(Clone, Debug)]
pub struct Order {
    /// Its number.
    pub number: i64,
    /// How far it has come.
    pub state: State,
    /// Why it is cancelled.
    pub reason: Option<Reason>,
    /// URL of the card form, once there is one.
    pub form: Option<String>,
    /// Brand and last digits of the card that has paid.
    pub card: Option<String>,
    /// When it was placed.
    pub created: i64,
    /// The zone of its postcode.
    pub zone: i64,
    /// What the goods cost.
    pub goods: Cents,
    /// Their shipping.
    pub shipping: Cents,
    /// Tax on both.
    pub tax: Cents,
    /// The customer's mail address.
    pub email: String,
    /// Where it goes.
    pub address: Address,
}

record!(Order {
    number,
    state,
    reason,
    form,
    card,
    created,
    zone,
    goods,
    shipping,
    tax,
    email,
    address
});

impl Order {
    /// What it costs.
    pub fn sum(&self) -> Sum {
        Sum { goods: self.goods, shipping: self.shipping, tax: self.tax }
    }
}

/// A line of an order.
#[derive(Clone, Debug)]
pub struct Line {
    /// The product.
    pub product: i64,
    /// Its department.
    pub department: i64,
    /// Its name.
    pub name: String,
    /// How many.
    pub quantity: i64,
    /// What one of them cost.
    pub price: Cents,
}

record!(Line { product, department, name, quantity, price });

/// A new order of all that is in a basket.
#[derive(Clone, Copy, Debug)]
pub struct NewOrder<'a> {
    /// Whose basket.
    pub session: &'a SessionKey,
    /// Who has signed in, 0 for nobody.
    pub customer: i64,
    /// The name of its payment at the processor.
    pub reference: &'a str,
    /// The zone of its postcode.
    pub zone: &'a Zone,
    /// What the customer was told that it costs.
    pub total: Cents,
    /// The customer's mail address.
    pub email: &'a str,
    /// Where it goes.
    pub address: &'a Address,
    /// Now, seconds since 1970.
    pub now: i64,
    /// When the processor is asked, unless it was before, milliseconds since 1970.
    pub due_ms: i64,
}

macro_rules! select {
    ($rest:literal) => {
        concat!(
            "SELECT id, state, reason, form, card, created, zone, goods, shipping, tax, email,
                    name, street, city, postcode FROM orders WHERE ",
            $rest
        )
    };
}

/// An order that its session or its customer asks for.
pub async fn own(
    database: &Database,
    number: i64,
    session: &SessionKey,
    customer: i64,
) -> Result<Option<Order>> {
    const SQL: &str = select!("id = $1 AND (session = $2 OR (customer > 0 AND customer = $3))");
    database.first(SQL, &values![number, session.as_str(), customer]).await
}

/// The last 20 orders of a customer.
pub async fn of_customer(database: &Database, customer: i64) -> Result<Vec<Order>> {
    const SQL: &str = select!("customer = $1 ORDER BY id DESC LIMIT 20");
    database.all(SQL, &values![customer]).await
}

/// The lines of an order.
pub async fn lines(database: &Database, number: i64) -> Result<Vec<Line>> {
    let sql = "SELECT p.id, p.department, p.name, l.quantity, l.price
               FROM order_lines l JOIN products p ON p.id = l.product
               WHERE l.order_id = $1 ORDER BY p.id";
    database.all(sql, &values![number]).await
}

/// Places an order: takes its goods out of stock, empties the basket, and notes that the
/// processor is to be asked, in one transaction that is on the disk when it returns. A form sent
/// again places one order.
///
/// # Errors
/// The basket is empty, a product is sold out, or a price has changed: errors of the client, and
/// nothing was changed.
pub async fn place(database: &Database, form: Form, new: NewOrder<'_>) -> Result<Accepted<Order>> {
    const BY_ID: &str = select!("id = $1");
    let mut transaction = database.begin_on_disk().await?;
    let placed = store(&mut transaction, new).await;
    form::accept(database, transaction, form, placed, BY_ID, |order, _| order).await
}

async fn store(
    transaction: &mut Transaction,
    new: NewOrder<'_>,
) -> Result<(Order, Option<Receipt>)> {
    // Of two forms of one session the second finds the basket that the first has left.
    let lock = locking!("SELECT customer FROM sessions WHERE key = $1");
    transaction.lock::<i64>(lock, &values![new.session.as_str()]).await?;
    let lines = basket::lines_within(transaction, new.session).await?;
    if lines.is_empty() {
        let why = "It was ordered already, or emptied in another window.";
        let remedy = "Look at your orders, or fill the basket again.";
        return Err(Problem::new(409, "Your basket is empty", why, remedy).into());
    }
    let cost = cost(new.zone, &lines);
    if cost.total() != new.total {
        return Err(Problem::new(
            409,
            "The sum has changed",
            format!("Your basket or a price has changed: it is {} now.", cost.total()),
            "Nothing was ordered. Go to the checkout again, and look at the new sum.",
        )
        .into());
    }
    // In the order of their numbers, so that no two orders wait for each other.
    for line in &lines {
        let sql =
            "UPDATE products SET stock = stock - $2 WHERE id = $1 AND stock >= $2 RETURNING id";
        if transaction.first::<i64>(sql, &values![line.product, line.quantity]).await?.is_none() {
            return Err(sold_out(line).into());
        }
    }
    let NewOrder { session, customer, reference, email, address, now, .. } = new;
    let (zone, Sum { goods, shipping, tax }) = (new.zone.id, cost);
    let Address { name, street, city, postcode } = address;
    let sql = "INSERT INTO orders (session, customer, reference, state, reason, form, card,
                   version, created, zone, goods, shipping, tax, email, name, street, city,
                   postcode)
               VALUES ($1, $2, $3, 0, '', '', '', 0, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13)
               RETURNING id";
    let values = values![
        session.as_str(),
        customer,
        reference,
        now,
        zone,
        goods,
        shipping,
        tax,
        email,
        name,
        street,
        city,
        postcode
    ];
    let number: i64 = transaction.first(sql, &values).await?.ok_or(database::Error::NoRow)?;
    for line in &lines {
        let sql = "INSERT INTO order_lines (order_id, product, quantity, price)
                   VALUES ($1, $2, $3, $4)";
        let price = in_zone(new.zone, line.price);
        transaction.run(sql, &values![number, line.product, line.quantity, price]).await?;
    }
    queue::push(transaction, number, Step::Create, new.due_ms).await?;
    basket::empty(transaction, session).await?;
    let order = Order {
        number,
        state: State::Asked,
        reason: None,
        form: None,
        card: None,
        created: now,
        zone,
        goods,
        shipping,
        tax,
        email: email.into(),
        address: address.clone(),
    };
    Ok((order, Some(Receipt { row: number, figure: 0 })))
}

/// What a basket costs in a zone.
pub fn cost(zone: &Zone, lines: &[basket::Line]) -> Sum {
    let goods = lines.iter().map(|line| in_zone(zone, line.price).0 * line.quantity).sum();
    let weight = lines.iter().map(|line| line.weight * line.quantity).sum();
    sum(zone, Cents(goods), weight)
}

fn sold_out(line: &basket::Line) -> Problem {
    let why = match line.stock {
        left if left >= line.quantity => {
            format!("{} was sold to somebody else just now.", line.name)
        }
        0 => format!("{} is sold out.", line.name),
        left => format!("Of {} there are {left} left, and you want {}.", line.name, line.quantity),
    };
    let remedy = "Nothing was ordered. Take fewer of it, or take it out of your basket.";
    Problem::new(409, "Something is sold out", why, remedy)
}
