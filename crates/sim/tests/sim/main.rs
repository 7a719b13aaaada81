//! The simulator: its catalogue, its tables, and its arithmetic.

mod catalogue;
mod costs;
mod drawn;
mod fleet;
mod handshake_kinds;
mod just_above;
mod out_of_view;
mod reference;
mod regression;
mod sustainable;
