//! Which alert answers a hello that no handshake follows.
//!
//! Source: RFC 8446, sections 6.2 and 9.2; RFC 6066, section 3; RFC 7301, section 3.2;
//! RFC 8422, section 5.1.2.

use rustls::AlertDescription;
use tidegate_hello::negotiate::Incompatible;
use tidegate_hello::{ClientHello, Fault, Field, Malformed};

/// Content type of an alert.
const ALERT: u8 = 21;
const SERVER_NAME: Field = Field::Extension(0);
const PRE_SHARED_KEY: Field = Field::Extension(41);

/// The alert for a hello that the gate can agree on nothing with.
pub fn for_incompatible(hello: &ClientHello, why: Incompatible) -> AlertDescription {
    match why {
        Incompatible::Version => AlertDescription::ProtocolVersion,
        Incompatible::Protocol => AlertDescription::NoApplicationProtocol,
        Incompatible::KeyShareMissing | Incompatible::PskModesMissing => {
            AlertDescription::MissingExtension
        }
        // TLS 1.3 has no defaults for them.
        Incompatible::SignatureSchemesMissing if hello.offers_tls13() => {
            AlertDescription::MissingExtension
        }
        Incompatible::Group if hello.offers_tls13() && hello.supported_groups().is_empty() => {
            AlertDescription::MissingExtension
        }
        Incompatible::Compression | Incompatible::KeyShareTwice | Incompatible::PointFormat => {
            AlertDescription::IllegalParameter
        }
        Incompatible::SignatureSchemesMissing
        | Incompatible::SignatureScheme
        | Incompatible::Group
        | Incompatible::Suite
        | Incompatible::ExtendedMasterSecret => AlertDescription::HandshakeFailure,
    }
}

/// The alert for what began as TLS and is no hello. None for an alert of the client, which
/// is never answered with another.
pub fn for_malformed(malformed: Malformed) -> Option<AlertDescription> {
    Some(match malformed {
        Malformed::UnexpectedRecord(ALERT) => return None,
        Malformed::UnexpectedRecord(_)
        | Malformed::NotClientHello(_)
        | Malformed::MoreThanOneMessage => AlertDescription::UnexpectedMessage,
        Malformed::RecordVersion(_) => AlertDescription::ProtocolVersion,
        Malformed::RecordTooLong(_) => AlertDescription::RecordOverflow,
        Malformed::DuplicateExtension(_) | Malformed::PreSharedKeyNotLast => {
            AlertDescription::IllegalParameter
        }
        Malformed::Field { field: SERVER_NAME, fault: Fault::NotAllowed } => {
            AlertDescription::UnrecognisedName
        }
        Malformed::Field { field: PRE_SHARED_KEY, fault: Fault::BinderCount { .. } } => {
            AlertDescription::IllegalParameter
        }
        Malformed::EmptyRecord
        | Malformed::TooLong { .. }
        | Malformed::TooManyExtensions { .. }
        | Malformed::Field { .. } => AlertDescription::DecodeError,
    })
}
