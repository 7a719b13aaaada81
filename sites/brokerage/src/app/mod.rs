//! The application tier: the rules of the brokerage. It signs customers in, checks orders,
//! feeds prices, carries orders out when their price is reached, and has the card processor take
//! deposits. It keeps nothing: all that lasts is in the data tier, so several of these may run,
//! of which one at a time feeds prices and matches orders, and one works off the outbox of
//! deposits, each under a lease of the data tier.

mod audit;
mod deposits;
mod feed;
mod matcher;
mod options;
mod orders;
mod password;
mod pay_in;
mod reads;
mod service;
mod sign_in;

pub use deposits::RETURNED;
pub use feed::Source;
#[cfg(feature = "fuzzing")]
pub use feed::read_ticks;
pub use options::Options;
pub use service::start;
