//! The card processor of a merchant that is started beside it: `tidegate site card`.

use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use tidegate_card::{Keys, Options};
use tidegate_sitekit::private_file;

use crate::error::{Error, Result};
use crate::process::Launch;
use crate::service::Service;

/// A card processor with one merchant, in a folder of its own.
#[derive(Debug)]
pub struct CardProcessor {
    folder: PathBuf,
    merchant: &'static str,
    key_file: PathBuf,
    /// Address to listen on; port 0 takes a free one.
    pub listen: SocketAddr,
    /// Whether it serves HTTPS.
    pub tls: bool,
    /// Where customers come back to.
    pub return_url: String,
    /// Where it tells of what happens, if anywhere.
    pub webhook: Option<Webhook>,
}

/// Where a processor tells of what happens.
#[derive(Clone, Debug)]
pub struct Webhook {
    /// The URL.
    pub url: String,
    /// The file of the secret that signs it.
    pub secret_file: PathBuf,
    /// PEM file of the certificates that it trusts, beside those of the system.
    pub ca: Option<PathBuf>,
}

/// A card processor that is ready. It ends when this is dropped.
#[derive(Debug)]
pub struct RunningProcessor {
    /// Its process.
    pub service: Service,
    /// Its URL.
    pub url: String,
    /// PEM file of the certificate that it shows; `None` without TLS.
    pub ca: Option<PathBuf>,
}

impl CardProcessor {
    /// A processor of this merchant, which serves plain HTTP and tells nobody. The folder and the
    /// merchant's key are made where they are missing.
    ///
    /// # Errors
    /// A file cannot be read or written.
    pub fn prepare(
        folder: &Path,
        merchant: &'static str,
        listen: SocketAddr,
        return_url: String,
    ) -> Result<Self> {
        std::fs::create_dir_all(folder).map_err(|error| {
            Error::Operator(format!("--data {}: cannot be made: {error}", folder.display()))
        })?;
        let key_file = made_key(folder, merchant)?;
        let (folder, tls, webhook) = (folder.to_owned(), false, None);
        Ok(Self { folder, merchant, key_file, listen, tls, return_url, webhook })
    }

    /// The file of the merchant's key.
    pub fn key_file(&self) -> &Path {
        &self.key_file
    }

    /// Starts it: `launch` is this program.
    ///
    /// # Errors
    /// It does not start; with the last lines of its log.
    pub fn start(&self, launch: Launch) -> Result<RunningProcessor> {
        let path = |path: &Path| path.display().to_string();
        let of = |text: &str| format!("{}={text}", self.merchant);
        let mut args = vec!["site".to_owned(), "card".to_owned()];
        let mut add = |flag: &str, value: String| args.extend([flag.to_owned(), value]);
        add("--data", path(&self.folder));
        add("--listen", self.listen.to_string());
        add("--return-url", of(&self.return_url));
        if let Some(Webhook { url, secret_file, ca }) = &self.webhook {
            add("--webhook", of(url));
            add("--webhook-secret-file", path(secret_file));
            if let Some(ca) = ca {
                add("--webhook-ca", path(ca));
            }
        }
        if self.tls {
            add("--tls", "1.3".into());
        }
        let service = Service::start(launch.args(args))?;
        let url = service.address("site")?.to_owned();
        let ca = match self.tls {
            true => Some(PathBuf::from(service.address("certificate")?)),
            false => None,
        };
        Ok(RunningProcessor { service, url, ca })
    }
}

/// The file of a merchant's key, which the file of keys in this folder knows.
fn made_key(folder: &Path, merchant: &str) -> Result<PathBuf> {
    let file = folder.join("api-key");
    if !file.exists() {
        let ring = folder.join(Options::KEYS);
        let mut keys = if ring.exists() { Keys::read(&ring) } else { Keys::generate() }?;
        let key = keys.add(merchant)?;
        keys.write(&ring)?;
        private_file::create(&file, format!("{}\n", *key).as_bytes()).map_err(|error| {
            Error::Operator(format!("{}: cannot be written: {error}", file.display()))
        })?;
    }
    Ok(file)
}
