//! Limits that are not configurable.

/// Most sessions remembered, on all cores together: about 100 bytes each.
pub const SESSIONS: usize = 1_000_000;
