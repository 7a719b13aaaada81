//! TLS 1.3 after the handshake. rustls has made the handshake, keeps the secrets and
//! makes tickets of what the server sends; the records are protected here, since
//! the state of rustls would take twice the memory allowed for an idle customer.
//!
//! Source: RFC 8446, sections 4.6 (messages after the handshake), 5 (records) and 6
//! (alerts).

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::kernel::KernelConnection;
use rustls::{
    AlertDescription, ContentType, Error, HandshakeType, InvalidMessage, PeerMisbehaved,
    SupportedCipherSuite,
};
use tokio::io::ReadBuf;

use super::flow::{Flow, Next};
use super::messages::Messages;
use super::record::{self, Keys, OVERHEAD};
use crate::client::tls::tickets::ConnectionTickets;

/// Updates of keys that a server may ask for without sending anything else.
const MOST_UPDATES: u8 = 32;
/// A KeyUpdate message with `update_not_requested`.
const KEY_UPDATE: [u8; 5] = [24, 0, 0, 1, 0];

/// A connection whose handshake is complete.
pub(super) struct Traffic {
    connection: KernelConnection<ClientConnectionData>,
    reading: Keys,
    writing: Keys,
    /// Records after which a key is worn out.
    pub(super) most_records: u64,
    messages: Messages,
    tickets_received: u32,
    /// Updates of the server's keys since it last sent something else.
    updates: u8,
    /// Before anything else is sent, own keys are to be updated.
    update_due: bool,
}

impl Traffic {
    /// Of a connection that has to send nothing and has nothing to read, whose
    /// settings allow to take the secrets out.
    ///
    /// # Errors
    /// It is not so.
    pub(super) fn new(made: UnbufferedClientConnection) -> Result<Self, Error> {
        let tickets_received = made.tls13_tickets_received();
        let (secrets, connection) = made.dangerous_into_kernel_connection()?;
        let SupportedCipherSuite::Tls13(suite) = connection.negotiated_cipher_suite() else {
            return Err(Error::General("it is not of TLS 1.3".to_owned()));
        };
        Ok(Self {
            connection,
            reading: Keys::new(secrets.rx),
            writing: Keys::new(secrets.tx),
            most_records: suite.common.confidentiality_limit,
            messages: Messages::default(),
            tickets_received,
            updates: 0,
            update_due: false,
        })
    }

    /// Works off what has come, until there is something to do; what is decrypted
    /// goes to `buf` first.
    ///
    /// # Errors
    /// The peer sends an alert or violates the protocol.
    pub(super) fn read(
        &mut self,
        flow: &mut Flow,
        mut buf: Option<&mut ReadBuf<'_>>,
    ) -> Result<Next, Error> {
        loop {
            // What is left of the last record.
            if let Some(ticket) = self.next_ticket()? {
                return Ok(Next::Ticket(ticket));
            }
            let Some(length) = record::whole(flow.incoming.bytes())? else {
                return Ok(Next::More);
            };
            let record = &mut flow.incoming.bytes_mut()[..length];
            let (kind, content) = self.reading.open(record)?;
            if kind != ContentType::Handshake && !self.messages.is_empty() {
                return Err(PeerMisbehaved::MessageInterleavedWithHandshakeMessage.into());
            }
            let next = match kind {
                ContentType::Handshake => {
                    self.messages.add(content);
                    None
                }
                ContentType::ApplicationData => {
                    self.updates = 0;
                    flow.plain.pass(content, buf.as_deref_mut());
                    Some(Next::Plain)
                }
                ContentType::Alert => said(content)?,
                kind => return Err(unexpected(kind)),
            };
            flow.incoming.discard(length);
            if let Some(next) = next {
                return Ok(next);
            }
        }
    }

    /// Processes messages up to a ticket.
    fn next_ticket(&mut self) -> Result<Option<Vec<u8>>, Error> {
        while let Some((kind, body)) = self.messages.next()? {
            match kind {
                HandshakeType::NewSessionTicket => return Ok(Some(body)),
                HandshakeType::KeyUpdate => self.update_reading(&body)?,
                got_type => {
                    let expect_types =
                        vec![HandshakeType::NewSessionTicket, HandshakeType::KeyUpdate];
                    return Err(Error::InappropriateHandshakeMessage { expect_types, got_type });
                }
            }
        }
        Ok(None)
    }

