//! Operations of the data tier, for the application tier. They store and read; what is
//! allowed is decided by the application tier, but for what must hold at the moment of
//! storing: that there is enough cash, enough shares, and that an order is open.

use serde::{Deserialize, Serialize};

use super::{
    Done, Kind, Order, OrderId, Overview, Quotes, Reason, Recorded, Security, SessionKey, Side,
    of_session, operations,
};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::{named, printed_by};

/// Looks up who signs in with this name.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetCredentials {
    /// The name.
    pub user: String,
}

/// A customer with the hash of the password.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credentials {
    /// The customer.
    pub customer: i64,
    /// The stored hash.
    pub hash: String,
}

/// Replaces the hash of a password, unless it has changed meanwhile.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RenewPassword {
    /// The customer.
    pub customer: i64,
    /// The hash that is replaced.
    pub old: String,
    /// The new one.
    pub new: String,
}

/// Opens a session of a customer.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenSession {
    /// The customer.
    pub customer: i64,
    /// The session.
    pub session: SessionKey,
    /// The session that the browser had before, which ends.
    pub replaces: Option<SessionKey>,
}

/// Replaces a customer's password, unless it has changed meanwhile. All sessions of the
/// customer end, and one is opened in their place.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReplacePassword {
    /// The session.
    pub session: SessionKey,
    /// The session that is opened.
    pub next: SessionKey,
    /// The hash that is replaced.
    pub old: String,
    /// The new one.
    pub new: String,
}

/// Who has a session, with what a password is compared with.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Account {
    /// The name that they sign in with.
    pub user: String,
    /// The stored hash.
    pub hash: String,
}

of_session! {
    /// Ends the session.
    CloseSession;
    /// Who has the session.
    ReadAccount;
    /// What the customer has.
    ReadOverview;
    /// The customer's shares.
    ReadHoldings;
    /// All securities.
    ReadSecurities;
}

/// The customer's shares.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holdings {
    /// What the customer has in all.
    pub overview: Overview,
    /// The holdings, by symbol.
    pub holdings: Vec<Holding>,
    /// When the oldest prices of their histories were recorded, milliseconds since 1970.
    pub history_since_ms: u64,
    /// When the latest prices were recorded.
    pub recorded: Recorded,
}

/// Shares of a security.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Holding {
    /// The security, with its latest price.
    pub security: Security,
    /// Shares that can be sold.
    pub available: i64,
    /// Shares that are reserved for open orders to sell.
    pub reserved: i64,
    /// What all of them have cost.
    pub cost: Cents,
    /// Prices of the last while, oldest first.
    pub history: Vec<Cents>,
}

/// All securities.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Securities {
    /// Cash that the customer can spend.
    pub available: Cents,
    /// All of them, by symbol.
    pub securities: Vec<Security>,
    /// When the latest prices were recorded.
    pub recorded: Recorded,
}

/// Orders of the customer, newest first.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadOrders {
    /// The session.
    pub session: SessionKey,
    /// Those that are open, or those that have ended.
    pub open: bool,
    /// Those before the order of this number.
    pub before: Option<i64>,
    /// At most so many, 1 to 200.
    pub most: i64,
}

/// Orders.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Orders {
    /// The orders, newest first.
    pub orders: Vec<Order>,
    /// There are older ones.
    pub more: bool,
    /// When the latest prices were recorded.
    pub recorded: Recorded,
}

/// The latest price of a security.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadQuote {
    /// Its symbol.
    pub symbol: String,
}

/// A security as an order names it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quote {
    /// Its number.
    pub security: i64,
    /// Its latest price.
    pub price: Cents,
    /// When that was recorded.
    pub recorded: Recorded,
}

/// Stores an order and reserves the cash or the shares for it. Where there are too few, the
/// order is stored as rejected. One of the same name is stored once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlaceOrder {
    /// The session.
    pub session: SessionKey,
    /// The order's name.
    pub id: OrderId,
    /// The security.
    pub security: i64,
    /// Buy or sell.
    pub side: Side,
    /// Limit or market.
    pub kind: Kind,
    /// Shares, 1 or more.
    pub quantity: i64,
    /// The worst price at which it may be carried out.
    pub limit: Cents,
    /// When it ends by itself, seconds since 1970.
    pub expires: Option<i64>,
}

/// An order that was stored, now or before.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Placed {
    /// The order as it stands.
    pub order: Order,
    /// It had been stored before.
    pub repeated: bool,
    /// Cash that the customer can spend now.
    pub available: Cents,
}

