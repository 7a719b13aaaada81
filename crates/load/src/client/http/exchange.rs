//! One request and its response, with their times: the types of both HTTP versions.

use std::cell::Cell;
use std::io;
use std::time::Instant;

use super::coding::Coding;
use super::head::{Fields, LastHead, WaitingPage};
use crate::outcome::{Failure, Stage};
use crate::scenario::page::Method;

/// Largest response head.
pub(crate) const LARGEST_HEAD: usize = 64 * 1024;

/// One request to send, and where its response goes.
pub(crate) struct Exchange<'a> {
    /// Head and body in HTTP/1.1 form.
    pub(crate) bytes: &'a [u8],
    /// Time of sending.
    pub(crate) sent: Instant,
    /// The response has no body (HEAD).
    pub(crate) head_only: bool,
    /// Header fields to keep of the response, in lower case.
    pub(crate) headers: &'a [String],
    /// Buffer for up to [`KEPT`](super::body::KEPT) bytes of the body, if it is needed.
    pub(crate) keep: Option<&'a mut Vec<u8>>,
    /// Empty read buffer, reused from request to request.
    pub(crate) buffer: &'a mut Vec<u8>,
    /// Parsed head of earlier responses.
    pub(crate) last_head: &'a LastHead,
    /// Set to the progress of the request.
    pub(crate) stage: &'a Cell<Stage>,
    /// What is kept of the response to be shown.
    pub(crate) watch: Watch<'a>,
}

/// Keeps what is to be shown of a response.
pub(crate) struct Watch<'a> {
    /// What to keep of a response with this status.
    pub(crate) shows: &'a dyn Fn(u16) -> Show,
    pub(crate) seen: &'a mut Seen,
}

/// What of a response is to be shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Show {
    Nothing,
    /// The head; the body as far as it is kept anyway.
    Head,
    All,
}

/// A response, as far as it is to be shown.
#[derive(Debug, Default)]
pub(crate) struct Seen {
    /// Empty if nothing is to be shown.
    pub(crate) head: Vec<u8>,
    /// Encoded as it came; empty if it is kept elsewhere.
    pub(crate) body: Vec<u8>,
}

impl<'a> Watch<'a> {
    /// Takes the head of a response, as `head` writes it. Returns where the body goes, if it is
    /// to be shown.
    pub(crate) fn head(
        self,
        status: u16,
        head: impl FnOnce(&mut Vec<u8>),
    ) -> Option<&'a mut Vec<u8>> {
        let show = (self.shows)(status);
        if show != Show::Nothing {
            head(&mut self.seen.head);
        }
        (show == Show::All).then_some(&mut self.seen.body)
    }
}

/// A response without its body.
#[derive(Debug)]
pub(crate) struct Answer {
    pub(crate) status: u16,
    /// The connection can be used for another request.
    pub(crate) reusable: bool,
    /// How the body is encoded.
    pub(crate) coding: Coding,
    pub(crate) fields: Option<Box<Fields>>,
    pub(crate) sent: Instant,
    pub(crate) first_byte: Instant,
    pub(crate) last_byte: Instant,
    pub(crate) received_bytes: u64,
}

impl Answer {
    /// Whether it is a redirect.
    pub(crate) fn is_redirect(&self) -> bool {
        matches!(self.status, 301 | 302 | 303 | 307 | 308)
    }

    /// What it says, if it is a page of a gate's waiting room.
    pub(crate) fn waits(&self) -> Option<WaitingPage> {
        self.fields.as_ref()?.waiting
    }

    /// The header fields that were kept.
    pub(crate) fn headers(&self) -> &[(String, String)] {
        self.fields.as_ref().map_or(&[], |fields| &fields.headers)
    }
}

/// Why there is no complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ExchangeError {
    pub(crate) failure: Failure,
    pub(crate) progress: Progress,
}

/// How far a request came that has no complete response.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// No byte of it was sent.
    Unsent,
    /// No byte of a response was received: on a reused connection the server had probably
    /// closed it before the request arrived, but it may have processed the request.
    Unanswered,
    /// A part of the response was received, or the fault is not the server's.
    Answered,
}

impl ExchangeError {
    /// Whether the request may be sent again on a new connection after the connection that
    /// was kept for it has ended.
    ///
    /// Source: RFC 9110, section 9.2.2: a request is repeated automatically only if its
    /// method is idempotent, or if it is known not to have been applied.
    pub(crate) fn may_be_repeated(&self, method: Method) -> bool {
        let ended = matches!(self.failure, Failure::Reset | Failure::Closed | Failure::GoAway);
        ended
            && match self.progress {
                Progress::Unsent => true,
                Progress::Unanswered => method.is_idempotent(),
                Progress::Answered => false,
            }
    }
}

pub(crate) fn failure(error: &io::Error) -> Failure {
    match error.kind() {
        io::ErrorKind::ConnectionReset | io::ErrorKind::BrokenPipe => Failure::Reset,
        io::ErrorKind::UnexpectedEof | io::ErrorKind::NotConnected => Failure::Closed,
        io::ErrorKind::TimedOut => Failure::ConnectTimeout,
        io::ErrorKind::InvalidData => Failure::Tls,
        _ => Failure::Other,
    }
}
