//! What a customer says before the gate decides about her: over TLS her whole
//! hello, in clear the first bytes of a request.

use crate::socket::Scheme;
use tidegate_hello::{ClientHello, Limits, Malformed, OtherProtocol, Progress, Reader};

/// Collects it.
pub enum Opening {
    /// Over TLS.
    Tls(Reader),
    /// In clear: what was read at once.
    Clear(Vec<u8>),
}

/// What it amounts to so far.
pub enum Heard {
    /// Nothing yet that could be judged.
    NotEnough,
    /// A whole hello.
    Hello(ClientHello),
    /// What may be the beginning of a request in clear.
    Request,
    /// It will never be TLS.
    NotTls(OtherProtocol),
    /// A hello that breaks TLS or a cap.
    Malformed(Malformed),
    /// On the port in clear: it will never be HTTP.
    NotHttp,
}

impl Opening {
    /// Nothing was said yet.
    pub fn new(scheme: Scheme, limits: Limits) -> Self {
        match scheme {
            Scheme::Https => Self::Tls(Reader::new(limits)),
            Scheme::Http => Self::Clear(Vec::new()),
        }
    }

    /// Takes what arrived, and answers for all so far.
    pub fn push(&mut self, bytes: &[u8]) -> Heard {
        match self {
            Self::Tls(reader) => match reader.push(bytes) {
                Progress::NeedsMore => Heard::NotEnough,
                Progress::Complete(hello) => Heard::Hello(hello),
                Progress::NotTls(looks) => Heard::NotTls(looks),
                Progress::Malformed(malformed) => Heard::Malformed(malformed),
            },
            Self::Clear(said) => {
                said.extend_from_slice(bytes);
                match said.first() {
                    None => Heard::NotEnough,
                    Some(first) if may_begin_request(*first) => Heard::Request,
                    Some(_) => Heard::NotHttp,
                }
            }
        }
    }

    /// All that was said, verbatim.
    pub fn into_raw(self) -> Vec<u8> {
        match self {
            Self::Tls(reader) => reader.into_raw(),
            Self::Clear(said) => said,
        }
    }
}

/// Whether a request may begin with this byte: that of a method's name, or of
/// an empty line before it. No record of TLS does.
///
/// Source: RFC 9110, section 5.6.2 (token); RFC 9112, section 2.2.
fn may_begin_request(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~\r\n".contains(&byte)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn in_clear_the_first_byte_tells_a_request_from_what_is_none() {
        let heard = |bytes: &[u8]| Opening::new(Scheme::Http, Limits::default()).push(bytes);
        for request in ["GET / HTTP/1.1\r\n", "p", "\r\nPOST /", "M-SEARCH *", "!x"] {
            assert!(matches!(heard(request.as_bytes()), Heard::Request), "{request}");
        }
        for other in [&b"\x16\x03\x01\x02\x00"[..], b"\x80\x2e\x01", b"\0", b" GET", b"(", b"\xff"]
        {
            assert!(matches!(heard(other), Heard::NotHttp), "{other:?}");
        }
        assert!(matches!(heard(b""), Heard::NotEnough));
    }
}
