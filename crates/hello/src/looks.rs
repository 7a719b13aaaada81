//! What bytes that can never become TLS look like, so that the operator and,
//! where it speaks HTTP, the client can be told.

use std::fmt;

/// What a connection that does not speak TLS looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Looks {
    /// An HTTP request without TLS (any registered method, or HTTP/2's preface).
    HttpInClear,
    /// An SSH client.
    Ssh,
    /// An SSL 2.0 hello, also the form in which old clients offered SSL 3 and
    /// TLS 1.0.
    SslV2,
    /// A PROXY protocol header, version 1 or 2: a load balancer in front is
    /// configured to send one.
    ProxyProtocol,
    /// Nothing known.
    Junk,
}

impl Looks {
    /// A short name, fit for a metric label.
    pub fn name(self) -> &'static str {
        match self {
            Self::HttpInClear => "http_in_clear",
            Self::Ssh => "ssh",
            Self::SslV2 => "sslv2",
            Self::ProxyProtocol => "proxy_protocol",
            Self::Junk => "junk",
        }
    }
}

impl fmt::Display for Looks {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::HttpInClear => "HTTP in clear",
            Self::Ssh => "SSH",
            Self::SslV2 => "SSL 2.0",
            Self::ProxyProtocol => "a PROXY protocol header",
            Self::Junk => "junk",
        })
    }
}

/// What the first bytes say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Start {
    /// Too few to say; at most 16 bytes are ever needed.
    Undecided,
    /// The start of a TLS record (the version's minor number is ignored).
    Tls,
    /// Never TLS.
    Other(Looks),
}

/// Judges the first bytes of a connection. The answer for a longer prefix
/// never contradicts that for a shorter one, unless that was undecided.
pub(crate) fn judge(bytes: &[u8]) -> Start {
    match bytes {
        [] | [CHANGE_CIPHER_SPEC..=APPLICATION_DATA] => Start::Undecided,
        [CHANGE_CIPHER_SPEC..=APPLICATION_DATA, 3, ..] => Start::Tls,
        [first, ..] if first & 0x80 != 0 => judge_ssl2(bytes),
        _ => judge_text(bytes),
    }
}

const CHANGE_CIPHER_SPEC: u8 = 20;
const APPLICATION_DATA: u8 = 23;

/// Source: RFC 5246, appendix E.2: a two-byte length with the high bit set,
/// the message type 1, then the version: 0x0002 or 0x03xx.
fn judge_ssl2(bytes: &[u8]) -> Start {
    let fits = [
        true,
        true,
        bytes.get(2).is_none_or(|kind| *kind == 1),
        bytes.get(3).is_none_or(|major| matches!(major, 0 | 3)),
        bytes.get(4).is_none_or(|minor| bytes[3] == 3 || *minor == 2),
    ];
    match (fits.contains(&false), bytes.len()) {
        (true, _) => Start::Other(Looks::Junk),
        (false, 5..) => Start::Other(Looks::SslV2),
        (false, _) => Start::Undecided,
    }
}

fn judge_text(bytes: &[u8]) -> Start {
    let mut answer = Start::Other(Looks::Junk);
    for (token, looks) in TOKENS {
        if bytes.starts_with(token) {
            return Start::Other(*looks);
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
const TOKENS: &[(&[u8], Looks)] = &[
    (b"GET ", Looks::HttpInClear),
    (b"POST ", Looks::HttpInClear),
    (b"HEAD ", Looks::HttpInClear),
    (b"PUT ", Looks::HttpInClear),
    (b"DELETE ", Looks::HttpInClear),
    (b"OPTIONS ", Looks::HttpInClear),
    (b"PATCH ", Looks::HttpInClear),
    (b"CONNECT ", Looks::HttpInClear),
    (b"TRACE ", Looks::HttpInClear),
    (b"QUERY ", Looks::HttpInClear),
    (b"PRI * HTTP/2", Looks::HttpInClear),
    (b"COPY ", Looks::HttpInClear),
    (b"LOCK ", Looks::HttpInClear),
    (b"MKCOL ", Looks::HttpInClear),
    (b"MOVE ", Looks::HttpInClear),
    (b"PROPFIND ", Looks::HttpInClear),
    (b"PROPPATCH ", Looks::HttpInClear),
    (b"REPORT ", Looks::HttpInClear),
    (b"SEARCH ", Looks::HttpInClear),
    (b"UNLOCK ", Looks::HttpInClear),
    (b"SSH-", Looks::Ssh),
    (b"PROXY ", Looks::ProxyProtocol),
    (b"\r\n\r\n\0\r\nQUIT\n", Looks::ProxyProtocol),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_protocols_are_named() {
        assert_eq!(judge(b"GET / HTTP/1.1\r\n"), Start::Other(Looks::HttpInClear));
        assert_eq!(judge(b"PRI * HTTP/2.0\r\n"), Start::Other(Looks::HttpInClear));
        assert_eq!(judge(b"SSH-2.0-OpenSSH_9.2\r\n"), Start::Other(Looks::Ssh));
        assert_eq!(judge(b"PROXY TCP4 "), Start::Other(Looks::ProxyProtocol));
        assert_eq!(judge(b"\r\n\r\n\0\r\nQUIT\n\x21"), Start::Other(Looks::ProxyProtocol));
        assert_eq!(judge(&[0x80, 0x2e, 1, 0, 2, 0]), Start::Other(Looks::SslV2));
        assert_eq!(judge(&[0x80, 0x2e, 1, 3, 1, 0]), Start::Other(Looks::SslV2));
        assert_eq!(judge(&[0xff; 8]), Start::Other(Looks::Junk));
        assert_eq!(judge(b"EHLO me\r\n"), Start::Other(Looks::Junk));
        assert_eq!(judge(&[0x16, 0x02, 0x00]), Start::Other(Looks::Junk));
        assert_eq!(judge(&[0]), Start::Other(Looks::Junk));
    }

    #[test]
    fn what_may_still_become_tls_is_never_given_up() {
        assert_eq!(judge(&[]), Start::Undecided);
        assert_eq!(judge(&[0x16]), Start::Undecided);
        assert!((0..=255).all(|minor| judge(&[0x16, 3, minor]) == Start::Tls));
    }

    #[test]
    fn an_answer_never_changes_as_more_comes() {
        let mut samples: Vec<Vec<u8>> = TOKENS.iter().map(|(token, _)| token.to_vec()).collect();
        samples.extend([vec![0x80, 0x2e, 1, 0, 2], vec![0x80, 0x2e, 1, 3, 9], vec![0x16, 3, 1]]);
        for sample in samples {
            let mut decided = Start::Undecided;
            for end in 0..=sample.len() {
                let now = judge(&sample[..end]);
                assert!(decided == Start::Undecided || now == decided, "{sample:02x?} at {end}");
                decided = now;
            }
            assert_ne!(decided, Start::Undecided, "{sample:02x?}");
        }
    }
}
