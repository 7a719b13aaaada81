//! The Rust service in a process of its own, and its clients.

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Instant;

use rustls::client::Resumption;
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tidegate_lab::{Certificate, Key, Launch, Service};
use tidegate_load::Stop;
use tidegate_messages::{Channel, Format, Keys, Party};

use super::client::{Client, ClientTls, Sent};
use super::configuration::Configuration;
use super::series::{Question, Sample};
use tidegate_experiment::{Error, Result};

/// Keys and certificate that all starts share.
pub(super) struct Material {
    folder: tempfile::TempDir,
    certificate: Certificate,
}

/// A running service with its clients.
pub(super) struct Own {
    service: Service,
    clients: Vec<Client>,
    /// Seconds from the start of the process until it was ready.
    pub(super) ready_s: f64,
}

impl Material {
    /// New keys and a new certificate, in a folder that is removed at the end.
    ///
    /// # Errors
    /// The folder cannot be written.
    pub(super) fn make() -> Result<Self> {
        let folder = tempfile::tempdir()
            .map_err(|error| Error::Machine(format!("no temporary folder: {error}")))?;
        let (client, server) = Keys::generate()?;
        client.write(&folder.path().join("client.json"))?;
        server.write(&folder.path().join("server.json"))?;
        let certificate = Certificate::make(Key::P256, folder.path())?;
        Ok(Self { folder, certificate })
    }

    fn file(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn client_tls(&self) -> Result<ClientTls> {
        let wrong = |error: &dyn std::fmt::Display| Error::Internal(format!("TLS: {error}"));
        let mut roots = RootCertStore::empty();
        let chain = &self.certificate.chain;
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
        Ok(ClientTls { resuming: Arc::new(resuming), full: Arc::new(full) })
    }
}

impl Own {
    /// Starts the service.
    ///
    /// # Errors
    /// It does not start.
    pub(super) fn start(configuration: Configuration, material: &Material) -> Result<Self> {
        let format = configuration.format();
        let mut launch = Launch::this_program("the message service")
            .args(["site", "messages", "--listen", "127.0.0.1:0", "--security", format.name()])
            .log_unnamed()?;
        if format != Format::None {
            launch = launch.args(["--keys".into(), material.file("server.json")]);
        }
        if configuration.is_tls() {
            let Certificate { chain, key, .. } = &material.certificate;
            launch = launch.args(["--tls", "1.3", "--certificate"]).args([chain]);
            launch = launch.args(["--key"]).args([key]);
        }
        let begin = Instant::now();
        let service = Service::start(launch)?;
        let ready_s = begin.elapsed().as_secs_f64();
        let url = service.address("site")?;
        let address = url.split_once("://").map_or(url, |(_, address)| address).to_owned();
        let tls = configuration.is_tls().then(|| material.client_tls()).transpose()?;
        let clients = (0..2)
            .map(|_| {
                let channel = match format {
                    Format::None => Channel::unprotected(Party::Client),
                    _ => {
                        let keys = Keys::read(&material.file("client.json"), Party::Client)?;
                        Channel::new(format, keys)?
                    }
                };
                Client::new(&address, tls.clone(), Arc::new(channel))
            })
            .collect::<Result<_>>()?;
        Ok(Self { service, clients, ready_s })
    }

    /// CPU seconds of the service since its start.
    ///
    /// # Errors
    /// It has ended.
    pub(super) fn cpu_s(&self) -> Result<f64> {
        self.service.cpu_s()
    }

    /// Sends so many requests, over all clients. The samples of several clients take turns.
    ///
    /// # Errors
    /// As of [`Client::send`].
    pub(super) fn send(
        &mut self,
        question: Question,
        requests: usize,
        stop: &Stop,
    ) -> Result<(Vec<Sample>, f64)> {
        let clients = question.clients();
        let each = requests.div_ceil(clients);
        let (payload, reuse) = (question.payload(), question.reuse());
        let sent: Vec<Sent> = std::thread::scope(|scope| {
            let send = |client: &'_ mut Client| client.send(each, payload, reuse, stop);
            let threads: Vec<_> = self.clients[..clients]
                .iter_mut()
                .map(|client| scope.spawn(move || send(client)))
                .collect();
            let joined = threads.into_iter().map(|thread| {
                thread.join().unwrap_or_else(|_| Err(Error::Internal("a client panicked".into())))
            });
            joined.collect::<Result<_>>()
        })?;
        let cpu_s = sent.iter().map(|it| it.cpu.as_secs_f64()).sum();
        let turn = |index: usize| sent.iter().filter_map(move |it| it.samples.get(index).copied());
        Ok(((0..each).flat_map(turn).collect(), cpu_s))
    }
}
