//! What the requests of one core share.

use std::sync::{Arc, OnceLock};
use std::time::Duration;

use aws_lc_rs::hmac;
use tokio::sync::Notify;

use crate::clock::Clock;
use crate::keys::Keys;
use crate::merchants::Merchants;
use crate::options::Limits;
use tidegate_sitekit::database::Database;
use tidegate_sitekit::login_limit::LoginLimit;
use tidegate_sitekit::{Result, random};

/// The state of one core.
#[derive(Clone, Debug)]
pub struct App(Arc<State>);

/// Content of [`App`].
#[derive(Debug)]
pub struct State {
    /// The core's database.
    pub database: Database,
    /// What all cores share.
    pub shared: Arc<Shared>,
}

/// What all cores share.
#[derive(Debug)]
pub struct Shared {
    /// API keys and the key of fingerprints.
    pub keys: Keys,
    /// What is registered for each merchant.
    pub merchants: Merchants,
    /// The time of day.
    pub clock: Clock,
    /// How long things are kept and tried.
    pub limits: Limits,
    /// How long a slow card takes.
    pub slow_card: Duration,
    /// URL of the processor without a path, once it listens.
    pub public_url: OnceLock<String>,
    /// Limits requests with wrong API keys.
    pub login_limit: LoginLimit,
    /// Told whenever there is something to deliver.
    pub changed: Notify,
    /// Told whenever a payment will soon change by itself.
    pub due: Notify,
}

impl App {
    /// The state of a core.
    pub fn new(database: Database, shared: Arc<Shared>) -> Self {
        Self(Arc::new(State { database, shared }))
    }

    /// The core's database.
    pub fn database(&self) -> &Database {
        &self.0.database
    }

    /// A keyed fingerprint of several texts, as text.
    pub fn fingerprint(&self, parts: &[&[u8]]) -> String {
        let mut context = hmac::Context::with_key(self.keys.fingerprints());
        for part in parts {
            context.update(&part.len().to_le_bytes());
            context.update(part);
        }
        hex(context.sign().as_ref())
    }

    /// URL of the card form of a payment.
    pub fn checkout_url(&self, checkout: &str) -> String {
        format!("{}/checkout/{checkout}", self.public_url.get().map_or("", String::as_str))
    }
}

impl std::ops::Deref for App {
    type Target = Shared;

    fn deref(&self) -> &Shared {
        &self.0.shared
    }
}

/// A new id: the prefix and 128 random bits.
///
/// # Errors
/// The system has no random bytes.
pub fn new_id(prefix: &str) -> Result<String> {
    Ok(format!("{prefix}_{}", hex(&*random::bytes::<16>()?)))
}

/// Whether [`new_id`] makes such ids.
pub fn is_id(text: &str) -> bool {
    text.split_once('_').is_some_and(|(prefix, random)| {
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let small = prefix.bytes().all(|byte| byte.is_ascii_lowercase());
        small && !prefix.is_empty() && random.len() == 32 && random.bytes().all(digit)
    })
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |text, byte| text + &format!("{byte:02x}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_plain_and_nothing_else_is_one() {
        let id = new_id("pay").unwrap();
        assert!(is_id(&id), "{id}");
        let of = |end: &str| format!("{}{end}", &id[..id.len() - end.len()]);
        let others = [of("\0"), of("\n"), of("G"), of("ä"), of("%"), format!("{id}0")];
        let others = others.iter().map(String::as_str);
        for other in others.chain(["", "\0", "x", "pay_", "pay_0", &id[3..]]) {
            assert!(!is_id(other), "{other:?}");
        }
    }
}
