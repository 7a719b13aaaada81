//! One test that several machines share: agents wait, and a coordinator finds them, hands each a
//! shard and starts all at one instant.
//!
//! Pure: time is an argument, and packets are bytes. The caller carries them and keeps others from
//! writing them. Packets may be lost, repeated and late.

pub mod agent;
pub mod clock;
pub mod coordinator;
pub mod link;
pub mod packet;

#[cfg(test)]
mod tests;
