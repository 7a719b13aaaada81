//! Admission: classify a connection, decide on it, queue new sessions.

pub mod classify;
pub mod companions;
pub mod decide;
pub mod entrance;
mod fair_queue;
pub mod handshake_context;
pub mod joined;
pub mod key_file;
pub mod names;
pub mod negotiation;
pub mod queue;
pub mod replays;
pub mod rotation;
mod sealed_value;
pub mod session_cookie;
pub mod sessions;
pub mod starting;
pub mod ticketer;
pub mod tickets;
pub mod turns;
pub mod waiting_token;
pub mod wake;
