//! From the bytes of a whole handshake message to a [`ClientHello`].
//!
//! As strict as rustls for all fields read here: a hello that is well-formed here
//! is well-formed there, and a malformed one fails there as well.
//! Deviation: a server name that is no host name is unusable, and the hello well-formed.

use crate::client_hello::{ClientHello, Ech};
use crate::cursor::{Cursor, Span};
use crate::limits::Limits;
use crate::malformed::{Fault, Field, Malformed};
use crate::server_name::{self, Name};
use crate::unusable_name::UnusableName;

/// Bytes of a handshake header: type and 24-bit length.
pub(crate) const HEADER: usize = 4;

/// Capacity of the table of extension types.
const MOST_EXTENSIONS: usize = 128;

/// Parses a handshake message, header included, that came over `records`
/// records. The header was checked by the caller.
pub(crate) fn parse(
    mut message: Vec<u8>,
    records: usize,
    limits: &Limits,
) -> Result<ClientHello, Malformed> {
    let mut hello = claims(&message, limits)?;
    hello.records = records;
    hello.server_name.of_mut(&mut message).make_ascii_lowercase();
    hello.message = message.into_boxed_slice();
    Ok(hello)
}

fn claims(message: &[u8], limits: &Limits) -> Result<ClientHello, Malformed> {
    let mut cursor = Span::new(HEADER, message.len()).cursor(message);
    let legacy_version = cursor.u16().map_err(Field::LegacyVersion.fault())?;
    let random = cursor.take(32).map_err(Field::Random.fault())?;
    let session_id = session_id(&mut cursor).map_err(Field::SessionId.fault())?;
    let cipher_suites = codes16(&mut cursor).map_err(Field::CipherSuites.fault())?;
    let compression_methods = bytes8(&mut cursor).map_err(Field::CompressionMethods.fault())?;
    let mut hello = ClientHello {
        message: Box::default(),
        records: 0,
        legacy_version,
        random,
        session_id,
        cipher_suites,
        compression_methods,
        extensions: 0,
        server_name: Span::default(),
        unusable_name: None,
        supported_versions: Span::default(),
        supported_groups: Span::default(),
        point_formats: Span::default(),
        signature_schemes: Span::default(),
        alpn: Span::default(),
        ticket: None,
        psk_modes: Span::default(),
        key_shares: None,
        psk_identities: Span::default(),
        psk_offered: 0,
        extended_master_secret: false,
        early_data: false,
        ech: None,
    };
    // Before TLS 1.3 the block as a whole may be missing.
    if !cursor.is_empty() {
        let block = cursor.vector16().map_err(Field::Extensions.fault())?;
        cursor.finish().map_err(Field::Extensions.fault())?;
        extensions(&mut hello, cursor.over(block), limits)?;
    }
    Ok(hello)
}

fn extensions(
    hello: &mut ClientHello,
    mut block: Cursor<'_>,
    limits: &Limits,
) -> Result<(), Malformed> {
    let mut seen = Seen::new(limits.extensions);
    while !block.is_empty() {
        let at = block.position();
        let kind = block.u16().map_err(Field::Extensions.fault())?;
        let body = block.vector16().map_err(Field::Extension(kind).fault())?;
        seen.add(kind)?;
        extension(hello, kind, block.over(body), limits).map_err(Field::Extension(kind).fault())?;
        if kind == UnusableName::TYPE && hello.server_name == UNUSABLE {
            hello.server_name = Span::default();
            hello.unusable_name = Some(UnusableName { at, stand_in: 0 });
        }
        if kind == 41 && !block.is_empty() {
            return Err(Malformed::PreSharedKeyNotLast);
        }
    }
    hello.extensions = seen.count;
    if let Some(name) = &mut hello.unusable_name {
        let field = Field::Extension(UnusableName::TYPE);
        name.stand_in = seen.unused_grease().ok_or_else(|| field.fault()(Fault::NotAllowed))?;
    }
    Ok(())
}

/// Reads one extension's body; unknown ones, GREASE among them, are skipped.
fn extension(
    hello: &mut ClientHello,
    kind: u16,
    mut body: Cursor<'_>,
    limits: &Limits,
) -> Result<(), Fault> {
    match kind {
        0 => hello.server_name = server_name(&mut body)?,
        10 => hello.supported_groups = codes16(&mut body)?,
        11 => hello.point_formats = bytes8(&mut body)?,
        13 => hello.signature_schemes = codes16(&mut body)?,
        16 => hello.alpn = protocols(&mut body)?,
        23 => hello.extended_master_secret = true,
        35 => hello.ticket = Some(body.rest()),
        41 => pre_shared_key(hello, &mut body, limits)?,
        42 => hello.early_data = true,
        43 => hello.supported_versions = pairs(body.vector8()?)?,
        45 => hello.psk_modes = bytes8(&mut body)?,
        51 => hello.key_shares = Some(key_shares(&mut body)?),
        0xfe0d => hello.ech = Some(ech(&mut body)?),
        _ => return Ok(()),
    }
    body.finish()
}

fn session_id(cursor: &mut Cursor<'_>) -> Result<Span, Fault> {
    let length = cursor.u8()?;
    if length > 32 {
        return Err(Fault::TooLong);
    }
    cursor.take(usize::from(length))
}

