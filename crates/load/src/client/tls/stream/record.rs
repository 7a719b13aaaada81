//! Records of TLS 1.3 after the handshake, and the keys that protect them.
//!
//! Source: RFC 8446, sections 5.1 to 5.4.

use aws_lc_rs::aead::{self, Aad, LessSafeKey, Nonce, UnboundKey};
use rustls::crypto::cipher::{AeadKey, Iv};
use rustls::{ConnectionTrafficSecrets, ContentType, Error, InvalidMessage, PeerMisbehaved};

/// Bytes of a record before what is encrypted.
const HEAD: usize = 5;
/// Most bytes that a record carries.
pub(super) const MOST_CONTENT: usize = 1 << 14;
/// Most bytes of a record that is encrypted, without its head.
const LARGEST: usize = MOST_CONTENT + 256;
/// Bytes of the authentication tag, the same for all suites.
const TAG: usize = 16;
/// Bytes that a record has beyond its content.
pub(super) const OVERHEAD: usize = HEAD + 1 + TAG;

/// The length of the first record with its head, if all of it has come.
///
/// # Errors
/// It is longer than any may be.
pub(super) fn whole(come: &[u8]) -> Result<Option<usize>, Error> {
    let Some(&[_, _, _, high, low]) = come.first_chunk::<HEAD>() else { return Ok(None) };
    let length = usize::from(u16::from_be_bytes([high, low]));
    if length > LARGEST {
        return Err(Error::PeerSentOversizedRecord);
    }
    Ok(Some(HEAD + length).filter(|length| *length <= come.len()))
}

/// The keys of one direction.
pub(super) struct Keys {
    secrets: ConnectionTrafficSecrets,
    /// Of the next record.
    number: u64,
    /// The key made ready for use, which takes ten times the place of the secret.
    ready: Option<LessSafeKey>,
}

impl Keys {
    pub(super) fn new((number, secrets): (u64, ConnectionTrafficSecrets)) -> Self {
        Self { secrets, number, ready: None }
    }

    /// Records that they have protected.
    pub(super) fn used(&self) -> u64 {
        self.number
    }

    /// Keeps the secret only, until there is something to do.
    pub(super) fn release_memory(&mut self) {
        self.ready = None;
    }

    #[cfg(test)]
    pub(super) fn is_released(&self) -> bool {
        self.ready.is_none()
    }

    /// Writes one record to the beginning of `space`, which must have
    /// [`OVERHEAD`] beyond the `content`; returns its length.
    pub(super) fn seal(
        &mut self,
        kind: ContentType,
        content: &[u8],
        space: &mut [u8],
    ) -> Result<usize, Error> {
        let inner = content.len() + 1;
        let record = &mut space[..content.len() + OVERHEAD];
        let (head, rest) = record.split_at_mut(HEAD);
        let length = ((inner + TAG) as u16).to_be_bytes();
        // As a record of application data of TLS 1.2, whatever it is.
        head.copy_from_slice(&[23, 3, 3, length[0], length[1]]);
        let (sealed, place) = rest.split_at_mut(inner);
        sealed[..content.len()].copy_from_slice(content);
        sealed[content.len()] = kind.into();
        let (key, nonce) = self.next()?;
        let tag = key
            .seal_in_place_separate_tag(nonce, Aad::from(&*head), sealed)
            .map_err(|_| Error::EncryptError)?;
        place.copy_from_slice(tag.as_ref());
        Ok(record.len())
    }

    /// What a whole record carries.
    ///
    /// # Errors
    /// It is not authentic or not the next record, or it is no record that
    /// may come after the handshake.
    pub(super) fn open<'r>(
        &mut self,
        record: &'r mut [u8],
    ) -> Result<(ContentType, &'r [u8]), Error> {
        let (head, sealed) = record.split_at_mut(HEAD);
        let kind = ContentType::from(head[0]);
        if kind != ContentType::ApplicationData {
            let expect_types = vec![ContentType::ApplicationData];
            return Err(Error::InappropriateMessage { expect_types, got_type: kind });
        }
        let (key, nonce) = self.next()?;
        let plain =
            key.open_in_place(nonce, Aad::from(&*head), sealed).map_err(|_| Error::DecryptError)?;
        // Before any padding, which is of zeros, stands what it is.
        let Some(end) = plain.iter().rposition(|byte| *byte != 0) else {
            return Err(PeerMisbehaved::IllegalTlsInnerPlaintext.into());
        };
        if plain.len() > MOST_CONTENT + 1 {
            return Err(Error::PeerSentOversizedRecord);
        }
        let kind = ContentType::from(plain[end]);
        if end == 0 && kind != ContentType::ApplicationData {
            return Err(InvalidMessage::InvalidEmptyPayload.into());
        }
        Ok((kind, &plain[..end]))
    }

    /// The key, and what makes this use of it unlike any other.
    fn next(&mut self) -> Result<(&LessSafeKey, Nonce), Error> {
        let (algorithm, key, iv) = parts(&self.secrets)?;
        let mut nonce = [0; aead::NONCE_LEN];
        nonce.copy_from_slice(iv.as_ref());
        let end = nonce.last_chunk_mut::<8>().expect("it has twelve");
        *end = (u64::from_be_bytes(*end) ^ self.number).to_be_bytes();
        self.number += 1;
        let ready = match self.ready.take() {
            Some(ready) => ready,
            None => LessSafeKey::new(
                UnboundKey::new(algorithm, key.as_ref())
                    .map_err(|_| Error::General("a key has the wrong length".to_owned()))?,
            ),
        };
        Ok((self.ready.insert(ready), Nonce::assume_unique_for_key(nonce)))
    }
}

fn parts(
    secrets: &ConnectionTrafficSecrets,
) -> Result<(&'static aead::Algorithm, &AeadKey, &Iv), Error> {
    use ConnectionTrafficSecrets as Of;
    match secrets {
        Of::Aes128Gcm { key, iv } => Ok((&aead::AES_128_GCM, key, iv)),
        Of::Aes256Gcm { key, iv } => Ok((&aead::AES_256_GCM, key, iv)),
        Of::Chacha20Poly1305 { key, iv } => Ok((&aead::CHACHA20_POLY1305, key, iv)),
        _ => Err(Error::General("the suite agreed on is not known".to_owned())),
    }
}
