//! A whole ClientHello and its claims.

use std::fmt;

use crate::codes::{Codes, is_grease};
use crate::cursor::{Cursor, Span};
use crate::unusable_name::UnusableName;

/// TLS 1.2 and 1.3 on the wire.
const TLS12: u16 = 0x0303;
const TLS13: u16 = 0x0304;

/// A whole, well-formed ClientHello. It owns one copy of the message, which all
/// its claims refer to.
///
/// Source: RFC 8446, section 4.1.2; RFC 5246, section 7.4.1.2.
#[derive(Clone, PartialEq, Eq)]
pub struct ClientHello {
    /// The message with its header; the server name is in lower case.
    pub(crate) message: Box<[u8]>,
    pub(crate) records: usize,
    pub(crate) legacy_version: u16,
    pub(crate) random: Span,
    pub(crate) session_id: Span,
    pub(crate) cipher_suites: Span,
    pub(crate) compression_methods: Span,
    pub(crate) extensions: usize,
    pub(crate) server_name: Span,
    pub(crate) unusable_name: Option<UnusableName>,
    pub(crate) supported_versions: Span,
    pub(crate) supported_groups: Span,
    pub(crate) point_formats: Span,
    pub(crate) signature_schemes: Span,
    pub(crate) alpn: Span,
    pub(crate) ticket: Option<Span>,
    pub(crate) psk_modes: Span,
    pub(crate) key_shares: Option<Span>,
    /// Only the identities within the cap.
    pub(crate) psk_identities: Span,
    pub(crate) psk_offered: usize,
    pub(crate) extended_master_secret: bool,
    pub(crate) early_data: bool,
    pub(crate) ech: Option<Ech>,
}

impl ClientHello {
    /// The version field, which TLS 1.3 clients leave at 0x0303.
    pub fn legacy_version(&self) -> u16 {
        self.legacy_version
    }

    /// The client's 32 random bytes.
    pub fn random(&self) -> &[u8] {
        self.random.of(&self.message)
    }

    /// 0 to 32 bytes.
    pub fn session_id(&self) -> &[u8] {
        self.session_id.of(&self.message)
    }

