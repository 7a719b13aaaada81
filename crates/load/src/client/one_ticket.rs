//! One ticket of TLS 1.3 for as many connections as want it.
//!
//! rustls gives a ticket out once, and it cannot be copied. But a connection whose
//! records somebody else decrypts, as a kernel does, is told by its owner which
//! tickets have come; and each time it is told of the same one, it makes it anew.

use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use rustls::client::{ClientConnectionData, Resumption, Tls13ClientSessionValue};
use rustls::crypto::cipher::{InboundOpaqueMessage, MessageDecrypter};
use rustls::kernel::KernelConnection;
use rustls::pki_types::ServerName;
use rustls::{
    ClientConfig, ConnectionTrafficSecrets, ContentType, HandshakeType, ProtocolVersion,
    SupportedCipherSuite,
};
use tokio::io::AsyncReadExt;
use tokio::net::TcpStream;

use super::forger::Stock;
use super::secure::Secure;
use super::tickets::{OfConnection, Tickets};

/// Bytes of a record before what is encrypted.
const HEAD: usize = 5;
/// Most bytes of an encrypted record: RFC 8446, section 5.2.
const LARGEST_RECORD: usize = (1 << 14) + 256;
/// Most bytes of messages of which the last is not whole.
const LARGEST_MESSAGE: usize = 1 << 16;

/// A ticket, and the connection on which it came.
pub(super) struct OneTicket {
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
    pub(super) async fn get(
        config: &ClientConfig,
        name: ServerName<'static>,
        tcp: TcpStream,
    ) -> io::Result<Self> {
        let made = Arc::<Stock>::default();
        let mut config = config.clone();
        config.enable_secret_extraction = true;
        config.resumption = Resumption::store(made.clone());
        let none = OfConnection::new(&Arc::new(Tickets::own()), false);
        let secure = Secure::connect(Arc::new(config), name, none, tcp).await?;
        let (mut tcp, tls, mut come) = secure.into_parts();
        let (secrets, connection) =
            tls.dangerous_into_kernel_connection().map_err(io::Error::other)?;
        let SupportedCipherSuite::Tls13(suite) = connection.negotiated_cipher_suite() else {
            return Err(other("the server chose TLS 1.2, whose sessions --tickets all shares"));
        };
        let (mut number, secret) = secrets.rx;
        let (key, iv) = match secret {
            ConnectionTrafficSecrets::Aes128Gcm { key, iv }
            | ConnectionTrafficSecrets::Aes256Gcm { key, iv }
            | ConnectionTrafficSecrets::Chacha20Poly1305 { key, iv } => (key, iv),
            _ => return Err(other("the suite agreed on is not known")),
        };
        let mut decrypter = suite.aead_alg.decrypter(key, iv);
        let mut messages = Vec::new();
        loop {
            let mut record = record(&mut tcp, &mut come).await?;
            // Anything but an encrypted record means nothing now.
            if record[0] == u8::from(ContentType::ApplicationData) {
                take(decrypter.as_mut(), &mut record[HEAD..], number, &mut messages)?;
                number += 1;
            }
            if let Some(message) = ticket_in(&mut messages)? {
                return Ok(Self { connection: Mutex::new(connection), message, made });
            }
        }
    }

    /// The ticket once more; for rustls it came just now.
    pub(super) fn again(&self) -> Option<Tls13ClientSessionValue> {
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

/// The next record, with its head.
async fn record(tcp: &mut TcpStream, come: &mut Vec<u8>) -> io::Result<Vec<u8>> {
    loop {
        if let Some(head) = come.first_chunk::<HEAD>() {
            let length = usize::from(u16::from_be_bytes([head[3], head[4]]));
            if length > LARGEST_RECORD {
                return Err(other("a record is too long"));
            }
            if come.len() >= HEAD + length {
                return Ok(come.drain(..HEAD + length).collect());
            }
        }
        if tcp.read_buf(come).await? == 0 {
            return Err(other("the server closed the connection and gave no ticket"));
        }
    }
}

/// Decrypts a record, and adds what it has of messages of the handshake.
fn take(
    decrypter: &mut dyn MessageDecrypter,
    payload: &mut [u8],
    number: u64,
    messages: &mut Vec<u8>,
) -> io::Result<()> {
    let kind = ContentType::ApplicationData;
    let sealed = InboundOpaqueMessage::new(kind, ProtocolVersion::TLSv1_2, payload);
    let plain = decrypter.decrypt(sealed, number).map_err(io::Error::other)?;
    match plain.typ {
        ContentType::Handshake => messages.extend_from_slice(plain.payload),
        ContentType::Alert => return Err(other("the server gave an alert and no ticket")),
        _ => {}
    }
    if messages.len() > LARGEST_MESSAGE {
        return Err(other("a message is too long"));
    }
    Ok(())
}

/// Takes whole messages away; gives the first that is a ticket.
fn ticket_in(messages: &mut Vec<u8>) -> io::Result<Option<Vec<u8>>> {
    while let Some([kind, length @ ..]) = messages.first_chunk::<4>() {
        let end = 4 + u32::from_be_bytes([0, length[0], length[1], length[2]]) as usize;
        if messages.len() < end {
            break;
        }
        let kind = HandshakeType::from(*kind);
        let message: Vec<u8> = messages.drain(..end).skip(4).collect();
        match kind {
            HandshakeType::NewSessionTicket => return Ok(Some(message)),
            // Other keys from here on: nobody does so before the first ticket.
            HandshakeType::KeyUpdate => return Err(other("the server changed its keys first")),
            _ => {}
        }
    }
    Ok(None)
}

fn other(why: &str) -> io::Error {
    io::Error::other(why.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ticket_is_found_behind_other_messages_and_only_when_it_is_whole() {
        let mut messages = vec![13, 0, 0, 1, 7, 4, 0, 0, 3, 1, 2];
        assert_eq!(ticket_in(&mut messages).unwrap(), None);
        messages.push(3);
        assert_eq!(ticket_in(&mut messages).unwrap().unwrap(), [1, 2, 3]);
        assert_eq!(
            ticket_in(&mut vec![24, 0, 0, 1, 0]).unwrap_err().to_string(),
            "the server changed its keys first"
        );
    }
}
