//! JSON Web Encryption in the compact form, in one profile: direct key agreement ECDH-ES
//! over P-256 with a new key pair per message, content encryption A256GCM.
//!
//! The primitives are those of AWS-LC; here is their order alone. What the profile does not
//! need is refused: other algorithms, compression, critical headers, further header fields.
//!
//! Source: RFC 7516 sections 3.1, 5 and 7.1; RFC 7518 sections 4.6, 5.3 and appendix C.

use aws_lc_rs::aead::{AES_256_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use aws_lc_rs::agreement::{ECDH_P256, PrivateKey, UnparsedPublicKey, agree};
use aws_lc_rs::digest::{Context, SHA256};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD as BASE64;
use serde::de::IgnoredAny;
use serde::{Deserialize, Serialize};
use zeroize::Zeroizing;

use crate::refused::Refused;
use tidegate_sitekit::{Error, Result};

const ALG: &str = "ECDH-ES";
const ENC: &str = "A256GCM";
/// Content type of a signed message inside of an encrypted one: RFC 7519 section 5.2.
const NESTED: &str = "JWT";
/// Most bytes of a header, which is read before anything is verified.
const MOST_HEADER: usize = 1024;
/// Bytes of an uncompressed point of P-256.
const POINT: usize = 65;

/// The protected header. Unknown and repeated fields are errors.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Header {
    alg: String,
    enc: String,
    cty: String,
    epk: Option<Epk>,
    #[serde(default, skip_serializing)]
    zip: Option<IgnoredAny>,
    #[serde(default, skip_serializing)]
    crit: Option<IgnoredAny>,
}

/// The sender's public key of this message: RFC 7518 section 6.2.
#[derive(Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Epk {
    kty: String,
    crv: String,
    x: String,
    y: String,
}

/// Encrypts for the holder of a key of P-256.
pub(super) fn encrypt(plain: &[u8], peer: &[u8]) -> Result<String> {
    let failed = || Error::Internal("a message cannot be encrypted".into());
    let own = PrivateKey::generate(&ECDH_P256).map_err(|_| failed())?;
    let public = own.compute_public_key().map_err(|_| failed())?;
    let header = Header {
        alg: ALG.into(),
        enc: ENC.into(),
        cty: NESTED.into(),
        epk: Some(Epk::of(public.as_ref())),
        zip: None,
        crit: None,
    };
    let header = serde_json::to_vec(&header).map_err(|_| failed())?;
    let header = BASE64.encode(header);
    let key = agreed(&own, peer).map_err(|()| failed())?;
    let mut nonce = [0; NONCE_LEN];
    aws_lc_rs::rand::fill(&mut nonce).map_err(|_| failed())?;
    let mut sealed = plain.to_vec();
    let tag = key
        .seal_in_place_separate_tag(
            Nonce::assume_unique_for_key(nonce),
            Aad::from(&header),
            &mut sealed,
        )
        .map_err(|_| failed())?;
    let mut text = header;
    text.reserve(sealed.len().div_ceil(3) * 4 + 64);
    // Direct key agreement has an empty encrypted key.
    text.push_str("..");
    BASE64.encode_string(nonce, &mut text);
    text.push('.');
    BASE64.encode_string(&sealed, &mut text);
    text.push('.');
    BASE64.encode_string(tag.as_ref(), &mut text);
    Ok(text)
}

/// Decrypts what was encrypted for the holder of a key.
pub(super) fn decrypt(text: &[u8], own: &PrivateKey) -> Result<Vec<u8>, Refused> {
    let mut parts = text.split(|byte| *byte == b'.');
    let mut part = || parts.next().ok_or(Refused::Malformed);
    let (header, encrypted_key, nonce, sealed, tag) = (part()?, part()?, part()?, part()?, part()?);
    if parts.next().is_some() || !encrypted_key.is_empty() || header.len() > MOST_HEADER {
        return Err(Refused::Malformed);
    }
    let peer = read_header(header)?.epk.ok_or(Refused::Malformed)?.point()?;
    let decode = |part| BASE64.decode(part).map_err(|_| Refused::Malformed);
    let nonce: [u8; NONCE_LEN] = decode(nonce)?.try_into().map_err(|_| Refused::Malformed)?;
    let tag = decode(tag)?;
    if tag.len() != AES_256_GCM.tag_len() {
        return Err(Refused::Malformed);
    }
    let mut opened = decode(sealed)?;
    opened.extend_from_slice(&tag);
    let key = agreed(own, &peer).map_err(|()| Refused::Decryption)?;
    let length = key
        .open_in_place(Nonce::assume_unique_for_key(nonce), Aad::from(header), &mut opened)
        .map_err(|_| Refused::Decryption)?
        .len();
    opened.truncate(length);
    Ok(opened)
}

fn read_header(part: &[u8]) -> Result<Header, Refused> {
    let json = BASE64.decode(part).map_err(|_| Refused::Malformed)?;
    let header: Header = serde_json::from_slice(&json).map_err(|_| Refused::Malformed)?;
    if header.crit.is_some() {
        return Err(Refused::Critical);
    }
    if header.zip.is_some() {
        return Err(Refused::Compressed);
    }
    if header.alg != ALG || header.enc != ENC {
        return Err(Refused::Algorithm);
    }
    if header.cty != NESTED {
        return Err(Refused::Malformed);
    }
    Ok(header)
}

impl Epk {
    fn of(point: &[u8]) -> Self {
        let coordinate = |range: std::ops::Range<usize>| BASE64.encode(&point[range]);
        Self {
            kty: "EC".into(),
            crv: "P-256".into(),
            x: coordinate(1..33),
            y: coordinate(33..POINT),
        }
    }

