//! The seven services: their names, their messages, and how fast they are to answer.
//!
//! Source: TPC-App 1.3, the services that it exposes; the shares of the mix and the limits of 2 s
//! are from memory of its specification. Not comparable with its results.

mod describe;
mod messages;

pub use describe::{SOAP, openapi, wsdl};
pub use messages::*;

use crate::message::{Message, Record};

/// A service.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Service {
    /// A new business becomes a customer.
    NewCustomer,
    /// A customer pays in another way from now on.
    ChangePaymentMethod,
    /// A customer orders.
    CreateOrder,
    /// How far an order has come.
    OrderStatus,
    /// The newest items of a subject.
    NewProducts,
    /// All about some items, with their pictures.
    ProductDetail,
    /// A supplier changes what it supplies.
    ChangeItem,
}

/// Milliseconds that nine of ten answers may take.
pub const LIMIT_MS: u64 = 2000;

impl Service {
    /// All of them, in the order of the specification's status reports.
    pub const ALL: [Self; 7] = [
        Self::NewCustomer,
        Self::ChangePaymentMethod,
        Self::CreateOrder,
        Self::OrderStatus,
        Self::NewProducts,
        Self::ProductDetail,
        Self::ChangeItem,
    ];

    /// Its name, as SOAP's operation and as the operation's id of OpenAPI.
    pub fn name(self) -> &'static str {
        match self {
            Self::NewCustomer => "NewCustomer",
            Self::ChangePaymentMethod => "ChangePaymentMethod",
            Self::CreateOrder => "CreateOrder",
            Self::OrderStatus => "OrderStatus",
            Self::NewProducts => "NewProducts",
            Self::ProductDetail => "ProductDetail",
            Self::ChangeItem => "ChangeItem",
        }
    }

    /// Its path for JSON.
    pub fn path(self) -> &'static str {
        match self {
            Self::NewCustomer => "/services/new-customer",
            Self::ChangePaymentMethod => "/services/change-payment-method",
            Self::CreateOrder => "/services/create-order",
            Self::OrderStatus => "/services/order-status",
            Self::NewProducts => "/services/new-products",
            Self::ProductDetail => "/services/product-detail",
            Self::ChangeItem => "/services/change-item",
        }
    }

    /// What it does, in a sentence.
    pub fn about(self) -> &'static str {
        match self {
            Self::NewCustomer => "Registers a business and issues its token; needs none itself.",
            Self::ChangePaymentMethod => "Changes how the calling business pays.",
            Self::CreateOrder => {
                "Orders items for the calling business; the same reference orders once."
            }
            Self::OrderStatus => "Tells how far an order of the calling business has come.",
            Self::NewProducts => "Lists the newest items of a subject.",
            Self::ProductDetail => "Tells all about some items, with their pictures.",
            Self::ChangeItem => {
                "Changes price and picture of an item that the calling business supplies."
            }
        }
    }

    /// What it is asked.
    pub fn request(self) -> &'static Record {
        match self {
            Self::NewCustomer => &NewCustomer::RECORD,
            Self::ChangePaymentMethod => &ChangePaymentMethod::RECORD,
            Self::CreateOrder => &CreateOrder::RECORD,
            Self::OrderStatus => &OrderStatus::RECORD,
            Self::NewProducts => &NewProducts::RECORD,
            Self::ProductDetail => &ProductDetail::RECORD,
            Self::ChangeItem => &ChangeItem::RECORD,
        }
    }

    /// What it answers.
    pub fn answer(self) -> &'static Record {
        match self {
            Self::NewCustomer => &NewCustomerAnswer::RECORD,
            Self::ChangePaymentMethod => &ChangePaymentMethodAnswer::RECORD,
            Self::CreateOrder => &CreateOrderAnswer::RECORD,
            Self::OrderStatus => &OrderStatusAnswer::RECORD,
            Self::NewProducts => &NewProductsAnswer::RECORD,
            Self::ProductDetail => &ProductDetailAnswer::RECORD,
            Self::ChangeItem => &ChangeItemAnswer::RECORD,
        }
    }

    /// Whether the caller must be a customer.
    pub fn is_for_customers(self) -> bool {
        self != Self::NewCustomer
    }

    /// The service of a name.
    pub fn of_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|it| it.name() == name)
    }
}
