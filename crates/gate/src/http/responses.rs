//! The upstream's responses as the HTTP library sees them: bytes that break the grammar
//! do not reach it.

use crate::framing::{Fault, Limits, Reader};
use std::cell::RefCell;
use std::io::{self, IoSlice};
use std::pin::Pin;
use std::rc::Rc;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};

/// What was read of the responses on one connection.
#[derive(Clone)]
pub struct Responses(Rc<RefCell<State>>);

struct State {
    reader: Reader,
    /// Set where the bytes broke the grammar, until it is taken.
    fault: Option<Fault>,
    broken: bool,
}

impl Responses {
    /// None was read yet.
    pub fn new(limits: Limits) -> Self {
        let reader = Reader::responses(limits);
        Self(Rc::new(RefCell::new(State { reader, fault: None, broken: false })))
    }

    /// A request is sent: a HEAD, to which the response has no body, or another.
    pub fn expect(&self, to_head: bool) {
        self.0.borrow_mut().reader.expect_response(to_head);
    }

    /// Whether no byte of a response is read, or all of it and nothing more.
    pub fn is_between(&self) -> bool {
        self.0.borrow().reader.is_between_messages()
    }

    /// Where the bytes broke the grammar; once.
    pub fn take_fault(&self) -> Option<Fault> {
        self.0.borrow_mut().fault.take()
    }
}

/// A socket to the upstream whose responses are checked.
pub struct CheckedSocket<S> {
    socket: S,
    responses: Responses,
}

impl<S> CheckedSocket<S> {
    /// Checks what is read from a socket.
    pub fn new(socket: S, responses: Responses) -> Self {
        Self { socket, responses }
    }
}

impl<S: AsyncRead + Unpin> AsyncRead for CheckedSocket<S> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let Self { socket, responses } = &mut *self;
        let broken = || Poll::Ready(Err(io::ErrorKind::InvalidData.into()));
        if responses.0.borrow().broken {
            return broken();
        }
        let before = buf.filled().len();
        ready!(Pin::new(socket).poll_read(cx, buf))?;
        let state = &mut *responses.0.borrow_mut();
        if let Err(found) = state.reader.feed(&buf.filled()[before..]) {
            state.fault = Some(found.fault);
            state.broken = true;
            buf.set_filled(before + found.clean);
            if found.clean == 0 {
                return broken();
            }
        }
        Poll::Ready(Ok(()))
    }
}

impl<S: AsyncWrite + Unpin> AsyncWrite for CheckedSocket<S> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &[u8],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write(cx, buf)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bufs: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.socket).poll_write_vectored(cx, bufs)
    }

    fn is_write_vectored(&self) -> bool {
        self.socket.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.socket).poll_shutdown(cx)
    }
}
