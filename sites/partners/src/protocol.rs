//! What the partners are asked, and what they answer: JSON over a link.
//!
//! Refusals are a [`Problem`](tidegate_sitekit::Problem) with a status of 400 to 499: the same
//! request has the same one again. Any other status says that the partner has failed, and the
//! request can be repeated under its key.

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use tidegate_sitekit::named;

/// Most bytes of a key.
pub const LONGEST_KEY: usize = 64;
/// Most pieces that are ordered of the inventory partner at once.
pub const MOST_PIECES: i64 = 1_000_000;

/// A role of the partners. Its name is that of its operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// Validates purchase orders.
    Validation,
    /// Supplies goods.
    Inventory,
    /// Takes notice of shipments.
    Shipment,
}

named!(Role: Validation = "validation", Inventory = "inventory", Shipment = "shipment");

/// A request of one role.
pub trait Call: Serialize + DeserializeOwned + Send + Sync + 'static {
    /// Who is asked.
    const ROLE: Role;
    /// What is answered.
    type Answer: Serialize + DeserializeOwned + Send + 'static;

    /// Names the request for ever: 1 to 64 letters, digits, `-`, `.` and `_`.
    fn key(&self) -> &str;

    /// What is wrong with it: the field, and what it must be.
    fn mistake(&self) -> Option<(&'static str, &'static str)>;
}

/// Asks whether a purchase order is good for its amount.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PurchaseOrder {
    /// The key.
    pub key: String,
    /// The customer's number.
    pub customer: i64,
    /// The amount in cents, above 0.
    pub amount: i64,
}

/// The partner's decision on a purchase order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Decision {
    /// It is good.
    pub accepted: bool,
    /// The partner's name for the decision.
    pub reference: String,
}

/// Orders pieces of an item.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Replenishment {
    /// The key.
    pub key: String,
    /// The item's number.
    pub item: i64,
    /// How many pieces, 1 to [`MOST_PIECES`].
    pub quantity: i64,
}

/// Pieces that are delivered.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Delivery {
    /// How many.
    pub quantity: i64,
    /// The partner's name for the delivery.
    pub reference: String,
}

/// Says that the goods of an order are on their way.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Shipment {
    /// The key.
    pub key: String,
    /// The order's number.
    pub order: i64,
    /// How many pieces, 1 to [`MOST_PIECES`].
    pub pieces: i64,
}

/// The carrier's receipt.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Receipt {
    /// How many pieces.
    pub pieces: i64,
    /// The number under which the parcel is tracked.
    pub reference: String,
}

const A_KEY: (&str, &str) =
    ("key", "must be 1 to 64 letters, digits, `-`, `.` and `_`, such as order-17");
const PIECES: &str = "must be 1 to 1000000 pieces";

impl Call for PurchaseOrder {
    const ROLE: Role = Role::Validation;
    type Answer = Decision;

    fn key(&self) -> &str {
        &self.key
    }

    fn mistake(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if !is_key(&self.key) => Some(A_KEY),
            () if self.amount < 1 => Some(("amount", "must be at least 1 cent")),
            () => None,
        }
    }
}

impl Call for Replenishment {
    const ROLE: Role = Role::Inventory;
    type Answer = Delivery;

    fn key(&self) -> &str {
        &self.key
    }

    fn mistake(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if !is_key(&self.key) => Some(A_KEY),
            () if !(1..=MOST_PIECES).contains(&self.quantity) => Some(("quantity", PIECES)),
            () => None,
        }
    }
}

impl Call for Shipment {
    const ROLE: Role = Role::Shipment;
    type Answer = Receipt;

    fn key(&self) -> &str {
        &self.key
    }

    fn mistake(&self) -> Option<(&'static str, &'static str)> {
        match () {
            () if !is_key(&self.key) => Some(A_KEY),
            () if !(1..=MOST_PIECES).contains(&self.pieces) => Some(("pieces", PIECES)),
            () => None,
        }
    }
}

/// Whether this names a request.
pub fn is_key(text: &str) -> bool {
    let of_key = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
    (1..=LONGEST_KEY).contains(&text.len()) && text.bytes().all(of_key)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_names_its_field_at_fault() {
        let order = |key: &str, amount| PurchaseOrder { key: key.into(), customer: 1, amount };
        assert_eq!(order("order-17", 1).mistake(), None);
        for key in ["", "a b", "ä", "a|b", &"k".repeat(65)] {
            assert_eq!(order(key, 1).mistake(), Some(A_KEY), "{key}");
        }
        assert_eq!(order("a", 0).mistake().unwrap().0, "amount");
        for quantity in [0, -1, MOST_PIECES + 1] {
            let replenishment = Replenishment { key: "a".into(), item: 1, quantity };
            assert_eq!(replenishment.mistake().unwrap().0, "quantity");
            let shipment = Shipment { key: "a".into(), order: 1, pieces: quantity };
            assert_eq!(shipment.mistake().unwrap().0, "pieces");
        }
    }
}
