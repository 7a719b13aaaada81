//! The ways to write a message.

mod codec;
mod cose;
mod http_signatures;
mod jose;
mod jwe;
mod none;
#[cfg(test)]
mod refused;
mod xml;

use std::str::FromStr;

use super::keys::Keys;
use super::wire::MOST_BODY;
pub(super) use codec::Codec;
#[cfg(any(test, feature = "fuzzing"))]
pub use codec::Layer;
use tidegate_sitekit::Result;

/// Most bytes of a body in XML: every character of the payload as `&amp;`, and that in base64.
const MOST_XML_BODY: usize = 7 * 1024 * 1024;

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
    /// XML with an XML Signature inside of an XML Encryption (W3C, version 1.1 of both).
    Xml,
}

impl Format {
    /// All of them.
    pub const ALL: [Self; 5] =
        [Self::None, Self::Jose, Self::Cose, Self::HttpSignatures, Self::Xml];

    /// Its name on the command line and in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Jose => "jose",
            Self::Cose => "cose",
            Self::HttpSignatures => "http-signatures",
            Self::Xml => "xml",
        }
    }

    /// The Content-Type of its messages.
    pub fn media_type(self) -> &'static str {
        match self {
            Self::None | Self::HttpSignatures => "application/json",
            Self::Jose => "application/jose",
            Self::Cose => "application/cose; cose-type=\"cose-encrypt0\"",
            Self::Xml => "application/xml",
        }
    }

    /// Whether others cannot read its messages.
    pub fn is_confidential(self) -> bool {
        matches!(self, Self::Jose | Self::Cose | Self::Xml)
    }

    /// Most bytes of a body: the largest payload in the widest form that the format has for it.
    pub fn most_body(self) -> usize {
        match self {
            Self::None | Self::Jose | Self::Cose | Self::HttpSignatures => MOST_BODY,
            Self::Xml => MOST_XML_BODY,
        }
    }

    pub(super) fn codec(self, keys: Keys) -> Result<Box<dyn Codec>> {
        Ok(match self {
            Self::None => Self::unprotected(),
            Self::Jose => Box::new(jose::Jose::new(keys)?),
            Self::Cose => Box::new(cose::Cose::new(keys)?),
            Self::HttpSignatures => Box::new(http_signatures::HttpSignatures::new(keys)),
            Self::Xml => Box::new(xml::Xml::new(&keys)?),
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
