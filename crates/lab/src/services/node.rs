//! The service on Node.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use tidegate_host::Cores;
use tidegate_load::TlsVersions;

use super::files::{self, Services};
use super::tls_versions::range;
use tidegate_control::CertificateKey;

use crate::certificate::Certificate;
use crate::error::{Fault, Result};
use crate::process::{Launch, Process};
use crate::service::Service;

/// How the service is set up.
#[derive(Clone, Debug)]
pub struct NodeSetup {
    /// Processors that it may use. Node runs JavaScript on one thread.
    pub cores: Cores,
    /// How long a connection may be silent before a request.
    pub timeout: Duration,
    /// Kind of key of the certificate.
    pub key: CertificateKey,
    /// Versions of TLS.
    pub versions: TlsVersions,
    /// Options of Node itself, such as `--max-old-space-size=256`.
    pub options: Vec<String>,
}

impl NodeSetup {
    /// A timeout of 10 s and a certificate with an RSA key.
    pub fn new(cores: &Cores) -> Self {
        Self {
            cores: cores.clone(),
            timeout: Duration::from_secs(10),
            key: CertificateKey::Rsa2048,
            versions: TlsVersions::Both,
            options: Vec::new(),
        }
    }
}

/// A running service on Node. It ends when this is dropped.
#[derive(Debug)]
pub struct Node {
    service: Service,
}

impl Node {
    /// Starts the service; `folder` keeps its certificate and `node.log`.
    ///
    /// # Errors
    /// [`Error::Operator`](crate::Error::Operator) if Node or the service is not there;
    /// otherwise it does not start.
    pub fn start(setup: &NodeSetup, services: &Services, folder: &Path) -> Result<Self> {
        let (node, server) = (files::node()?, services.node_server()?);
        std::fs::create_dir_all(folder)
            .of_machine(format_args!("cannot create {}", folder.display()))?;
        let certificate = Certificate::make(setup.key, folder)?;
        let (lowest, highest) = range(setup.versions);
        let mut command = Command::new(node);
        command.args(&setup.options).arg(server);
        command.arg("--certificate").arg(&certificate.chain).arg("--key").arg(&certificate.key);
        command.args(["--tls-min", lowest, "--tls-max", highest]);
        command.args(["--timeout-ms", &setup.timeout.as_millis().to_string()]);
        let launch = Launch::new("Node service", command).on(&setup.cores);
        Ok(Self { service: Service::start(launch.log(&folder.join("node.log"))?)? })
    }

    /// The URL of plain HTTP, for a gate before it.
    ///
    /// # Errors
    /// It announced none.
    pub fn url(&self) -> Result<String> {
        Ok(self.service.address("clear")?.to_owned())
    }

    /// The URL of its own TLS.
    ///
    /// # Errors
    /// It announced none.
    pub fn secure_url(&self) -> Result<String> {
        Ok(self.service.address("secure")?.to_owned())
    }

    /// The process.
    pub fn process(&self) -> &Process {
        self.service.process()
    }

    /// CPU seconds that it has used since its start.
    ///
    /// # Errors
    /// It has ended.
    pub fn cpu_s(&self) -> Result<f64> {
        self.service.cpu_s()
    }
}
