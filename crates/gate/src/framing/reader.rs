//! Follows the bytes of a connection from message to message.

use super::fault::{Fault, Part, Rule};
use super::head::{Framing, Head, field};

/// Reads requests of one connection, or responses of one.
#[derive(Debug)]
pub struct Reader {
    limits: Limits,
    /// Responses: whether the next one answers a HEAD. `None`: requests.
    responses: Option<bool>,
    state: State,
    head: Head,
    /// The beginning of a line whose end has not arrived.
    line: Vec<u8>,
    /// Bytes of the lines of chunk sizes, without the digits; and of the trailers.
    extra_bytes: usize,
    trailers: usize,
}

/// What a message may have at most.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Bytes of a head.
    pub head_bytes: usize,
    /// Fields of a head, and of the trailers.
    pub fields: usize,
}

/// The bytes break the grammar.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Broken {
    /// So many of the bytes are of sound messages, or of the sound part of a body: they
    /// may be passed on.
    pub clean: usize,
    /// What is broken.
    pub fault: Fault,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// In a head, or before one.
    Head,
    /// So many bytes of body are left.
    Body(u64),
    /// In the line with a chunk's size.
    ChunkSize,
    /// So many bytes of a chunk are left.
    Chunk(u64),
    /// In the line end after a chunk.
    ChunkEnd,
    /// In the lines after the last chunk.
    Trailers,
    /// All that follows belongs to the body.
    Rest,
    /// Behind a request for a WebSocket whose answer has not begun: nothing may follow.
    Switching,
    /// Broken before.
    Broken(Fault),
}

/// Bytes of all extensions of the chunks of a body, and of all its trailers: below the
/// limits of the HTTP library.
const EXTRA_MAX: usize = 15 * 1024;
/// Digits of a chunk's size: 2⁶⁰ bytes.
const SIZE_DIGITS: usize = 15;

impl Reader {
    /// Reads requests.
    pub fn requests(limits: Limits) -> Self {
        Self::new(limits, None)
    }

    /// Reads responses.
    pub fn responses(limits: Limits) -> Self {
        Self::new(limits, Some(false))
    }

    fn new(limits: Limits, responses: Option<bool>) -> Self {
        let (state, head, line) = (State::Head, Head::default(), Vec::new());
        Self { limits, responses, state, head, line, extra_bytes: 0, trailers: 0 }
    }

    /// The next response answers a HEAD, or another method.
    pub fn expect_response(&mut self, to_head: bool) {
        if let Some(head_only) = &mut self.responses {
            *head_only = to_head;
        }
    }

    /// Whether the last byte ended a message, or none was read.
    pub fn is_between_messages(&self) -> bool {
        self.state == State::Head && self.head == Head::default() && self.line.is_empty()
    }

    /// Whether the last byte ended a request for a WebSocket.
    pub fn is_switching(&self) -> bool {
        self.state == State::Switching
    }

    /// The request for a WebSocket got another answer: requests follow.
    pub fn stay_with_http(&mut self) {
        if self.is_switching() {
            self.state = State::Head;
        }
    }

    /// Reads bytes in the order of their arrival.
    ///
    /// # Errors
    /// They break the grammar; so does all that follows.
    pub fn feed(&mut self, bytes: &[u8]) -> Result<(), Broken> {
        let (mut at, mut clean) = (0, 0);
        while at < bytes.len() {
            let rest = &bytes[at..];
            // A head is clean as a whole only; a body up to its line at fault.
            if self.line.is_empty() && self.head == Head::default() {
                clean = at;
            }
            match &mut self.state {
                State::Rest => return Ok(()),
                State::Broken(fault) => return Err(Broken { clean: 0, fault: *fault }),
                State::Switching => {
                    let fault = Fault { part: Part::Head, rule: Rule::EarlyBytes };
                    self.state = State::Broken(fault);
                    return Err(Broken { clean: at, fault });
                }
                State::Body(left) | State::Chunk(left) => {
                    let step = (*left).min(rest.len() as u64);
                    *left -= step;
                    at += step as usize;
                    self.state = match self.state {
                        State::Body(0) => State::Head,
                        State::Chunk(0) => State::ChunkEnd,
                        state => state,
                    };
                }
                State::Head | State::ChunkSize | State::ChunkEnd | State::Trailers => {
                    let end = memchr::memchr(b'\n', rest);
                    let part = &rest[..end.unwrap_or(rest.len())];
                    at += part.len() + usize::from(end.is_some());
                    let read = match end {
                        Some(_) => self.end_line(part),
                        None => self.keep(part),
                    };
                    if let Err(rule) = read {
                        let fault = Fault { part: self.part(), rule };
                        self.state = State::Broken(fault);
                        self.line = Vec::new();
                        return Err(Broken { clean, fault });
                    }
                }
            }
        }
        Ok(())
    }

    fn part(&self) -> Part {
        match self.state {
            State::Trailers => Part::Trailer,
            State::ChunkSize | State::ChunkEnd => Part::Chunk,
            _ => Part::Head,
        }
    }

