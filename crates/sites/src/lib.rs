//! The reference sites and their database layer.
