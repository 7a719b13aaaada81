//! What is compared.

use std::fmt;

use serde::{Deserialize, Serialize};
use tidegate_messages::Format;

/// A service with its kind of security.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(into = "&'static str", try_from = "String")]
pub enum Configuration {
    /// The Rust service, plain HTTP.
    Clear,
    /// The Rust service over TLS 1.3.
    Https,
    /// The Rust service, each message signed and encrypted by JOSE.
    Jose,
    /// The same by COSE.
    Cose,
    /// Each message signed by HTTP Message Signatures.
    HttpSignatures,
    /// Each message signed and encrypted by XML Signature and XML Encryption.
    Xml,
    /// A page on Tomcat, plain HTTP.
    JspClear,
    /// The same page over Tomcat's TLS.
    JspHttps,
    /// A SOAP service on Tomcat, plain HTTP.
    SoapClear,
    /// The same service, each message signed and encrypted by WS-Security.
    SoapWss,
}

impl Configuration {
    /// All of them, each after what it is compared with.
    pub const ALL: [Self; 10] = [
        Self::Clear,
        Self::Https,
        Self::Jose,
        Self::Cose,
        Self::HttpSignatures,
        Self::Xml,
        Self::JspClear,
        Self::JspHttps,
        Self::SoapClear,
        Self::SoapWss,
    ];

    /// Its name in tables and figures.
    pub fn name(self) -> &'static str {
        match self {
            Self::Clear => "rust-clear",
            Self::Https => "rust-https",
            Self::Jose => "rust-jose",
            Self::Cose => "rust-cose",
            Self::HttpSignatures => "rust-http-signatures",
            Self::Xml => "rust-xml",
            Self::JspClear => "jsp-clear",
            Self::JspHttps => "jsp-https",
            Self::SoapClear => "soap-clear",
            Self::SoapWss => "soap-wss",
        }
    }

    /// Whether it runs on Tomcat, with a client on Java.
    pub fn is_java(self) -> bool {
        matches!(self, Self::JspClear | Self::JspHttps | Self::SoapClear | Self::SoapWss)
    }

    /// Whether its connections use TLS.
    pub fn is_tls(self) -> bool {
        matches!(self, Self::Https | Self::JspHttps)
    }

    /// How the Rust service writes messages.
    pub(super) fn format(self) -> Format {
        match self {
            Self::Jose => Format::Jose,
            Self::Cose => Format::Cose,
            Self::HttpSignatures => Format::HttpSignatures,
            Self::Xml => Format::Xml,
            _ => Format::None,
        }
    }

    /// The same service in the clear; `None` for those.
    pub fn unsecured(self) -> Option<Self> {
        match self {
            Self::Clear | Self::JspClear | Self::SoapClear => None,
            Self::Https | Self::Jose | Self::Cose | Self::HttpSignatures | Self::Xml => {
                Some(Self::Clear)
            }
            Self::JspHttps => Some(Self::JspClear),
            Self::SoapWss => Some(Self::SoapClear),
        }
    }
}

impl From<Configuration> for &'static str {
    fn from(configuration: Configuration) -> Self {
        configuration.name()
    }
}

impl TryFrom<String> for Configuration {
    type Error = String;

    fn try_from(name: String) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|it| it.name() == name);
        found.ok_or_else(|| format!("there is no configuration {name}"))
    }
}

impl fmt::Display for Configuration {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}
