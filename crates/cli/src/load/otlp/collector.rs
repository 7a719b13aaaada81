//! A collector that takes metrics over HTTP, as protobuf.
//!
//! Source: OpenTelemetry Protocol 1.10, "OTLP/HTTP".
//! Deviation: an export that failed is not repeated. Figures are cumulative, so the next
//! one says all that it did.

use std::fmt;

use anyhow::Context;
use http::header::{CONTENT_TYPE, HeaderValue, USER_AGENT};
use http::{HeaderMap, Request, Uri};
use http_body_util::{BodyExt, Full, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsServiceResponse;
use prost::Message;
use prost::bytes::Bytes;
use rustls::{ClientConfig, RootCertStore};
use tidegate_load::trusted_roots;

use super::DEADLINE;
use super::settings::Settings;
use crate::exit::bad_input;

/// Longest answer that is read.
const LONGEST_ANSWER: usize = 64 * 1024;
/// Characters of what a collector says that are shown.
const LONGEST_SAYING: usize = 200;

/// Shown as what is posted to.
pub struct Collector {
    uri: Uri,
    headers: HeaderMap,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Collector {
    /// Connects to nothing yet.
    ///
    /// # Errors
    /// The certificate authorities to trust cannot be read.
    pub fn new(settings: &Settings) -> anyhow::Result<Self> {
        let roots = match settings.uri.scheme_str() {
            Some("https") => trusted_roots(settings.ca.as_deref()).map_err(bad_input)?,
            _ => RootCertStore::empty(),
        };
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let tls = ClientConfig::builder_with_provider(provider.into())
            .with_safe_default_protocol_versions()
            .context("no TLS for the collector")?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let connector =
            HttpsConnectorBuilder::new().with_tls_config(tls).https_or_http().enable_http1();
        // Seconds lie between two exports: one that is kept may be closed by then.
        let client = Client::builder(TokioExecutor::new())
            .pool_max_idle_per_host(0)
            .build(connector.build());
        let mut headers = HeaderMap::new();
        let agent = concat!("tidegate-load/", env!("CARGO_PKG_VERSION"));
        headers.insert(USER_AGENT, HeaderValue::from_static(agent));
        headers.extend(settings.headers.clone());
        headers.insert(CONTENT_TYPE, HeaderValue::from_static("application/x-protobuf"));
        Ok(Self { uri: settings.uri.clone(), headers, client })
    }

    /// Posts a message, within [`DEADLINE`].
    ///
    /// # Errors
    /// Why not all of it was taken.
    pub async fn post(&self, message: Vec<u8>) -> Result<(), String> {
        match tokio::time::timeout(DEADLINE, self.exchange(message)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {} s", DEADLINE.as_secs())),
        }
    }

    async fn exchange(&self, message: Vec<u8>) -> Result<(), String> {
        // What lies at the bottom is the reason; what is above it says who met it.
        let failed = |error: anyhow::Error| error.root_cause().to_string();
        let mut request = Request::post(&self.uri)
            .body(Full::from(message))
            .map_err(|error| failed(error.into()))?;
        *request.headers_mut() = self.headers.clone();
        let answer = self.client.request(request).await.map_err(|error| failed(error.into()))?;
        if !answer.status().is_success() {
            return Err(format!("answered {}", answer.status()));
        }
        let body = Limited::new(answer.into_body(), LONGEST_ANSWER).collect().await;
        let body = body.map_err(|error| failed(anyhow::Error::from_boxed(error)))?.to_bytes();
        refusal(&body).map_or(Ok(()), Err)
    }
}

impl fmt::Display for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.uri.fmt(f)
    }
}

/// What an answer of success says that it did not take. One that is no message of
/// OTLP, as some collectors send, says nothing.
fn refusal(body: &[u8]) -> Option<String> {
    let partial = ExportMetricsServiceResponse::decode(body).ok()?.partial_success?;
    let (rejected, said) = (partial.rejected_data_points, partial.error_message);
    let said: String = said.escape_debug().take(LONGEST_SAYING).collect();
    match (rejected, said.as_str()) {
        (0, "") => None,
        (0, said) => Some(format!("warns: {said}")),
        (rejected, said) => Some(format!("rejected {rejected} data points: {said}")),
    }
}

#[cfg(test)]
mod tests {
    use opentelemetry_proto::tonic::collector::metrics::v1::ExportMetricsPartialSuccess;

    use super::*;

    fn answered(rejected_data_points: i64, error_message: &str) -> Option<String> {
        let error_message = error_message.to_owned();
        let partial = ExportMetricsPartialSuccess { rejected_data_points, error_message };
        let answer = ExportMetricsServiceResponse { partial_success: Some(partial) };
        refusal(&answer.encode_to_vec())
    }

    #[test]
    fn a_success_that_is_partial_is_told_and_cannot_write_to_the_terminal() {
        assert_eq!(refusal(b""), None);
        assert_eq!(refusal(b"<html>"), None);
        assert_eq!(answered(0, ""), None);
        assert_eq!(answered(3, "too\x1bold").unwrap(), "rejected 3 data points: too\\u{1b}old");
        assert_eq!(answered(0, "old").unwrap(), "warns: old");
        assert_eq!(answered(1, &"x".repeat(1000)).unwrap().len(), 24 + LONGEST_SAYING);
    }
}
