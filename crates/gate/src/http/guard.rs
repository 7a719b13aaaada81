//! Finds requests that have both Content-Length and Transfer-Encoding. The HTTP library
//! resolves the conflict silently (it drops the length and closes the connection after
//! the request), so nothing can be smuggled past it; but such a request is an attack or a
//! broken client, and is answered with an error.
//!
//! Source: RFC 9112, section 6.1: a server MAY reject such a request.

use std::collections::VecDeque;

/// Length of the longest field name that is compared.
const NAME_MAX: usize = 17;

/// Follows the bytes of a connection from request to request.
#[derive(Debug)]
pub struct LengthGuard {
    state: State,
    /// Of the line being read: its beginning in lower case, and its length.
    line: [u8; 40],
    length: usize,
    /// Of the head being read.
    started: bool,
    content_length: Option<u64>,
    both: (bool, bool),
    /// Verdicts on heads read that were not taken yet.
    verdicts: VecDeque<bool>,
}

impl Default for LengthGuard {
    fn default() -> Self {
        Self {
            state: State::Head,
            line: [0; 40],
            length: 0,
            started: false,
            content_length: None,
            both: (false, false),
            verdicts: VecDeque::new(),
        }
    }
}

#[derive(Debug, Clone, Copy, PartialEq)]
enum State {
    Head,
    /// So many bytes of body are left.
    Body(u64),
    /// In the line that gives a chunk's size.
    ChunkSize,
    /// So many bytes of a chunk are left, its line end included.
    Chunk(u64),
    Trailers,
    /// The request is malformed; the HTTP library detects it too.
    Lost,
}

