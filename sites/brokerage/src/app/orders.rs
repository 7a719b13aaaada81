//! The rules of new orders.

use super::service::App;
use crate::error::Result;
use crate::protocol::back::{AddPayment, PlaceOrder, Quote, ReadQuote};
use crate::protocol::front::{CreateOrder, Created, Credit, Credited};
use crate::protocol::{Kind, Mistake, NewOrder, Order, Problem, Side};
use crate::rpc::call;
use tidegate_card::looks_like_card;
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::when;

/// Most shares of an order.
pub const MOST_SHARES: i64 = 1_000_000;
/// How far the price of a market order may be from the one that the customer saw, percent.
const MARKET: i64 = 10;

impl App {
    /// Creates an order, once for each name that a customer gives.
    ///
    /// # Errors
    /// The order is not valid, and all mistakes are named; the session is over; the data
    /// tier failed.
    pub async fn create(&self, request: CreateOrder) -> Result<Created> {
        let CreateOrder { session, order } = request;
        let quote = match is_symbol(&order.symbol) {
            true => call(&self.client, &ReadQuote { symbol: order.symbol.clone() }).await?,
            false => None,
        };
        let valid = valid(&order, quote)?;
        let now = when::now();
        let place = PlaceOrder {
            session,
            id: order.id.clone(),
            security: valid.quote.security,
            side: valid.side,
            kind: valid.kind,
            quantity: order.quantity,
            limit: valid.limit,
            expires: order.day.then(|| end_of_day(now)),
        };
        let placed = call(&self.client, &place).await?;
        let differs = placed.repeated && differs(&order, &placed.order);
        let feed = self.freshness(valid.quote.recorded);
        Ok(Created { order: placed.order, differs, available: placed.available, feed })
    }

    /// Adds a payment to a customer's cash, once.
    ///
    /// # Errors
    /// There is no such customer, or the same payment was added with another amount or to
    /// another customer; the data tier failed.
    pub async fn credit(&self, request: Credit) -> Result<Credited> {
        let Credit { user, payment, amount } = request;
        let printable = payment.bytes().all(|byte| byte.is_ascii_graphic());
        let long = !(1..=100).contains(&payment.len());
        // The name is stored.
        if long || !printable || looks_like_card(&payment) {
            let why = "A payment has a name of 1 to 100 printable characters, and no card number.";
            return Err(Problem::new(400, "A payment has no name", why, "Correct it.").into());
        }
        if user.contains(char::is_control) {
            let why = format!("Nobody signs in as {user:?}.");
            return Err(Problem::new(404, "There is no such customer", why, "Correct it.").into());
        }
        let added = call(&self.client, &AddPayment { user, payment, amount }).await?;
        if added.differs {
            let why = "It was added before, to another customer or with another amount.";
            let what = "A payment is not what it was";
            return Err(Problem::new(409, what, why, "Give each payment a name of its own.").into());
        }
        Ok(Credited { repeated: added.repeated, available: added.available })
    }
}

/// Whether a text can be the symbol of a security: databases refuse some that cannot.
fn is_symbol(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'.';
    (1..=8).contains(&text.len()) && text.bytes().all(plain)
}

/// What a valid order names.
#[derive(Debug)]
struct Valid {
    quote: Quote,
    side: Side,
    kind: Kind,
    /// The worst price at which it may be carried out.
    limit: Cents,
}

/// Checks an order, whose security has this quote if there is one.
fn valid(order: &NewOrder, quote: Option<Quote>) -> std::result::Result<Valid, Problem> {
    let mut mistakes = Vec::new();
    let mut mistake = |field, text: &str| mistakes.push(Mistake::new(field, text));
    if quote.is_none() {
        mistake("symbol", "Security: choose one of the list.");
    }
    if order.side.is_none() {
        mistake("side", "Choose to buy or to sell.");
    }
    if order.kind.is_none() {
        mistake("kind", "Choose a limit order or a market order.");
    }
    if !(1..=MOST_SHARES).contains(&order.quantity) {
        mistake("quantity", "Shares: must be a whole number from 1 to 1,000,000.");
    }
    let is_price = |limit: &Cents| (1..=Cents::MOST.0).contains(&limit.0);
    let limit = match (order.kind, order.limit) {
        (Some(Kind::Market), None) => {
            let latest = quote.as_ref().zip(order.side);
            latest.map(|(quote, side)| protection(side, quote.price))
        }
        (Some(Kind::Market), Some(_)) => {
            mistake("limit", "Limit: leave it empty for an order at the market's price.");
            None
        }
        (None, None) => None,
        (_, limit) => limit.filter(is_price).or_else(|| {
            let most = Cents::MOST;
            let rule = format!("Limit: must be an amount such as 12.50, from $0.01 to {most}.");
            mistake("limit", &rule);
            None
        }),
    };
    if limit.is_some_and(|limit| limit.times(order.quantity.max(1)).is_none()) {
        mistake("quantity", "Shares: fewer of them at this limit.");
    }
    match (quote, order.side, order.kind, limit) {
        (Some(quote), Some(side), Some(kind), Some(limit)) if mistakes.is_empty() => {
            Ok(Valid { quote, side, kind, limit })
        }
        _ => {
            let remedy = "Correct the fields that are marked, and send the order again.";
            Err(Problem::of_form("Please correct the order", remedy, mistakes))
        }
    }
}

