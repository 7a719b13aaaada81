//! A client of HTTP and HTTPS, for calls of other services. Tiers of one service call each
//! other over a [`link`](crate::link).

use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::{BodyExt as _, Full, LengthLimitError, Limited};
use hyper_rustls::{HttpsConnector, HttpsConnectorBuilder};
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::{TokioExecutor, TokioTimer};
use rustls::{ClientConfig, RootCertStore};
use tokio::time::timeout;

use crate::{Error, Result, pem};

/// Idle connections to one host that are kept.
const IDLE: usize = 8;
/// How long an idle connection is kept: shorter than servers usually keep it.
const IDLE_LASTS: Duration = Duration::from_secs(20);

/// A client with its connections. Those belong to the runtime that uses it.
#[derive(Clone, Debug)]
pub struct Http(Client<HttpsConnector<HttpConnector>, Full<Bytes>>);

/// An answer.
#[derive(Clone, Debug)]
pub struct Answered {
    /// The status.
    pub status: StatusCode,
    /// The header fields.
    pub headers: HeaderMap,
    /// The body, within its limit.
    pub body: Bytes,
}

/// Why there is no answer, in words.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{text}")]
pub struct Unanswered {
    /// The request may have arrived and been carried out.
    pub may_have_arrived: bool,
    /// The answer is longer than the caller reads.
    pub too_long: bool,
    /// The reason.
    pub text: String,
}

impl Http {
    /// A client that trusts the certificates of a PEM file, or those of the system.
    ///
    /// # Errors
    /// The file cannot be read or holds none.
    pub fn new(ca: Option<&Path>) -> Result<Self> {
        let provider = rustls::crypto::aws_lc_rs::default_provider();
        let tls = ClientConfig::builder_with_provider(Arc::new(provider))
            .with_safe_default_protocol_versions()
            .map_err(|error| Error::Internal(format!("TLS: {error}")))?
            .with_root_certificates(trusted(ca)?)
            .with_no_client_auth();
        Ok(Self::with_tls(tls))
    }

    /// A client with these settings of TLS, which name no protocol of ALPN.
    pub fn with_tls(tls: ClientConfig) -> Self {
        let mut tcp = HttpConnector::new();
        tcp.enforce_http(false);
        tcp.set_nodelay(true);
        let connector = HttpsConnectorBuilder::new()
            .with_tls_config(tls)
            .https_or_http()
            .enable_http1()
            .wrap_connector(tcp);
        let client = Client::builder(TokioExecutor::new())
            .pool_timer(TokioTimer::new())
            .pool_idle_timeout(IDLE_LASTS)
            .pool_max_idle_per_host(IDLE)
            .build(connector);
        Self(client)
    }

    /// Sends a request and reads at most `most` bytes of the answer. Redirects are not
    /// followed.
    ///
    /// # Errors
    /// There is no answer before the deadline, or it is longer.
    pub async fn send(
        &self,
        request: Request<Full<Bytes>>,
        most: usize,
        deadline: Duration,
    ) -> Result<Answered, Unanswered> {
        let exchange = async {
            let answer = self.0.request(request).await.map_err(|error| {
                let may_have_arrived = !error.is_connect();
                Unanswered { may_have_arrived, too_long: false, text: innermost(&error) }
            })?;
            let (head, body) = answer.into_parts();
            let body = Limited::new(body, most).collect().await.map_err(|error| Unanswered {
                may_have_arrived: true,
                too_long: error.is::<LengthLimitError>(),
                text: format!("the answer: {error}"),
            })?;
            Ok(Answered { status: head.status, headers: head.headers, body: body.to_bytes() })
        };
        timeout(deadline, exchange).await.unwrap_or_else(|_| {
            Err(Unanswered {
                may_have_arrived: true,
                too_long: false,
                text: format!("no answer within {} s", deadline.as_secs_f64()),
            })
        })
    }
}

/// The error at the end of the chain, which names the cause.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

fn trusted(ca: Option<&Path>) -> Result<RootCertStore> {
    let mut store = RootCertStore::empty();
    let Some(path) = ca else {
        store.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        return Ok(store);
    };
    let wrong = |text: String| {
        Error::Operator(format!("certificates {}: {text}; give a PEM file", path.display()))
    };
    let certificates = pem::certificates(path).map_err(wrong)?;
    if store.add_parsable_certificates(certificates).0 == 0 {
        return Err(wrong("holds no certificate".into()));
    }
    Ok(store)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_connection_that_is_refused_has_carried_nothing() {
        // A port of the system's choice could be another test's by then.
        let http = Http::new(None).unwrap();
        let request = Request::get("http://127.0.0.1:1/").body(Full::default()).unwrap();
        let error = http.send(request, 10, Duration::from_secs(60)).await.unwrap_err();
        assert!(!error.may_have_arrived && error.text.contains("refused"), "{error:?}");
    }

    #[test]
    fn a_file_without_certificates_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("ca.pem");
        std::fs::write(&path, "").unwrap();
        let error = Http::new(Some(&path)).unwrap_err().to_string();
        assert!(error.contains("ca.pem") && error.contains("holds no certificate"), "{error}");
    }
}
