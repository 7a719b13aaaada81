//! A gate takes the place of another: listening sockets, ticket keys, known sessions and what
//! the controller has learned go from one process to the next over a unix socket.
//!
//! The gate in service sends everything and goes on. The next one starts with it, and says so
//! when all its cores accept connections. Only then does the first one stop accepting, and
//! drain. The listening sockets are the same for both, so no connection that waits in their
//! queues is lost. If the next one fails before, the first one stays in service.

pub(crate) mod door;
pub(crate) mod giver;
pub(crate) mod inherited;
mod wire;

pub use door::knock;
pub use giver::{Error, Service};
pub use inherited::Inherited;

use serde::{Deserialize, Serialize};
use std::time::Duration;

/// Version of what is handed over; another one is refused.
const FORMAT: u32 = 1;
/// Within this time the next gate has started, or it has failed.
const START_DEADLINE: Duration = Duration::from_secs(60);
/// Within this time the other process sends or reads what it has ready.
const STEP_DEADLINE: Duration = Duration::from_secs(10);

/// The parts, by their kinds. Kinds that are not known are skipped.
mod part {
    /// What follows, as JSON; sockets come after it.
    pub const HEADER: u8 = 1;
    /// Ticket keys, as in their file.
    pub const KEYS: u8 = 2;
    /// What the controller has learned, as JSON.
    pub const LEARNED: u8 = 3;
    /// Active sessions: their identifiers of 16 bytes.
    pub const SESSIONS: u8 = 4;
    /// There is no more.
    pub const END: u8 = 5;
    /// The next gate accepts connections: its process id, as JSON.
    pub const READY: u8 = 6;
    /// The gate before accepts no more: the places in its waiting room that were used, again.
    pub const DRAINING: u8 = 7;
    /// Places in the waiting room that were used; see
    /// [`WaitingRoom::used`](tidegate_control::waiting_room::WaitingRoom::used).
    pub const USED_PLACES: u8 = 8;
    /// Share of the service that a gate of a fleet has, 0 to 1, as JSON.
    pub const SHARE: u8 = 9;
    /// Whether the service has closed the line of the waiting room, as JSON; see
    /// [`Closing`](tidegate_control::waiting_room::Closing).
    pub const CLOSING: u8 = 10;
    /// By how many milliseconds the waiting room's clock is ahead of the system's, as JSON.
    pub const ROOM_CLOCK: u8 = 11;
}

/// What a listening socket is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Role {
    /// Customers over TLS.
    Tls,
    /// Customers over plain HTTP.
    Clear,
    /// Customers who are led to https.
    Redirect,
    /// The admin pages.
    Admin,
    /// Gates that take this one's place.
    Handover,
    /// What another version knows.
    #[serde(other)]
    Unknown,
}

#[derive(Serialize, Deserialize)]
struct Header {
    format: u32,
    /// Of the gate in service.
    version: String,
    pid: u32,
    /// The sockets that follow, in their order.
    sockets: Vec<Role>,
}

#[derive(Serialize, Deserialize)]
struct Ready {
    pid: u32,
}
