//! TLS over a customer's socket: the handshake, then plain bytes for HTTP.
//!
//! It drives rustls itself, since it replays a hello that was read before,
//! tells the ticketer for whom it works, and lets the ticket of TLS 1.3 travel
//! with the first response where the request is already there.

use crate::guard::Guard;
use crate::tls::Bearer;
use crate::watch::{Phase, Watch};
use hyper::rt::{Read, ReadBufCursor, Write};
use rustls::{HandshakeKind, ProtocolVersion, ServerConfig, ServerConnection};
use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::net::TcpStream;
use tokio::time::Sleep;

/// Why a handshake failed.
#[derive(Debug, thiserror::Error)]
pub enum Failure {
    /// The customer hung up or the network broke.
    #[error("the connection broke: {0}")]
    Io(io::Error),
    /// TLS failed; the alert was sent.
    #[error("TLS failed: {0}")]
    Tls(rustls::Error),
}

/// A socket with a TLS session on it.
pub struct Tls {
    socket: TcpStream,
    session: Box<ServerConnection>,
}

impl Tls {
    /// Shakes hands. `hello` is everything that was read so far.
    ///
    /// # Errors
    /// The connection broke, or TLS failed.
    pub async fn accept(
        socket: std::net::TcpStream,
        config: Arc<ServerConfig>,
        hello: &[u8],
        bearer: &Bearer,
    ) -> Result<Self, Failure> {
        let mut session = Box::new(ServerConnection::new(config).map_err(Failure::Tls)?);
        let fed = bearer.during(|| {
            let mut rest = hello;
            while !rest.is_empty() {
                session.read_tls(&mut rest).map_err(Failure::Io)?;
                session.process_new_packets().map_err(Failure::Tls)?;
            }
            Ok(())
        });
        // The first flight goes before the runtime knows the socket: else it
        // would wait for a first word from the kernel that there is room.
        let mut blocked = false;
        while session.wants_write() && !blocked {
            blocked = session.write_tls(&mut &socket).map_or(true, |n| n == 0);
        }
        let socket = TcpStream::from_std(socket).map_err(Failure::Io)?;
        let mut tls = Self { socket, session };
        if let Err(failure) = fed {
            return Err(tls.tell(failure).await);
        }
        let done = poll_fn(|cx| tls.poll_handshake(cx, bearer)).await;
        match done {
            Ok(()) => Ok(tls),
            Err(failure) => Err(tls.tell(failure).await),
        }
    }

    /// What kind of handshake it was.
    pub fn kind(&self) -> Option<HandshakeKind> {
        self.session.handshake_kind()
    }

    fn poll_handshake(
        &mut self,
        cx: &mut Context<'_>,
        bearer: &Bearer,
    ) -> Poll<Result<(), Failure>> {
        loop {
            // The last flight of TLS 1.2 must go; tickets of 1.3 may wait.
            let over = !self.session.is_handshaking();
            if over && self.session.protocol_version() == Some(ProtocolVersion::TLSv1_3) {
                return Poll::Ready(Ok(()));
            }
            if !self.send(cx).map_err(Failure::Io)?.1 {
                return Poll::Pending;
            }
            if over {
                return Poll::Ready(Ok(()));
            }
            if ready!(self.poll_receive(cx)).map_err(Failure::Io)? == 0 {
                return Poll::Ready(Err(Failure::Io(io::ErrorKind::UnexpectedEof.into())));
            }
            bearer.during(|| self.session.process_new_packets()).map_err(Failure::Tls)?;
        }
    }

    /// Sends the alert of a failed handshake.
    async fn tell(&mut self, failure: Failure) -> Failure {
        if let Failure::Tls(_) = failure {
            poll_fn(|cx| match self.send(cx) {
                Ok((_, false)) => Poll::Pending,
                _ => Pin::new(&mut self.socket).poll_shutdown(cx).map(drop),
            })
            .await;
        }
        failure
    }

