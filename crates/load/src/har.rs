//! HAR 1.2, the recordings that browsers export from their network view.
//!
//! Source: the HAR 1.2 specification; fields that begin with `_` are Chromium's.

use jiff::Timestamp;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};
use serde_json::Value;

/// What to do about a file that is no recording.
pub(crate) const EXPORT: &str = "export it from a browser's network view";

/// A recording whose entries are read as `E`.
#[derive(Debug, Deserialize)]
pub(crate) struct Har<E> {
    pub(crate) log: Log<E>,
}

/// Its content.
#[derive(Debug, Deserialize)]
pub(crate) struct Log<E> {
    pub(crate) entries: Vec<E>,
}

/// The time of an entry and nothing else.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Start {
    pub(crate) started_date_time: Timestamp,
}

/// An entry, or what is wrong with it: one that is malformed does not spoil the others.
#[derive(Debug)]
pub(crate) struct Lenient<E>(pub(crate) Result<E, String>);

impl<'de, E: DeserializeOwned> Deserialize<'de> for Lenient<E> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = Value::deserialize(deserializer)?;
        Ok(Self(E::deserialize(value).map_err(|error| error.to_string())))
    }
}

/// A request with its response.
#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Entry {
    pub(crate) started_date_time: Timestamp,
    /// Milliseconds until the end of the response.
    pub(crate) time: Option<f64>,
    pub(crate) pageref: Option<String>,
    pub(crate) request: Request,
    #[serde(default)]
    pub(crate) response: Response,
    /// `document`, `script`, `xhr` and so on.
    #[serde(rename = "_resourceType")]
    pub(crate) resource_type: Option<String>,
    #[serde(rename = "_initiator")]
    initiator: Option<Value>,
    /// `memory` or `disk`.
    #[serde(rename = "_fromCache")]
    pub(crate) from_cache: Option<Value>,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Request {
    pub(crate) method: String,
    pub(crate) url: String,
    #[serde(default)]
    pub(crate) http_version: String,
    #[serde(default)]
    pub(crate) headers: Vec<Pair>,
    pub(crate) post_data: Option<PostData>,
}

/// A header field.
#[derive(Debug, Deserialize)]
pub(crate) struct Pair {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) value: String,
}

#[derive(Debug, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct PostData {
    #[serde(default)]
    pub(crate) mime_type: String,
    pub(crate) text: Option<String>,
    /// `base64`, where the text is no text: not of the specification, but written by several
    /// recorders.
    #[serde(alias = "_encoding")]
    pub(crate) encoding: Option<String>,
    pub(crate) params: Option<Vec<Param>>,
}

/// A field of a form.
#[derive(Debug, Deserialize)]
pub(crate) struct Param {
    pub(crate) name: String,
    #[serde(default)]
    pub(crate) value: Option<String>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Response {
    /// 0 without a response.
    #[serde(default)]
    pub(crate) status: i64,
    #[serde(default)]
    pub(crate) content: Content,
    #[serde(rename = "redirectURL", default)]
    pub(crate) redirect_url: String,
    #[serde(rename = "_error")]
    pub(crate) error: Option<String>,
    #[serde(rename = "_fetchedViaServiceWorker")]
    pub(crate) by_service_worker: Option<bool>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct Content {
    #[serde(default)]
    pub(crate) mime_type: String,
    pub(crate) text: Option<String>,
    /// `base64`, where the text is no text.
    pub(crate) encoding: Option<String>,
}

impl Entry {
    /// The document or script because of which the request was made.
    pub(crate) fn initiator(&self) -> Option<&str> {
        let initiator = self.initiator.as_ref()?;
        let parsed = || initiator.get("url")?.as_str();
        let script = || initiator.pointer("/stack/callFrames/0/url")?.as_str();
        parsed().or_else(script)
    }
}

impl Request {
    /// The value of the header field of this name, in lower case.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let found = self.headers.iter().find(|pair| pair.name.eq_ignore_ascii_case(name))?;
        Some(&found.value)
    }
}

/// Reads a recording. The specification of HAR allows a byte order mark.
///
/// # Errors
/// It is no JSON, or no HAR.
pub(crate) fn from_slice<E: DeserializeOwned>(bytes: &[u8]) -> serde_json::Result<Vec<E>> {
    let har: Har<E> = serde_json::from_slice(tidegate_config::without_mark(bytes))?;
    Ok(har.log.entries)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_malformed_entry_is_told_and_the_others_are_read() {
        let text = "\u{feff}{\"log\":{\"version\":\"1.2\",\"entries\":[7,
            {\"startedDateTime\":\"2024-05-01T12:00:00Z\",\"request\":{\"method\":\"GET\",\"url\":\"/\"},
             \"time\":null,\"_initiator\":{\"type\":\"script\",\"stack\":{\"callFrames\":[{\"url\":\"a.js\"}]}}},
            {\"startedDateTime\":\"soon\"}]}}";
        let entries: Vec<Lenient<Entry>> = from_slice(text.as_bytes()).unwrap();
        assert!(entries[0].0.as_ref().unwrap_err().contains("invalid type"));
        let good = entries[1].0.as_ref().unwrap();
        assert_eq!((good.initiator(), good.response.status), (Some("a.js"), 0));
        assert!(entries[2].0.is_err());
    }

    #[test]
    fn nesting_without_end_is_an_error() {
        let deep = "[".repeat(100_000);
        let text = format!("{{\"log\":{{\"entries\":[{deep}");
        assert!(from_slice::<Lenient<Entry>>(text.as_bytes()).is_err());
    }
}
