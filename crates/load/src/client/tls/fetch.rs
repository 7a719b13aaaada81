//! Obtains one ticket for all handshakes.

use std::io;
use std::sync::Arc;

use rustls::ClientConfig;
use rustls::client::Resumption;
use rustls::pki_types::ServerName;
use tokio::net::TcpStream;

use super::one_ticket::OneTicket;
use super::stock::TicketStock;
use super::stream::ClientTlsStream;
use super::tickets::{ConnectionTickets, Tickets};

/// Makes a full handshake and waits for the first ticket.
///
/// # Errors
/// The handshake fails, the server chooses TLS 1.2, or it issues no ticket.
pub(super) async fn fetch_ticket(
    config: &ClientConfig,
    name: ServerName<'static>,
    tcp: TcpStream,
) -> io::Result<OneTicket> {
    let stock = Arc::<TicketStock>::default();
    let mut config = config.clone();
    config.resumption = Resumption::store(stock.clone());
    let none = ConnectionTickets::new(&Arc::new(Tickets::own()), false);
    let (stream, completed) = ClientTlsStream::connect(Arc::new(config), name, none, tcp).await?;
    if completed.agreed.version() != "1.3" {
        let why = "the server chose TLS 1.2, whose sessions are reused with --tickets all";
        return Err(io::Error::other(why));
    }
    let (connection, message) = stream.into_ticket().await.map_err(|error| {
        if error.kind() == io::ErrorKind::UnexpectedEof {
            io::Error::other("the server closed the connection without issuing a ticket")
        } else {
            error
        }
    })?;
    Ok(OneTicket::new(connection, message, stock))
}
