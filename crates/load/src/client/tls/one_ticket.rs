//! One ticket of TLS 1.3 for as many connections as want it.
//!
//! rustls gives a ticket out once, and it cannot be copied. But a connection whose
//! records somebody else decrypts, as a kernel does, is told by its owner which
//! tickets have come; and each time it is told of the same one, it makes it anew.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::ClientConfig;
use rustls::client::{ClientConnectionData, Resumption, Tls13ClientSessionValue};
use rustls::kernel::KernelConnection;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

use super::forger::Stock;
use super::secure::Secure;
use super::tickets::{OfConnection, Tickets};

/// A ticket, and the connection on which it came.
pub(crate) struct OneTicket {
    connection: Mutex<KernelConnection<ClientConnectionData>>,
    /// The server's message, without its head.
    message: Vec<u8>,
    /// Where rustls puts what it makes.
    made: Arc<Stock>,
}

impl OneTicket {
    /// Makes a full handshake for its sake, and waits for the first ticket.
    ///
    /// # Errors
    /// The handshake fails, or the server speaks TLS 1.2 or gives no ticket.
    pub(crate) async fn get(
        config: &ClientConfig,
        name: ServerName<'static>,
        tcp: TcpStream,
    ) -> io::Result<Self> {
        let made = Arc::<Stock>::default();
        let mut config = config.clone();
        config.resumption = Resumption::store(made.clone());
        let none = OfConnection::new(&Arc::new(Tickets::own()), false);
        let (secure, completed) = Secure::connect(Arc::new(config), name, none, tcp).await?;
        if completed.agreed.version() != "1.3" {
            let why = "the server chose TLS 1.2, whose sessions --tickets all shares";
            return Err(io::Error::other(why));
        }
        let (connection, message) = secure.into_ticket().await.map_err(|error| {
            if error.kind() == io::ErrorKind::UnexpectedEof {
                io::Error::other("the server closed the connection and gave no ticket")
            } else {
                error
            }
        })?;
        Ok(Self { connection: Mutex::new(connection), message, made })
    }

    /// The ticket once more; for rustls it came just now.
    pub(crate) fn again(&self) -> Option<Tls13ClientSessionValue> {
        // Locked until it is taken, so that there is never a second one.
        let mut connection = self.connection.lock().unwrap_or_else(PoisonError::into_inner);
        connection.handle_new_session_ticket(&self.message).ok()?;
        self.made.take()
    }
}

impl fmt::Debug for OneTicket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("OneTicket").finish_non_exhaustive()
    }
}
