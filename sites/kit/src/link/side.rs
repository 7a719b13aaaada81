//! The two ends of a link, as they are configured.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::pki_types::ServerName;

use super::sealed::{KeyRing, Opener, Sealer};
use super::spec::{Protection, Spec};
use super::tls;
use crate::{Error, Result, when};

/// The files that a protected link needs.
#[derive(Clone, Debug, Default)]
pub struct Files {
    /// Folder of certificates, made by [`authority::make`](super::authority::make).
    pub certificates: Option<PathBuf>,
    /// File of the keys of sealed messages.
    pub keys: Option<PathBuf>,
}

impl Files {
    fn certificates(&self) -> Result<&Path> {
        self.certificates.as_deref().ok_or_else(|| {
            Error::Operator(
                "a link with tls needs the folder of its certificates; make it with --make-ca DIR \
                 and name it with --certificates DIR"
                    .into(),
            )
        })
    }

    fn ring(&self) -> Result<Arc<KeyRing>> {
        let file = self.keys.as_deref().ok_or_else(|| {
            Error::Operator(
                "a sealed link needs the file of its key; make it with --make-key FILE and name \
                 it with the link's key flag"
                    .into(),
            )
        })?;
        Ok(Arc::new(KeyRing::read(file)?))
    }
}

/// The client's end. Cores share it: sessions to resume, numbers of sealed messages.
#[derive(Clone, Debug)]
pub struct ClientSide {
    /// The tier that is called.
    pub(super) next: &'static str,
    /// Connections are kept.
    pub(super) persistent: bool,
    pub(super) transport: Transport,
}

/// How the client's end protects a connection or its messages.
#[derive(Clone, Debug)]
pub(super) enum Transport {
    Plain,
    Tls(Arc<rustls::ClientConfig>, ServerName<'static>),
    Sealed(Arc<Sealer>),
}

impl ClientSide {
    /// The end of the tier `own` of its link to the tier `next`.
    ///
    /// # Errors
    /// Files are missing, unreadable, or readable by others: errors for the operator.
    pub fn new(spec: Spec, files: &Files, own: &'static str, next: &'static str) -> Result<Self> {
        let transport = match spec.protection {
            Protection::None => Transport::Plain,
            Protection::Tls => {
                let config = tls::client(files.certificates()?, own, spec.resumption)?;
                Transport::Tls(config, tls::server_name(next)?)
            }
            Protection::Sealed => Transport::Sealed(Arc::new(Sealer::new(files.ring()?)?)),
        };
        Ok(Self { next, persistent: spec.persistent, transport })
    }
}

/// The server's end, shared by its cores: a message that one core received is a replay on
/// every other.
#[derive(Clone, Debug)]
pub struct ServerSide {
    /// TLS of its connections.
    pub(super) tls: Option<Arc<rustls::ServerConfig>>,
    /// Opens sealed messages.
    pub(super) opener: Option<Arc<Opener>>,
    /// Addresses under which it is called, beside those that it listens on.
    pub(super) known_as: Arc<[String]>,
}

impl ServerSide {
    /// The end of the tier `own` of the link on which the tier `before` calls it.
    ///
    /// # Errors
    /// As for [`ClientSide::new`].
    pub fn new(spec: Spec, files: &Files, own: &'static str, before: &'static str) -> Result<Self> {
        let mut side = Self { tls: None, opener: None, known_as: Arc::default() };
        match spec.protection {
            Protection::None => {}
            Protection::Tls => {
                let folder = files.certificates()?;
                side.tls = Some(tls::server(folder, own, before, spec.resumption)?);
            }
            Protection::Sealed => {
                side.opener = Some(Arc::new(Opener::new(files.ring()?, when::now_ms())?));
            }
        }
        Ok(side)
    }

    /// The same, called under these addresses as well: sealed messages are accepted by the
    /// process alone that they were sent to, and something between may change its address.
    pub fn known_as(mut self, addresses: &[String]) -> Self {
        self.known_as = addresses.into();
        self
    }

    /// TLS of its connections, if they have it.
    pub fn tls(&self) -> Option<Arc<rustls::ServerConfig>> {
        self.tls.clone()
    }
}
