//! The ways to write a message.

mod cose;
mod http_signatures;
mod jose;
mod jwe;
mod none;
#[cfg(test)]
mod refused;

use std::str::FromStr;

use http::HeaderMap;

use super::keys::Keys;
use super::message::Message;
use super::refused::Refused;
use super::wire::Scene;
use crate::Result;

/// Writes and reads messages in one format with the keys of one party.
pub(super) trait Codec: Send + Sync {
    /// The body of a message; fields of the format go to `headers`, which holds the
    /// Content-Type.
    fn seal(&self, message: &Message, scene: &Scene, headers: &mut HeaderMap) -> Result<Vec<u8>>;

    /// The message of a body with the format's Content-Type.
    fn open(&self, headers: &HeaderMap, body: &[u8], scene: &Scene) -> Result<Message, Refused>;
}

/// A way to write a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Format {
    /// Plain JSON.
    None,
    /// A JSON Web Signature inside of a JSON Web Encryption (RFC 7515, 7516, 7519).
    Jose,
    /// A `COSE_Sign1` inside of a `COSE_Encrypt0` (RFC 9052).
    Cose,
    /// JSON signed by HTTP Message Signatures and Content-Digest (RFC 9421, 9530); not
    /// encrypted.
    HttpSignatures,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::None, Self::Jose, Self::Cose, Self::HttpSignatures];

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Jose => "jose",
            Self::Cose => "cose",
            Self::HttpSignatures => "http-signatures",
        }
    }

    /// The Content-Type of its messages.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::None | Self::HttpSignatures => "application/json",
            Self::Jose => "application/jose",
            Self::Cose => "application/cose; cose-type=\"cose-encrypt0\"",
        }
    }

    /// Whether others cannot read its messages.
    pub fn is_confidential(self) -> bool {
        matches!(self, Self::Jose | Self::Cose)
    }

    pub(super) fn codec(self, keys: Keys) -> Result<Box<dyn Codec>> {
        Ok(match self {
            Self::None => Self::unprotected(),
            Self::Jose => Box::new(jose::Jose::new(keys)?),
            Self::Cose => Box::new(cose::Cose::new(keys)?),
            Self::HttpSignatures => Box::new(http_signatures::HttpSignatures::new(keys)),
        })
    }

    pub(super) fn unprotected() -> Box<dyn Codec> {
        Box::new(none::Plain)
    }
}

impl FromStr for Format {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        Self::ALL.into_iter().find(|format| format.name() == text).ok_or_else(|| {
            let names = Self::ALL.map(Self::name).join(", ");
            format!("must be one of {names}")
        })
    }
}

impl std::fmt::Display for Format {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.pad(self.name())
    }
}
