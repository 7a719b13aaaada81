//! Tickets as the TLS library requests them during a handshake.

use crate::admission::handshake_context::HandshakeContext;
use crate::admission::tickets::{Claims, GRACE, Keyring};
use crate::telemetry::clock::unix_now;
use rustls::server::ProducesTickets;
use std::sync::Arc;

/// Most bytes of the TLS library's part of a ticket. It contains the client's certificates,
/// and a hello with a larger ticket would exceed the limit on hellos.
const MOST_STATE: usize = 8 << 10;

/// Seals and opens tickets for the TLS library.
#[derive(Debug)]
pub struct Ticketer {
    /// The keys.
    pub keyring: Arc<Keyring>,
    /// Whether it opens tickets; it always seals.
    pub opens: bool,
    /// What its tickets state about clients' certificates. It opens no others.
    pub client_auth: u64,
}

impl ProducesTickets for Ticketer {
    fn enabled(&self) -> bool {
        true
    }

    fn lifetime(&self) -> u32 {
        u32::try_from(self.keyring.lifetime_s()).unwrap_or(u32::MAX)
    }

    fn encrypt(&self, plain: &[u8]) -> Option<Vec<u8>> {
        let HandshakeContext { session, holder, began, uses, terms, server_name, .. } =
            HandshakeContext::of_this_thread()?;
        if plain.len() > MOST_STATE {
            return None;
        }
        let client_auth = self.client_auth;
        let issued = unix_now();
        let claims =
            Claims { session, holder, began, issued, uses, terms, server_name, client_auth };
        self.keyring.seal(&claims, plain)
    }

    fn decrypt(&self, cipher: &[u8]) -> Option<Vec<u8>> {
        if !self.opens {
            return None;
        }
        // The clock may have moved on since the hello was classified: a ticket that was
        // valid then stays valid until the handshake is over.
        let classified = unix_now().saturating_sub(GRACE.as_secs());
        let opened = self.keyring.open(cipher, classified).ok()?;
        (opened.claims.client_auth == self.client_auth).then_some(opened.state)
    }
}
