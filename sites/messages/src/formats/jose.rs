//! JOSE: the message is signed (JWS, ES256), the signed message encrypted (JWE), both in the
//! compact form.
//!
//! Source: RFC 7519 section 11.2 (sign first, then encrypt); RFC 8725 (one accepted
//! algorithm, explicit types, parties in the message).

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use http::HeaderMap;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation, decode, encode};
use serde::Deserialize;
use serde::de::IgnoredAny;

use super::codec::Codec;
use super::jwe;
use crate::keys::Keys;
use crate::message::Message;
use crate::refused::Refused;
use crate::wire::Scene;
use tidegate_sitekit::{Error, Result};

/// The type of the signed message.
const TYPE: &str = "JWT";

/// Signs and encrypts for the other party.
pub(super) struct Jose {
    keys: Keys,
    header: Header,
    signing: EncodingKey,
    verifying: DecodingKey,
    validation: Validation,
    peer: Vec<u8>,
}

/// The header of a signed message. Unknown and repeated fields are errors.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Signed {
    alg: String,
    typ: String,
    kid: String,
    #[serde(default)]
    crit: Option<IgnoredAny>,
}

impl Jose {
    pub(super) fn new(keys: Keys) -> Result<Self> {
        let mut header = Header::new(Algorithm::ES256);
        header.kid = Some(keys.party.name().into());
        // Times and parties are checked in the same way for all formats.
        let mut validation = Validation::new(Algorithm::ES256);
        validation.validate_exp = false;
        validation.validate_aud = false;
        validation.set_required_spec_claims::<&str>(&[]);
        Ok(Self {
            header,
            signing: EncodingKey::from_ec_der(&keys.signing_pkcs8()),
            verifying: DecodingKey::from_ec_der(&keys.peer_verifying()),
            validation,
            peer: keys.peer_encrypting(),
            keys,
        })
    }

    /// The header is read before the library does, which takes what it does not know.
    fn check_header(&self, signed: &[u8]) -> Result<(), Refused> {
        let part = signed.split(|byte| *byte == b'.').next().unwrap_or_default();
        let json = BASE64.decode(part).map_err(|_| Refused::Malformed)?;
        let header: Signed = serde_json::from_slice(&json).map_err(|_| Refused::Malformed)?;
        if header.crit.is_some() {
            return Err(Refused::Critical);
        }
        if header.alg != "ES256" {
            return Err(Refused::Algorithm);
        }
        if header.kid != self.keys.party.other().name() {
            return Err(Refused::Sender);
        }
        if header.typ == TYPE { Ok(()) } else { Err(Refused::Malformed) }
    }
}

impl Codec for Jose {
    fn seal(&self, message: &Message, _: &Scene, _: &mut HeaderMap) -> Result<Vec<u8>> {
        let signed = encode(&self.header, message, &self.signing)
            .map_err(|error| Error::Internal(format!("a message cannot be signed: {error}")))?;
        jwe::encrypt(signed.as_bytes(), &self.peer).map(String::into_bytes)
    }

    fn open(&self, _: &HeaderMap, body: &[u8], _: &Scene) -> Result<Message, Refused> {
        let signed = jwe::decrypt(body, self.keys.decrypting())?;
        self.check_header(&signed)?;
        let message = decode(&signed, &self.verifying, &self.validation).map_err(|error| {
            use jsonwebtoken::errors::ErrorKind;
            match error.kind() {
                ErrorKind::InvalidSignature => Refused::Signature,
                ErrorKind::InvalidAlgorithm => Refused::Algorithm,
                _ => Refused::Malformed,
            }
        })?;
        Ok(message.claims)
    }

    #[cfg(any(test, feature = "fuzzing"))]
    fn forge(
        &self,
        layer: super::codec::Layer,
        bytes: &[u8],
        _: &Scene,
        _: &mut HeaderMap,
    ) -> Option<Vec<u8>> {
        let signed = match layer {
            super::codec::Layer::Signed => bytes.to_vec(),
            super::codec::Layer::Content => {
                let header = serde_json::to_vec(&self.header).ok()?;
                let text = format!("{}.{}", BASE64.encode(header), BASE64.encode(bytes));
                let signature = self.keys.sign(text.as_bytes()).ok()?;
                format!("{text}.{}", BASE64.encode(signature)).into_bytes()
            }
        };
        jwe::encrypt(&signed, &self.peer).ok().map(String::into_bytes)
    }
}
