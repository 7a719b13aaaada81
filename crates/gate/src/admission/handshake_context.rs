//! What the TLS library cannot be told: which connection's handshake it works on.
//!
//! Its ticketer and its hash functions are called without anything of the connection, and
//! a configuration for each connection would not help the hash functions, which are static.
//! So the context of a handshake is a thread-local for the time of one step of it. A step
//! does not wait, and a core has one thread: no other handshake can come between.

use crate::admission::negotiation::Agreement;
use crate::admission::tickets::{Claims, Holder, SessionId, Terms};
use std::cell::Cell;
use tidegate_hello::UnusableName;

/// The handshake of a connection: the session that it is for, as its next ticket will name
/// it.
#[derive(Clone, Copy, Debug)]
pub struct HandshakeContext {
    /// The session.
    pub session: SessionId,
    /// Who will hold that ticket.
    pub holder: Holder,
    /// When the session began, in seconds since 1970.
    pub began: u64,
    /// Connections of the session before the next one: what its ticket will contain.
    pub uses: u32,
    /// What the handshake will agree on: the certificate is chosen by it.
    pub agreed: Agreement,
    /// The terms of its tickets.
    pub terms: Terms,
    /// Hash of the requested server name.
    pub server_name: u64,
    /// The name if it is unusable, and hidden from the TLS library.
    pub unusable_name: Option<UnusableName>,
}

thread_local! {
    static CURRENT: Cell<Option<HandshakeContext>> = const { Cell::new(None) };
}

/// The thread works on a handshake until this is dropped, also by a panic.
struct ThreadScope;

impl Drop for ThreadScope {
    fn drop(&mut self) {
        CURRENT.set(None);
    }
}

impl HandshakeContext {
    /// That of a connection with a ticket of these claims: the next ticket is on the same terms.
    pub fn resumed(
        claims: &Claims,
        holder: Holder,
        agreed: Agreement,
        unusable_name: Option<UnusableName>,
    ) -> Self {
        Self {
            session: claims.session,
            holder,
            began: claims.began,
            uses: claims.uses.saturating_add(1),
            agreed,
            terms: claims.terms,
            server_name: claims.server_name,
            unusable_name,
        }
    }

    /// That of the handshake on which this thread works.
    pub fn of_this_thread() -> Option<Self> {
        CURRENT.get()
    }

    /// Runs a step of this handshake.
    pub fn scope<T>(&self, step: impl FnOnce() -> T) -> T {
        CURRENT.set(Some(*self));
        let _scope = ThreadScope;
        step()
    }
}