    /// Keeps the beginning of a line.
    fn keep(&mut self, part: &[u8]) -> Result<(), Rule> {
        self.fits(self.line.len() + part.len())?;
        if self.state == State::ChunkEnd && (!self.line.is_empty() || part != b"\r") {
            return Err(Rule::ChunkEnd);
        }
        self.line.extend_from_slice(part);
        Ok(())
    }

    /// Reads a line, of which this is the end without its LF.
    fn end_line(&mut self, end: &[u8]) -> Result<(), Rule> {
        if self.line.is_empty() {
            return self.read_line(end);
        }
        let mut line = std::mem::take(&mut self.line);
        self.fits(line.len() + end.len())?;
        line.extend_from_slice(end);
        self.read_line(&line)
    }

    /// Whether a line of this length, without its LF, is within the limits.
    fn fits(&self, length: usize) -> Result<(), Rule> {
        let (used, most, rule) = match self.state {
            State::Head => (self.head.bytes, self.limits.head_bytes, Rule::Bytes),
            State::Trailers => {
                (self.extra_bytes, EXTRA_MAX.min(self.limits.head_bytes - 1), Rule::Bytes)
            }
            State::ChunkSize => (self.extra_bytes, EXTRA_MAX, Rule::ChunkSize),
            _ => return Ok(()),
        };
        if used + length < most { Ok(()) } else { Err(rule) }
    }

    /// Reads a whole line without its LF.
    fn read_line(&mut self, line: &[u8]) -> Result<(), Rule> {
        self.fits(line.len())?;
        let Some((b'\r', content)) = line.split_last() else {
            let chunk_end = self.state == State::ChunkEnd && !line.is_empty();
            return Err(if chunk_end { Rule::ChunkEnd } else { Rule::LineEnd });
        };
        match self.state {
            State::Head => {
                self.head.bytes += line.len() + 1;
                self.head_line(content)
            }
            State::ChunkSize => self.chunk_size(content),
            State::ChunkEnd if content.is_empty() => {
                self.state = State::ChunkSize;
                Ok(())
            }
            State::ChunkEnd => Err(Rule::ChunkEnd),
            _ => {
                self.extra_bytes += line.len() + 1;
                self.trailer(content)
            }
        }
    }

    fn head_line(&mut self, line: &[u8]) -> Result<(), Rule> {
        match (self.head.started, line.is_empty()) {
            // Empty lines before a request are ignored (RFC 9112, section 2.2).
            (false, true) if self.responses.is_none() => Ok(()),
            (false, _) if self.responses.is_none() => self.head.request_line(line),
            (false, _) => self.head.status_line(line),
            (true, true) => self.end_head(),
            (true, false) if self.head.fields >= self.limits.fields => Err(Rule::Fields),
            (true, false) => self.head.field(line, self.responses.is_some()),
        }
    }

    fn end_head(&mut self) -> Result<(), Rule> {
        let framing = match self.responses {
            None => self.head.of_request()?,
            Some(head_only) => self.head.of_response(head_only),
        };
        let switches = self.responses.is_none() && self.head.websocket;
        self.head = Head::default();
        self.state = match framing {
            Framing::Length(0) if switches => State::Switching,
            Framing::Length(0) => State::Head,
            Framing::Length(length) => State::Body(length),
            Framing::Chunked => {
                (self.extra_bytes, self.trailers) = (0, 0);
                State::ChunkSize
            }
            Framing::Close => State::Rest,
        };
        Ok(())
    }

    /// Source: RFC 9112, section 7.1.
    fn chunk_size(&mut self, line: &[u8]) -> Result<(), Rule> {
        let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
        let (digits, extensions) = line.split_at(digits);
        if digits.is_empty() || digits.len() > SIZE_DIGITS {
            return Err(Rule::ChunkSize);
        }
        self.extra_bytes += extensions.len();
        let space = extensions.iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let semicolon = extensions.get(space) == Some(&b';');
        // The value of an extension is skipped, whatever text it has.
        let text = extensions.iter().all(|byte| *byte == b'\t' || !byte.is_ascii_control());
        if !(extensions.is_empty() || semicolon && text) {
            return Err(Rule::ChunkSize);
        }
        let size = digits.iter().fold(0u64, |size, digit| {
            size * 16 + u64::from((*digit as char).to_digit(16).unwrap_or(0))
        });
        self.state = if size == 0 { State::Trailers } else { State::Chunk(size) };
        if size == 0 {
            self.extra_bytes = 0;
        }
        Ok(())
    }

    fn trailer(&mut self, line: &[u8]) -> Result<(), Rule> {
        if line.is_empty() {
            self.state = State::Head;
            return Ok(());
        }
        if self.trailers >= self.limits.fields {
            return Err(Rule::Fields);
        }
        self.trailers += 1;
        field(line).map(drop)
    }
}

#[cfg(test)]
mod tests;
