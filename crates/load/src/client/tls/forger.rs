//! Forged tickets: issued by a server in memory, well-formed, but not decryptable by the
//! target.

use std::fmt;
use std::io;
use std::sync::Arc;

use rustls::client::Resumption;
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::{ClientConfig, ClientConnection, ConnectionCommon, ServerConfig, ServerConnection};

use super::stock::TicketStock;
use super::tickets::Tickets;

/// Tickets per handshake.
const BATCH: usize = 64;

/// Makes tickets that the target cannot decrypt.
pub(crate) struct TicketForger {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
    name: ServerName<'static>,
    stock: Arc<TicketStock>,
}

impl TicketForger {
    /// For customers with these settings, which must accept any certificate and
    /// offer TLS 1.3.
    ///
    /// # Errors
    /// Why no ticket can be had.
    pub(crate) fn new(
        mut client: ClientConfig,
        name: &ServerName<'static>,
    ) -> Result<Self, String> {
        let key = rcgen::generate_simple_self_signed([name.to_str().into_owned()])
            .map_err(|error| error.to_string())?;
        let secret =
            PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(key.signing_key.serialize_der()));
        let provider = client.crypto_provider().clone();
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .and_then(|builder| {
                builder.with_no_client_auth().with_single_cert(vec![key.cert.der().clone()], secret)
            })
            .map_err(|error| error.to_string())?;
        server.ticketer =
            rustls::crypto::aws_lc_rs::Ticketer::new().map_err(|error| error.to_string())?;
        server.send_tls13_tickets = BATCH;
        server.alpn_protocols = client.alpn_protocols.clone();
        let stock = Arc::<TicketStock>::default();
        client.resumption = Resumption::store(stock.clone());
        let (client, server) = (Arc::new(client), Arc::new(server));
        let forger = Self { client, server, name: name.clone(), stock };
        forger.forge().map_err(|error| error.to_string())?;
        match forger.stock.take() {
            Some(_) => Ok(forger),
            None => Err("without TLS 1.3 there is no such ticket".to_owned()),
        }
    }

    /// The tickets of a new customer: one forged ticket.
    pub(crate) fn tickets(&self) -> Tickets {
        let tickets = Tickets::own();
        let forged = self.stock.take().or_else(|| {
            // It has worked once.
            self.forge().ok()?;
            self.stock.take()
        });
        if let Some(forged) = forged {
            tickets.add(forged);
        }
        tickets
    }

    /// A handshake in memory, and the tickets after it.
    fn forge(&self) -> io::Result<()> {
        let mut client = ClientConnection::new(self.client.clone(), self.name.clone())
            .map_err(io::Error::other)?;
        let mut server = ServerConnection::new(self.server.clone()).map_err(io::Error::other)?;
        while client.wants_write() || server.wants_write() {
            pass(&mut client, &mut server)?;
            pass(&mut server, &mut client)?;
        }
        Ok(())
    }
}

/// Passes the output of one side of a handshake to the other.
fn pass<A, B>(from: &mut ConnectionCommon<A>, to: &mut ConnectionCommon<B>) -> io::Result<()> {
    let mut sent = Vec::new();
    while from.wants_write() {
        from.write_tls(&mut sent)?;
    }
    let mut sent = sent.as_slice();
    while !sent.is_empty() {
        to.read_tls(&mut sent)?;
        to.process_new_packets().map_err(io::Error::other)?;
    }
    Ok(())
}

impl fmt::Debug for TicketForger {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TicketForger").field("name", &self.name).finish_non_exhaustive()
    }
}
