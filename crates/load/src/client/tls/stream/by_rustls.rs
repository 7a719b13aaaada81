//! TLS all made by rustls: the handshake, and TLS 1.2 after it.

use std::sync::Arc;

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use rustls::{ClientConfig, CommonState, Error};
use tokio::io::ReadBuf;

use super::flow::{Flow, Held, Next};
use super::record::MOST_CONTENT;
use crate::client::tls::tickets::ConnectionTickets;

/// Bytes that a record has beyond its content, at least.
const OVERHEAD: usize = 64;

/// A connection of which rustls encrypts everything.
pub(super) struct ByRustls(UnbufferedClientConnection);

type State<'c, 'i> = ConnectionState<'c, 'i, ClientConnectionData>;
type WriteTraffic<'c> = rustls::unbuffered::WriteTraffic<'c, ClientConnectionData>;

impl ByRustls {
    pub(super) fn new(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        tickets: &mut ConnectionTickets,
    ) -> Result<Self, Error> {
        let made = tickets.during(|| UnbufferedClientConnection::new(config, name))?;
        tickets.begun();
        Ok(Self(made))
    }

    /// What rustls knows of it.
    pub(super) fn state(&self) -> &CommonState {
        &self.0
    }

    pub(super) fn tickets_received(&self) -> u32 {
        self.0.tls13_tickets_received()
    }

    /// All that rustls has of it.
    pub(super) fn into_inner(self) -> UnbufferedClientConnection {
        self.0
    }

    /// Works off what has come, until there is something to do; what is decrypted
    /// goes to `buf` first.
    ///
    /// # Errors
    /// TLS fails. After that rustls must not be asked for anything but its
    /// [alert](Self::alert).
    pub(super) fn read(
        &mut self,
        flow: &mut Flow,
        tickets: &mut ConnectionTickets,
        buf: Option<&mut ReadBuf<'_>>,
    ) -> Result<Next, Error> {
        let UnbufferedStatus { discard, state } =
            tickets.during(|| self.0.process_tls_records(flow.incoming.bytes_mut()));
        let next = handle(state, &mut flow.plain, &mut flow.outgoing, buf);
        flow.incoming.discard(discard);
        next
    }

    /// Encrypts application data. Received records are processed first.
    ///
    /// # Errors
    /// As [`Self::read`]; `HandshakeNotComplete` too if nothing can be sent any more.
    pub(super) fn encrypt(
        &mut self,
        bytes: &[u8],
        flow: &mut Flow,
        tickets: &mut ConnectionTickets,
    ) -> Result<(), Error> {
        self.write(flow, tickets, |traffic, space| traffic.encrypt(bytes, space))
    }

    /// Says goodbye.
    pub(super) fn close_notify(
        &mut self,
        flow: &mut Flow,
        tickets: &mut ConnectionTickets,
    ) -> Result<(), Error> {
        self.write(flow, tickets, |traffic, space| traffic.queue_close_notify(space))
    }

    fn write(
        &mut self,
        flow: &mut Flow,
        tickets: &mut ConnectionTickets,
        mut what: impl FnMut(&mut WriteTraffic<'_>, &mut [u8]) -> Result<usize, EncryptError>,
    ) -> Result<(), Error> {
        loop {
            let UnbufferedStatus { discard, state } =
                tickets.during(|| self.0.process_tls_records(flow.incoming.bytes_mut()));
            match state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let mut wanted = MOST_CONTENT + OVERHEAD;
                    loop {
                        flow.outgoing.make_space(wanted, usize::MAX);
                        match what(&mut traffic, flow.outgoing.space()) {
                            Ok(count) => {
                                flow.outgoing.add(count);
                                break;
                            }
                            Err(EncryptError::InsufficientSize(size)) => {
                                wanted = size.required_size.max(wanted + 1);
                            }
                            Err(EncryptError::EncryptExhausted) => return Err(Error::EncryptError),
                        }
                    }
                    flow.incoming.discard(discard);
                    return Ok(());
                }
                state => {
                    let next = handle(state, &mut flow.plain, &mut flow.outgoing, None);
                    flow.incoming.discard(discard);
                    match next? {
                        Next::Ended => flow.ended = true,
                        Next::Plain | Next::Send => {}
                        _ => return Err(Error::HandshakeNotComplete),
                    }
                }
            }
        }
    }

    /// The alert that rustls wants to give after an error.
    pub(super) fn alert(&mut self, flow: &mut Flow) {
        if self.0.wants_write() {
            let UnbufferedStatus { state, .. } = self.0.process_tls_records(&mut []);
            let _ = handle(state, &mut flow.plain, &mut flow.outgoing, None);
        }
    }
}

/// Does what a state asks for.
fn handle(
    state: Result<State<'_, '_>, Error>,
    plain: &mut Held,
    outgoing: &mut Held,
    mut buf: Option<&mut ReadBuf<'_>>,
) -> Result<Next, Error> {
    Ok(match state? {
        ConnectionState::ReadTraffic(mut traffic) => {
            while let Some(record) = traffic.next_record() {
                plain.pass(record?.payload, buf.as_deref_mut());
            }
            Next::Plain
        }
        ConnectionState::PeerClosed => Next::Ended,
        ConnectionState::EncodeTlsData(mut data) => {
            let mut wanted = OVERHEAD;
            loop {
                outgoing.make_space(wanted, usize::MAX);
                match data.encode(outgoing.space()) {
                    Ok(count) => break outgoing.add(count),
                    Err(EncodeError::InsufficientSize(InsufficientSizeError { required_size })) => {
                        wanted = required_size.max(wanted + 1);
                    }
                    Err(EncodeError::AlreadyEncoded) => break,
                }
            }
            Next::Send
        }
        ConnectionState::TransmitTlsData(data) => {
            // It lies among what is to be sent, in its order.
            data.done();
            Next::Send
        }
        ConnectionState::WriteTraffic(_) => Next::Traffic,
        // Wants more, or is closed on both sides. Clients receive no early data.
        _ => Next::More,
    })
}
