//! HTTP Message Signatures: the body is JSON, its digest and parts of the HTTP message are
//! signed. The signature of an answer covers that of its request. Nothing is encrypted.
//!
//! Each signature covers a fixed list of components with a fixed set of parameters, so what
//! is accepted is compared with what this party would have written; structured fields are
//! read by the crate `sfv`.
//!
//! Source: RFC 9421 sections 2.2, 2.4, 2.5, 3.3.4 and 4; RFC 9530 section 2.

use aws_lc_rs::digest::{SHA256, digest};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use http::{HeaderMap, HeaderName, HeaderValue};
use sfv::{BareItem, Dictionary, ListEntry, Parser};

use super::codec::Codec;
use crate::keys::{Keys, Party};
use crate::message::Message;
use crate::refused::Refused;
use crate::wire::{Scene, only};
use tidegate_sitekit::{Error, Result};

/// Name of the signature.
const LABEL: &str = "sig";
const ALGORITHM: &str = "ecdsa-p256-sha256";
/// What the signature is for: no other use of the key makes one with this tag.
const TAG: &str = "tidegate-messages";
const CONTENT_TYPE: &str = "application/json";

const DIGEST: HeaderName = HeaderName::from_static("content-digest");
const INPUT: HeaderName = HeaderName::from_static("signature-input");
const SIGNATURE: HeaderName = HeaderName::from_static("signature");

/// Signs for the other party.
pub(super) struct HttpSignatures {
    keys: Keys,
}

/// The parameters of a signature that differ from message to message.
struct Parameters {
    /// Seconds since 1970.
    created: u64,
    nonce: String,
}

impl HttpSignatures {
    pub(super) fn new(keys: Keys) -> Self {
        Self { keys }
    }

    /// Puts the digest of a body and the signature of both into the header.
    fn sign(
        &self,
        body: &[u8],
        parameters: &Parameters,
        scene: &Scene,
        headers: &mut HeaderMap,
    ) -> Result<()> {
        let digest = content_digest(body);
        let parameters = parameters.text(scene, self.keys.party);
        let base = base(&components(scene, &digest).map_err(internal)?, &parameters);
        let signature = STANDARD.encode(self.keys.sign(base.as_bytes())?);
        for (name, value) in [
            (DIGEST, digest),
            (INPUT, format!("{LABEL}={parameters}")),
            (SIGNATURE, format!("{LABEL}=:{signature}:")),
        ] {
            headers.insert(name, HeaderValue::from_str(&value).map_err(internal)?);
        }
        Ok(())
    }
}

impl Codec for HttpSignatures {
    fn seal(&self, message: &Message, scene: &Scene, headers: &mut HeaderMap) -> Result<Vec<u8>> {
        let body = message.to_json()?;
        self.sign(&body, &Parameters::of(message), scene, headers)?;
        Ok(body)
    }

    fn open(&self, headers: &HeaderMap, body: &[u8], scene: &Scene) -> Result<Message, Refused> {
        let digest = only(headers, &DIGEST, Refused::Coverage)?;
        let input = only(headers, &INPUT, Refused::Coverage)?;
        let signature = signature_of(only(headers, &SIGNATURE, Refused::Signature)?)?;
        let parameters = Parameters::read(input)?;
        let expected = parameters.text(scene, self.keys.party.other());
        if input.strip_prefix(LABEL).and_then(|rest| rest.strip_prefix('=')) != Some(&expected) {
            return Err(difference(input, self.keys.party.other()));
        }
        let base = base(&components(scene, digest)?, &expected);
        self.keys.verify(base.as_bytes(), &signature)?;
        // In the one form that the other party writes; the signature covers its text.
        if digest != content_digest(body) {
            return Err(Refused::Digest);
        }
        let message = Message::from_json(body)?;
        let signed = Parameters::of(&message);
        if signed.nonce != parameters.nonce || signed.created != parameters.created {
            return Err(Refused::Malformed);
        }
        Ok(message)
    }

    #[cfg(any(test, feature = "fuzzing"))]
    fn forge(
        &self,
        layer: super::codec::Layer,
        bytes: &[u8],
        scene: &Scene,
        headers: &mut HeaderMap,
    ) -> Option<Vec<u8>> {
        if layer != super::codec::Layer::Content {
            return None;
        }
        // The parameters of the message, if it is one.
        let parameters = Message::from_json(bytes).map_or_else(
            |_| Parameters { created: 0, nonce: String::new() },
            |message| Parameters::of(&message),
        );
        self.sign(bytes, &parameters, scene, headers).ok()?;
        Some(bytes.to_vec())
    }
}

/// The components that a signature covers, as in its list.
fn covered(scene: &Scene) -> &'static str {
    match scene {
        Scene::Request { .. } => {
            r#"("@method" "@authority" "@path" "content-type" "content-digest")"#
        }
        Scene::Answer { .. } => {
            r#"("@status" "content-type" "content-digest" "signature";req;key="sig")"#
        }
    }
}

