//! The services as programs that no one here wrote call them, and what they refuse.

mod refused;
mod strangers;
mod world;
