//! The encrypted message: its key is wrapped under one that sender and recipient agree on,
//! with a new key pair of the sender's for each message.
//!
//! Source: XML Encryption Syntax and Processing 1.1 sections 3, 5.2.4, 5.4.1, 5.6.4 and 5.7.2;
//! NIST SP 800-56A section 5.8.1 (names of both parties in the derivation of the key).

use aws_lc_rs::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair};
use bergshamra_enc::EncContext;
use bergshamra_enc::decrypt::decrypt_to_bytes;
use bergshamra_enc::encrypt::encrypt;
use bergshamra_keys::{Key, KeyUsage};

use super::material::{decoded, manager, private, public};
use super::outline::{Outline, Part, algorithm, text};
use crate::keys::{Keys, Party};
use crate::refused::Refused;
use tidegate_sitekit::{Error, Result};

/// The document. The plaintext is declared as octets: what is declared as an element, the
/// library writes anew when it decrypts it (`<a></a>` becomes `<a/>`), and those are not the
/// bytes that were signed.
const OUTLINE: Outline<6> = Outline::new(&[
    text("<xenc:EncryptedData xmlns:xenc=\"http://www.w3.org/2001/04/xmlenc#\""),
    text(" MimeType=\"application/octet-stream\">"),
    algorithm("<xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2009/xmlenc11#aes256-gcm\"/>"),
    text("<ds:KeyInfo xmlns:ds=\"http://www.w3.org/2000/09/xmldsig#\"><xenc:EncryptedKey>"),
    algorithm("<xenc:EncryptionMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#kw-aes256\"/>"),
    text("<ds:KeyInfo>"),
    algorithm("<xenc:AgreementMethod Algorithm=\"http://www.w3.org/2009/xmlenc11#ECDH-ES\">"),
    text("<xenc11:KeyDerivationMethod xmlns:xenc11=\"http://www.w3.org/2009/xmlenc11#\""),
    algorithm(" Algorithm=\"http://www.w3.org/2009/xmlenc11#ConcatKDF\">"),
    text("<xenc11:ConcatKDFParams PartyUInfo=\""),
    Part::Attribute,
    text("\" PartyVInfo=\""),
    Part::Attribute,
    text("\">"),
    algorithm("<ds:DigestMethod Algorithm=\"http://www.w3.org/2001/04/xmlenc#sha256\"/>"),
    text("</xenc11:ConcatKDFParams></xenc11:KeyDerivationMethod>"),
    text("<xenc:OriginatorKeyInfo><ds:KeyValue>"),
    text("<ECKeyValue xmlns=\"http://www.w3.org/2009/xmldsig11#\">"),
    algorithm("<NamedCurve URI=\"urn:oid:1.2.840.10045.3.1.7\"/>"),
    text("<PublicKey>"),
    Part::Content,
    text("</PublicKey></ECKeyValue></ds:KeyValue></xenc:OriginatorKeyInfo>"),
    text("<xenc:RecipientKeyInfo><ds:KeyName>"),
    Part::Content,
    text("</ds:KeyName></xenc:RecipientKeyInfo></xenc:AgreementMethod></ds:KeyInfo>"),
    text("<xenc:CipherData><xenc:CipherValue>"),
    Part::Content,
    text("</xenc:CipherValue></xenc:CipherData></xenc:EncryptedKey></ds:KeyInfo>"),
    text("<xenc:CipherData><xenc:CipherValue>"),
    Part::Content,
    text("</xenc:CipherValue></xenc:CipherData></xenc:EncryptedData>"),
]);

/// Bytes of an uncompressed point of P-256.
const POINT: usize = 65;
/// Bytes of a wrapped key of AES-256.
const WRAPPED: usize = 40;

/// Encrypts for the other party, and decrypts for this one.
pub(super) struct Encryption {
    party: Party,
    peer: Key,
    decrypting: EncContext,
}

impl Encryption {
    pub(super) fn new(keys: &Keys) -> Result<Self> {
        let party = keys.party;
        let own = private(&keys.decrypting_pkcs8(), KeyUsage::Decrypt)?.with_name(party.name());
        let peer = public(&keys.peer_encrypting(), KeyUsage::Encrypt)?;
        let peer = peer.with_name(party.other().name());
        let mut decrypting = EncContext::new(manager([own])).with_disable_cipher_reference(true);
        decrypting.max_pbkdf2_iterations = 0;
        Ok(Self { party, peer, decrypting })
    }

    /// The document that the other party reads these bytes from.
    pub(super) fn encrypt(&self, plain: &[u8]) -> Result<String> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::Internal(format!("a message cannot be encrypted: {error}"))
        };
        let pair = EcdsaKeyPair::generate(&ECDSA_P256_SHA256_FIXED_SIGNING)
            .and_then(|pair| pair.to_pkcs8v1())
            .map_err(|error| failed(&error))?;
        let pair = private(pair.as_ref(), KeyUsage::Encrypt)?;
        let (sender, recipient) = (self.party, self.party.other());
        // The library fills in the sender's public key, the wrapped key and the ciphertext. It
        // takes the first key of the curve for the sender's.
        let template = OUTLINE.write([info(sender), info(recipient), "", recipient.name(), "", ""]);
        let context = EncContext::new(manager([pair, self.peer.clone()]));
        encrypt(&context, &template, plain).map_err(|error| failed(&error))
    }

    /// The bytes that were encrypted for this party.
    pub(super) fn decrypt(&self, document: &str) -> Result<Vec<u8>, Refused> {
        let [sender, recipient, point, name, wrapped, cipher] = OUTLINE.read(document)?;
        if sender != info(self.party.other()) {
            return Err(Refused::Sender);
        }
        if recipient != info(self.party) || name != self.party.name() {
            return Err(Refused::Recipient);
        }
        decoded::<POINT>(point)?;
        decoded::<WRAPPED>(wrapped)?;
        // The library leaves out whitespace, so that would be another way to write it.
        if !cipher.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"+/=".contains(&byte)) {
            return Err(Refused::Malformed);
        }
        decrypt_to_bytes(&self.decrypting, document).map_err(|_| Refused::Decryption)
    }
}

/// A party's name in the derivation of the key: in hexadecimal, after the number of unused bits
/// at the end.
fn info(party: Party) -> &'static str {
    match party {
        Party::Client => "00636c69656e74",
        Party::Server => "00736572766572",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_party_s_name_is_that_of_its_messages() {
        for party in [Party::Client, Party::Server] {
            let hex: String = party.name().bytes().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(info(party), format!("00{hex}"));
        }
    }
}
