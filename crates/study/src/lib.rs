//! What is special in a study: the capacity of anybody's site, what its operations and its TLS cost,
//! and what its customers do.

pub mod capacity;
pub mod ciphers;
pub mod live;
pub mod profile;
mod site;
pub mod tca;