/// Cancels an open order of the customer, and releases what was reserved for it. One that
/// has ended stays as it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CloseOrder {
    /// The session.
    pub session: SessionKey,
    /// The number of the order.
    pub number: i64,
}

/// The latest prices, with the feed that they come from.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadQuotes {}

/// The state of the feed.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct FeedState {
    /// The latest prices.
    pub quotes: Quotes,
    /// What feeds them, as it calls itself.
    pub source: String,
    /// The tick after which this source began.
    pub since: i64,
}

/// Takes or renews a right. One process has it at a time; another gets it when it has run
/// out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct TakeLease {
    /// Which one.
    pub right: Right,
    /// The process, by a random name.
    pub holder: String,
    /// For how long, milliseconds, 100 to 14,400,000 (4 h).
    pub for_ms: u64,
}

/// What one process does at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Right {
    /// Feeding prices and matching orders.
    Matcher,
    /// Working off the outbox of deposits.
    Deposits,
}

named!(Right: Matcher = "matcher", Deposits = "deposits");

/// The right, if it was granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Lease {
    /// Its number, higher with each holder. What its holder does carries it, so that a
    /// holder whose time is over changes nothing more.
    pub term: Option<i64>,
}

/// Records the prices of a tick.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RecordPrices {
    /// The right under which it is done.
    pub term: i64,
    /// The tick, one more than the last.
    pub tick: i64,
    /// What feeds them.
    pub source: String,
    /// Symbols and prices of the securities that have moved.
    pub prices: Vec<(String, Cents)>,
}

/// Open orders whose limit the latest price has reached.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ReadMatching {
    /// At most so many, 1 to 200.
    pub most: i64,
}

/// Orders that can be carried out.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Matching {
    /// The orders, each with the latest price of its security.
    pub orders: Vec<Match>,
}

/// An order that can be carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Match {
    /// The number of the order.
    pub number: i64,
    /// Buy or sell.
    pub side: Side,
    /// The worst price at which it may be carried out.
    pub limit: Cents,
    /// The latest price.
    pub price: Cents,
}

/// Carries out orders in one transaction: money, shares and the state of each order change
/// together. An order that has ended is left as it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Execute {
    /// The right under which it is done.
    pub term: i64,
    /// The orders, at most 200.
    pub fills: Vec<Fill>,
}

/// An order with the price at which it is carried out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Fill {
    /// The number of the order.
    pub number: i64,
    /// The price of a share.
    pub price: Cents,
}

/// How many orders were changed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Changed {
    /// Orders.
    pub orders: i64,
}

/// Ends the orders whose time is over, at most 100.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Expire {
    /// The right under which it is done.
    pub term: i64,
}

/// Adds a payment to a customer's cash, once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AddPayment {
    /// The name that the customer signs in with.
    pub user: String,
    /// The payment's name.
    pub payment: String,
    /// The amount, above zero.
    pub amount: Cents,
}

/// A payment that was added, now or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PaymentAdded {
    /// It had been added before.
    pub repeated: bool,
    /// It had been added before to another customer or with another amount.
    pub differs: bool,
    /// Cash that the customer can spend now.
    pub available: Cents,
}

operations! {
    GetCredentials, "credentials" => Option<Credentials>;
    RenewPassword, "renew-password" => Done;
    ReadAccount, "read-account" => Account;
    ReplacePassword, "replace-password" => Done;
    OpenSession, "open-session" => Overview;
    CloseSession, "close-session" => Done;
    ReadOverview, "read-overview" => Overview;
    ReadHoldings, "read-holdings" => Holdings;
    ReadSecurities, "read-securities" => Securities;
    ReadOrders, "read-orders" => Orders;
    ReadQuote, "read-quote" => Option<Quote>;
    PlaceOrder, "place-order" => Placed;
    CloseOrder, "close-order" => Order;
    ReadQuotes, "read-quotes" => FeedState;
    TakeLease, "take-lease" => Lease;
    RecordPrices, "record-prices" => Done;
    ReadMatching, "read-matching" => Matching;
    Execute, "execute" => Changed;
    Expire, "expire" => Changed;
    AddPayment, "add-payment" => PaymentAdded;
}

impl Reason {
    /// Why an order of this side is rejected.
    pub fn rejected(side: Side) -> Self {
        match side {
            Side::Buy => Self::Cash,
            Side::Sell => Self::Shares,
        }
    }
}

printed_by!(Credentials: customer);
printed_by!(Account: user);
printed_by!(ReplacePassword);
printed_by!(RenewPassword: customer);
