//! One connection from its first byte to its end.

pub mod deadlines;
pub mod life;
pub mod transport;
