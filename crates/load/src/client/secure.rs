//! TLS on a TCP connection. It holds a buffer only while bytes are on their way:
//! most customers think, and what each of them holds meanwhile decides how many
//! there can be.

use std::cell::RefCell;
use std::fmt;
use std::io;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use rustls::client::{ClientConnectionData, UnbufferedClientConnection};
use rustls::pki_types::ServerName;
use rustls::unbuffered::{
    ConnectionState, EncodeError, EncryptError, InsufficientSizeError, UnbufferedStatus,
};
use rustls::{ClientConfig, CommonState};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;

use super::tickets::OfConnection;

/// Bytes of a buffer: more than the largest record.
const BUFFER: usize = 32 * 1024;
/// Least space to read into.
const SPACE: usize = 4 * 1024;
/// Most bytes kept of what has come: the longest message of a handshake that
/// rustls takes, and a record.
const MOST: usize = 3 * BUFFER;
/// Bytes of a customer encrypted at once: a record.
const RECORD: usize = 16 * 1024;
/// Bytes that a record has beyond its content, at least.
const OVERHEAD: usize = 64;
/// Most free buffers that a thread keeps.
const FREE: usize = 16;

thread_local! {
    static BUFFERS: RefCell<Vec<Vec<u8>>> = const { RefCell::new(Vec::new()) };
}

/// A connection over TLS. Dropping it closes the socket without a goodbye.
pub(crate) struct Secure {
    tcp: TcpStream,
    tls: UnbufferedClientConnection,
    tickets: OfConnection,
    /// What has come and is not decrypted: a part of a record.
    incoming: Held,
    /// What is encrypted and not sent.
    outgoing: Held,
    /// What is decrypted and nobody has taken.
    plain: Held,
    /// The peer has said goodbye.
    ended: bool,
    /// TLS has failed.
    broken: bool,
}

/// Bytes in a buffer, which is there only while there are any.
#[derive(Debug, Default)]
struct Held {
    /// Longer than what it holds.
    buffer: Vec<u8>,
    from: usize,
    to: usize,
}

/// What the records that have come lead to.
enum Next {
    /// Something is decrypted.
    Plain,
    /// The peer says goodbye.
    Ended,
    /// More has to come.
    More,
    /// Something has to be sent.
    Send,
    /// More has to come, or be sent: the handshake is complete.
    Traffic,
}

impl Secure {
    /// Makes the handshake.
    ///
    /// # Errors
    /// Of kind `UnexpectedEof` if the peer closes the connection, of kind
    /// `InvalidData` with a [`rustls::Error`] inside if TLS fails.
    pub(super) async fn connect(
        config: Arc<ClientConfig>,
        name: ServerName<'static>,
        mut tickets: OfConnection,
        tcp: TcpStream,
    ) -> io::Result<Self> {
        let made = tickets.during(|| UnbufferedClientConnection::new(config, name));
        tickets.begun();
        let mut secure = Self {
            tcp,
            tls: made.map_err(invalid)?,
            tickets,
            incoming: Held::default(),
            outgoing: Held::default(),
            plain: Held::default(),
            ended: false,
            broken: false,
        };
        std::future::poll_fn(|cx| secure.poll_handshake(cx)).await?;
        Ok(secure)
    }