    /// Sends what TLS has to send: how many bytes went, and whether all did.
    /// If not, the task is woken when there is room.
    fn send(&mut self, cx: &mut Context<'_>) -> io::Result<(usize, bool)> {
        let mut sent = 0;
        while self.session.wants_write() {
            let mut socket = Now { socket: &mut self.socket, cx };
            match self.session.write_tls(&mut socket) {
                Ok(0) => return Err(io::ErrorKind::WriteZero.into()),
                Ok(n) => sent += n,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {
                    return Ok((sent, false));
                }
                Err(error) => return Err(error),
            }
        }
        Ok((sent, true))
    }

    /// Reads once from the socket into TLS; 0 is its end.
    fn poll_receive(&mut self, cx: &mut Context<'_>) -> Poll<io::Result<usize>> {
        let mut socket = Now { socket: &mut self.socket, cx };
        match self.session.read_tls(&mut socket) {
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Poll::Pending,
            result => Poll::Ready(result),
        }
    }
}

/// The plain side of a TLS session, for HTTP.
pub struct Stream {
    tls: Tls,
    watch: Rc<Watch>,
    guard: Rc<RefCell<Guard>>,
    /// HTTP has written nothing yet: TLS has at most a ticket to send, which
    /// travels with the first response if its request is already there.
    silent: bool,
    /// A close_notify has been queued.
    closing: bool,
    /// Hears out a customer who was answered in the middle of an upload.
    linger: Option<Linger>,
}

/// Reading on after the last word: a socket that is closed with unread bytes
/// is reset, and the reset would overtake the answer (RFC 9112, section 9.6).
struct Linger {
    until: Pin<Box<Sleep>>,
    left: usize,
}

impl Linger {
    /// Bytes that are heard out: an upload longer than that has not noticed.
    const MOST: usize = 4 << 20;

    fn new() -> Self {
        let until = Box::pin(tokio::time::sleep(crate::socket::LINGER));
        Self { until, left: Self::MOST }
    }

    /// Ready when the customer has closed, or was heard long enough.
    fn poll(&mut self, socket: &mut TcpStream, cx: &mut Context<'_>) -> Poll<()> {
        let mut scratch = [0; 8192];
        while self.left > 0 && self.until.as_mut().poll(cx).is_pending() {
            let mut buf = ReadBuf::new(&mut scratch);
            match ready!(Pin::new(&mut *socket).poll_read(cx, &mut buf)) {
                Ok(()) if !buf.filled().is_empty() => {
                    self.left = self.left.saturating_sub(buf.filled().len());
                }
                _ => break,
            }
        }
        Poll::Ready(())
    }
}

impl Stream {
    /// Puts HTTP on a session whose handshake is over.
    pub fn new(tls: Tls, watch: Rc<Watch>, guard: Rc<RefCell<Guard>>) -> Self {
        Self { tls, watch, guard, silent: true, closing: false, linger: None }
    }

    /// Says goodbye and closes, as far as the socket takes it at once.
    pub async fn close(mut self) {
        poll_fn(|cx| {
            let _ = Pin::new(&mut self).poll_shutdown(cx);
            Poll::Ready(())
        })
        .await;
    }

    /// Closes so that what was sent last reaches the customer although she is
    /// still sending: says goodbye, then reads and forgets what comes.
    pub async fn close_gently(mut self) {
        let goodbye = async {
            let _ = poll_fn(|cx| Pin::new(&mut self).poll_shutdown(cx)).await;
            crate::socket::drain(&mut self.tls.socket).await;
        };
        let _ = tokio::time::timeout(crate::socket::LINGER, goodbye).await;
    }

