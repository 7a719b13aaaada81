//! Recognises the protocol of a connection that does not speak TLS, for the
//! metrics and for the answer to plain HTTP.

use std::fmt;

/// The probable protocol of a connection that does not speak TLS.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum OtherProtocol {
    /// An HTTP request without TLS (any registered method, or HTTP/2's preface).
    PlainHttp,
    /// An SSH client.
    Ssh,
    /// An SSL 2.0 hello, in which old clients also offered SSL 3 and TLS 1.0.
    SslV2,
    /// A PROXY protocol header, version 1 or 2: a load balancer in front is
    /// configured to send one.
    ProxyProtocol,
    /// None of these.
    Unknown,
}

impl OtherProtocol {
    /// A short name, fit for a metric label.
    pub fn name(self) -> &'static str {
        match self {
            Self::PlainHttp => "http_in_clear",
            Self::Ssh => "ssh",
            Self::SslV2 => "sslv2",
            Self::ProxyProtocol => "proxy_protocol",
            Self::Unknown => "junk",
        }
    }
}

impl fmt::Display for OtherProtocol {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::PlainHttp => "plain HTTP",
            Self::Ssh => "SSH",
            Self::SslV2 => "SSL 2.0",
            Self::ProxyProtocol => "a PROXY protocol header",
            Self::Unknown => "an unknown protocol",
        })
    }
}

/// Result of the first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Too few bytes; at most 16 are ever needed.
    Undecided,
    /// The start of a TLS record (the version's minor number is ignored).
    Tls,
    /// Never TLS.
    Other(OtherProtocol),
}

/// Classifies the first bytes of a connection. Once decided, the result is the
/// same for every longer prefix.
pub(crate) fn classify(bytes: &[u8]) -> Start {
    match bytes {
        [] | [CHANGE_CIPHER_SPEC..=APPLICATION_DATA] => Start::Undecided,
        [CHANGE_CIPHER_SPEC..=APPLICATION_DATA, 3, ..] => Start::Tls,
        [first, ..] if first & 0x80 != 0 => classify_ssl2(bytes),
        _ => classify_text(bytes),
    }
}

const CHANGE_CIPHER_SPEC: u8 = 20;
const APPLICATION_DATA: u8 = 23;

/// Source: RFC 5246, appendix E.2: a two-byte length with the high bit set,
/// the message type 1, then the version: 0x0002 or 0x03xx.
fn classify_ssl2(bytes: &[u8]) -> Start {
    let fits = [
        true,
        true,
        bytes.get(2).is_none_or(|kind| *kind == 1),
        bytes.get(3).is_none_or(|major| matches!(major, 0 | 3)),
        bytes.get(4).is_none_or(|minor| bytes[3] == 3 || *minor == 2),
    ];
    match (fits.contains(&false), bytes.len()) {
        (true, _) => Start::Other(OtherProtocol::Unknown),
        (false, 5..) => Start::Other(OtherProtocol::SslV2),
        (false, _) => Start::Undecided,
    }
}

fn classify_text(bytes: &[u8]) -> Start {
    let mut answer = Start::Other(OtherProtocol::Unknown);
    for (token, protocol) in TOKENS {
        if bytes.starts_with(token) {
            return Start::Other(*protocol);
        }
        if token.starts_with(bytes) {
            answer = Start::Undecided;
        }
    }
    answer
}

/// Source: IANA, HTTP Method Registry; RFC 9113, section 3.4; RFC 4253,
/// section 4.2; the PROXY protocol's specification, sections 2.1 and 2.2.
/// No token is the beginning of another.
const TOKENS: &[(&[u8], OtherProtocol)] = &[
    (b"GET ", OtherProtocol::PlainHttp),
    (b"POST ", OtherProtocol::PlainHttp),
    (b"HEAD ", OtherProtocol::PlainHttp),
    (b"PUT ", OtherProtocol::PlainHttp),
    (b"DELETE ", OtherProtocol::PlainHttp),
    (b"OPTIONS ", OtherProtocol::PlainHttp),
    (b"PATCH ", OtherProtocol::PlainHttp),
    (b"CONNECT ", OtherProtocol::PlainHttp),
    (b"TRACE ", OtherProtocol::PlainHttp),
    (b"QUERY ", OtherProtocol::PlainHttp),
    (b"PRI * HTTP/2", OtherProtocol::PlainHttp),
    (b"COPY ", OtherProtocol::PlainHttp),
    (b"LOCK ", OtherProtocol::PlainHttp),
    (b"MKCOL ", OtherProtocol::PlainHttp),
    (b"MOVE ", OtherProtocol::PlainHttp),
    (b"PROPFIND ", OtherProtocol::PlainHttp),
    (b"PROPPATCH ", OtherProtocol::PlainHttp),
    (b"REPORT ", OtherProtocol::PlainHttp),
    (b"SEARCH ", OtherProtocol::PlainHttp),
    (b"UNLOCK ", OtherProtocol::PlainHttp),
    (b"SSH-", OtherProtocol::Ssh),
    (b"PROXY ", OtherProtocol::ProxyProtocol),
    (b"\r\n\r\n\0\r\nQUIT\n", OtherProtocol::ProxyProtocol),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_protocols_are_named() {
        assert_eq!(classify(b"GET / HTTP/1.1\r\n"), Start::Other(OtherProtocol::PlainHttp));
        assert_eq!(classify(b"PRI * HTTP/2.0\r\n"), Start::Other(OtherProtocol::PlainHttp));
        assert_eq!(classify(b"SSH-2.0-OpenSSH_9.2\r\n"), Start::Other(OtherProtocol::Ssh));
        assert_eq!(classify(b"PROXY TCP4 "), Start::Other(OtherProtocol::ProxyProtocol));
        assert_eq!(
            classify(b"\r\n\r\n\0\r\nQUIT\n\x21"),
            Start::Other(OtherProtocol::ProxyProtocol)
        );
        assert_eq!(classify(&[0x80, 0x2e, 1, 0, 2, 0]), Start::Other(OtherProtocol::SslV2));
        assert_eq!(classify(&[0x80, 0x2e, 1, 3, 1, 0]), Start::Other(OtherProtocol::SslV2));
        assert_eq!(classify(&[0xff; 8]), Start::Other(OtherProtocol::Unknown));
        assert_eq!(classify(b"EHLO me\r\n"), Start::Other(OtherProtocol::Unknown));
        assert_eq!(classify(&[0x16, 0x02, 0x00]), Start::Other(OtherProtocol::Unknown));
        assert_eq!(classify(&[0]), Start::Other(OtherProtocol::Unknown));
    }

    #[test]
    fn a_possible_start_of_tls_is_never_rejected() {
        assert_eq!(classify(&[]), Start::Undecided);
        assert_eq!(classify(&[0x16]), Start::Undecided);
        assert!((0..=255).all(|minor| classify(&[0x16, 3, minor]) == Start::Tls));
    }

    #[test]
    fn a_decision_never_changes_with_more_bytes() {
        let mut samples: Vec<Vec<u8>> = TOKENS.iter().map(|(token, _)| token.to_vec()).collect();
        samples.extend([vec![0x80, 0x2e, 1, 0, 2], vec![0x80, 0x2e, 1, 3, 9], vec![0x16, 3, 1]]);
        for sample in samples {
            let mut decided = Start::Undecided;
            for end in 0..=sample.len() {
                let now = classify(&sample[..end]);
                assert!(decided == Start::Undecided || now == decided, "{sample:02x?} at {end}");
                decided = now;
            }
            assert_ne!(decided, Start::Undecided, "{sample:02x?}");
        }
    }
}
