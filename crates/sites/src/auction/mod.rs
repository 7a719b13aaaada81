//! An auction site after RUBiS.
mod catalogue;
mod money;
mod options;
mod population;
mod prepare;
mod schema;
mod site;
mod store;
mod web;
mod when;
pub use options::Options;
pub use prepare::{Prepared, prepare};
pub use site::{Site, start};