    fn update_reading(&mut self, body: &[u8]) -> Result<(), Error> {
        let requested = match body {
            [0] => false,
            [1] => true,
            _ => return Err(InvalidMessage::InvalidKeyUpdate.into()),
        };
        // What stands behind it was encrypted with the old keys.
        if !self.messages.is_empty() {
            return Err(PeerMisbehaved::KeyEpochWithPendingFragment.into());
        }
        self.updates += 1;
        if self.updates > MOST_UPDATES {
            return Err(PeerMisbehaved::TooManyKeyUpdateRequests.into());
        }
        self.reading = Keys::new(self.connection.update_rx_secret()?);
        self.update_due |= requested;
        Ok(())
    }

    /// Makes a ticket of what the server sent, and puts it in with the others.
    ///
    /// # Errors
    /// It is none.
    pub(super) fn put_in(
        &mut self,
        ticket: &[u8],
        tickets: &mut ConnectionTickets,
    ) -> Result<(), Error> {
        self.tickets_received = self.tickets_received.saturating_add(1);
        tickets.during(|| self.connection.handle_new_session_ticket(ticket))
    }

    pub(super) fn tickets_received(&self) -> u32 {
        self.tickets_received
    }

    /// What rustls has of it.
    pub(super) fn into_connection(self) -> KernelConnection<ClientConnectionData> {
        self.connection
    }

    /// Encrypts a record of application data.
    pub(super) fn encrypt(&mut self, bytes: &[u8], flow: &mut Flow) -> Result<(), Error> {
        // The last record under the old key announces the new one.
        if self.update_due || self.writing.used() + 1 >= self.most_records {
            self.seal(ContentType::Handshake, &KEY_UPDATE, flow)?;
            self.writing = Keys::new(self.connection.update_tx_secret()?);
            self.update_due = false;
        }
        self.seal(ContentType::ApplicationData, bytes, flow)
    }

    /// Says that something is wrong, or that nothing more is sent.
    pub(super) fn alert(&mut self, alert: AlertDescription, flow: &mut Flow) -> Result<(), Error> {
        let level = if alert == AlertDescription::CloseNotify { 1 } else { 2 };
        self.seal(ContentType::Alert, &[level, alert.into()], flow)
    }

    fn seal(&mut self, kind: ContentType, content: &[u8], flow: &mut Flow) -> Result<(), Error> {
        flow.outgoing.make_space(content.len() + OVERHEAD, usize::MAX);
        let count = self.writing.seal(kind, content, flow.outgoing.space())?;
        flow.outgoing.add(count);
        Ok(())
    }

    /// Keeps the secrets only, until there is something to do.
    pub(super) fn release_memory(&mut self) {
        self.reading.release_memory();
        self.writing.release_memory();
    }

    #[cfg(test)]
    pub(super) fn is_released(&self) -> bool {
        self.reading.is_released() && self.writing.is_released()
    }

    /// Records sent with the key of now.
    #[cfg(test)]
    pub(super) fn records_sent(&self) -> u64 {
        self.writing.used()
    }
}

/// The meaning of an alert. The description determines whether it is fatal.
fn said(alert: &[u8]) -> Result<Option<Next>, Error> {
    let &[_, description] = alert else {
        return Err(InvalidMessage::TrailingData("alert").into());
    };
    match AlertDescription::from(description) {
        AlertDescription::CloseNotify => Ok(Some(Next::Ended)),
        // Means nothing by itself: a goodbye follows.
        AlertDescription::UserCanceled => Ok(None),
        other => Err(Error::AlertReceived(other)),
    }
}

fn unexpected(got_type: ContentType) -> Error {
    let expect_types = vec![ContentType::ApplicationData, ContentType::Handshake];
    Error::InappropriateMessage { expect_types, got_type }
}

/// The alert to send for an error, unless the peer sent it.
pub(super) fn alert_for(error: &Error) -> Option<AlertDescription> {
    match error {
        Error::AlertReceived(_) => None,
        Error::DecryptError => Some(AlertDescription::BadRecordMac),
        Error::PeerSentOversizedRecord => Some(AlertDescription::RecordOverflow),
        Error::InvalidMessage(_) => Some(AlertDescription::DecodeError),
        Error::General(_) => Some(AlertDescription::InternalError),
        _ => Some(AlertDescription::UnexpectedMessage),
    }
}
