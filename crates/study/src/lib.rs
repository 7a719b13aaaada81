//! What is special in a study: the capacity of anybody's site.

pub mod capacity;
