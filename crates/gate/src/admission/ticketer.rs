//! Tickets as the TLS library requests them during a handshake.

use crate::admission::tickets::{Claims, GRACE, Keyring, SessionId, Terms};
use crate::telemetry::clock::unix_now;
use rustls::server::ProducesTickets;
use std::cell::Cell;
use std::sync::Arc;
use tidegate_hello::UnusableName;

/// The session for which the handshake that runs on this thread is. The TLS library
/// passes nothing about the connection to its ticketer, so this is set around every step
/// of a handshake (see [`TicketHolder::during`]).
#[derive(Clone, Copy, Debug)]
pub struct TicketHolder {
    /// The session.
    pub session: SessionId,
    /// When the session began, in seconds since 1970.
    pub began: u64,
    /// Connections of the session before the next one: what its ticket will contain.
    pub uses: u32,
    /// What the handshake will agree on.
    pub terms: Terms,
    /// Hash of the requested server name.
    pub server_name: u64,
    /// The name if it is unusable, and hidden from the TLS library.
    pub unusable_name: Option<UnusableName>,
}

thread_local! {
    static HOLDER: Cell<Option<TicketHolder>> = const { Cell::new(None) };
}

impl TicketHolder {
    /// The one whose handshake runs on this thread.
    pub fn current() -> Option<Self> {
        HOLDER.get()
    }

    /// Runs a step of this session's handshake.
    pub fn during<T>(&self, step: impl FnOnce() -> T) -> T {
        struct Clear;
        impl Drop for Clear {
            fn drop(&mut self) {
                HOLDER.set(None);
            }
        }
        HOLDER.set(Some(*self));
        let _clear = Clear;
        step()
    }
}

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
        let TicketHolder { session, began, uses, terms, server_name, .. } = HOLDER.get()?;
        if plain.len() > MOST_STATE {
            return None;
        }
        let client_auth = self.client_auth;
        let issued = unix_now();
        let claims = Claims { session, began, issued, uses, terms, server_name, client_auth };
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
