//! What is accepted once, however often it is sent: a [`form`] by its signed number, a request
//! of a program by its [`key`].
//!
//! A site whose customers give a name to what they send needs neither: the name is a
//! unique column of what is stored. [`Replay`](crate::replay::Replay) accepts messages once that
//! store nothing.

pub mod form;
pub mod key;
