//! What became of a page.

use std::fmt;

use serde::{Deserialize, Serialize};

use crate::key::Key;
use crate::media::Kind;

/// What became of a page in one variant.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// The page.
    pub key: Key,
    /// The value of the cookie that it was requested with.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variant: Option<String>,
    /// What became of it.
    pub outcome: Outcome,
}

/// What became of a page.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Outcome {
    /// It is rendered.
    Body(Body),
    /// It is at another address for good.
    Moved {
        /// The URL.
        to: String,
    },
    /// It stays dynamic.
    Skipped(Why),
}

/// A page or file as the site sent it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Body {
    /// What is done with it.
    pub kind: Kind,
    /// Its content type.
    pub content_type: String,
    /// The hash of its bytes, by which they are kept.
    pub hash: String,
    /// The file that the site asks for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub name: Option<String>,
    /// Its entity tag.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub etag: Option<String>,
    /// Its time of modification, as the site wrote it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub modified: Option<String>,
    /// It is of an earlier run, because the site could not answer for now.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub kept: bool,
}

/// Why a page stays dynamic.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Why {
    /// Out of scope.
    OutOfScope,
    /// Left alone as robots.txt asks.
    Robots,
    /// Too many links from a root.
    Depth,
    /// More pages than are requested.
    MaxPages,
    /// The time was over.
    Time,
    /// Another status than 200.
    Status(u16),
    /// A redirect that holds for now.
    Redirects(u16),
    /// A redirect to another site.
    Leaves,
    /// Redirects without end.
    RedirectLoop,
    /// It sets a cookie.
    SetsCookie,
    /// For one visitor alone, by its `Cache-Control`.
    Private(String),
    /// It differs by a header field of the request.
    Varies(String),
    /// Larger than what is read.
    TooLarge,
    /// Encoded, though no coding was accepted.
    Encoded,
    /// The site asked to come later, too often or for too long.
    Busy(u16),
    /// No complete answer.
    NoAnswer(String),
    /// Not a page for this value of the cookie.
    Variant(String),
}

impl Why {
    /// Whether it may be over soon, so that the page of an earlier run is still good.
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Status(500..) | Self::Busy(_) | Self::NoAnswer(_) | Self::Time)
    }
}

impl fmt::Display for Why {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::OutOfScope => f.write_str("out of scope"),
            Self::Robots => f.write_str("disallowed by robots.txt"),
            Self::Depth => f.write_str("deeper than --max-depth"),
            Self::MaxPages => f.write_str("beyond --max-pages"),
            Self::Time => f.write_str("beyond --time"),
            Self::Status(status) => write!(f, "status {status}"),
            Self::Redirects(status) => write!(f, "temporary redirect ({status})"),
            Self::Leaves => f.write_str("redirect to another site"),
            Self::RedirectLoop => f.write_str("redirects in a loop"),
            Self::SetsCookie => f.write_str("sets a cookie"),
            Self::Private(directive) => write!(f, "Cache-Control: {directive}"),
            Self::Varies(field) => write!(f, "Vary: {field}"),
            Self::TooLarge => f.write_str("larger than --largest"),
            Self::Encoded => f.write_str("encoded without being asked to"),
            Self::Busy(status) => write!(f, "the site is busy (status {status})"),
            Self::NoAnswer(why) => write!(f, "no answer: {why}"),
            Self::Variant(value) => write!(f, "not a page with {value}"),
        }
    }
}
