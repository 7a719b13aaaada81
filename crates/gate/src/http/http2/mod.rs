//! HTTP/2 to customers. The library `h2` reads frames, compresses heads and keeps windows; this
//! folder gives each stream its exchange and its deadlines, and the connection its own: how many
//! frames of which kind, how long an incomplete head, how long idle, how much is buffered, and
//! how it ends.

pub mod connection;
mod pacing;
mod stream;
mod wire;
