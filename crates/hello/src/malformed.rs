//! Errors in bytes that began as TLS: always the client's fault.

use std::fmt;

/// Why the bytes are TLS but not a usable hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Malformed {
    /// A record of another type in place of the hello: a ChangeCipherSpec
    /// (20), an alert (21), application data (23) or an unknown one.
    #[error("record of {} in place of the client hello", content_type(*.0))]
    UnexpectedRecord(u8),
    /// The major version of a later record is not 3.
    #[error("record version {0:#06x}")]
    RecordVersion(u16),
    /// A handshake record without content (forbidden by RFC 8446, section 5.1).
    #[error("empty handshake record")]
    EmptyRecord,
    /// A record longer than 2^14 bytes.
    #[error("record of {0} bytes, allowed are 16384")]
    RecordTooLong(usize),
    /// The hello does not end within the cap on bytes.
    #[error("hello does not end within {limit} bytes")]
    TooLong {
        /// The cap, in bytes on the wire.
        limit: usize,
    },
    /// A handshake message of another type came first.
    #[error("handshake message of type {0} in place of the client hello (1)")]
    NotClientHello(u8),
    /// Another handshake message follows the hello in its last record.
    #[error("another handshake message follows in the same record")]
    MoreThanOneMessage,
    /// More extensions than the cap.
    #[error("more than {limit} extensions")]
    TooManyExtensions {
        /// The cap.
        limit: usize,
    },
    /// An extension came twice (forbidden by RFC 8446, section 4.2).
    #[error("{0} occurs twice")]
    DuplicateExtension(Field),
    /// `pre_shared_key` is not the last one (RFC 8446, section 4.2.11).
    #[error("pre_shared_key (41) is not the last extension")]
    PreSharedKeyNotLast,
    /// A field is malformed.
    #[error("{field}: {fault}")]
    Field {
        /// The field.
        field: Field,
        /// Its fault.
        fault: Fault,
    },
}

/// A part of the hello.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Field {
    /// The first two bytes.
    LegacyVersion,
    /// The client's 32 random bytes.
    Random,
    /// The legacy session id, at most 32 bytes.
    SessionId,
    /// The list of cipher suites.
    CipherSuites,
    /// The list of compression methods.
    CompressionMethods,
    /// The extension block as a whole, or the header of one of them.
    Extensions,
    /// The body of the extension of this type.
    Extension(u16),
}

impl Field {
    /// The error for a fault of this field.
    pub(crate) fn fault(self) -> impl Fn(Fault) -> Malformed {
        move |fault| Malformed::Field { field: self, fault }
    }
}

impl fmt::Display for Field {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::LegacyVersion => f.write_str("legacy_version"),
            Self::Random => f.write_str("random"),
            Self::SessionId => f.write_str("session_id"),
            Self::CipherSuites => f.write_str("cipher_suites"),
            Self::CompressionMethods => f.write_str("compression_methods"),
            Self::Extensions => f.write_str("extensions"),
            Self::Extension(kind) => match extension_name(*kind) {
                Some(name) => write!(f, "{name} ({kind})"),
                None => write!(f, "extension {kind:#06x}"),
            },
        }
    }
}

/// A fault of a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// A length goes beyond the end of what encloses it.
    #[error("ends too early")]
    Truncated,
    /// Bytes are left after the last item.
    #[error("has bytes left over")]
    TrailingBytes,
    /// A list that must have an item has none.
    #[error("is empty")]
    Empty,
    /// Longer than the protocol allows.
    #[error("is too long")]
    TooLong,
    /// A value that the protocol does not allow there.
    #[error("has a value that is not allowed")]
    NotAllowed,
    /// The number of binders differs from that of identities.
    #[error("has {binders} binders for {identities} identities")]
    BinderCount {
        /// Identities offered.
        identities: usize,
        /// Binders given.
        binders: usize,
    },
}

/// Source: IANA, TLS ExtensionType Values.
fn extension_name(kind: u16) -> Option<&'static str> {
    Some(match kind {
        0 => "server_name",
        10 => "supported_groups",
        11 => "ec_point_formats",
        13 => "signature_algorithms",
        16 => "application_layer_protocol_negotiation",
        23 => "extended_master_secret",
        35 => "session_ticket",
        41 => "pre_shared_key",
        42 => "early_data",
        43 => "supported_versions",
        45 => "psk_key_exchange_modes",
        51 => "key_share",
        0xfe0d => "encrypted_client_hello",
        _ => return None,
    })
}

fn content_type(kind: u8) -> String {
    match kind {
        20 => "change_cipher_spec (20)".to_owned(),
        21 => "alert (21)".to_owned(),
        23 => "application_data (23)".to_owned(),
        other => format!("unknown type {other}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_names_the_field_and_its_fault() {
        let field = Field::Extension(43).fault()(Fault::Truncated);
        assert_eq!(field.to_string(), "supported_versions (43): ends too early");
        let twice = Malformed::DuplicateExtension(Field::Extension(0x1a1a));
        assert_eq!(twice.to_string(), "extension 0x1a1a occurs twice");
        assert_eq!(
            Malformed::UnexpectedRecord(20).to_string(),
            "record of change_cipher_spec (20) in place of the client hello"
        );
    }
}
