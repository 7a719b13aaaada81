//! The card processor that takes deposits: one that is named, or one that is started beside the
//! tiers.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};

use tidegate_brokerage::app::CardOptions;
use tidegate_card::{Keys, Options as CardProcessor, WebhookSecret};
use tidegate_lab::{Launch, Service, free_address};
use tidegate_sitekit::{private_file, self_signed};

use super::super::classify;
use super::args::{Args, DATABASE};
use crate::exit::bad_input;

/// The brokerage's name at the processor.
const MERCHANT: &str = "brokerage";

/// What the tiers are told of the processor.
#[derive(Default)]
pub struct Card {
    url: Option<String>,
    key_file: Option<PathBuf>,
    ca: Option<PathBuf>,
    public_url: Option<String>,
    secret_file: Option<PathBuf>,
    /// Certificate and key of the web tier, where they were made.
    certificate: Option<(PathBuf, PathBuf)>,
    listen: Option<SocketAddr>,
}

impl Card {
    /// The processor that the flags name.
    pub fn named(args: &Args) -> Self {
        Self {
            url: args.card_processor.clone(),
            key_file: args.card_key_file.clone(),
            ca: args.card_ca.clone(),
            public_url: args.public_url.clone(),
            secret_file: args.webhook_secret_file.clone(),
            ..Self::default()
        }
    }

    /// Its URL.
    pub fn url(&self) -> &str {
        self.url.as_deref().unwrap_or_default()
    }

    /// Where the web tier listens.
    pub fn listen(&self, args: &Args) -> SocketAddr {
        self.listen.unwrap_or(args.listen)
    }

    /// Further arguments of an application server.
    pub fn app_arguments(&self) -> Vec<String> {
        let path = |path: &Option<PathBuf>| path.as_ref().map(|path| path.display().to_string());
        arguments([
            ("--card-processor", self.url.clone()),
            ("--card-key-file", path(&self.key_file)),
            ("--card-ca", path(&self.ca)),
            ("--public-url", self.public_url.clone()),
        ])
    }

    /// Further arguments of the web tier.
    pub fn web_arguments(&self) -> Vec<String> {
        let path = |path: Option<&PathBuf>| path.map(|path| path.display().to_string());
        let (certificate, key) = match &self.certificate {
            Some((certificate, key)) => (Some(certificate), Some(key)),
            None => (None, None),
        };
        arguments([
            ("--webhook-secret-file", path(self.secret_file.as_ref())),
            ("--certificate", path(certificate)),
            ("--key", path(key)),
        ])
    }
}

/// Those flags that have a value.
fn arguments<const N: usize>(flags: [(&str, Option<String>); N]) -> Vec<String> {
    let given = flags.into_iter().filter_map(|(flag, value)| Some([flag.to_owned(), value?]));
    given.flatten().collect()
}

/// A processor that is started beside the tiers, with what it and the brokerage have to know of
/// each other.
pub struct OwnProcessor {
    folder: PathBuf,
    listen: SocketAddr,
    tls: bool,
    /// Certificates that the web tier shows to webhooks.
    webhook_ca: Option<PathBuf>,
    webhook: String,
    return_url: String,
    card: Card,
}