impl LengthGuard {
    /// Reads bytes in the order of their arrival.
    pub fn feed(&mut self, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            match self.state {
                State::Lost => return,
                State::Body(left) | State::Chunk(left) => {
                    let step = left.min(bytes.len() as u64);
                    bytes = &bytes[step as usize..];
                    self.state = match (self.state, left - step) {
                        (State::Body(_), 0) => State::Head,
                        (State::Body(_), left) => State::Body(left),
                        (_, 0) => State::ChunkSize,
                        (_, left) => State::Chunk(left),
                    };
                }
                State::Head | State::ChunkSize | State::Trailers => {
                    let end = memchr::memchr(b'\n', bytes);
                    let part = &bytes[..end.unwrap_or(bytes.len())];
                    self.keep(part);
                    let Some(end) = end else { return };
                    bytes = &bytes[end + 1..];
                    self.line_end();
                }
            }
        }
    }

    /// The verdict on the oldest head not taken yet: whether it has both fields.
    pub fn conflict(&mut self) -> bool {
        self.verdicts.pop_front().unwrap_or(false)
    }

    fn keep(&mut self, part: &[u8]) {
        let from = self.length.min(self.line.len());
        let room = &mut self.line[from..];
        let kept = part.len().min(room.len());
        room[..kept].copy_from_slice(&part[..kept]);
        self.length = self.length.saturating_add(part.len());
    }

    fn line_end(&mut self) {
        let mut line = self.line;
        let kept = self.length.min(line.len());
        let whole = self.length <= line.len();
        self.length = 0;
        let line = &mut line[..kept];
        let line: &[u8] = match line {
            [rest @ .., b'\r'] if whole => rest,
            all => all,
        };
        match self.state {
            State::Head if line.is_empty() && self.started => self.head_end(),
            // Empty lines before a request are skipped.
            State::Head if line.is_empty() => {}
            State::Head if !self.started => self.started = true,
            State::Head => self.field(line),
            State::ChunkSize => {
                let digits = line.iter().take_while(|byte| byte.is_ascii_hexdigit()).count();
                let size = std::str::from_utf8(&line[..digits]).ok();
                let size = size.and_then(|size| u64::from_str_radix(size, 16).ok());
                self.state = match size {
                    Some(0) => State::Trailers,
                    Some(size) if size < u64::MAX - 2 => State::Chunk(size + 2),
                    _ => State::Lost,
                };
            }
            State::Trailers if line.is_empty() => self.state = State::Head,
            _ => {}
        }
    }

    fn field(&mut self, line: &[u8]) {
        // Only names of at most this length are compared.
        let Some(colon) = line.iter().take(NAME_MAX + 1).position(|byte| *byte == b':') else {
            return;
        };
        let (name, value) = (&line[..colon], &line[colon + 1..]);
        if name.eq_ignore_ascii_case(b"content-length") {
            self.both.0 = true;
            let digits = std::str::from_utf8(value.trim_ascii()).unwrap_or("");
            self.content_length = digits.parse().ok();
        } else if name.eq_ignore_ascii_case(b"transfer-encoding") {
            self.both.1 = true;
        }
    }

    fn head_end(&mut self) {
        let (length, encoding) = std::mem::take(&mut self.both);
        self.started = false;
        // Only requests with a coding take their verdict, see `conflict`.
        if encoding {
            self.verdicts.push_back(length);
        }
        self.state = match (encoding, length, self.content_length.take()) {
            (true, _, _) => State::ChunkSize,
            (_, true, None) => State::Lost,
            (_, _, Some(left)) if left > 0 => State::Body(left),
            _ => State::Head,
        };
        if self.verdicts.len() > 1_000 {
            self.state = State::Lost;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const PLAIN: &str = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
    const SIZED: &str = "POST / HTTP/1.1\r\nContent-Length: 5\r\n\r\nhello";
    const CHUNKED: &str =
        "POST / HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n5;x=y\r\nhello\r\n0\r\nA: b\r\n\r\n";
    const BOTH: &str =
        "POST / HTTP/1.1\r\ncontent-LENGTH: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n";

    fn verdicts(text: &str) -> Vec<bool> {
        let mut guard = LengthGuard::default();
        guard.feed(text.as_bytes());
        assert_ne!(guard.state, State::Lost);
        guard.verdicts.into()
    }

    #[test]
    fn only_a_head_with_both_is_a_conflict() {
        assert_eq!(
            verdicts(&[PLAIN, SIZED, CHUNKED, BOTH, CHUNKED].concat()),
            [false, true, false]
        );
    }

    #[test]
    fn a_body_that_looks_like_a_head_is_skipped() {
        let hidden = format!("POST / HTTP/1.1\r\nContent-Length: {}\r\n\r\n{BOTH}", BOTH.len());
        assert_eq!(verdicts(&[&hidden, CHUNKED].concat()), [false]);
    }

    #[test]
    fn bare_line_feeds_end_lines_too() {
        assert_eq!(verdicts(&BOTH.replace('\r', "").replace("0\n\n", "0\r\n\r\n")), [true]);
    }

    #[test]
    fn endless_lines_take_no_memory() {
        let mut guard = LengthGuard::default();
        for _ in 0..1_000 {
            guard.feed(&[b'a'; 1_000]);
        }
        assert!(guard.verdicts.is_empty());
    }

    proptest! {
        #[test]
        fn every_split_gives_the_same_verdicts(cuts in proptest::collection::vec(0usize..400, 0..6)) {
            let text = [SIZED, CHUNKED, PLAIN, BOTH, PLAIN, CHUNKED].concat();
            let mut cuts: Vec<_> = cuts.into_iter().map(|cut| cut.min(text.len())).collect();
            cuts.extend([0, text.len()]);
            cuts.sort_unstable();
            let mut guard = LengthGuard::default();
            cuts.windows(2).for_each(|pair| guard.feed(&text.as_bytes()[pair[0]..pair[1]]));
            prop_assert_eq!(guard.verdicts, [false, true, false]);
        }

        #[test]
        fn any_bytes_are_accepted(junk in proptest::collection::vec(any::<u8>(), 0..500)) {
            LengthGuard::default().feed(&junk);
        }
    }
}