    /// The suites offered, in the client's order; never empty.
    pub fn cipher_suites(&self) -> Codes<'_> {
        self.codes(self.cipher_suites)
    }

    /// The compression methods offered; 0 is none.
    pub fn compression_methods(&self) -> &[u8] {
        self.compression_methods.of(&self.message)
    }

    /// The versions of the supported_versions extension; empty if absent.
    pub fn supported_versions(&self) -> Codes<'_> {
        self.codes(self.supported_versions)
    }

    /// Whether the client offers TLS 1.3, which only the extension can.
    pub fn offers_tls13(&self) -> bool {
        self.supported_versions().contains(TLS13)
    }

    /// Whether the client offers TLS 1.2: by the extension if there is one,
    /// otherwise by the version field.
    pub fn offers_tls12(&self) -> bool {
        match self.supported_versions() {
            absent if absent.is_empty() => self.legacy_version >= TLS12,
            versions => versions.contains(TLS12),
        }
    }

    /// The server name of the extension, in lower case. None if absent, if it is an IP
    /// address, which the protocol does not allow there, or if it is unusable.
    pub fn server_name(&self) -> Option<&str> {
        let name = self.server_name.is_present().then(|| self.server_name.of(&self.message))?;
        std::str::from_utf8(name).ok()
    }

    /// A server name that is no host name.
    pub fn unusable_name(&self) -> Option<UnusableName> {
        self.unusable_name
    }

    /// The application protocols offered, in the client's order.
    pub fn alpn(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let cursor = self.alpn.cursor(&self.message);
        items(cursor, |cursor| cursor.vector8().map(|protocol| cursor.bytes(protocol)).ok())
    }

    /// The session_ticket extension: None if absent, empty if the client has no
    /// ticket but accepts one. TLS 1.2 only.
    pub fn ticket(&self) -> Option<&[u8]> {
        self.ticket.map(|ticket| ticket.of(&self.message))
    }

    /// The pre-shared key identities within the cap, in the client's order:
    /// in practice the tickets of TLS 1.3.
    pub fn psk_identities(&self) -> impl Iterator<Item = &[u8]> + Clone {
        let cursor = self.psk_identities.cursor(&self.message);
        items(cursor, |cursor| {
            let identity = cursor.vector16().ok()?;
            cursor.take(4).ok()?;
            Some(cursor.bytes(identity))
        })
    }

    /// Number of identities offered, those beyond the cap included.
    pub fn psk_offered(&self) -> usize {
        self.psk_offered
    }

    /// The psk_key_exchange_modes; empty if absent.
    pub fn psk_modes(&self) -> &[u8] {
        self.psk_modes.of(&self.message)
    }

    /// Whether the client offers resumption with a fresh key exchange
    /// (psk_dhe_ke), the only mode that rustls supports.
    pub fn offers_psk_dhe_ke(&self) -> bool {
        self.psk_modes().contains(&1)
    }

    /// Whether there is a key_share extension, possibly without a share.
    pub fn has_key_shares(&self) -> bool {
        self.key_shares.is_some()
    }

    /// The groups for which the client sent a key share, in its order.
    pub fn key_share_groups(&self) -> impl Iterator<Item = u16> + Clone {
        let cursor = self.key_shares.unwrap_or_default().cursor(&self.message);
        items(cursor, |cursor| {
            let group = cursor.u16().ok()?;
            cursor.vector16().ok()?;
            Some(group)
        })
    }

    /// The key-exchange groups offered, in the client's order; empty if absent.
    pub fn supported_groups(&self) -> Codes<'_> {
        self.codes(self.supported_groups)
    }

    /// The signature schemes offered; empty if absent.
    pub fn signature_schemes(&self) -> Codes<'_> {
        self.codes(self.signature_schemes)
    }

    /// The EC point formats; empty if absent. 0 is uncompressed.
    pub fn point_formats(&self) -> &[u8] {
        self.point_formats.of(&self.message)
    }

    /// Whether the client offers the extended master secret (TLS 1.2).
    pub fn extended_master_secret(&self) -> bool {
        self.extended_master_secret
    }

    /// Whether the client announces early data (TLS 1.3), which may follow the
    /// hello immediately.
    pub fn early_data(&self) -> bool {
        self.early_data
    }

    /// The encrypted_client_hello extension, None if absent. A client
    /// without a key sends a random one, which is indistinguishable from a real one.
    pub fn ech(&self) -> Option<Ech> {
        self.ech
    }

    /// Whether it contains a GREASE value (RFC 8701). Among browsers only those
    /// built on Chromium or Apple's do.
    pub fn greases(&self) -> bool {
        self.cipher_suites().iter().chain(self.supported_groups().iter()).any(is_grease)
    }

    /// Number of extensions.
    pub fn extensions(&self) -> usize {
        self.extensions
    }

    /// Bytes of the handshake message, its 4-byte header included, without
    /// record headers.
    pub fn length(&self) -> usize {
        self.message.len()
    }

    /// Number of TLS records that it was split over.
    pub fn records(&self) -> usize {
        self.records
    }

    fn codes(&self, span: Span) -> Codes<'_> {
        Codes::new(span.of(&self.message))
    }
}

impl fmt::Debug for ClientHello {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ClientHello")
            .field("length", &self.length())
            .field("records", &self.records)
            .field("legacy_version", &self.legacy_version)
            .field("supported_versions", &self.supported_versions())
            .field("server_name", &self.server_name())
            .field("cipher_suites", &self.cipher_suites())
            .field("ticket_bytes", &self.ticket().map(<[u8]>::len))
            .field("psk_offered", &self.psk_offered)
            .field("ech", &self.ech)
            .finish_non_exhaustive()
    }
}

/// The type of an encrypted_client_hello extension.
///
/// Source: RFC 9849, section 5.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ech {
    /// The outer hello; also sent by clients as GREASE.
    Outer,
    /// The inner hello, as a front server forwards it.
    Inner,
}

/// Items of a list that was checked when the hello was parsed.
fn items<'a, T>(
    cursor: Cursor<'a>,
    next: impl Fn(&mut Cursor<'a>) -> Option<T> + Clone,
) -> impl Iterator<Item = T> + Clone {
    let mut cursor = cursor;
    std::iter::from_fn(move || if cursor.is_empty() { None } else { next(&mut cursor) })
}
