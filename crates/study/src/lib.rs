//! What is special in a study: the capacity of anybody's site, and what its customers do.

pub mod capacity;
pub mod profile;
mod site;
