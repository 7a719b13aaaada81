//! The upstream's responses as the HTTP library sees them: bytes that break the grammar
//! do not reach it.

use crate::framing::{Fault, Limits, Reader};
use std::cell::RefCell;
use std::io;
use std::rc::Rc;
use tokio::io::ReadBuf;

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

    /// Checks the bytes that were read behind the first `before`. Those that break the grammar
    /// are taken away.
    ///
    /// # Errors
    /// `InvalidData` where nothing is left.
    pub fn check(&self, buf: &mut ReadBuf<'_>, before: usize) -> io::Result<()> {
        let state = &mut *self.0.borrow_mut();
        if let Err(found) = state.reader.feed(&buf.filled()[before..]) {
            state.fault = Some(found.fault);
            state.broken = true;
            buf.set_filled(before + found.clean);
            if found.clean == 0 {
                return Err(io::ErrorKind::InvalidData.into());
            }
        }
        Ok(())
    }

    /// Whether the bytes broke the grammar: no further ones count.
    ///
    /// # Errors
    /// `InvalidData` if they did.
    pub fn check_unbroken(&self) -> io::Result<()> {
        match self.0.borrow().broken {
            true => Err(io::ErrorKind::InvalidData.into()),
            false => Ok(()),
        }
    }
}
