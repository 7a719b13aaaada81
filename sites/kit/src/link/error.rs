//! Why a call failed: which tier, which address, and the cause.

use std::fmt;

/// A call that failed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{tier} tier at {address}: {cause}")]
pub struct Error {
    /// The tier that was called.
    pub tier: &'static str,
    /// Where it was expected.
    pub address: String,
    /// What kind of failure it was.
    pub kind: Kind,
    /// The cause, with what can be done about it.
    pub cause: String,
}

/// Kinds of failures.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Too many calls are under way: it was not sent.
    Busy,
    /// No connection, or no TLS on it: it was not sent.
    Unreachable,
    /// The tier refuses this one's key or certificate, or the message: it was not carried
    /// out.
    Refused,
    /// The connection broke, or the deadline passed: it may have been carried out.
    NoAnswer,
    /// The answer is not what a tier says: it may have been carried out.
    Unusable,
}

impl Kind {
    /// Whether the call may have been carried out nevertheless.
    pub fn may_be_done(self) -> bool {
        matches!(self, Self::NoAnswer | Self::Unusable)
    }
}

/// The TLS error below another error, if there is one.
pub(super) fn tls_error<'e>(
    error: &'e (dyn std::error::Error + 'static),
) -> Option<&'e rustls::Error> {
    let mut at = Some(error);
    while let Some(error) = at {
        if let Some(found) = error.downcast_ref::<rustls::Error>() {
            return Some(found);
        }
        let inner = error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref);
        at = match inner {
            Some(inner) => Some(inner),
            None => error.source(),
        };
    }
    None
}

/// A TLS error in words, with what an operator can do.
pub(super) fn tls_words(error: &rustls::Error) -> String {
    use rustls::Error::{AlertReceived, InvalidCertificate, InvalidMessage};
    let remedy = match error {
        InvalidCertificate(
            rustls::CertificateError::Expired | rustls::CertificateError::ExpiredContext { .. },
        ) => "; make new certificates with --make-ca",
        InvalidCertificate(rustls::CertificateError::Revoked) => "; its CA has revoked it",
        InvalidCertificate(_) => "; both tiers need certificates of one --make-ca",
        AlertReceived(_) => "; its log names the reason",
        InvalidMessage(_) => "; is the link `tls` on both sides?",
        _ => "",
    };
    format!("{error}{remedy}")
}

/// An amount of time as `5 s` or `300 ms`.
pub(super) struct Span(pub std::time::Duration);

impl fmt::Display for Span {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0.as_millis() {
            millis if millis % 1000 == 0 => write!(f, "{} s", millis / 1000),
            millis => write!(f, "{millis} ms"),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::io;

    use super::*;

    #[test]
    fn a_failed_call_names_tier_address_and_cause_and_whether_it_may_be_done() {
        let error = Error {
            tier: "app",
            address: "127.0.0.1:9".into(),
            kind: Kind::Unreachable,
            cause: "Connection refused".into(),
        };
        assert_eq!(error.to_string(), "app tier at 127.0.0.1:9: Connection refused");
        let done = [Kind::Busy, Kind::Unreachable, Kind::Refused, Kind::NoAnswer, Kind::Unusable]
            .map(Kind::may_be_done);
        assert_eq!(done, [false, false, false, true, true]);
    }

    #[test]
    fn a_tls_error_is_found_below_an_error_of_the_stream() {
        let tls = rustls::Error::AlertReceived(rustls::AlertDescription::CertificateUnknown);
        let io = io::Error::new(io::ErrorKind::InvalidData, tls.clone());
        assert_eq!(tls_error(&io), Some(&tls));
        assert!(tls_words(&tls).contains("its log names the reason"));
        assert_eq!(tls_error(&io::Error::from(io::ErrorKind::BrokenPipe)), None);
    }
}