    fn poll_plain(
        &mut self,
        cx: &mut Context<'_>,
        buf: &mut ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        loop {
            match self.tls.session.reader().into_first_chunk() {
                Ok(chunk) => {
                    let n = chunk.len().min(buf.remaining());
                    if n == 0 {
                        self.watch.hang_up();
                    } else {
                        self.guard.borrow_mut().feed(&chunk[..n]);
                        buf.put_slice(&chunk[..n]);
                        io::BufRead::consume(&mut self.tls.session.reader(), n);
                        self.watch.received();
                    }
                    return Poll::Ready(Ok(()));
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                // No close_notify: an end all the same; HTTP sees what is missing.
                Err(_) => {
                    self.watch.hang_up();
                    return Poll::Ready(Ok(()));
                }
            }
            let received = match self.tls.poll_receive(cx) {
                Poll::Ready(received) => received?,
                Poll::Pending => {
                    if self.silent && matches!(self.watch.phase(), Phase::Idle | Phase::Head) {
                        self.silent = false;
                        self.send_out(cx)?;
                    }
                    return Poll::Pending;
                }
            };
            self.watch.counters.bytes_in[0].add(received as u64);
            if let Err(error) = self.tls.session.process_new_packets() {
                let _ = self.send_out(cx);
                return Poll::Ready(Err(io::Error::new(io::ErrorKind::InvalidData, error)));
            }
        }
    }

    /// Sends what TLS has to send; whether all of it went.
    fn send_out(&mut self, cx: &mut Context<'_>) -> io::Result<bool> {
        let (sent, all) = self.tls.send(cx)?;
        if sent > 0 {
            self.watch.counters.bytes_out[0].add(sent as u64);
            self.watch.reply_progress();
        }
        Ok(all)
    }
}

impl Read for Stream {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        self.poll_plain(cx, &mut buf)
    }
}

impl Write for Stream {
    fn poll_write(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.poll_write_vectored(cx, &[IoSlice::new(buf)])
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        use io::Write as _;
        if bufs.iter().all(|buf| buf.is_empty()) {
            return Poll::Ready(Ok(0));
        }
        self.silent = false;
        loop {
            let taken = self.tls.session.writer().write_vectored(bufs)?;
            let gone = self.send_out(cx)?;
            match (taken, gone) {
                (0, false) => return Poll::Pending,
                (0, true) => {}
                (taken, _) => return Poll::Ready(Ok(taken)),
            }
        }
    }

    fn is_write_vectored(&self) -> bool {
        true
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if self.silent {
            return Poll::Ready(Ok(()));
        }
        if !self.send_out(cx)? {
            return Poll::Pending;
        }
        self.watch.flushed();
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        if !self.closing {
            self.closing = true;
            self.tls.session.send_close_notify();
        }
        if !self.send_out(cx)? {
            return Poll::Pending;
        }
        ready!(Pin::new(&mut self.tls.socket).poll_shutdown(cx))?;
        if self.watch.uploading() {
            let Self { linger, tls, .. } = &mut *self;
            ready!(linger.get_or_insert_with(Linger::new).poll(&mut tls.socket, cx));
        }
        Poll::Ready(Ok(()))
    }
}

/// A socket as rustls wants it: what is not ready at once would block.
struct Now<'a, 'b> {
    socket: &'a mut TcpStream,
    cx: &'a mut Context<'b>,
}

impl io::Read for Now<'_, '_> {
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        let mut buf = ReadBuf::new(buf);
        match Pin::new(&mut *self.socket).poll_read(self.cx, &mut buf) {
            Poll::Ready(result) => result.map(|()| buf.filled().len()),
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }
}

impl io::Write for Now<'_, '_> {
    fn write(&mut self, buf: &[u8]) -> io::Result<usize> {
        self.write_vectored(&[IoSlice::new(buf)])
    }

    fn write_vectored(&mut self, bufs: &[IoSlice<'_>]) -> io::Result<usize> {
        match Pin::new(&mut *self.socket).poll_write_vectored(self.cx, bufs) {
            Poll::Ready(result) => result,
            Poll::Pending => Err(io::ErrorKind::WouldBlock.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
