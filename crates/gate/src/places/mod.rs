//! The places for open connections of one core: how many there are, what is reserved for
//! whom, and which connection gives way where they are scarce.
//!
//! Places are shared by address prefix. Nobody is limited while there are places; where
//! none is left, a connection of the prefix with the most makes room for one of a prefix
//! with fewer. So an address that takes all it can leaves others what they need, and a
//! crowd behind one address may use everything that nobody else wants.

mod allowance;
mod kind;
mod place;
mod prefix;
mod table;
mod tally;

pub use kind::PlaceKind;
pub use place::Place;
pub use prefix::{Prefix, PrefixLengths};
pub use table::{Full, Places};
