//! The body of an answer as it comes: by length, in chunks, or until the end
//! of the connection.
//!
//! Source: RFC 9112, sections 6.3 and 7.1.

use crate::outcome::Failure;

/// Most of a page that is kept for the links on it.
pub(crate) const KEPT: usize = 256 * 1024;

/// How the end of the body is determined.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Body {
    Done,
    Length(u64),
    Chunked(Chunks),
    UntilClose,
}

/// Within a chunked body.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Chunks {
    Size {
        size: u64,
        digits: u8,
    },
    Extension {
        size: u64,
    },
    Data {
        left: u64,
    },
    DataEnd,
    /// Line of the trailer: is it empty so far?
    Trailer {
        empty: bool,
    },
}

impl Body {
    /// A chunked body that has not begun.
    pub(crate) fn chunked() -> Self {
        Self::Chunked(Chunks::Size { size: 0, digits: 0 })
    }

    pub(crate) fn is_done(self) -> bool {
        matches!(self, Self::Done)
    }

    /// Consumes received bytes; returns how many belong to the body.
    pub(crate) fn take(
        &mut self,
        bytes: &[u8],
        keep: &mut Option<&mut Vec<u8>>,
    ) -> Result<usize, Failure> {
        let mut at = 0;
        while at < bytes.len() {
            let rest = &bytes[at..];
            match self {
                Self::Done => break,
                Self::UntilClose => {
                    store(keep, rest);
                    at = bytes.len();
                }
                Self::Length(left) => {
                    let count = (rest.len() as u64).min(*left);
                    store(keep, &rest[..count as usize]);
                    at += count as usize;
                    *left -= count;
                    if *left == 0 {
                        *self = Self::Done;
                    }
                }
                Self::Chunked(Chunks::Data { left }) => {
                    let count = (rest.len() as u64).min(*left);
                    store(keep, &rest[..count as usize]);
                    at += count as usize;
                    *left -= count;
                    if *left == 0 {
                        *self = Self::Chunked(Chunks::DataEnd);
                    }
                }
                Self::Chunked(chunks) => {
                    at += 1;
                    match chunks.byte(rest[0])? {
                        Some(next) => *chunks = next,
                        None => *self = Self::Done,
                    }
                }
            }
        }
        Ok(at)
    }
}

pub(crate) fn store(keep: &mut Option<&mut Vec<u8>>, bytes: &[u8]) {
    if let Some(kept) = keep {
        let room = KEPT.saturating_sub(kept.len()).min(bytes.len());
        kept.extend_from_slice(&bytes[..room]);
    }
}

impl Chunks {
    /// One byte between the data; `None` at the end of the body.
    fn byte(self, byte: u8) -> Result<Option<Self>, Failure> {
        let after_size = |size| match size {
            0 => Self::Trailer { empty: true },
            left => Self::Data { left },
        };
        Ok(Some(match (self, byte) {
            (
                Self::Size { size, digits: digits @ 0..16 },
                b'0'..=b'9' | b'a'..=b'f' | b'A'..=b'F',
            ) => {
                let digit = (byte as char).to_digit(16).unwrap_or_default();
                Self::Size { size: size << 4 | u64::from(digit), digits: digits + 1 }
            }
            (Self::Size { digits: 0, .. }, _) => return Err(Failure::Http),
            (Self::Size { size, .. } | Self::Extension { size }, b'\n') => after_size(size),
            (Self::Size { size, .. }, b'\r' | b';' | b' ' | b'\t') => Self::Extension { size },
            (Self::Size { .. }, _) => return Err(Failure::Http),
            (Self::Extension { size }, _) => Self::Extension { size },
            (Self::DataEnd, b'\r') => Self::DataEnd,
            (Self::DataEnd, b'\n') => Self::Size { size: 0, digits: 0 },
            (Self::DataEnd, _) => return Err(Failure::Http),
            (Self::Trailer { empty: true }, b'\n') => return Ok(None),
            (Self::Trailer { .. }, b'\n') => Self::Trailer { empty: true },
            (Self::Trailer { empty }, b'\r') => Self::Trailer { empty },
            (Self::Trailer { .. }, _) => Self::Trailer { empty: false },
            (Self::Data { .. }, _) => return Err(Failure::Http),
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn chunked(bytes: &[u8], step: usize) -> Result<(Vec<u8>, usize, bool), Failure> {
        let mut body = Body::chunked();
        let mut kept = Vec::new();
        let mut used = 0;
        for piece in bytes.chunks(step) {
            used += body.take(piece, &mut Some(&mut kept))?;
        }
        Ok((kept, used, body.is_done()))
    }

    #[test]
    fn chunks_are_put_together_however_they_are_split() {
        let bytes = b"4;x=y\r\nWiki\r\nA\r\npedia in c\r\n0\r\nTrailer: 1\r\n\r\nNEXT";
        for step in 1..bytes.len() {
            let (kept, used, done) = chunked(bytes, step).unwrap();
            assert_eq!(kept, b"Wikipedia in c");
            assert_eq!(used, bytes.len() - 4, "step {step}");
            assert!(done);
        }
    }

    #[test]
    fn bad_chunks_are_errors() {
        for bad in [&b"\r\n"[..], b"x", b"1\r\nab", b"12345678123456781\r\n", b"-1\r\n"] {
            assert_eq!(chunked(bad, 1), Err(Failure::Http), "{bad:?}");
        }
    }
}