    fn poll_handshake(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        loop {
            match self.advance(None)? {
                Next::Send => {}
                Next::Traffic | Next::Plain => return self.poll_flush(cx),
                Next::Ended => return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into())),
                Next::More => {
                    ready!(self.poll_flush(cx))?;
                    if ready!(self.poll_fill(cx))? == 0 {
                        return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
                    }
                }
            }
        }
    }

    /// Its parts: the socket, what rustls has of the connection, and what has come
    /// and is not decrypted.
    pub(super) fn into_parts(self) -> (TcpStream, UnbufferedClientConnection, Vec<u8>) {
        let come = self.incoming.bytes().to_vec();
        (self.tcp, self.tls, come)
    }

    /// What rustls knows of it.
    pub(super) fn state(&self) -> &CommonState {
        &self.tls
    }

    /// Tickets of TLS 1.3 that have come so far.
    pub(super) fn tickets_received(&self) -> u32 {
        self.tls.tls13_tickets_received()
    }

    /// The socket below.
    pub(super) fn tcp(&self) -> &TcpStream {
        &self.tcp
    }

    /// See [`AsyncRead::poll_read`]. An end without a goodbye is an error of kind
    /// `UnexpectedEof`.
    pub(super) fn poll_read(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buf.filled().len();
        loop {
            if self.plain.move_to(buf) || self.ended || buf.filled().len() > before {
                return Poll::Ready(Ok(()));
            }
            if self.broken {
                return Poll::Ready(Err(io::ErrorKind::NotConnected.into()));
            }
            if !self.incoming.is_empty() {
                match self.advance(Some(buf))? {
                    Next::Plain | Next::Ended => continue,
                    Next::Send => {
                        // An answer of TLS's own, as to an update of keys. If it does not
                        // go out now, it does with what is sent next.
                        let _ = self.poll_flush(cx)?;
                        continue;
                    }
                    Next::More | Next::Traffic => {}
                }
            }
            if ready!(self.poll_fill(cx))? == 0 {
                return Poll::Ready(Err(io::ErrorKind::UnexpectedEof.into()));
            }
        }
    }

    /// See [`AsyncWrite::poll_write`]: what is taken is encrypted, and sent as far
    /// as the socket takes it.
    pub(super) fn poll_write(
        &mut self,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        ready!(self.poll_flush(cx))?;
        let bytes = &bytes[..bytes.len().min(RECORD)];
        self.encrypt(|traffic, space| traffic.encrypt(bytes, space))?;
        match self.poll_flush(cx) {
            Poll::Ready(Err(error)) => Poll::Ready(Err(error)),
            // The rest goes out when it is flushed.
            Poll::Ready(Ok(())) | Poll::Pending => Poll::Ready(Ok(bytes.len())),
        }
    }

    /// Sends all that is encrypted.
    pub(super) fn poll_flush(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        while !self.outgoing.is_empty() {
            let sent = ready!(Pin::new(&mut self.tcp).poll_write(cx, self.outgoing.bytes()))?;
            if sent == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.outgoing.discard(sent);
        }
        Poll::Ready(Ok(()))
    }

    /// Says goodbye, if that can be sent at once.
    pub(super) fn send_close_notify(&mut self) {
        let said = self.encrypt(|traffic, space| traffic.queue_close_notify(space));
        if said.is_ok() {
            self.send_now();
        }
    }

    fn send_now(&mut self) {
        while !self.outgoing.is_empty()
            && let Ok(sent @ 1..) = self.tcp.try_write(self.outgoing.bytes())
        {
            self.outgoing.discard(sent);
        }
    }

    /// Reads what has come, up to a buffer of it; 0 at the end.
    fn poll_fill(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        if !self.incoming.make_space(SPACE, MOST) {
            let long = "a message of the handshake is too long";
            return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, long)));
        }
        let mut space = ReadBuf::new(self.incoming.space());
        let poll = Pin::new(&mut self.tcp).poll_read(cx, &mut space);
        let count = space.filled().len();
        self.incoming.add(count);
        poll.map(|result| result.map(|()| count))
    }

    /// Encrypts something.
    fn encrypt(
        &mut self,
        mut what: impl FnMut(&mut WriteTraffic<'_>, &mut [u8]) -> Result<usize, EncryptError>,
    ) -> io::Result<()> {
        if self.broken {
            return Err(io::ErrorKind::NotConnected.into());
        }
        loop {
            let UnbufferedStatus { discard, state } =
                self.tickets.during(|| self.tls.process_tls_records(self.incoming.bytes_mut()));
            match state {
                Ok(ConnectionState::WriteTraffic(mut traffic)) => {
                    let mut wanted = RECORD + OVERHEAD;
                    loop {
                        self.outgoing.make_space(wanted, usize::MAX);
                        match what(&mut traffic, self.outgoing.space()) {
                            Ok(count) => {
                                self.outgoing.add(count);
                                break;
                            }
                            Err(EncryptError::InsufficientSize(size)) => {
                                wanted = size.required_size.max(wanted + 1);
                            }
                            Err(error) => return Err(io::Error::other(error)),
                        }
                    }
                    self.incoming.discard(discard);
                    return Ok(());
                }
                // What comes before it: records that have come already.
                state => {
                    let next = Self::handle(state, &mut self.plain, &mut self.outgoing, None);
                    self.incoming.discard(discard);
                    match next {
                        Ok(Next::Ended) => self.ended = true,
                        Ok(Next::Plain | Next::Send) => {}
                        Ok(Next::More | Next::Traffic) => {
                            return Err(io::ErrorKind::NotConnected.into());
                        }
                        Err(error) => return Err(self.failed(error)),
                    }
                }
            }
        }
    }

    /// Works off what has come, until there is something to do; what is decrypted
    /// goes to `buf` first.
    fn advance(&mut self, buf: Option<&mut ReadBuf<'_>>) -> io::Result<Next> {
        let UnbufferedStatus { discard, state } =
            self.tickets.during(|| self.tls.process_tls_records(self.incoming.bytes_mut()));
        let next = Self::handle(state, &mut self.plain, &mut self.outgoing, buf);
        self.incoming.discard(discard);
        match next {
            Ok(Next::Ended) => {
                self.ended = true;
                Ok(Next::Ended)
            }
            Ok(next) => Ok(next),
            Err(error) => Err(self.failed(error)),
        }
    }

    /// Does what a state asks for.
    fn handle(
        state: Result<State<'_, '_>, rustls::Error>,
        plain: &mut Held,
        outgoing: &mut Held,
        mut buf: Option<&mut ReadBuf<'_>>,
    ) -> Result<Next, rustls::Error> {
        Ok(match state? {
            ConnectionState::ReadTraffic(mut traffic) => {
                while let Some(record) = traffic.next_record() {
                    let mut rest = record?.payload;
                    // In order: nothing goes past what is there already.
                    if let Some(buf) = buf.as_deref_mut()
                        && plain.is_empty()
                    {
                        let count = rest.len().min(buf.remaining());
                        buf.put_slice(&rest[..count]);
                        rest = &rest[count..];
                    }
                    plain.put(rest);
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
                        Err(EncodeError::InsufficientSize(InsufficientSizeError {
                            required_size,
                        })) => wanted = required_size.max(wanted + 1),
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
            // Wants more, or is closed on both sides. Nobody sends early data to a client.
            _ => Next::More,
        })
    }

    /// Tells the peer what is wrong, as far as that can be sent at once. After that
    /// rustls must not be asked for anything any more.
    fn failed(&mut self, error: rustls::Error) -> io::Error {
        self.broken = true;
        // An alert.
        if self.tls.wants_write() {
            let UnbufferedStatus { state, .. } = self.tls.process_tls_records(&mut []);
            let _ = Self::handle(state, &mut self.plain, &mut self.outgoing, None);
        }
        self.send_now();
        invalid(error)
    }
}

impl fmt::Debug for Secure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Secure").field("tcp", &self.tcp).finish_non_exhaustive()
    }
}

