//! A card processor: a simulated one, for the sites that take money.
//!
//! Merchants create payments over an HTTPS interface, capture and refund them, and learn by
//! signed webhooks what has happened. Customers type their cards into a form of the
//! processor's own. What a card does follows from its number (`issuer::TEST_CARDS`), and other
//! cards than test cards are refused. `docs/card.md` describes the interface.
//!
//! - A request under an idempotency key is carried out once, in one transaction with its
//!   events and its answer: a crash at any time loses and doubles nothing.
//! - No card number is stored, logged or sent: only brand, last four digits and a keyed
//!   fingerprint.
//!
//! [`client`] is the merchant's side.

mod address;
mod amount;
mod api;
mod app;
mod background;
mod checkout;
pub mod client;
mod clock;
mod details;
mod issuer;
mod keys;
mod merchants;
mod number;
mod operations;
mod options;
mod resource;
mod schema;
mod signature;
mod site;
mod state;
mod store;
mod view;
mod webhooks;

pub use address::read as read_url;
pub use amount::{Currency, MOST as MOST_AMOUNT};
pub use clock::Clock;
pub use details::{Card, Cvc, Expiry};
pub use issuer::{Behaviour, DeclineCode, TEST_CARDS, TestCard};
pub use keys::{ApiKey, Keys};
pub use number::looks_like_card;
pub use number::{Brand, CardNumber, NumberMistake};
pub use options::{ForMerchant, Limits, Options};
pub use resource::is_reference;
pub use resource::{Cancellation, CardSummary, Event, EventKind, Movement, Payment};
pub use signature::{Rejected, SIGNATURE, WebhookSecret};
pub use site::{Processor, Site, processor, start};
pub use state::Status;
