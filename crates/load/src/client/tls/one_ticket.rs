//! One TLS 1.3 ticket for any number of handshakes.
//!
//! rustls returns a ticket once, and tickets cannot be copied. But rustls also lets another
//! party decrypt the records of a connection (as for kernel TLS), and that party passes the
//! NewSessionTicket messages to rustls. Passing the same message again makes the same
//! ticket again.

use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::{ClientConnectionData, Tls13ClientSessionValue};
use rustls::kernel::KernelConnection;

use super::stock::TicketStock;

/// A ticket with the connection on which it was received.
pub(crate) struct OneTicket {
    connection: Mutex<KernelConnection<ClientConnectionData>>,
    /// The body of the NewSessionTicket message.
    message: Vec<u8>,
    /// Store into which rustls puts the tickets of the connection.
    stock: Arc<TicketStock>,
}

impl OneTicket {
    pub(super) fn new(
        connection: KernelConnection<ClientConnectionData>,
        message: Vec<u8>,
        stock: Arc<TicketStock>,
    ) -> Self {
        Self { connection: Mutex::new(connection), message, stock }
    }

    /// A new copy of the ticket; rustls counts its age from now.
    pub(crate) fn copy(&self) -> Option<Tls13ClientSessionValue> {
        // The lock is held until the copy is taken, so the store has at most one.
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.handle_new_session_ticket(&self.message).ok()?;
        self.stock.take()
    }
}

impl fmt::Debug for OneTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneTicket").finish_non_exhaustive()
    }
}