/// A non-empty list of bytes behind an 8-bit length.
fn bytes8(cursor: &mut Cursor<'_>) -> Result<Span, Fault> {
    not_empty(cursor.vector8()?)
}

/// A non-empty list of 16-bit codes behind a 16-bit length.
fn codes16(cursor: &mut Cursor<'_>) -> Result<Span, Fault> {
    pairs(cursor.vector16()?)
}

fn pairs(list: Span) -> Result<Span, Fault> {
    if list.len() % 2 == 1 { Err(Fault::Truncated) } else { not_empty(list) }
}

fn not_empty(list: Span) -> Result<Span, Fault> {
    if list.len() == 0 { Err(Fault::Empty) } else { Ok(list) }
}

/// Marks an unusable name: no part of a message can be there.
const UNUSABLE: Span = Span::NOWHERE;

/// Source: RFC 6066, section 3. Whatever follows a name of an unknown type
/// cannot be read, since the form of its length is unknown.
fn server_name(body: &mut Cursor<'_>) -> Result<Span, Fault> {
    let list = not_empty(body.vector16()?)?;
    let mut names = body.over(list);
    let mut found = None;
    while !names.is_empty() {
        if names.u8()? != 0 {
            break;
        }
        let name = not_empty(names.vector16()?)?;
        let host = match server_name::classify(names.bytes(name)) {
            Name::Dns => name,
            Name::Address => Span::default(),
            Name::Unusable => UNUSABLE,
            Name::Invalid => return Err(Fault::NotAllowed),
        };
        if found.replace(host).is_some() {
            return Err(Fault::NotAllowed);
        }
    }
    found.ok_or(Fault::NotAllowed)
}

/// Source: RFC 7301, section 3.1.
fn protocols(body: &mut Cursor<'_>) -> Result<Span, Fault> {
    let list = not_empty(body.vector16()?)?;
    let mut protocols = body.over(list);
    while !protocols.is_empty() {
        not_empty(protocols.vector8()?)?;
    }
    Ok(list)
}

/// Source: RFC 8446, section 4.2.8; the list may be empty.
fn key_shares(body: &mut Cursor<'_>) -> Result<Span, Fault> {
    let list = body.vector16()?;
    let mut shares = body.over(list);
    while !shares.is_empty() {
        shares.u16()?;
        not_empty(shares.vector16()?)?;
    }
    Ok(list)
}

/// Source: RFC 8446, section 4.2.11.
fn pre_shared_key(
    hello: &mut ClientHello,
    body: &mut Cursor<'_>,
    limits: &Limits,
) -> Result<(), Fault> {
    let list = not_empty(body.vector16()?)?;
    let mut identities = body.over(list);
    let start = identities.position();
    let (mut offered, mut kept_end) = (0, start);
    while !identities.is_empty() {
        not_empty(identities.vector16()?)?;
        identities.take(4)?;
        offered += 1;
        if offered <= limits.identities {
            kept_end = identities.position();
        }
    }
    let list = not_empty(body.vector16()?)?;
    let mut binders = body.over(list);
    let mut given = 0;
    while !binders.is_empty() {
        not_empty(binders.vector8()?)?;
        given += 1;
    }
    if given != offered {
        return Err(Fault::BinderCount { identities: offered, binders: given });
    }
    hello.psk_identities = Span::new(start, kept_end);
    hello.psk_offered = offered;
    Ok(())
}

/// Source: RFC 9849, section 5.
fn ech(body: &mut Cursor<'_>) -> Result<Ech, Fault> {
    match body.u8()? {
        0 => {
            body.take(5)?; // KDF, AEAD, configuration id
            body.vector16()?;
            not_empty(body.vector16()?)?;
            Ok(Ech::Outer)
        }
        1 => Ok(Ech::Inner),
        _ => Err(Fault::NotAllowed),
    }
}

/// The extension types seen so far.
struct Seen {
    count: usize,
    limit: usize,
    /// One bit for each type below 64, where nearly all are.
    low: u64,
    others: usize,
    high: [u16; MOST_EXTENSIONS],
}

impl Seen {
    fn new(limit: usize) -> Self {
        let limit = limit.min(MOST_EXTENSIONS);
        Self { count: 0, limit, low: 0, others: 0, high: [0; MOST_EXTENSIONS] }
    }

    /// A GREASE value that no extension has.
    fn unused_grease(&self) -> Option<u16> {
        let all = (0..16).map(|high| 0x0a0a + 0x1010 * high);
        let used = &self.high[..self.others];
        all.into_iter().find(|value| !used.contains(value))
    }

    fn add(&mut self, kind: u16) -> Result<(), Malformed> {
        let (high, free) = self.high.split_at_mut(self.others);
        let twice = if kind < 64 { self.low >> kind & 1 == 1 } else { high.contains(&kind) };
        if twice {
            return Err(Malformed::DuplicateExtension(Field::Extension(kind)));
        }
        if self.count >= self.limit {
            return Err(Malformed::TooManyExtensions { limit: self.limit });
        }
        self.count += 1;
        if kind < 64 {
            self.low |= 1 << kind;
        } else if let Some(slot) = free.first_mut() {
            *slot = kind;
            self.others += 1;
        }
        Ok(())
    }
}
