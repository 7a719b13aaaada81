//! Operations of the application tier, for the web tier.

use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::{
    Done, NewOrder, Order, Overview, Quotes, Security, SessionKey, SessionToken, of_session,
    operations,
};
use tidegate_sitekit::money::Cents;
use tidegate_sitekit::printed_by;

/// Signs a customer in.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignIn {
    /// The name that the customer signs in with.
    pub user: String,
    /// The password.
    pub password: String,
    /// Whence the customer comes: failed logins are limited by it.
    pub client: IpAddr,
    /// The session that the browser had before, which ends.
    pub replaces: Option<SessionKey>,
}

/// Replaces the password of the customer, who shows that they know it. All their sessions
/// end, and one begins. The same change sent again is made once: its new session tells that it
/// was made.
#[derive(Clone, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ChangePassword {
    /// The session.
    pub session: SessionKey,
    /// The session that begins, of a token that the web tier has made for this change alone.
    pub next: SessionKey,
    /// The password.
    pub password: String,
    /// The new one.
    pub new: String,
    /// Whence the customer comes: wrong passwords are limited by it.
    pub client: IpAddr,
}

/// A customer who has signed in.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SignedIn {
    /// The new session.
    pub session: SessionToken,
    /// What the customer has.
    pub overview: Overview,
}

of_session! {
    /// Ends the session.
    SignOut;
    /// What the customer has.
    GetOverview;
    /// The customer's shares.
    GetPortfolio;
    /// The customer's open orders.
    GetOpenOrders;
    /// What the form of a new order needs: all securities.
    GetOrderEntry;
}

/// The customer's shares, with what they are worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Portfolio {
    /// What the customer has in all.
    pub overview: Overview,
    /// The holdings, by symbol.
    pub holdings: Vec<Valued>,
    /// When the oldest prices of their histories were recorded, milliseconds since 1970.
    pub history_since_ms: u64,
    /// The prices that they are worth.
    pub feed: Feed,
}

/// A holding with what it is worth.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Valued {
    /// The security, with its latest price.
    pub security: Security,
    /// Shares, those reserved for open orders to sell included.
    pub shares: i64,
    /// Shares that are reserved.
    pub reserved: i64,
    /// What they have cost.
    pub cost: Cents,
    /// What they are worth.
    pub worth: Cents,
    /// Prices of the last while, oldest first.
    pub history: Vec<Cents>,
}

/// How fresh the prices are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Feed {
    /// When the latest was recorded, milliseconds since 1970.
    pub as_of_ms: u64,
    /// No price has come for so long that the feed has stopped.
    pub stopped: bool,
}

/// Open orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OpenOrders {
    /// The orders, newest first.
    pub orders: Vec<Order>,
    /// There are more than are listed.
    pub more: bool,
    /// The prices that they wait for.
    pub feed: Feed,
}

/// The customer's completed orders.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetHistory {
    /// The session.
    pub session: SessionKey,
    /// Those before the order of this number; none: the newest.
    pub before: Option<i64>,
}

/// A page of completed orders.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct History {
    /// The orders, newest first.
    pub orders: Vec<Order>,
    /// There are older ones.
    pub more: bool,
}

/// What the form of a new order needs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct OrderEntry {
    /// Cash that can be spent.
    pub available: Cents,
    /// All securities, by symbol.
    pub securities: Vec<Security>,
    /// How fresh their prices are.
    pub feed: Feed,
}

/// Creates an order. The same order sent again is accepted once.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CreateOrder {
    /// The session.
    pub session: SessionKey,
    /// The order.
    pub order: NewOrder,
}

/// An order that was created, now or before.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Created {
    /// The order as it stands.
    pub order: Order,
    /// An order of this name was sent before with other values, and that one stands.
    pub differs: bool,
    /// Cash that can be spent now.
    pub available: Cents,
    /// How fresh the prices are that it waits for.
    pub feed: Feed,
}

/// Cancels an order. One that has ended stays as it is.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CancelOrder {
    /// The session.
    pub session: SessionKey,
    /// The number of the order.
    pub number: i64,
}

/// An order after an attempt to cancel it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cancelled {
    /// The order as it stands: cancelled, or it had ended before.
    pub order: Order,
}

/// The latest prices, for anybody.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetQuotes {}

/// The latest prices, and how fresh they are.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LiveQuotes {
    /// The prices.
    pub quotes: Quotes,
    /// How fresh they are.
    pub feed: Feed,
}

/// Adds a payment to the customer's cash. The same payment is added once, however often it
/// is sent. Whoever calls has made sure that it was paid.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credit {
    /// The customer, by the name that they sign in with.
    pub user: String,
    /// The payment's name at who took it: 1 to 100 printable ASCII characters.
    pub payment: String,
    /// The amount.
    pub amount: Cents,
}

/// A payment that was added, now or before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Credited {
    /// It had been added before.
    pub repeated: bool,
    /// Cash that the customer can spend now.
    pub available: Cents,
}

operations! {
    SignIn, "sign-in" => SignedIn;
    ChangePassword, "change-password" => Done;
    SignOut, "sign-out" => Done;
    GetOverview, "overview" => Overview;
    GetPortfolio, "portfolio" => Portfolio;
    GetOpenOrders, "open-orders" => OpenOrders;
    GetHistory, "history" => History;
    GetOrderEntry, "order-entry" => OrderEntry;
    CreateOrder, "create-order" => Created;
    CancelOrder, "cancel-order" => Cancelled;
    GetQuotes, "quotes" => LiveQuotes;
    Credit, "credit" => Credited;
}

printed_by!(SignIn: user);
printed_by!(ChangePassword);
