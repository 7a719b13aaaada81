//! What the tiers say to each other. An operation is a request with an answer, both JSON:
//! [`front`] are those of the web tier to the application tier, [`back`] those of the
//! application tier to the data tier. Both ends read with these types, and unknown fields
//! are errors.
//!
//! A status of 400 to 499 has a [`Problem`] in place of the answer, one of 500 and above
//! an [`Outage`].

pub mod back;
pub mod deposits;
pub mod front;
mod name;
mod order;
mod problem;

pub use deposits::{Deposit, DepositReason, DepositState};
pub use name::{DepositId, OrderId};
pub use order::{Kind, NewOrder, Order, Reason, Side, State};
pub use problem::{Outage, signed_out};

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use tidegate_sitekit::money::Cents;
pub(crate) use tidegate_sitekit::numbered;
pub use tidegate_sitekit::session::{SessionKey, SessionToken};
pub use tidegate_sitekit::{Mistake, Problem};

/// A request that has an answer.
pub trait Operation: Serialize + DeserializeOwned + Send {
    /// The last part of its path.
    const NAME: &'static str;
    /// Its answer.
    type Answer: Serialize + DeserializeOwned + Send;
}

/// Makes operations of requests: `Request, "name" => Answer`.
macro_rules! operations {
    ($($request:ty, $name:literal => $answer:ty;)+) => {
        $(impl $crate::protocol::Operation for $request {
            const NAME: &'static str = $name;
            type Answer = $answer;
        })+
    };
}
pub(crate) use operations;

/// Requests of a session that have nothing but the session.
macro_rules! of_session {
    ($($(#[$doc:meta])+ $name:ident;)+) => {
        $(
            $(#[$doc])+
            #[derive(Clone, Debug, Serialize, Deserialize)]
            #[serde(deny_unknown_fields)]
            pub struct $name {
                /// The session.
                pub session: SessionKey,
            }
        )+
    };
}
pub(crate) use of_session;

/// Asks a tier and those after it how they are.
#[derive(Clone, Copy, Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct GetHealth {}

/// How a tier is. It names no machine and no cause: anybody on the network may ask.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Health {
    /// Its name.
    pub tier: String,
    /// It and all after it can serve.
    pub ok: bool,
    /// The tier after it; none is known after one that cannot be reached.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub next: Option<Box<Health>>,
}

operations! {
    GetHealth, "health" => Health;
}

/// Nothing but that it was done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Done {}

/// What the customer has, for the main page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Overview {
    /// The customer's name.
    pub name: String,
    /// The name that they sign in with.
    pub user: String,
    /// Cash that can be spent.
    pub available: Cents,
    /// Cash that is reserved for open orders to buy.
    pub reserved: Cents,
    /// What the shares are worth at the latest prices.
    pub shares_worth: Cents,
    /// Open orders.
    pub open_orders: i64,
}

/// A security with its latest price.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Security {
    /// Its symbol.
    pub symbol: String,
    /// The company.
    pub name: String,
    /// The latest price of a share.
    pub price: Cents,
}

/// When prices were recorded, by the clock of the data tier alone: how old they are does not
/// depend on another machine's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Recorded {
    /// The moment, milliseconds since 1970.
    pub at_ms: u64,
    /// How long ago that was, milliseconds.
    pub age_ms: u64,
}

impl Recorded {
    /// What was recorded at `at_ms`, seen at `now_ms`.
    pub fn seen(at_ms: u64, now_ms: u64) -> Self {
        Self { at_ms, age_ms: now_ms.saturating_sub(at_ms) }
    }
}

/// The latest prices.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Quotes {
    /// The number of the feed's tick, 0 before the first.
    pub tick: i64,
    /// When the tick was recorded.
    pub recorded: Recorded,
    /// Symbol and price, in the order of the symbols.
    pub prices: Vec<(String, Cents)>,
}

#[cfg(test)]
mod tests {
    use super::*;

    const PAGE: &str = include_str!("../../../../docs/brokerage-protocol.md");
    const SOURCES: [&str; 5] = [
        include_str!("mod.rs"),
        include_str!("front.rs"),
        include_str!("back.rs"),
        include_str!("deposits/front.rs"),
        include_str!("deposits/back.rs"),
    ];

    #[test]
    fn every_operation_has_a_row_in_its_documentation() {
        let lines = SOURCES.iter().flat_map(|source| source.lines().map(str::trim));
        let names: Vec<&str> = lines
            .filter(|line| !line.starts_with("//"))
            .filter_map(|line| line.split_once(", \"")?.1.split_once("\" => "))
            .map(|(name, _)| name)
            .collect();
        assert!(names.len() > 40, "{names:?}");
        for name in names {
            assert!(PAGE.contains(&format!("\n| `/{name}` |")), "{name}");
        }
    }

    #[test]
    fn the_documented_example_is_one() {
        let blocks: Vec<&str> =
            PAGE.split("```json\n").skip(1).filter_map(|rest| rest.split("```").next()).collect();
        let [request, answer, refusal] = blocks[..] else { panic!("{blocks:?}") };
        let request: front::CreateOrder = serde_json::from_str(request).unwrap();
        let answer: front::Created = serde_json::from_str(answer).unwrap();
        assert_eq!(answer.order.symbol, request.order.symbol);
        let refusal: Problem = serde_json::from_str(refusal).unwrap();
        assert_eq!((refusal.status, refusal.mistakes.len()), (422, 1));
    }
}
