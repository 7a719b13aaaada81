//! Services between businesses, derived from TPC-App.

pub mod fulfil;