/// The lines of the components.
fn components(scene: &Scene, digest: &str) -> Result<Vec<(&'static str, String)>, Refused> {
    let content = [
        (r#""content-type""#, CONTENT_TYPE.to_owned()),
        (r#""content-digest""#, digest.to_owned()),
    ];
    Ok(match scene {
        Scene::Request { method, authority, path } => {
            // The path of RFC 9421 ends before a query, which would not be covered.
            if path.contains('?') {
                return Err(Refused::Coverage);
            }
            let target = [
                (r#""@method""#, (*method).to_owned()),
                (r#""@authority""#, authority.to_ascii_lowercase()),
                (r#""@path""#, (*path).to_owned()),
            ];
            target.into_iter().chain(content).collect()
        }
        Scene::Answer { status, request } => {
            let signature = signature_of(only(request, &SIGNATURE, Refused::Unbound)?)?;
            let signature = format!(":{}:", STANDARD.encode(signature));
            let status = (r#""@status""#, status.to_string());
            let request = (r#""signature";req;key="sig""#, signature);
            [status].into_iter().chain(content).chain([request]).collect()
        }
    })
}

/// The signature base: a line for each component, then the parameters.
pub(super) fn base(components: &[(&str, String)], parameters: &str) -> String {
    let mut base = String::new();
    for (name, value) in components {
        base.push_str(&format!("{name}: {value}\n"));
    }
    base + "\"@signature-params\": " + parameters
}

impl Parameters {
    fn of(message: &Message) -> Self {
        Self { created: message.issued_ms / 1000, nonce: message.id.to_string() }
    }

    /// Those of the field's text, which may have others.
    fn read(input: &str) -> Result<Self, Refused> {
        let signatures: Dictionary = Parser::new(input).parse().map_err(|_| Refused::Malformed)?;
        let Some(ListEntry::InnerList(list)) = signatures.get(LABEL) else {
            return Err(Refused::Coverage);
        };
        let created = match list.params.get("created") {
            Some(BareItem::Integer(seconds)) => {
                u64::try_from(i64::from(*seconds)).map_err(|_| Refused::Malformed)?
            }
            _ => return Err(Refused::Coverage),
        };
        let nonce = match list.params.get("nonce") {
            Some(BareItem::String(nonce)) => nonce.as_str().to_owned(),
            _ => return Err(Refused::Coverage),
        };
        Ok(Self { created, nonce })
    }

    /// The text of the parameters, with the list of components.
    fn text(&self, scene: &Scene, signer: Party) -> String {
        format!(
            r#"{};created={};nonce="{}";keyid="{}";alg="{ALGORITHM}";tag="{TAG}""#,
            covered(scene),
            self.created,
            self.nonce,
            signer.name()
        )
    }
}

/// Why a signature's parameters are not the expected ones.
fn difference(input: &str, signer: Party) -> Refused {
    let signatures: Dictionary = match Parser::new(input).parse() {
        Ok(signatures) => signatures,
        Err(_) => return Refused::Malformed,
    };
    let Some(ListEntry::InnerList(list)) = signatures.get(LABEL) else {
        return Refused::Coverage;
    };
    let is = |name: &str, expected: &str| matches!(list.params.get(name), Some(BareItem::String(text)) if text.as_str() == expected);
    match () {
        () if !is("alg", ALGORITHM) => Refused::Algorithm,
        () if !is("keyid", signer.name()) => Refused::Sender,
        () => Refused::Coverage,
    }
}

/// The signature of the field's text.
fn signature_of(field: &str) -> Result<Vec<u8>, Refused> {
    let signatures: Dictionary = Parser::new(field).parse().map_err(|_| Refused::Malformed)?;
    if signatures.len() != 1 {
        return Err(Refused::Malformed);
    }
    match signatures.get(LABEL) {
        Some(ListEntry::Item(item)) => match &item.bare_item {
            BareItem::ByteSequence(bytes) if item.params.is_empty() => Ok(bytes.clone()),
            _ => Err(Refused::Malformed),
        },
        _ => Err(Refused::Signature),
    }
}

fn content_digest(body: &[u8]) -> String {
    format!("sha-256=:{}:", STANDARD.encode(digest(&SHA256, body)))
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::Internal(format!("a message cannot be signed: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED, UnparsedPublicKey};

    #[test]
    fn the_specification_s_signature_verifies_over_our_base() {
        // RFC 9421 appendix B.2.4, with test-key-ecc-p256 of B.1.3.
        let parameters = r#"("@status" "content-type" "content-digest" "content-length");created=1618884473;keyid="test-key-ecc-p256""#;
        let components = [
            (r#""@status""#, "200".to_owned()),
            (r#""content-type""#, "application/json".to_owned()),
            (
                r#""content-digest""#,
                "sha-512=:mEWXIS7MaLRuGgxOBdODa3xqM1XdEvxoYhvlCFJ41QJgJc4GTsPp29l5oGX69wWdXymyU0rjJuahq4l5aGgfLQ==:".to_owned(),
            ),
            (r#""content-length""#, "23".to_owned()),
        ];
        let key = STANDARD
            .decode("MFkwEwYHKoZIzj0CAQYIKoZIzj0DAQcDQgAEqIVYZVLCrPZHGHjP17CTW0/+D9Lfw0EkjqF7xB4FivAxzic30tMM4GF+hR6Dxh71Z50VGGdldkkDXZCnTNnoXQ==")
            .unwrap();
        let signature = STANDARD
            .decode("wNmSUAhwb5LxtOtOpNa6W5xj067m5hFrj0XQ4fvpaCLx0NKocgPquLgyahnzDnDAUy5eCdlYUEkLIj+32oiasw==")
            .unwrap();
        UnparsedPublicKey::new(&ECDSA_P256_SHA256_FIXED, key)
            .verify(base(&components, parameters).as_bytes(), &signature)
            .unwrap();
    }
}