type State<'c, 'i> = ConnectionState<'c, 'i, ClientConnectionData>;
type WriteTraffic<'c> = rustls::unbuffered::WriteTraffic<'c, ClientConnectionData>;

fn invalid(error: rustls::Error) -> io::Error {
    io::Error::new(io::ErrorKind::InvalidData, error)
}

impl Held {
    fn is_empty(&self) -> bool {
        self.from == self.to
    }

    fn bytes(&self) -> &[u8] {
        &self.buffer[self.from..self.to]
    }

    fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.buffer[self.from..self.to]
    }

    fn space(&mut self) -> &mut [u8] {
        &mut self.buffer[self.to..]
    }

    fn add(&mut self, count: usize) {
        self.to += count;
        self.rest();
    }

    fn discard(&mut self, count: usize) {
        self.from += count;
        self.rest();
    }

    /// Gives the buffer back, if it holds nothing.
    fn rest(&mut self) {
        if self.is_empty() && !self.buffer.is_empty() {
            (self.from, self.to) = (0, 0);
            give(std::mem::take(&mut self.buffer));
        }
    }

    /// Makes space for at least `wanted` bytes, or says that it would hold more
    /// than `most`.
    fn make_space(&mut self, wanted: usize, most: usize) -> bool {
        if self.buffer.is_empty() {
            self.buffer = take();
        }
        if self.buffer.len() - self.to < wanted && self.from > 0 {
            self.buffer.copy_within(self.from..self.to, 0);
            (self.from, self.to) = (0, self.to - self.from);
        }
        if self.buffer.len() - self.to < wanted {
            if self.to + wanted > most {
                return false;
            }
            self.buffer.resize(self.to + wanted, 0);
        }
        true
    }

    fn put(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.make_space(bytes.len(), usize::MAX);
            self.space()[..bytes.len()].copy_from_slice(bytes);
            self.add(bytes.len());
        }
    }

    /// Moves what fits; whether there was any.
    fn move_to(&mut self, buf: &mut ReadBuf<'_>) -> bool {
        let count = buf.remaining().min(self.to - self.from);
        buf.put_slice(&self.buffer[self.from..self.from + count]);
        self.discard(count);
        count > 0
    }
}

impl Drop for Held {
    fn drop(&mut self) {
        give(std::mem::take(&mut self.buffer));
    }
}

fn take() -> Vec<u8> {
    BUFFERS.with_borrow_mut(Vec::pop).unwrap_or_else(|| vec![0; BUFFER])
}

fn give(buffer: Vec<u8>) {
    if buffer.len() == BUFFER {
        // At its end a thread has no place for them any more.
        let _ = BUFFERS.try_with(|free| {
            let mut free = free.borrow_mut();
            if free.len() < FREE {
                free.push(buffer);
            }
        });
    }
}

#[cfg(test)]
mod tests;
