//! A shop as a benchmark: nine pages, prices by postcode zone, baskets, and orders that are paid
//! by card, on SQLite or PostgreSQL, in three sizes and three builds.
//!
//! Source: the commerce site of the capacity study of Site Server (1999, "Capacity study of a
//! commerce site"): its operations and their names (department, SKU set, product information
//! with the price by postcode, search, basket, checkout). All code and texts are our own.
//!
//! | operation | request |
//! | --- | --- |
//! | home | `GET /` |
//! | department | `GET /departments/{department}` |
//! | set (of products) | `GET /sets/{set}`, `GET /sets/{set}/{page}` |
//! | product | `GET /products/{product}` |
//! | zone | `GET`, `POST /zone` |
//! | search | `GET /search?q=WORDS&page=N` |
//! | basket | `GET`, `POST /basket`, `POST /basket/lines` |
//! | checkout | `GET`, `POST /checkout`: the address, then tax and shipping; `POST /orders` |
//! | order | `GET /orders/{order}`, `GET /orders/returned?order=N` from the card form |
//! | account | `GET /account`, `POST /account/sign-in`, `/register`, `/sign-out` |
//!
//! The browse pages (home, departments, sets, products) follow from their address and the cookie
//! `zone` alone, in every [`Build`]: so they can be kept, and rendered ahead of time. Stock is
//! taken in the transaction that stores an order, and goes back if the order is not paid.

mod catalogue;
mod options;
mod payments;
mod population;
mod prepare;
mod price;
mod schema;
mod site;
mod store;
mod web;
mod zones;

pub use options::{Build, Options, Size};
pub use payments::RETURNED;
pub use prepare::{Prepared, prepare, set_price};
pub use site::{Site, start};
