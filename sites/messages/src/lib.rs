//! The message service: a small service whose messages can be secured one by one, for
//! comparison with security of the connection.
//!
//! A request carries an [`Operation`] and a payload; the answer is a message of the same
//! kind. Both are plain JSON, or protected in one of four [`formats`](Format) by a
//! [`Channel`], in the clear or behind HTTPS. A [`Receiver`] decides what is accepted: the
//! right parties, a fresh time, each message once.
//!
//! Where no format allows more than one way to write a message, nothing but that way is
//! accepted: a message is refused before its content is used, and the sender is not told why.

mod channel;
mod formats;
mod keys;
mod message;
mod options;
mod receiver;
mod refused;
mod service;
mod site;
mod wire;

pub use channel::Channel;
pub use formats::Format;
#[cfg(any(test, feature = "fuzzing"))]
pub use formats::Layer;
pub use keys::{Keys, Party};
pub use message::{Id, MOST_PAYLOAD, Message, Operation};
pub use options::Options;
pub use receiver::Receiver;
pub use refused::Refused;
pub use service::{Counters, PATH};
pub use site::{Site, start};
pub use tidegate_sitekit::replay::{FUTURE, WINDOW};
pub use tidegate_sitekit::tls::{Tls, TlsVersion};
pub use tidegate_sitekit::when::now_ms;
pub use wire::{Scene, Wire};