impl OwnProcessor {
    /// Makes keys, secrets and certificates that are missing.
    ///
    /// # Errors
    /// A mistake in the flags, or a file that cannot be written.
    pub fn prepare(args: &Args) -> anyhow::Result<Self> {
        let tls = args.security().browsers.is_some();
        let listen = args.card_listen;
        if listen.ip().is_unspecified() || !(tls || listen.ip().is_loopback()) {
            return Err(bad_input(format!(
                "--card-listen {listen}: must be an address of this machine, such as \
                 127.0.0.1:8090; for customers elsewhere start `tidegate site card` by itself"
            )));
        }
        let web = fixed(args.listen)?;
        let scheme = if tls { "https" } else { "http" };
        let public_url = match &args.public_url {
            Some(url) => url.clone(),
            None if web.ip().is_unspecified() => {
                return Err(bad_input(format!(
                    "--card with --listen {}: say by --public-url under which URL customers \
                     reach the brokerage; they come back there from the card form",
                    args.listen
                )));
            }
            None => format!("{scheme}://{web}"),
        };
        let return_url = CardOptions::returns_to(&public_url).map_err(classify)?;
        let folder = args.data.join("card");
        std::fs::create_dir_all(&folder).map_err(|error| {
            bad_input(format!("--data {}: cannot be made: {error}", folder.display()))
        })?;
        let certificate = match (tls, &args.certificate) {
            (true, None) => {
                let made = self_signed::kept(&folder, "site-certificate", web.ip());
                Some(made.map_err(classify)?)
            }
            _ => None,
        };
        // A certificate that the operator names is for the name that customers use.
        let named = args.certificate.as_ref().filter(|_| tls);
        let webhook = match named {
            Some(_) => format!("{}/card-events", public_url.trim_end_matches('/')),
            None => format!("{scheme}://{}/card-events", here(web)),
        };
        let webhook_ca = named.or(certificate.as_ref().map(|(certificate, _)| certificate));
        Ok(Self {
            listen,
            tls,
            webhook_ca: webhook_ca.cloned(),
            webhook,
            return_url,
            card: Card {
                url: None,
                key_file: Some(made_key(&folder)?),
                ca: None,
                public_url: Some(public_url),
                secret_file: Some(made_secret(&folder)?),
                certificate,
                listen: Some(web),
            },
            folder,
        })
    }

    /// Starts the processor; what the tiers are told of it.
    ///
    /// # Errors
    /// It does not start.
    pub fn start(self) -> anyhow::Result<(Service, Card)> {
        let path = |path: &Path| path.display().to_string();
        let secret = self.card.secret_file.as_deref().map(path);
        let mut all = arguments([
            ("--data", Some(path(&self.folder))),
            ("--listen", Some(self.listen.to_string())),
            ("--return-url", Some(format!("{MERCHANT}={}", self.return_url))),
            ("--webhook", Some(format!("{MERCHANT}={}", self.webhook))),
            ("--webhook-secret-file", secret),
            ("--webhook-ca", self.webhook_ca.as_deref().map(path)),
        ]);
        if self.tls {
            all.extend(["--tls", "1.3"].map(str::to_owned));
        }
        let launch = Launch::this_program("card processor").args(["site", "card"]).args(all);
        let service = Service::start(launch.without_env(DATABASE).inherit_errors())?;
        let url = service.address("site")?.to_owned();
        let ca = match self.tls {
            true => Some(PathBuf::from(service.address("certificate")?)),
            false => None,
        };
        Ok((service, Card { url: Some(url), ca, ..self.card }))
    }
}

/// The address with its port, where any free one was asked for: the processor is told before
/// the web tier listens.
fn fixed(listen: SocketAddr) -> anyhow::Result<SocketAddr> {
    let port = if listen.port() == 0 { free_address()?.port() } else { listen.port() };
    Ok(SocketAddr::new(listen.ip(), port))
}

/// An address on which this machine reaches itself.
fn here(listen: SocketAddr) -> SocketAddr {
    let ip = match listen.ip() {
        IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
        IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
        ip => ip,
    };
    SocketAddr::new(ip, listen.port())
}

/// The file of the brokerage's key, which the file of keys knows.
fn made_key(folder: &Path) -> anyhow::Result<PathBuf> {
    let file = folder.join("api-key");
    if !file.exists() {
        let ring = folder.join(CardProcessor::KEYS);
        let keys = if ring.exists() { Keys::read(&ring) } else { Keys::generate() };
        let mut keys = keys.map_err(classify)?;
        let key = keys.add(MERCHANT).map_err(classify)?;
        keys.write(&ring).map_err(classify)?;
        written(&file, &key)?;
    }
    Ok(file)
}

fn made_secret(folder: &Path) -> anyhow::Result<PathBuf> {
    let file = folder.join("webhook-secret");
    if !file.exists() {
        written(&file, &WebhookSecret::generate())?;
    }
    Ok(file)
}

fn written(file: &Path, secret: &str) -> anyhow::Result<()> {
    private_file::create(file, format!("{secret}\n").as_bytes())
        .map_err(|error| bad_input(format!("{}: cannot be written: {error}", file.display())))
}
