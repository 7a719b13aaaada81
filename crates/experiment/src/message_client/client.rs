//! The client of the Rust service: a thread that sends requests one after the other.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http::header::HOST;
use http::{HeaderValue, Request};
use http_body_util::{BodyExt, Full};
use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tidegate_host::cpu_clock;
use tidegate_load::Stop;
use tidegate_messages::{Channel, Message, Operation, PATH, Scene, now_ms};
use tokio::runtime::Runtime;

use super::connection::{Connection, Traffic};
use super::series::{Kind, Reuse, Sample};
use crate::{Error, Result};

/// How long an answer may take.
const PATIENCE: Duration = Duration::from_secs(30);

/// TLS of the client's connections.
struct Tls {
    /// Sessions are resumed.
    resuming: Arc<ClientConfig>,
    /// Every handshake is a full one.
    full: Arc<ClientConfig>,
}

impl Tls {
    /// With the certificate of this file as the only authority.
    fn trusting(chain: &Path) -> Result<Self> {
        let wrong = |error: &dyn std::fmt::Display| Error::Internal(format!("TLS: {error}"));
        let mut roots = RootCertStore::empty();
        let certificate = CertificateDer::from_pem_file(chain).map_err(|error| wrong(&error))?;
        roots.add(certificate).map_err(|error| wrong(&error))?;
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let resuming = ClientConfig::builder_with_provider(provider)
            .with_safe_default_protocol_versions()
            .map_err(|error| wrong(&error))?
            .with_root_certificates(roots)
            .with_no_client_auth();
        let mut full = resuming.clone();
        full.resumption = Resumption::disabled();
        Ok(Self { resuming: Arc::new(resuming), full: Arc::new(full) })
    }
}

/// One client.
pub(crate) struct Client {
    runtime: Runtime,
    address: String,
    tls: Option<Tls>,
    channel: Channel,
    traffic: Arc<Traffic>,
    open: Option<Connection>,
}

/// What a client did in a series.
pub(super) struct Sent {
    pub samples: Vec<Sample>,
    /// CPU time of the client's thread.
    pub cpu: Duration,
}

impl Client {
    /// A client without a connection. With TLS it trusts the certificate of a file.
    ///
    /// # Errors
    /// No runtime can be started, or the certificate cannot be read.
    pub(crate) fn new(url: &str, chain: Option<&Path>, channel: Channel) -> Result<Self> {
        let tls = chain.map(Tls::trusting).transpose()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| Error::Machine(format!("no runtime can be started: {error}")))?;
        let address = url.split_once("://").map_or(url, |(_, address)| address).to_owned();
        Ok(Self { runtime, address, tls, channel, traffic: Arc::default(), open: None })
    }

    /// Sends this number of requests of a kind on this thread.
    ///
    /// # Errors
    /// An answer is missing, late, refused or wrong; the run was stopped.
    pub(super) fn send(&mut self, requests: usize, kind: Kind, stop: &Stop) -> Result<Sent> {
        let before = cpu_clock::of_this_thread();
        let mut samples = Vec::with_capacity(requests);
        let payload = "x".repeat(kind.payload);
        let reuse = kind.reuse;
        let tls = self.tls.as_ref();
        let exchange = Exchange {
            address: &self.address,
            channel: &self.channel,
            tls: tls.map(|tls| if reuse == Reuse::New { &tls.full } else { &tls.resuming }),
            traffic: &self.traffic,
            reuse,
        };
        let open = &mut self.open;
        self.runtime.block_on(async {
            if reuse != Reuse::Keep
                && let Some(kept) = open.take()
            {
                kept.close().await;
            }
            for _ in 0..requests {
                if stop.is_stopped() {
                    return Err(Error::Process("stopped".into()));
                }
                let sample = exchange.one(open, &payload);
                let sample = tokio::time::timeout(PATIENCE, sample).await.map_err(|_| {
                    Error::Process(format!("{}: no answer within {PATIENCE:?}", self.address))
                })??;
                samples.push(sample);
            }
            Ok::<(), Error>(())
        })?;
        Ok(Sent { samples, cpu: cpu_clock::of_this_thread().saturating_sub(before) })
    }
}

/// What the requests of a series have in common.
struct Exchange<'a> {
    address: &'a str,
    channel: &'a Channel,
    tls: Option<&'a Arc<ClientConfig>>,
    traffic: &'a Arc<Traffic>,
    reuse: Reuse,
}

impl Exchange<'_> {
    async fn one(&self, open: &mut Option<Connection>, payload: &str) -> Result<Sample> {
        let failed = |error: &dyn std::fmt::Display| {
            Error::Process(format!("{}: a message failed: {error}", self.address))
        };
        let (out, into) = self.traffic.read();
        let begin = Instant::now();
        let message = Message::request(Operation::Count, payload.to_owned(), now_ms())?;
        let scene = Scene::Request { method: "POST", authority: self.address, path: PATH };
        let wire = self.channel.protect(&message, &scene)?;
        let mut connection = match open.take() {
            Some(connection) => connection,
            None => Connection::open(self.address, self.tls, self.traffic).await?,
        };
        let mut request = Request::post(PATH)
            .body(Full::new(wire.body.clone()))
            .map_err(|error| failed(&error))?;
        *request.headers_mut() = wire.headers.clone();
        let host = HeaderValue::from_str(self.address).map_err(|error| failed(&error))?;
        request.headers_mut().insert(HOST, host);
        let response =
            connection.sender.send_request(request).await.map_err(|error| failed(&error))?;
        let (parts, body) = response.into_parts();
        let body: Bytes = body.collect().await.map_err(|error| failed(&error))?.to_bytes();
        if parts.status != http::StatusCode::OK {
            return Err(failed(&parts.status));
        }
        let scene = Scene::Answer { status: parts.status.as_u16(), request: &wire.headers };
        let answer = self
            .channel
            .receive_answer(&parts.headers, &body, &scene, message.id, now_ms())
            .map_err(|error| failed(&error))?;
        if !answer.answers(&message) {
            return Err(failed(&"the answer is wrong"));
        }
        let us = u64::try_from(begin.elapsed().as_micros()).unwrap_or(u64::MAX);
        if self.reuse == Reuse::Keep {
            *open = Some(connection);
        } else {
            connection.close().await;
        }
        let (sent, received) = self.traffic.read();
        Ok(Sample { us, out: sent - out, into: received - into })
    }
}
