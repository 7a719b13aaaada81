//! Services between businesses, derived from TPC-App: seven of them, as JSON and as SOAP 1.2 from
//! one definition, on SQLite or PostgreSQL. Not comparable with results of TPC-App.
//!
//! | service | JSON | does |
//! | --- | --- | --- |
//! | NewCustomer | `POST /services/new-customer` | registers a business |
//! | ChangePaymentMethod | `POST /services/change-payment-method` | changes how it pays |
//! | CreateOrder | `POST /services/create-order` | orders, once for each reference |
//! | OrderStatus | `POST /services/order-status` | tells how far an order has come |
//! | NewProducts | `POST /services/new-products` | lists the newest items of a subject |
//! | ProductDetail | `POST /services/product-detail` | tells all about items, with pictures |
//! | ChangeItem | `POST /services/change-item` | changes an item that the business supplies |
//!
//! `POST /soap` takes all of them as envelopes, `GET /soap?wsdl` and `GET /openapi.json` describe
//! them. An order is stored with its first step in one transaction ([`fulfil`]).
//!
//! Source: TPC-App 1.3 for the services and what they touch; texts and code are our own.

pub mod fulfil;
#[cfg(feature = "fuzzing")]
pub mod fuzzing;
mod message;
mod options;
mod population;
mod prepare;
mod schema;
mod services;
mod site;
mod store;
mod web;

pub use options::Options;
pub use prepare::{Prepared, prepare};
pub use site::{Site, start};