/// The worst price of a market order: a tenth from the latest. So cash can be reserved for
/// it, and nobody pays an absurd price.
fn protection(side: Side, price: Cents) -> Cents {
    Cents(match side {
        Side::Buy => price.0 + (price.0 * MARKET).div_euclid(100).max(1),
        Side::Sell => (price.0 - price.0 * MARKET / 100).max(1),
    })
}

/// The end of the day of a point in time, UTC.
fn end_of_day(now: i64) -> i64 {
    (now.div_euclid(when::DAY) + 1) * when::DAY
}

/// Whether an order that is there already is another than the one that was sent now.
fn differs(sent: &NewOrder, there: &Order) -> bool {
    let limit_differs = sent.kind == Some(Kind::Limit) && sent.limit != Some(there.limit);
    limit_differs
        || sent.symbol != there.symbol
        || (sent.side, sent.kind) != (Some(there.side), Some(there.kind))
        || sent.quantity != there.quantity
        || sent.day != there.expires.is_some()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::protocol::{OrderId, Recorded};

    fn order(kind: Kind, quantity: i64, limit: Option<i64>) -> NewOrder {
        NewOrder {
            id: OrderId::random(),
            symbol: "ALEN".into(),
            side: Some(Side::Buy),
            kind: Some(kind),
            quantity,
            limit: limit.map(Cents),
            day: false,
        }
    }

    fn quote() -> Option<Quote> {
        Some(Quote { security: 1, price: Cents(1000), recorded: Recorded::seen(0, 0) })
    }

    #[test]
    fn all_mistakes_of_an_order_are_named_with_their_fields() {
        let fields = |order: &NewOrder, quote| -> Vec<String> {
            let problem = valid(order, quote).unwrap_err();
            problem.mistakes.into_iter().map(|mistake| mistake.field).collect()
        };
        assert_eq!(fields(&order(Kind::Limit, 0, None), None), ["symbol", "quantity", "limit"]);
        assert_eq!(fields(&order(Kind::Limit, 1_000_001, Some(0)), quote()), ["quantity", "limit"]);
        assert_eq!(fields(&order(Kind::Market, 1, Some(5)), quote()), ["limit"]);
        assert_eq!(fields(&order(Kind::Limit, 1, Some(i64::MAX)), quote()), ["limit"]);
        let nothing = NewOrder { side: None, kind: None, ..order(Kind::Limit, 0, None) };
        assert_eq!(fields(&nothing, None), ["symbol", "side", "kind", "quantity"]);
        assert!(valid(&order(Kind::Limit, MOST_SHARES, Some(Cents::MOST.0)), quote()).is_ok());
    }

    #[test]
    fn symbols_are_short_and_plain_and_all_securities_have_such() {
        for listed in crate::securities::all() {
            assert!(is_symbol(&listed.symbol), "{}", listed.symbol);
        }
        for text in ["", "\0", "ALEN\0", "AL\nEN", "AL EN", "\u{7f}", "ÄLEN", "ABCDEFGHI"] {
            assert!(!is_symbol(text), "{text:?}");
        }
    }

    #[test]
    fn a_market_order_is_protected_by_a_tenth_of_the_price() {
        let limit = |side| {
            let order = NewOrder { side: Some(side), ..order(Kind::Market, 1, None) };
            valid(&order, quote()).unwrap().limit.0
        };
        assert_eq!((limit(Side::Buy), limit(Side::Sell)), (1100, 900));
        assert_eq!(protection(Side::Buy, Cents(1)), Cents(2));
        assert_eq!(protection(Side::Sell, Cents(1)), Cents(1));
    }

    #[test]
    fn a_day_ends_at_midnight() {
        assert_eq!([0, 1, 86_399, 86_400].map(end_of_day), [86_400, 86_400, 86_400, 172_800]);
    }
}
