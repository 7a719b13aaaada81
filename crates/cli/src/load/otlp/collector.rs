//! Client of a collector: metrics over HTTP in protobuf.
//!
//! Source: OpenTelemetry Protocol 1.10, "OTLP/HTTP".
//! Deviation: a failed export is not repeated. Figures are cumulative, so the next export
//! contains its data.

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

/// Most bytes read of a response.
const LONGEST_ANSWER: usize = 64 * 1024;
/// Most characters shown of a message of the collector.
const LONGEST_SAYING: usize = 200;

/// Shown as the URL.
pub struct Collector {
    uri: Uri,
    headers: HeaderMap,
    client: Client<HttpsConnector<HttpConnector>, Full<Bytes>>,
}

impl Collector {
    /// Does not connect yet.
    ///
    /// # Errors
    /// The certificate authorities cannot be read.
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
        // Exports are seconds apart; an idle connection may be closed by then.
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
    /// Why the message was not accepted in full.
    pub async fn post(&self, message: Vec<u8>) -> Result<(), String> {
        match tokio::time::timeout(DEADLINE, self.exchange(message)).await {
            Ok(result) => result,
            Err(_) => Err(format!("no answer within {} s", DEADLINE.as_secs())),
        }
    }

    async fn exchange(&self, message: Vec<u8>) -> Result<(), String> {
        // The innermost error is the reason.
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

/// The partial rejection in a successful response. Some collectors send a body that is not
/// OTLP; it is ignored.
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
    fn a_partial_success_is_reported_without_control_characters() {
        assert_eq!(refusal(b""), None);
        assert_eq!(refusal(b"<html>"), None);
        assert_eq!(answered(0, ""), None);
        assert_eq!(answered(3, "too\x1bold").unwrap(), "rejected 3 data points: too\\u{1b}old");
        assert_eq!(answered(0, "old").unwrap(), "warns: old");
        assert_eq!(answered(1, &"x".repeat(1000)).unwrap().len(), 24 + LONGEST_SAYING);
    }
}
