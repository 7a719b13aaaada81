//! Who is let in: classify, decide, queue.

pub mod classify;
pub mod decide;
pub mod dispatcher;
pub mod queue;
pub mod sessions;
pub mod tickets;