    /// The point, uncompressed. Whether it lies on the curve is checked by the agreement.
    fn point(&self) -> Result<Vec<u8>, Refused> {
        if self.kty != "EC" || self.crv != "P-256" {
            return Err(Refused::Algorithm);
        }
        let mut point = vec![4];
        for coordinate in [&self.x, &self.y] {
            point.extend(BASE64.decode(coordinate).map_err(|_| Refused::Malformed)?);
        }
        if point.len() == POINT { Ok(point) } else { Err(Refused::Malformed) }
    }
}

/// The content key that both derive.
fn agreed(own: &PrivateKey, peer: &[u8]) -> Result<LessSafeKey, ()> {
    agree(own, UnparsedPublicKey::new(&ECDH_P256, peer), (), |secret| {
        let key = concat_kdf(secret, ENC, b"", b"", 256);
        UnboundKey::new(&AES_256_GCM, key.as_ref()).map(LessSafeKey::new).map_err(|_| ())
    })
}

/// The first `bits` (at most 256) of the Concat KDF with SHA-256.
///
/// Source: RFC 7518 section 4.6.2.
fn concat_kdf(
    secret: &[u8],
    algorithm: &str,
    apu: &[u8],
    apv: &[u8],
    bits: u32,
) -> Zeroizing<Vec<u8>> {
    let mut hash = Context::new(&SHA256);
    hash.update(&1u32.to_be_bytes());
    hash.update(secret);
    for info in [algorithm.as_bytes(), apu, apv] {
        hash.update(&u32::try_from(info.len()).unwrap_or(u32::MAX).to_be_bytes());
        hash.update(info);
    }
    hash.update(&bits.to_be_bytes());
    Zeroizing::new(hash.finish().as_ref()[..bits as usize / 8].to_vec())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_key_of_the_specification_s_example_is_derived() {
        // RFC 7518 appendix C: Alice's ephemeral key, Bob's key, A128GCM.
        let d = BASE64.decode("0_NxaRPUMQoAJt50Gz8YiTr8gRTwyEaCumd-MToTmIo").unwrap();
        let alice = PrivateKey::from_private_key(&ECDH_P256, &d).unwrap();
        let bob = Epk {
            kty: "EC".into(),
            crv: "P-256".into(),
            x: "weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ".into(),
            y: "e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck".into(),
        };
        let peer = bob.point().unwrap();
        let key = agree(&alice, UnparsedPublicKey::new(&ECDH_P256, &peer), (), |secret| {
            Ok(concat_kdf(secret, "A128GCM", b"Alice", b"Bob", 128).to_vec())
        });
        assert_eq!(BASE64.encode(key.unwrap()), "VqqN6vgjbSBcIijNcacQGg");
    }

    /// Opens the first argument with the key of RFC 7518 appendix C, and encrypts for it.
    const JWCRYPTO: &str = r#"
import json, sys
from jwcrypto import jwe, jwk
key = jwk.JWK(kty="EC", crv="P-256", d="VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw",
              x="weNJy2HscCSM6AEDTDg04biOvhFhyyWvOHQfeF_PxMQ",
              y="e8lnCO-AlStT-NJVX-crhB7QRYhiix03illJOVAOyck")
opened = jwe.JWE()
opened.deserialize(sys.argv[1], key)
print(opened.payload.decode())
header = {"alg": "ECDH-ES", "enc": "A256GCM", "cty": "JWT"}
print(jwe.JWE(b"from the other side", json.dumps(header), recipient=key).serialize(compact=True))
"#;

    #[test]
    fn another_implementation_reads_what_we_encrypt_and_we_what_it_does() {
        let d = BASE64.decode("VEmDZpDXXK8p8N0Cndsxs924q6nS1RXFASRl6BfUqdw").unwrap();
        let bob = PrivateKey::from_private_key(&ECDH_P256, &d).unwrap();
        let text = encrypt(b"from us", bob.compute_public_key().unwrap().as_ref()).unwrap();
        let mut python = std::process::Command::new("/usr/bin/python3");
        let output = python.args(["-c", JWCRYPTO, &text]).output().unwrap();
        let error = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "jwcrypto, by `scripts/bootstrap test`: {error}");
        let lines = String::from_utf8(output.stdout).unwrap();
        let (read, written) = lines.trim_end().split_once('\n').unwrap();
        assert_eq!(read, "from us");
        assert_eq!(decrypt(written.as_bytes(), &bob).unwrap(), b"from the other side");
    }

    #[test]
    fn only_the_holder_of_the_key_reads_a_message() {
        let (bob, eve) = (key(), key());
        let text = encrypt(b"secret", bob.compute_public_key().unwrap().as_ref()).unwrap();
        assert_eq!(decrypt(text.as_bytes(), &bob).unwrap(), b"secret");
        assert_eq!(decrypt(text.as_bytes(), &eve), Err(Refused::Decryption));
    }

    #[test]
    fn every_altered_byte_is_noticed() {
        let bob = key();
        let text = encrypt(b"secret", bob.compute_public_key().unwrap().as_ref()).unwrap();
        for at in 0..text.len() {
            let mut altered = text.clone().into_bytes();
            altered[at] = if altered[at] == b'A' { b'B' } else { b'A' };
            assert!(decrypt(&altered, &bob).is_err(), "byte {at} of {text}");
        }
    }

    fn key() -> PrivateKey {
        PrivateKey::generate(&ECDH_P256).unwrap()
    }
}
