//! Limits that are not configurable.

/// Most sessions remembered, on all cores together: about 100 bytes each.
pub const SESSIONS: usize = 1_000_000;

/// Handshakes with a ticket that the clients of one address prefix may begin on a core
/// without finishing them, at once.
pub const UNPROVEN_AT_ONCE: u32 = 100;
/// The same per second, when those are used up: half a percent of a core, at 100 µs each.
pub const UNPROVEN_PER_SECOND: u32 = 50;

/// Most hellos with a good ticket that a core remembers, to detect copies: about 20 bytes
/// each.
pub const HELLOS_REMEMBERED: usize = 65_536;
