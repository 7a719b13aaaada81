//! One connection: its state, the exchange on it, and the transport below HTTP.

mod asked;
pub mod client;
pub mod deadlines;
pub mod delivery;
pub mod exchange;
pub mod interim;
pub mod own_session;
pub mod state;
pub mod transport;
mod upload;
